"""What the plots of regimes share: colours, shading, names next to points, checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.frames import Groups, group_mapping
from alikely._base.names import told_apart
from alikely.plots._style import (
    COLORS,
    MARKERS,
    below,
    figure_of,
    fit_to_column,
    in_column,
    key,
    key_outside,
)

__all__ = [
    "ABOVE_OR_BELOW",
    "AROUND",
    "VIOLIN",
    "are_regimes",
    "blend",
    "bounds_of",
    "by_system",
    "check_dataset",
    "group_styles",
    "groups_of",
    "key",
    "legend_below",
    "lift_names",
    "name_ends",
    "names_of_ends",
    "place_labels",
    "regime_colors",
    "regime_order",
    "shade_regimes",
    "violin",
]


# Hardest first, as alikely.models._mixtures.regime_names has them.
NAMED = ("extreme", "far", "near", "reference")
SMALL = 6.0  # points
# Densities of fewer values than this would be of the kernel.
FEWEST_OF_VIOLIN = 5
VIOLIN: Any = {"color": "black", "alpha": 0.1, "linewidth": 0}
LINE = 10.0  # points from one line of regime names to the next
BETWEEN = 9.5  # points from one name at the end of a line to the next
# Where a label may stand about its dot: offset in points, with the alignment that goes with it.
ABOVE_OR_BELOW = [
    (0, 4, "center", "bottom"), (0, -4, "center", "top"), (3, 3, "right", "bottom"),
    (3, -3, "right", "top"), (-3, 3, "left", "bottom"), (-3, -3, "left", "top"),
]  # fmt: skip
AROUND = [
    (side * distance, up, "left" if side > 0 else "right", "center")
    for distance in (4, 7)
    for up in (0, 6, -6)
    for side in (1, -1)
] + [(0, 4, "center", "bottom"), (0, -4, "center", "top")]


def check_dataset(given: Any, name: str, variables: Iterable[str], origin: str) -> None:
    """Refuse what is not a Dataset (`TypeError`) or lacks a variable (`ValueError`)."""
    if not isinstance(given, xr.Dataset):
        raise TypeError(
            f"{name} must be a Dataset, got {type(given).__name__}; give what {origin}() returns"
        )
    lacking = [variable for variable in variables if variable not in given.variables]
    if lacking:
        raise ValueError(
            f"{name} lacks {lacking[0]!r} ({len(lacking)} in all); give what {origin}() returns"
        )


def bounds_of(frame: pd.DataFrame, start: str, way_out: str) -> list[str]:
    """The columns of the lower and the upper bound that start so (`ValueError` if not two)."""
    start = start and f"{start}_"
    pattern = re.compile(rf"{start}(eti|hdi)[\d.]+_(lb|ub)$")
    bounds = sorted(str(c) for c in frame if pattern.match(str(c)))
    if [name[-3:] for name in bounds] != ["_lb", "_ub"]:
        raise ValueError(
            f"frame needs one lower and one upper bound such as {start}eti95_lb and "
            f"{start}eti95_ub, got {', '.join(bounds) or 'none'}; {way_out}"
        )
    return bounds


def groups_of(names: list[str], groups: Groups, what: str) -> list[str]:
    """The group of each of these names (`ValueError` if one has none)."""
    given = group_mapping(groups)
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"{missing[0]!r} has no {what} ({len(missing)} without); give it one, or leave it out"
        )
    return [given[name] for name in names]


def are_regimes(names: Iterable[str]) -> bool:
    return all(name in NAMED or re.fullmatch(r"regime \d+", name) for name in names)


def regime_order(names: Iterable[str]) -> list[str]:
    """Different names of regimes, hardest first; others in order of first occurrence."""
    unique = list(dict.fromkeys(names))
    if not are_regimes(unique):
        return unique
    rank = {name: NAMED.index(name) if name in NAMED else int(name.split()[1]) for name in unique}
    return sorted(unique, key=lambda name: rank[name])


def regime_colors(names: Sequence[str]) -> dict[str, str]:
    """A colour for each regime, the hardest darkest: told apart in grey, too."""
    palette = mpl.colormaps["viridis"]
    at: list[float] = np.linspace(0, 0.82, max(len(names), 2)).tolist()
    # A table may hold only some of the four regimes: each keeps its colour.
    if set(names) <= set(NAMED):
        four: list[float] = np.linspace(0, 0.82, 4).tolist()
        at = [four[NAMED.index(name)] for name in names]
    return {name: to_hex(palette(x)) for name, x in zip(names, at, strict=False)}


def group_styles(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each group; no two alike among 64."""
    n = len(COLORS)
    return {
        name: (COLORS[k % n], MARKERS[(k + k // n) % len(MARKERS)]) for k, name in enumerate(names)
    }


def blend(color: str, opacity: float) -> tuple[float, float, float]:
    """A colour of this opacity on white."""
    red, green, blue = (1 - opacity * (1 - part) for part in to_rgb(color))
    return red, green, blue


def shade_regimes(
    ax: Axes, spans: Iterable[tuple[float, float, str]], colors: dict[str, str]
) -> list[Annotation]:
    """Pale background of each stretch of the x axis, with the name of its regime on top."""
    names = []
    for left, right, name in spans:
        if left == right:
            continue
        ax.axvspan(left, right, color=blend(colors[name], 0.13), linewidth=0, zorder=0)
        ax.axvline(left, color="white", linewidth=1.5, zorder=0.5)
        names.append(
            ax.annotate(
                name, ((left + right) / 2, 1), xycoords=ax.get_xaxis_transform(), xytext=(0, 3),
                textcoords="offset points", ha="center", va="bottom", fontsize=8,
                color=blend(colors[name], 0.9), fontweight="bold", annotation_clip=False,
            )
        )  # fmt: skip
    return names


def lift_names(ax: Axes, names: Sequence[Annotation]) -> None:
    """Raise names by a line where they would run into those beside them."""
    # Places depend on those of the axes.
    figure_of(ax).draw_without_rendering()
    taken: list[tuple[int, float, float]] = []
    for name in names:
        box, line = name.get_window_extent(), 0
        while any(at == line and box.x0 < x1 and x0 < box.x1 for at, x0, x1 in taken):
            line += 1
        taken.append((line, box.x0 - 2, box.x1 + 2))
        name.set_position((0, 3 + LINE * line))


def legend_below(ax: Axes, handles: list[Any], title: str | None = None) -> None:
    """A legend under the axis label, as wide as the axes."""
    place = below(ax, 34) | {"bbox_to_anchor": (0.5, 0.0)}
    key_outside(
        ax, handles, title, loc="upper center", ncols=min(len(handles), 3), **place
    )  # fmt: skip


def place_labels(
    ax: Axes,
    points: Floats,
    texts: Sequence[str],
    places: Sequence[tuple[float, float, str, str]],
    dots: Floats,
) -> None:
    """Names next to their points where nothing else is; none where there is no room."""
    figure = figure_of(ax)
    # Places of labels depend on those of the axes, and these on labels that a column breaks.
    if in_column():
        fit_to_column(figure)
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    taken = [Bbox([at - 2.5 * scale, at + 2.5 * scale]) for at in ax.transData.transform(dots)]
    window = ax.get_window_extent()
    for point, name in zip(points, texts, strict=True):
        # Left out of the layout, which would move the axes that the places were chosen for.
        note = ax.annotate(
            name, point, xytext=(0, 0), textcoords="offset points", fontsize=SMALL, color="0.15",
            in_layout=False, zorder=4,
        )  # fmt: skip
        size = note.get_window_extent()
        at = ax.transData.transform(point)
        for dx, dy, ha, va in places:
            x = at[0] + dx * scale - size.width * {"left": 0, "center": 0.5, "right": 1}[ha]
            y = at[1] + dy * scale - size.height * {"bottom": 0, "center": 0.5, "top": 1}[va]
            box = Bbox([[x - 0.5, y + 0.5], [x + size.width + 0.5, y + size.height - 0.5]])
            inside = window.x0 <= box.x0 and box.x1 <= window.x1 and window.y0 <= box.y0
            if inside and box.y1 <= window.y1 and not any(box.overlaps(other) for other in taken):
                note.set(position=(dx, dy), ha=ha, va=va)
                taken.append(box)
                break
        else:
            note.remove()


def names_of_ends(names: Sequence[str]) -> dict[str, str]:
    """Names short enough to stand right of the axes."""
    return told_apart(names, 16 if in_column() else 32)


def name_ends(ax: Axes, x: float, ends: list[tuple[float, str, bool, str]]) -> None:
    """Names right of the last ranks, apart by a line at least, tied to their ranks."""
    short = names_of_ends([name for _, name, *_ in ends])
    height = ax.get_window_extent().height / figure_of(ax).dpi * 72
    low, high = sorted(ax.get_ylim())
    step = BETWEEN * (high - low) / height
    most = int((high - low) / step)
    kept = sorted(sorted(ends, key=lambda end: not end[2])[:most])
    places = np.array([rank for rank, *_ in kept])
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + step)
    # Back from the end, if they ran over it.
    limit = high
    for k in range(len(places) - 1, -1, -1):
        places[k] = min(places[k], limit)
        limit = places[k] - step
    for place, (rank, name, first, color) in zip(places, kept, strict=True):
        moved = abs(place - rank) > step / 4
        tie = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
        ax.annotate(
            short[name], (x + 0.04, rank), (x + 0.14, place), va="center", fontsize=7,
            weight="bold" if first else "normal", annotation_clip=False, color=color,
            arrowprops=tie if moved else None,
        )  # fmt: skip


def violin(ax: Axes, values: Floats, row: float, half: float = 0.42) -> bool:
    """Density of values along a row, behind them; whether there are enough for one."""
    if len(values) < FEWEST_OF_VIOLIN or np.ptp(values) == 0:
        return False
    density = stats.gaussian_kde(values)
    tail = 2 * float(np.sqrt(density.covariance.item()))
    x = np.linspace(values.min() - tail, values.max() + tail, 101)
    height = density(x)
    height *= half / height.max()
    ax.fill_between(x, row - height, row + height, zorder=0.5, **VIOLIN)
    return True


def by_system(rows: pd.DataFrame, conditions: list[str]) -> pd.DataFrame:
    """Estimates, one row per system and one column per condition, in their order."""
    systems = rows["system"].drop_duplicates()
    wide = rows.pivot(index="system", columns="condition", values="estimate")
    return wide.reindex(index=systems, columns=conditions)
