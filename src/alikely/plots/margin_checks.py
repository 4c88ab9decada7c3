"""Checks of decision margins: linearity, classes, tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.intervals import percent
from alikely.estimates.result import Result
from alikely.margins.checks import class_residuals, strength_line
from alikely.margins.moments import Side, group_side, lists_of_items, machine_side
from alikely.margins.tables import answers_of_group
from alikely.plots._style import COLORS, below, key_outside, several_axes
from alikely.plots.pairs import position_of

__all__ = ["checks", "entry_of_margins"]

METRIC = "decision_margin_consistency"
# Bins of about so many items show a bend and are not noise alone.
PER_BIN, MOST_BINS = 16, 12
MOST_NAMES = 40


def checks(
    result: Result,
    pair: int | str = 0,
    *,
    m: int | None = None,
    ci_prob: float | None = None,
    ax: Any = None,
) -> NDArray[np.object_]:
    """Item strength against margins, residuals of classes, and tails of margins."""
    at, label = entry_of_margins(result, pair)
    ci_prob, _ = result.interval_options(ci_prob, None)
    table = result.table
    systems = [int(table[name].values[at]) for name in ("first", "second")]
    machine = table["is_machine"].values[systems]
    if machine.sum() != 1:
        alike = "two machines" if machine.all() else "two groups"
        raise ValueError(
            f"entry {label!r} is of {alike}: expected a machine and a group of observers; choose "
            "another entry with pair=..."
        )
    m = table.attrs.get("n_alternatives") if m is None else m
    if m is None:
        raise ValueError("the number of alternatives of the task is not known: give m=...")
    group, net = systems[int(machine[0])], systems[1 - int(machine[0])]
    here = table["trial_group"].values == table["pair_group"].values[at]
    there = ~np.isnan(table["margins"].values[[group, net]]).any(axis=0)
    items = np.flatnonzero(here & there)
    margins = table["margins"].values[net, items]
    if np.ptp(margins) == 0:
        raise ValueError(f"all margins of entry {label!r} are equal: there is nothing to draw")
    right, shown = answers_of_group(table, group, items)
    strata = lists_of_items(shown)
    side, other = group_side(right, shown, strata), machine_side(margins, strata)
    names = table["observer"].values
    p_values = {
        name: float(result.estimates[name].values[at])
        for name in ("p_bend", "p_classes")
        if name in result.estimates
    }

    axes = several_axes(ax, (13.0, 4.6), 1, 3)
    share = right.sum(axis=0) / shown.sum(axis=0)
    _bend_panel(axes[0], side, share, margins, int(m), ci_prob)
    axes[0].set_title(_title("strengths on a line", p_values.get("p_bend")))
    axes[0].set_xlabel(f"decision margin of {names[net]}")
    axes[0].set_ylabel(f"share of right answers of {names[group]} (0 to 1)")
    classes = table["class_name"].values[items]
    _class_panel(axes[1], side, other, classes, ci_prob)
    axes[1].set_title(_title("classes", p_values.get("p_classes")))
    _tail_panel(axes[2], margins, ci_prob)
    return axes


def entry_of_margins(result: Result, pair: int | str) -> tuple[int, str]:
    """Position and label of an entry of a result of decision margins."""
    if result.metric.counts != "margins":
        raise ValueError(
            f"this result is of {result.metric.name}; expected one of {METRIC}: call {METRIC}()"
        )
    if isinstance(pair, str):
        return position_of(result, pair), pair
    labels = result.table["pair"].values.tolist()
    if not isinstance(pair, (int, np.integer)):
        raise TypeError(
            f"pair must be the position or the label of an entry, got {type(pair).__name__}; try 0"
        )
    if not 0 <= pair < len(labels):
        raise ValueError(
            f"pair must be a position from 0 to {len(labels) - 1}, got {pair}; or give a label"
        )
    return int(pair), str(labels[pair])


def _title(what: str, p: float | None) -> str:
    if p is None or np.isnan(p):
        return f"{what}: not tested"
    return f"{what}: p = {p:.3f}" if p >= 0.001 else f"{what}: p < .001"


def _bend_panel(
    ax: Axes, side: Side, share: Floats, margins: Floats, m: int, ci_prob: float
) -> None:
    """Shares along margins, the line through strengths with its band, and means of bins."""
    known = np.isfinite(side.square).any()
    noise = float((side.ease**2).mean() - np.nanmean(side.square)) if known else 0.0
    line = strength_line(share, margins, max(noise, 0.0), m)
    z = special.ndtri((1 + ci_prob) / 2)
    # Errors of level and slope whatever the variance of an item is.
    inverse = np.linalg.pinv(line.gradient.T @ line.gradient)
    scores = (line.gradient * (share - line.expected)[:, None]) @ inverse
    half = z * np.sqrt(((line.gradient @ (scores.T @ scores)) * line.gradient).sum(axis=1))
    order = np.argsort(margins)
    x, y, half = margins[order], line.expected[order], half[order]
    ax.plot(margins, share, ".", color="0.6", markersize=4, alpha=0.6, label="item")
    ax.plot(
        x, y, color=COLORS[0], linewidth=1.4, label=f"line through strengths, {percent(ci_prob)}"
    )
    ax.fill_between(x, y - half, y + half, color=COLORS[0], alpha=0.2, linewidth=0)
    n_bins = int(np.clip(len(x) // PER_BIN, 2, MOST_BINS))
    for k, own in enumerate(np.array_split(order, n_bins)):
        mean, error = share[own].mean(), z * share[own].std(ddof=1) / np.sqrt(len(own))
        ax.errorbar(
            margins[own].mean(), mean, error, fmt="o", color=COLORS[5], markersize=4, linewidth=1,
            label=f"mean of {len(own)} items" if k == 0 else None,
        )  # fmt: skip
    ax.set_ylim(-0.05, 1.05)
    _key(ax)


def _key(ax: Axes) -> None:
    """A legend under the axes."""
    key_outside(ax, loc="upper right", ncols=1, **below(ax, 34))


def _class_panel(
    ax: Axes, side: Side, other: Side, names: NDArray[np.object_], ci_prob: float
) -> None:
    """Means by class of what margins leave of shares."""
    labels, classes = np.unique(names.astype(str), return_inverse=True)
    found = class_residuals(side, other, classes) if (names != "").all() else None
    if found is None or len(found.classes) < 2:
        text = "no classes known" if found is None else "no two classes of two items"
        ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, fontsize=8)
        ax.set_axis_off()
        return
    order = np.argsort(found.mean)
    free = int(found.size.sum()) - len(found.classes)
    half = stats.t.ppf((1 + ci_prob) / 2, free) * np.sqrt(found.within / found.size)
    place = np.arange(len(order))
    ax.axvline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.errorbar(
        found.mean[order], place, xerr=half[order], fmt="o", color=COLORS[0], markersize=4,
        linewidth=1,
    )  # fmt: skip
    # Names of very many classes would be print on print.
    every = -(-len(order) // MOST_NAMES)
    texts = [f"{labels[found.classes[k]]} ({found.size[k]})" for k in order]
    ax.set_yticks(place[::every], texts[::every], fontsize=7 if len(order) <= 20 else 5)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    lost = len(labels) - len(order)
    left_out = f"; {lost} classes of one item not drawn" if lost else ""
    ax.set_xlabel(f"share right beyond margins, mean and {percent(ci_prob)}{left_out}", fontsize=8)


def _tail_panel(ax: Axes, margins: Floats, ci_prob: float) -> None:
    """Margins against quantiles of a normal law."""
    n = len(margins)
    low, middle, high = np.quantile(margins, [0.25, 0.5, 0.75])
    width = (high - low) / (special.ndtri(0.75) - special.ndtri(0.25))
    if width == 0:
        # Half of the margins are equal: what is left has a spread.
        width = float(margins.std())
    y = (np.sort(margins) - middle) / width
    rank = np.arange(1, n + 1)
    x = special.ndtri((rank - 0.5) / n)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    ends = [special.ndtri(stats.beta.ppf(p, rank, n + 1 - rank)) for p in tails]
    ax.fill_between(x, *ends, color="0.85", linewidth=0, label=f"normal law, {percent(ci_prob)}")
    ax.plot(x, x, color="0.5", linewidth=1)
    outside = (y < ends[0]) | (y > ends[1])
    for own, color, text in ((~outside, COLORS[0], "inside"), (outside, COLORS[5], "outside")):
        if own.any():
            ax.plot(x[own], y[own], ".", color=color, label=f"{own.sum()} items {text}")
    ax.set_xlabel("normal quantile")
    ax.set_ylabel("margin, in spreads from the median")
    worst = y[np.argmax(np.abs(y))]
    ax.set_title(f"tails: farthest margin at {worst:.1f} spreads")
    _key(ax)
