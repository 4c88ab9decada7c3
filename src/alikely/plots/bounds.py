"""What error consistency can be, given the accuracies, with the pairs observed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from alikely.estimates.result import Result
from alikely.metrics import bounds, consistency

__all__ = ["plot_bounds"]


def plot_bounds(
    result: Result | None = None, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """Draw the bounds of error consistency over the two accuracies, after Figure 2 of [K25]_.

    Parameters
    ----------
    result : Result, optional
        An analysis whose pairs are drawn into the maps, coloured by their error consistency.
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
        axes = tuple(plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained", sharey=True)[1])
    # Odd, so that the diagonal and one half are met; the edges, where EC is 0 or undefined, are
    # left out.
    accuracy = np.linspace(0.005, 0.995, 199)
    limits = bounds.error_consistency_bounds(accuracy[:, None], accuracy[None, :])
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
        ax.clabel(lines, fontsize=6, fmt="%.1f")
        ax.set(title=title, xlabel="accuracy of a", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if result is not None:
            cells = result.table["cells"].values
            p_a, p_b = consistency.accuracies(cells)
            ax.scatter(
                p_a,
                p_b,
                c=result.estimates["estimate"].values,
                cmap="RdBu_r",
                vmin=-1,
                vmax=1,
                s=18,
                edgecolors="black",
                linewidths=0.5,
                plotnonfinite=True,
            )
    axes[0].set_ylabel("accuracy of b")
    colours = ScalarMappable(Normalize(-1, 1), cmap="RdBu_r")
    axes[0].figure.colorbar(colours, ax=list(axes), label="error consistency", shrink=0.85)
    return axes[0], axes[1]
