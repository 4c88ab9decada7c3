"""Reading long tables: columns of any dataframe become codes and labels, or one clear error."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from alikely._base.names import listed, nearest
from alikely.data.parquet import PIECE, ParquetTable

__all__ = [
    "Column", "Encoded", "OddError", "Source", "floats_meant", "frame_of", "label", "note_missing",
    "open_tables",
]  # fmt: skip


# How a column of another name is named, in messages.
EXAMPLES = {
    "observer": "observer='subject'", "item": "item='stimulus'", "truth": "truth='label'",
    "response": "response='answer'",
}  # fmt: skip
# A code as a table prints it that holds floats where it should hold whole numbers.
WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0)?")


class Column(NamedTuple):
    """A column as codes into its labels, in order of first appearance; -1 where null."""

    codes: NDArray[np.int64]
    labels: list[str]
    family: str  # "text", "number", "truth value" or "null" (all values missing)


class Encoded(NamedTuple):
    """A piece of a column as codes into its values; -1 where null."""

    codes: NDArray[np.int32]
    values: pa.Array  # of text; not all need occur
    family: str


class OddError(Exception):
    """What whole columns tell better than pieces do: of these tables, or of all."""

    def __init__(self, *tables: int) -> None:
        super().__init__()
        self.tables = sorted(set(tables))


class Source:
    """Columns of one or several long tables, read as one, and where each row came from."""

    def __init__(
        self,
        frames: Sequence[nw.DataFrame[Any] | ParquetTable],
        names: Sequence[str] | None = None,
        missing: Collection[str] = (),
        numbers: Sequence[int] | None = None,
    ) -> None:
        self._frames = frames
        self._starts = np.cumsum([0, *(len(frame) for frame in frames)])
        self._names = names
        self._numbers = range(len(frames)) if numbers is None else numbers
        self._told = len(frames) > 1 or numbers is not None
        self.missing = missing
        self.notes: dict[str, str] = {}

    @property
    def of_files(self) -> bool:
        """Whether these are files, where texts may mean that there is no value."""
        return self._names is not None

    def part(self, tables: Sequence[int]) -> Source:
        """Some of the tables, which keep their names."""
        if len(self._frames) == 1:
            return Source(self._frames, self._names, self.missing)
        names = None if self._names is None else [self._names[k] for k in tables]
        return Source([self._frames[k] for k in tables], names, self.missing, tables)

    @property
    def n_rows(self) -> int:
        """Number of rows of all tables."""
        return int(self._starts[-1])

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the first table, for a message."""
        return [str(name) for name in self._frames[0].columns]

    def has(self, name: str) -> bool:
        """Whether every table has the column; an error if only some do."""
        present = [name in frame.columns for frame in self._frames]
        if any(present) and not all(present):
            lacks, has = present.index(False), present.index(True)
            if self._names is None:
                raise ValueError(
                    f"column {name!r} is missing in table {lacks} (counting from 0); all tables "
                    "must have it"
                )
            raise ValueError(
                f"column {name!r} is in {self._names[has]!r} but not in {self._names[lacks]!r}, "
                f"whose columns are {listed(self._frames[lacks].columns)}; files of two layouts "
                "must be read apart"
            )
        return all(present)

    def where(self, row: int) -> str:
        """Name a row for a message."""
        table = int(np.searchsorted(self._starts, row, side="right")) - 1
        local = f"row {row - self._starts[table]}"
        return f"{local} of {self._name(table)}" if self._told else local

    def _name(self, table: int) -> str:
        if self._names is None:
            return f"table {self._numbers[table]}"
        return repr(self._names[table])

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[int, int, dict[str, Encoded]]]:
        """Some columns, piece by piece: number of the table, its first row, and the columns."""
        for table, frame in enumerate(self._frames):
            start = int(self._starts[table])
            for arrays in self._cut(table, frame, names):
                yield table, start, {name: _encoded(arrays[name], name) for name in names}
                start += len(arrays[names[0]])

    def _cut(
        self, table: int, frame: nw.DataFrame[Any] | ParquetTable, names: Sequence[str]
    ) -> Iterator[Mapping[str, pa.Array]]:
        """Columns of one table, at most `PIECE` rows at a time."""
        if isinstance(frame, ParquetTable):
            yield from frame.pieces(names)
            return
        if not all(name in frame.columns for name in names):
            raise OddError(table)
        whole = {name: _as_array(frame, name, self._place(table)) for name in names}
        for start in range(0, len(frame), PIECE):
            yield {name: array.slice(start, PIECE) for name, array in whole.items()}

    def _place(self, table: int) -> str:
        return f" of table {self._numbers[table]}" if self._told else ""

    def read(self, name: str, complete: bool = True, keep: Collection[str] = ()) -> Column:
        """Read one column of all tables; what is in `keep` is a value, also if it means missing."""
        chunks, families = [], []
        for array in self._arrays(name):
            chunk, family = _as_text(array, name)
            chunks.append(chunk)
            families.append(family)
        known = [family for family in families if family != "null"]
        clash = next(
            (i for i, family in enumerate(families) if family not in ("null", *known[:1])), None
        )
        if clash is not None:
            raise ValueError(
                f"column {name!r} holds {known[0]}s in one table and {families[clash]}s in "
                f"{self._name(clash)}; give both the same type, for instance as text"
            )
        column = pa.chunked_array(chunks, type=pa.large_string()).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], pa.large_string())
        encoded = pc.dictionary_encode(column)
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        column = Column(codes, encoded.dictionary.to_pylist(), known[0] if known else "null")
        if self._names is not None:
            column = self._as_meant(name, column, complete, keep)
        if complete and (column.codes < 0).any():
            row = int(np.argmax(column.codes < 0))
            raise ValueError(
                f"column {name!r} has no value in {self.where(row)}; fill it in or drop the row"
            )
        return column

    def _as_meant(
        self, name: str, printed: Column, complete: bool, keep: Collection[str]
    ) -> Column:
        """Codes of a file without what means missing, whole numbers as such."""
        codes, labels, family = printed
        gone = np.array([text in self.missing and text not in keep for text in labels], dtype=bool)
        lost = np.append(gone, False)[codes]
        if complete and lost.any():
            row = int(np.argmax(lost))
            raise ValueError(
                f"column {name!r} has {labels[codes[row]]!r} in {self.where(row)}, which means "
                "missing; fill it in or drop the row, or if it is a label, list it in "
                "classes=[...] or give na_values=[]"
            )
        meant = list(labels)
        floats = floats_meant([t for t, drop in zip(labels, gone, strict=True) if not drop])
        if family == "text" and floats:
            meant = [text.removesuffix(".0") for text in labels]
            self.notes[f"float {name}"] = (
                f"codes of column {name!r} such as {floats[0]} were read as "
                f"{floats[0].removesuffix('.0')}"
            )
        number = {text: i for i, text in enumerate(dict.fromkeys(np.array(meant, object)[~gone]))}
        new = np.array(
            [-1 if drop else number[t] for t, drop in zip(meant, gone, strict=True)] + [-1]
        )
        if not complete and (lost.any() or (codes < 0).any()):
            counts = {labels[code]: int((codes == code).sum()) for code in np.flatnonzero(gone)}
            note_missing(self, name, counts, int((codes < 0).sum()), len(codes))
        return Column(new[codes], list(number), family if number else "null")

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Read one column of numbers, or of text that spells them; NaN where null."""
        parts: list[NDArray[np.float64]] = []
        for start, array in zip(self._starts, self._arrays(name), strict=False):
            kind = array.type
            if pa.types.is_string(kind) or pa.types.is_large_string(kind):
                array = pc.utf8_trim_whitespace(array)
                if not _spells_numbers(array):
                    bad = _first_word(array)
                    raise ValueError(
                        f"column {name!r} must hold numbers, got {array[bad].as_py()!r} in "
                        f"{self.where(int(start) + bad)}; write numbers with a decimal point and "
                        "leave missing ones empty"
                    )
            elif not (_is_number(kind) or pa.types.is_null(kind)):
                raise ValueError(f"column {name!r} has type {kind}; expected numbers")
            numbers = array.cast(pa.float64(), safe=False)
            parts.append(numbers.to_numpy(zero_copy_only=False))
        return np.concatenate(parts)

    def _arrays(self, name: str) -> Iterator[pa.Array]:
        """One column, table by table."""
        for number, frame in enumerate(self._frames):
            if name not in frame.columns:
                other = (
                    ""
                    if self._names is None or name != "observer"
                    else (
                        ", or give pattern= if it stands in the names of files, wide=True if each "
                        "observer has a column"
                    )
                )
                raise ValueError(
                    f"no column {name!r}; the columns are {listed(frame.columns)}; "
                    f"name yours by keyword, such as {EXAMPLES.get(name, EXAMPLES['observer'])}"
                    f"{other}"
                    f"{nearest(name, frame.columns)}"
                )
            yield _as_array(frame, name, self._place(number))


def floats_meant(labels: Sequence[str]) -> list[str]:
    """Labels such as ``1.0``, if all are whole numbers and some are printed so."""
    floats = [text for text in labels if text.endswith(".0")]
    return floats if all(WHOLE.fullmatch(text) for text in labels if floats) else []


def note_missing(
    source: Source, name: str, counts: Mapping[str, int], n_empty: int, n_values: int
) -> None:
    """Note how many values of a column of files are missing, by what stands there."""
    told = {text: n for text, n in {**counts, "empty": n_empty}.items() if n}
    source.notes[f"missing {name}"] = (
        f"{sum(told.values())} of {n_values} values of column {name!r} are missing "
        f"({', '.join(f'{n} {text}' for text, n in told.items())}): shown, not answered"
    )


def label(value: object) -> str:
    """Text of a label, the same whether it came as text, whole number or float."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def open_tables(
    tables: Iterable[Any],
    instead: str = "for arrays there is Trials.from_arrays",
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
) -> Source:
    """Accept pandas, polars or pyarrow tables, or whatever else narwhals reads."""
    frames = [t if isinstance(t, ParquetTable) else frame_of(t, instead) for t in tables]
    source = Source(frames, names, missing)
    if not frames:
        raise ValueError("no table was given")
    if not source.n_rows:
        what = "the table" if names is None else listed(map(repr, names), most=3)
        raise ValueError(f"{what} is empty: it has no rows; expected one for each answer")
    return source


