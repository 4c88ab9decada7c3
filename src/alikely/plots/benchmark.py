"""Benchmark scores: ranked, with the ceiling, ranks and who beats whom."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from alikely._base.intervals import percent
from alikely._base.random import RandomState
from alikely.benchmark import ranking
from alikely.benchmark.benchmark import Benchmark
from alikely.benchmark.drawn import DrawnScores
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL
from alikely.benchmark.selection import methods_shown
from alikely.benchmark.tables import Population
from alikely.estimates.sentences import bounds_of
from alikely.plots._style import (
    SCHOOLS,
    axes_or_new,
    color_key,
    key_outside,
    name_both_sides,
    rows_shown,
    styled,
)

__all__ = ["plot_benchmark", "plot_probability_greater", "plot_ranks"]

# What the green line is, in tables of benchmarks of trials and of scores of pairs.
CEILINGS = {CEILING: "human ceiling", HUMANS: "humans among each other"}
# Whose probability it is.
NEW_IMAGES, NEW_TRIALS = "new images, the same humans", "new images, the same observers"
# Names of so many machines are legible in cells of full size, in inches.
ROOMY, CELL, LEAST = 40, 0.3, 0.11


@styled
def plot_benchmark(
    scores: Benchmark | DrawnScores,
    population: Population = "crossed",
    level: str = OVERALL,
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the machines by score with their intervals, and the human ceiling as a band.

    Parameters
    ----------
    scores : Benchmark or DrawnScores
        As from `alikely.benchmark_scores` or `alikely.benchmark.scores_of`.
    population : {"images", "humans", "crossed"}
        What is thought of as drawn anew, of a benchmark of trials.
    level : str
        A data set, or ``"overall"``.
    top : int, optional
        Draw the best so many; all if not given, in a column as many as a page holds. The label of
        the axis says of how many.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the population or the level is unknown, or `top` is below 1 or more than a page holds.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> ax = al.plot_benchmark(al.benchmark_scores(trials, rng=1), "images")
    >>> len(ax.get_yticks())
    6
    """
    drawn = isinstance(scores, DrawnScores)
    prob, kind = scores.interval_options(None, None)
    methods: tuple[str, ...]
    if isinstance(scores, DrawnScores):
        table, methods, middle = scores.summary(level), ("posterior",), "posterior_median"
    else:
        methods, middle = methods_shown(scores, population, None), "estimate"
        table = scores.summary(population, level, intervals=methods)
    frame = table.set_index("system")
    # Without a valid method points have no intervals.
    lower, upper = bounds_of(methods[0], kind, prob) if methods else (middle, middle)
    machines = frame.loc[[m for m in scores.models if m in frame.index]].sort_values(middle)
    n = len(machines)
    shown, height = rows_shown(n, top, 0.24)
    machines = machines.iloc[n - shown :]
    ax = axes_or_new(ax, (6.5, 1.4 + height * shown), tall=True)
    position = np.arange(len(machines))
    color = SCHOOLS["posterior"]
    ax.hlines(position, machines[lower], machines[upper], color=color, linewidth=2)
    ax.plot(machines[middle], position, "o", color=color, markersize=5)
    human = HUMANS if drawn else CEILING
    if human in frame.index:
        ceiling = frame.loc[human]
        band = f" (band: its {percent(prob)} interval)" if methods else ""
        ax.axvspan(ceiling[lower], ceiling[upper], color="#009E73", alpha=0.2, linewidth=0)
        line = ax.axvline(ceiling[middle], color="#009E73", label=f"{CEILINGS[human]}{band}")
        key_outside(ax, [line], loc="lower right", bbox_to_anchor=(1.0, 1.0))
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(position, machines.index, fontsize=8)
    ax.set_ylim(-0.6, len(machines) - 0.4)
    if shown < n:
        ax.set_ylabel(f"first {shown} of {n} machines")
    what = {"images": "new images", "humans": "new humans", "crossed": "new images and humans"}
    told = (
        f"with {scores.data.attrs['reference']}" if drawn else f"with humans ({what[population]})"
    )
    freed = ", freed of noise" if drawn and scores.metric.counts == "margins" else ""
    ax.set_xlabel(f"mean {scores.metric.label}\n{told}{freed}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@styled
def plot_ranks(
    scores: Benchmark | DrawnScores,
    population: Population = "crossed",
    *,
    rng: RandomState = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the ranks with their joint confidence sets.

    Colors show which systems differ significantly from the highest. A system can differ from it
    while one of lower rank and larger standard error does not.

    Parameters
    ----------
    scores : Benchmark or DrawnScores
        As from `alikely.benchmark_scores` or `alikely.benchmark.scores_of`.
    population : {"images", "humans", "crossed"}
        What is thought of as drawn anew, of a benchmark of trials.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness of the rank sets, of a benchmark of trials.
    top : int, optional
        Draw the first so many; all if not given, in a column as many as a page holds. The label of
        the axis says of how many; ranks are among all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        As in `alikely.benchmark.rank_sets`; if `top` is below 1 or more than a page holds.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> ax = al.plot_ranks(al.benchmark_scores(trials, rng=1), "images", rng=1)
    >>> ax.get_xlabel()
    'rank'
    """
    if isinstance(scores, DrawnScores):
        table = scores.ranks().iloc[::-1]
    else:
        table = scores.ranks(population, rng=rng).iloc[::-1]
    n = len(table)
    shown, height = rows_shown(n, top, 0.24)
    table = table.iloc[n - shown :]
    ax = axes_or_new(ax, (5.5, 1.2 + height * shown), tall=True)
    position = np.arange(len(table))
    tied = table["tied_with_top"].to_numpy()
    for mask, color, label in (
        (tied, "#0072B2", "not significantly below the highest"),
        (~tied, "#999999", "significantly below the highest"),
    ):
        if mask.any():
            ax.hlines(
                position[mask],
                table["rank_lb"][mask],
                table["rank_ub"][mask],
                color=color,
                linewidth=4,
            )
            ax.plot(table["rank"][mask], position[mask], "o", color=color, label=label)
    ax.set_yticks(position, table["system"], fontsize=8)
    ax.set_xlabel("rank")
    if shown < n:
        ax.set_ylabel(f"first {shown} of {n} machines")
    ax.set_xlim(0.5, max(shown, float(table["rank_ub"].max())) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(-0.6, len(table) - 0.4)
    key_outside(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@styled
def plot_probability_greater(
    scores: Benchmark | DrawnScores,
    level: str = OVERALL,
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the posterior probability that one machine is above another.

    The posterior is over new images with the same humans and machines, as the title says; of new
    humans it says nothing.

    Parameters
    ----------
    scores : Benchmark or DrawnScores
        As from `alikely.benchmark_scores`, with posterior draws, or `alikely.benchmark.scores_of`.
    level : str
        A data set, or ``"overall"``.
    top : int, optional
        Draw the best so many; all if not given. The label of the axis says of how many.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If there are no posterior draws, or `top` is below 1.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> ax = al.plot_probability_greater(al.benchmark_scores(trials, rng=1))
    >>> ax.images[0].get_array().shape
    (6, 6)
    """
    systems = scores.estimates["system"].values.tolist()
    estimate = scores.estimates["estimate"].sel(level=level).values
    present = [
        i for i, name in enumerate(systems) if name in scores.models and np.isfinite(estimate[i])
    ]
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    order = sorted(present, key=lambda i: -estimate[i])[:top]
    if isinstance(scores, DrawnScores):
        draws = scores.draws(level)[:, order]
    else:
        draws = scores.draws("posterior", "score", level)[:, order]
    names = [systems[i] for i in order]
    n = len(names)
    cell = max(CELL * min(1, ROOMY / n), LEAST)
    size = min(8.0, 60 * cell)
    ax = axes_or_new(ax, (max(2.2 + cell * n, 4.0), max(1.9 + cell * n, 3.2)))
    image = ax.imshow(ranking.probability_greater(draws), cmap="PuOr", vmin=0, vmax=1)
    name_both_sides(ax, names, size)
    told = NEW_IMAGES if not isinstance(scores, DrawnScores) else NEW_TRIALS
    if level != OVERALL:
        told = f"{level}, {told}"
    ax.set_title(told, fontsize=9)
    if n < len(present):
        ax.set_ylabel(f"first {n} of {len(present)} machines")
    color_key(ax, image, "P(row above column)", shrink=0.8)
    return ax
