"""Regimes of difficulty: ranks of machines in each, and the evidence for their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from alikely._base.frames import Groups
from alikely.metrics import get_metric
from alikely.plots._regimes import (
    check_dataset,
    group_styles,
    groups_of,
    key,
    legend_below,
    name_ends,
    names_of_ends,
)
from alikely.plots._style import COLORS, axes_or_new, check_table, draw_kind, key_outside, only

__all__ = ["plot_regimes"]

RANKS = "give the table of alikely.spectrum.regime_alignment()"
# From here on lines hide each other: so many have colours.
MANY_LINES, MOST_LINES = 12, 8
# So many names fit one below the other on a page.
MOST_NAMES = 50
CRITERIA = {
    "bic": ("BIC", "o", "-", COLORS[0]),
    "aicc": ("AICc", "s", "--", COLORS[1]),
    "converged_bic": ("BIC, EM run to its end", "^", ":", COLORS[2]),
}


def plot_regimes(
    data: pd.DataFrame | xr.Dataset,
    kind: Literal["ranks", "numbers"] = "ranks",
    *,
    metric: str | None = None,
    families: Groups | None = None,
    compared: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the ranks of machines in each regime, or the evidence for each number of regimes.

    Each kind uses these arguments:

    - ``"ranks"``: ranks of machines, 1 on top, joined by a line for each machine, with the joint
      confidence sets of the ranks as light bars (`metric`, `families`). Of more than 12 machines
      without families, the 8 whose rank changes most have a color and their sets; of more than 50
      only these 8 are named.
    - ``"numbers"``: difference of each criterion from its lowest value. A filled BIC is within 2 of
      the lowest. Leave-one-out differences are on the scale of -2 elpd, with a bar of one standard
      error (`compared`). Pale bars are the share of each number among the bootstrap replicates.
      The legend counts what is undefined.

    Parameters
    ----------
    data : pandas.DataFrame or xarray.Dataset
        ``"ranks"``: table of `alikely.spectrum.regime_alignment`; regimes are drawn in its order.
        ``"numbers"``: result of `alikely.regimes`.
    kind : {"ranks", "numbers"}
        What to draw.
    metric : str, optional
        Metric to draw. Default: error consistency.
    families : mapping, pandas.Series or xarray.DataArray, optional
        Family of each machine; lines have the color of the family. Default: one color for each.
    compared : pandas.DataFrame, optional
        Table of `alikely.spectrum.compare_regimes`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    TypeError
        If the data are of another type, families have no names, or the kind does not use an
        argument.
    ValueError
        If the kind or metric is unknown, the table is empty or lacks a column, no machine has a
        rank, a machine has no family, or differences of elpd are not to the best model.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> ax = al.plot_regimes(al.spectrum.regime_alignment(alignment, regime, rng=1))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['easy', 'hard']
    """
    return draw_kind(KINDS, kind, data, metric=metric, families=families, compared=compared, ax=ax)


def _ranks(
    table: pd.DataFrame,
    *,
    metric: str = "error_consistency",
    families: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Ranks of machines from regime to regime."""
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


def _numbers(
    found: xr.Dataset, *, compared: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Evidence for each number of regimes."""
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


KINDS: dict[str, Callable[..., Axes]] = {"ranks": _ranks, "numbers": _numbers}
