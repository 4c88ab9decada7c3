"""Reading files of trials: from paths to aligned data, with a note of all that was guessed."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import xarray as xr

from alikely._base.names import listed, nearest
from alikely.data.columns import NOTES, ROLES, table_aligned
from alikely.data.files import File, Paths, find_files, read_table
from alikely.data.ingest import ParquetTable, frame_of, open_table, open_tables
from alikely.data.probabilities import with_probabilities
from alikely.data.readers import Log, Reader, readers

__all__ = ["NA_VALUES", "Long", "fields_of_names", "long_tables", "read_trials", "wide_trials"]

# What an entry of a file may say where there is no value, beside nothing at all.
NA_VALUES = ("NA", "NaN", "nan", "null", "NULL")
# What columns may be named for; in a wide table these alone.
TRIAL_ROLES = ("item", "condition", "dataset", "repeat")
# What the code of a reader ends in where a log has other fields: any may be anything.
MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError)


def read_trials(
    path: Paths,
    *,
    format: str,  # noqa: A002
    pattern: str | None,
    na_values: Collection[str] | None,
    sep: str | None,
    encoding: str | None,
    wide: bool | Sequence[str],
    score: str | None,
    filter: str | None,  # noqa: A002
    columns: dict[str, Any],
) -> xr.Dataset:
    """Data of `Trials.read`."""
    if (tables := _tables(path)) is not None:
        known = None if format in ("auto", "table") else format
        of_files = {"format": known, "pattern": pattern, "na_values": na_values, "sep": sep}
        of_files |= {"encoding": encoding, "score": score, "filter": filter}
        if unfit := [name for name, value in of_files.items() if value is not None]:
            raise ValueError(f"{unfit[0]} is for files, and a table was given; leave it out")
        if wide is False:
            return table_aligned(open_tables(tables), columns)
        kind = columns.pop("kind", None)
        observers = None if wide is True else wide
        return wide_trials(tables, columns=columns, observers=observers, kind=kind)
    files, notes = find_files(path)
    reader = _reader(format, files)
    if isinstance(na_values, str):
        raise ValueError(
            f"na_values must be a list of texts, got {na_values!r}; give [{na_values!r}]"
        )
    columns = dict(columns)
    if reader is None:
        if score is not None or filter is not None:
            raise ValueError("score and filter choose among the scores of logs; a table has none")
        # Wide tables are taken apart as they are.
        opened = open_table if wide is False else read_table
        tables = _read_all(opened, files, notes, sep, encoding)
        names = [file.name for file in files]
        missing = NA_VALUES if na_values is None else na_values
    else:
        for name, given in (("score", score), ("filter", filter)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{name} must be the name of one, got {type(given).__name__}")
        log = _log(reader, files, Log(score, filter, columns, [file.name for file in files]))
        tables, names = log.tables, log.names
        notes += [f"read as {reader.title}", *dict.fromkeys(log.notes)]
        columns = {**log.columns, **columns}
        missing = log.missing if na_values is None else na_values
    if pattern is not None and len(tables) != len(files):
        raise ValueError(
            f"pattern is for one table in each file, not for {reader and reader.title}"
        )
    fields = fields_of_names(pattern, files) if pattern is not None else None
    _note_same_rows(files, fields, names == [file.name for file in files], notes)
    if fields is not None:
        tables = [_with_fields(t, f, n) for t, f, n in zip(tables, fields, names, strict=True)]
    if wide is not False:
        kind = columns.pop("kind", None)
        observers = None if wide is True else wide
        return wide_trials(
            tables, columns=columns, observers=observers, kind=kind, names=names,
            missing=missing, notes=notes,
        )  # fmt: skip
    source = open_tables(tables, names=names, missing=missing)
    data = table_aligned(source, columns)
    if reader is not None and log.options is not None:
        data = _with_options(data, log.options, columns, notes)
    return _noted(data, notes)


def _tables(path: Any) -> list[Any] | None:
    """Tables in place of paths, one or several; None of paths."""
    tables = list(path) if isinstance(path, list | tuple) else [path]
    for table in tables:
        try:
            frame_of(table)
        except TypeError:
            return None
    return tables or None


def _log(reader: Reader, files: Sequence[File], log: Log) -> Log:
    """The log; one whose fields are others than its reader knows is refused (`ValueError`)."""
    try:
        reader.read(files, log)
        return log
    except (*MALFORMED, json.JSONDecodeError, UnicodeDecodeError) as error:
        names = listed([repr(file.name) for file in files], most=3)
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(
            f"{names} cannot be read as {reader.title}: its fields are not as they should be "
            f"({what}); mend it, or make a table of it and read that (format='table')"
        ) from error


def _read_all(
    opened: Callable[..., Any],
    files: Sequence[File],
    notes: list[str],
    sep: str | None,
    encoding: str | None,
) -> list[Any]:
    """The tables of files; what is noted of several in the same words is noted once."""
    tables = []
    of: dict[tuple[str, str], list[str]] = {}
    for file in files:
        own: list[str] = []
        tables.append(opened(file, own, sep, encoding))
        for note in own:
            before, name, after = note.partition(repr(file.name))
            of.setdefault((before, after) if name else (note, ""), []).append(name)
    for (before, after), names in of.items():
        several = f"{len(names)} files, {names[0]} to {names[-1]}," if len(names) > 2 else ""
        notes.append(before + (several or " and ".join(names)) + after)
    return tables


def _with_options(
    data: xr.Dataset, options: Any, columns: Mapping[str, Any], notes: list[str]
) -> xr.Dataset:
    """Add the probabilities of options that a log has, or the reason why they are left out."""
    renamed = [role for role in ROLES if columns.get(role, role) != role]
    try:
        if renamed:
            raise ValueError(f"{renamed[0]} is another column than that of the log")
        return with_probabilities(data, options, None, "logits")
    except ValueError as error:
        notes.append(f"probabilities of options were left out: {error}")
        return data


def wide_trials(
    tables: Sequence[Any],
    *,
    columns: Mapping[str, Any],
    observers: Sequence[str] | None = None,
    kind: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
    notes: Sequence[str] = (),
) -> xr.Dataset:
    """Data of `Trials.from_wide`."""
    roles = {role: name for role, name in columns.items() if role in (*TRIAL_ROLES, "truth")}
    other = {role: name for role, name in columns.items() if role not in roles}
    wrong = next(
        (role for role in other if other[role] and role not in ("classes", "item_columns")), None
    )
    if wrong is not None:
        raise ValueError(
            f"a wide table has no column {wrong!r}; columns are {listed((*TRIAL_ROLES, 'truth'))}, "
            "and one for each observer"
        )
    described = other.get("item_columns", ())
    long = long_tables(
        tables, names=names, observers=observers, kind=kind, item_columns=described, **roles
    )
    source = open_tables(long.tables, names=long.names, missing=missing)
    try:
        data = table_aligned(source, other)
    except ValueError as error:
        if "column 'correct'" not in str(error):
            raise
        raise ValueError(
            f"{error}: without a column 'truth' answers are 0 and 1; name the column of right "
            "answers by truth=, and those of observers by observers=[...] if there are others"
        ) from None
    return _noted(data, [*notes, *long.notes])


def _noted(data: xr.Dataset, notes: Sequence[str]) -> xr.Dataset:
    """Put notes before those that the data have."""
    notes = [*dict.fromkeys(notes), *data.attrs.get(NOTES, ())]
    return data.assign_attrs({NOTES: notes}) if notes else data


def _reader(asked: str, files: Sequence[File]) -> Reader | None:
    """Who reads these files; None: they are tables."""
    known = readers()
    if asked not in ("auto", "table", *known):
        raise ValueError(
            f"format must be auto, table, {listed(known)}, got {asked!r}{nearest(asked, known)}"
        )
    if asked == "auto":
        return next((reader for reader in known.values() if reader.recognises(files)), None)
    return known.get(asked)


def _note_same_rows(
    files: Sequence[File], fields: list[dict[str, str]] | None, by_file: bool, notes: list[str]
) -> None:
    """Refuse two files with the same content, unless their names make them different."""
    if not by_file or len(files) < 2:
        return
    sizes = [file.n_bytes() for file in files]
    often = Counter(sizes)
    first: dict[bytes, int] = {}
    for number, (file, size) in enumerate(zip(files, sizes, strict=True)):
        # Only files of one size may hold the same.
        if often[size] == 1:
            continue
        other = first.setdefault(hashlib.sha256(file.read()).digest(), number)
        if other == number:
            continue
        pair = f"{files[other].name!r} and {file.name!r}"
        if fields is None or fields[other] == fields[number]:
            raise ValueError(f"{pair} hold the same rows; leave one out")
        notes.append(f"{pair} hold the same rows, though their names differ")


def _with_fields(table: Any, fields: dict[str, str], name: str) -> Any:
    lazy = isinstance(table, ParquetTable)
    frame = table if lazy else nw.from_native(table, eager_only=True)
    both = [field for field in fields if field in frame.columns]
    if both:
        raise ValueError(
            f"{both[0]!r} is a field of the pattern and a column of {name!r}; write * in place of "
            f"{{{both[0]}}}"
        )
    if lazy:
        return table.with_constants(fields)
    return frame.with_columns(**{k: nw.lit(v, dtype=nw.String) for k, v in fields.items()})


ROW = "row"


class Long(NamedTuple):
    """Tables with columns of the usual names, where each comes from, and what was found out."""

    tables: list[Any]
    names: list[str]
    notes: list[str]


def long_tables(
    tables: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    observers: Sequence[str] | None = None,
    truth: str = "truth",
    item: str = "item",
    condition: str = "condition",
    dataset: str = "dataset",
    repeat: str = "repeat",
    kind: Mapping[str, str] | None = None,
    item_columns: Sequence[str] = (),
) -> Long:
    """Make of each observer's column a long table."""
    roles = {"truth": truth, "item": item, "condition": condition, "dataset": dataset}
    roles["repeat"] = repeat
    if not isinstance(kind, Mapping | None):
        raise ValueError(f"kind must map observers to kinds in a wide table, got {kind!r}")
    made, places, found = [], [], dict[str, None]()
    notes: list[str] = []
    for number, table in enumerate(tables):
        frame = frame_of(table)
        of = dict(roles)
        if item == "item" and "item" not in frame.columns and "image" in frame.columns:
            of["item"] = "image"
        for role, name in of.items():
            if name != role and name not in frame.columns:
                raise ValueError(
                    f"no column {name!r} ({role}); the columns are {listed(frame.columns)}"
                    f"{nearest(name, frame.columns)}"
                )
        if of["item"] not in frame.columns:
            if ROW in frame.columns:
                raise ValueError("no column 'item'; name yours by item=")
            frame = frame.with_row_index(ROW)
            of["item"] = ROW
            notes.append("there is no column 'item': items are the rows, counted from 0")
        of = {role: name for role, name in of.items() if name in frame.columns}
        of |= {name: name for name in item_columns if name in frame.columns}
        people = _observers(frame.columns, observers, set(of.values()))
        found |= dict.fromkeys(people)
        answer = "response" if "truth" in of else "correct"
        for name in people:
            columns = [nw.col(column).alias(role) for role, column in of.items()]
            own = {"observer": nw.lit(name, dtype=nw.String)}
            if kind is not None:
                if name not in kind:
                    raise ValueError(
                        f"kind has no entry for observer {name!r}; it has {listed(kind)}"
                    )
                own["kind"] = nw.lit(kind[name], dtype=nw.String)
            made.append(frame.select(*columns, nw.col(name).alias(answer)).with_columns(**own))
            places.append(f"column {name}" + (f" of {names[number]}" if names else ""))
    if observers is None:
        notes.append(f"{len(found)} columns are observers: {listed(found, most=8)}")
    return Long(made, places, list(dict.fromkeys(notes)))


