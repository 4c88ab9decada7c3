"""Error consistency and decision-margin consistency against accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from alikely._base.names import told_apart
from alikely.plots._style import (
    COLORS,
    MARKERS,
    MOST_LETTERS,
    check_table,
    in_column,
    key,
    legend_right,
    several_axes,
)

__all__ = ["CONSISTENCY", "consistency"]

BOUNDS = ("", "_lb", "_ub")
INTERVALS = tuple(
    f"{name}{end}"
    for name in (
        "error_consistency", "margin_consistency", "group_error_consistency",
        "group_margin_consistency", "mean_error_consistency", "mean_margin_consistency",
        "margin_ceiling",
    )
    for end in BOUNDS
)  # fmt: skip
CONSISTENCY = (
    "dataset", "condition", "observer_b", "n_machines", "group", "machine", "accuracy_machine",
    "noise_free", *INTERVALS,
)  # fmt: skip
MOST_LABELS = 12
# Farther up or down than this, in points, a label is tied to its point.
NEAR = 14
# Where a label may stand about its point: offset in points, with the alignment that goes with it.
PLACES = [
    (side * distance, up, "left" if side > 0 else "right", "center")
    for up in sorted(range(-70, 71, 7), key=abs)
    for distance in (6, 12)
    for side in (1, -1)
]
# Of lines with bands, by what they are of.
PEOPLE, MACHINES, MIXED, CEILING = "#CC79A7", "#E69F00", "#777777", "black"


class _Line(NamedTuple):
    """A level with its interval, as all rows of a kind have it."""

    label: str
    value: float
    low: float
    high: float
    color: str
    style: str = "-"


def consistency(frame: pd.DataFrame, ax: Any = None) -> NDArray[np.object_]:
    """Error consistency and decision-margin consistency against accuracy."""
    check_table(frame, CONSISTENCY, "make it with alikely.estimates.consistency_table")
    axes = several_axes(ax, (9.0, 6.6), 2, 1, sharex=True)
    grouped = frame.groupby(["dataset", "condition"], sort=False, dropna=False)
    groups = [
        (", ".join(str(part) for part in place if part != "all") or "all", rows)
        for place, rows in grouped
    ]
    for panel, name in zip(axes, ("error", "margin"), strict=True):
        handles = _panel(panel, frame, groups, name)
        if 1 < len(groups) <= len(COLORS) and panel is axes[0]:
            handles += [
                key(label, linestyle="", marker=MARKERS[k], color=COLORS[k])
                for k, (label, _) in enumerate(groups)
            ]
        legend_right(panel, handles)
    axes[1].set_xlabel("accuracy of the machine (share of right answers, 0 to 1)")
    named = frame[frame["n_machines"] < 2]
    if len(named) <= MOST_LABELS:
        for panel in axes:
            panel.margins(x=0.12, y=0.08)
        # Places of labels depend on those of the axes.
        axes[0].get_figure(root=True).draw_without_rendering()
        _label_points(axes[0], named, ["error_consistency"])
        _label_points(axes[1], named, ["margin_consistency", "noise_free"])
    return axes


def _panel(
    ax: Axes, frame: pd.DataFrame, groups: list[tuple[str, pd.DataFrame]], name: str
) -> list[Any]:
    """Draw one panel; return what its legend shows."""
    value = f"{name}_consistency"
    several, told_apart = len(groups) > 1, len(groups) <= len(COLORS)
    for k, (_, part) in enumerate(groups):
        color = COLORS[k] if told_apart else COLORS[0]
        marker = MARKERS[k] if told_apart else "o"
        machines = part[part["n_machines"] == 2]
        ax.plot(
            machines["accuracy_machine"], machines[value], linestyle="", marker=".",
            color=color if several else MACHINES, alpha=0.3, markersize=4, zorder=1,
        )  # fmt: skip
        shown = part[part["n_machines"] < 2]
        x = shown["accuracy_machine"]
        ax.vlines(x, shown[f"{value}_lb"], shown[f"{value}_ub"], color=color, linewidth=1.2)
        ax.plot(x, shown[value], linestyle="", marker=marker, color=color, markersize=5)
        if name == "margin":
            ax.plot(
                x, shown["noise_free"], linestyle="", marker=marker, color=color, markersize=6.5,
                markerfacecolor="white", zorder=2.5,
            )  # fmt: skip
    handles = _points_in_words(frame, value, name, several, told_apart)
    if several:
        handles += _many_lines(ax, groups, name, told_apart)
    else:
        handles += _lines_with_bands(ax, groups[0][1], name)
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set_ylabel(f"{'error' if name == 'error' else 'decision-margin'} consistency (-1 to 1)")
    return handles


def _points_in_words(
    frame: pd.DataFrame, value: str, name: str, several: bool, told_apart: bool
) -> list[Any]:
    color = "0.3" if several and told_apart else COLORS[0]
    shown, machines = frame[frame["n_machines"] < 2], frame[frame["n_machines"] == 2]
    handles = []
    if len(shown):
        text = _counted("machine and group, with interval", shown, value)
        if (shown["n_machines"] == 0).all():
            text = text.replace("machine and group", "two groups")
        look: dict[str, Any] = {"color": color, "marker": "o", "markersize": 5}
        handles.append(key(text, linewidth=1.2, **look))
        if name == "margin":
            text = _counted("noise-free, posterior median", shown, "noise_free")
            look |= {"linestyle": "", "markerfacecolor": "w"}
            handles.append(key(text, **look))
    if len(machines):
        text = _counted("two machines, accuracy of the second", machines, value)
        at = "0.3" if several else MACHINES
        handles.append(key(text, linestyle="", marker=".", color=at, alpha=0.5))
    return handles


def _lines_with_bands(ax: Axes, part: pd.DataFrame, name: str) -> list[Any]:
    """Levels of one data set and condition."""
    lines = []
    for group, rows in part[part["group"] != ""].groupby("group", sort=False):
        text = f"within {group}, mean" if name == "error" else f"{group} with another like it"
        lines.append(_line(text, rows, f"group_{name}_consistency", PEOPLE))
    for number, color, text in ((1, MIXED, "machines with"), (2, MACHINES, "two machines")):
        rows = part[part["n_machines"] == number]
        if number == 1:
            own = rows["group"].unique()
            text = f"{text} {own[0] if len(own) == 1 else 'groups'}"
        if len(rows) > 1:
            lines.append(_line(f"{text}, mean", rows, f"mean_{name}_consistency", color))
    rows = part[part["n_machines"] == 1]
    if name == "margin" and len(rows):
        lines.append(_line("ceiling of a machine", rows, "margin_ceiling", CEILING, "--"))
    handles: list[Any] = []
    for line in lines:
        look: dict[str, Any] = {"color": line.color, "linestyle": line.style}
        text = f"{line.label}: undefined"
        if np.isfinite(line.value):
            ax.axhline(line.value, linewidth=1.2, zorder=0.5, **look)
            text = f"{line.label}: {line.value:.2f}"
        if np.isfinite([line.low, line.high]).all():
            ax.axhspan(line.low, line.high, color=line.color, alpha=0.12, linewidth=0, zorder=0.1)
            text += f" [{line.low:.2f}, {line.high:.2f}]"
        handles.append(key(text, linewidth=1.2, **look))
    return handles


def _line(label: str, rows: pd.DataFrame, column: str, color: str, style: str = "-") -> _Line:
    value, low, high = (float(rows[f"{column}{end}"].iloc[0]) for end in BOUNDS)
    return _Line(label, value, low, high, color, style)


def _many_lines(
    ax: Axes, groups: list[tuple[str, pd.DataFrame]], name: str, told_apart: bool
) -> list[Any]:
    """Groups with themselves and ceilings, of several data sets and conditions."""
    drawn = [(f"group_{name}_consistency", ":", "within a group, mean")]
    if name == "margin":
        drawn = [(drawn[0][0], ":", "group with another like it")]
        drawn.append(("margin_ceiling", "--", "ceiling of a machine"))
    handles: list[Any] = []
    for column, style, text in drawn:
        missing = 0
        for k, (_, part) in enumerate(groups):
            heights = part.loc[part["n_machines"] < 2, column].dropna().unique()
            missing += not len(heights)
            for height in heights:
                color = COLORS[k] if told_apart else "0.4"
                ax.axhline(height, linestyle=style, alpha=0.45, zorder=0.5, color=color)
        label = text + (f"\n({missing} of {len(groups)} undefined)" if missing else "")
        handles.append(key(label, linestyle=style, color="0.4"))
    return handles


def _counted(text: str, rows: pd.DataFrame, column: str) -> str:
    n, lost = len(rows), int(rows[["accuracy_machine", column]].isna().any(axis=1).sum())
    return f"{text}\n({lost} of {n} undefined)" if lost else text


def _label_points(ax: Axes, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Names of the observers next to their points, where they cover least of what is drawn."""
    value = columns[0]
    shown = frame[frame[["accuracy_machine", value]].notna().all(axis=1)]

    def pixels(column: str) -> NDArray[np.float64]:
        return ax.transData.transform(shown[["accuracy_machine", column]].to_numpy(np.float64))

    taken = [Bbox([at - 4, at + 4]) for column in columns for at in pixels(column)]
    for low, high in zip(pixels(f"{value}_lb"), pixels(f"{value}_ub"), strict=True):
        taken.append(Bbox([low - [2, 0], high + [2, 0]]))
    taken = [box for box in taken if np.isfinite(box.get_points()).all()]
    window = ax.get_window_extent()
    written: list[Bbox] = []
    names = shown["machine"].where(shown["machine"] != "", shown["observer_b"])
    names = names.map(told_apart(names, MOST_LETTERS if in_column() else 40))
    for x, y, name in zip(shown["accuracy_machine"], shown[value], names, strict=True):
        # Left out of the layout, which would move the axes that the places were chosen for.
        note = ax.annotate(
            str(name), (x, y), xytext=(0, 0), textcoords="offset points", fontsize=7,
            in_layout=False,
        )  # fmt: skip
        costs = []
        for dx, dy, ha, va in PLACES:
            note.set(position=(dx, dy), ha=ha, va=va)
            box = note.get_window_extent()
            beyond = not (window.x0 <= box.x0 and box.x1 <= window.x1)
            beyond |= not (window.y0 <= box.y0 and box.y1 <= window.y1)
            covered = sum(box.overlaps(other) for other in taken)
            # Print on print is worse than print on a point.
            printed = sum(box.overlaps(other) for other in written)
            costs.append(covered + 9 * printed + 99 * beyond)
            if not costs[-1]:
                break
        dx, dy, ha, va = PLACES[int(np.argmin(costs))]
        note.set(position=(dx, dy), ha=ha, va=va)
        written.append(note.get_window_extent())
        if abs(dy) > NEAR:
            tie = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
            ax.annotate(
                "", (x, y), xytext=(dx, dy), textcoords="offset points", in_layout=False,
                arrowprops=tie, zorder=0.6,
            )  # fmt: skip
