"""Plans of studies: widths, power, designs, chosen images."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from alikely._base.checks import of_type
from alikely.planning.choosing import StimulusPlan
from alikely.plots._style import (
    COLORS,
    MARKERS,
    axes_or_new,
    check_table,
    draw_kind,
    drop_crowded,
    in_column,
    key,
    legend,
    new_axes,
)

WIDTHS = "use a table of alikely.trials_for_width()"
NAMES = {
    "n_trials": "trials", "n_items": "items", "dmc": "decision-margin\nconsistency",
    "ec_models": "error consistency\nof the models", "ec": "error consistency",
    "accuracy_a": "accuracy", "accuracy_b": "accuracy of observer b", "n_observers": "observers",
    "n_images": "images per condition", "width": "width of the interval", "target": "goal",
}  # fmt: skip


def plot_plan(
    data: pd.DataFrame | StimulusPlan,
    kind: Literal["width", "power", "design", "images"],
    *,
    x: str | None = None,
    hue: str | None = None,
    references: Mapping[str, float] | None = None,
    designs: pd.DataFrame | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> Any:
    """Plot interval widths, power, designs or chosen images for a planned study.

    Each kind of plot shows a different result:

    - ``"width"``: width of intervals, from a table of `alikely.trials_for_width`, as in Figures 3
      and 6 of [K25]_
    - ``"power"``: power, from a table of `alikely.trials_for_power`,
      `alikely.planning.trials_for_difference` or `alikely.planning.items_for_margins`
    - ``"design"``: contours of the standard error over observers and images, from a grid of
      `alikely.planning.expected_errors` for one system
    - ``"images"``: images by size and stratum, and precision against the number of images, for the
      first condition of a plan returned by `alikely.planning.choose_images`

    Parameters
    ----------
    data : pandas.DataFrame or StimulusPlan
        Table or plan to plot. Open markers show simulated widths and powers.
    kind : {"width", "power", "design", "images"}
        Kind of plot.
    x, hue : str, optional
        For ``"width"`` and ``"power"``: columns to show on the x axis and as separate lines.
        Default for `x`: "n_trials". Default for `hue`: "accuracy_a" for ``"width"``, "ec" for
        ``"power"``.
    references : mapping of str to float, optional
        For ``"width"``: mapping from labels to values of `x` that are marked with dashed lines,
        such as ``{"one condition": 160}``.
    designs : pandas.DataFrame, optional
        For ``"design"``: table returned by `alikely.planning.best_design`. The plot shows designs
        within the budget; a star marks the best design.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure. The kind ``"images"`` always creates a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        Two axes if `kind` is ``"images"``, otherwise one. The first panel shows all images in the
        pool, with filled markers for images in the plan. The second panel shows the expected
        standard error of the estimate of ``data.target`` as a function of the number of random or
        chosen images, if one human participates.

    Raises
    ------
    ValueError
        If the kind is unknown, or if a table is empty or lacks a column.
    ValueError
        If, for ``"design"``, any combination of numbers of observers and images lacks a standard
        error.
    TypeError
        If an argument is given that this kind of plot does not use, or `data` has the wrong type.

    References
    ----------
    .. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
       consistency: towards reliable behavioral comparison of classifiers.
       doi:10.48550/arXiv.2507.06645

    Examples
    --------
    >>> import alikely as al
    >>> table = al.trials_for_power(0.75, 0.75, [[0.2], [0.4]], power=[0.5, 0.9], n_coverage=0)
    >>> al.plot_plan(table, "power").get_xlabel()
    'trials'
    """
    return draw_kind(plot_plan, locals())


def _width(
    table: pd.DataFrame,
    x: str = "n_trials",
    hue: str = "accuracy_a",
    *,
    references: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Width of intervals; simulated widths have open markers."""
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


def _power(
    table: pd.DataFrame, x: str = "n_trials", hue: str = "ec", *, ax: Axes | None = None
) -> Axes:
    """Power by number of trials or items; simulated powers have open markers."""
    check_table(table, {x, hue, "power"}, "use a table of alikely.trials_for_power()")
    ax = axes_or_new(ax, (6.4, 4.0))
    methods = table["method"] if "method" in table else pd.Series("analytic", table.index)
    _lines(ax, table, x, hue, "power", methods == "simulated")
    ax.axhline(0.8, color="0.4", linestyle="--", linewidth=0.8)
    ax.set_ylim(0, 1)
    return ax


