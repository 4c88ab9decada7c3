"""Decision margins: consistency, checks, item strengths, noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from alikely.estimates.result import Result
from alikely.plots._style import (
    COLORS,
    SCHOOLS,
    axes_or_new,
    color_key,
    draw_kind,
    key_outside,
)
from alikely.plots.consistency import consistency
from alikely.plots.margin_checks import METRIC, checks, entry_of_margins
from alikely.plots.noise import explained, variance

__all__ = ["plot_margins"]


def plot_margins(
    data: Result | pd.DataFrame | Mapping[str, xr.DataTree] | xr.DataTree,
    kind: Literal["consistency", "checks", "strengths", "noise_free", "variance", "explained"],
    *,
    pair: int | str | None = None,
    m: int | None = None,
    ci_prob: float | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> Any:
    """Draw decision margins: their consistency, checks, item strengths and noise.

    Each kind draws another object and uses these arguments. Results of
    `alikely.decision_margin_consistency`:

    - ``"checks"``: proportions correct against margins, residuals by class, and margins against
      normal quantiles (`pair`, `m`, `ci_prob`). Means of items with similar margins leave the band
      if strength is nonlinear. Residuals leave 0 if classes differ. Quantiles leave the band if
      tails are heavy
    - ``"strengths"``: posterior item strengths, one standard deviation to either side, against
      proportions correct, with ``model="strengths"`` (`pair`)
    - ``"noise_free"``: posterior of the noise-free correlation next to the plain estimates (`pair`)

    A table of `alikely.estimates.consistency_table`:

    - ``"consistency"``: error consistency and decision-margin consistency against accuracy [AK24]_.
      Open points are noise-free medians. For one condition, lines with bands give the group, the
      means over models, and (dashed) the ceiling of a model. For several conditions, lines have no
      bands

    Results of `alikely.fit_observers`:

    - ``"variance"``: sources of the variance of the evidence, a bar of medians for each fit, with
      intervals of the boundaries; sources that need repeats are hatched without them (`ci_prob`)
    - ``"explained"``: error consistency predicted by shared item strengths against the observed
      one, of a table of `alikely.margins.explained_consistency`; filled if outside the interval

    Parameters
    ----------
    data : Result, pandas.DataFrame, xarray.DataTree or mapping of str to xarray.DataTree
        What the kind draws; several fits by label.
    kind : {"consistency", "checks", "strengths", "noise_free", "variance", "explained"}
        What to draw.
    pair : int or str, optional
        Position or label of an entry, for ``"checks"`` and ``"strengths"`` of a model and a group
        of observers. Default 0.
    m : int, optional
        Number of alternatives of the task. Default: as in the analysis.
    ci_prob : float, optional
        Probability of bands and intervals, in (0, 1). Default: as in the analysis, 0.95 for
        ``"variance"``.
    ax : matplotlib.axes.Axes, or two for ``"consistency"`` and three for ``"checks"``, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        Two for ``"consistency"``, three for ``"checks"``, otherwise one. Undefined values are
        counted in the legend.

    Raises
    ------
    ValueError
        If the kind or pair is unknown, the result is of another metric or lacks what is drawn, the
        number of alternatives is not known, or a table lacks a column.
    TypeError
        If the kind does not use an argument or draws another object, or `ax` are not as many as
        needed.

    References
    ----------
    .. [AK24] Alvarez, Konkle (2024). Decision-margin consistency. Figure 2.

    Examples
    --------
    >>> import alikely as al
    >>> trials, margins = al.simulate.detection_experiment(8, 60, rho={"net": 0.6}, rng=1)
    >>> result = al.decision_margin_consistency(trials, margins, n_resamples=0, rng=1)
    >>> al.plot_margins(result, "checks")[0].get_xlabel()
    'decision margin of net'
    """
    return draw_kind(KINDS, kind, data, pair=pair, m=m, ci_prob=ci_prob, ax=ax)


def _strengths(result: Result, pair: int | str = 0, ax: Axes | None = None) -> Axes:
    """Posterior item strengths against proportions correct, in colors of margins."""
    at, label = entry_of_margins(result, pair)
    if "strengths" not in result.data.children:
        raise ValueError(
            "this result has no item strengths: expected the draws of a model of strengths; call "
            f"{METRIC}() with model='strengths' and n_draws=4000"
        )
    table, strengths = result.table, result.data["strengths"].to_dataset()
    mean, sd = strengths["mean"].values[at], strengths["sd"].values[at]
    systems = [int(table[name].values[at]) for name in ("first", "second")]
    machine = table["is_machine"].values[systems]
    items = np.flatnonzero(np.isfinite(mean))
    if not len(items):
        alike = {0: "two groups", 2: "two machines"}
        raise ValueError(
            f"entry {label!r} has no item strengths: expected a machine and a group of observers "
            f"with posterior draws, got {alike.get(machine.sum(), _remark(result, at))}; choose "
            "another entry with pair=..."
        )
    group, net = systems[int(machine[0])], systems[int(machine[1])]
    share = table["right"].values[group, items] / table["shown"].values[group, items]
    margin = table["margins"].values[net, items]

    ax = axes_or_new(ax, (6.2, 4.4))
    y, half = mean[items], sd[items]
    ax.vlines(share, y - half, y + half, color="0.6", linewidth=0.7, alpha=0.6, zorder=1)
    norm = Normalize(margin.min(), margin.max())
    for marker, chosen, text in (
        ("o", margin > 0, "margin above 0: machine is right"),
        ("^", margin <= 0, "margin not above 0: machine is wrong"),
    ):
        if chosen.any():
            ax.scatter(
                share[chosen], y[chosen], c=margin[chosen], cmap="viridis", norm=norm,
                marker=marker, s=22, edgecolors="black", linewidths=0.4, zorder=2,
                label=f"{text} ({chosen.sum()} items)",
            )  # fmt: skip
    color_key(ax, ScalarMappable(norm, "viridis"), "decision margin")
    names = table["observer"].values
    ax.set_xlabel(f"share of right answers of {names[group]} (0 to 1)")
    ax.set_ylabel("item strength, units of the noise\n(posterior mean, bars: 1 sd to either side)")
    # Side by side they are wider than the figure, and the layout takes it off the axes.
    _legend_above(ax, 1)
    return ax


def _noise_free(result: Result, pair: int | str = 0, ax: Axes | None = None) -> Axes:
    """Posterior of the noise-free correlation next to the plain estimates."""
    at, label = entry_of_margins(result, pair)
    if "posterior" not in result.data.children:
        raise ValueError(
            f"this result has no posterior draws: expected some, got n_draws=0; call {METRIC}() "
            "with n_draws=4000"
        )
    draws = result.draws("posterior")[:, at].astype(np.float64)
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        raise ValueError(
            f"entry {label!r} has no posterior: expected draws, got none ({_remark(result, at)}); "
            "choose another entry with pair=..."
        )
    row = result.summary(intervals=()).iloc[at]
    # Rank correlations are not corrected.
    values = {
        "plain estimate": (float(row["estimate"]), "--", COLORS[5]),
        "corrected estimate": (float(row.get("corrected", np.nan)), ":", "black"),
        "posterior median": (float(np.median(draws)), "-", SCHOOLS["posterior"]),
    }
    inside = [value for value, *_ in values.values() if -1 <= value <= 1]
    low, high = min([*inside, draws.min()]), max([*inside, draws.max()])
    pad = max(0.05 * (high - low), 0.02)
    low, high = max(low - pad, -1.0), min(high + pad, 1.0)

    ax = axes_or_new(ax, (6.0, 3.6))
    step = (high - low) / 60
    ax.hist(
        draws, bins=(low + step * np.arange(61)).tolist(), density=True, histtype="stepfilled",
        facecolor="0.9", edgecolor="0.35", label=f"posterior ({len(draws)} draws)",
    )  # fmt: skip
    for name, (value, style, color) in values.items():
        look: dict[str, Any] = {"linestyle": style, "color": color, "linewidth": 1.8}
        text = f"{name}: " + ("undefined" if np.isnan(value) else f"{value:.2f}")
        if -1 <= value <= 1:
            ax.axvline(value, label=text, **look)
        else:
            ax.plot([], [], label=text + ("" if np.isnan(value) else ", outside the axis"), **look)
    ax.set_xlim(low, high)
    both = f"{row['observer_a']} and {row['observer_b']}"
    ax.set_xlabel(f"noise-free correlation of {both} (-1 to 1)")
    ax.set_ylabel("posterior density")
    _legend_above(ax)
    return ax


def _remark(result: Result, at: int) -> str:
    return str(result.estimates["remark"].values[at]) or "no reason given"


def _legend_above(ax: Axes, n_columns: int = 2) -> None:
    key_outside(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns)


KINDS: dict[str, Callable[..., Any]] = {
    "consistency": consistency,
    "checks": checks,
    "strengths": _strengths,
    "noise_free": _noise_free,
    "variance": variance,
    "explained": explained,
}
