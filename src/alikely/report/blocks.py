"""What a page is made of: texts, tables and figures, each of which a template lays out."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from alikely._base.frames import ordered
from alikely._base.names import MISSING, counted
from alikely.estimates.latex import HEADINGS as SHARED
from alikely.estimates.latex import printed
from alikely.plots._style import column, svg_of
from alikely.report.sentences import NUMBER, capital, merged_notes

# Rows of a table that are shown at once; all rows follow folded, 50 at a time.
ROWS = 10
# Headings of columns, in all tables.
HEADINGS = {
    "accuracy_a": "accuracy", "accuracy_b": "accuracy of the other",
    "ceiling_normalized": "ratio to ceiling",
    "dataset": "data set", "log10_p": "log10 p (Fisher)",
    "n_cases": "cases", "n_entries": "entries", "n_readers": "readers",
    "p_adjusted": "p (Fisher, adjusted)", "p_null": "p (simulated)",
    "p_null_bh": "p (simulated, adjusted)", "prob_positive": "probability above 0",
    "p_value_simultaneous": "p (among all)", "se": "standard error", "system": "model",
}  # fmt: skip
# Tables with at least so many columns have a smaller font.
DENSE = 10
# Limit of one table and of one figure; a page has about ten of either.
MOST_BYTES = 900_000
TOO_LARGE = (
    "it takes {size:.1f} MB, which is too large for a page; draw it in Python, or for fewer "
    "observers"
)
# Parts of a note, those that tell what to do in Python, and numbers of a row at its end.
PARTS = re.compile(r"(; |\. (?=[A-Z]))")
DOES = re.compile(
    r"(?:pass|use|call|increase|compare|report|see|give|make|or use)\b", re.IGNORECASE
)
PYTHON = re.compile(r"\bal\.\w|\w=|`|\w\(|\b[a-z]+_[a-z_]+\b")
OF_ROW = re.compile(r" \(-?\d[^)]*\)$")


@dataclasses.dataclass(frozen=True)
class Block:
    """A part of a section."""

    @property
    def kind(self) -> str:
        """How the template lays it out."""
        return type(self).__name__.lower()


@dataclasses.dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str


@dataclasses.dataclass(frozen=True)
class Lead(Block):
    """What was asked, the main figure, and sentences that answer the question."""

    question: str
    answers: Sequence[str]
    figure: Block | None


@dataclasses.dataclass(frozen=True)
class Items(Block):
    """A list, with numbers if tables refer to it."""

    items: Sequence[str]
    numbered: bool = False


@dataclasses.dataclass(frozen=True)
class Code(Block):
    """Text to copy."""

    text: str
    what: str


@dataclasses.dataclass(frozen=True)
class Figure(Block):
    """A drawing, and what it shows."""

    svg: Markup
    caption: str


@dataclasses.dataclass(frozen=True)
class Failure(Block):
    """A part that is missing, and why."""

    what: str
    why: str

    @property
    def plain(self) -> str:
        """The reason without what to do in Python."""
        return without_code(self.why)[0]


@dataclasses.dataclass(frozen=True)
class Table(Block):
    """The first rows of a table as text, and all of them for the folded one."""

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
        """Which columns are aligned on the right."""
        return [name in self.right for name in self.heads]

    @property
    def rows(self) -> list[list[str]]:
        """The rows that are shown."""
        return self.cells.head(self.n_shown).to_numpy().tolist()

    @property
    def dense(self) -> bool:
        """Whether it has so many columns that they need a smaller font."""
        return len(self.heads) >= DENSE

    @functools.cached_property
    def packed(self) -> tuple[int, Markup]:
        """How many rows the folded table has, and their texts."""
        n, text = _as_json(self.cells) if len(self.cells) > self.n_shown else (len(self.cells), "")
        return n, Markup(text)


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page that folds."""

    title: str
    blocks: list[Block]
    open: bool = True

    @property
    def name(self) -> str:
        """Where links within the page go."""
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
    """Lay a table out: bounds joined with their estimates, dashes for missing numbers."""
    if not len(frame):
        return Text(f"{caption} Nothing to show.")
    frame = ordered(frame, sort).reset_index(drop=True)
    # A few rows more are not worth folding.
    rows = len(frame) if len(frame) <= 1.5 * rows else rows
    names = HEADINGS | dict(headings or {})
    cells, numbers, joined = printed(frame, digits=2, headings=names)
    return Table(caption, cells, frozenset([*numbers, *joined]), rows, folded)


