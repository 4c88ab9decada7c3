"""What observers answer to each class: confusion matrices, side by side."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from alikely.plots._style import figure_of, in_column, new_axes, styled

__all__ = ["plot_confusions"]

MOST, MOST_IN_COLUMN = 6, 3


@styled
def plot_confusions(counts: xr.DataArray) -> list[Axes]:
    """Draw the answers to each true class as shares, one panel for each group of observers.

    Parameters
    ----------
    counts : xarray.DataArray, dims (group, truth, response)
        As from `alikely.estimates.confusion_matrices`, of at most 6 groups; in a column 3.

    Returns
    -------
    list of matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If dims are others, or there are more groups than fit.

    Notes
    -----
    Rows sum to 1; a class that was never true is left white.

    Examples
    --------
    >>> import alikely as al
    >>> axes = al.plot_confusions(al.estimates.confusion_matrices(al.load_example(), "kind"))
    >>> [ax.get_title() for ax in axes]
    ['human', 'model']
    """
    if counts.dims != ("group", "truth", "response"):
        raise ValueError(f"counts must have the dims group, truth and response, got {counts.dims}")
    groups = counts["group"].values.tolist()
    most, where = (MOST_IN_COLUMN, "in a column") if in_column() else (MOST, "beside each other")
    if len(groups) > most:
        raise ValueError(
            f"at most {most} matrices fit {where}, got {len(groups)}; choose some: "
            "counts.sel(group=[...])"
        )
    shares = counts / counts.sum("response").where(lambda total: total > 0)
    side = max(2.6, 0.2 * counts.sizes["truth"])
    axes = new_axes((side * len(groups) + 1.4, side + 1.0), 1, len(groups), sharey=True)
    answers = counts["response"].values.tolist()
    truths = counts["truth"].values.tolist()
    for ax, group in zip(axes, groups, strict=True):
        image = ax.imshow(shares.sel(group=group), vmin=0, vmax=1, cmap="Blues")
        ax.set_title(str(group))
        ax.set_xticks(np.arange(len(answers)), answers, rotation=90, fontsize=7)
        ax.set_yticks(np.arange(len(truths)), truths, fontsize=7)
        ax.set_xlabel("answer")
    axes[0].set_ylabel("true class")
    bar = figure_of(axes[0]).colorbar(image, ax=list(axes), shrink=0.7)
    bar.set_label("share of the answers to a class")
    return cast("list[Axes]", list(axes))
