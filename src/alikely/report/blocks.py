"""Define the blocks of a report: texts, tables and figures, each laid out by a template."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from alikely._base.frames import ordered
from alikely._base.names import MISSING, counted
from alikely.estimates.latex import printed
from alikely.plots._style import column, svg_of
from alikely.report.sentences import NUMBER, capital, merged_notes

# Rows of a table that are shown at once, and of a folded table below it with more of them.
ROWS, MOST_ROWS = 10, 1_000
# Headings of columns, in all tables.
HEADINGS = {
    "accuracy_a": "accuracy of observer", "accuracy_b": "accuracy of other observer",
    "ceiling_normalized": "ceiling-normalized score",
    "dataset": "data set", "log10_p": "log10 p (Fisher)",
    "n_cases": "cases", "n_entries": "comparisons", "n_readers": "readers",
    "p_adjusted": "p (Fisher, adjusted)", "p_null": "p (simulated)",
    "p_null_bh": "p (simulated, adjusted)", "prob_positive": "probability above 0",
    "p_value_simultaneous": "p (simultaneous)", "se": "standard error", "system": "model",
}  # fmt: skip
# Tables with at least so many columns have a smaller font.
DENSE = 10
# Limit of one figure; a page has about ten.
MOST_BYTES = 900_000
TOO_LARGE = (
    "the figure takes {size:.1f} MB, which is too large for a page; draw the figure in Python, or "
    "for fewer observers"
)
# Numbers of a row at the end of a note.
OF_ROW = re.compile(r" \(-?\d[^)]*\)$")
# Names of Python in a note: functions, arguments and columns.
PYTHON = re.compile(r"\bal\.|\w=|\w_\w")


@dataclasses.dataclass(frozen=True)
class Block:
    """A part of a section."""

    @property
    def kind(self) -> str:
        """Name of the block's type, by which the page template selects the layout."""
        return type(self).__name__.lower()


@dataclasses.dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str


@dataclasses.dataclass(frozen=True)
class Lead(Block):
    """Question of the report, main figure, and sentences that answer the question."""

    question: str
    answers: Sequence[str]
    figure: Block | None


@dataclasses.dataclass(frozen=True)
class Items(Block):
    """A list whose items are numbered if tables refer to them."""

    items: Sequence[str]
    numbered: bool = False


@dataclasses.dataclass(frozen=True)
class Code(Block):
    """Text to copy."""

    text: str
    what: str


@dataclasses.dataclass(frozen=True)
class Figure(Block):
    """A figure as SVG, with its caption."""

    svg: Markup
    caption: str


@dataclasses.dataclass(frozen=True)
class Failure(Block):
    """Placeholder for a missing part of the page, with the reason."""

    what: str
    why: str


@dataclasses.dataclass(frozen=True)
class Table(Block):
    """The first rows of a table as text, and more rows in a collapsible table."""

    caption: str
    cells: pd.DataFrame
    right: frozenset[str]
    n_shown: int
    folded: bool = False

    @property
    def heads(self) -> list[str]:
        """Headings of the columns."""
        return [str(name) for name in self.cells]

    @property
    def numbers(self) -> list[bool]:
        """Whether each column is right-aligned."""
        return [name in self.right for name in self.heads]

    @property
    def rows(self) -> list[list[str]]:
        """The rows that are shown or folded."""
        return self.cells.head(max(self.n_shown, MOST_ROWS)).to_numpy().tolist()

    @property
    def dense(self) -> bool:
        """Whether the table has so many columns that they need a smaller font."""
        return len(self.heads) >= DENSE


@dataclasses.dataclass(frozen=True)
class Section:
    """A collapsible section of the page."""

    title: str
    blocks: list[Block]
    open: bool = True

    @property
    def name(self) -> str:
        """Anchor to which links within the page point."""
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())


def table_of(
    frame: pd.DataFrame,
    caption: str,
    *,
    sort: str | Sequence[str] | None = None,
    headings: Mapping[str, str] | None = None,
    rows: int = ROWS,
    folded: bool = False,
) -> Block:
    """Lay out a table: join bounds with their estimates, and show dashes for missing numbers."""
    if not len(frame):
        return Text(f"{caption} The table has no rows.")
    frame = ordered(frame, sort).reset_index(drop=True)
    # A few rows more are not worth folding.
    rows = len(frame) if len(frame) <= 1.5 * rows else rows
    names = HEADINGS | dict(headings or {})
    cells, numbers, joined = printed(frame, digits=2, headings=names)
    return Table(caption, cells, frozenset([*numbers, *joined]), rows, folded)


def figure_of(draw: Callable[[], Any], caption: str, *, narrow: bool = True) -> Block:
    """Draw a figure that is legible on a phone, or give the reason why there is none."""
    try:
        with column() if narrow else contextlib.nullcontext():
            svg = svg_of(draw, caption)
    except Exception as error:  # whatever it is, the numbers are worth having
        return Failure(caption, f"{type(error).__name__}: {error}")
    if len(svg) > MOST_BYTES:
        return Failure(caption, TOO_LARGE.format(size=len(svg) / 1e6))
    return Figure(Markup(svg), capital(caption))


def attempted(what: str, make: Callable[[], Sequence[Block]]) -> list[Block]:
    """Make the blocks of a section, or a block that gives the reason why they cannot be made."""
    try:
        return list(make())
    except ValueError as error:
        return [Failure(what, _without_python(str(error), "; "))]


def _without_python(text: str, mark: str = ". ") -> str:
    """Omit advice that names functions or arguments; readers of a report may not use Python."""
    problem, *advice = text.split(mark)
    return mark.join([problem, *(part for part in advice if not PYTHON.search(part))])


def numbered_notes(sections: Sequence[Section]) -> tuple[list[Section], list[str]]:
    """Replace the notes in tables with numbers, and list each note once."""
    numbers: dict[str, int] = {}
    texts: dict[int, dict[str, int]] = {}
    places: dict[int, str] = {}

    def numbered(section: Section, block: Block) -> Block:
        if not isinstance(block, Table) or "note" not in block.cells:
            return block
        every = block.cells["note"].replace(MISSING, "").str.split("; ").explode()
        notes = every[every != ""].rename("note").rename_axis("row").reset_index()
        short = notes["note"].map(lambda note: OF_ROW.sub("", note))
        alike = short.map(lambda note: numbers.setdefault(NUMBER.sub("#", note), len(numbers) + 1))
        for number, own in notes.groupby(alike):
            # Numbers that differ between rows are left to the tables.
            kept = own["note"] if own["note"].nunique() == 1 else short[own.index]
            texts.setdefault(number, {}).update(dict.fromkeys(kept, 1))
            n, of = own["row"].nunique(), len(block.cells)
            which = "all" if n == of > 1 else f"{n:,} of"
            places.setdefault(number, f"{which} {counted(of, 'row')} in {section.title}")
        cells = block.cells.drop(columns="note")
        if len(notes):
            rows = alike.groupby(notes["row"]).agg(lambda own: ", ".join(map(str, sorted(own))))
            cells["note"] = rows.reindex(cells.index, fill_value="")
        return dataclasses.replace(block, cells=cells)

    found = [
        dataclasses.replace(section, blocks=[numbered(section, block) for block in section.blocks])
        for section in sections
    ]
    said = {
        number: "; ".join(map(_without_python, merged_notes(parts)))
        for number, parts in texts.items()
    }
    return found, [f"{capital(said[number])} ({place})." for number, place in places.items()]
