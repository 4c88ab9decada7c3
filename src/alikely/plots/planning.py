"""Plans before there are data: widths, precision of items, power, observers against images.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from alikely.plots._style import (
    COLORS,
    MARKERS,
    axes_or_new,
    check_table,
    drop_crowded,
    legend_right,
    new_axes,
    styled,
)

__all__ = ["plot_design_map", "plot_item_precision", "plot_power", "plot_width"]

WIDTHS = "give a table of alikely.planning.interval_width()"
NAMES = {
    "n_trials": "trials",
    "n_items": "items",
    "dmc": "decision-margin\nconsistency",
    "ec_models": "error consistency\nof the models",
    "ec": "error consistency",
    "accuracy_a": "accuracy",
    "accuracy_b": "accuracy of b",
    "n_observers": "observers",
    "n_images": "images of each condition",
    "difference": "difference",
    "width": "width of the interval",
    "power": "power",
    "target": "goal",
}


@styled
def plot_width(
    table: pd.DataFrame,
    x: str = "n_trials",
    hue: str = "accuracy_a",
    *,
    references: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the width of intervals, after Figures 3 (by trials) and 6 (by consistency) of [K25]_.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.planning.interval_width`.
    x, hue : str
        Columns along the axis, and that tell lines apart.
    references : mapping of str to float, optional
        Names of places along `x`, such as ``{"one condition": 160}``, marked by dashed lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Widths that were simulated are hollow.

    Raises
    ------
    ValueError
        If the table is empty or lacks a column.

    Examples
    --------
    >>> import alikely as al
    >>> accuracy = [[0.75], [0.9]]
    >>> table = al.planning.interval_width(accuracy, accuracy, 0.5, [100, 400, 1600], rng=1)
    >>> plot_width(table, references={"one condition": 160}).get_ylabel()
    'width of the interval'
    """
    check_table(table, {x, hue, "width", "method"}, WIDTHS)
    ax = axes_or_new(ax, (6.4, 4.0))
    _lines(ax, table, x, hue, "width", table["method"] == "simulated")
    ax.set_ylim(bottom=0)
    for name, place in (references or {}).items():
        ax.axvline(place, color="0.4", linestyle="--", linewidth=0.8)
        ax.annotate(
            name, (place, 1), (3, -4), xycoords=ax.get_xaxis_transform(),
            textcoords="offset points", rotation=90, fontsize=7, color="0.3", ha="left", va="top",
        )  # fmt: skip
    return ax


@styled
def plot_power(
    table: pd.DataFrame,
    x: str = "n_trials",
    hue: str = "ec",
    *,
    goal: float = 0.8,
    ax: Axes | None = None,
) -> Axes:
    """Draw power against the number of trials or items.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.trials_for_power`, `alikely.planning.trials_for_difference` or
        `alikely.planning.power_of_margins`, with several powers or numbers.
    x, hue : str
        Columns along the axis, and that tell lines apart.
    goal : float
        Power to mark, in (0, 1).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Powers that were simulated are hollow.

    Raises
    ------
    ValueError
        If the table is empty or lacks a column.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.trials_for_power(0.75, 0.75, [[0.2], [0.4]], power=[0.5, 0.9], n_coverage=0)
    >>> plot_power(table).get_xlabel()
    'trials'
    """
    check_table(table, {x, hue, "power"}, "give a table of alikely.trials_for_power()")
    ax = axes_or_new(ax, (6.4, 4.0))
    methods = table["method"] if "method" in table else pd.Series("analytic", table.index)
    _lines(ax, table, x, hue, "power", methods == "simulated")
    ax.axhline(goal, color="0.4", linestyle="--", linewidth=0.8)
    ax.set_ylim(0, 1)
    return ax


