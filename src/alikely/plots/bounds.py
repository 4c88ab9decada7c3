"""What error consistency can be, given the accuracies, with the pairs observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from scipy.spatial import cKDTree

from alikely.estimates.result import Result
from alikely.metrics import bounds, consistency
from alikely.plots._style import color_key, drop_crowded, new_axes, styled

__all__ = ["plot_bounds"]

# From here on points would cover each other; hexagons from end to end.
MOST_POINTS, HEXAGONS = 500, 30


@styled
def plot_bounds(
    result: Result | None = None, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """Draw the bounds of error consistency over the two accuracies, after Figure 2 of [K25]_.

    Parameters
    ----------
    result : Result, optional
        An analysis whose pairs are drawn into the maps, coloured by their error consistency; above
        500 as hexagons, coloured by the mean of their pairs and larger the more these are.
    axes : pair of matplotlib.axes.Axes, optional
        Where to draw the lower and the upper bound; a new figure if not given.

    Returns
    -------
    pair of matplotlib.axes.Axes
        Lower bound, upper bound.

    References
    ----------
    .. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
       consistency: towards reliable behavioral comparison of classifiers.
       doi:10.48550/arXiv.2507.06645

    Examples
    --------
    >>> left, right = plot_bounds()
    >>> left.get_title(), right.get_title()
    ('lowest possible', 'highest possible')
    """
    if axes is None:
        axes = tuple(new_axes((9.0, 4.2), 1, 2, sharey=True))
    # Odd, so that the diagonal and one half are met; the edges, where EC is 0 or undefined, are
    # left out.
    accuracy = np.linspace(0.005, 0.995, 199)
    limits = bounds.error_consistency_bounds(accuracy[:, None], accuracy[None, :])
    texts = []
    titles = ("lowest possible", "highest possible")
    for ax, values, title in zip(axes, limits, titles, strict=True):
        ax.pcolormesh(accuracy, accuracy, values.T, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True)
        lines = ax.contour(
            accuracy,
            accuracy,
            values.T,
            levels=np.arange(-0.8, 0.9, 0.2),
            colors="0.3",
            linewidths=0.5,
        )
        texts.append(ax.clabel(lines, fontsize=6, fmt="%.1f"))
        ax.set(title=title, xlabel="accuracy of a", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if result is not None:
            _draw_pairs(ax, result)
    axes[0].set_ylabel("accuracy of b")
    colours = ScalarMappable(Normalize(-1, 1), cmap="RdBu_r")
    color_key(axes, colours, "error consistency", shrink=0.85)
    for ax, numbers in zip(axes, texts, strict=True):
        drop_crowded(ax, numbers)
    return axes[0], axes[1]


def _draw_pairs(ax: Axes, result: Result) -> None:
    """The pairs as points; many of them as hexagons."""
    p_a, p_b = consistency.accuracies(result.table["cells"].values)
    value = result.estimates["estimate"].values
    look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "edgecolors": "black"}
    if len(value) > MOST_POINTS:
        # Size is the number of pairs, by the root: area is what is seen.
        options: dict[str, Any] = {"gridsize": HEXAGONS, "extent": (0, 1, 0, 1), "visible": False}
        counted = ax.hexbin(p_a, p_b, **options)
        defined = np.isfinite(value)
        centre, number = np.asarray(counted.get_offsets()), np.asarray(counted.get_array())
        nearest = cKDTree(centre).query(np.column_stack([p_a, p_b]))[1]
        total = np.bincount(nearest[defined], value[defined], minlength=len(centre))
        there = np.bincount(nearest[defined], minlength=len(centre))
        mean = np.divide(total, there, out=np.full(len(centre), np.nan), where=there > 0)
        counted.remove()
        own = number > 0
        size = 8 + 60 * np.sqrt(number[own] / number.max())
        ax.scatter(centre[own, 0], centre[own, 1], c=mean[own], s=size, marker="h", linewidths=0.4,
                   plotnonfinite=True, **look)  # fmt: skip
        return
    ax.scatter(p_a, p_b, c=value, s=18, linewidths=0.5, plotnonfinite=True, **look)