def _design(
    errors: pd.DataFrame, designs: pd.DataFrame | None = None, *, ax: Axes | None = None
) -> Axes:
    """Standard errors over observers and images, with the best design within a budget."""
    columns = {"n_observers", "n_images", "se"}
    check_table(errors, columns, "use a table of alikely.planning.expected_errors()")
    if errors.duplicated(["n_observers", "n_images"]).any():
        raise ValueError(
            "errors must have one row per number of observers and images; select one system and "
            "one number of repeats"
        )
    grid = errors.pivot(index="n_observers", columns="n_images", values="se").astype(np.float64)
    if grid.isna().any(axis=None) or min(grid.shape) < 2:
        raise ValueError(
            "errors must be a full grid of at least two numbers of observers and of images; call "
            "expected_errors with a column of one and a row of the other"
        )
    ax = axes_or_new(ax, (6.4, 4.6))
    # The space for labels depends on the scales, which are therefore set first.
    _plain_numbers(ax, "x", grid.columns)
    _plain_numbers(ax, "y", grid.index)
    values = grid.to_numpy()
    levels, filled = (np.geomspace(values.min(), values.max(), n) for n in (10, 40))
    ax.contourf(grid.columns, grid.index, values, levels=filled, cmap="Blues", alpha=0.7)
    look: dict[str, Any] = {"colors": "0.25", "linewidths": 0.7}
    lines = ax.contour(grid.columns, grid.index, values, levels[1:-1], **look)
    ax.set(xlabel=NAMES["n_images"], ylabel=NAMES["n_observers"], title="contours: standard error")
    texts = ax.clabel(lines, fmt=lambda se: f"{se:.3f}", fontsize=7)
    if designs is not None:
        check_table(designs, columns, "use a table of alikely.planning.best_design()")
        best = designs.iloc[0]
        line = designs.sort_values("n_observers")
        ax.plot(line["n_images"], line["n_observers"], color=COLORS[1], linewidth=1.5)
        ax.plot(best["n_images"], best["n_observers"], "*", color=COLORS[5], markersize=13)
        ax.set_title(
            f"best within the budget: {best['n_observers']:.0f} observers, "
            f"{best['n_images']:.0f} images, standard error {best['se']:.3f}"
        )
    ax.set_xlim(grid.columns.min(), grid.columns.max())
    ax.set_ylim(grid.index.min(), grid.index.max())
    drop_crowded(ax, texts)
    return ax


def _lines(ax: Axes, table: pd.DataFrame, x: str, hue: str, y: str, simulated: pd.Series) -> None:
    """Draw a line for each value of a column, with open markers where simulated."""
    n = table[hue].nunique()
    # With more values than colors, colors go from dark to light.
    colors = COLORS if n <= len(COLORS) else mpl.colormaps["viridis"](np.linspace(0, 0.9, n))
    handles = []
    for i, (value, part) in enumerate(table.groupby(hue)):
        look: dict[str, Any] = {"color": colors[i], "marker": MARKERS[i % len(MARKERS)]}
        look["markersize"] = 4
        part = part.sort_values(x)
        ax.plot(part[x], part[y], color=colors[i], linewidth=1.2)
        hollow = simulated[part.index]
        for points, face in ((part[~hollow], colors[i]), (part[hollow], "white")):
            ax.plot(points[x], points[y], linestyle="", markerfacecolor=face, **look)
        handles.append(key(f"{value:g}", **look))
    if simulated.any():
        look = {"color": "0.3", "marker": "o", "markerfacecolor": "white"}
        handles.append(key("simulated", markersize=4, linestyle="", **look))
    legend(ax, handles, title=NAMES.get(hue, hue))
    ax.set(xlabel=NAMES.get(x, x), ylabel=NAMES.get(y, y))
    if x.startswith("n_"):
        _plain_numbers(ax, "x", table[x])


