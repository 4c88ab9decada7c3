"""Long tables as a stream: columns of any dataframe or file become codes into labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from alikely._base.names import listed, nearest
from alikely.data.files import PARQUET, File, read_table, unreadable

# How a column of another name is named, in messages.
EXAMPLES = {
    "observer": "observer='subject'", "item": "item='stimulus'", "truth": "truth='label'",
    "response": "response='answer'",
}  # fmt: skip
# A code as a table prints it that holds floats where it should hold whole numbers.
WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0)?")
# Rows that are looked at together.
PIECE = 1 << 20
# Whole numbers from here on are no 64 bits.
MOST_WHOLE = 2.0**63


class Column(NamedTuple):
    """A column as codes of its labels, in order of first appearance; -1 where null."""

    codes: NDArray[np.int64]
    labels: list[str]

    def texts(self) -> NDArray[np.object_]:
        """Label of each row; None where null."""
        return np.array([*self.labels, None], dtype=object)[self.codes]


class Labels:
    """Labels of a column in order of first appearance over all tables."""

    def __init__(self, missing: Collection[str] = (), whole: str = "") -> None:
        self.names: list[str] = []
        self.family = "null"  # "text", "number", "truth value" or "null" (all values missing)
        self.missing = set(missing)
        self.gone: list[int] = []  # numbers of labels that mean that there is no value
        self.whole = whole  # a label such as 1.0, if that means 1
        self._numbers: dict[str, int] = {}
        self._last: tuple[pa.Array, NDArray[np.int32]] | None = None

    def numbers(self, codes: NDArray[np.int32], values: pa.Array) -> NDArray[np.int32]:
        """Numbers of the labels of a chunk, given codes of values; -1 where null."""
        # Files of one layout have the same labels in the same order.
        if self._last is None or not self._last[0].equals(values):
            known = [self._numbers.get(name, -1) for name in self._meant(values)]
            self._last = values, np.array(known, dtype=np.int32)
        number = self._last[1]
        used = np.bincount(codes + 1, minlength=len(number) + 1)[1:] > 0
        new = np.flatnonzero(used & (number < 0))
        if len(new):
            # The last one that is written stays: going backwards, the first row of each label.
            first = np.empty(len(number) + 1, dtype=np.int64)
            first[codes[::-1]] = np.arange(len(codes))[::-1]
            new = new[np.argsort(first[new])]
            for code, name in zip(new.tolist(), self._meant(values.take(new)), strict=True):
                number[code] = self._numbers.setdefault(name, len(self.names))
                if number[code] == len(self.names):
                    self.names.append(name)
                    if name in self.missing:
                        self.gone.append(int(number[code]))
        return np.append(number, np.int32(-1))[codes]

    def _meant(self, values: pa.Array) -> list[str]:
        names = values.to_pylist()
        return [name.removesuffix(".0") for name in names] if self.whole else names

    def floats(self) -> list[str]:
        """Labels such as ``1.0``, if all are whole numbers and some are printed as floats."""
        names = [] if self.family != "text" else [n for n in self.names if n not in self.missing]
        found = [name for name in names if name.endswith(".0")]
        return found if found and all(map(WHOLE.fullmatch, names)) else []


class Source:
    """Columns of one or several long tables, read as one, with the source of each row."""

    def __init__(
        self,
        frames: Sequence[nw.DataFrame[Any] | ParquetTable],
        names: Sequence[str] | None = None,
        missing: Collection[str] = (),
    ) -> None:
        self._frames, self._names, self._missing = frames, names, missing
        self._starts = np.cumsum([0, *(len(frame) for frame in frames)])
        self.labels: dict[str, Labels] = {}
        self.notes: list[str] = []

    @property
    def of_files(self) -> bool:
        """Whether these are files, in which texts may mean missing."""
        return self._names is not None

    @property
    def n_rows(self) -> int:
        """Number of rows of all tables."""
        return int(self._starts[-1])

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the first table, for a message."""
        return [str(name) for name in self._frames[0].columns]

    def has(self, name: str) -> bool:
        """Whether every table has the column; raises an error if only some do."""
        present = [name in frame.columns for frame in self._frames]
        if any(present) and not all(present):
            has, lacks = self._name(present.index(True)), present.index(False)
            raise ValueError(
                f"column {name!r} is in {has} but not in {self._name(lacks)}, whose columns are "
                f"{listed(self._frames[lacks].columns)}; read tables of different layouts "
                "separately"
            )
        return all(present)

    def require(self, name: str) -> None:
        """Raise `ValueError` for tables without a column."""
        if self.has(name):
            return
        other = ""
        if self.of_files and name == "observer":
            other = (
                ", or give pattern= if it is in the names of files, wide=True if each observer "
                "has a column"
            )
        raise ValueError(
            f"no column {name!r}; the columns are {listed(self.columns)}; name it by keyword, "
            f"such as {EXAMPLES.get(name, EXAMPLES['observer'])}{other}"
            f"{nearest(name, self.columns)}"
        )

    def where(self, row: int) -> str:
        """Name a row for a message."""
        table = int(np.searchsorted(self._starts, row, side="right")) - 1
        number = int(row - self._starts[table])
        native = getattr(self._frames[table], "to_native", lambda: None)()
        if self.of_files and isinstance(native, pd.DataFrame):
            number = native.index[number]  # of the file, if rows were left out
        several = len(self._frames) > 1 or self.of_files
        return f"row {number} of {self._name(table)}" if several else f"row {number}"

    def _name(self, table: int) -> str:
        return f"table {table}" if self._names is None else repr(self._names[table])

    def restart(self, names: Sequence[str], keep: Mapping[str, Collection[str]]) -> None:
        """Restart the numbering of labels; columns of whole numbers stay such.

        Texts in `keep` are values of their column even if they mean missing.
        """
        self.notes = []
        missing = self._missing if self.of_files else ()
        whole = {name: labels.whole for name, labels in self.labels.items()}
        self.labels = {
            name: Labels(set(missing).difference(keep.get(name, ())), whole.get(name, ""))
            for name in names
        }

    def found_floats(self, complete: bool) -> bool:
        """Whether codes in files were printed as floats; they are then whole numbers.

        If not `complete`, further labels of the column are read.
        """
        odd = [name for name, labels in self.labels.items() if self.of_files and labels.floats()]
        if odd and not complete:
            for _ in self.pieces(odd):
                pass
        found = {name: floats[0] for name in odd if (floats := self.labels[name].floats())}
        for name, first in found.items():
            self.labels[name].whole = first
        return bool(found)

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[int, dict[str, NDArray[np.int32]]]]:
        """First row of each chunk, and numbers of the labels of some columns; -1 where null."""
        for table, frame in enumerate(self._frames):
            start = int(self._starts[table])
            for arrays in self._cut(table, frame, names):
                yield start, {name: self._numbered(table, name, arrays[name]) for name in names}
                start += len(arrays[names[0]])

    def _cut(
        self, table: int, frame: nw.DataFrame[Any] | ParquetTable, names: Sequence[str]
    ) -> Iterator[Mapping[str, pa.Array]]:
        """Columns of one table, at most `PIECE` rows at a time."""
        if isinstance(frame, ParquetTable):
            yield from frame.pieces(names)
            return
        whole = {name: self._array(table, frame, name) for name in names}
        for start in range(0, len(frame), PIECE):
            yield {name: array.slice(start, PIECE) for name, array in whole.items()}

    def _array(self, table: int, frame: nw.DataFrame[Any], name: str) -> pa.Array:
        """One column of a dataframe in one array, categories as labels."""
        try:
            column = frame[name].to_arrow()
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            place = f" of table {table}" if len(self._frames) > 1 else ""
            raise ValueError(
                f"column {name!r}{place} mixes text and numbers; make it one type, for instance "
                f"table[{name!r}].astype(str)"
            ) from None
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def _numbered(self, table: int, name: str, array: pa.Array) -> NDArray[np.int32]:
        codes, values, family = _encoded(array, name)
        labels = self.labels.setdefault(name, Labels())
        if family != "null":
            if labels.family not in ("null", family):
                raise ValueError(
                    f"column {name!r} contains {labels.family}s in one table and {family}s in "
                    f"{self._name(table)}; give both the same type, for instance as text"
                )
            labels.family = family
        return labels.numbers(codes, values)

    def refuse_gaps(self, name: str, start: int, codes: NDArray[np.integer[Any]]) -> None:
        """Raise `ValueError` for rows of a chunk without a value."""
        labels = self.labels[name]
        if codes.min(initial=0) >= 0 and not labels.gone:
            return
        bad = (codes < 0) | np.isin(codes, labels.gone)
        if not bad.any():
            return
        row = int(np.argmax(bad))
        if codes[row] < 0:
            raise ValueError(
                f"column {name!r} has no value in {self.where(start + row)}; fill it in or drop "
                "the row"
            )
        raise ValueError(
            f"column {name!r} has {labels.names[codes[row]]!r} in {self.where(start + row)}, which "
            "means missing; fill it in or drop the row, or if it is a label, list it in "
            "classes=[...] or give na_values=[]"
        )

    def read(self, name: str, complete: bool = True) -> Column:
        """Read one column of all tables."""
        self.require(name)
        codes = np.concatenate([piece[name] for _, piece in self.pieces([name])]).astype(np.int64)
        if complete:
            self.refuse_gaps(name, 0, codes)
        return Column(codes, self.labels[name].names)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Read one column of numbers or of text with numbers; NaN where null."""
        self.require(name)
        parts: list[NDArray[np.float64]] = []
        for table, frame in enumerate(self._frames):
            array = self._array(table, frame, name)  # type: ignore[arg-type]  # never of parquet
            kind = array.type
            if pa.types.is_string(kind) or pa.types.is_large_string(kind):
                array = pc.utf8_trim_whitespace(array)
                try:
                    array.cast(pa.float64())
                except pa.ArrowInvalid:
                    texts = array.to_pandas()
                    known = texts.isna() | pd.to_numeric(texts, errors="coerce").notna()
                    bad = int(np.argmin(known | (texts.str.lower() == "nan")))
                    raise ValueError(
                        f"column {name!r} must hold numbers, got {texts[bad]!r} in "
                        f"{self.where(int(self._starts[table]) + bad)}; write numbers with a "
                        "decimal point and leave missing ones empty"
                    ) from None
            elif not (_is_number(kind) or pa.types.is_null(kind)):
                raise ValueError(f"column {name!r} has type {kind}; expected numbers")
            parts.append(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        return np.concatenate(parts)


class ParquetTable:
    """A parquet file whose columns are read only when needed."""

    def __init__(
        self, file: File, footer: pq.FileMetaData, constants: Mapping[str, str] | None = None
    ) -> None:
        self._file, self._footer = file, footer
        self._types = {field.name: field.type for field in footer.schema.to_arrow_schema()}
        self._constants = dict(constants or {})
        self.columns = [*self._types, *self._constants]

    def __len__(self) -> int:
        return int(self._footer.num_rows)

    def with_constants(self, constants: Mapping[str, str]) -> ParquetTable:
        """The same with further constant columns of text."""
        return ParquetTable(self._file, self._footer, constants)

    def pieces(self, names: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Some columns, at most `PIECE` rows at a time, texts as dictionaries."""
        own = [name for name in names if name in self._types]
        texts = [name for name in own if _is_text(self._types[name])]
        with self._opened(read_dictionary=texts) as opened:
            for batch in opened.iter_batches(PIECE, columns=own):
                none = np.zeros(len(batch), dtype=np.int32)
                yield {
                    name: batch.column(name)
                    if name in self._types
                    else pa.DictionaryArray.from_arrays(none, [self._constants[name]])
                    for name in names
                }

    @contextmanager
    def _opened(self, **options: Any) -> Iterator[pq.ParquetFile]:
        # Thousands of files must not be open at a time.
        try:
            with pq.ParquetFile(self._file.path, metadata=self._footer, **options) as opened:
                yield opened
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
            raise ValueError(unreadable(self._file, error)) from None


