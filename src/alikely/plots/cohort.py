"""The cohort copy model against the data."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from alikely._base.names import listed, nearest
from alikely._base.random import RandomState
from alikely.benchmark.cohorts import cohort_check
from alikely.plots._style import SCHOOLS, axes_or_new

__all__ = ["plot_cohort"]


def plot_cohort(
    tree: xr.DataTree,
    by: Literal["all", "machine", "condition"] = "all",
    group: str = "all",
    *,
    ci_prob: float = 0.95,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often machines are right, given how many humans are, with what the model predicts.

    Parameters
    ----------
    tree : xarray.DataTree
        As from `alikely.fit_cohort`.
    by : {"all", "machine", "condition"}
        As in `alikely.benchmark.cohort_check`.
    group : str
        Which machine or condition to draw.
    ci_prob : float
        Probability of the predictive bands, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness of the replicated data.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the group is unknown, or as in `alikely.benchmark.cohort_check`.

    Examples
    --------
    >>> ax = plot_cohort(tree, rng=1)  # tree = al.fit_cohort(trials)
    >>> ax.get_xlabel()
    'share of humans who are right'
    """
    table = cohort_check(tree, by, ci_prob=ci_prob, rng=rng)
    known = list(dict.fromkeys(table["group"]))
    if group not in known:
        raise ValueError(
            f"group must be one of {listed(known)}; got {group!r}{nearest(group, known)}"
        )
    table = table[(table["group"] == group) & (table["n_humans"] > 0)]
    ax = axes_or_new(ax, (5.0, 4.0))
    sizes = sorted(set(table["n_humans"]))
    for n, marker in zip(sizes, np.resize(list("os^Dv"), len(sizes)), strict=True):
        part = table[table["n_humans"] == n]
        share = part["n_right"] / n
        color = SCHOOLS["posterior"]
        ax.fill_between(share, part["lower"], part["upper"], color=color, alpha=0.2, linewidth=0)
        ax.plot(share, part["predicted"], color=color, linewidth=1)
        ax.plot(share, part["observed"], marker, color="0.2", markersize=5, label=f"{n} humans")
    ax.set_xlabel("share of humans who are right")
    ax.set_ylabel("share of machines' answers that are right")
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(0, 1)
    ax.legend(title="observed; bands predicted", frameon=False, fontsize=8, title_fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
