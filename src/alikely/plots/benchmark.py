"""Benchmarks: scores with the human ceiling, ranks, and their robustness."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from alikely._base.intervals import percent
from alikely._base.random import RandomState
from alikely.benchmark import ranking
from alikely.benchmark.benchmark import (
    is_analytic,
    level_draws,
    level_scores,
    method,
    model_names,
    population_of,
    ranks,
    system_names,
)
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population
from alikely.estimates.methods import bounds_of
from alikely.estimates.result import Result, of_kind
from alikely.metrics import get_metric
from alikely.plots._style import (
    METHODS,
    axes_or_new,
    check_table,
    color_key,
    draw_kind,
    group_styles,
    in_column,
    legend,
    name_both_sides,
    name_ends,
    name_rows,
    rows_shown,
)

# Label of the green line, for benchmarks of trials and for scores of pairs.
CEILINGS = {CEILING: "human ceiling", HUMANS: "human-human consistency"}
# What the probability generalizes to.
NEW_IMAGES, NEW_TRIALS = "new images, the same humans", "new images, the same observers"
# Maximum number of models with full-size cells, cell size and minimum size in inches.
ROOMY, CELL, LEAST = 40, 0.3, 0.11


def plot_benchmark(
    scores: Result,
    kind: Literal["scores", "ranks", "prob_greater"] = "scores",
    *,
    generalize_to: Population | None = None,
    level: str | None = None,
    top: int | None = None,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot model scores (with the human ceiling), ranks, or probabilities of a higher score.

    Kinds of plot, with their arguments in parentheses:

    - ``"scores"``: scores with intervals, and the human ceiling with its interval as a band
      (`generalize_to`, `level`, `top`)
    - ``"ranks"``: ranks with their simultaneous confidence sets (`generalize_to`, `top`, `rng`).
      Colors show which models differ significantly from the model with the highest rank. A model
      with a large standard error may not differ significantly, although a higher-ranked model does
    - ``"prob_greater"``: posterior probability that the model in a row scores higher than the model
      in a column, for new images and the same humans (`level`, `top`)

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores` or `alikely.benchmark.scores_from_result`.
    kind : {"scores", "ranks", "prob_greater"}
        Kind of plot.
    generalize_to : {"images", "observers", "both"}, optional
        Population to which intervals generalize. Default: "both".
    level : str, optional
        Data set to plot, or ``"overall"`` (the default), the mean over data sets.
    top : int, optional
        Number of models to plot, starting with the best; the axis label states the total number.
        Default: all models, or as many as fit on a page within `column`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness for the rank sets.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If the kind, population or level is unknown. If the benchmark lacks the required draws. If
        `top` is below 1 or too large for a page.
    TypeError
        If an argument is given that this kind of plot does not use.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> scores = al.benchmark_scores(trials, n_resamples=1000, rng=1)
    >>> len(al.plot_benchmark(scores, generalize_to="images").get_yticks())
    6
    >>> al.plot_benchmark(scores, "ranks", generalize_to="images", rng=1).get_xlabel()
    'rank'
    """
    of_kind(scores, "model")
    return draw_kind(plot_benchmark, locals())


