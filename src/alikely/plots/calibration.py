"""Calibration: ranks, recovery, coverage of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import one_of
from alikely.inference.intervals import rank_band
from alikely.plots._style import (
    METHODS,
    axes_or_new,
    check_table,
    draw_kind,
    figure_of,
    group_styles,
    legend,
    new_axes,
)

RANKS = "use the table of alikely.calibration.sbc()"
STUDY = "use the table of alikely.calibration.coverage_study()"
COLUMNS = 4
# Probability of the intervals whose coverage is drawn.
LEVEL = 0.95


def plot_calibration(
    table: pd.DataFrame,
    kind: Literal["ranks", "recovery", "coverage"],
    *,
    methods: Sequence[str] | None = None,
    x: str | None = None,
    ax: Axes | None = None,
) -> Any:
    """Plot the results of simulation-based calibration or of a coverage study.

    Kinds of plot (the first two have a panel for each quantity):

    - ``"ranks"``: distribution of the ranks minus the uniform distribution, with its simultaneous
      band [SBV22]_. A rank curve with a maximum on the left and a minimum on the right indicates
      intervals that are too narrow; the opposite indicates intervals that are too wide. A curve
      with a single maximum or minimum indicates bias
    - ``"recovery"``: posterior means against true values, with normal 90% intervals
    - ``"coverage"``: coverage of the 95% intervals of several methods, with a point for each
      setting

    Parameters
    ----------
    table : pandas.DataFrame
        Result as returned by `alikely.calibration.sbc` or, for the kind ``"coverage"``, by
        `alikely.calibration.coverage_study`.
    kind : {"ranks", "recovery", "coverage"}
        Kind of plot.
    methods : sequence of str, optional
        For ``"coverage"``: names of the methods to plot. Default: posterior, bootstrap and wald.
    x : str, optional
        For ``"coverage"``: column of `table` to show on the x axis. Default "n_trials".
    ax : matplotlib.axes.Axes, optional
        For ``"coverage"``: axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        A single axes for ``"coverage"``; otherwise, one axes for each quantity.

    Raises
    ------
    ValueError
        If `kind` is unknown, if `table` is empty or lacks a required column, or if it has no rows
        for a requested method.
    TypeError
        If an argument is given that this kind of plot does not use.

    References
    ----------
    .. [SBV22] Säilynoja, Bürkner, Vehtari (2022). Graphical test for discrete uniformity and its
       applications in goodness-of-fit evaluation and multiple sample comparison.
       doi:10.1007/s11222-022-10090-6

    Examples
    --------
    >>> import alikely as al
    >>> grid = pd.DataFrame({"accuracy_a": 0.9, "accuracy_b": 0.9, "ec": 0.2, "n_trials": [40, 80]})
    >>> study = al.calibration.coverage_study(grid, n_datasets=100, rng=1)
    >>> al.plot_calibration(study, "coverage").get_ylabel()
    'coverage of 95% intervals'
    """
    return draw_kind(plot_calibration, locals())


def _ranks(ranks: pd.DataFrame) -> NDArray[np.object_]:
    """Distribution of ranks minus the uniform distribution, with its band."""
    axes, parts = _panels(ranks, "rank of true value among draws", "distribution minus uniform")
    for ax, part in zip(axes, parts, strict=True):
        for method, of_school in part.groupby("method", sort=False):
            values = of_school["rank"].dropna().to_numpy()
            place, lower, upper = rank_band(len(values), 0.95)
            if method == "posterior":
                ax.fill_between(place, lower - place, upper - place, color="0.88", linewidth=0)
            below = np.searchsorted(np.sort(values), place, side="right") / len(values)
            ax.step(place, below - place, color=METHODS[str(method)], linewidth=1)
        ax.axhline(0, color="0.5", linewidth=0.6)
        ax.set_xlim(0, 1)
    return axes


def _recovery(ranks: pd.DataFrame) -> NDArray[np.object_]:
    """Posterior means with normal intervals against true values."""
    ranks = ranks[ranks["quantity"] != "log_likelihood"] if "quantity" in ranks else ranks
    axes, parts = _panels(ranks, "true value", "posterior mean")
    for ax, part in zip(axes, parts, strict=True):
        one = part[part["method"] == "posterior"]
        half = stats.norm.ppf(0.95) * one["sd"]
        look: dict[str, Any] = {"color": METHODS["posterior"]}
        ax.errorbar(one["truth"], one["mean"], half, fmt="none", elinewidth=0.4, alpha=0.5, **look)
        ax.plot(one["truth"], one["mean"], ".", markersize=2, **look)
        ends = one["truth"].min(), one["truth"].max()
        ax.plot(ends, ends, color="0.3", linewidth=0.8)
    return axes


def _coverage(
    study: pd.DataFrame,
    methods: Sequence[str] = ("posterior", "bootstrap", "wald"),
    *,
    x: str = "n_trials",
    ax: Axes | None = None,
) -> Axes:
    """Coverage of the intervals of several methods, a point for each setting."""
    check_table(study, {x, "method", "ci_prob", "coverage"}, STUDY)
    part = study[np.isclose(study["ci_prob"], LEVEL)]
    if part.empty:
        found = ", ".join(f"{p:g}" for p in sorted(set(study["ci_prob"])))
        raise ValueError(f"the study must have intervals with ci_prob {LEVEL:g}, got {found}")
    known = tuple(part["method"].drop_duplicates())
    for name in methods:
        one_of("methods", name, known)
    ax = axes_or_new(ax, (6.4, 4.0))
    places = np.sort(part[x].unique())
    for (name, (color, marker)), offset in zip(
        group_styles(methods).items(), np.arange(len(methods)) - (len(methods) - 1) / 2, strict=True
    ):
        own = part[part["method"] == name]
        # Settings with the same x are drawn next to each other, in their order.
        of_place = own.groupby(x)[x]
        spread = 0.15 * ((of_place.cumcount() + 0.5) / of_place.transform("size") - 0.5)
        at = np.searchsorted(places, own[x]) + 0.22 * offset + spread
        ax.plot(at, own["coverage"], marker, color=color, markersize=4, label=name)
    ax.axhline(LEVEL, color="0.3", linewidth=0.8)
    ax.set_xticks(range(len(places)), [f"{place:,g}" for place in places])
    ax.set_ylim(top=1.01)
    along = "trials" if x == "n_trials" else x.replace("_", " ")
    ax.set(xlabel=along, ylabel="coverage of 95% intervals")
    legend(ax)
    return ax


def _panels(ranks: pd.DataFrame, x: str, y: str) -> tuple[NDArray[np.object_], list[pd.DataFrame]]:
    """Axes of a panel for each quantity, and the corresponding rows of the table."""
    check_table(ranks, {"method", "quantity", "rank", "truth", "mean", "sd"}, RANKS)
    wanted = list(dict.fromkeys(ranks["quantity"]))
    columns = min(COLUMNS, len(wanted))
    rows = -(-len(wanted) // columns)
    axes = new_axes((2.1 * columns + 0.5, 1.7 * rows + 0.6), rows, columns, most=2)
    figure = figure_of(axes[0])
    figure.supxlabel(x)
    figure.supylabel(y)
    for ax in axes[len(wanted) :]:
        ax.remove()
    axes = axes[: len(wanted)]
    for ax, name in zip(axes, wanted, strict=True):
        ax.set_title(name, fontsize=8)
        ax.tick_params(labelsize=7)
    return axes, [ranks[ranks["quantity"] == name] for name in wanted]
