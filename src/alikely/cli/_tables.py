"""The one printer of tables: numbers, intervals, names cut to fit; plain, or on a terminal by rich.

Away from a terminal, as in a file or a pipe, a table is plain text of at most 80 columns. On a
terminal it has the same cells, with weight and colour; names that are cut take the room there is.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from rich.cells import cell_len

from alikely._base.names import shorten, told_apart, visible
from alikely.cli._keywords import worded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

WIDTH = 80
ROWS_SHOWN = 40
DASH = "-"
# What a name is never cut below, however narrow a terminal.
FEWEST = 6


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    head: str
    width: int = 0
    left: bool = False
    names: str = ""
    over: str = ""
    strong: bool = False


@dataclass
class Table:
    """Rows of text below heads; `str` of it is plain, `show` prints it."""

    columns: Sequence[Column]
    above: Sequence[str] = ()
    below: list[str] = field(default_factory=list)
    _rows: list[tuple[str, list[str], str]] = field(default_factory=list)

    def row(self, *cells: object, mark: str = "", part: str = "") -> None:
        """Add a row, of one cell for each column; a mark stands behind it."""
        if len(cells) != len(self.columns):
            raise AssertionError(f"{len(cells)} cells for {len(self.columns)} columns")
        self._rows.append((visible(part), [visible(str(cell)) for cell in cells], mark))

    def say(self, *lines: str) -> None:
        """Add lines below the table."""
        self.below += lines

    def __str__(self) -> str:
        widths, names = self._fit(WIDTH)
        over, heads = self._heads(widths)
        lines = [*self.above, *([self._line(over, widths)] if any(over) else [])]
        lines.append(self._line(heads, widths))
        for part, rows in self._parts():
            lines += [f"-- {part}"] if part else []
            lines += [self._line(names(cells), widths, mark) for cells, mark in rows]
        return "\n".join([*lines, *self.below])

    def show(self) -> None:
        """Print it; on a terminal with weight and colour."""
        console = terminal()
        if console is None:
            print(self)
            return
        from rich.text import Text

        for line in self.above:
            console.print(Text(line))
        widths, names = self._fit(console.width - 1)  # a space before marks
        console.print(self._grid(widths, heads=True))
        for part, rows in self._parts():
            if part:
                console.print(Text(f"-- {part}", style="bold cyan"))
            grid = self._grid(widths, heads=False)
            for cells, mark in rows:
                grid.add_row(*(_styled(text) for text in names(cells)), Text(mark, "bold yellow"))
            console.print(grid)
        for line in self.below:
            console.print(Text(line, style="yellow" if line.startswith("! ") else "dim"))

    def _parts(self) -> Iterator[tuple[str, list[tuple[list[str], str]]]]:
        """Rows that stand together, with what they are part of."""
        rows: list[tuple[list[str], str]] = []
        own = ""
        for part, cells, mark in self._rows:
            if part != own and rows:
                yield own, rows
                rows = []
            own = part
            rows.append((cells, mark))
        if rows:
            yield own, rows

    def _line(self, cells: Sequence[str], widths: Sequence[int], mark: str = "") -> str:
        """Cells side by side."""
        parts = [
            text + " " * (width - cell_len(text))
            if column.left
            else " " * (width - cell_len(text)) + text
            for column, text, width in zip(self.columns, cells, widths, strict=True)
        ]
        return " ".join(parts).rstrip() + mark

    def _grid(self, widths: Sequence[int], heads: bool) -> RichTable:
        """A table of rich of these widths, with room for a mark."""
        from rich import box
        from rich.table import Table as RichTable

        grid = RichTable(
            box=box.SIMPLE_HEAD, show_edge=False, padding=0, show_header=heads, border_style="dim"
        )
        over, below = self._heads(widths)
        for column, width, first, head in zip(self.columns, widths, over, below, strict=True):
            grid.add_column(
                f"{first}\n{head}" if any(over) else head,
                width=width,
                no_wrap=True,
                justify="left" if column.left else "right",
                style="bold" if column.strong else "",
                header_style="bold" if column.strong else "",
            )
        grid.add_column("", width=1)
        return grid

    def _heads(self, widths: Sequence[int]) -> tuple[list[str], list[str]]:
        """What stands over the heads, and the heads; those too long stand on both lines."""
        over, heads = [], []
        for column, width in zip(self.columns, widths, strict=True):
            first, last = column.over, column.head
            if cell_len(last) > width and not first:
                first, _, last = last.rpartition(" ")
            over.append(shorten(first, width))
            heads.append(shorten(last, width))
        return over, heads

    def _fit(self, room: int) -> tuple[list[int], Callable[[Sequence[str]], list[str]]]:
        """Width of each column, and what cuts the names of a row to them."""
        long = [
            max([*(cell_len(cells[i]) for _, cells, _ in self._rows), cell_len(column.head),
                 cell_len(column.over)])
            for i, column in enumerate(self.columns)
        ]  # fmt: skip
        named = [i for i, column in enumerate(self.columns) if column.names]
        widths = [
            column.width if column.names else max(column.width, wanted)
            for column, wanted in zip(self.columns, long, strict=True)
        ]
        spare = room - sum(widths) - len(widths)  # a space between, and a mark at the end
        if spare < 0:
            widths = [self._least(i, width) for i, width in enumerate(widths)]
            spare = room - sum(widths) - len(widths)
        step = 1 if spare > 0 else -1
        while spare and (
            rest := [i for i in named if (widths[i] < long[i] if spare > 0 else widths[i] > FEWEST)]
        ):
            for i in rest[: abs(spare)]:
                widths[i] += step
                spare -= step
        cut: dict[str, dict[str, str]] = {}
        for kind in dict.fromkeys(self.columns[i].names for i in named):
            own = [i for i in named if self.columns[i].names == kind]
            every = [cells[i] for _, cells, _ in self._rows for i in own]
            lacking = [widths[i] for i in own if widths[i] < long[i]]
            cut[kind] = told_apart(every, min(lacking, default=max(long[i] for i in own)))

        def names(cells: Sequence[str]) -> list[str]:
            return [
                cut[column.names][text] if column.names else text
                for column, text in zip(self.columns, cells, strict=True)
            ]

        return widths, names

    def _least(self, i: int, width: int) -> int:
        """Characters that a column needs where room is short: a head of words takes two lines."""
        column = self.columns[i]
        heads = [column.over, column.head]
        if not column.over:
            heads = column.head.rsplit(" ", 1)
        cells = max((cell_len(cells[i]) for _, cells, _ in self._rows), default=0)
        least = max(cells, *map(cell_len, [*heads, ""]))
        return min(width, least) if column.names else max(column.width, least)


def _styled(text: str) -> Any:
    from rich.text import Text

    return Text(text, style="dim" if text == DASH else "")


def terminal() -> Console | None:
    """Of standard output where somebody looks on who sees colours, else None."""
    stream = sys.stdout
    if not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    from rich.console import Console

    # Below what spells out names that would steer the terminal: cells have been through that.
    stream = getattr(stream, "beneath", stream)
    console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    return console if console.is_terminal else None


def spread(values: ArrayLike, most: int) -> NDArray[np.intp]:
    """Positions of so many values, as they stand: the lowest, the highest and evenly between."""
    given = np.asarray(values, dtype=np.float64)
    if len(given) <= most:
        return np.arange(len(given))
    order = np.argsort(given, kind="stable")  # what is undefined comes last
    n = int(np.isfinite(given).sum())
    chosen = order[:n][np.linspace(0, n - 1, min(n, most)).round().astype(int)]
    return np.sort(np.append(chosen, order[n:][: most - len(chosen)]))


def cut_lines(n_rows: int, of: str, all_in: str = "--out DIR keeps all of them") -> list[str]:
    """What a table that is cut says of the rows that it shows."""
    if n_rows <= ROWS_SHOWN:
        return []
    shown = f"(shown: the lowest and the highest {of}, and evenly between by rank)"
    return [
        f"... and {n_rows - ROWS_SHOWN} more; {all_in}",
        *textwrap.wrap(shown, WIDTH, initial_indent="    ", subsequent_indent="    "),
    ]


# Options that notes of tables name.
NAMED = ("--no-response", "--population", "--cluster")


def note_lines(notes: pd.Series) -> list[str]:
    """Notes of rows, each once, with the number of rows that it is of."""
    told = notes[notes != ""].str.split("; ").explode()
    # Figures that differ from row to row are left to the table.
    alike = told.str.replace(r" \(-?\d[^)]*\)$", "", regex=True)
    several = told.groupby(alike).transform("nunique") > 1
    counts = told.where(~several, alike).value_counts()
    lines = [
        f"! {worded(note, NAMED)} ({count} row{'s' * (count > 1)})"
        for note, count in counts.items()
    ]
    return [textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines]


def number(value: float, places: int = 2) -> str:
    """A number in so many decimals, a dash where there is none."""
    return DASH if value != value else f"{value:.{places}f}"


def span(lower: float, upper: float, places: int = 2, wide: int | None = None) -> str:
    """An interval in so many decimals, its bounds as wide as each other; a dash without one."""
    if lower != lower or upper != upper:
        return DASH
    wide = places + 3 if wide is None else wide
    # Without end there is nothing to stand under.
    wide = wide if np.isfinite([lower, upper]).all() else 0
    return f"[{lower:{wide}.{places}f}, {upper:{wide}.{places}f}]"


def rank_cell(ranks: pd.DataFrame | None, system: str) -> list[str]:
    """Cell with the ranks that a system may have, empty of who has none; without ranks no cell."""
    if ranks is None:
        return []
    if system not in ranks.index:
        return [""]
    own = ranks.loc[system]
    return [f"{own['rank_lb']}-{own['rank_ub']}"]


def share(value: float) -> str:
    """A share in percent; tiny ones as such."""
    if value < 5e-4:
        return "< 0.1 %"
    return f"{100 * value:.1f} %" if value < 0.9995 else "100 %"
