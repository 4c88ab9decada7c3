"""Plots of the five papers: printed leaderboards, radars, ranks and numbers of regimes."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from alikely._base.arrays import Floats
from alikely.benchmark.layout import HUMANS
from alikely.metrics import get_metric
from alikely.plots._regimes import (
    by_system,
    check_dataset,
    group_styles,
    groups_of,
    key,
    legend_below,
    name_ends,
    names_of_ends,
)
from alikely.plots._style import (
    COLORS,
    MARKERS,
    axes_or_new,
    check_table,
    in_column,
    key_outside,
    only,
    rows_shown,
    styled,
)
from alikely.stats.distances import Groups

__all__ = ["plot_leaderboard", "plot_radar", "plot_regime_numbers", "plot_regime_ranks"]

TABLE = "give the table of alikely.spectrum.alignment_table(alignment, labels)"
RANKS = "give the table of alikely.spectrum.regime_alignment()"
# From here on lines hide each other: so many have colours.
MANY_LINES, MOST_LINES = 12, 8
# So many names fit one below the other on a page.
MOST_NAMES = 50
MOST_MACHINES = 60
CRITERIA = {
    "bic": ("BIC", "o", "-", COLORS[0]),
    "aicc": ("AICc", "s", "--", COLORS[1]),
    "converged_bic": ("BIC, EM run to its end", "^", ":", COLORS[2]),
}


@styled
def plot_leaderboard(
    table: pd.DataFrame, *, top: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw machines by their printed scores, with the intervals of every scheme.

    Parameters
    ----------
    table : pandas.DataFrame
        As returned by `alikely.papers.reconstruct_leaderboard`.
    top : int, optional
        How many machines to draw, best first, at least 1; 60 if not given, in a column as many as a
        page holds. The label of the axis says of how many.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a column is missing, or `top` is below 1 or more than a page holds.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> printed = pd.DataFrame({"system": ["a", "b"], "dataset": "all", "score": [0.9, 0.4]})
    >>> table = al.papers.reconstruct_leaderboard(printed, trials, n_samples=100, rng=1)
    >>> [text.get_text() for text in al.papers.plot_leaderboard(table).get_yticklabels()]
    ['a', 'b']
    """
    bounds = [name for name in table if name.endswith(("_lb", "_ub")) and name.startswith("ci")]
    missing = [name for name in ("scheme", "system", "estimate", "rank") if name not in table]
    if missing or len(bounds) != 2:
        raise ValueError(
            f"table must be one of reconstruct_leaderboard, got the columns {[*table.columns]}"
        )
    schemes = list(dict.fromkeys(table["scheme"]))
    every = table[table["scheme"] == schemes[0]]["system"].tolist()
    shown, height = rows_shown(len(every), top, 0.28, MOST_MACHINES)
    systems = every[:shown]
    axes = axes_or_new(ax, (7.0, 1.2 + height * shown), tall=True)
    handles = []
    for k, scheme in enumerate(schemes):
        own = table[table["scheme"] == scheme].set_index("system").loc[systems]
        place = np.arange(len(systems)) + 0.22 * (k - (len(schemes) - 1) / 2)
        reach = np.stack([own["estimate"] - own[bounds[0]], own[bounds[1]] - own["estimate"]])
        handles.append(
            axes.errorbar(
                own["estimate"], place, xerr=reach, fmt=MARKERS[k], color=COLORS[k], ms=3, lw=1,
                label=scheme,
            )
        )  # fmt: skip
    axes.set_yticks(np.arange(len(systems)), systems)
    axes.invert_yaxis()
    axes.set_xlabel("error consistency with humans")
    if len(systems) < len(every):
        axes.set_ylabel(f"first {len(systems)} of {len(every)} machines")
    key_outside(
        axes, handles, "trials made up by", loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3
    )
    return axes


