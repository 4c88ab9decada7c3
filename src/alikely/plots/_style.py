"""Style sheet, plots for one column, figures, legends and helpers that plots share."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import itertools
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, cast
from xml.sax.saxutils import quoteattr

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox, BboxBase, ScaledTranslation
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.checks import one_of
from alikely._base.names import listed, told_apart

# Distinguishable in grey and with common forms of color blindness (Okabe and Ito's palette).
METHODS = {"analytic": "#999999", "bootstrap": "#E69F00", "posterior": "#0072B2"}

# Okabe and Ito's palette without yellow, which is hardly visible on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999")
MARKERS = "os^Dv<>P"

COLUMN_WIDTH = 3.3  # inches
# Height of a page above a legend, and minimum height of a row of 8 pt, in inches.
PAGE, LEAST_ROW = 8.4, 0.14
POINTS = 8.0
PRINTED = (
    "font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize",
    "legend.fontsize", "legend.title_fontsize", "figure.labelsize", "figure.titlesize",
)  # fmt: skip
SIZES: Any = dict.fromkeys(PRINTED, POINTS)
# Maximum number of upright column names of a map in one column, and of rows on a page.
MOST_TURNED, MOST_IN_COLUMN = 4, 64
# Width of a letter relative to the font size.
LETTER = 0.56 * POINTS / 72
# Maximum fraction of a figure for names along an axis, and minimum number of letters of a name.
MOST_FOR_NAMES, FEW_LETTERS, PAIR = 0.4, 16, " x "
# Maximum number of letters of names on both sides of a map.
MOST_LETTERS = 24
# Distance of a legend below its axes, in points.
BELOW = 34
# Maximum number of letters of a legend entry in one column.
MOST_IN_KEY = 50
# The style sheet, which users can apply, too: plt.style.use("alikely.plots.alikely").
(SHEET_FILE,) = Path(__file__).parent.glob("*.mplstyle")
SHEET: Any = dict(mpl.rc_params_from_file(SHEET_FILE, use_default_template=False))
EMBEDDED: Any = {name: SHEET[name] for name in ("pdf.fonttype", "ps.fonttype")}

_in_column: ContextVar[bool] = ContextVar("in_column", default=False)


class PlotFigure(Figure):
    """A figure that embeds its fonts when saved, whatever the settings."""

    key: tuple[tuple[Any, ...], str | None] = ((), None)

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        """Save as `matplotlib.figure.Figure.savefig` does."""
        with mpl.rc_context(EMBEDDED):
            super().savefig(fname, transparent=transparent, **kwargs)


# Types of data that plots check, by name.
CHECKED = {"Result", "DataFrame", "Dataset", "DataArray", "DataTree", "None"}


def _refuse_others(first: inspect.Parameter, given: Any) -> None:
    """Raise `TypeError` if the first argument does not match its annotation."""
    kinds = [part.strip().rsplit(".", 1)[-1] for part in str(first.annotation).split("|")]
    own = {"None"} if given is None else {kind.__name__ for kind in type(given).__mro__}
    if given is not inspect.Parameter.empty and set(kinds) <= CHECKED and not own & set(kinds):
        raise TypeError(
            f"{first.name} must be a {kinds[0]}, got {type(given).__name__}; the docstring names "
            "the functions that return one"
        )


def _load_backend() -> None:
    """Load the backend, which turns interactive mode on in notebooks, before a context of settings.

    At the end of the context, interactive mode would be off again, and no later figure displayed.
    """
    plt.switch_backend(plt.get_backend())


def styled[**P, T](draw: Callable[P, T]) -> Callable[P, T]:
    """Apply the package's style to a plot, and leave space for long names."""
    first = next(iter(inspect.signature(draw).parameters.values()))

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        _refuse_others(first, args[0] if args else kwargs.get(first.name, first.default))
        _load_backend()
        with mpl.rc_context(SHEET | SIZES if in_column() else SHEET):
            made = draw(*args, **kwargs)
            figure = figure_of(made)
            fit_names(figure)
            if in_column():
                fit_to_column(figure)
        return made

    return drawn


