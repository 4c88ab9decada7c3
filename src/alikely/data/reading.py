"""Reading files of trials: from paths to aligned data, with notes on everything guessed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import xarray as xr

from alikely._base.checks import one_of
from alikely._base.names import counted, listed, nearest
from alikely.data.columns import MEANING, NOTES, ROLES, table_aligned
from alikely.data.files import KNOWN, File, Paths, find_files, read_file, read_table
from alikely.data.ingest import (
    Column,
    ParquetTable,
    Source,
    View,
    frame_of,
    item_column,
    open_table,
    open_tables,
)  # fmt: skip
from alikely.data.probabilities import with_probabilities
from alikely.data.readers import Log, Reader, readers
from alikely.data.summaries import matched

# Texts that mean missing in files, in addition to empty fields.
NA_VALUES = ("NA", "NaN", "nan", "null", "NULL")
# Roles of the columns of a wide table, apart from truth and observers.
TRIAL_ROLES = ("item", "condition", "dataset", "repeat")
ROW = "row"
# Columns of surveys: names of the column of raters, and numbered questions.
RATERS = ("responseid", "response id", "rater", "participant", "subject", "observer", "respondent")
QUESTIONS = re.compile(r"Q\d+(_\d+)*", re.IGNORECASE)
GUESSED_KINDS = "kinds are guessed"
# Messages of the errors that readers meet when fields have other types than expected.
FOREIGN = re.compile(
    "could not convert|invalid literal|cannot convert|Expecting|not enough|too many"
)
MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError)


def read_trials(
    path: Paths,
    *,
    format: str,  # noqa: A002
    wide: bool | str | Sequence[str],
    columns: Mapping[str, Any],
    **of_files: Any,
) -> xr.Dataset:
    """Build the data set of `Trials.read`."""
    one_of("runs", of_files["runs"], ("newest", "all"))
    one_of("unmatched", of_files["unmatched"], ("error", "accept"))
    columns = dict(columns)
    truths = _truths(columns, of_files["sep"], of_files["encoding"])
    if (tables := _tables(path)) is not None:
        given = {"format": None if format in ("auto", "table") else format, **of_files}
        given["runs"] = given["unmatched"] = None
        if unfit := [name for name, value in given.items() if value is not None]:
            raise ValueError(f"{unfit[0]} is for files, but a table was given; leave it out")
        return of_tables(tables, columns, wide, truths, of_files["unmatched"])
    pattern, na_values = of_files["pattern"], of_files["na_values"]
    files, notes = find_files(path)
    names = [file.name for file in files]
    reader = _reader(format, files)
    if isinstance(na_values, str):
        raise ValueError(
            f"na_values must be a list of texts, got {na_values!r}; give [{na_values!r}]"
        )
    log = Log(columns, names, of_files)
    if reader is None:
        # Tables that are not reshaped are not loaded.
        _read_tables(log, files, notes, open_table if wide is False else read_table)
    else:
        _read_log(log, reader, files, wide)
        wide = False
        truths = truths or (log.truths and _Truths(*log.truths))
        notes += [f"read as {reader.title}", *dict.fromkeys(log.notes)]
    if pattern is not None and not log.by_file:
        raise ValueError(
            f"pattern is for files with one table each, not for {reader and reader.title}"
        )
    fields = _fields_of_names(pattern, files) if pattern is not None else None
    _note_same_rows(files, fields, log.by_file, notes)
    if fields is not None:
        entries = zip(log.tables, fields, names, strict=True)
        log.tables = [_with_fields(*entry) for entry in entries]
    columns = {**log.columns, **columns}
    missing = log.missing if na_values is None else na_values
    try:
        data = _aligned(log.tables, columns, wide, log.names, missing, truths)
    except ValueError as error:
        # What was guessed may be the reason.
        told = sorted(dict.fromkeys(notes), key=lambda note: "give " not in note)
        said = "; ".join(told[:3])
        raise ValueError(
            f"{error}. How the data were read: {said}" if said else str(error)
        ) from None
    notes += filter(None, [matched(data, of_files["unmatched"])])
    if log.options is not None:
        data = _with_options(data, log.options, columns, notes)
    return _noted(data, notes)


def of_tables(
    tables: Sequence[Any],
    columns: Mapping[str, Any],
    wide: bool | str | Sequence[str] = False,
    truths: _Truths | None = None,
    unmatched: str = "accept",
) -> xr.Dataset:
    """Align tables that are in memory, with a note on items that do not match."""
    data = _aligned(tables, columns, wide, truths=truths)
    return _noted(data, list(filter(None, [matched(data, unmatched)])))


def _aligned(
    tables: Sequence[Any],
    columns: Mapping[str, Any],
    wide: bool | str | Sequence[str] = False,
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
    truths: _Truths | None = None,
) -> xr.Dataset:
    """Align tables from memory or files: long, or wide with these (or all) observers."""
    if isinstance(kinds := columns.get("kind"), Mapping):
        columns = {role: name for role, name in columns.items() if role != "kind"}
        return _of_kinds(_aligned(tables, columns, wide, names, missing, truths), kinds)
    notes: list[str] = []
    if wide == "rows":
        parts = [_raters(table, columns, notes) for table in tables]
        names = names and [name for name, own in zip(names, parts, strict=True) for _ in own]
        tables, wide = [view for own in parts for view in own], False
        given = ("observer", "item", "response", "truth")
        columns = {role: name for role, name in columns.items() if role not in given}
    item = columns.get("item", "item")
    if wide is not False:
        tables, names, columns, told = _long(
            tables, columns, None if wide is True else wide, names, truths is not None
        )
        notes += told
    source = open_tables(tables, names=names, missing=missing)
    if truths is not None:
        columns = {**columns, "truth": "truth"}
        truths.put(source, columns.get("item", "item"), item)
        notes.append(f"true classes are those of {truths.name}")
    return _noted(table_aligned(source, columns), notes)


def _tables(path: Any) -> list[Any] | None:
    """Tables given in place of paths; None for paths."""
    tables = list(path) if isinstance(path, list | tuple) else [path]
    for table in tables:
        try:
            frame_of(table)
        except TypeError:
            return None
    return tables or None


def _read_log(log: Log, reader: Reader, files: Sequence[File], wide: Any) -> None:
    """Fill a log; raise `ValueError` if its fields are not those that its reader knows."""
    for name, value in log.asked.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be a name, got {type(value).__name__}")
    if wide is not False and reader.name != "qualtrics":
        raise ValueError(f"wide is for tables, not for {reader.title}; leave it out")
    try:
        reader.read(files, log)
        if not log.tables:
            log.finish()
    except (*MALFORMED, ValueError) as error:
        if not isinstance(error, MALFORMED) and not FOREIGN.match(str(error)):
            raise
        name = repr(log.current or files[0].name)
        raise ValueError(
            f"{name} cannot be read as {reader.title}: a field is missing or has another type; "
            "correct the file, or convert it to a table and read that with format='table'"
        ) from error


def _read_tables(
    log: Log, files: Sequence[File], notes: list[str], opened: Callable[..., Any]
) -> None:
    """Read the tables of files; identical notes on several files are merged."""
    if any(value is not None for value in log.asked.values()):
        raise ValueError("score and filter select scores of logs, and a table has none; omit them")
    log.missing = NA_VALUES
    of: dict[tuple[str, str], list[str]] = {}
    for file in files:
        own: list[str] = []
        log.tables.append(opened(file, own, **log.text))
        if not len(log.tables[-1]) and len(files) > 1:
            own.append(f"{file.name!r} has no rows")
        for note in own:
            before, name, after = note.partition(repr(file.name))
            of.setdefault((before, after) if name else (note, ""), []).append(name)
    for (before, after), names in of.items():
        several = f"{len(names)} files, {names[0]} to {names[-1]}," if len(names) > 2 else ""
        notes.append(before + (several or " and ".join(names)) + after)


def _with_options(
    data: xr.Dataset, options: Any, columns: Mapping[str, Any], notes: list[str]
) -> xr.Dataset:
    """Add a log's probabilities of options, or a note on why they are left out."""
    renamed = [role for role in ROLES if columns.get(role, role) != role]
    try:
        if renamed:
            raise ValueError(f"{renamed[0]} is not the column of the log")
        return with_probabilities(data, options, "logits")
    except ValueError as error:
        notes.append(f"probabilities of options were left out: {error}")
        return data


