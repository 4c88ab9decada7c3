"""Robustness of a benchmark: across data sets, metrics and analysis choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from alikely.metrics import get_metric
from alikely.plots._regimes import name_ends
from alikely.plots._style import (
    COLORS,
    MARKERS,
    axes_or_new,
    check_table,
    color_key,
    draw_kind,
    in_column,
    key_outside,
    name_both_sides,
    name_rows,
    rows_shown,
)

__all__ = ["plot_robustness"]

# With more machines only those whose rank hangs on the metric are named, or have their sets drawn.
NAMED, APART = 40, 6
MOST_FIGURES = 8


def plot_robustness(
    table: pd.DataFrame,
    kind: Literal["correlations", "rank_by_metric", "sensitivity"],
    *,
    latent: bool | None = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how scores and ranks depend on the data set, the metric, or analysis choices.

    Each kind draws the table of the function of the same name, and uses these arguments:

    - ``"correlations"``: correlations of scores between data sets; values whose interval includes
      0 are pale, or have a dot in a column with more than 8 data sets (`latent`)
    - ``"rank_by_metric"``: rank of each model by each metric, in colors of accuracy; models whose
      rank depends on the metric are bold, with their simultaneous sets
    - ``"sensitivity"``: score of each model across analysis choices, by the first metric (`top`)

    Parameters
    ----------
    table : pandas.DataFrame
        As returned by `alikely.Benchmark.correlations`, `alikely.benchmark.rank_by_metric` or
        `alikely.benchmark.sensitivity`.
    kind : {"correlations", "rank_by_metric", "sensitivity"}
        What to draw.
    latent : bool, optional
        Draw disattenuated correlations; those without a bounded interval have no color. Default
        False.
    top : int, optional
        Number of models to draw, best first; the axis label gives the total. Default: all, or in a
        column as many as fit on a page.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If the kind is unknown, the table lacks a column, or `top` is below 1 or more than a page
        holds.
    TypeError
        If the kind does not use an argument.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.benchmark.rank_by_metric(al.load_example(), rng=1)
    >>> ax = al.plot_robustness(table, "rank_by_metric")
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['EC', 'copying', 'normalised']
    """
    return draw_kind(KINDS, kind, table, latent=latent, top=top, ax=ax)


def _correlations(table: pd.DataFrame, *, latent: bool = False, ax: Axes | None = None) -> Axes:
    """Correlations of data sets; pale (a dot where there are many) if they may be 0."""
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


def _choices(table: pd.DataFrame, *, top: int | None = None, ax: Axes | None = None) -> Axes:
    """Range of scores over analysis choices, by the first metric."""
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
    name_rows(ax, first.index.tolist(), n)
    ax.set_xlabel(f"mean {get_metric(metric).label} with humans")
    key_outside(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=7)
    return ax


def _metrics(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Ranks by each metric, bold where they depend on it; colors are accuracies."""
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
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=0)
    bar = ScalarMappable(norm, cmap)
    color_key(ax, bar, "accuracy", shrink=0.5, aspect=30)
    return ax


KINDS: dict[str, Callable[..., Axes]] = {
    "correlations": _correlations,
    "rank_by_metric": _metrics,
    "sensitivity": _choices,
}