def draw_kind(plot: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Call the function ``_<kind>`` of the same file, without the arguments that are None."""
    draws, kind = kinds_of(plot), given["kind"]
    (_, data), *rest = given.items()
    others = {name: value for name, value in rest if name != "kind" and value is not None}
    one_of("kind", kind, tuple(draws))
    _, *used = inspect.signature(draws[kind]).parameters.values()
    names = [one.name for one in used]
    if extra := [name for name in others if name not in names]:
        raise TypeError(f"kind={kind!r} does not use {extra[0]}; it uses {listed(names)}")
    if lacking := [o.name for o in used if o.default is o.empty and o.name not in others]:
        raise TypeError(f"kind={kind!r} needs {lacking[0]}=")
    return styled(draws[kind])(data, **others)


def kinds_of(plot: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions that draw each kind of a plot, by kind."""
    names = re.findall(
        r"[\"'](\w+)[\"']", str(inspect.signature(plot).parameters["kind"].annotation)
    )
    return {name: getattr(sys.modules[plot.__module__], f"_{name}") for name in names}


@contextlib.contextmanager
def column() -> Iterator[None]:
    """Fit figures to one column of a paper: 3.3 inches wide, with 8-point text.

    Panels are stacked, with one legend below all panels. The package's Matplotlib settings apply
    until the context ends.

    Yields
    ------
    None

    Examples
    --------
    >>> import alikely as al
    >>> with al.plots.column():
    ...     ax, _ = al.plot_agreement(kind="bounds")
    >>> float(ax.figure.get_figwidth())
    3.3
    """
    token = _in_column.set(True)
    _load_backend()
    try:
        with mpl.rc_context(SHEET | SIZES):
            yield
    finally:
        _in_column.reset(token)


def in_column() -> bool:
    """Whether plots are drawn for one column of a page."""
    return _in_column.get()


def new_axes(
    size: tuple[float, float],
    rows: int = 1,
    columns: int = 1,
    *,
    most: int = 1,
    tall: bool = False,
    **options: Any,
) -> NDArray[np.object_]:
    """Return the axes (flat) of a new figure of the given size in inches."""
    width, height = size
    if in_column():
        n, side = rows * columns, min(most, columns)
        panel = height / rows
        if columns > side and not tall:
            panel = min(panel, 0.75 * COLUMN_WIDTH)
        columns, rows = side, -(-n // side)
        width, height = COLUMN_WIDTH, panel * rows
        if columns == rows == 1 and not tall:
            height = max(min(height, 0.95 * COLUMN_WIDTH), 0.3 * COLUMN_WIDTH)
    made = plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False,
        FigureClass=PlotFigure, **options,
    )  # fmt: skip
    return cast("NDArray[np.object_]", made[1].ravel())


def rows_shown(
    n: int, top: int | None, height: float, most: int | None = None
) -> tuple[int, float]:
    """Number of rows to draw, best first, and their height in inches."""
    if top is not None and not (isinstance(top, int | np.integer) and top >= 1):
        raise ValueError(f"top must be at least 1, got {top!r}")
    shown = int(min(n, top or most or n))
    if not in_column():
        return shown, height
    height = max(0.5 * height, LEAST_ROW)
    fit = max(int((PAGE - 1.0) / height), 1)
    if top is not None and shown > fit:
        raise ValueError(
            f"{shown} rows are too many for a page, the limit is {fit}; use top={fit} or fewer"
        )
    return min(shown, fit), height


def several_axes(
    ax: Any, size: tuple[float, float], rows: int, columns: int, **options: Any
) -> NDArray[np.object_]:
    """Return the given axes or, if None, the axes of a new figure of the given size in inches."""
    if ax is None:
        return new_axes(size, rows, columns, **options)
    axes = np.array(ax, dtype=object).ravel()
    n = rows * columns
    if len(axes) != n or not all(isinstance(one, Axes) for one in axes):
        several = f"{n} axes" if n > 1 else "matplotlib axes"
        raise TypeError(
            f"ax must be {several}, got {type(ax).__name__} of length {len(axes)}; make them with "
            f"plt.subplots({rows}, {columns}), or leave ax out"
        )
    return axes


def axes_or_new(ax: Axes | None, size: tuple[float, float], **options: Any) -> Axes:
    """Given axes, or those of a new figure of this size in inches."""
    return cast(Axes, several_axes(ax, size, 1, 1, **options)[0])


def name_rows(ax: Axes, names: Sequence[str], n: int | None = None, *, down: bool = False) -> None:
    """Label rows from bottom to top, or from top to bottom, with the total number of models."""
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ends = -0.6, len(names) - 0.4
    ax.set_ylim(ends[::-1] if down else ends)
    if n is not None and len(names) < n:
        ax.set_ylabel(f"first {len(names)} of {n} models")


def only(table: pd.DataFrame, column: str, value: str | None) -> pd.DataFrame:
    """Select rows with a value in a column (None: all); raise `ValueError` if there are none."""
    if value is None:
        return table
    one_of(column, value, tuple(table[column].drop_duplicates().astype(str)))
    return table[table[column].astype(str) == value]


def key(label: str, **look: Any) -> Line2D:
    """Make a legend entry."""
    return Line2D([], [], label=label, **look)


def not_drawn(lost: int, n: int, what: str = "undefined") -> list[Line2D]:
    """Legend entry with the number of values not drawn, if any."""
    return [key(f"{what}, not drawn: {lost} of {n}", linestyle="")] if lost else []


def figure_of(made: Any) -> Figure:
    """The top-level figure of axes, or a figure itself."""
    if isinstance(made, Figure):
        return made
    return cast(Figure, np.ravel(made)[0].get_figure(root=True))


def legend(
    ax: Axes,
    handles: Sequence[Any] | None = None,
    title: str | None = None,
    *,
    at: Literal["right", "above", "below"] = "right",
    side: Literal["left", "center", "right"] = "right",
    **look: Any,
) -> None:
    """Add a legend outside the axes; in one column below all axes."""
    shown = ax.get_legend_handles_labels()[0] if handles is None else list(handles)
    if not shown:
        return
    figure = figure_of(ax)
    if not (in_column() and isinstance(figure, PlotFigure)):
        x = {"left": 0.0, "center": 0.5, "right": 1.0}[side]
        under = ScaledTranslation(0, -BELOW / 72, figure.dpi_scale_trans)
        places: dict[str, dict[str, Any]] = {
            "right": {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "alignment": "left"},
            "above": {"loc": f"lower {side}", "bbox_to_anchor": (x, 1.0)},
            "below": {"loc": f"upper {side}", "bbox_to_anchor": (x, 0.0),
                      "bbox_transform": ax.transAxes + under},
        }  # fmt: skip
        ax.legend(handles=shown, title=title, **places[at] | look)
        return
    # One legend for all panels, drawn when all are complete.
    known, old_title = figure.key
    figure.key = (*known, *shown), old_title or title


def _legend_below(figure: PlotFigure) -> None:
    """Draw one legend below all panels, which increases the height of the figure."""
    given, title = figure.key
    figure.key = (), None
    # Entries of several panels are shown once.
    known = {str(handle.get_label()): handle for handle in given}
    if not known:
        return
    short = told_apart([label for label in known if "\n" not in label], MOST_IN_KEY)
    texts = [short.get(label, label) for label in known]
    longest = max(len(line) for text in texts for line in text.split("\n"))
    columns = max(1, min(3, len(texts), int(COLUMN_WIDTH / ((longest + 6) * LETTER))))
    # Entries under a heading stay in one column.
    columns = 1 if any(text.startswith("\n") for text in texts) else columns
    lines = [text.count("\n") + 1 for text in texts]
    height = sum(max(lines[k : k + columns]) for k in range(0, len(lines), columns))
    height += len(title.split("\n")) if title else 0
    figure.legend(
        handles=list(known.values()), labels=texts, title=title, ncols=columns,
        loc="outside lower center", alignment="left", columnspacing=1.0, handlelength=1.5,
    )  # fmt: skip
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.165 * height)