def _noted(data: xr.Dataset, notes: Sequence[str]) -> xr.Dataset:
    """Put notes before the existing ones."""
    notes = [*dict.fromkeys(notes), *data.attrs.get(NOTES, ())]
    return data.assign_attrs({NOTES: notes}) if notes else data


def _reader(asked: str, files: Sequence[File]) -> Reader | None:
    """Find the reader of these files; None for tables."""
    known = readers()
    if asked not in ("auto", "table", *known):
        raise ValueError(
            f"format must be auto, table, {listed(known)}, got {asked!r}{nearest(asked, known)}"
        )
    if asked == "auto":
        return next((reader for reader in known.values() if reader.recognizes(files)), None)
    return known.get(asked)


def _note_same_rows(
    files: Sequence[File], fields: list[dict[str, str]] | None, by_file: bool, notes: list[str]
) -> None:
    """Raise an error for two files with the same content, unless their names give fields."""
    if not by_file or len(files) < 2:
        return
    sizes = [file.n_bytes() for file in files]
    often = Counter(sizes)
    first: dict[bytes, int] = {}
    for number, (file, size) in enumerate(zip(files, sizes, strict=True)):
        # Only files of the same size can have the same content.
        if often[size] == 1:
            continue
        other = first.setdefault(hashlib.sha256(file.read()).digest(), number)
        if other == number:
            continue
        pair = f"{files[other].name!r} and {file.name!r}"
        if fields is None or fields[other] == fields[number]:
            raise ValueError(f"{pair} have the same rows; leave one out")
        notes.append(f"{pair} have the same rows, though their names differ")


