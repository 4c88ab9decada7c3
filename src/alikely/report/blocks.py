"""What a page is made of: texts, tables and figures, each of which a template lays out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from alikely._base.frames import ordered
from alikely._base.names import counted
from alikely.estimates.latex import printed
from alikely.estimates.sentences import capital, merged_remarks
from alikely.plots._style import svg_of

# Rows of a table that stand on the page as they are; all rows follow folded, a page at a time.
ROWS = 20
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
# Columns from which on a table has a smaller font.
DENSE = 10
# What one table and one figure may add to the page; a page has about ten of either.
MOST_BYTES = 900_000
TOO_LARGE = "it takes {size:.1f} MB, more than a page has room for; draw it in Python, or of fewer"


@dataclasses.dataclass(frozen=True)
class Block:
    """A part of a section."""

    @property
    def kind(self) -> str:
        """How the template lays it out."""
        return type(self).__name__.lower()


@dataclasses.dataclass(frozen=True)
class Text(Block):
    """A paragraph; one that says a finding stands out."""

    text: str
    finding: bool = False


@dataclasses.dataclass(frozen=True)
class Items(Block):
    """A list."""

    items: Sequence[str]


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
    """What is not there, and why."""

    what: str
    why: str


@dataclasses.dataclass(frozen=True)
class Table(Block):
    """The first rows of a table as text, and all of them for the folded one."""

    caption: str
    heads: list[str]
    numbers: list[bool]
    rows: list[list[str]]
    n_rows: int
    n_kept: int
    rest: Markup
    folded: bool = False
    remarks: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def dense(self) -> bool:
        """Whether it has so many columns that they need a smaller font."""
        return len(self.heads) >= DENSE


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
    """Lay a table out: bounds with what they are of, dashes for what is missing."""
    if not len(frame):
        return Text(f"{caption} Nothing to show.")
    frame = ordered(frame, sort).reset_index(drop=True)
    # A few rows more are not worth folding.
    rows = len(frame) if len(frame) <= 1.5 * rows else rows
    if "note" in frame and not (frame["note"] != "").any():
        frame = frame.drop(columns="note")
    cells, numbers, joined = printed(frame, headings=HEADINGS | dict(headings or {}))
    right = {*numbers, *joined}
    heads = [str(name) for name in cells]
    n_kept, rest = _as_json(cells) if len(cells) > rows else (len(cells), "")
    return Table(
        caption,
        heads,
        [name in right for name in heads],
        cells.head(rows).to_numpy().tolist(),
        len(cells),
        n_kept,
        Markup(rest),
        folded,
        remarks_of(frame["note"]) if "note" in frame else {},
    )


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


def figure_of(draw: Callable[[], Any], caption: str) -> Block:
    """Draw a figure, or give the reason for none: the rest of the page does not need it."""
    try:
        svg = svg_of(draw, caption)
    except Exception as error:  # whatever it is, the numbers are worth having
        return Failure(caption, f"{type(error).__name__}: {error}")
    if len(svg) > MOST_BYTES:
        return Failure(caption, TOO_LARGE.format(size=len(svg) / 1e6))
    return Figure(Markup(svg), capital(caption))


def attempted(what: str, make: Callable[[], Sequence[Block]]) -> list[Block]:
    """Make parts of a section; where the analysis has none, its reason stands there."""
    try:
        return list(make())
    except ValueError as error:
        return [Failure(what, str(error))]


def remarks_of(notes: pd.Series) -> dict[str, int]:
    """What the notes of a table say, the most frequent first, and in how many rows."""
    told = notes[notes != ""].str.split("; ").explode()
    alike = told.str.replace(r" \(-?\d[^)]*\)$", "", regex=True)
    several = told.groupby(alike).transform("nunique") > 1
    counts = told.where(~several, alike).value_counts(sort=False)
    counts = counts.sort_values(ascending=False, kind="stable")
    return {str(note): int(n) for note, n in counts.items()}


def warnings_of(sections: Sequence[Section]) -> list[str]:
    """What all tables of a page warn of, each remark where it stands first."""
    found: dict[str, str] = {}
    for section in sections:
        for table in section.blocks:
            if isinstance(table, Table):
                for remark, n in merged_remarks(table.remarks).items():
                    where = f"{n:,} of {counted(table.n_rows, 'row')}: {section.title}"
                    found.setdefault(remark, f"{capital(remark)} ({where}).")
    return list(found.values())
