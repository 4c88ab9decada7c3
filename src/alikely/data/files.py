"""Find files, open them, and convert them to tables."""

from __future__ import annotations

import contextlib
import csv
import glob
import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from alikely._base.names import listed
from alikely._base.size import check_memory, memory_limit

type Paths = str | Path | Sequence[str | Path]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
TEXT, LINES = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
COLUMNS = (*PARQUET, ".feather", ".arrow")
# Including logs of tools, which their readers open.
KNOWN = (*TEXT, *LINES, *COLUMNS, ".eval", ".imrmc")
EXCEL = (".xlsx", ".xls", ".xlsm", ".ods")
# The first line in which Excel keeps the separator.
SEPARATOR_LINE = re.compile(r"""["']?sep=(.)["']?\s*""", re.IGNORECASE)
# Text, the table of it, its columns as text and their codes.
TABLE_COPIES = 4
SPLIT = "split the file, or convert it to parquet"
HEAD = 65_536  # bytes that hold the first line
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Errors of damaged archives; RuntimeError: with a password or unknown compression.
UNPACKING = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError)


class File(NamedTuple):
    """A file, or a member of a zip archive."""

    name: str  # for messages
    path: Path
    member: str = ""

    @property
    def base(self) -> str:
        """Name of the file without folders and without ``.gz``."""
        base = (self.member or str(self.path)).replace("\\", "/").rsplit("/", 1)[-1]
        return base[:-3] if base.lower().endswith(".gz") else base

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders from the root on, the archive that contains the file (if any), and its name."""
        inside = self.member.replace("\\", "/").split("/") if self.member else ()
        return (*self.path.absolute().parts, *inside)

    @property
    def suffix(self) -> str:
        """Suffix in lower case, without ``.gz``."""
        return Path(self.base).suffix.lower()

    @property
    def packed(self) -> bool:
        """Whether the file is compressed."""
        return bool(self.member) or self.path.suffix.lower() == ".gz"

    def n_bytes(self) -> int:
        """Return the size of the file on disk, or the uncompressed size of an archive member."""
        try:
            if not self.member:
                return self.path.stat().st_size
            with zipfile.ZipFile(self.path) as archive:
                return archive.getinfo(self.member).file_size
        except (OSError, zipfile.BadZipFile) as error:
            raise ValueError(unreadable(self, error)) from None

    def read(self) -> bytes:
        """Return the whole content of the file, uncompressed."""
        try:
            if self.member:
                with zipfile.ZipFile(self.path) as archive:
                    self.check_size(archive.getinfo(self.member).file_size)
                    raw = archive.read(self.member)
            else:
                self.check_size(self.path.stat().st_size)
                raw = self.path.read_bytes()
            if raw and (self.member or self.path.name).lower().endswith(".gz"):
                raw = self._unpacked(raw)
        except UNPACKING as error:
            raise ValueError(unreadable(self, error)) from None
        if not raw:
            raise ValueError(f"{self.name!r} is an empty file")
        return raw

    def check_size(self, n_bytes: int) -> None:
        """Raise `MemoryError` if memory is too small for the file and its table."""
        check_memory(TABLE_COPIES * n_bytes, f"{self.name!r} as a table", SPLIT)

    def _unpacked(self, raw: bytes) -> bytes:
        """Uncompressed content of a .gz, read until it is too large."""
        most = memory_limit() // TABLE_COPIES
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            self.check_size(len(content))
        return content

    def columns(self) -> list[str]:
        """Names in the first line of a text file or the first object of a JSON file, if any."""
        try:
            if self.suffix in TEXT and not self.is_json:
                first, told = _first_line(self._head())
                sep = told or _separator(first, self.suffix)
                return next(csv.reader([first], delimiter=sep), [])
            if self.is_json:
                first = self._head().lstrip().split("\n", 1)[0]
                if first.startswith("{") and first.rstrip().endswith("}"):
                    return list(json.loads(first))
                records = self.records([])
                return list(records[0]) if records and isinstance(records[0], dict) else []
            if self.suffix in PARQUET:
                where = io.BytesIO(self.read()) if self.member else self.path
                return list(pyarrow.parquet.read_schema(where).names)
        except (ValueError, OSError, RecursionError, csv.Error, pa.ArrowInvalid):
            return []  # what cannot be read is refused by who reads it
        return []

    def head(self, n_lines: int) -> str:
        """Return the first lines of the file, up to a maximum length."""
        try:
            return "\n".join(self._head().splitlines()[:n_lines])
        except (OSError, ValueError):
            return ""

    def _head(self) -> str:
        """The beginning of a text file."""
        if self.packed:
            raw = self.read()
        else:
            with self.path.open("rb") as stream:
                raw = stream.read(HEAD)
        mark = raw[:2] in UTF16_MARKS
        return raw[:HEAD].decode("utf-16" if mark else "utf-8-sig", errors="replace")

    @property
    def is_json(self) -> bool:
        """Whether the file contains JSON, even if its suffix is that of a text file."""
        if self.suffix != ".txt":
            return self.suffix in LINES
        try:
            return self._head().lstrip()[:1] in ("{", "[")
        except (OSError, ValueError):
            return False

    def text(self, notes: list[str], encoding: str | None = None) -> str:
        """Text of the file, decoded as UTF-8, UTF-16 (by its mark), or else Latin-1 with a note."""
        raw = self.read()
        if encoding is None and b"\0" in raw and raw[:2] not in UTF16_MARKS:
            raise ValueError(
                f"{self.name!r} contains null bytes and is not text; if it is UTF-16, pass "
                "encoding='utf-16-le'"
            )
        if encoding is None and raw[:2] in UTF16_MARKS:
            encoding = "utf-16"
        try:
            return raw.decode(encoding or "utf-8-sig")
        except LookupError:
            raise ValueError(
                f"encoding {encoding!r} is unknown; give one such as 'utf-8' or 'latin-1'"
            ) from None
        except UnicodeDecodeError as error:
            if encoding is not None or b"\0" in raw:
                raise ValueError(unreadable(self, error)) from None
        # What Windows writes; where it has no letter, Latin-1, of which it is an extension.
        text = latin = raw.decode("latin-1")
        with contextlib.suppress(UnicodeDecodeError):
            text = raw.decode("cp1252")
        called = "Latin-1" if text == latin else "Windows-1252"
        notes.append(f"text of {self.name!r} is not UTF-8; read as {called} (or give encoding=)")
        return text

    def records(self, notes: list[str], encoding: str | None = None) -> list[Any]:
        """Objects of a JSON file, from a list or from one object per line."""
        text = self.text(notes, encoding)
        try:
            whole = _parsed(text)
        except ValueError as error:
            # Of one object on each line the first ends before the text does.
            if getattr(error, "msg", "") != "Extra data" or "\n" not in text.strip():
                raise ValueError(unreadable(self, error)) from None
        else:
            return whole if isinstance(whole, list) else [whole]
        found: list[Any] = []
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    entry = _parsed(line)
                except ValueError as error:
                    raise ValueError(unreadable(self, error, number)) from None
                found += entry if isinstance(entry, list) else [entry]
        return found

    def objects(self, notes: list[str], encoding: str | None = None) -> list[dict[str, Any]]:
        """Return the objects of `records`, if each object has named fields."""
        found = self.records(notes, encoding)
        bad = next((i for i, entry in enumerate(found) if not isinstance(entry, dict)), None)
        if bad is not None:
            raise ValueError(
                f"{self.name!r}, entry {bad} is {type(found[bad]).__name__}; expected one object "
                "with fields, such as {'observer': ...}, for each row, sample or trial"
            )
        return found


def _parsed(text: str) -> Any:
    """Parse a JSON value; `ValueError` if it is not JSON or cannot be represented."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply for a table") from None