def _with_fields(table: Any, fields: dict[str, str], name: str) -> Any:
    frame = table if isinstance(table, ParquetTable) else frame_of(table)
    if both := [field for field in fields if field in frame.columns]:
        raise ValueError(
            f"{both[0]!r} is a field of the pattern and a column of {name!r}; write * instead of "
            f"{{{both[0]}}}"
        )
    if isinstance(frame, ParquetTable):
        return View(frame, {column: column for column in frame.columns}, fields)
    return frame.with_columns(**{k: nw.lit(v, dtype=nw.String) for k, v in fields.items()})


def _long(
    tables: Sequence[Any],
    columns: Mapping[str, Any],
    observers: Sequence[str] | None,
    names: Sequence[str] | None,
    judged: bool,
) -> tuple[list[Any], list[str], dict[str, Any], list[str]]:
    """Long tables of the observers' columns, with their sources, other options and notes."""
    roles = {role: columns.get(role, role) for role in ("truth", *TRIAL_ROLES)}
    other = {role: name for role, name in columns.items() if role not in roles}
    known = ("classes", "item_columns")
    if wrong := next((role for role in other if other[role] and role not in known), None):
        raise ValueError(
            f"a wide table has no column {wrong!r}; columns are {listed((*TRIAL_ROLES, 'truth'))}, "
            "and one for each observer"
        )
    made, places = list[Any](), list[str]()
    found, notes = dict[str, None](), dict[str, None]()
    for number, table in enumerate(tables):
        frame, of = frame_of(table), dict(roles)
        there = frame.columns
        of["item"] = item_column(of["item"], there)
        for role, name in of.items():
            if name != role:
                _require(name, there, role)
        if of["item"] not in there:
            if ROW in there:
                raise ValueError("no column 'item'; name the column of items by item=")
            frame = frame.with_row_index(ROW)
            of["item"] = ROW
            notes["there is no column 'item': items are the rows, counted from 0"] = None
        of |= {name: name for name in other.get("item_columns", ())}
        of = {role: name for role, name in of.items() if name in frame.columns}
        people = _observers(frame.columns, observers, set(of.values()))
        found |= dict.fromkeys(people)
        answered = judged or "truth" in of or _readings(frame, people)
        answer = "response" if answered else "correct"
        made += [View(frame, {**of, answer: name}, {"observer": name}) for name in people]
        places += [f"column {name}" + (f" of {names[number]}" if names else "") for name in people]
    if observers is None:
        notes[f"{len(found)} columns are observers: {listed(found, most=8)}"] = None
    return made, places, other, list(notes)