def color_key(
    ax: Axes | Sequence[Axes] | NDArray[Any], colors: ScalarMappable, label: str, **options: Any
) -> Colorbar:
    """Add a color bar next to the axes; in one-column figures, below the axes."""
    if in_column():
        options = {"location": "bottom", "aspect": 30}
    return figure_of(ax).colorbar(
        colors, ax=np.ravel(cast(Any, ax)).tolist(), label=label, **options
    )


def diverging(values: NDArray[Any]) -> dict[str, Any]:
    """Diverging colors with white at 0, limited to the range of the values."""
    defined = values[np.isfinite(values)]
    low, high = min(defined.min(initial=0), 0.0), max(defined.max(initial=0), 0.0)
    limit = max(-low, high) or 1.0
    if low == high:
        low, high = -limit, limit
    used = np.linspace(0.5 + 0.5 * low / limit, 0.5 + 0.5 * high / limit, 256)
    return {"cmap": ListedColormap(mpl.colormaps["RdBu_r"](used)), "vmin": low, "vmax": high}


def rows_with_intervals(
    ax: Axes, rows: Any, center: Any, lower: Any, upper: Any, color: Any, **dot: Any
) -> None:
    """Draw a dot with its interval in each row."""
    width = dot.pop("linewidth", 2)
    ax.hlines(rows, lower, upper, color=color, linewidth=width)
    ax.plot(center, rows, "o", color=color, **{"markersize": 5} | dot)


