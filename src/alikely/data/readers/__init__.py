"""Readers of logs of other tools: a file for each, found here by being in this folder.

A file has ``READER``, a `Reader`: what it is called, which files it recognises, and how these fill
a `Log`.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from alikely._base.names import listed, nearest
from alikely.data.files import File

__all__ = [
    "Log", "Reader", "among", "field", "has_columns", "label", "objects", "option", "readers",
    "right",
]  # fmt: skip

# Columns that tell rows of a log apart.
KEYS = ("observer", "dataset", "condition", "item", "repeat")


class Reader(NamedTuple):
    """A format: its name, what it is called in a note, and its two functions."""

    name: str
    title: str
    recognises: Callable[[Sequence[File]], bool]
    read: Callable[[Sequence[File], Log], None]


@cache
def readers() -> dict[str, Reader]:
    """Readers by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").READER for name in names]
    return {reader.name: reader for reader in found}


class Log:
    """A log: what the user chose of it, its samples or tables, and what was guessed.

    Readers of samples `add` these; those of experiments set `tables`, `columns` (of roles; and
    ``classes``) and `missing`.
    """

    def __init__(
        self, score: str | None, filter_: str | None, columns: Mapping[str, Any], names: list[str]
    ) -> None:
        self.asked = {"score": score, "filter": filter_}
        self.renamed = columns  # by the user
        self.tables: list[Any] = []
        self.names = names  # where each table comes from
        self.columns: dict[str, Any] = {}
        self.missing: Sequence[str] = ()
        self.notes: list[str] = []
        self.options: pd.DataFrame | None = None
        self.rows: list[dict[str, Any]] = []
        self._questions: dict[tuple[str, ...], tuple[Any, str]] = {}

    def choose(self, what: str, keyword: str, there: Iterable[str], place: str) -> str:
        """Choose one of several by name; the only one needs no choice."""
        names, asked = list(dict.fromkeys(there)), self.asked[keyword]
        if asked is not None:
            found = [name for name in asked.split(",") if name in names]
            if not found:
                there_are = f"there are: {listed(names)}"
                if len(names) == 1:
                    there_are = f"there is only {names[0]!r}"  # which may be called none
                raise ValueError(
                    f"{place} has no {what} {asked!r}; {there_are}{nearest(asked, names)}"
                )
            return found[0]
        if not names:
            raise ValueError(f"{place} has no {what}: nothing says whether answers are right")
        if len(names) > 1:
            raise ValueError(
                f"{place} has {len(names)} {what}s, {listed(names)}; choose one with "
                f"{keyword}={names[0]!r}"
            )
        return names[0]

    def note_unread(self, files: Iterable[File], known: Iterable[File]) -> None:
        """Note the files beside those of the log."""
        others = [file.name for file in files if file not in set(known)]
        if others:
            self.notes.append(f"{len(others)} other files were not read: {listed(others, most=3)}")

    def newest(
        self, dated: Iterable[tuple[str, str, str, File]], what: str
    ) -> list[tuple[str, str, File]]:
        """Observers, tasks and files: of each task of an observer that of the last date."""
        found: dict[tuple[str, str], tuple[str, File]] = {}
        older = []
        for observer, task, date, file in dated:
            before = found.setdefault((observer, task), (date, file))
            if before[1] is not file:
                first, last = sorted([before, (date, file)], key=lambda entry: entry[0])
                older.append(first[1].name)
                found[observer, task] = last
        if older:
            self.notes.append(
                f"of several {what} the newest was read; left out: {', '.join(older)}"
            )
        return [(*key, file) for key, (_, file) in found.items()]

    def add(
        self,
        observer: str,
        dataset: str,
        item: str,
        *,
        condition: str = "all",
        place: str,
        mark: Any = None,
        **answer: Any,
    ) -> None:
        """Add a sample; one item must be one question (by its text or hash) for all observers."""
        key = dataset, condition, item
        before, where = self._questions.setdefault(key, (mark, place)) if mark else (mark, "")
        if before != mark:
            raise ValueError(
                f"item {item!r} of {dataset!r} is one question in {where} and another in {place}: "
                "the logs are of different versions of the data; read them apart"
            )
        place_of = {"dataset": dataset, "condition": condition, "item": item}
        self.rows.append({"observer": observer, "kind": "model", **place_of, **answer})

    def finish(self, what: str) -> None:
        """Make one table of the samples, by answers if all have them."""
        if not self.rows:
            raise ValueError(f"no sample was found in {what}; are the files of another format?")
        table = pd.DataFrame(self.rows)
        logits = table.pop("logits") if "logits" in table else None
        self.names = [what]
        if not {"truth", "response"} <= set(table):
            self.notes.append("answers are free text: correctness only")
            self.tables = [table]
            return
        lacks = table["truth"].isna()
        known = table["correct"].notna() & table["response"].notna() & ~lacks
        agree = (table["truth"] == table["response"]).astype(float)
        against = known & (agree != table["correct"].astype(float))
        # An answer that is missing, but was scored, is known by its score alone.
        scored = table["response"].isna() & table["correct"].notna()
        if lacks.any() or against.any() or scored.any():
            why = "have no options"
            if not lacks.any():
                why = "have an answer that contradicts their score"
            n = int(lacks.sum() if lacks.any() else (against | scored).sum())
            self.notes.append(f"{n} of {len(table)} samples {why}: correctness only")
            self.tables = [table.drop(columns=["truth", "response"])]
            return
        self.tables = [table.drop(columns="correct")]
        # Options are admissible answers, also those that are never right.
        self.columns["classes"] = "seen"
        if logits is not None:
            self.options = _options(table, logits)
            of_table = [table["truth"], table["response"].dropna(), self.options["option"]]
            # Positions by their size; letters as they are.
            names = pd.concat(of_table).unique()
            self.columns["classes"] = sorted(names, key=lambda name: (len(name), name))


def _options(table: pd.DataFrame, logits: pd.Series) -> pd.DataFrame:
    """A row for each option of each row of a table, options by their positions or letters."""
    known = logits.notna()
    keys = [name for name in KEYS if name in table]
    long = table.loc[known, keys].assign(logit=logits[known]).explode("logit", ignore_index=True)
    number = np.concatenate([np.arange(len(values)) for values in logits[known]])
    letters = bool(table["truth"].str.isalpha().all())
    option = [chr(ord("A") + n) if letters else str(n) for n in number.tolist()]
    return long.assign(option=option, logit=long["logit"].astype(np.float64))


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


def among(truth: Any, likelihood: Sequence[float]) -> dict[str, Any]:
    """Right option, likeliest option (the first of several), and log likelihoods of all."""
    best = max(range(len(likelihood)), key=lambda k: likelihood[k])
    row = {"truth": str(truth), "response": str(best)}
    # A model that finds nothing possible, or no number, has no probabilities.
    finite = all(math.isfinite(value) for value in likelihood)
    return row | {"logits": list(likelihood)} if finite else row
