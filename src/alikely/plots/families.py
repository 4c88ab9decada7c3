"""Families of observers with similar errors: a tree above the matrix of all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.cluster import hierarchy

from alikely._base.arrays import Floats
from alikely._base.frames import groups_of
from alikely.estimates.matrix_result import place_dim, square_matrix
from alikely.estimates.result import Result, of_kind
from alikely.metrics import Metric
from alikely.plots._style import (
    COLORS,
    COLUMN_WIDTH,
    PlotFigure,
    blend,
    color_key,
    diverging,
    figure_of,
    in_column,
    key,
    legend,
    new_axes,
    styled,
)

# With more observers, names are too small to read.
MOST_NAMED = 60
MOST_NAMED_IN_COLUMN = 25
# Classes of support: lower limit, label, color and width of branches.
SUPPORT = (
    (0.95, "at least 0.95", "black", 1.8), (0.8, "0.80 to 0.95", "0.35", 1.2),
    (0.0, "below 0.80", "0.65", 0.7),
)  # fmt: skip
# With more groups colors are not distinguishable: the palette for color blindness in full, half and
# pale tones. Grey is excluded, because it equals half-tone black.
MOST_GROUPS = 20
GROUP_COLORS = [blend(color, tone) for tone in (1.0, 0.5, 0.25) for color in COLORS[:-1]]


@styled
def plot_families(
    tree: Result, matrix: Result, *, by: Mapping[str, str] | None = None
) -> NDArray[np.object_]:
    """Plot a tree of observers, with the support of each branch, above the matrix of all pairs.

    Parameters
    ----------
    tree : Result
        As returned by `alikely.benchmark.families`.
    matrix : Result
        The matrix from which the tree was computed.
    by : mapping of str to str, optional
        Group of each observer, such as its model family. Groups are drawn as a color strip between
        the tree and the matrix.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        Axes of the tree, of the color strip (if groups are given) and of the matrix.

    Raises
    ------
    ValueError
        If the tree and the matrix have different observers. If an observer has no group, or there
        are more than 20 groups.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.pairwise_matrix(al.load_example(), by=None)
    >>> tree = al.benchmark.families(result, n_resamples=200, rng=1)
    >>> len(al.plot_families(tree, result))
    2
    """
    names = of_kind(tree, "tree").observers
    if names != of_kind(matrix, "matrix").observers:
        raise ValueError(
            "tree and matrix must have the same observers; make the tree of this matrix"
        )
    linkage, support = (tree.estimates[name].values for name in ("linkage", "support"))
    order = [names[k] for k in hierarchy.leaves_list(linkage)]
    n = len(order)
    named = n <= (MOST_NAMED_IN_COLUMN if in_column() else MOST_NAMED)
    side = 5.5 if n <= MOST_NAMED / 2 else 7.5
    heights = [1.3] + ([0.22] if by is not None else []) + [side]
    axes = new_axes(
        (side + 1.5, sum(heights)),
        rows=len(heights),
        tall=True,
        gridspec_kw={"height_ratios": heights},
        sharex=True,
    )
    figure = figure_of(axes[0])
    if in_column() and isinstance(figure, PlotFigure):
        figure.set_size_inches(COLUMN_WIDTH, 1.5 * COLUMN_WIDTH)
    keys = _tree(axes[0], linkage, support, matrix.metric)
    if by is not None:
        keys += _strip(axes[1], order, by)
    image = _map(axes[-1], matrix, order, named)
    # Attached to all panels, so that leaves are above their columns.
    color_key(axes, image, matrix.metric.label, location="bottom", aspect=40, shrink=0.6)
    legend(axes[-1], keys)
    return axes


def _tree(ax: Axes, linkage: Floats, support: Floats, metric: Metric) -> list[Any]:
    """Draw the branches by their support; return legend entries."""
    place = np.argsort(hierarchy.leaves_list(linkage)).astype(float).tolist()
    height = [0.0] * len(place)
    lines = []
    for a, b, top, _ in linkage:
        left, right = sorted((int(a), int(b)), key=place.__getitem__)
        feet = [(place[k], height[k]) for k in (left, right)]
        lines.append([feet[0], (place[left], top), (place[right], top), feet[1]])
        place.append((place[left] + place[right]) / 2)
        height.append(top)
    looks = [("0.35", 1.0)] * len(lines)
    for least, _, color, width in reversed(SUPPORT):
        reached = zip(support, looks, strict=True)
        looks = [(color, width) if own >= least else old for own, old in reached]
    colors, widths = zip(*looks, strict=True)
    ax.add_collection(LineCollection(lines, colors=colors, linewidths=widths))
    # Stems of leaves have no meaning: they have a constant length.
    joins = linkage[:, 2]
    top, low = joins.max(), joins.min()
    margin = 0.15 * (top - low) or 0.1
    ax.set_ylim(max(low - 2 * margin, 0.0), top + margin)
    ticks = [tick for tick in ax.get_yticks() if low - 2 * margin <= tick <= top + margin]
    best = metric.bounds[1]
    ax.set_yticks(ticks, [f"{best - tick:.2g}" for tick in ticks])
    ax.set_ylabel("mean " + metric.short)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(bottom=False, labelbottom=False)
    return [
        key(f"support {label}", color=color, linewidth=width)
        for _, label, color, width in SUPPORT
        if (color, width) in looks
    ]


def _strip(ax: Axes, order: list[str], by: Mapping[str, str]) -> list[Any]:
    """Draw the colors of groups; return legend entries."""
    own = groups_of(order, by, "group")
    groups = sorted(set(own))
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"{len(groups)} groups are too many for distinguishable colors; merge groups to at "
            f"most {MOST_GROUPS}"
        )
    colors = dict(zip(groups, GROUP_COLORS, strict=False))
    ax.spines[:].set_visible(True)
    ax.imshow([[colors[name] for name in own]], aspect="auto")
    ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
    return [Patch(color=color, label=name) for name, color in colors.items()]


def _map(ax: Axes, matrix: Result, order: list[str], named: bool) -> AxesImage:
    """Draw the matrix in the order of the leaves."""
    square = square_matrix(matrix, "estimate")
    if place := place_dim(matrix):
        square = square.mean(place)
    values = square.sel(observer=order, observer_other=order).values.copy()
    np.fill_diagonal(values, np.nan)
    below = np.nanmin(values, initial=0) < 0 < np.nanmax(values, initial=0)
    scale = diverging(values) if below else {"cmap": "viridis"}
    ax.spines[:].set_visible(True)
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **scale)
    if named:
        ax.set_xticks(range(len(order)), order, rotation=90, fontsize=7)
        ax.set_yticks(range(len(order)), order, fontsize=7)
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_ylabel(f"{len(order):,} observers")
    return image
