"""Cohort copy model: its fit to the data, and groups of models or conditions."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from alikely._base.random import RandomState
from alikely.benchmark.cohorts import cohort_check, cohort_effects, covariate_values, layout_of
from alikely.inference.intervals import interval
from alikely.plots._style import MARKERS, METHODS, axes_or_new, draw_kind, legend, name_rows

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

    Kinds of plot, with their arguments in parentheses:

    - ``"fit"``: proportion correct of models against the proportion of humans who are correct, with
      95% predictive bands (`rng`)
    - ``"groups"``: copy probability of each group, with its 95% interval, at the mean accuracy of
      the cohort (`covariate`). Small circles show the members of a group, each at its own accuracy

    Parameters
    ----------
    tree : xarray.DataTree
        As returned by `alikely.fit_cohort`.
    kind : {"fit", "groups"}
        Kind of plot.
    covariate : str, optional
        As in `alikely.benchmark.cohorts.cohort_effects`; required for ``"groups"``.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness for the replicated data.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the kind is unknown, or the covariate describes humans. See also
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
    legend(ax, title="observed;\nbands predicted")
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
    color = METHODS["posterior"]
    ax.plot(interval(flat, 0.95, "eti").T, [rows, rows], color=color, linewidth=1.5)
    ax.plot(flat.mean(axis=0), rows, "o", color=color, markersize=6)
    name_rows(ax, [str(name) for name in names], down=True)
    ax.set_ylabel(covariate)
    ax.set_xlabel("copy probability, at equal accuracy")
    return ax
