"""Long tables read as one: columns of any data frames or files become codes and labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
# Rows that are encoded together.
PIECE = 1 << 20
# Whole numbers from here on are no 64 bits.
MOST_WHOLE = 2.0**63


class Column(NamedTuple):
    """A column as codes of its labels, in order of first appearance; null values are -1."""

    codes: NDArray[np.signedinteger[Any]]
    labels: list[str]

    def texts(self, rows: Any = slice(None)) -> NDArray[np.object_]:
        """Return the labels of all or some rows, with None for null."""
        return np.array([*self.labels, None], dtype=object)[self.codes[rows]]


class Source:
    """Columns of one or several long tables, read as one, with the source of each row."""

    def __init__(
        self,
        frames: Sequence[nw.DataFrame[Any] | ParquetTable | View],
        names: Sequence[str] | None = None,
        missing: Collection[str] = (),
    ) -> None:
        self._frames, self._names, self._missing = frames, names, missing
        self._starts = np.cumsum([0, *(len(frame) for frame in frames)])
        # Of each column that was read: "text", "number", "truth value" or "null" (no value at all).
        self.family: dict[str, str] = {}
        # What means missing in it and how often, and a label such as 1.0 that was read as 1.
        self.lost: dict[str, dict[str, int]] = {}
        self.whole: dict[str, str] = {}
        # Columns that are in none of the tables.
        self.added: dict[str, Column] = {}

    @property
    def of_files(self) -> bool:
        """Whether the tables are files, in which some texts may denote missing values."""
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
        present = [name in frame.columns or name in self.added for frame in self._frames]
        if any(present) and not all(present):
            has, lacks = self._name(present.index(True)), present.index(False)
            raise ValueError(
                f"column {name!r} is in {has} but not in {self._name(lacks)}, whose columns are "
                f"{listed(self._frames[lacks].columns)}; read tables of different layouts "
                "separately"
            )
        return all(present)

    def require(self, name: str) -> None:
        """Raise `ValueError` if a table lacks the column."""
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
        """Describe the location of a row for a message."""
        table = int(np.searchsorted(self._starts, row, side="right")) - 1
        number = int(row - self._starts[table])
        frame = self._frames[table]
        frame = frame.frame if isinstance(frame, View) else frame
        native = getattr(frame, "to_native", lambda: None)()
        if self.of_files and isinstance(native, pd.DataFrame):
            number = native.index[number]  # of the file, if rows were left out
        several = len(self._frames) > 1 or self.of_files
        return f"row {number} of {self._name(table)}" if several else f"row {number}"

    def _name(self, table: int) -> str:
        return f"table {table}" if self._names is None else repr(self._names[table])

    def read(self, name: str, complete: bool = True, keep: Collection[str] = ()) -> Column:
        """Read one column of all tables; texts in `keep` are labels, not missing values."""
        self.require(name)
        if name in self.added:
            self.family[name] = "text"
            return self.added[name]
        known: dict[str, int] = {}
        parts = []
        family = "null"
        for table, array in self._arrays(name):
            own, texts, kind = _encoded(array, name)
            if "null" not in (kind, family) and kind != family:
                raise ValueError(
                    f"column {name!r} contains {family}s in one table and {kind}s in "
                    f"{self._name(table)}; give both the same type, for instance as text"
                )
            family = family if kind == "null" else kind
            own, used = pd.factorize(own)
            number = [
                -1 if text is None else known.setdefault(text, len(known))
                for text in texts.take(pa.array(used, mask=used < 0)).to_pylist()
            ]
            parts.append(np.array(number, np.min_scalar_type(-len(known) - 1))[own])
        codes, self.family[name] = np.concatenate(parts), family
        missing = set(self._missing).difference(keep) if self.of_files else set()
        gone = [text for text in known if text in missing]
        there = [text for text in known if text not in missing]
        floats = [text for text in there if text.endswith(".0")]
        whole = self.of_files and family == "text" and all(map(WHOLE.fullmatch, there))
        self.whole[name] = floats[0] if floats and whole else ""
        if complete and (codes.min(initial=0) < 0 or gone):
            self._refuse_gap(name, codes, [*known], [known[text] for text in gone])
        self.lost[name] = {t: int(np.count_nonzero(codes == known[t])) for t in gone}
        self.lost[name]["empty"] = int(np.count_nonzero(codes < 0))
        if not gone and not self.whole[name]:
            return Column(codes, there)
        final: dict[str, int] = {}
        for text in there:
            final.setdefault(text.removesuffix(".0") if self.whole[name] else text, len(final))
        number = [
            final.get(text.removesuffix(".0") if self.whole[name] else text, -1) for text in known
        ]
        return Column(np.array([*number, -1], codes.dtype)[codes], [*final])

    def _refuse_gap(
        self, name: str, codes: NDArray[Any], labels: Sequence[str], gone: Sequence[int]
    ) -> None:
        """Raise `ValueError` for the first row without a value."""
        row = int(np.argmax((codes < 0) | np.isin(codes, gone)))
        if codes[row] < 0:
            raise ValueError(
                f"column {name!r} has no value in {self.where(row)}; fill it in or drop the row"
            )
        raise ValueError(
            f"column {name!r} has {labels[codes[row]]!r} in {self.where(row)}, which means "
            "missing; fill it in or drop the row, or if it is a label, list it in classes=[...] or "
            "give na_values=[]"
        )

    def _arrays(self, name: str) -> Iterator[tuple[int, pa.Array]]:
        """Table and values of at most `PIECE` rows of a column at a time."""
        for table, frame in enumerate(self._frames):
            try:
                column = frame[name]
                array = column if isinstance(column, pa.ChunkedArray) else column.to_arrow()
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                place = f" of table {table}" if len(self._frames) > 1 else ""
                raise ValueError(
                    f"column {name!r}{place} mixes text and numbers; make it one type, for "
                    f"instance table[{name!r}].astype(str)"
                ) from None
            for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
                for start in range(0, len(chunk), PIECE):
                    yield table, chunk.slice(start, PIECE)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Read one column of numbers or of text with numbers; NaN where null."""
        self.require(name)
        parts: list[NDArray[np.float64]] = []
        for _, array in self._arrays(name):
            kind = array.type
            if pa.types.is_dictionary(kind):
                array = array.dictionary_decode()
            if _is_text(array.type):
                array = pc.utf8_trim_whitespace(array)
                try:
                    array.cast(pa.float64())
                except pa.ArrowInvalid:
                    texts = array.to_pandas()
                    known = texts.isna() | pd.to_numeric(texts, errors="coerce").notna()
                    bad = int(np.argmin(known | (texts.str.lower() == "nan")))
                    row = sum(map(len, parts)) + bad
                    raise ValueError(
                        f"column {name!r} must contain numbers, got {texts[bad]!r} in "
                        f"{self.where(row)}; write numbers with a decimal point and leave "
                        "missing ones empty"
                    ) from None
            elif not (_is_number(array.type) or pa.types.is_null(array.type)):
                raise ValueError(f"column {name!r} has type {kind}; expected numbers")
            parts.append(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        return np.concatenate(parts)


class ParquetTable:
    """A parquet file whose columns are read only when needed."""

    def __init__(self, file: File, footer: pq.FileMetaData) -> None:
        self._file, self._footer = file, footer
        self._types = {field.name: field.type for field in footer.schema.to_arrow_schema()}
        self.columns = [*self._types]

    def __len__(self) -> int:
        return int(self._footer.num_rows)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        texts = [name] if _is_text(self._types[name]) else []
        # Thousands of files must not be open at a time.
        try:
            with pq.ParquetFile(
                self._file.path, metadata=self._footer, read_dictionary=texts
            ) as opened:
                return opened.read([name])[name]
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
            raise ValueError(unreadable(self._file, error)) from None


class View:
    """Table with renamed columns, and with added columns that contain one text in all rows."""

    def __init__(self, frame: Any, names: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self.frame, self._names, self._texts = frame, names, texts
        self.columns = [*names, *texts]

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Any:
        if name not in self._texts:
            return self.frame[self._names[name]]
        none, text = np.zeros(len(self), dtype=np.int32), self._texts[name]
        return pa.chunked_array([pa.DictionaryArray.from_arrays(none, [text])])


def open_table(
    file: File, notes: list[str], sep: str | None = None, encoding: str | None = None
) -> Any:
    """Convert a file to a table like `read_table`, but without loading columns of parquet files."""
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
    """Text of a label, which is identical for labels read as text, whole numbers or floats."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def item_column(name: str, there: Collection[str]) -> str:
    """Return the name of the column of items: ``image`` if there is no column ``item``."""
    return "image" if name == "item" and "item" not in there and "image" in there else name


def open_tables(
    tables: Iterable[Any],
    instead: str = "for arrays there is Trials.from_arrays",
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
) -> Source:
    """Open tables of pandas, polars, pyarrow or another library that narwhals supports."""
    frames = [t if isinstance(t, ParquetTable | View) else frame_of(t, instead) for t in tables]
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
    """A column as codes of texts (not all need occur, and a null is one), and their type."""
    if not pa.types.is_dictionary(array.type):
        try:
            array = pc.dictionary_encode(array)
        except pa.ArrowNotImplementedError:
            array = pc.dictionary_encode(_as_text(array, name)[0])
    texts, family = _as_text(array.dictionary, name)
    codes = array.indices.fill_null(-1) if array.null_count else array.indices
    return codes.to_numpy(), texts, family


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