@styled
def plot_radar(
    table: pd.DataFrame,
    families: Groups,
    metric: str = "error_consistency",
    regime: str | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw alignment of families of machines over data sets.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.spectrum.alignment_table`; with labels if `regime` is given.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each machine.
    metric : str
        Metric to draw.
    regime : str, optional
        Take the conditions of this regime only.
    ax : matplotlib.axes.Axes, optional
        Polar axes to draw on; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One spoke per data set, one polygon per family and one for humans among each other: means
        over the machines of the family and the conditions of the data set. A condition in which
        any system lacks a value is left out for all, and counted in the legend; a data set of which
        none is left has no spoke. Below 0 lies inside the grey circle.

    Raises
    ------
    TypeError
        If families have no names, or the axes are not polar.
    ValueError
        If the table is empty or lacks a column, the metric or the regime; a machine has no family;
        or fewer than three data sets are left.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> table = al.spectrum.alignment_table(al.condition_alignment(trials, n_resamples=0))
    >>> table["dataset"] = table["level"]  # three data sets of one condition each
    >>> ax = plot_radar(table, trials.data["family"].dropna("observer"))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['clean', 'blur', 'noise']
    """
    if ax is not None and not isinstance(ax, PolarAxes):
        raise TypeError(
            "ax must be polar; make it with plt.subplots(subplot_kw={'projection': 'polar'})"
        )
    needed = ["metric", "dataset", "condition", "system", "estimate"]
    check_table(table, needed if regime is None else [*needed, "regime"], TABLE)
    own = only(table, "metric", metric)
    if regime is not None:
        own = only(own, "regime", regime)
    values = by_system(own, own["condition"].drop_duplicates().tolist())
    family = groups_of([str(name) for name in values.index if name != HUMANS], families, "family")
    group = pd.Series(family, index=[name for name in values.index if name != HUMANS])
    kept = values.dropna(axis=1)
    place = own.drop_duplicates("condition").set_index("condition")["dataset"].loc[kept.columns]
    spokes = kept.T.groupby(place, sort=False).mean().T
    if spokes.shape[1] < 3:
        raise ValueError(
            f"a radar needs at least 3 data sets with every value defined, got {spokes.shape[1]}; "
            "use al.plot_alignment(table, 'levels')"
        )
    polygons = spokes.drop(index=HUMANS, errors="ignore").groupby(group, sort=False).mean()

    if ax is None:
        ax = axes_or_new(None, (7.0, 4.6), subplot_kw={"projection": "polar"})
    assert isinstance(ax, PolarAxes)
    angle = np.linspace(0, 2 * np.pi, spokes.shape[1], endpoint=False)
    handles: list[Line2D] = []
    rows: list[tuple[str, Floats, dict[str, Any]]] = []
    if HUMANS in spokes.index:
        look: dict[str, Any] = {"color": "black", "linewidth": 2.0}
        rows.append(("humans among each other", spokes.loc[HUMANS].to_numpy(), look))
    for name, (color, marker) in group_styles(polygons.index.tolist()).items():
        look = {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.2}
        n = int((group == name).sum())
        text = f"{name} ({n} {'machine' if n == 1 else 'machines'})"
        rows.append((text, polygons.loc[name].to_numpy(), look))
    for text, row, look in rows:
        ax.plot(np.append(angle, angle[0]), np.append(row, row[0]), **look)
        handles.append(key(text, **look))
    lost = values.shape[1] - kept.shape[1]
    if lost:
        text = f"conditions left out, with an\nundefined value: {lost} of {values.shape[1]}"
        handles.append(key(text, linestyle=""))
    lowest = float(min(row.min() for _, row, _ in rows))
    highest = float(max(row.max() for _, row, _ in rows))
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    if lowest < 0:
        circle = np.linspace(0, 2 * np.pi, 200)
        ax.plot(circle, np.zeros(200), color="0.5", linewidth=1.0, zorder=1)
    ax.set_rlim(min(0.0, 1.15 * lowest), 1.05 * max(highest, 0.0) or 1.0)
    # Between two spokes, so that figures and lines stay apart.
    ax.set_rlabel_position(float(np.degrees(angle[1] / 2)))
    ax.tick_params(axis="y", labelsize=7, labelcolor="0.35")
    ax.yaxis.set_major_locator(MaxNLocator(2 if in_column() else 5))
    letters = 12 if in_column() else 24
    names = [textwrap.fill(name, letters, break_long_words=False) for name in spokes.columns]
    ax.set_xticks(angle, names, fontsize=8)
    for label, theta in zip(ax.get_xticklabels(), angle, strict=True):
        side = np.sin(theta)
        label.set_horizontalalignment(
            "center" if abs(side) < 0.1 else "left" if side > 0 else "right"
        )
    title = get_metric(metric).label
    ax.set_title(title if regime is None else f"{title}, {regime}", fontsize=9)
    legend_below(ax, handles)
    return ax


@styled
def plot_regime_ranks(
    table: pd.DataFrame,
    metric: str = "error_consistency",
    families: Groups | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the ranks of machines change from regime to regime.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.spectrum.regime_alignment`; regimes are drawn in its order.
    metric : str
        Metric to draw.
    families : mapping, pandas.Series or xarray.DataArray, optional
        Family of each machine: colours of the lines; one for each machine if not given.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Ranks, 1 on top, joined by a line for each machine; light bars are the joint confidence
        sets of the ranks. Within a regime the machines stand side by side in the order of their
        ranks, so that the bars can be told apart. Names are at the last ranks. Of more than 12
        machines without families, the 8 whose rank changes most have a colour and their sets; of
        more than 50 these 8 alone are named.

    Raises
    ------
    TypeError
        If families have no names.
    ValueError
        If the table is empty or lacks a column or the metric, there is no rank in it, or a machine
        has no family.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> ax = plot_regime_ranks(al.spectrum.regime_alignment(alignment, regime, rng=1))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['easy', 'hard']
    """
    check_table(table, ("metric", "regime", "system", "rank", "rank_lb", "rank_ub"), RANKS)
    own = only(table, "metric", metric)
    regimes = [str(name) for name in own["regime"].drop_duplicates()]
    rank, lower, upper = (
        own.pivot(index="system", columns="regime", values=name)
        .reindex(index=own["system"].drop_duplicates(), columns=own["regime"].drop_duplicates())
        .to_numpy(np.float64)
        for name in ("rank", "rank_lb", "rank_ub")
    )
    systems = [str(name) for name in own["system"].drop_duplicates()]
    ranked = np.isfinite(rank).any(axis=0)
    if not ranked.any():
        raise ValueError(f"no machine has a rank of {metric}: no regime has a condition left")
    # Machines from the first to the last where the lines end.
    last = int(np.flatnonzero(ranked)[-1])
    order = np.argsort(rank[:, last], kind="stable")
    colors = [COLORS[k % len(COLORS)] for k in range(len(systems))]
    handles: list[Any] = []
    if families is not None:
        family = groups_of(systems, families, "family")
        styles = group_styles(list(dict.fromkeys(family)))
        colors = [styles[name][0] for name in family]
        handles = [
            key(name, color=color, marker="o", markersize=4) for name, (color, _) in styles.items()
        ]
    n = len(systems)
    # Of many lines only those are told apart whose rank changes most.
    change = np.nan_to_num(np.ptp(rank[:, ranked], axis=1), nan=-1.0)
    most = np.argsort(-change, kind="stable")[: MOST_LINES if n > MANY_LINES else n]
    apart = np.full(n, True)
    if families is None:
        apart[np.setdiff1d(np.arange(n), most)] = False
        # Neighbours at the right differ.
        colors = ["0.72"] * n
        for place, k in enumerate(k for k in order if apart[k]):
            colors[k] = COLORS[place % (len(COLORS) - 1)]
    ax = axes_or_new(
        ax, (2.8 + 1.3 * len(regimes), max(1.3 + 0.155 * min(n, MOST_NAMES), 2.6)), tall=True
    )
    # Side by side, so that no bar hides another.
    aside = 0.3 * (2 * (np.argsort(np.argsort(rank, axis=0), axis=0) + 0.5) / n - 1)
    x = np.arange(len(regimes)) + aside
    for k in range(n):
        look: dict[str, Any] = {"color": colors[k], "zorder": 1 + apart[k]}
        if apart[k]:
            ax.vlines(x[k], lower[k] - 0.3, upper[k] + 0.3, alpha=0.25, linewidth=2.2, **look)
        width = (0.7, 0.9 if n <= MANY_LINES else 1.6)[int(apart[k])]
        ax.plot(x[k], rank[k], linewidth=width, marker="o", markersize=3.2, **look)
    short = names_of_ends(systems)
    for place, k in enumerate(order if n <= MOST_NAMES else ()):
        _name_row(
            ax, short[systems[k]], (len(regimes) - 0.55, place + 1), colors[k] if apart[k] else ""
        )
    ax.set_xlim(-0.45, len(regimes) - 0.55)
    ax.set_ylim(n + 0.7, 0.3)
    if n > MOST_NAMES:
        ending = most[np.isfinite(rank[most, last])].tolist()
        ends = [(float(rank[k, last]), systems[k], False, colors[k]) for k in ending]
        name_ends(ax, last + 0.3, ends)
    text = [
        name if there else f"{name}\n(no rank)" for name, there in zip(regimes, ranked, strict=True)
    ]
    ax.set_xticks(range(len(regimes)), text)
    ax.tick_params(axis="x", length=0)
    every = 5 if n <= MOST_NAMES else 5 * -(-n // 50)
    ticks = {1, *range(every, n + 1 - every // 2, every), n}
    ax.set_yticks(sorted(ticks) if n > 8 else range(1, n + 1))
    ax.set_ylabel(f"rank by {get_metric(metric).label}")
    ax.spines[["top", "right"]].set_visible(False)
    if not apart.all():
        told = f"the {MOST_LINES} that change most"
        handles.append(key(told, color=COLORS[0], linewidth=1.6))
        handles.append(key("others", color="0.72", linewidth=0.7))
    handles.append(Patch(color="0.8", label="confidence set of the rank"))
    key_outside(
        ax, handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=min(3, len(handles)), fontsize=7
    )
    return ax


def _name_row(ax: Axes, name: str, at: tuple[float, float], color: str) -> None:
    ax.annotate(
        name, at, xytext=(2, 0), textcoords="offset points", va="center", fontsize=7,
        color=color or "0.35", annotation_clip=False,
    )  # fmt: skip


@styled
def plot_regime_numbers(
    found: xr.Dataset, compared: pd.DataFrame | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw what speaks for each number of regimes, and how often replicates choose it.

    Parameters
    ----------
    found : xarray.Dataset
        As from `alikely.regimes`.
    compared : pandas.DataFrame, optional
        As from `alikely.spectrum.compare_regimes`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Differences of each criterion from its lowest value; of the comparison twice the difference
        of elpd, which is of the same scale, with a bar of one standard error of it. Filled BIC:
        within 2 of the lowest. If there are replicates, pale bars are the share of each number
        among them, on an axis of their own at the right. What is undefined is counted in the
        legend.

    Raises
    ------
    TypeError
        If `found` is not a Dataset.
    ValueError
        If something is lacking, or differences are not to the best.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> ax = plot_regime_numbers(al.regimes(spectrum, k=2, n_resamples=0, rng=1))
    >>> ax.get_xlabel()
    'number of regimes'
    """
    check_dataset(found, "found", ("n_regimes", *CRITERIA), "alikely.regimes")
    loo = None if compared is None else _leave_one_out(compared)
    number = found["n_regimes"].values
    ties = np.isin(number, found.attrs.get("ties", []))
    ax = axes_or_new(ax, (7.0, 3.8))
    handles: list[Any] = []
    for name, (text, marker, style, color) in CRITERIA.items():
        value = found[name].values.astype(np.float64)
        known = np.isfinite(value)
        difference = value - value[known].min() if known.any() else value
        look: dict[str, Any] = {"marker": marker, "color": color, "markersize": 5}
        if not known.all():
            text += f"\n({(~known).sum()} of {len(known)} undefined)"
        fill = color if name != "bic" else "white"
        ax.plot(number, difference, linestyle=style, markerfacecolor=fill, **look)
        if name == "bic":
            text += " (filled: within 2\nof its lowest)"
            ax.plot(number[ties], difference[ties], linestyle="", **look)
        handles.append(key(text, linestyle=style, **look))
    if loo is not None:
        look = {"marker": "D", "color": COLORS[3], "markersize": 5}
        # Aside, so that its bars stay apart from other markers.
        ax.errorbar(loo.index + 0.1, loo["difference"], loo["se"], linestyle="-.", linewidth=1.2,
                    capsize=2, **look)  # fmt: skip
        text = "leave-one-out, -2 elpd\n(bar: 1 standard error)"
        handles.append(key(text, linestyle="-.", **look))
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set_xlabel("number of regimes")
    ax.set_ylabel("difference from the lowest")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    if "resampled_best" in found:
        share = ax.twinx()
        share.bar(number, found["resampled_best"].values, width=0.6, color="0.88")
        share.set_ylim(0, 1)
        share.yaxis.set_major_formatter(PercentFormatter(1))
        share.set_ylabel("share of replicates\nwith the lowest BIC there")
        share.spines["right"].set_visible(True)
        # Lines stay in front of the bars.
        ax.set_zorder(share.get_zorder() + 1)
        ax.patch.set_visible(False)
        handles.append(Patch(color="0.88", label="share of replicates"))
    legend_below(ax, handles)
    return ax


def _leave_one_out(compared: pd.DataFrame) -> pd.DataFrame:
    """Differences of -2 elpd and their standard errors, by number of regimes."""
    origin = "give the table of alikely.spectrum.compare_regimes()"
    check_table(compared, ("n_regimes", "elpd_diff", "diff_se"), origin)
    table = compared.set_index("n_regimes")[["elpd_diff", "diff_se"]].astype(np.float64)
    if (table["elpd_diff"] > 0).any():
        raise ValueError(
            "elpd_diff must be the difference to the best, 0 or negative, got "
            f"{table['elpd_diff'].max():g}; {origin}"
        )
    table = table.sort_index()
    return pd.DataFrame({"difference": -2 * table["elpd_diff"], "se": 2 * table["diff_se"]})
