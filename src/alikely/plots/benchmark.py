"""Plots of benchmarks: scores, ranks, their robustness, and the cohort copy model."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
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
    level_scores,
    method,
    model_names,
    population_of,
    ranks,
    system_names,
)
from alikely.benchmark.cohorts import cohort_check, cohort_effects, covariate_values, layout_of
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population
from alikely.estimates.pair_result import bounds_of
from alikely.estimates.result import Result, of_kind
from alikely.inference.intervals import interval
from alikely.metrics import get_metric
from alikely.plots._style import (
    COLORS,
    MARKERS,
    METHODS,
    axes_or_new,
    check_table,
    color_key,
    draw_kind,
    draw_ranks,
    group_styles,
    heat_map,
    in_column,
    legend,
    name_rows,
    rows_shown,
    rows_with_intervals,
)

# What intervals and probabilities generalize to.
NEW = {"images": "new images", "observers": "new humans", "both": "new images and humans"}
UNIT: dict[str, Any] = {"cmap": "PuOr", "vmin": 0, "vmax": 1}
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
    """Plot scores, ranks, or probabilities that one model scores higher than another.

    Kinds of plot:

    - ``"scores"``: scores with intervals, and human-human consistency with its interval as a band
    - ``"ranks"``: ranks with their simultaneous confidence sets. Colors show which models differ
      significantly from the highest-ranked (best) model. A model with a large standard error may
      not differ significantly from the highest-ranked model, although a model with a better rank
      does
    - ``"prob_greater"``: posterior probability that the model in a row scores higher than the model
      in a column, for new images and the same humans

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores` or `alikely.benchmark.scores_from_result`.
    kind : {"scores", "ranks", "prob_greater"}
        Kind of plot.
    generalize_to : {"images", "observers", "both"}, optional
        For ``"scores"`` and ``"ranks"``: population to which intervals and ranks generalize.
        Default: "both".
    level : str, optional
        For ``"scores"`` and ``"prob_greater"``: data set to plot, or ``"overall"`` (the default),
        the mean over data sets.
    top : int, optional
        Number of models to plot, starting with the best; the axis label states the total number.
        Default: all models or, inside the context manager `alikely.plots.column`, as many as fit on
        a page.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        For ``"ranks"``: source of randomness for the confidence sets.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `kind`, `generalize_to` or `level` is unknown.
    ValueError
        If the benchmark lacks the required draws.
    ValueError
        If `top` is below 1, or if `top` rows do not fit on a page.
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
    """Models by score with intervals, and human-human consistency as a band."""
    drawn = not is_analytic(scores)
    prob, kind = scores.interval_options(None, None)
    target, chosen = population_of(scores, generalize_to), method(scores, None, generalize_to)
    middle = "posterior_median" if drawn else "estimate"
    frame = scores.summary(generalize_to, level, intervals=[chosen] if chosen else [])
    frame = frame.set_index("system")
    # If no method is valid, points have no intervals.
    lower, upper = bounds_of(chosen, kind, prob) if chosen else (middle, middle)
    models = frame.loc[[m for m in model_names(scores) if m in frame.index]].sort_values(middle)
    ax, models, rows = _best_rows(ax, models, top, (6.5, 1.4))
    rows_with_intervals(ax, rows, models[middle], models[lower], models[upper], COLORS[0])
    human = HUMANS if drawn else CEILING
    if human in frame.index:
        ceiling = frame.loc[human]
        band = f" (band: its {percent(prob)} interval)" if chosen else ""
        ax.axvspan(ceiling[lower], ceiling[upper], color=COLORS[2], alpha=0.2, linewidth=0)
        line = ax.axvline(ceiling[middle], color=COLORS[2], label=f"human-human consistency{band}")
        legend(ax, [line], at="above")
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    told = f"with {scores.data.attrs['reference']}" if drawn else f"with humans (for {NEW[target]})"
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
    ax, table, rows = _best_rows(ax, table, top, (5.5, 1.2))
    table = table.assign(row=rows)
    labels = {True: ("not significantly below the highest score", COLORS[0]),
              False: ("significantly below the highest score", COLORS[7])}  # fmt: skip
    for tied, own in table[::-1].groupby("tied_with_top", sort=False):
        label, color = labels[bool(tied)]
        ends = own["rank"], own["rank_lb"], own["rank_ub"]
        rows_with_intervals(ax, own["row"], *ends, color, linewidth=4, markersize=6, label=label)
    ax.set_xlabel("rank")
    ax.set_xlim(0.5, max(len(table), float(table["rank_ub"].max())) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend(ax, at="above")
    return ax


def _prob_greater(
    scores: Result, level: str = OVERALL, *, top: int | None = None, ax: Axes | None = None
) -> Axes:
    """Posterior probability that the row is above the column."""
    systems, estimate = system_names(scores), level_scores(scores, level)
    models = set(model_names(scores))
    present = [i for i, name in enumerate(systems) if name in models and np.isfinite(estimate[i])]
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    order = sorted(present, key=lambda i: -estimate[i])[:top]
    n = len(order)
    draws = scores.draws("posterior", level)[:, order]
    cell = max(CELL * min(1, ROOMY / n), LEAST)
    ax = axes_or_new(ax, (max(2.2 + cell * n, 4.0), max(1.9 + cell * n, 3.2)))
    told = f"{NEW['images']} with the same {'humans' if is_analytic(scores) else 'observers'}"
    ax.set_title(told if level == OVERALL else f"{level}, {told}")
    if n < len(present):
        ax.set_ylabel(f"first {n} of {len(present)} models")
    greater = ranking.probability_greater(draws)
    names = [systems[i] for i in order]
    heat_map(ax, greater, names, "P(row > column)", min(8.0, 60 * cell), **UNIT)
    return ax


# With more models, only those whose rank depends on the metric are labeled, or have their sets
# drawn.
NAMED, APART = 40, 6
MOST_FIGURES = 8


def plot_robustness(
    table: pd.DataFrame,
    kind: Literal["correlations", "rank_by_metric", "sensitivity"],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot how scores or ranks depend on the data set, the metric or analysis choices.

    Each kind of plot shows one of these tables:

    - ``"correlations"``: correlations of scores between data sets. Correlations are bold if their
      interval excludes 0. In one-column figures with more than 8 data sets, dots mark correlations
      whose interval includes 0
    - ``"rank_by_metric"``: rank of each model by each metric, colored by accuracy. Models whose
      rank depends on the metric are bold and have simultaneous rank sets
    - ``"sensitivity"``: score of each model across analysis choices, for the first metric

    Parameters
    ----------
    table : pandas.DataFrame
        As returned by `alikely.benchmark.score_correlations`, `alikely.benchmark.rank_by_metric` or
        `alikely.benchmark.multiverse_analysis`.
    kind : {"correlations", "rank_by_metric", "sensitivity"}
        Kind of plot.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the kind is unknown, or the table lacks a column.

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
    """Correlations between data sets; bold, or without a dot, if the interval excludes 0."""
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
        look |= {"weight": "normal" if open_sign else "bold", "ha": "center", "va": "center"}
        for x, y in ((i, j), (j, i)):
            ax.text(x, y, text, fontsize=6, **look)
    label = "Spearman correlation of scores" + "\n(dot: interval includes 0)" * (not figures)
    heat_map(ax, matrix, names, label, cmap="PuOr", vmin=-1, vmax=1)
    return ax


def _sensitivity(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Range of scores over analysis choices, by the first metric."""
    metric = table["metric"].iloc[0]
    models = table[table["rank"].notna() & (table["metric"] == metric)]
    first = models.groupby("system", sort=False)[["score"]].first().sort_values("score")
    ax, first, rows = _best_rows(ax, first, None, (6.5, 1.4))
    models = models[models["system"].isin(first.index)]
    groups = models.groupby(["conditions", "grouping"], sort=False)
    styles = group_styles([f"{label[0]} conditions, {label[1]}" for label, _ in groups])
    for (label, (color, marker)), (_, part) in zip(styles.items(), groups, strict=True):
        at = part["system"].map(pd.Series(rows, first.index))
        ax.plot(part["score"], at, marker, color=color, markersize=4, alpha=0.7, label=label)
    ax.plot(first["score"], rows, "|", color="black", markersize=12, label="default choices")
    ax.set_xlabel(f"mean {get_metric(metric).label} with humans")
    legend(ax, at="above", ncols=2, fontsize=7)
    return ax


def _rank_by_metric(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Ranks by each metric, bold where they depend on it; colors are accuracies."""
    needed = ("metric", "system", "rank", "rank_lb", "rank_ub", "accuracy", "note")
    check_table(table, needed, "make it with alikely.benchmark.rank_by_metric")
    metrics, systems = (list(dict.fromkeys(table[name])) for name in ("metric", "system"))
    n = len(systems)
    wide = table.pivot(index="system", columns="metric", values=["rank", "rank_lb", "rank_ub"])
    ranks = [wide[name].loc[systems, metrics].to_numpy(np.float64) for name in needed[2:5]]
    own = table.groupby("system", sort=False)
    accuracy, depends = own["accuracy"].mean(), own["note"].any()
    colors = ScalarMappable(Normalize(accuracy.min(), accuracy.max()), "viridis_r")
    ax = axes_or_new(ax, (2.6 + 1.5 * len(metrics), min(2.6 + 0.18 * n, 9.0)), tall=True)
    lines = []
    for name in systems:
        strong, few = bool(depends[name]), n <= NAMED
        color = colors.to_rgba(accuracy[name], alpha=1.0 if strong or few else 0.35)
        # Confidence sets of many models would overlap.
        sets = strong or n <= APART
        lines.append((name if strong or few else "", color, strong, 2.4 if strong else 1, sets))
    x = np.tile(np.arange(float(len(metrics))), (n, 1))
    aside = 0.03 * (np.arange(n) - (n - 1) / 2) if n <= APART else 0.0
    labels = [get_metric(name).short for name in metrics]
    draw_ranks(ax, x, ranks, labels, lines, aside, ink="black")
    ax.set_ylabel("rank (bars: confidence sets)")
    color_key(ax, colors, "accuracy", shrink=0.5, aspect=30)
    return ax


QUANTITY = "copy_probability"


def plot_cohort(
    tree: xr.DataTree,
    kind: Literal["fit", "groups"] = "fit",
    *,
    covariate: str | None = None,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the fit of the cohort copy model, or compare groups of models or conditions.

    Kinds of plot:

    - ``"fit"``: proportion correct of models against the proportion of humans who are correct, with
      95% predictive bands
    - ``"groups"``: copy probability of each group, with its 95% interval, at the mean accuracy of
      the cohort. Small circles show the members of a group, each at its own accuracy

    Parameters
    ----------
    tree : xarray.DataTree
        Result of `alikely.fit_cohort`.
    kind : {"fit", "groups"}
        Kind of plot.
    covariate : str, optional
        For ``"groups"`` (required): covariate that defines groups, as in
        `alikely.benchmark.cohorts.cohort_effects`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        For ``"fit"``: source of randomness for the predictive bands.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the kind is unknown, or if the covariate describes humans. See also
        `alikely.benchmark.cohorts.cohort_check` and `alikely.benchmark.cohorts.cohort_effects`.
    TypeError
        If an argument is given that this kind of plot does not use, or a required argument is
        missing.

    Examples
    --------
    >>> ax = plot_cohort(tree, rng=1)  # tree = al.fit_cohort(trials)
    >>> ax.get_xlabel()
    'proportion of humans who are correct'
    """
    return draw_kind(plot_cohort, locals())


def _fit(tree: xr.DataTree, *, rng: RandomState = None, ax: Axes | None = None) -> Axes:
    """Proportion correct of models against the number of correct humans, with predictions."""
    table = cohort_check(tree, "all", ci_prob=0.95, rng=rng)
    table = table[table["n_humans"] > 0]
    ax = axes_or_new(ax, (6.2, 4.0))
    color = METHODS["posterior"]
    for k, (n, part) in enumerate(table.groupby("n_humans")):
        share, marker = part["n_right"] / n, MARKERS[k % len(MARKERS)]
        ax.fill_between(share, part["lower"], part["upper"], color=color, alpha=0.2, linewidth=0)
        ax.plot(share, part["predicted"], color=color, linewidth=1)
        ax.plot(share, part["observed"], marker, color="0.2", markersize=5, label=f"{n} humans")
    ax.set_xlabel("proportion of humans who are correct")
    ax.set_ylabel("proportion correct of models")
    ax.set(xlim=(-0.03, 1.03), ylim=(0, 1))
    legend(ax, title="markers: observed\nbands: predicted")
    return ax


def _groups(tree: xr.DataTree, covariate: str, *, ax: Axes | None = None) -> Axes:
    """Groups of models or conditions with their intervals, and their members."""
    column = covariate_values(tree, covariate)
    draws = cohort_effects(tree, covariate)
    if QUANTITY not in draws:
        raise ValueError(
            f"covariate must describe models or conditions, {covariate!r} describes humans; use "
            "alikely.benchmark.cohort_contrasts"
        )
    names = draws[covariate].values.tolist()
    ax = axes_or_new(ax, (5.5, 0.8 + 0.55 * len(names)), tall=True)
    flat, rows = draws[QUANTITY].values.reshape(-1, len(names)), np.arange(len(names))
    kind = str(column.dims[0])
    entries = tree["posterior"][QUANTITY].mean(("chain", "draw")).values
    members = pd.Series(entries).groupby(layout_of(tree)[kind].values).mean()
    at, row = np.nonzero(column.values[:, None] == draws[covariate].values)
    ax.plot(members[column[kind].values[at]], row + 0.22, "o", color="0.6", markersize=3.5,
            markerfacecolor="none")  # fmt: skip
    mean, (lower, upper) = flat.mean(axis=0), interval(flat, 0.95, "eti").T
    rows_with_intervals(ax, rows, mean, lower, upper, METHODS["posterior"], markersize=6)
    name_rows(ax, [str(name) for name in names], down=True)
    ax.set_ylabel(covariate)
    ax.set_xlabel("copy probability, at equal accuracy")
    return ax