def _scores(
    scores: Result,
    generalize_to: Population | None = None,
    level: str = OVERALL,
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Models by score with intervals, and the human ceiling as a band."""
    drawn = not is_analytic(scores)
    prob, kind = scores.interval_options(None, None)
    target, chosen = population_of(scores, generalize_to), method(scores, None, generalize_to)
    middle = "posterior_median" if drawn else "estimate"
    frame = scores.summary(generalize_to, level, intervals=[chosen] if chosen else [])
    frame = frame.set_index("system")
    # If no method is valid, points have no intervals.
    lower, upper = bounds_of(chosen, kind, prob) if chosen else (middle, middle)
    models = frame.loc[[m for m in model_names(scores) if m in frame.index]].sort_values(middle)
    ax, models, position = _best_rows(ax, models, top, (6.5, 1.4))
    color = METHODS["posterior"]
    ax.hlines(position, models[lower], models[upper], color=color, linewidth=2)
    ax.plot(models[middle], position, "o", color=color, markersize=5)
    human = HUMANS if drawn else CEILING
    if human in frame.index:
        ceiling = frame.loc[human]
        band = f" (band: its {percent(prob)} interval)" if chosen else ""
        ax.axvspan(ceiling[lower], ceiling[upper], color="#009E73", alpha=0.2, linewidth=0)
        line = ax.axvline(ceiling[middle], color="#009E73", label=f"{CEILINGS[human]}{band}")
        legend(ax, [line], at="above")
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    what = {"images": "new images", "observers": "new humans", "both": "new images and humans"}
    told = f"with {scores.data.attrs['reference']}" if drawn else f"with humans ({what[target]})"
    freed = ", noise-corrected" if drawn and scores.metric.counts == "margins" else ""
    ax.set_xlabel(f"mean {scores.metric.label}\n{told}{freed}")
    return ax


def _best_rows(
    ax: Axes | None, table: pd.DataFrame, top: int | None, size: tuple[float, float]
) -> tuple[Axes, pd.DataFrame, NDArray[np.intp]]:
    """Axes with a row for each of the best models (last ones of a table), and their rows."""
    shown, height = rows_shown(len(table), top, 0.24)
    ax = axes_or_new(ax, (size[0], size[1] + height * shown), tall=True)
    best = table.iloc[len(table) - shown :]
    name_rows(ax, best.index.tolist(), len(table))
    return ax, best, np.arange(shown)


def _ranks(
    scores: Result,
    generalize_to: Population | None = None,
    *,
    rng: RandomState = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Ranks with their simultaneous confidence sets."""
    table = ranks(scores, generalize_to, rng=rng).iloc[::-1].set_index("system")
    ax, table, position = _best_rows(ax, table, top, (5.5, 1.2))
    tied = table["tied_with_top"].to_numpy()
    for mask, color, label in (
        (tied, "#0072B2", "not significantly below the highest"),
        (~tied, "#999999", "significantly below the highest"),
    ):
        if mask.any():
            ends = table["rank_lb"][mask], table["rank_ub"][mask]
            ax.hlines(position[mask], *ends, color=color, linewidth=4)
            ax.plot(table["rank"][mask], position[mask], "o", color=color, label=label)
    ax.set_xlabel("rank")
    ax.set_xlim(0.5, max(len(table), float(table["rank_ub"].max())) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend(ax, at="above")
    return ax


def _prob_greater(
    scores: Result,
    level: str = OVERALL,
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Posterior probability that the row is above the column."""
    systems, estimate = system_names(scores), level_scores(scores, level)
    models = set(model_names(scores))
    present = [i for i, name in enumerate(systems) if name in models and np.isfinite(estimate[i])]
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    order = sorted(present, key=lambda i: -estimate[i])[:top]
    draws = level_draws(scores, "posterior", level=level)[:, order]
    n = len(order)
    cell = max(CELL * min(1, ROOMY / n), LEAST)
    ax = axes_or_new(ax, (max(2.2 + cell * n, 4.0), max(1.9 + cell * n, 3.2)))
    image = ax.imshow(ranking.probability_greater(draws), cmap="PuOr", vmin=0, vmax=1)
    name_both_sides(ax, [systems[i] for i in order], min(8.0, 60 * cell))
    told = NEW_IMAGES if is_analytic(scores) else NEW_TRIALS
    ax.set_title(told if level == OVERALL else f"{level}, {told}")
    if n < len(present):
        ax.set_ylabel(f"first {n} of {len(present)} models")
    color_key(ax, image, "P(row above column)", shrink=0.8)
    return ax


# With more models, only those whose rank depends on the metric are labeled, or have their sets
# drawn.
NAMED, APART = 40, 6
MOST_FIGURES = 8


def plot_robustness(
    table: pd.DataFrame,
    kind: Literal["correlations", "rank_by_metric", "sensitivity"],
    *,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot how scores or ranks depend on the data set, the metric or analysis choices.

    Each kind plots one of the tables below; its arguments are in parentheses:

    - ``"correlations"``: correlations of scores between data sets. Correlations whose interval
      includes 0 are pale, or marked with a dot in one-column figures with more than 8 data sets
    - ``"rank_by_metric"``: rank of each model by each metric, colored by accuracy. Models whose
      rank depends on the metric are bold and have simultaneous rank sets
    - ``"sensitivity"``: score of each model across analysis choices, for the first metric (`top`)

    Parameters
    ----------
    table : pandas.DataFrame
        As returned by `alikely.benchmark.score_correlations`, `alikely.benchmark.rank_by_metric` or
        `alikely.benchmark.multiverse_analysis`.
    kind : {"correlations", "rank_by_metric", "sensitivity"}
        Kind of plot.
    top : int, optional
        Number of models to plot, starting with the best; the axis label states the total number.
        Default: all models, or as many as fit on a page within `column`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If the kind is unknown, or the table lacks a column. If `top` is below 1 or too large for a
        page.
    TypeError
        If an argument is given that this kind of plot does not use.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.benchmark.rank_by_metric(al.load_example(), rng=1)
    >>> ax = al.plot_robustness(table, "rank_by_metric")
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['EC', 'copying', 'normalized']
    """
    return draw_kind(plot_robustness, locals())


def _correlations(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Correlations between data sets; pale, or with a dot, if the interval includes 0."""
    names = list(dict.fromkeys([*table["level"], *table["other"]]))
    matrix = np.full((len(names), len(names)), np.nan)
    lower, upper = (
        str(c) for c in table if re.search("_(lb|ub)$", str(c)) and not str(c).startswith("latent")
    )
    ax = axes_or_new(ax, (2.0 + 0.42 * len(names), max(1.5 + 0.4 * len(names), 3.4)))
    # Numbers of 6 pt fit into few cells of a column.
    figures = not in_column() or len(names) <= MOST_FIGURES
    for row in table.to_dict("records"):
        i, j = names.index(row["level"]), names.index(row["other"])
        value = row["correlation"]
        bounded = np.isfinite(row[lower]) and np.isfinite(row[upper])
        matrix[i, j] = matrix[j, i] = value if bounded else np.nan
        open_sign = row[lower] <= 0 <= row[upper]
        # Without reliable variance the correlation is undefined.
        text = "n/a" if np.isnan(value) else f"{value:.2f}"
        text = text if figures else "\u2022" * open_sign
        look: dict[str, Any] = {"color": "white" if bounded and abs(value) > 0.6 else "black"}
        look |= {"alpha": 0.4 if open_sign and figures else 1.0, "ha": "center", "va": "center"}
        for x, y in ((i, j), (j, i)):
            ax.text(x, y, text, fontsize=6, **look)
    image = ax.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
    name_both_sides(ax, names)
    label = "Spearman correlation of scores"
    label += "" if figures else "\n(dot: interval includes 0)"
    color_key(ax, image, label, shrink=0.8)
    return ax


def _sensitivity(table: pd.DataFrame, *, top: int | None = None, ax: Axes | None = None) -> Axes:
    """Range of scores over analysis choices, by the first metric."""
    metric = table["metric"].iloc[0]
    models = table[table["rank"].notna() & (table["metric"] == metric)]
    first = models.groupby("system", sort=False)[["score"]].first().sort_values("score")
    ax, first, position = _best_rows(ax, first, top, (6.5, 1.4))
    places = pd.Series(position, first.index)
    models = models[models["system"].isin(first.index)]
    groups = models.groupby(["conditions", "grouping"], sort=False)
    styles = group_styles([f"{label[0]} conditions, {label[1]}" for label, _ in groups])
    for (label, (color, marker)), (_, part) in zip(styles.items(), groups, strict=True):
        ax.plot(part["score"], part["system"].map(places), marker, color=color, markersize=4,
                alpha=0.7, label=label)  # fmt: skip
    ax.plot(first["score"], position, "|", color="black", markersize=12, label="analysis as run")
    ax.set_xlabel(f"mean {get_metric(metric).label} with humans")
    legend(ax, at="above", ncols=2, fontsize=7)
    return ax


def _rank_by_metric(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Ranks by each metric, bold where they depend on it; colors are accuracies."""
    needed = ("metric", "system", "rank", "rank_lb", "rank_ub", "accuracy", "note")
    check_table(table, needed, "make it with alikely.benchmark.rank_by_metric")
    metrics = list(dict.fromkeys(table["metric"]))
    n = table["system"].nunique()
    ax = axes_or_new(ax, (2.6 + 1.5 * len(metrics), min(2.6 + 0.18 * n, 9.0)), tall=True)
    accuracy = table.groupby("system")["accuracy"].mean()
    colors = ScalarMappable(Normalize(accuracy.min(), accuracy.max()), "viridis_r")
    x = np.arange(len(metrics))
    ends: list[tuple[float, str, bool, str]] = []
    for i, (name, own) in enumerate(table.groupby("system", sort=False)):
        hangs = bool(own["note"].any())
        named = hangs or n <= NAMED
        color, ranks = colors.to_rgba(accuracy[name]), own.set_index("metric").loc[metrics]
        ax.plot(
            x, ranks["rank"], "o-", color=color, markersize=3, lw=2.4 if hangs else 1.0,
            alpha=1.0 if named else 0.35, zorder=3 + hangs,
        )  # fmt: skip
        # Confidence sets of many models would overlap.
        if hangs or n <= APART:
            aside = x + (0.03 * (i - (n - 1) / 2) if n <= APART else 0)
            ax.vlines(aside, ranks["rank_lb"], ranks["rank_ub"], color=color, lw=3, alpha=0.4)
        if named:
            ends.append((float(ranks["rank"].iloc[-1]), str(name), hangs, "black"))
    ax.set_xticks(x, [get_metric(name).short for name in metrics])
    ax.set_xlim(-0.3, len(metrics) - 0.7)
    ax.set_ylim(n + 0.7, 0.3)
    name_ends(ax, len(metrics) - 1, ends)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylabel("rank (bars: confidence sets)")
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=0)
    color_key(ax, colors, "accuracy", shrink=0.5, aspect=30)
    return ax