def _as_json(cells: pd.DataFrame) -> tuple[int, str]:
    """As many of the first rows as there is room for, by columns; names that recur once."""
    n = len(cells)
    while True:
        columns: list[Any] = []
        for name in cells:
            codes, known = pd.factorize(cells[name].head(n))
            plain = cells[name].head(n).tolist()
            columns.append([known.tolist(), codes.tolist()] if len(known) < n / 2 else plain)
        text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
        # Within a script no text may end it, nor begin a comment.
        text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        size = len(text.encode("utf-8", "replace"))
        if size <= MOST_BYTES:
            return n, text
        n = int(0.97 * n * MOST_BYTES / size)


def figure_of(draw: Callable[[], Any], caption: str, *, narrow: bool = True) -> Block:
    """Draw a figure that a telephone shows legibly, or give the reason for none."""
    try:
        with column() if narrow else contextlib.nullcontext():
            svg = svg_of(draw, caption)
    except Exception as error:  # whatever it is, the numbers are worth having
        return Failure(caption, f"{type(error).__name__}: {error}")
    if len(svg) > MOST_BYTES:
        return Failure(caption, TOO_LARGE.format(size=len(svg) / 1e6))
    return Figure(Markup(svg), capital(caption))


def attempted(what: str, make: Callable[[], Sequence[Block]]) -> list[Block]:
    """Make parts of a section, or give the reason why the analysis has none."""
    try:
        return list(make())
    except ValueError as error:
        return [Failure(what, str(error))]


def without_code(text: str) -> tuple[str, str]:
    """Separate what a text says from what it tells to do in Python."""
    parts = ["", *PARTS.split(text)]
    plain, code = "", []
    for before, part in zip(parts[::2], parts[1::2], strict=True):
        if DOES.match(part) and PYTHON.search(part):
            code.append(part.rstrip(".") if "(" in part else part.rstrip(".)"))
        else:
            plain += (before if plain else "") + part
    plain += ")" * (plain.count("(") - plain.count(")"))
    named = SHARED | HEADINGS
    plain = re.sub(r"\w+_\w+", lambda found: named.get(found[0], found[0]), plain)
    return plain, ". ".join(map(capital, code))


def numbered_notes(sections: Sequence[Section]) -> tuple[list[Section], list[str], list[str]]:
    """Collect the notes of all tables, each once, and what to do about them in Python.

    Tables refer to notes by number, where their rows differ.
    """
    blocks = [(section.title, block) for section in sections for block in section.blocks]
    tables = [(title, b) for title, b in blocks if isinstance(b, Table) and "note" in b.cells]
    rows = [
        (k, row, *without_code(note))
        for k, (_, table) in enumerate(tables)
        for row, text in enumerate(table.cells["note"])
        for note in text.split("; ")
        if note not in ("", MISSING)
    ]
    frame = pd.DataFrame(rows, columns=["table", "row", "text", "code"], dtype=object)
    frame["text"] = frame["text"].mask(frame["text"] == "").ffill()
    short = frame["text"].map(lambda text: OF_ROW.sub("", text))
    frame["number"] = pd.factorize(short.map(lambda text: NUMBER.sub("#", text)))[0] + 1
    items, advice = [], []
    for number, part in frame.groupby("number"):
        several = part["text"].nunique() > 1
        merged = dict.fromkeys(short[part.index], 1) if several else {part["text"].iloc[0]: 1}
        (title, table), first = tables[part["table"].iloc[0]], part["table"].iloc[0]
        n, of = part.loc[part["table"] == first, "row"].nunique(), len(table.cells)
        where = f"{'all' if n == of > 1 else f'{n:,} of'} {counted(of, 'row')} in {title}"
        items.append(f"{capital(*merged_notes(merged))} ({where}).")
        advice += [f"Note {number}: {code}." for code in part["code"][part["code"] != ""][:1]]
    found = {id(table): _with_numbers(table, frame[frame["table"] == k])
             for k, (_, table) in enumerate(tables)}  # fmt: skip
    advice += [f"{b.plain}: {code}." for _, b in blocks
               if isinstance(b, Failure) and (code := without_code(b.why)[1])]  # fmt: skip
    numbered = [
        dataclasses.replace(section, blocks=[found.get(id(b), b) for b in section.blocks])
        for section in sections
    ]
    return numbered, items, advice


def _with_numbers(table: Table, notes: pd.DataFrame) -> Table:
    """A table whose notes are numbers; without those that all of its rows have."""
    notes = notes.drop_duplicates(["row", "number"]).sort_values("number")
    notes = notes[notes.groupby("number")["row"].transform("size") < len(table.cells)]
    numbers = notes["number"].astype(str).groupby(notes["row"]).agg(", ".join)
    cells = table.cells.drop(columns="note")
    if len(numbers):
        cells["note"] = numbers.reindex(cells.index, fill_value="")
    return dataclasses.replace(table, cells=cells)