def _observers(
    columns: Sequence[str], observers: Sequence[str] | None, taken: set[str]
) -> list[str]:
    if isinstance(observers, str):
        raise ValueError(f"observers must be a list of columns, got {observers!r}")
    people = list(observers) if observers is not None else [c for c in columns if c not in taken]
    lacking = next((name for name in people if name not in columns), None)
    if lacking is not None:
        raise ValueError(
            f"no column {lacking!r} (an observer); the columns are {listed(columns)}"
            f"{nearest(lacking, columns)}"
        )
    if not people:
        raise ValueError(f"no column is left for an observer; the columns are {listed(columns)}")
    return people


PIECE = re.compile(r"\{(\w+)(:d)?\}|(\*)|([^{}*]+)|(.)")


def fields_of_names(pattern: str, files: Sequence[File]) -> list[dict[str, str]]:
    """Read fields off the names of files."""
    names = [match[1] for match in PIECE.finditer(pattern) if match[1]]
    if not names:
        raise ValueError(f"pattern {pattern!r} has no field; expected some, such as {{observer}}")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"pattern {pattern!r} has field {twice[0]!r} twice; name it once")
    short, long = (_expression(pattern, more) for more in ("+?", "+"))
    depth = pattern.count("/") + 1
    tails = ["/".join(_path(file).split("/")[-depth:]) for file in files]
    found = [short.fullmatch(tail) for tail in tails]
    if not any(found):
        raise ValueError(
            f"pattern={pattern!r} fits none of {len(files)} files; they are: "
            f"{listed(tails, most=5)}"
        )
    fields = []
    for match, tail in zip(found, tails, strict=True):
        if match is None:
            raise ValueError(
                f"pattern {pattern!r} does not fit {tail!r} (but {sum(map(bool, found))} other "
                "files); read the files apart, or leave it out"
            )
        one, other = match.groupdict(), long.fullmatch(tail).groupdict()  # type: ignore[union-attr]
        if one != other:
            name = next(name for name in one if one[name] != other[name])
            raise ValueError(
                f"pattern {pattern!r} fits {tail!r} in two ways, {name} {one[name]!r} or "
                f"{other[name]!r}; write out what parts the fields, or {{{names[-1]}:d}} for digits"
            )
        fields.append(one)
    return fields


def _path(file: File) -> str:
    path = file.path.absolute().as_posix()
    return f"{path}/{file.member}" if file.member else path


def _expression(pattern: str, more: str) -> re.Pattern[str]:
    text = ""
    for name, digits, star, literal, other in PIECE.findall(pattern):
        if other:
            raise ValueError(f"pattern {pattern!r} has a brace without its fellow; write {{field}}")
        if name:
            text += rf"(?P<{name}>\d{more})" if digits else f"(?P<{name}>[^/]{more})"
        else:
            text += f"[^/]*{more[1:]}" if star else re.escape(literal)
    return re.compile(text)