def find_files(path: Paths) -> tuple[list[File], list[str]]:
    """Find the files of a path, a glob, a folder, an archive, or several of these."""
    notes: list[str] = []
    if isinstance(path, str) and not path:
        raise ValueError("path is empty; give the name of a file, or '.' for this folder")
    if not isinstance(path, str | Path):
        if not isinstance(path, Iterable) or isinstance(path, bytes) or hasattr(path, "columns"):
            raise TypeError(
                "path must be a path, a pandas, polars or pyarrow table, or a list of paths or of "
                f"tables; got {type(path).__name__}"
            )
        entries = list(path)
        if not entries:
            raise ValueError("no file was given")
        parts = [find_files(entry) for entry in entries]
        files = [file for found, _ in parts for file in found]
        first = {file[1:]: i for i, file in reversed([*enumerate(files)])}
        if again := [file.name for i, file in enumerate(files) if first[file[1:]] < i]:
            raise ValueError(f"file {again[0]!r} is given twice; give each once")
        return files, [note for _, told in parts for note in told]
    place = Path(path)
    if place.is_dir():
        inside = sorted(file for file in place.rglob("*") if file.is_file())
        files = [File(file.relative_to(place).as_posix(), file) for file in inside]
        return _of_known_kind(files, str(path), notes), notes
    if not place.is_file():
        found = sorted(glob.glob(str(path), recursive=True))
        if found:
            return find_files(found)
        what = "no file matches" if glob.has_magic(str(path)) else "no file"
        raise ValueError(f"{what} {str(path)!r}; looked in {os.getcwd()!r}")
    if place.name.startswith("._"):
        raise ValueError(
            f"{str(path)!r} is a metadata file of macOS, not data; give {place.name[2:]!r}"
        )
    if place.suffix.lower() != ".zip":
        return [File(str(path), place)], notes
    try:
        with zipfile.ZipFile(place) as archive:
            members = sorted(entry.filename for entry in archive.infolist() if not entry.is_dir())
    except (zipfile.BadZipFile, OSError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as a zip file: {error}") from None
    files = [File(f"{place.name}/{name}", place, name) for name in members]
    return _of_known_kind(files, str(path), notes), notes


def read_file(path: str | Path, sep: str | None = None, encoding: str | None = None) -> Any:
    """Read a file as a table; text stays as printed, an empty field means null."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"no file {str(path)!r}")
    table = read_table(File(str(path), file), [], sep, encoding)
    if not len(table):
        raise ValueError(f"{str(path)!r} is empty: it has no rows")
    return table


def read_table(
    file: File,
    notes: list[str],
    sep: str | None = None,
    encoding: str | None = None,
    odd_quotes: bool = False,
) -> Any:
    """Convert a file to a table; `odd_quotes`: quotes inside values may not be doubled."""
    kind = file.suffix
    try:
        if kind in PARQUET:
            return pyarrow.parquet.read_table(io.BytesIO(file.read()))
        if kind in (".feather", ".arrow"):
            return pyarrow.feather.read_table(io.BytesIO(file.read()))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(unreadable(file, error)) from None
    if file.is_json:
        return _from_objects(file, file.objects(notes, encoding))
    if kind in TEXT:
        return _read_text(file, notes, sep, encoding, odd_quotes)
    if kind in EXCEL:
        raise ValueError(
            f"{file.name!r} is a workbook; read a sheet of it with pandas and give the table: "
            f"al.Trials.read(pandas.read_excel({file.base!r})), or save the sheet as .csv"
        )
    raise ValueError(
        f"{file.name!r} is not in a known format ({listed(KNOWN)}, or .gz or .zip of these); read "
        "the file with pandas or polars, and give the table"
    )


def _of_known_kind(files: list[File], place: str, notes: list[str]) -> list[File]:
    # Hidden ones, and what a Mac adds to archives, are no data.
    seen = [f for f in files if not any(p[:1] == "." or p == "__MACOSX" for p in f.name.split("/"))]
    # Text alongside data sets mostly explains them.
    known = [f for f in seen if f.suffix in KNOWN and (f.suffix != ".txt" or f.is_json)]
    if not known:
        raise ValueError(
            f"{place!r} contains no file of a known format ({listed(KNOWN)}); "
            f"its files are: {listed(file.name for file in files)}"
            + "; read workbooks with pandas and give the tables"
            * any(file.suffix in EXCEL for file in seen)
        )
    other = [file.name for file in seen if file not in known]
    if other:
        notes.append(f"{len(other)} files of other kinds were not read: {listed(other, most=3)}")
    return known


def unreadable(file: File, error: Exception, line: int = 0) -> str:
    """Message on a file that does not match its suffix: where the file is damaged, and the fix."""
    kind = file.suffix.lstrip(".") or "text"
    what = {"eval": "an Inspect log", "arrow": "an arrow file"}.get(kind, f"a {kind} file")
    reason = "it is truncated, damaged, or not of the type that its name suggests"
    if isinstance(error, json.JSONDecodeError):
        place = f"line {line or error.lineno}, column {error.colno}"
        reason = f"{place}: it is truncated there, or it is not JSON"
    elif isinstance(error, UnicodeDecodeError):
        reason = f"byte {error.start} is not valid {error.encoding}"
    elif isinstance(error, RuntimeError) and "password" in str(error):
        reason = "it is encrypted"
    elif isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        reason = str(error.strerror)
    elif type(error) is ValueError:
        reason = f"line {line}: {error}" if line else str(error)
    said = f"{file.name!r} cannot be read as {what}: {reason}"
    return said if ";" in reason else f"{said}; correct it or save it again"


def _read_text(
    file: File, notes: list[str], sep: str | None, encoding: str | None, odd_quotes: bool
) -> pa.Table:
    """Read text between separators; values stay as printed."""
    raw = file.text(notes, encoding).removeprefix("\ufeff").encode()
    if b"\0" in raw:
        raise ValueError(f"{file.name!r} contains null bytes and is not text; save it again")
    if b"\r" in raw and b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")  # as old Macs end lines
    first, told = _first_line(raw[:HEAD].decode(errors="replace"))
    if told:
        raw = raw.lstrip(b"\r\n").split(b"\n", 1)[-1]
    if not first:
        raise ValueError(f"{file.name!r} has only empty lines; expected column names in line 1")
    parted = sep or told or _separator(first, file.suffix)
    if len(parted) != 1:
        raise ValueError(f"sep must be one character, such as ';', got {sep!r}")
    header = next(csv.reader([first], delimiter=parted))
    if len(header) == 1:
        likely = _separator(first, file.suffix)
        seems = likely in first and f"it seems to be separated by {SEPARATORS[likely]}"
        raise ValueError(
            f"{file.name!r} has one column, {first[:40]!r}, if separated by {parted!r}; expected "
            f"several: {seems or 'give the separator'} (sep=)"
        )
    if sep is None and parted != ("\t" if file.suffix == ".tsv" else ","):
        notes.append(
            f"columns of {file.name!r} are parted by {SEPARATORS.get(parted, repr(parted))}"
        )
    if odd_quotes:
        return _named_once(file, _read_odd_text(file, raw.decode(), parted, bool(told)), notes)
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(raw),
            parse_options=pyarrow.csv.ParseOptions(delimiter=parted, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        table = _read_odd_text(file, raw.decode(), parted, bool(told))
    return _named_once(file, table, notes)


def _read_odd_text(file: File, text: str, sep: str, told: bool) -> pa.Table:
    """Read text with unusual quotes; a row of another length raises an error."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    rows: list[list[str]] = []
    try:
        for row in reader:
            # A separator may end the line of names alone, or all but that.
            if rows and row and (len(row) - len(rows[0])) * (1 if row[-1] == "" else -1) == 1:
                row = row[:-1] if row[-1] == "" else [*row, *[""][: not rows[0][-1]]]
            if rows and row and len(row) != len(rows[0]):
                raise ValueError(
                    f"{file.name!r}, line {reader.line_num + told} has {len(row)} fields, but the "
                    f"line of names has {len(rows[0])}; quote texts that contain "
                    f"{SEPARATORS.get(sep, repr(sep))}, or complete the row"
                )
            rows += [row] if row else []
    except csv.Error as error:
        raise ValueError(unreadable(file, error)) from None
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(rows[0])
    arrays = [pa.array([value or None for value in column], pa.string()) for column in columns]
    return pa.Table.from_arrays(arrays, names=rows[0])


def _named_once(file: File, table: pa.Table, notes: list[str]) -> pa.Table:
    """Columns with unique names; empty columns without a name, and copies, are left out."""
    names = table.column_names
    kept: dict[int, str] = {}
    copies, unnamed = [], 0
    for i, name in enumerate(names):
        column, first = table.column(i), names.index(name)
        if not name:
            if column.null_count < len(table):  # else a separator at the end of every line
                unnamed += 1
                kept[i] = f"unnamed_{unnamed}" if unnamed > 1 else name
        elif first == i:
            kept[i] = name
        elif column.equals(table.column(first)):
            copies.append(name)
        else:
            raise ValueError(
                f"{file.name!r} has column {name!r} twice (columns {first + 1} and {i + 1}); "
                "rename one of them, or add a first line of names if there is none"
            )
    if copies:
        what = f"columns of {file.name!r} that occur twice with the same values were read once"
        notes.append(f"{what}: {listed(copies, most=5)}")
    return table.select([*kept]).rename_columns([*kept.values()])


def _first_line(text: str) -> tuple[str, str]:
    """The line of names, and the separator if a line above it defines one."""
    lines = text.lstrip("\r\n").replace("\r\n", "\n").replace("\r", "\n").split("\n", 2)
    told = SEPARATOR_LINE.fullmatch(lines[0])
    if told and len(lines) > 1:
        return lines[1], told[1]
    return lines[0], ""


def _separator(first: str, suffix: str) -> str:
    """Separator of the first line: the usual one, unless another makes more columns."""
    usual = "\t" if suffix == ".tsv" else ","
    order = [usual, *(other for other in SEPARATORS if other != usual)]
    return max(order, key=lambda sep: len(next(csv.reader([first], delimiter=sep), [])))


def _from_objects(file: File, objects: list[dict[str, Any]]) -> pd.DataFrame:
    nested = [isinstance(value, dict | list) for value in objects[0].values()] if objects else []
    if len(objects) == 1 and nested and all(nested):
        raise ValueError(
            f"{file.name!r} contains one object of columns; expected a list of rows, such as "
            "[{'observer': ...}, ...], as pandas writes it with orient='records'"
        )
    # pandas takes any values; what mixes types is refused only where a column is used.
    table = pd.DataFrame(objects, dtype=object)
    return table.where(table.notna(), None)
