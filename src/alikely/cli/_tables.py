"""Tables, numbers and intervals: at most 80 columns of plain text, or as wide as the terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from alikely._base.files import write_figure, write_file
from alikely._base.names import shorten, told_apart, visible
from alikely.cli._words import worded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 80
ROWS_SHOWN = 40
DASH = "-"
# What a name is never cut below, however narrow a terminal.
FEWEST = 6

# A column of text by its name, or a number as a function of a row.
type Cell = str | Callable[[Mapping[str, Any]], str]


def screen() -> Console:
    """Of standard output: with color and of its own width where a terminal is."""
    stream = sys.stdout
    plain = not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown")
    # Below what spells out names that would steer the terminal: cells have been through that.
    stream = getattr(stream, "beneath", stream)
    return Console(
        file=stream, width=WIDTH if plain else None, no_color=plain or None,
        force_terminal=False if plain else None, highlight=False, markup=False, emoji=False,
    )  # fmt: skip


def show(
    frame: pd.DataFrame, columns: Mapping[str, Cell], above: Sequence[str] = (), part: str = ""
) -> None:
    """Print a table with a mark at rows that have a note; one table for each value of `part`."""
    console = screen()
    say(*above)
    rows = frame.to_dict("records")
    cells = {
        head: [str(row[cell]) if isinstance(cell, str) else cell(row) for row in rows]
        for head, cell in columns.items()
    }
    names = {head: cell for head, cell in columns.items() if isinstance(cell, str)}
    widths, short = _fitted(cells, names, console.width)
    cells |= short
    marks = ["!" if row.get("note") else "" for row in rows]
    parts = [str(row.get(part, "")) for row in rows]
    tall = any("\n" in head for head in columns)
    for value in dict.fromkeys(parts):
        if len(set(parts)) > 1:
            console.print(Text(f"-- {visible(value)}", style="bold"))
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for head in columns:
            shown = shorten(head, widths[head]) if head in names else head
            shown = f"\n{shown}" if tall and "\n" not in head else shown
            side = "left" if head in names else "right"
            table.add_column(Text(shown, justify=side), justify=side, overflow="fold")  # type: ignore[arg-type]
        table.add_column("")
        for i in (i for i, own in enumerate(parts) if own == value):
            table.add_row(*(Text(column[i]) for column in cells.values()), marks[i])
        console.print(table)


def _fitted(
    cells: Mapping[str, list[str]], names: Mapping[str, str], width: int
) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Names in the room that numbers leave, cut so that they stay distinct."""
    long = {
        head: max(map(cell_len, [*map(visible, column), *head.split("\n")]))
        for head, column in cells.items()
    }
    room = width - 1 - len(long) - sum(long[head] for head in long if head not in names)
    widths: dict[str, int] = {}
    for i, head in enumerate(sorted(names, key=long.__getitem__)):
        widths[head] = max(FEWEST, min(long[head], room // (len(names) - i)))
        room -= widths[head]
    found: dict[str, list[str]] = {}
    for stem in dict.fromkeys(name.split("_")[0] for name in names.values()):
        own = [head for head, name in names.items() if name.split("_")[0] == stem]
        cut = [widths[head] for head in own if widths[head] < long[head]]
        every = [name for head in own for name in cells[head]]
        short = told_apart(every, min(cut, default=max(widths[head] for head in own)))
        found |= {head: [short[name] for name in cells[head]] for head in own}
    return widths, found


def say(*texts: str, hanging: str = "") -> None:
    """Print paragraphs in 80 columns; an empty one is an empty line."""
    for text in texts:
        print(textwrap.fill(text, WIDTH, subsequent_indent=hanging))


def spread(values: ArrayLike, most: int = ROWS_SHOWN) -> NDArray[np.intp]:
    """Positions of so many values, as they stand: the lowest, the highest and evenly between."""
    given = np.asarray(values, dtype=np.float64)
    if len(given) <= most:
        return np.arange(len(given))
    order = np.argsort(given, kind="stable")  # what is undefined comes last
    n = int(np.isfinite(given).sum())
    chosen = order[:n][np.linspace(0, n - 1, min(n, most)).round().astype(int)]
    return np.sort(np.append(chosen, order[n:][: most - len(chosen)]))


def show_cut(n_rows: int, of: str, all_in: str = "--out DIR keeps all of them") -> None:
    """What a table that is cut says of the rows that it shows."""
    if n_rows > ROWS_SHOWN:
        say(f"... and {n_rows - ROWS_SHOWN} more; {all_in}")
        say(f"    (shown: the lowest and the highest {of}, and evenly between by rank)",
            hanging="    ")  # fmt: skip


def show_notes(notes: pd.Series) -> None:
    """Notes of rows, each once, with the number of its rows."""
    told = notes[notes != ""].str.split("; ").explode()
    # Figures that differ from row to row are left to the table.
    alike = told.str.replace(r" \(-?\d[^)]*\)$", "", regex=True)
    several = told.groupby(alike).transform("nunique") > 1
    for note, count in told.where(~several, alike).value_counts().items():
        named = worded(note, ("--no-response", "--population", "--cluster"))
        say(f"! {named} ({count} row{'s' * (count > 1)})", hanging="  ")


def number(value: float, places: int = 2) -> str:
    """A number in so many decimals, a dash where there is none."""
    return DASH if value != value else f"{value:.{places}f}"


def span(lower: float, upper: float, places: int = 2) -> str:
    """An interval in so many decimals, its bounds as wide as each other; a dash without one."""
    if lower != lower or upper != upper:
        return DASH
    # Without end there is nothing to align with.
    wide = places + 3 if np.isfinite([lower, upper]).all() else 0
    return f"[{lower:{wide}.{places}f}, {upper:{wide}.{places}f}]"


def num(name: str, places: int = 2) -> Cell:
    """Cells of a number."""
    return lambda row: number(row[name], places)


def whole(name: str) -> Cell:
    """Cells of a count."""
    return lambda row: f"{row[name]:,.0f}"


def between(names: Iterable[str], places: int = 2) -> Cell:
    """Cells of an interval, of the names of its bounds."""
    bounds = list(names)
    return lambda row: span(row[bounds[0]], row[bounds[1]], places) if bounds else DASH


def ends(frame: pd.DataFrame, start: str = "") -> list[str]:
    """Names of the bounds of an interval."""
    return [str(c) for c in frame if str(c).startswith(start) and str(c).endswith(("_lb", "_ub"))]


def share(value: float) -> str:
    """A fraction in percent; tiny ones as such."""
    if value < 5e-4:
        return "< 0.1 %"
    return f"{100 * value:.1f} %" if value < 0.9995 else "100 %"


def portion(name: str) -> Cell:
    """Cells of a fraction in percent."""
    return lambda row: share(row[name])


def rank_cell(ranks: pd.DataFrame) -> Cell:
    """Cells of the ranks that a system may have."""
    own = ranks.set_index("system")
    return lambda row: (
        "{rank_lb}-{rank_ub}".format(**own.loc[row["system"]]) if row["system"] in own.index else ""
    )


def save_plot(draw: Callable[..., Any], path: Path, *arguments: Any) -> None:
    """Draw into a file, without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    def drawn() -> Figure:
        draw(*arguments)
        return plt.gcf()

    # Names are no formulas: a dollar in one is a dollar.
    with mpl.rc_context({"text.parse_math": False}):
        write_figure(drawn, path, dpi=150)
    plt.close()


class Folder:
    """Files of a subcommand in the folder of --out; without one nothing is written."""

    def __init__(self, path: Path | None, kept: str) -> None:
        self.path, self._kept = path, kept
        self._names: list[str] = []

    def __bool__(self) -> bool:
        return self.path is not None

    def table(self, name: str, frame: pd.DataFrame, index: bool = False) -> None:
        """Write a table."""
        self.file(f"{name}.csv", lambda path: write_file(path, frame.to_csv(index=index)))

    def plot(self, name: str, draw: Callable[..., Any], *arguments: Any) -> None:
        """Write a plot."""
        self.file(f"{name}.png", lambda path: save_plot(draw, path, *arguments))

    def file(self, name: str, write: Callable[[Path], Any]) -> None:
        """Write a file."""
        if self.path is not None:
            self.path.mkdir(parents=True, exist_ok=True)
            write(self.path / name)
            self._names.append(name)

    def close(self) -> None:
        """Print what was written, or that nothing was."""
        if self.path is None:
            print(f"\nNothing was written; --out DIR keeps {self._kept}.")
        else:
            print(f"\nWritten to {self.path}: {', '.join(self._names)}")
