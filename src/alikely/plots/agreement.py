"""Error consistency with its bounds and the band of independent observers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Patch
from numpy.typing import NDArray

from alikely.estimates.result import Result, of_kind
from alikely.inference import null
from alikely.metrics import bounds, consistency
from alikely.plots._style import (
    axes_or_new,
    color_key,
    draw_kind,
    drop_crowded,
    key,
    legend,
    not_drawn,
    several_axes,
)
from alikely.plots.pairs import Kinds, scatter_pairs

# With more trials, percentiles of independent observers take half a minute.
MOST_TRIALS = 1280
MANY = 200


def plot_agreement(
    result: Result | None = None,
    kind: Literal["agreement", "accuracy", "bounds"] = "agreement",
    *,
    observer_kinds: Kinds | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> Any:
    """Plot error consistency with its possible range or a band for independent observers.

    Kinds of plot, with their arguments in parentheses:

    - ``"agreement"``: observed agreement and error consistency against expected agreement
      [G20]_, with limits and a 95% band for independent observers (`observer_kinds`)
    - ``"accuracy"``: error consistency against the accuracy of the second observer; a dash marks
      the highest value that is possible given the two accuracies of a pair (`observer_kinds`)
    - ``"bounds"``: lowest and highest possible error consistency for all combinations of accuracies
      [K25]_, with the pairs of the result if one is given

    Parameters
    ----------
    result : Result, optional
        As returned by `alikely.error_consistency`. A result is optional only for ``"bounds"``.
    kind : {"agreement", "accuracy", "bounds"}
        Kind of plot.
    observer_kinds : mapping or Trials, optional
        Kind of each observer, or the trials of the analysis. Pairs are colored by the kinds of
        their observers.
    ax : matplotlib.axes.Axes, or two of them for ``"agreement"`` and ``"bounds"``, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        The axes: two for ``"agreement"`` and ``"bounds"``, otherwise one. The band for independent
        observers is computed for the most frequent number of common trials, and omitted above 1,280
        trials.

    Raises
    ------
    ValueError
        If the kind is unknown, if the result is for another metric, or if an observer has no kind.
    TypeError
        If an argument is given that this kind of plot does not use.

    References
    ----------
    .. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour
       of CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
    .. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
       consistency: towards reliable behavioral comparison of classifiers.
       doi:10.48550/arXiv.2507.06645

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, "human-human", rng=1)
    >>> al.plot_agreement(result, "accuracy").get_ylabel()
    'error consistency'
    """
    if isinstance(result, Result):
        of_kind(result, "pair")
    return draw_kind(plot_agreement, locals())


def _agreement(
    result: Result, *, observer_kinds: Kinds | None = None, ax: Any = None
) -> NDArray[np.object_]:
    """Observed agreement and error consistency against expected agreement."""
    frame = _pairs_of(result)
    axes = several_axes(ax, (9.6, 4.2), 1, 2, sharex=True)
    expected = np.linspace(0, 1, 501)
    limits = (
        bounds.agreement_bounds_from_expected(expected),
        bounds.error_consistency_bounds_from_expected(expected),
    )
    band, handles = _band(frame["n_trials"].to_numpy())
    dotted: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "linestyle": ":"}
    for panel, name, limit in zip(axes, ("agreement", "error_consistency"), limits, strict=True):
        panel.plot(expected, np.transpose(limit), color="0.45", linewidth=1.0, zorder=1)
        if band is not None:
            center = band[["expected_lb", "expected_ub"]].mean(axis=1)
            panel.fill_between(center, band[f"{name}_lb"], band[f"{name}_ub"], color="0.85",
                               linewidth=0, zorder=0)  # fmt: skip
        keys = _scatter(panel, frame, "expected", name, observer_kinds)
        chance = [0, 1] if name == "agreement" else [0, 0]
        panel.plot([0, 1], chance, zorder=0.5, **dotted)
        panel.set_xlabel("expected agreement")
    axes[0].set(ylabel="observed agreement", xlim=(0, 1), ylim=(0, 1.02))
    axes[1].set(ylabel="error consistency", ylim=(-1.05, 1.05))
    keys.append(key("bounds", color="0.45", linewidth=1.0))
    legend(axes[1], [*keys, *handles, key("as expected", **dotted)])
    return axes


def _band(n_trials: np.ndarray) -> tuple[pd.DataFrame | None, list[Any]]:
    """Percentiles of independent observers, and their legend entry."""
    numbers, counts = np.unique(n_trials[n_trials > 1], return_counts=True)
    if not len(numbers):
        return None, []
    n = int(numbers[np.argmax(counts)])
    if n > MOST_TRIALS:
        text = f"independent observers:\nnot drawn above {MOST_TRIALS:,} trials"
        return None, [key(text, linestyle="")]
    text = f"independent observers,\n{n} trials, 95%"
    if len(numbers) > 1:
        text += f"\n(as {counts.max()} of {len(n_trials)} pairs have)"
    return null.null_percentiles(n, 0.95), [Patch(color="0.85", label=text)]


def _accuracy(
    result: Result, *, observer_kinds: Kinds | None = None, ax: Axes | None = None
) -> Axes:
    """Error consistency against the accuracy of the second observer, under its limit."""
    frame = _pairs_of(result)
    ax = axes_or_new(ax, (6.8, 4.2))
    handles = _scatter(ax, frame, "accuracy_b", "error_consistency", observer_kinds)
    limit = bounds.error_consistency_bounds(frame["accuracy_a"], frame["accuracy_b"])[1]
    dash: dict[str, Any] = {"linestyle": "", "marker": "_", "color": "0.5"}
    ax.plot(frame["accuracy_b"], limit, markersize=6 if len(frame) <= MANY else 3, zorder=1.5,
            rasterized=len(frame) > 5000, **dash)  # fmt: skip
    handles.append(key("upper bound of a pair", **dash))
    handles += not_drawn(int(frame["error_consistency"].isna().sum()), len(frame))
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set(xlim=(0, 1.01), ylim=(min(-0.1, frame["error_consistency"].min() - 0.05), 1.03))
    ax.set_xlabel("accuracy of the second observer")
    ax.set_ylabel("error consistency")
    legend(ax, handles)
    return ax


def _pairs_of(result: Result) -> pd.DataFrame:
    """Accuracies, agreements and trials of each entry."""
    if result.metric.name != "error_consistency":
        raise ValueError(
            f"result must be of error_consistency, got {result.metric.name}; call "
            "error_consistency()"
        )
    cells = np.asarray(result.table["cells"].values)
    p_a, p_b = consistency.accuracies(cells)
    return result.pairs[["observer_a", "observer_b"]].assign(
        accuracy_a=p_a,
        accuracy_b=p_b,
        n_trials=np.rint(cells.sum(axis=-1)).astype(np.int64),
        agreement=consistency.observed_agreement(cells),
        expected=consistency.expected_agreement(p_a, p_b),
        error_consistency=result.estimates["estimate"].values,
    )


def _scatter(ax: Axes, frame: pd.DataFrame, x: str, y: str, kinds: Kinds | None) -> list[Any]:
    """Draw pairs by the kinds of their observers, more transparent if there are many."""
    alpha = float(np.clip(6 / np.sqrt(len(frame)), 0.15, 0.8))
    area = 18 if len(frame) <= MANY else 8
    return scatter_pairs(ax, frame, x, y, kinds, area, alpha=alpha, linewidths=0)


def _bounds(result: Result | None = None, ax: Any = None) -> NDArray[np.object_]:
    """Bounds of error consistency over both accuracies, with pairs."""
    if result is not None and "cells" not in result.table:
        raise ValueError(
            f"result must have counts of correct and incorrect responses, got one of "
            f"{result.metric.name}; use error_consistency"
        )
    axes = several_axes(ax, (9.0, 4.2), 1, 2, sharey=True)
    # An odd number includes the diagonal and one half. The edges, where EC is 0 or undefined, are
    # excluded.
    accuracy = np.linspace(0.005, 0.995, 199)
    limits = bounds.error_consistency_bounds(accuracy[:, None], accuracy[None, :])
    texts = []
    titles = ("lowest possible", "highest possible")
    for panel, values, title in zip(axes, limits, titles, strict=True):
        panel.spines[:].set_visible(True)
        panel.pcolormesh(
            accuracy, accuracy, values.T, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True
        )
        lines = panel.contour(accuracy, accuracy, values.T, levels=np.arange(-0.8, 0.9, 0.2),
                              colors="0.3", linewidths=0.5)  # fmt: skip
        texts.append(panel.clabel(lines, fontsize=6, fmt="%.1f"))
        panel.set(title=title, xlabel="accuracy of a", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if result is not None:
            p_a, p_b = consistency.accuracies(result.table["cells"].values)
            value, many = result.estimates["estimate"].values, result.table.sizes["pair"] > MANY
            panel.scatter(
                p_a, p_b, c=value, s=8 if many else 18, linewidths=0.2 if many else 0.5,
                edgecolors="black", cmap="RdBu_r", vmin=-1, vmax=1, plotnonfinite=True,
            )  # fmt: skip
    axes[0].set_ylabel("accuracy of b")
    colors = ScalarMappable(Normalize(-1, 1), cmap="RdBu_r")
    color_key(axes, colors, "error consistency", shrink=0.85)
    for panel, numbers in zip(axes, texts, strict=True):
        drop_crowded(panel, numbers)
    return axes
