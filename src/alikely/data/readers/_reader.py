"""What readers of logs share: what they are, what they return, how one score is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from alikely._base.names import listed, nearest
from alikely.data.files import File

__all__ = [
    "Choice",
    "Log",
    "Questions",
    "Reader",
    "among",
    "chosen",
    "field",
    "has_columns",
    "label",
    "largest",
    "log_of_rows",
    "note_unread",
    "objects",
    "option",
    "right",
]


# Columns that tell rows of a log apart.
KEYS = ("observer", "dataset", "condition", "item", "repeat")


class Choice(NamedTuple):
    """What the user chose: one of several scores, one of several filters, columns by role."""

    score: str | None = None
    filter: str | None = None
    columns: Mapping[str, Any] = {}


class Log(NamedTuple):
    """Tables of a log, where each comes from, roles of their columns, and what was guessed."""

    tables: list[Any]
    names: list[str]
    columns: dict[str, Any]  # and "classes"
    notes: list[str]
    missing: Sequence[str] = ()
    options: pd.DataFrame | None = None


class Reader(NamedTuple):
    """A format: its name, what it is called in a note, and its two functions."""

    name: str
    title: str
    recognises: Callable[[Sequence[File]], bool]
    read: Callable[[Sequence[File], Choice], Log]


def chosen(what: str, keyword: str, asked: str | None, there: Iterable[str], place: str) -> str:
    """Choose one of several by name; the only one needs no choice."""
    names = list(dict.fromkeys(there))
    if asked is not None:
        found = [name for name in asked.split(",") if name in names]
        if not found:
            there_are = f"there are: {listed(names)}"
            if len(names) == 1:
                there_are = f"there is only {names[0]!r}"  # which may be called none
            raise ValueError(f"{place} has no {what} {asked!r}; {there_are}{nearest(asked, names)}")
        return found[0]
    if not names:
        raise ValueError(f"{place} has no {what}: nothing says whether answers are right")
    if len(names) > 1:
        raise ValueError(
            f"{place} has {len(names)} {what}s, {listed(names)}; choose one with "
            f"{keyword}={names[0]!r}"
        )
    return names[0]


def field(record: Any, *path: str | int, place: str) -> Any:
    """Look up a nested field."""
    here = record
    for step in path:
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            name = ".".join(map(str, path))
            raise ValueError(
                f"{place} has no field {name!r}: a version of this log that is not known; make a "
                "table of it and read that (format='table')"
            ) from None
    return here


def label(record: Any, *path: str | int, place: str) -> str:
    """Look up a nested field that names something: a model, a task, an item."""
    found = field(record, *path, place=place)
    if found is None or found == "":
        raise ValueError(f"{place} has nothing in its field {'.'.join(map(str, path))!r}")
    return str(found)


def has_columns(files: Sequence[File], *names: str) -> bool:
    """Whether the first file has these columns, in letters of any size."""
    return set(names) <= {name.lower() for name in files[0].columns()}


def note_unread(files: Iterable[File], known: Iterable[File], notes: list[str]) -> None:
    """Note the files beside those of the log."""
    others = [file.name for file in files if file not in set(known)]
    if others:
        notes.append(f"{len(others)} other files were not read: {listed(others, most=3)}")


def objects(file: File, notes: list[str]) -> list[dict[str, Any]]:
    """Entries of a JSON file, each with named fields."""
    found = file.records(notes)
    bad = next((i for i, entry in enumerate(found) if not isinstance(entry, dict)), None)
    if bad is not None:
        raise ValueError(
            f"{file.name!r}, entry {bad} is {type(found[bad]).__name__}; expected an object with "
            "fields, a sample or trial"
        )
    return found


class Questions:
    """What was asked, by item: one item must be the same question for all observers."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], tuple[Any, str]] = {}

    def check(self, item: tuple[str, ...], mark: Any, place: str) -> None:
        """Refuse an item whose mark (a hash or the text of the question) was another before."""
        if not mark:
            return
        before, where = self._seen.setdefault(item, (mark, place))
        if before != mark:
            raise ValueError(
                f"item {item[-1]!r} of {item[0]!r} is one question in {where} and another in "
                f"{place}: the logs are of different versions of the data; read them apart"
            )


def option(text: Any) -> str | None:
    """A text that is the letter of an option, such as B; None for any other."""
    letter = str(text).strip().strip("().")
    return letter.upper() if len(letter) == 1 and letter.isascii() and letter.isalpha() else None


def right(value: Any, place: str) -> int:
    """Correctness that is 0 or 1, of a number or a truth value."""
    if not isinstance(value, bool | int | float) or value not in (0, 1):
        raise ValueError(
            f"{place} is {value!r}, neither 0 nor 1: not a score of right and wrong; choose another"
        )
    return int(value)


def among(truth: str, likelihood: Sequence[float]) -> dict[str, Any]:
    """Right option, likeliest option, and log likelihoods of all, for a row of `log_of_rows`."""
    row = {"truth": truth, "response": largest(likelihood)}
    # A model that finds nothing possible, or no number, has no probabilities.
    finite = all(math.isfinite(value) for value in likelihood)
    return row | {"logits": list(likelihood)} if finite else row


def largest(values: Sequence[float]) -> str:
    """Position of the largest, the first of several, as a label."""
    return str(max(range(len(values)), key=lambda k: values[k]))


def log_of_rows(rows: Sequence[Mapping[str, Any]], what: str, notes: list[str]) -> Log:
    """One table of rows with ``observer, item`` and more, by answers if all have them."""
    if not rows:
        raise ValueError(f"no sample was found in {what}; are the files of another format?")
    table = pd.DataFrame(list(rows))
    logits = table.pop("logits") if "logits" in table else None
    if {"truth", "response"} <= set(table):
        lacks = table["truth"].isna()
        known = table["correct"].notna() & table["response"].notna() & ~lacks
        agree = (table["truth"] == table["response"]).astype(float)
        against = known & (agree != table["correct"].astype(float))
        # An answer that is missing, but was scored, is known by its score alone.
        scored = table["response"].isna() & table["correct"].notna()
        if lacks.any() or against.any() or scored.any():
            table = table.drop(columns=["truth", "response"])
            why = (
                "have no options" if lacks.any() else "have an answer that contradicts their score"
            )
            n = int(lacks.sum() if lacks.any() else (against | scored).sum())
            notes.append(f"{n} of {len(rows)} samples {why}: correctness only")
        else:
            table = table.drop(columns="correct")
            notes = list(dict.fromkeys(notes))
            # Options are admissible answers, also those that are never right.
            if logits is None:
                return Log([table], [what], {"classes": "seen"}, notes)
            options = _options(table, logits)
            of_table = pd.concat([table["truth"], table["response"].dropna(), options["option"]])
            # Positions by their size; letters as they are.
            classes = sorted(of_table.unique(), key=lambda name: (len(name), name))
            return Log([table], [what], {"classes": classes}, notes, options=options)
    else:
        notes.append("answers are free text: correctness only")
    return Log([table], [what], {}, list(dict.fromkeys(notes)))


def _options(table: pd.DataFrame, logits: pd.Series) -> pd.DataFrame:
    """A row for each option of each row of a table, options by their positions or letters."""
    known = logits.notna()
    keys = [name for name in KEYS if name in table]
    long = table.loc[known, keys].assign(logit=logits[known]).explode("logit", ignore_index=True)
    number = np.concatenate([np.arange(len(values)) for values in logits[known]])
    letters = bool(table["truth"].str.isalpha().all())
    option = [chr(ord("A") + n) if letters else str(n) for n in number.tolist()]
    return long.assign(option=option, logit=long["logit"].astype(np.float64))