def heat_map(
    ax: Axes, values: ArrayLike, names: Sequence[str], label: str, size: float = 8.0, **scale: Any
) -> None:
    """Draw a square map with names of rows and columns, and a color bar."""
    image = ax.imshow(values, **scale)
    name_both_sides(ax, names, size)
    color_key(ax, image, label, shrink=0.75)


def name_both_sides(ax: Axes, names: Sequence[str], size: float = 8.0) -> None:
    """Label rows and columns of a square map, or only the rows if a narrow plot has many rows."""
    ax.spines[:].set_visible(True)
    n = len(names)
    every = 1
    names = _shortened(names, MOST_LETTERS)
    if in_column() and n > MOST_TURNED:
        figure = figure_of(ax)
        every = -(-n // MOST_IN_COLUMN)
        ax.set_xticks([])
        some = f"; one row in {every} is labeled" if every > 1 else ""
        ax.set_xlabel(f"columns are in the order of the rows{some}")
        if isinstance(figure, PlotFigure):
            ax.set_aspect("auto")
            figure.set_size_inches(COLUMN_WIDTH, 1.1 + 0.125 * n / every)
    else:
        ax.set_xticks(range(n), names, rotation=90, fontsize=size)
    ax.set_yticks(range(0, n, every), names[::every], fontsize=size)


def _is_free(ax: Axes, box: BboxBase, taken: Sequence[BboxBase]) -> bool:
    """Whether a box is inside the axes and does not overlap others."""
    window = ax.get_window_extent()
    inside = window.contains(*box.min) and window.contains(*box.max)
    return inside and not any(box.overlaps(other) for other in taken)


def drop_crowded(ax: Axes, texts: Sequence[Text]) -> None:
    """Remove labels of lines that cross the edge or overlap."""
    # Positions of labels depend on the layout of the axes.
    figure_of(ax).draw_without_rendering()
    kept: list[BboxBase] = []
    for text in texts:
        if _is_free(ax, box := text.get_window_extent(), kept):
            kept.append(box)
        else:
            text.remove()


def fit_names(figure: Figure) -> None:
    """Shorten names along the axes that would leave too little space for the axes."""
    if not isinstance(figure, PlotFigure):
        return
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        every = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
        seen = [(tick, label) for tick, label in every if label.get_text()]
        names = [label.get_text() for _, label in seen]
        if max(map(len, names), default=0) <= FEW_LETTERS or any("\n" in name for name in names):
            continue
        side = "width" if axis.axis_name == "y" else "height"
        taken = max(getattr(label.get_window_extent(), side) for _, label in seen)
        room = MOST_FOR_NAMES * getattr(figure.bbox, side)
        if taken > room:
            letters = int(max(map(len, names)) * room / taken)
            short = _shortened(names, max(letters, FEW_LETTERS))
            axis.set_ticks([tick for tick, _ in seen], short)


def _shortened(names: Sequence[str], letters: int) -> list[str]:
    """Shorten names to so many letters; each part of a pair to half of them."""
    parts = [name.split(PAIR) for name in names]
    if all(len(part) == 2 for part in parts):
        sides = [told_apart(side, (letters - len(PAIR)) // 2) for side in zip(*parts, strict=True)]
        return [sides[0][a] + PAIR + sides[1][b] for a, b in parts]
    short = told_apart(names, letters)
    return [short[name] for name in names]


def fit_to_column(figure: Figure) -> None:
    """Wrap long labels, and rotate overlapping tick labels, in a figure drawn by this package."""
    if not isinstance(figure, PlotFigure):
        return
    _legend_below(figure)
    width = figure.get_figwidth()
    figure.draw_without_rendering()
    for ax in figure.axes:
        box = ax.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        # Labels are centered on their axes.
        middle = (box.x0 + box.x1) / 2
        across = 1.85 * min(middle, width - middle)
        rooms = {ax.title: across, ax.xaxis.label: across, ax.yaxis.label: box.height}
        for text, room in rooms.items():
            text.set_fontsize(POINTS)
            text.set_text(_broken(text.get_text(), max(int(room / LETTER), 12)))
    figure.draw_without_rendering()
    for ax in figure.axes:
        if ax.name != "polar":
            _turn_ticks(ax)


def _turn_ticks(ax: Axes) -> None:
    """Rotate overlapping labels below the axes, and remove those that still overlap."""
    seen = [label for label in ax.get_xticklabels() if label.get_visible() and label.get_text()]
    boxes = [label.get_window_extent() for label in seen]
    upright = all(label.get_rotation() == 90 for label in seen)
    if not upright and any(a.x0 <= b.x0 < a.x1 + 2 for a, b in itertools.pairwise(boxes)):
        for label in seen:
            label.set(rotation=90, ha="right", va="center", rotation_mode="anchor")
        boxes = [label.get_window_extent() for label in seen]
    elif not upright:
        return
    steps = [abs(b.x1 - a.x1) for a, b in itertools.pairwise(boxes)]
    if steps and min(steps) > 0:
        every = int(np.ceil(1.15 * POINTS * figure_of(ax).dpi / 72 / min(steps)))
        for k, label in enumerate(seen):
            label.set_alpha(1.0 if k % every == 0 else 0.0)


def _broken(text: str, letters: int) -> str:
    """Wrap text to lines of at most so many letters; keep existing line breaks."""
    return "\n".join(
        textwrap.fill(line, letters, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def check_table(
    frame: pd.DataFrame | xr.Dataset, columns: Iterable[str], way_out: str, name: str = "frame"
) -> None:
    """Raise `ValueError` for a table without rows, without a column, or with invalid estimates."""
    if lacking := [column for column in columns if column not in frame]:
        raise ValueError(
            f"{name} lacks the column {lacking[0]!r} ({len(lacking)} in all); {way_out}"
        )
    if isinstance(frame, xr.Dataset):
        return
    if frame.empty:
        raise ValueError(f"frame is empty: expected one row per entry; {way_out}")
    if (twice := frame.columns.duplicated()).any():
        raise ValueError(f"frame has column {frame.columns[twice][0]!r} twice; {way_out}")
    if "estimate" in frame and pd.to_numeric(frame["estimate"], "coerce").isna().gt(
        frame["estimate"].isna()
    ).any():  # fmt: skip
        raise ValueError(f"column 'estimate' must contain numbers; {way_out}")


# Most difficult first, as in alikely.models._mixtures.regime_names.
NAMED = ("extreme", "far", "near", "reference")
SMALL = 6.0  # points
# With fewer values the density would mainly show the kernel.
FEWEST_OF_VIOLIN = 5
VIOLIN: Any = {"color": "black", "alpha": 0.1, "linewidth": 0}
LINE = 10.0  # points from one line of regime names to the next
BETWEEN = 9.5  # points from one name at the end of a line to the next
# Positions of a label relative to its dot: offset in points, and alignment.
ABOVE_OR_BELOW = [
    (0, 4, "center", "bottom"), (0, -4, "center", "top"), (3, 3, "right", "bottom"),
    (3, -3, "right", "top"), (-3, 3, "left", "bottom"), (-3, -3, "left", "top"),
]  # fmt: skip
FAR = [
    (side * distance, up, "left" if side > 0 else "right", "center")
    for up in sorted(range(-70, 71, 7), key=abs)
    for distance in (6, 12)
    for side in (1, -1)
]
# At a larger vertical distance, in points, a line connects a label to its point.
NEAR = 14


def bounds_of(frame: pd.DataFrame, way_out: str) -> list[str]:
    """Columns of the lower and upper bound of the bootstrap; `ValueError` if there are not two."""
    pattern = re.compile(r"bootstrap_(eti|hdi)[\d.]+_(lb|ub)$")
    bounds = sorted(str(c) for c in frame if pattern.match(str(c)))
    if [name[-3:] for name in bounds] != ["_lb", "_ub"]:
        raise ValueError(
            "frame needs one lower and one upper bound such as bootstrap_eti95_lb and "
            f"bootstrap_eti95_ub, got {', '.join(bounds) or 'none'}; {way_out}"
        )
    return bounds


def are_regimes(names: Iterable[str]) -> bool:
    return all(name in NAMED or re.fullmatch(r"regime \d+", name) for name in names)


def regime_order(names: Iterable[str]) -> list[str]:
    """Unique names of regimes, most difficult first; other names in order of first occurrence."""
    unique = list(dict.fromkeys(names))
    if not are_regimes(unique):
        return unique
    return sorted(unique, key=lambda n: NAMED.index(n) if n in NAMED else int(n.split()[1]))


def regime_colors(names: Sequence[str]) -> dict[str, str]:
    """Color of each regime, darker if more difficult, so that regimes also differ in grayscale."""
    # A table may contain only some of the four regimes: each keeps its color.
    known = NAMED if set(names) <= set(NAMED) else tuple(names)
    shades = mpl.colormaps["viridis"](np.linspace(0, 0.82, max(len(known), 2)))
    return {name: to_hex(shades[known.index(name)]) for name in names}


def group_styles(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Color and marker of each group, unique for up to 64 groups."""
    n = len(COLORS)
    return {
        name: (COLORS[k % n], MARKERS[(k + k // n) % len(MARKERS)]) for k, name in enumerate(names)
    }


def blend(color: str, opacity: float) -> tuple[float, float, float]:
    """Return a color as it appears with the given opacity on white."""
    red, green, blue = 1 - opacity * (1 - np.array(to_rgb(color)))
    return float(red), float(green), float(blue)


def shade_regimes(
    ax: Axes, spans: Iterable[tuple[float, float, str]], colors: dict[str, str]
) -> list[Annotation]:
    """Shade the range of each regime on the x axis, with its name on top."""
    names = []
    for left, right, name in (span for span in spans if span[0] != span[1]):
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
    """Raise names by one line where they would overlap their neighbors."""
    # Positions depend on the layout of the axes.
    figure_of(ax).draw_without_rendering()
    taken: list[BboxBase] = []
    for name in names:
        box, line = name.get_window_extent().padded(2, -1), 0
        while any(box.overlaps(other) for other in taken):
            line += 1
            name.set_position((0, 3 + LINE * line))
            box = name.get_window_extent().padded(2, -1)
        taken.append(box)


def place_labels(
    ax: Axes,
    points: Floats,
    texts: Sequence[str],
    places: Sequence[tuple[float, float, str, str]],
    dots: Floats,
) -> None:
    """Label points without overlaps; labels without enough space are omitted."""
    figure = figure_of(ax)
    # Positions of labels depend on those of the axes, and these on wrapped labels in one column.
    if in_column():
        fit_to_column(figure)
    figure.draw_without_rendering()
    half = 2.5 * figure.dpi / 72
    taken = [Bbox([at - half, at + half]) for at in ax.transData.transform(dots)]
    # Excluded from the layout, which would otherwise move the axes.
    look: Any = {"textcoords": "offset points", "in_layout": False}
    tie = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
    for point, name in zip(points, texts, strict=True):
        note = ax.annotate(name, point, (0, 0), fontsize=SMALL, color="0.15", zorder=4, **look)
        for dx, dy, ha, va in places:
            note.set(position=(dx, dy), ha=ha, va=va)
            box = note.get_window_extent().padded(0.5, -0.5)
            if _is_free(ax, box, taken):
                taken.append(box)
                if abs(dy) > NEAR:
                    ax.annotate("", point, (dx, dy), arrowprops=tie, zorder=0.6, **look)
                break
        else:
            note.remove()


def name_ends(ax: Axes, x: float, ends: list[tuple[float, str, bool, str]]) -> None:
    """Label the last ranks at the right, at least one line apart, with connecting lines."""
    # Names are shortened to fit to the right of the axes.
    short = told_apart([name for _, name, *_ in ends], 16 if in_column() else 32)
    height = ax.get_window_extent().height / figure_of(ax).dpi * 72
    low, high = sorted(ax.get_ylim())
    step = BETWEEN * (high - low) / height
    kept = sorted(sorted(ends, key=lambda end: not end[2])[: int((high - low) / step)])
    below = step * np.arange(len(kept))
    # Down where labels overlap, and back where they exceed the end.
    places = np.maximum.accumulate([rank for rank, *_ in kept] - below) + below
    places = np.minimum(places, high - below[::-1])
    tie = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
    for place, (rank, name, first, color) in zip(places, kept, strict=True):
        ax.annotate(
            short[name], (x + 0.04, rank), (x + 0.14, place), va="center", fontsize=7,
            weight="bold" if first else "normal", annotation_clip=False, color=color,
            arrowprops=tie if abs(place - rank) > step / 4 else None,
        )  # fmt: skip


def draw_ranks(
    ax: Axes,
    x: Floats,
    ranks: Sequence[Floats],
    labels: Sequence[str],
    lines: Sequence[Any],
    aside: ArrayLike = 0.0,
    ink: str | None = None,
) -> None:
    """Draw the ranks of each system as a line, with rank 1 at the top, rank sets and names.

    `x` and each of `ranks` (rank, lower, upper) have the shape (system, column). A line consists of
    the name of a system or "", its color, whether it is emphasized, its width, and whether its sets
    are drawn. Confidence sets are shifted by `aside`; names have the color `ink`, or the color of
    their line.
    """
    at = x + np.reshape(aside, (-1, 1))
    rank, lower, upper = ranks
    last = int(np.flatnonzero(np.isfinite(rank).any(axis=0))[-1])
    ends: list[tuple[float, str, bool, Any]] = []
    for k, (name, color, strong, width, sets) in enumerate(lines):
        look: dict[str, Any] = {"color": color, "zorder": 2 + strong}
        if sets:
            ax.vlines(at[k], lower[k] - 0.2, upper[k] + 0.2, alpha=0.3, linewidth=2.2, **look)
        ax.plot(x[k], rank[k], linewidth=width, marker="o", markersize=3.2, **look)
        if name and np.isfinite(rank[k, last]):
            named = ink or (color if strong else "0.35")
            ends.append((float(rank[k, last]), name, strong and ink is not None, named))
    ax.set_ylim(len(rank) + 0.7, 0.3)
    ax.set_xticks(range(len(labels)), labels)
    ax.set_xlim(-0.45, len(labels) - 0.55)
    ax.tick_params(axis="x", length=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    name_ends(ax, last + 0.35, ends)


def violin(ax: Axes, values: Floats, row: float, half: float = 0.42) -> bool:
    """Draw the density of values behind a row, and return whether values suffice for it."""
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
    """Arrange estimates as a table with one row per system and one column per condition."""
    systems = rows["system"].drop_duplicates()
    wide = rows.pivot(index="system", columns="condition", values="estimate")
    return wide.reindex(index=systems, columns=conditions)


# Text is saved as text: a tenth of the size of outlines, searchable and readable by screen readers.
# Fallback fonts are narrower than the font used for the layout. Dollar signs in names do not start
# formulas.
SETTINGS: Any = {"svg.fonttype": "none", "text.parse_math": False}
# Characters that XML does not allow, but names may contain.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Coordinates are rounded to hundredths of a point, in attributes only.
ATTRIBUTE, LONG = re.compile(r'="[^"<>]*"'), re.compile(r"(-?\d+\.\d\d)\d+")
# Parts needed only in a separate file.
KEPT_OUT = re.compile(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", re.DOTALL)


def svg_of(draw: Callable[[], Any], label: str) -> str:
    """Draw a plot as SVG for a page of HTML."""
    known = set(plt.get_fignums())
    image = io.StringIO()
    _load_backend()
    try:
        # Identifiers are unique to the figure and reproducible.
        salt = {"svg.hashsalt": f"alikely {label}"}
        with mpl.rc_context(SETTINGS | salt), plt.ioff(), warnings.catch_warnings():
            # The reader's fonts may have glyphs that this font lacks.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure = figure_of(draw())
            figure.savefig(image, format="svg", bbox_inches="tight", metadata={"Date": None})
    finally:
        for number in set(plt.get_fignums()) - known:
            plt.close(number)
    text = CONTROL.sub("\ufffd", image.getvalue())
    text = KEPT_OUT.sub("", text[text.index("<svg") :])
    asked = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in asked else "", text)
    text = ATTRIBUTE.sub(lambda found: LONG.sub(r"\1", found[0]), text)
    # Width of the figure, limited by that of the page.
    width = float(re.findall(r'width="([\d.]+)pt"', text)[0])
    text = re.sub(r' (?:width|height)="[\d.]+pt"| version="1.1"', "", text, count=3)
    start = f'<svg role="img" aria-label={quoteattr(label)} style="width: {width:.0f}pt"'
    return text.replace("<svg", start, 1)