def _plain_numbers(ax: Axes, which: Literal["x", "y"], numbers: pd.Series | pd.Index) -> None:
    """Label a logarithmic axis with plain numbers."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    ticks = [k * 10**e for e in range(7) for k in (1, 2, 5)]
    ticks = [t for t in ticks if numbers.min() / 1.5 <= t <= numbers.max() * 1.5]
    # With more, labels would overlap in a narrow panel.
    axis.set_ticks(ticks[:: -(-len(ticks) // 6)])
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


RANDOM, CHOSEN = COLORS[0], COLORS[1]
# Maximum number of strata whose names can have a second line.
MOST_LINES = 9
# Rows of the left panel without strata: images by the proportion of models that are correct.
BANDS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def _images(plan: StimulusPlan) -> NDArray[Any]:
    """Images of a plan by size and stratum, and precision by number of images."""
    of_type(plan, StimulusPlan, "make one with al.planning.choose_images")
    (first, *more), images = dict.fromkeys(plan.expected["condition"]), plan.sizes()
    images = images[images["condition"] == first]
    pool, n = len(images), int(plan.expected["n_images"].iloc[0])
    ratios = None if in_column() else (1.25, 1)
    axes = new_axes((9.8, 3.6), 1, 2, tall=True, width_ratios=ratios)
    _draw_images(axes[0], images, plan.table)
    low = 16 if "stratum" not in images else 4 * images["stratum"].nunique()
    numbers = np.geomspace(min(low, n), pool, 16).round().astype(int)
    table = plan.precision(np.union1d(numbers, n).tolist())
    _draw_precision(axes[1], table[table["condition"] == first], n, pool)
    if more:
        axes[0].set_title(str(first), loc="left")
    return axes


def _draw_images(ax: Axes, images: pd.DataFrame, table: pd.DataFrame) -> None:
    if "stratum" in images:
        rows = images["stratum"].to_numpy()
        names = images.merge(table[["item", "stratum"]], on="item", suffixes=("", "_name"))
        label_of = names.set_index("stratum")["stratum_name"].to_dict()
        labels = [str(label_of.get(g, "")) for g in range(int(rows.max()) + 1)]
        letters = {str(table[name].iloc[0]): str(name)[-1].upper() for name in table
                   if str(name).startswith("model_")}  # fmt: skip
        # Names of models become letters, longer names first, because one name may begin another.
        for name in sorted(letters, key=len, reverse=True):
            labels = [label.replace(f"{name} ", f"{letters[name]} ") for label in labels]
        title = [f"{letter} {name}" for name, letter in letters.items()]
        ax.set_title("\n".join(title), loc="left", fontsize=7)
    else:
        rows = np.clip(np.digitize(images["right"], BANDS[1:-1]), 0, len(BANDS) - 2)
        labels = [f"{low:.0%} to {high:.0%}" for low, high in itertools.pairwise(BANDS)]
        ax.set_ylabel("proportion of models that are correct")
    y = rows + np.random.default_rng(0).uniform(-0.32, 0.32, len(images))
    shown, size = images["shown"].to_numpy(), images["size"].to_numpy()
    look: dict[str, Any] = {"s": 13, "linewidths": 0.6}
    ax.scatter(size[~shown], y[~shown], facecolors="none", edgecolors="0.6", **look)
    ax.scatter(size[shown], y[shown], color=CHOSEN, **look)
    between = ", " if len(labels) > MOST_LINES else "\n"
    texts = [
        f"{label}{between}{shown[rows == g].sum()} of {(rows == g).sum()}"
        for g, label in enumerate(labels)
    ]
    ax.set_yticks(range(len(labels)), texts, fontsize=7)
    ax.set_xlim(left=0)
    ax.set_xlabel("size (influence of a response)")


def _draw_precision(ax: Axes, table: pd.DataFrame, n: int, pool: int) -> None:
    for design, color in (("random", RANDOM), ("chosen", CHOSEN)):
        own = table[table["design"] == design].sort_values("n_images").set_index("n_images")
        ax.plot(own["se_pool"], color=color, label=f"{design}, this pool")
        ax.plot(own["se_images"], color=color, linestyle=":", label=f"{design}, new images")
    left = float(table.loc[table["design"] == "all", "se_images"].iloc[0])
    look: dict[str, Any] = {"color": "0.5", "linewidth": 0.8}
    ax.axhline(left, linestyle="--", label=f"all {pool:,}, new images", **look)
    ax.axvline(n, label=f"this plan, {n:,} images", **look)
    _plain_numbers(ax, "x", table["n_images"])
    ax.set_ylim(bottom=0)
    ax.set(xlabel="images shown", ylabel="expected standard error")
    legend(ax)