def open_table(
    file: File, notes: list[str], sep: str | None = None, encoding: str | None = None
) -> Any:
    """Convert a file to a table as `read_table`, without loading columns of parquet."""
    if file.suffix not in PARQUET or file.packed or not file.n_bytes():
        return read_table(file, notes, sep, encoding)
    try:
        footer = pq.read_metadata(file.path)
        names = footer.schema.to_arrow_schema().names
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError):
        names = []
    # What is no parquet file is refused there, and names that stand twice by who opens the table.
    if not names or len(set(names)) < len(names):
        return read_table(file, notes, sep, encoding)
    return ParquetTable(file, footer)


def label(value: object) -> str:
    """Text of a label, the same for text, whole number and float."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def item_column(name: str, there: Collection[str]) -> str:
    """Column of items: without a column ``item``, the column ``image``."""
    return "image" if name == "item" and "item" not in there and "image" in there else name


def open_tables(
    tables: Iterable[Any],
    instead: str = "for arrays there is Trials.from_arrays",
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
) -> Source:
    """Open pandas, polars or pyarrow tables, or others that narwhals reads."""
    frames = [t if isinstance(t, ParquetTable) else frame_of(t, instead) for t in tables]
    source = Source(frames, names, missing)
    if not frames:
        raise ValueError("no table was given")
    if not source.n_rows:
        what = "the table" if names is None else listed(map(repr, names), most=3)
        raise ValueError(f"{what} is empty: it has no rows; expected one for each response")
    return source


def frame_of(table: Any, instead: str = "") -> nw.DataFrame[Any]:
    """Check a pandas, polars or pyarrow table: column names must be unique texts."""
    names = table.columns if isinstance(table, pd.DataFrame) else getattr(table, "column_names", ())
    names = [name if isinstance(name, str) else str(name) for name in names]
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise ValueError(
            f"column {twice[0]!r} occurs twice in the table; give each a different name"
        )
    if isinstance(table, pd.DataFrame) and names != table.columns.tolist():
        table = table.set_axis(names, axis=1)
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        what = f"expected a pandas, polars or pyarrow table, got {type(table).__name__}"
        raise TypeError(f"{what}; {instead}" if instead else what) from None


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _encoded(array: pa.Array, name: str) -> tuple[NDArray[np.int32], pa.Array, str]:
    """A chunk of a column as codes of texts (not all need occur), and their type."""
    if not pa.types.is_dictionary(array.type):
        try:
            array = pc.dictionary_encode(array)
        except pa.ArrowNotImplementedError:
            array = pc.dictionary_encode(_as_text(array, name)[0])
    texts, family = _as_text(array.dictionary, name)
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    if texts.null_count:
        gone = np.append(texts.is_null().to_numpy(zero_copy_only=False), False)
        codes = np.where(gone[codes], -1, codes)
    return codes.astype(np.int32, copy=False), texts, family


def _as_text(column: pa.Array, name: str) -> tuple[pa.Array, str]:
    """Values as text, and their type."""
    kind, text = column.type, pa.large_string()
    try:
        if pa.types.is_null(kind):
            return column.cast(text), "null"
        if pa.types.is_floating(kind):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
            if column.null_count == len(column):
                return column.cast(text), "null"
            # What pandas makes of whole numbers with a missing value among them.
            known = column.fill_null(0)
            whole = pc.and_(pc.equal(known, pc.floor(known)), pc.less(pc.abs(known), MOST_WHOLE))
            as_whole = pc.if_else(whole, known, 0).cast(pa.int64()).cast(text)
            return pc.if_else(whole, as_whole, column.cast(text)), "number"
        family = "text"
        if _is_number(kind):
            family = "number"
        elif pa.types.is_boolean(kind):
            family = "truth value"
        return column.cast(text), family
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(
            f"column {name!r} has type {str(kind)[:60]}; expected text, whole numbers or categories"
        ) from None
