"""Evidence to look at: ranks, recovery, data-averaged posteriors and coverage of intervals.

References
----------
.. [SBV22] Säilynoja, Bürkner, Vehtari (2022). Graphical test for discrete uniformity and its
   applications in goodness-of-fit evaluation and multiple sample comparison.
   doi:10.1007/s11222-022-10090-6
.. [T18] Talts, Betancourt, Simpson, Vehtari, Gelman (2018). Validating Bayesian inference
   algorithms with simulation-based calibration. doi:10.48550/arXiv.1804.06788
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from alikely._base.intervals import percent
from alikely._base.names import listed, nearest
from alikely.plots._style import (
    COLORS,
    MARKERS,
    SCHOOLS,
    axes_or_new,
    check_table,
    figure_of,
    legend_right,
    new_axes,
    styled,
)
from alikely.stats.bands import rank_band

__all__ = ["plot_coverage", "plot_data_averaged", "plot_rank_ecdf", "plot_recovery"]

RANKS = "give ranks of alikely.calibration.sbc()"
STUDY = "give a study of alikely.calibration.coverage_study()"
COLUMNS = 4


@styled
def plot_rank_ecdf(
    ranks: pd.DataFrame, ci_prob: float = 0.95, quantities: Sequence[str] | None = None
) -> Figure:
    """Draw how far the distribution of ranks is from uniform, quantity by quantity [SBV22]_.

    Parameters
    ----------
    ranks : pandas.DataFrame
        As from `alikely.calibration.sbc`.
    ci_prob : float
        Of the simultaneous band, in (0, 1).
    quantities : sequence of str, optional
        Which to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per quantity: distribution function minus the diagonal, with its band; of
        bootstrap replicates too where there are any. A hill at the left and a valley at the right
        mean intervals that are too narrow, the reverse too wide ones; one hill or one valley a
        bias.

    Raises
    ------
    ValueError
        If the table is empty, lacks a column, or has no such quantity.

    Examples
    --------
    >>> len(plot_rank_ecdf(ranks).axes)  # ranks = al.calibration.sbc(model)
    3
    """
    figure, panels = _panels(ranks, quantities)
    for ax, part in panels:
        for school, of_school in part.groupby("school", sort=False):
            values = of_school["rank"].dropna().to_numpy()
            place, lower, upper = rank_band(len(values), ci_prob)
            if school == "posterior":
                ax.fill_between(place, lower - place, upper - place, color="0.88", linewidth=0)
            below = np.searchsorted(np.sort(values), place, side="right") / len(values)
            ax.step(place, below - place, color=SCHOOLS[str(school)], linewidth=1)
        ax.axhline(0, color="0.5", linewidth=0.6)
        ax.set_xlim(0, 1)
    figure.supxlabel("rank of the truth among posterior draws", fontsize=9)
    figure.supylabel("distribution minus uniform", fontsize=9)
    return figure


@styled
def plot_recovery(
    ranks: pd.DataFrame, quantities: Sequence[str] | None = None, ci_prob: float = 0.9
) -> Figure:
    """Draw posterior means, with normal intervals, against the true values.

    Parameters
    ----------
    ranks : pandas.DataFrame
        As from `alikely.calibration.sbc`.
    quantities : sequence of str, optional
        Which to draw; all but the log likelihood if not given.
    ci_prob : float
        Of the intervals, in (0, 1).

    Returns
    -------
    matplotlib.figure.Figure
        One panel per quantity, one line per simulation.

    Raises
    ------
    ValueError
        As in `plot_rank_ecdf`, or if `ci_prob` is out of range.

    Examples
    --------
    >>> len(plot_recovery(ranks).axes)  # ranks = al.calibration.sbc(model)
    2
    """
    from scipy import special

    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must be between 0 and 1, got {ci_prob}")
    if quantities is None and "quantity" in ranks:
        quantities = [q for q in ranks["quantity"].unique() if q != "log_likelihood"]
    figure, panels = _panels(ranks, quantities)
    for ax, part in panels:
        one = part[part["school"] == "posterior"]
        half = special.ndtri((1 + ci_prob) / 2) * one["sd"]
        ax.errorbar(
            one["truth"], one["mean"], half, fmt="none", ecolor=SCHOOLS["posterior"],
            elinewidth=0.4, alpha=0.5,
        )  # fmt: skip
        ax.plot(one["truth"], one["mean"], ".", color=SCHOOLS["posterior"], markersize=2)
        ends = one["truth"].min(), one["truth"].max()
        ax.plot(ends, ends, color="0.3", linewidth=0.8)
    figure.supxlabel("true value", fontsize=9)
    figure.supylabel("posterior mean", fontsize=9)
    return figure


@styled
def plot_data_averaged(ranks: pd.DataFrame, quantities: Sequence[str] | None = None) -> Figure:
    """Draw the distribution of the truths, and of one posterior draw of each simulation [T18]_.

    Averaged over data that come from the prior, posteriors are the prior again.

    Parameters
    ----------
    ranks : pandas.DataFrame
        As from `alikely.calibration.sbc`.
    quantities : sequence of str, optional
        Which to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per quantity: both distribution functions.

    Raises
    ------
    ValueError
        As in `plot_rank_ecdf`.

    Examples
    --------
    >>> len(plot_data_averaged(ranks).axes)  # ranks = al.calibration.sbc(model)
    3
    """
    figure, panels = _panels(ranks, quantities)
    for ax, part in panels:
        one = part[part["school"] == "posterior"]
        ax.ecdf(one["truth"], color="0.2", linewidth=1)
        ax.ecdf(one["draw"], color=SCHOOLS["posterior"], linewidth=1)
    figure.supxlabel("black: true values (prior), blue: posterior draws", fontsize=9)
    figure.supylabel("share below", fontsize=9)
    return figure


@styled
def plot_coverage(
    study: pd.DataFrame,
    methods: Sequence[str] = ("posterior", "bootstrap", "wald"),
    ci_prob: float = 0.95,
    *,
    x: str = "n_trials",
    ax: Axes | None = None,
) -> Axes:
    """Draw how often intervals of several methods hold the truth, one point for each setting.

    Parameters
    ----------
    study : pandas.DataFrame
        As from `alikely.calibration.coverage_study` or `alikely.calibration.estimate_coverage`.
    methods : sequence of str
        Which to draw.
    ci_prob : float
        One of the study's probabilities.
    x : str
        A column of the settings along the axis; places next to each other tell methods apart.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the study is empty, lacks a column, a method or the probability.

    Examples
    --------
    >>> import alikely as al
    >>> grid = al.calibration.default_grid().head(2)
    >>> study = al.calibration.coverage_study(grid, n_datasets=100, rng=1)
    >>> plot_coverage(study).get_ylabel()
    'coverage of 95 % intervals'
    """
    check_table(study, {x, "method", "ci_prob", "coverage"}, STUDY)
    part = study[np.isclose(study["ci_prob"], ci_prob)]
    lacking = [name for name in methods if name not in set(part["method"])]
    if lacking:
        known = list(dict.fromkeys(study["method"]))
        raise ValueError(
            f"the study has no {lacking[0]!r} at {ci_prob:g}; its methods are {listed(known)}, its "
            f"probabilities {', '.join(f'{p:g}' for p in sorted(set(study['ci_prob'])))}"
            f"{nearest(lacking[0], known)}"
        )
    ax = axes_or_new(ax, (6.4, 4.0))
    places = np.sort(part[x].unique())
    handles = []
    for i, name in enumerate(methods):
        of_method = part[part["method"] == name]
        at = np.searchsorted(places, of_method[x]) + (i - (len(methods) - 1) / 2) * 0.22
        # Settings of one place side by side, in their order.
        nth = of_method.groupby(x).cumcount()
        of_place = of_method.groupby(x)[x].transform("size")
        spread = 0.15 * ((nth + 0.5) / of_place - 0.5)
        style: dict[str, Any] = {"color": COLORS[i % len(COLORS)]}
        style["marker"] = MARKERS[i % len(MARKERS)]
        ax.plot(at + spread, of_method["coverage"], linestyle="none", markersize=4, **style)
        handles.append(Line2D([], [], linestyle="none", markersize=5, label=name, **style))
    ax.axhline(ci_prob, color="0.3", linewidth=0.8)
    ax.set_xticks(range(len(places)), [f"{place:,g}" for place in places])
    ax.set_ylim(top=1.01)
    ax.set_xlabel("trials" if x == "n_trials" else x.replace("_", " "))
    ax.set_ylabel(f"coverage of {percent(ci_prob)} intervals")
    legend_right(ax, handles)
    return ax


def _panels(
    ranks: pd.DataFrame, quantities: Sequence[str] | None
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """A figure with one small panel for each quantity."""
    check_table(ranks, {"school", "quantity", "rank", "truth", "draw", "mean", "sd"}, RANKS)
    known = list(dict.fromkeys(ranks["quantity"]))
    wanted = known if quantities is None else list(quantities)
    lacking = [name for name in wanted if name not in known]
    if lacking or not wanted:
        raise ValueError(
            f"quantities must be among {listed(known)}; got {wanted!r}"
            f"{nearest((lacking or [''])[0], known)}"
        )
    columns = min(COLUMNS, len(wanted))
    rows = -(-len(wanted) // columns)
    axes = new_axes((2.1 * columns + 0.5, 1.7 * rows + 0.6), rows, columns, most=2)
    for ax in axes[len(wanted) :]:
        ax.remove()
    panels = []
    for ax, name in zip(axes, wanted, strict=False):
        ax.set_title(name, fontsize=8)
        ax.tick_params(labelsize=7)
        panels.append((ax, ranks[ranks["quantity"] == name]))
    return figure_of(panels[0][0]), panels