def _require(name: str, there: Sequence[str], what: str) -> None:
    """Raise `ValueError` if a wide table has no column of this name."""
    if name not in there:
        raise ValueError(
            f"no column {name!r} ({what}); the columns are {listed(there)}{nearest(name, there)}"
        )


def _readings(frame: Any, people: Sequence[str]) -> bool:
    """Whether columns of responses have values other than correctness."""
    values = {str(value).lower() for name in people for value in frame[name].unique().to_list()}
    return not values <= {*MEANING, *map(str.lower, NA_VALUES), "none", ""}


def _raters(table: Any, columns: Mapping[str, Any], notes: list[str]) -> list[View]:
    """A long table for each question of a survey with one row per rater."""
    frame = frame_of(table)
    if (named := columns.get("observer")) is not None:
        _require(named, frame.columns, "observer")
    rater = named or next((n for n in frame.columns if n.lower() in RATERS), None)
    if rater is None:
        rater = ROW
        frame = frame.with_row_index(ROW)
        notes.append("raters are the rows, counted from 0 (or give observer=)")
    if columns.get("item") is not None:
        raise ValueError("with wide='rows' the columns of responses are the items; omit item")
    numbered = [name for name in frame.columns if QUESTIONS.fullmatch(name)]
    other = [name for name in frame.columns if name != rater and not name.startswith("_")]
    asked = [name for name in numbered if name != rater] or other
    if not asked:
        raise ValueError(f"no column is left for an item; the columns are {listed(frame.columns)}")
    notes.append(
        f"each row is a rater, named by {rater!r}, and {len(asked)} columns are items: "
        f"{listed(asked, most=8)}"
    )
    return [View(frame, {"observer": rater, "response": name}, {"item": name}) for name in asked]


def _of_kinds(data: xr.Dataset, kinds: Mapping[str, str]) -> xr.Dataset:
    """Set the kinds of the named observers; others keep theirs."""
    names = data["observer"].values.astype(str).tolist()
    if odd := next((name for name in kinds if name not in names), None):
        raise ValueError(
            f"kind names the unknown observer {odd!r}; the observers are {listed(names)}"
            f"{nearest(odd, names)}"
        )
    own = data["kind"].values.astype(object)
    found = np.array([kinds.get(n, k) for n, k in zip(names, own, strict=True)], dtype=object)
    notes = [note for note in data.attrs.get(NOTES, ()) if not note.startswith(GUESSED_KINDS)]
    return data.assign_coords(kind=("observer", found)).assign_attrs({NOTES: notes})


class _Truths(NamedTuple):
    """True classes of items in a separate table."""

    table: Any
    name: str

    def of_items(self, item: str) -> dict[str, str]:
        """Truth of each item; items are in a column of the same name as in the trials."""
        source = open_tables([self.table], names=[self.name], missing=NA_VALUES)
        there = source.columns
        named = next((n for n in (item, "item", "image") if n in there), None)
        other = [n for n in there if n != named]
        true = next((n for n in ("truth", *other[:1]) if n in there), None)
        if named is None or true is None or (true != "truth" and len(other) > 1):
            raise ValueError(
                f"{self.name} must have a column of items ({item!r}, as in the trials) and a "
                f"column 'truth', got {listed(there)}; rename the columns"
            )
        truths: dict[str, str] = {}
        texts = zip(source.read(named).texts(), source.read(true).texts(), strict=True)
        for row, (key, value) in enumerate(texts):
            if truths.setdefault(key, value) != value:
                raise ValueError(
                    f"item {key!r} has truth {truths[key]!r} and {value!r} "
                    f"({source.where(row)}); an item has one truth"
                )
        return truths

    def put(self, source: Source, item: str, named: str) -> None:
        """Add a column of true classes to tables; `named` is the item column of the trials."""
        column = item_column(item, source.columns)
        truths, (codes, items) = self.of_items(named), source.read(column)
        if lacking := [name for name in items if name not in truths]:
            raise ValueError(
                f"{len(lacking)} of {len(items)} items have no truth in {self.name}, such as "
                f"{lacking[0]!r}; add them, or rename items{nearest(lacking[0], truths)}"
            )
        known = {text: i for i, text in enumerate(dict.fromkeys(truths[name] for name in items))}
        source.added["truth"] = Column(
            np.array([known[truths[name]] for name in items], np.int64)[codes], [*known]
        )