def frame_of(table: Any, instead: str = "") -> nw.DataFrame[Any]:
    """A pandas, polars or pyarrow table whose columns have different names, which are text."""
    names = table.columns if isinstance(table, pd.DataFrame) else getattr(table, "column_names", ())
    names = [name if isinstance(name, str) else str(name) for name in names]
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise ValueError(
            f"column {twice[0]!r} stands twice in the table; give each a name of its own"
        )
    if isinstance(table, pd.DataFrame) and names != table.columns.tolist():
        table = table.set_axis(names, axis=1)
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        what = f"expected a pandas, polars or pyarrow table, got {type(table).__name__}"
        raise TypeError(f"{what}; {instead}" if instead else what) from None


def _spells_numbers(text: pa.Array) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _first_word(text: pa.Array) -> int:
    """Position of the first that spells no number: it spoils every beginning that holds it."""
    return bisect_left(
        range(len(text)), True, key=lambda last: not _spells_numbers(text[: last + 1])
    )


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)


def _as_array(frame: nw.DataFrame[Any] | ParquetTable, name: str, place: str) -> pa.Array:
    """One column in one piece, categories spelled out."""
    try:
        column = frame.column(name) if isinstance(frame, ParquetTable) else frame[name].to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueError(
            f"column {name!r}{place} mixes text and numbers; make it one type, for instance "
            f"table[{name!r}].astype(str)"
        ) from None
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = (
                pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
            )
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _encoded(array: pa.Array, name: str) -> Encoded:
    """A piece of a column as codes into texts."""
    if pa.types.is_null(array.type):
        none = np.full(len(array), -1, dtype=np.int32)
        return Encoded(none, pa.array([], pa.large_string()), "null")
    if not pa.types.is_dictionary(array.type):
        try:
            array = pc.dictionary_encode(array)
        except pa.ArrowNotImplementedError:
            raise OddError from None
    values = array.dictionary
    if pa.types.is_floating(values.type) and not _are_whole(values):
        # Whether 1.0 is 1 is decided by the whole column.
        raise OddError
    texts, family = _as_text(values, name)
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    if texts.null_count:
        gone = np.append(texts.is_null().to_numpy(zero_copy_only=False), False)
        codes = np.where(gone[codes], -1, codes)
    return Encoded(codes.astype(np.int32, copy=False), texts, family)


def _are_whole(column: pa.Array) -> bool:
    """Whether all numbers that are no NaN are whole and finite."""
    numbers = column.to_numpy(zero_copy_only=False)
    numbers = numbers[~np.isnan(numbers)]
    return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())


def _as_text(column: pa.Array, name: str) -> tuple[pa.Array, str]:
    """One column as text, and what family of types it was."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.large_string()), "null"
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        if column.null_count == len(column):
            return column.cast(pa.large_string()), "null"
        # What pandas makes of whole numbers with a missing value among them.
        if pc.all(pc.equal(column, pc.floor(column))).as_py():
            finite = pc.all(pc.is_finite(column)).as_py()
            column = column.cast(pa.int64()) if finite else column
        return column.cast(pa.large_string()), "number"
    if _is_number(kind):
        return column.cast(pa.large_string()), "number"
    if pa.types.is_boolean(kind):
        return column.cast(pa.large_string()), "truth value"
    try:
        return column.cast(pa.large_string()), "text"
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(
            f"column {name!r} has type {str(kind)[:60]}; expected text, whole numbers or categories"
        ) from None
