"""The copy model of a cohort: its fit to the data, and groups of models or conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from alikely._base.intervals import CiKind, check_interval
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState
from alikely.benchmark.cohorts import cohort_check, cohort_effects, covariate_values, layout_of
from alikely.inference.intervals import interval
from alikely.plots._style import SCHOOLS, axes_or_new, draw_kind, legend_right

__all__ = ["plot_cohort"]

# Quantities of a group, as axes say them.
QUANTITIES = {
    "copy_probability": "copy probability, at equal accuracy",
    "error_consistency": "error consistency with a human, at equal accuracy",
    "log_odds_ratio": "log odds ratio with the human copied",
    "accuracy": "accuracy",
}


def plot_cohort(
    tree: xr.DataTree,
    kind: Literal["fit", "groups"] = "fit",
    *,
    by: Literal["all", "machine", "condition"] | None = None,
    group: str | None = None,
    covariate: str | None = None,
    values: Sequence[Any] | None = None,
    quantity: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the fit of the copy model of a cohort, or groups of models or conditions.

    Each kind uses these arguments:

    - ``"fit"``: proportion correct of models by how many humans are correct, with predictive bands
      (`by`, `group`, `ci_prob`, `rng`)
    - ``"groups"``: a quantity for each group with its interval, as if all members of the cohort
      belonged to it; small circles are the members, each at its own accuracy (`covariate`,
      `values`, `quantity`, `ci_prob`, `ci_kind`)

    Parameters
    ----------
    tree : xarray.DataTree
        As returned by `alikely.fit_cohort`.
    kind : {"fit", "groups"}
        What to draw.
    by : {"all", "machine", "condition"}, optional
        As in `alikely.benchmark.cohort_check`. Default "all".
    group : str, optional
        Model or condition to draw. Default "all".
    covariate : str, optional
        As in `alikely.benchmark.cohorts.cohort_effects`; required for ``"groups"``.
    values : sequence, optional
        As in `alikely.benchmark.cohorts.cohort_effects`.
    quantity : str, optional
        "copy_probability" (default), "error_consistency", "log_odds_ratio" or "accuracy".
    ci_prob : float, optional
        Probability of bands or intervals, in (0, 1). Default 0.95.
    ci_kind : {"eti", "hdi"}, optional
        Equal-tailed (default) or highest-density intervals.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness of the replicated data.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If the kind, group or quantity is unknown, the covariate describes humans, or as in
        `alikely.benchmark.cohort_check` and `alikely.benchmark.cohorts.cohort_effects`.
    TypeError
        If the kind does not use an argument or lacks one that it needs.

    Examples
    --------
    >>> ax = plot_cohort(tree, rng=1)  # tree = al.fit_cohort(trials)
    >>> ax.get_xlabel()
    'share of humans who are right'
    """
    return draw_kind(
        KINDS, kind, tree, by=by, group=group, covariate=covariate, values=values,
        quantity=quantity, ci_prob=ci_prob, ci_kind=ci_kind, rng=rng, ax=ax,
    )  # fmt: skip


def _fit(
    tree: xr.DataTree,
    by: Literal["all", "machine", "condition"] = "all",
    group: str = "all",
    *,
    ci_prob: float = 0.95,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Proportion correct of models by how many humans are correct, with predictions."""
    table = cohort_check(tree, by, ci_prob=ci_prob, rng=rng)
    known = list(dict.fromkeys(table["group"]))
    if group not in known:
        raise ValueError(
            f"group must be one of {listed(known)}; got {group!r}{nearest(group, known)}"
        )
    table = table[(table["group"] == group) & (table["n_humans"] > 0)]
    ax = axes_or_new(ax, (6.2, 4.0))
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
    handles = ax.get_legend_handles_labels()[0]
    legend_right(ax, handles, "observed;\nbands predicted")
    return ax


def _groups(
    tree: xr.DataTree,
    covariate: str,
    values: Sequence[Any] | None = None,
    quantity: Literal[
        "copy_probability", "error_consistency", "log_odds_ratio", "accuracy"
    ] = "copy_probability",
    *,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    ax: Axes | None = None,
) -> Axes:
    """Groups of models or conditions with their intervals, and their members."""
    check_interval(ci_prob, ci_kind)
    column = covariate_values(tree, covariate)
    draws = cohort_effects(tree, covariate, values)
    if quantity not in draws:
        raise ValueError(
            f"quantity must be one of {listed(draws.data_vars)}, got {quantity!r}"
            f"{nearest(quantity, map(str, draws.data_vars))}"
        )
    if quantity not in QUANTITIES:
        raise ValueError(f"{covariate!r} is of humans; see alikely.benchmark.cohort_contrasts")
    names = draws[covariate].values.tolist()
    ax = axes_or_new(ax, (5.5, 0.8 + 0.55 * len(names)), tall=True)
    flat = draws[quantity].values.reshape(-1, len(names))
    bounds = interval(flat, ci_prob, ci_kind)
    kind = str(column.dims[0])
    entries = tree["posterior"][quantity].mean(("chain", "draw")).values
    members = pd.Series(entries).groupby(layout_of(tree)[kind].values).mean()
    color = SCHOOLS["posterior"]
    for row, name in enumerate(names):
        own = column[kind].values[column.values == name]
        ax.plot(members[own], np.full(len(own), row + 0.22), "o", color="0.6", markersize=3.5,
                markerfacecolor="none")  # fmt: skip
        ax.plot(bounds[row], [row, row], color=color, linewidth=1.5)
        ax.plot(flat[:, row].mean(), row, "o", color=color, markersize=6)
    ax.set_yticks(range(len(names)), [str(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_ylabel(covariate)
    ax.set_xlabel(QUANTITIES[quantity])
    return ax


KINDS: dict[str, Callable[..., Axes]] = {"fit": _fit, "groups": _groups}