def _truths(columns: dict[str, Any], sep: str | None, encoding: str | None) -> _Truths | None:
    """Table of true classes if `truth` is a table or a file rather than a column."""
    given = columns.get("truth")
    named = isinstance(given, str) and Path(given).suffix.lower() in KNOWN and Path(given).is_file()
    if given is None or (isinstance(given, str) and not named):
        return None
    columns.pop("truth")
    if isinstance(given, str | Path):
        return _Truths(read_file(given, sep, encoding), repr(str(given)))
    return _Truths(given, "the table of truths")


def _observers(
    columns: Sequence[str], observers: Sequence[str] | None, taken: set[str]
) -> list[str]:
    if isinstance(observers, str):
        raise ValueError(f"observers must be a list of columns, got {observers!r}")
    people = list(observers) if observers is not None else [c for c in columns if c not in taken]
    for name in people:
        _require(name, columns, "an observer")
    if not people:
        raise ValueError(f"no column is left for an observer; the columns are {listed(columns)}")
    return people


PIECE = re.compile(r"\{(\w+)(:d)?\}|(\*)|([^{}*]+)|(.)")


def _fields_of_names(pattern: str, files: Sequence[File]) -> list[dict[str, str]]:
    """Read fields from the names of files."""
    names = [match[1] for match in PIECE.finditer(pattern) if match[1]]
    if not names:
        raise ValueError(f"pattern {pattern!r} has no field; expected some, such as {{observer}}")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"pattern {pattern!r} has field {twice[0]!r} twice; name it once")
    short, long = (_expression(pattern, more) for more in ("+?", "+"))
    depth = pattern.count("/") + 1
    tails = ["/".join(file.parts[-depth:]) for file in files]
    found = [short.fullmatch(tail) for tail in tails]
    if not any(found):
        raise ValueError(
            f"pattern={pattern!r} matches none of {len(files)} files; they are: "
            f"{listed(tails, most=5)}"
        )
    fields = []
    for match, tail in zip(found, tails, strict=True):
        if match is None:
            raise ValueError(
                f"pattern {pattern!r} does not match {tail!r}, but matches "
                f"{counted(sum(map(bool, found)), 'other file')}; read the files separately, or "
                "leave this file out"
            )
        one, other = match.groupdict(), long.fullmatch(tail).groupdict()  # type: ignore[union-attr]
        if one != other:
            name = next(name for name in one if one[name] != other[name])
            raise ValueError(
                f"pattern {pattern!r} matches {tail!r} in two ways, {name} {one[name]!r} or "
                f"{other[name]!r}; write out the separator, or {{{names[-1]}:d}} for digits"
            )
        fields.append(one)
    return fields


def _expression(pattern: str, more: str) -> re.Pattern[str]:
    text = ""
    for name, digits, star, literal, other in PIECE.findall(pattern):
        if other:
            raise ValueError(f"pattern {pattern!r} has an unmatched brace; write {{field}}")
        if name:
            text += rf"(?P<{name}>\d{more})" if digits else f"(?P<{name}>[^/]{more})"
        else:
            text += f"[^/]*{more[1:]}" if star else re.escape(literal)
    return re.compile(text)
