"""Parquet files as tables whose columns are read when they are asked for, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alikely.data.files import File, read_table, unreadable

__all__ = ["PIECE", "ParquetTable", "open_table"]

SUFFIXES = (".parquet", ".pq")
# Rows that are looked at together.
PIECE = 1 << 20


class ParquetTable:
    """A parquet file: its columns are named, and wait in the file."""

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
        """The same with further columns, of one text each."""
        return ParquetTable(self._file, self._footer, constants)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column as a whole."""
        if name in self._constants:
            return pa.chunked_array([pa.repeat(self._constants[name], len(self))])
        with self._opened() as opened:
            return opened.read(columns=[name]).column(name)

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
    """Make a table of a file as `read_table` does, but leave columns of parquet where they are."""
    if file.suffix not in SUFFIXES or file.packed or not file.n_bytes():
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


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
