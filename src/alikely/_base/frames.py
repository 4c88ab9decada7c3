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
# Columns that a table shows besides those of every table.
Columns = Sequence[str] | Literal["all"] | None

LIBRARIES = ("pandas", "polars", "pyarrow")
DIGITS = re.compile(r"(\d+)")


def ordered(frame: pd.DataFrame, sort: Sort) -> pd.DataFrame:
    """Put the rows of a table in order.

    Parameters
    ----------
    frame : pandas.DataFrame
    sort : str, sequence of str or None
        Columns, the most important first; ``"-estimate"`` puts the largest first.

    Returns
    -------
    pandas.DataFrame
        Missing values last, ties as they stood, numbers in names by their size (model_2 before
        model_10).

    Raises
    ------
    ValueError
        If there is no such column.

    Examples
    --------
    >>> table = pd.DataFrame({"name": ["m10", "m2", "m1"], "value": [0.1, float("nan"), 0.3]})
    >>> ordered(table, "name")["name"].tolist(), ordered(table, "-value")["name"].tolist()
    (['m1', 'm2', 'm10'], ['m1', 'm10', 'm2'])
    """
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
    """Refuse names that are no columns of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
    names : sequence of str
    option : str
        What they were given as.

    Raises
    ------
    ValueError
        If one is none.
    """
    for name in names:
        if name not in frame:
            raise ValueError(
                f"{option} must name columns of the table ({listed(frame, most=30)}); got "
                f"{name!r}{nearest(name, frame)}"
            )


def with_columns(frame: pd.DataFrame, plain: Sequence[str], columns: Columns) -> pd.DataFrame:
    """Choose the columns that a table shows.

    Parameters
    ----------
    frame : pandas.DataFrame
        With all columns.
    plain : sequence of str
        Columns that are always shown, as are bounds of intervals.
    columns : None, "all" or sequence of str
        Further columns.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If there is no such column.

    Examples
    --------
    >>> table = pd.DataFrame({"estimate": [0.5], "df": [3], "ci95_lb": [0.4], "ci95_ub": [0.6]})
    >>> with_columns(table, ["estimate"], None).columns.tolist()
    ['estimate', 'ci95_lb', 'ci95_ub']
    """
    if columns == "all":
        return frame
    if isinstance(columns, str):
        raise ValueError(f"columns must be 'all' or a list of names, got {columns!r}")
    more = () if columns is None else columns
    known_columns(frame, more, "columns")
    shown = {*plain, *more}
    return frame[[c for c in frame if c in shown or str(c).endswith(("_lb", "_ub"))]]


def given_as(frame: pd.DataFrame, library: str) -> Any:
    """Hand a table out as one of another library.

    Parameters
    ----------
    frame : pandas.DataFrame
    library : {"pandas", "polars", "pyarrow"}

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The same columns; only pandas has an index.

    Raises
    ------
    ValueError
        If the library is none of these.
    ImportError
        If it is not installed.

    Examples
    --------
    >>> given_as(pd.DataFrame({"estimate": [0.5]}), "pyarrow").column_names
    ['estimate']
    """
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
    """Add a note to those that each row of a table has.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column ``note``.
    note : str
        Empty for none.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> with_notes(pd.DataFrame({"note": ["", "few errors"]}), "wide")["note"].tolist()
    ['wide', 'few errors; wide']
    """
    return table.assign(note=["; ".join(filter(None, [own, note])) for own in table["note"]])
