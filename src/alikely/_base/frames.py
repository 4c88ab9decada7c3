"""Output of tables, and labels of groups given by users."""

from __future__ import annotations

import html
import importlib.util
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import narwhals as nw
import pandas as pd
import xarray as xr

from alikely._base.names import counted, listed, nearest

As = Literal["pandas", "polars", "pyarrow"]
Sort = str | Sequence[str] | None
type Groups = Mapping[Any, Any] | pd.Series | xr.DataArray
# Columns that a table shows in addition to those of every table.
Columns = Sequence[str] | Literal["all"] | None

LIBRARIES = ("pandas", "polars", "pyarrow")
DIGITS = re.compile(r"(\d+)")
# Of a longer table the first rows are shown, and how many more there are.
ROWS, NOTES = 10, 5
# Colors are those of the page, so that light and dark themes both do; names with dollar signs are
# no formulas.
OUTER = '<div class="tex2jax_ignore mathjax_ignore" style="overflow-x: auto">'
LINE = "border-bottom: 1px solid"
# An interval is not to be broken; a text of so many letters is.
WIDE = 40
SHORT, LONG = "white-space: nowrap", "white-space: normal; min-width: 20em"


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
    """Raise an error for names that are not columns of a table."""
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
    """Convert a table to another library."""
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
    """Sort key of a column: numbers in text are ordered by size."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = column.dropna().unique()
    places = {text: place for place, text in enumerate(sorted(texts, key=_parts))}
    return column.map(places)


def _parts(text: object) -> list[str | int]:
    """Alternating text and numbers, for comparison."""
    parts = DIGITS.split(str(text))
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def with_notes(table: pd.DataFrame, note: str) -> pd.DataFrame:
    """Add a note to the notes of each row of a table."""
    return table.assign(note=["; ".join(filter(None, [own, note])) for own in table["note"]])


def html_of(
    title: str,
    cells: pd.DataFrame,
    *,
    numbers: Collection[str] = (),
    n_rows: int | None = None,
    notes: Sequence[str] = (),
    more: str = "",
) -> str:
    """Format a table of text as HTML; all text is escaped."""
    lines = [OUTER, f"<p><b>{html.escape(title)}</b></p>"]
    if notes:
        lines += ["<ul>", *(f"<li>{html.escape(note)}</li>" for note in notes[:NOTES])]
        left = len(notes) - NOTES
        lines += [f"<li>... and {counted(left, 'more note')}</li>"] if left > 0 else []
        lines.append("</ul>")
    heads = [_cell("th", name, name in numbers, LINE, "white-space: normal") for name in cells]
    lines += [
        '<table style="border-collapse: collapse">',
        f"<thead><tr>{''.join(heads)}</tr></thead>",
    ]
    lines.append("<tbody>")
    for row in cells.itertuples(index=False, name=None):
        parts = [
            _cell("td", text, name in numbers, LONG if len(str(text)) > WIDE else SHORT)
            for name, text in zip(cells.columns, row, strict=True)
        ]
        lines.append(f"<tr>{''.join(parts)}</tr>")
    lines += ["</tbody>", "</table>"]
    left = (len(cells) if n_rows is None else n_rows) - len(cells)
    if left > 0:
        rest = f": {html.escape(more)}" if more else ""
        lines.append(f"<p>... and {counted(left, 'more row')}{rest}</p>")
    return "\n".join([*lines, "</div>"])


def _cell(tag: str, text: str, number: bool, *styles: str) -> str:
    side = "right" if number else "left"
    style = "; ".join([f"text-align: {side}", "padding: 0.2em 0.6em", *styles])
    return f'<{tag} style="{style}">{html.escape(str(text))}</{tag}>'


def group_mapping(groups: Groups) -> dict[str, str]:
    """Convert groups to a plain mapping."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(groups, xr.DataArray):
        if groups.ndim != 1 or groups.dims[0] not in groups.coords:
            raise TypeError(f"groups must have one dim with names, got the dims {groups.dims}")
        pairs = zip(groups[groups.dims[0]].values.tolist(), groups.values.tolist(), strict=True)
    elif isinstance(groups, Mapping | pd.Series):
        pairs = groups.items()
    else:
        raise TypeError(
            "groups must be a mapping of names to groups, a Series or a DataArray, got "
            f"{type(groups).__name__}"
        )
    out: dict[str, str] = {}
    for name, group in pairs:
        if str(name) in out:
            raise ValueError(f"groups have {str(name)!r} twice; name each once")
        if pd.isna(group):
            raise ValueError(f"{str(name)!r} has no group; add the group, or leave the name out")
        out[str(name)] = str(group)
    return out


def groups_of(names: list[str], groups: Groups, what: str) -> list[str]:
    """Return the group of each name; raise `ValueError` if a name has no group."""
    given = group_mapping(groups)
    if missing := [name for name in names if name not in given]:
        raise ValueError(
            f"{missing[0]!r} has no {what} (names without: {len(missing)} of {len(names)}); add "
            f"what is missing, or leave out names without {what}"
        )
    return [given[name] for name in names]
