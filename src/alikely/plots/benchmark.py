"""Benchmarks: scores with the ceiling, ranks, pairwise probabilities, stability of the ranking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from alikely._base.intervals import percent
from alikely._base.random import RandomState
from alikely.benchmark import ranking
from alikely.benchmark.benchmark import Benchmark
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population
from alikely.benchmark.tables import methods_shown, population_of
from alikely.estimates.sentences import bounds_of
from alikely.plots._style import (
    SCHOOLS,
    axes_or_new,
    color_key,
    draw_kind,
    key_outside,
    name_both_sides,
    name_rows,
    rows_shown,
)

__all__ = ["plot_benchmark"]

# What the green line is, in tables of benchmarks of trials and of scores of pairs.
CEILINGS = {CEILING: "human ceiling", HUMANS: "humans among each other"}
# Whose probability it is.
NEW_IMAGES, NEW_TRIALS = "new images, the same humans", "new images, the same observers"
# Names of so many machines are legible in cells of full size, in inches.
ROOMY, CELL, LEAST = 40, 0.3, 0.11


def plot_benchmark(
    scores: Benchmark,
    kind: Literal["scores", "ranks", "prob_greater", "stability"] = "scores",
    *,
    population: Population | None = None,
    level: str | None = None,
    top: int | None = None,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of models with the human ceiling, their ranks, or how sure these are.

    Each kind uses these arguments:

    - ``"scores"``: scores with intervals, and the human ceiling with its interval as a band
      (`population`, `level`, `top`)
    - ``"ranks"``: ranks with their simultaneous confidence sets; colors show which models differ
      significantly from the highest; a lower model with a larger standard error may not differ
      although a higher one does (`population`, `top`, `rng`)
    - ``"prob_greater"``: posterior probability that the model of a row is above that of a column,
      for new images and the same humans (`level`, `top`)
    - ``"stability"``: Kendall's tau between the ranking and its bootstrap replicates; only of
      `alikely.benchmark_scores` (`population`)

    Parameters
    ----------
    scores : Benchmark
        As returned by `alikely.benchmark_scores` or `alikely.benchmark.scores_of`.
    kind : {"scores", "ranks", "prob_greater", "stability"}
        What to draw.
    population : {"images", "humans", "crossed"}, optional
        What the intervals generalize to. Default: "images" for ``"stability"``, otherwise
        "crossed".
    level : str, optional
        A data set. Default: "overall".
    top : int, optional
        Number of models to draw, best first; the axis label gives the total. Default: all, or in a
        column as many as fit on a page.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness of the rank sets.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If the kind, population or level is unknown, the benchmark lacks the draws that are needed,
        or `top` is below 1 or more than a page holds.
    TypeError
        If the kind does not use an argument.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> scores = al.benchmark_scores(trials, n_resamples=1000, rng=1)
    >>> len(al.plot_benchmark(scores, population="images").get_yticks())
    6
    >>> al.plot_benchmark(scores, "ranks", population="images", rng=1).get_xlabel()
    'rank'
    """
    return draw_kind(
        KINDS, kind, scores, population=population, level=level, top=top, rng=rng, ax=ax
    )


def _scores(
    scores: Benchmark,
    population: Population | None = None,
    level: str = OVERALL,
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Models by score with intervals, and the human ceiling as a band."""
    drawn = not scores.is_analytic
    prob, kind = scores.interval_options(None, None)
    target = population_of(scores, population)
    methods, middle = (
        methods_shown(scores, target, None),
        "posterior_median" if drawn else "estimate",
    )
    frame = scores.summary(population, level, intervals=methods).set_index("system")
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
    name_rows(ax, machines.index.tolist(), n)
    what = {"images": "new images", "humans": "new humans", "crossed": "new images and humans"}
    told = f"with {scores.data.attrs['reference']}" if drawn else f"with humans ({what[target]})"
    freed = ", freed of noise" if drawn and scores.metric.counts == "margins" else ""
    ax.set_xlabel(f"mean {scores.metric.label}\n{told}{freed}")
    return ax


def _ranks(
    scores: Benchmark,
    population: Population | None = None,
    *,
    rng: RandomState = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Ranks with their simultaneous confidence sets."""
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
            ends = table["rank_lb"][mask], table["rank_ub"][mask]
            ax.hlines(position[mask], *ends, color=color, linewidth=4)
            ax.plot(table["rank"][mask], position[mask], "o", color=color, label=label)
    name_rows(ax, table["system"].tolist(), n)
    ax.set_xlabel("rank")
    ax.set_xlim(0.5, max(shown, float(table["rank_ub"].max())) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    key_outside(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return ax


def _prob_greater(
    scores: Benchmark,
    level: str = OVERALL,
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Posterior probability that the row is above the column."""
    systems, estimate = scores.systems, scores.values(level)
    present = [
        i for i, name in enumerate(systems) if name in scores.models and np.isfinite(estimate[i])
    ]
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    order = sorted(present, key=lambda i: -estimate[i])[:top]
    draws = scores.draws("posterior", level=level)[:, order]
    names = [systems[i] for i in order]
    n = len(names)
    cell = max(CELL * min(1, ROOMY / n), LEAST)
    size = min(8.0, 60 * cell)
    ax = axes_or_new(ax, (max(2.2 + cell * n, 4.0), max(1.9 + cell * n, 3.2)))
    image = ax.imshow(ranking.probability_greater(draws), cmap="PuOr", vmin=0, vmax=1)
    name_both_sides(ax, names, size)
    told = NEW_IMAGES if scores.is_analytic else NEW_TRIALS
    if level != OVERALL:
        told = f"{level}, {told}"
    ax.set_title(told)
    if n < len(present):
        ax.set_ylabel(f"first {n} of {len(present)} machines")
    color_key(ax, image, "P(row above column)", shrink=0.8)
    return ax


def _stability(
    scores: Benchmark, population: Population = "images", ax: Axes | None = None
) -> Axes:
    """Kendall's tau between the ranking and its bootstrap replicates."""
    tau = scores.stability(population)
    tau = tau[np.isfinite(tau)]
    n = len(scores.models)
    # Tau of n systems takes these values only; a bin for each where there is room.
    step = max(4 / (n * (n - 1)), 0.02)
    edges = np.arange(tau.min() - step / 2, 1 + step, step)
    ax = axes_or_new(ax, (5.0, 3.2))
    ax.hist(tau, bins=edges.tolist(), density=True, color=SCHOOLS["bootstrap"])
    ax.axvline(float(np.median(tau)), color="0.2", label=f"median {np.median(tau):.2f}")
    ax.set_xlabel("Kendall's tau with the ranking of all data")
    ax.set_ylabel("density of replicates")
    ax.set_xlim(max(-1.0, float(edges[0])), 1.0 + step / 2 if step < 0.1 else 1.0)
    key_outside(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return ax


KINDS: dict[str, Callable[..., Axes]] = {
    "scores": _scores,
    "ranks": _ranks,
    "prob_greater": _prob_greater,
    "stability": _stability,
}
