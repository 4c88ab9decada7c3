"""Error consistency beside what the accuracies allow and what independent observers reach.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from alikely._base.intervals import percent
from alikely.estimates.result import Result
from alikely.inference import null
from alikely.metrics import bounds, consistency
from alikely.plots._style import (
    COLORS,
    MARKERS,
    axes_or_new,
    legend_right,
    new_axes,
    styled,
)
from alikely.plots.pairs import Kinds, by_pair_kind

__all__ = ["plot_accuracy", "plot_agreement"]

# Percentiles of independent observers take half a minute with so many trials.
MOST_TRIALS = 1280
MANY = 200


@styled
def plot_agreement(
    result: Result,
    *,
    kinds: Kinds | None = None,
    ci_prob: float = 0.95,
    axes: tuple[Axes, Axes] | None = None,
) -> tuple[Axes, Axes]:
    """Draw observed agreement and error consistency against expected agreement, after [G20]_.

    Parameters
    ----------
    result : Result
        As from `alikely.error_consistency`.
    kinds : mapping or Trials, optional
        Kind of each observer, for the colours; the trials of the analysis know them.
    ci_prob : float
        Central probability of the band of independent observers, in (0, 1).
    axes : pair of matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    pair of matplotlib.axes.Axes
        Observed agreement, error consistency. What lies outside the grey lines is impossible. The
        band holds independent observers with the number of common trials that most pairs have; it
        is left out above 1,280 trials, as the legend says. Pairs that agree less than expected lie
        below the diagonal and below 0.

    Raises
    ------
    ValueError
        If the result is of another metric, an observer has no kind, or `ci_prob` is out of range.

    References
    ----------
    .. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour
       of CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> result = al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0)
    >>> left, right = al.plot_agreement(result, kinds=trials)
    >>> left.get_xlabel(), right.get_ylabel()
    ('expected agreement', 'error consistency')
    """
    frame = _pairs_of(result)
    if axes is None:
        axes = tuple(new_axes((9.6, 4.2), 1, 2, sharex=True))
    expected = np.linspace(0, 1, 501)
    limits = (
        bounds.agreement_bounds_from_expected(expected),
        bounds.error_consistency_bounds_from_expected(expected),
    )
    band, handles = _band(frame["n_trials"].to_numpy(), ci_prob)
    for ax, name, limit in zip(axes, ("agreement", "error_consistency"), limits, strict=True):
        for bound in limit:
            ax.plot(expected, bound, color="0.45", linewidth=1.0, zorder=1)
        if band is not None:
            centre = band[["expected_lb", "expected_ub"]].mean(axis=1)
            ax.fill_between(centre, band[f"{name}_lb"], band[f"{name}_ub"], color="0.85",
                            linewidth=0, zorder=0)  # fmt: skip
        keys = _scatter(ax, frame, "expected", name, kinds)
        ax.set_xlabel("expected agreement")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=":", zorder=0.5)
    axes[1].axhline(0, color="0.6", linewidth=0.8, linestyle=":", zorder=0.5)
    axes[0].set(ylabel="observed agreement", xlim=(0, 1), ylim=(0, 1.02))
    axes[1].set(ylabel="error consistency", ylim=(-1.05, 1.05))
    handles = [*keys, Line2D([], [], color="0.45", linewidth=1.0, label="bounds"), *handles]
    chance = Line2D([], [], color="0.6", linewidth=0.8, linestyle=":", label="as expected")
    legend_right(axes[1], [*handles, chance])
    return axes[0], axes[1]


def _band(n_trials: np.ndarray, ci_prob: float) -> tuple[pd.DataFrame | None, list[Any]]:
    """Percentiles of independent observers, and what the legend says of them."""
    numbers, counts = np.unique(n_trials[n_trials > 1], return_counts=True)
    if not len(numbers):
        return None, []
    n = int(numbers[np.argmax(counts)])
    if n > MOST_TRIALS:
        text = f"independent observers:\nnot drawn above {MOST_TRIALS:,} trials"
        return None, [Line2D([], [], linestyle="", label=text)]
    text = f"independent observers,\n{n} trials, {percent(ci_prob)}"
    if len(numbers) > 1:
        text += f"\n(as {counts.max()} of {len(n_trials)} pairs have)"
    return null.null_percentiles(n, ci_prob), [Patch(color="0.85", label=text)]


@styled
def plot_accuracy(result: Result, *, kinds: Kinds | None = None, ax: Axes | None = None) -> Axes:
    """Draw error consistency against the accuracy of the second observer, under what it can be.

    Parameters
    ----------
    result : Result
        As from `alikely.error_consistency`. Of pairs of a human and a machine the second is the
        machine.
    kinds : mapping or Trials, optional
        Kind of each observer, for the colours; the trials of the analysis know them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        A dash above each pair is the highest error consistency that its two accuracies allow; it
        is 1 where both are equal. Undefined pairs are counted in the legend.

    Raises
    ------
    ValueError
        If the result is of another metric, or an observer has no kind.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> result = al.error_consistency(
    ...     trials, "human-model", n_resamples=0, n_draws=0, n_null=0
    ... )
    >>> al.plot_accuracy(result, kinds=trials).get_xlabel()
    'accuracy of the second observer'
    """
    frame = _pairs_of(result)
    ax = axes_or_new(ax, (6.8, 4.2))
    handles = _scatter(ax, frame, "accuracy_b", "error_consistency", kinds)
    limit = bounds.error_consistency_bounds(frame["accuracy_a"], frame["accuracy_b"])[1]
    dash: dict[str, Any] = {"linestyle": "", "marker": "_", "color": "0.5"}
    ax.plot(frame["accuracy_b"], limit, markersize=6 if len(frame) <= MANY else 3, zorder=1.5,
            rasterized=len(frame) > 5000, **dash)  # fmt: skip
    handles.append(Line2D([], [], label="limit of a pair", **dash))
    lost = int(frame["error_consistency"].isna().sum())
    if lost:
        text = f"undefined, not drawn: {lost} of {len(frame)}"
        handles.append(Line2D([], [], linestyle="", label=text))
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set(xlim=(0, 1.01), ylim=(min(-0.1, frame["error_consistency"].min() - 0.05), 1.03))
    ax.set_xlabel("accuracy of the second observer")
    ax.set_ylabel("error consistency")
    ax.spines[["top", "right"]].set_visible(False)
    legend_right(ax, handles)
    return ax


def _pairs_of(result: Result) -> pd.DataFrame:
    """Accuracies, agreements and trials of each entry."""
    if result.metric.name != "error_consistency":
        raise ValueError(
            f"this result is of {result.metric.name}; expected one of error_consistency: call "
            "error_consistency()"
        )
    cells = np.asarray(result.table["cells"].values)
    p_a, p_b = consistency.accuracies(cells)
    table = result.table
    columns = {
        "observer_a": table["observer_a"].values,
        "observer_b": table["observer_b"].values,
        "accuracy_a": p_a,
        "accuracy_b": p_b,
        "n_trials": np.rint(cells.sum(axis=-1)).astype(np.int64),
        "agreement": consistency.observed_agreement(cells),
        "expected": consistency.expected_agreement(p_a, p_b),
        "error_consistency": result.estimates["estimate"].values,
    }
    return pd.DataFrame(columns)


def _scatter(ax: Axes, frame: pd.DataFrame, x: str, y: str, kinds: Kinds | None) -> list[Any]:
    """Pairs, by the kinds of their observers; paler the more there are."""
    handles: list[Any] = []
    alpha = float(np.clip(60 / np.sqrt(len(frame)) / 10, 0.15, 0.8))
    size = 18 if len(frame) <= MANY else 8
    for k, (label, part) in enumerate(by_pair_kind(frame, kinds)):
        look: dict[str, Any] = {"color": COLORS[k], "marker": MARKERS[k]}
        ax.scatter(part[x], part[y], s=size, alpha=alpha, linewidths=0,
                   zorder=3 - len(part) / len(frame), rasterized=len(frame) > 5000,
                   **look)  # fmt: skip
        handles.append(
            Line2D([], [], linestyle="", markersize=5,
                   label="pair" if kinds is None else label, **look)
        )  # fmt: skip
    return handles