@styled
def plot_item_precision(
    table: pd.DataFrame, tolerance: float = 0.05, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """Draw how well answers pin down one item's accuracy, after Figure 3 of [AK24]_.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.planning.item_precision`, one accuracy and several numbers of answers.
    tolerance : float
        As in the table; drawn about the truth.
    axes : pair of matplotlib.axes.Axes, optional
        Where to draw the range of observed accuracies, and the share outside the tolerance; a new
        figure if not given.

    Returns
    -------
    pair of matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the table is empty, lacks a column, or holds several accuracies.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.planning.item_precision(0.75, [10, 20, 40, 80, 160, 320])
    >>> top, bottom = plot_item_precision(table)
    >>> bottom.get_xlabel()
    'answers to the item'
    """
    needed = {"accuracy", "n_answers", "outside", "lower", "upper"}
    check_table(table, needed, "give a table of alikely.planning.item_precision()")
    accuracies = table["accuracy"].unique()
    if len(accuracies) > 1:
        raise ValueError(f"table must hold one accuracy, got {len(accuracies)}; choose its rows")
    if axes is None:
        axes = tuple(new_axes((6.4, 5.0), 2, 1, sharex=True))
    top, bottom = axes
    part, truth = table.sort_values("n_answers"), float(accuracies[0])
    top.axhspan(truth - tolerance, truth + tolerance, color="0.9")
    top.axhline(truth, color="0.4", linewidth=0.8)
    top.vlines(part["n_answers"], part["lower"], part["upper"], color=COLORS[0], linewidth=2)
    top.set_ylabel("central range of\nobserved accuracy")
    top.set_ylim(min(0.4, part["lower"].min()), 1.02)
    bottom.plot(part["n_answers"], 100 * part["outside"], color=COLORS[0], marker="o", markersize=3)
    bottom.set(xlabel="answers to the item", ylabel=f"% further than {tolerance:g}\nfrom the truth")
    bottom.set_ylim(bottom=0)
    _plain_numbers(bottom, "x", part["n_answers"])
    return top, bottom


@styled
def plot_design_map(
    errors: pd.DataFrame, designs: pd.DataFrame | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the standard error of a mean over observers and images, as lines of equal precision.

    Parameters
    ----------
    errors : pandas.DataFrame
        As from `alikely.planning.expected_errors` of one system, over a grid of observers and
        images.
    designs : pandas.DataFrame, optional
        As from `alikely.planning.best_design`: what the budget buys, and a star where it buys
        most.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a table is empty or lacks a column, or the errors are no grid.

    Examples
    --------
    >>> import alikely as al
    >>> pilot = al.planning.variance_components(al.load_example()).tail(1)
    >>> grid = al.planning.expected_errors(pilot, [[2], [8], [32]], [50, 200, 800])
    >>> plot_design_map(grid, al.planning.best_design(pilot, 3000, 0.1, 10)).get_xlabel()
    'images of each condition'
    """
    columns = {"n_observers", "n_images", "se"}
    check_table(errors, columns, "give a table of alikely.planning.expected_errors()")
    if errors.duplicated(["n_observers", "n_images"]).any():
        raise ValueError(
            "errors must hold one row per number of observers and images; choose one system and "
            "one number of repeats"
        )
    grid = errors.pivot(index="n_observers", columns="n_images", values="se").astype(np.float64)
    if grid.isna().any(axis=None) or min(grid.shape) < 2:
        raise ValueError(
            "errors must be a full grid of at least two numbers of observers and of images; give "
            "expected_errors a column of one and a row of the other"
        )
    ax = axes_or_new(ax, (6.4, 4.6))
    # Labels make room for themselves on the scales that are there.
    _plain_numbers(ax, "x", grid.columns)
    _plain_numbers(ax, "y", grid.index)
    values = grid.to_numpy()
    levels = np.geomspace(values.min(), values.max(), 10)[1:-1]
    filled = np.geomspace(values.min(), values.max(), 40)
    ax.contourf(grid.columns, grid.index, values, levels=filled, cmap="Blues", alpha=0.7)
    lines = ax.contour(
        grid.columns, grid.index, values, levels=levels, colors="0.25", linewidths=0.7
    )
    ax.set(xlabel=NAMES["n_images"], ylabel=NAMES["n_observers"])
    texts = ax.clabel(lines, fmt=lambda se: f"{se:.3f}", fontsize=7)
    ax.set_title("lines: standard error", fontsize=9)
    if designs is not None:
        check_table(designs, columns, "give a table of alikely.planning.best_design()")
        best = designs.iloc[0]
        line = designs.sort_values("n_observers")
        ax.plot(line["n_images"], line["n_observers"], color=COLORS[1], linewidth=1.5)
        ax.plot(best["n_images"], best["n_observers"], "*", color=COLORS[5], markersize=13)
        ax.set_title(
            f"best within the budget: {best['n_observers']:.0f} observers, "
            f"{best['n_images']:.0f} images, standard error {best['se']:.3f}",
            fontsize=9,
        )
    ax.set_xlim(grid.columns.min(), grid.columns.max())
    ax.set_ylim(grid.index.min(), grid.index.max())
    drop_crowded(ax, texts)
    return ax


def _lines(ax: Axes, table: pd.DataFrame, x: str, hue: str, y: str, simulated: pd.Series) -> None:
    """A line for each value of a column; simulated points hollow."""
    handles = []
    n = table[hue].nunique()
    # More values than colours: from dark to light.
    colors = COLORS if n <= len(COLORS) else mpl.colormaps["viridis"](np.linspace(0, 0.9, n))
    for i, (value, part) in enumerate(table.groupby(hue)):
        color, marker = colors[i % len(colors)], MARKERS[i % len(MARKERS)]
        ordered = part.sort_values(x)
        ax.plot(ordered[x], ordered[y], color=color, linewidth=1.2)
        hollow = simulated[ordered.index].to_numpy()
        for there, face in ((~hollow, color), (hollow, "white")):
            points = ordered[there]
            ax.plot(points[x], points[y], marker, color=color, markerfacecolor=face, markersize=4)
        handles.append(Line2D([], [], color=color, marker=marker, markersize=4, label=f"{value:g}"))
    if simulated.any():
        look: dict[str, Any] = {"color": "0.3", "marker": "o", "markerfacecolor": "white"}
        handles.append(Line2D([], [], markersize=4, linestyle="", label="simulated", **look))
    legend_right(ax, handles, title=NAMES.get(hue, hue))
    ax.set(xlabel=NAMES.get(x, x), ylabel=NAMES.get(y, y))
    if x.startswith("n_"):
        _plain_numbers(ax, "x", table[x])


def _plain_numbers(ax: Axes, which: Literal["x", "y"], numbers: pd.Series | pd.Index) -> None:
    """A logarithmic axis with its numbers in plain figures."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    ticks = [k * 10**e for e in range(7) for k in (1, 2, 5)]
    axis.set_ticks([t for t in ticks if numbers.min() / 1.5 <= t <= numbers.max() * 1.5])
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    axis.set_minor_formatter(NullFormatter())
