"""Where an observed value lies among those of independent observers."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from alikely._base.random import RandomState
from alikely.estimates.comparison import correctness_cells
from alikely.estimates.result import Result
from alikely.inference import null
from alikely.plots._style import axes_or_new, below, key_outside, styled

__all__ = ["plot_null"]


@styled
def plot_null(
    result: Result,
    pair: str,
    *,
    n_draws: int = 10_000,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the null distribution of one pair with its observed value.

    Parameters
    ----------
    result : Result
        An analysis.
    pair : str
        Label of the entry, from ``result.table["pair"]``.
    n_draws : int
        Simulated tables of independent observers.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If there is no such entry, or the result is of wrong labels.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, pairs="human-human", rng=1)
    >>> ax = al.plot_null(result, "human_1 x human_2", rng=1)
    >>> ax.get_xlabel()
    'error consistency'
    """
    if result.metric.counts != "correctness":
        raise ValueError(
            f"independent observers are simulated by correctness, which {result.metric.name} does "
            "not follow from; plot a result of error_consistency"
        )
    labels = result.table["pair"].values.tolist()
    if pair not in labels:
        raise ValueError(f"no entry is labelled {pair!r}; labels look like {labels[0]!r}")
    position = labels.index(pair)
    cells = correctness_cells(result)[[position]]
    draws = null.null_draws(cells, n_draws, result.metric, rng)[:, 0]
    defined = draws[~np.isnan(draws)]
    value = float(result.estimates["estimate"].values[position])
    ax = axes_or_new(ax, (5.5, 3.4))
    values, counts = np.unique(defined, return_counts=True)
    if len(values) > 60:
        ax.hist(defined, bins=50, color="0.75", density=True)
    else:
        # Few distinct tables: bars that a histogram would blur.
        ax.vlines(values, 0, counts / len(draws), color="0.6", linewidth=3)
    ax.set_yticks([])
    p = float(null.p_value([value], draws[:, None])[0])
    if np.isnan(value):
        reason = result.undefined[pair]
        title = f"{pair}: undefined ({reason})"
    else:
        ax.axvline(value, color="#D55E00", linewidth=2, label=f"observed {value:.2f}")
        key_outside(ax, loc="upper right", **below(ax, 24))
        title = f"{pair}: two-sided p = {p:.2g}"
    undefined = 1 - len(defined) / len(draws)
    if undefined > 0:
        title += f"\n{undefined:.1%} of the null draws undefined"
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(result.metric.label)
    ax.set_ylabel("independent observers")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax
