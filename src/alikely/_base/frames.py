"""Tables on their way out: their order, and the library whose table they are."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Any, Literal

import narwhals as nw
import pandas as pd

from alikely._base.names import listed, nearest

__all__ = [
    "As",
    "Columns",
    "Sort",
    "given_as",
    "known_columns",
    "ordered",
    "with_columns",
    "with_notes",
]

As = Literal["pandas", "polars", "pyarrow"]
Sort = str | Sequence[str] | None
# Columns that a table shows in addition to those of every table.
Columns = Sequence[str] | Literal["all"] | None

LIBRARIES = ("pandas", "polars", "pyarrow")
DIGITS = re.compile(r"(\d+)")


def ordered(frame: pd.DataFrame, sort: Sort) -> pd.DataFrame:
    """Put the rows of a table in order."""
    if sort is None:
        return frame
    asked = [sort] if isinstance(sort, str) else list(sort)
    # A column whose own name begins with a minus is meant as it stands.
    keys = [
        (s, True) if s in frame else (s.removeprefix("-"), not s.startswith("-")) for s in asked
    ]
    known_columns(frame, [name for name, _ in keys], "sort")
    for name, ascending in reversed(keys):
        frame = frame.sort_values(
            name, ascending=ascending, kind="stable", na_position="last", key=_by_size
        )
    return frame


def known_columns(frame: pd.DataFrame, names: Sequence[str], option: str) -> None:
    """Refuse names that are no columns of a table."""
    for name in names:
        if name not in frame:
            raise ValueError(
                f"{option} must name columns of the table ({listed(frame, most=30)}); got "
                f"{name!r}{nearest(name, frame)}"
            )


def with_columns(frame: pd.DataFrame, plain: Sequence[str], columns: Columns) -> pd.DataFrame:
    """Choose the columns that a table shows."""
    if columns == "all":
        return frame
    if isinstance(columns, str):
        raise ValueError(f"columns must be 'all' or a list of names, got {columns!r}")
    more = () if columns is None else columns
    known_columns(frame, more, "columns")
    shown = {*plain, *more}
    return frame[[c for c in frame if c in shown or str(c).endswith(("_lb", "_ub"))]]


def given_as(frame: pd.DataFrame, library: str) -> Any:
    """Hand a table out as one of another library."""
    if library not in LIBRARIES:
        raise ValueError(
            f"as_ must be one of {listed(LIBRARIES)}; got {library!r}{nearest(library, LIBRARIES)}"
        )
    if library == "pandas":
        return frame
    if importlib.util.find_spec(library) is None:
        raise ImportError(
            f"as_={library!r} needs {library}, which is not installed; install it, or leave as_ "
            "out for a pandas table"
        )
    table = nw.from_native(frame.reset_index(drop=True), eager_only=True)
    return table.to_polars() if library == "polars" else table.to_arrow()


def _by_size(column: pd.Series) -> pd.Series:
    """What a column is ordered by: text with its numbers by their size."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = column.dropna().unique()
    places = {text: place for place, text in enumerate(sorted(texts, key=_parts))}
    return column.map(places)


def _parts(text: object) -> list[str | int]:
    """Text and numbers by turns, so that like is compared with like."""
    parts = DIGITS.split(str(text))
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def with_notes(table: pd.DataFrame, note: str) -> pd.DataFrame:
    """Add a note to those that each row of a table has."""
    return table.assign(note=["; ".join(filter(None, [own, note])) for own in table["note"]])
