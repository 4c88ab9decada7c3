"""How firm a benchmark is: its ranking, its data sets among each other, its silent choices."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from alikely.benchmark.benchmark import Benchmark
from alikely.benchmark.tables import Population
from alikely.metrics import get_metric
from alikely.plots._regimes import name_ends
from alikely.plots._style import (
    COLORS,
    MARKERS,
    SCHOOLS,
    axes_or_new,
    check_table,
    color_key,
    in_column,
    key_outside,
    name_both_sides,
    rows_shown,
    styled,
)

__all__ = ["plot_correlations", "plot_rank_by_metric", "plot_sensitivity", "plot_stability"]

# With more machines only those whose rank hangs on the metric are named, or have their sets drawn.
NAMED, APART = 40, 6
MOST_FIGURES = 8


@styled
def plot_stability(
    scores: Benchmark, population: Population = "images", *, ax: Axes | None = None
) -> Axes:
    """Draw the distribution of Kendall's tau between the ranking and its bootstrap replicates.

    Parameters
    ----------
    scores : Benchmark
        As from `alikely.benchmark_scores`.
    population : {"images", "humans", "crossed"}
        What was resampled.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the benchmark has no bootstrap.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> ax = plot_stability(al.benchmark_scores(trials, n_resamples=1000, rng=1))
    >>> ax.get_xlabel()
    "Kendall's tau with the ranking of all data"
    """
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
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@styled
def plot_correlations(table: pd.DataFrame, *, latent: bool = False, ax: Axes | None = None) -> Axes:
    """Draw the correlations of data sets as a map; those that may be 0 in pale figures.

    In a column, of more than 8 data sets, a dot marks those that may be 0, in place of figures.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.Benchmark.correlations`.
    latent : bool
        Draw those with attenuation removed: without a colour of their own beyond 1, and with none
        where their interval has no bounds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `latent` is asked for and the table has none.

    Examples
    --------
    >>> import numpy as np
    >>> from alikely.benchmark import rank_correlations
    >>> x = np.random.default_rng(1).random((3, 6))
    >>> noise = np.random.default_rng(2).normal(0, 0.1, (200, 3, 6))
    >>> ax = plot_correlations(rank_correlations(["a", "b", "c"], x, x + noise))
    >>> ax.images[0].get_array().shape
    (3, 3)
    """
    column = "latent" if latent else "correlation"
    if column not in table:
        raise ValueError("latent=True needs the column 'latent'; give Benchmark.correlations()")
    names = list(dict.fromkeys([*table["level"], *table["other"]]))
    position = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    bounds = [str(c) for c in table if str(c).endswith(("_lb", "_ub"))]
    lower, upper = (c for c in bounds if c.startswith("latent_") == latent)
    ax = axes_or_new(ax, (2.0 + 0.42 * len(names), max(1.5 + 0.4 * len(names), 3.4)))
    # Cells of a column hold few figures of 6 pt.
    figures = not in_column() or len(names) <= MOST_FIGURES
    for row in table.to_dict("records"):
        i, j = position[row["level"]], position[row["other"]]
        value = row[column]
        bounded = np.isfinite(row[lower]) and np.isfinite(row[upper])
        matrix[i, j] = matrix[j, i] = value if bounded else np.nan
        open_sign = row[lower] <= 0 <= row[upper]
        color = "white" if bounded and abs(value) > 0.6 else "black"
        if not figures:
            if open_sign:
                ax.plot([i, j], [j, i], ".", color=color, markersize=2.5)
            continue
        # Without reliable variance there is no number.
        text = (
            "n/a"
            if np.isnan(value)
            else f"{value:.2f}".replace("0.", ".")
            if abs(value) < 0.995
            else f"{value:.2f}"
        )
        for x, y in ((i, j), (j, i)):
            ax.text(
                x, y, text, ha="center", va="center", fontsize=6, color=color,
                alpha=0.4 if open_sign else 1.0,
            )  # fmt: skip
    image = ax.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
    name_both_sides(ax, names)
    label = "latent correlation of scores" if latent else "Spearman correlation of scores"
    if not figures:
        label += "\n(dot: its interval holds 0)"
    color_key(ax, image, label, shrink=0.8)
    return ax


@styled
def plot_sensitivity(
    table: pd.DataFrame, *, top: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the range of each machine's score over the choices that papers make silently.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.benchmark.sensitivity`; of its first metric, since others have scales of
        their own (`plot_rank_by_metric`).
    top : int, optional
        Draw the best so many, as scored here; all if not given, in a column as many as a page
        holds. The label of the axis says of how many.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `top` is below 1 or more than a page holds.

    Examples
    --------
    >>> import alikely as al
    >>> ax = plot_sensitivity(al.benchmark.sensitivity(al.load_example()))
    >>> len(ax.get_yticks())
    6
    """
    metric = table["metric"].iloc[0]
    machines = table[table["rank"].notna() & (table["metric"] == metric)]
    first = machines.groupby("system", sort=False)["score"].first().sort_values()
    n = len(first)
    shown, height = rows_shown(n, top, 0.24)
    first = first.iloc[n - shown :]
    machines = machines[machines["system"].isin(first.index)]
    ax = axes_or_new(ax, (6.5, 1.4 + height * shown), tall=True)
    position = {name: i for i, name in enumerate(first.index)}
    groups = machines.groupby(["conditions", "grouping"], sort=False)
    for k, (label, part) in enumerate(groups):
        color, marker = COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]
        ax.plot(
            part["score"], part["system"].map(position), marker, color=color, markersize=4,
            alpha=0.7,
            label=f"{label[0]} conditions, {label[1]}",
        )  # fmt: skip
    ax.plot(first, range(len(first)), "|", color="black", markersize=12, label="as scored here")
    ax.set_yticks(range(len(first)), first.index, fontsize=8)
    ax.set_xlabel(f"mean {get_metric(metric).label} with humans")
    ax.set_ylim(-0.6, len(first) - 0.4)
    if shown < n:
        ax.set_ylabel(f"first {shown} of {n} machines")
    key_outside(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@styled
def plot_rank_by_metric(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the rank of each machine by each metric, with its rank sets, coloured by accuracy.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.benchmark.rank_by_metric`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Bold, with their simultaneous sets: machines whose rank hangs on the metric. Of up to 6
        machines all sets are drawn, of up to 40 all are named.

    Raises
    ------
    ValueError
        If the table is empty or lacks a column.

    Examples
    --------
    >>> import alikely as al
    >>> ax = plot_rank_by_metric(al.benchmark.rank_by_metric(al.load_example(), rng=1))
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['EC', 'copying', 'normalised']
    """
    needed = ("metric", "system", "rank", "rank_lb", "rank_ub", "accuracy", "note")
    check_table(table, needed, "make it with alikely.benchmark.rank_by_metric")
    metrics = list(dict.fromkeys(table["metric"]))
    n = table["system"].nunique()
    ax = axes_or_new(ax, (2.6 + 1.5 * len(metrics), min(2.6 + 0.18 * n, 9.0)), tall=True)
    accuracy = table.groupby("system")["accuracy"].mean()
    norm = Normalize(accuracy.min(), accuracy.max())
    cmap = colormaps["viridis_r"]
    x = np.arange(len(metrics))
    ends: list[tuple[float, str, bool, str]] = []
    for i, (name, own) in enumerate(table.groupby("system", sort=False)):
        hangs = bool(own["note"].any())
        named = hangs or n <= NAMED
        color, top = cmap(norm(accuracy[name])), 4 if hangs else 3
        ranks = own.set_index("metric").loc[metrics]
        ax.plot(
            x, ranks["rank"], "o-", color=color, markersize=3, lw=2.4 if hangs else 1.0,
            alpha=1.0 if named else 0.35, zorder=top,
        )  # fmt: skip
        # Sets of many machines would cover one another.
        if hangs or n <= APART:
            aside = x + (0.03 * (i - (n - 1) / 2) if n <= APART else 0)
            ax.vlines(aside, ranks["rank_lb"], ranks["rank_ub"], color=color, lw=3, alpha=0.4)
        if named:
            ends.append((float(ranks["rank"].iloc[-1]), str(name), hangs, "black"))
    ax.set_xticks(range(len(metrics)), [get_metric(name).short for name in metrics])
    ax.set_xlim(-0.3, len(metrics) - 0.7)
    ax.set_ylim(n + 0.7, 0.3)
    name_ends(ax, len(metrics) - 1, ends)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylabel("rank (bars: simultaneous sets)")
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    bar = ScalarMappable(norm, cmap)
    color_key(ax, bar, "accuracy", shrink=0.5, aspect=30)
    return ax
