"""Functions that read logs of other tools.

Each file in this folder has ``READERS``: each `Reader` has a name, recognizes files and fills a
`Log` from them.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from alikely._base.names import listed, nearest
from alikely.data.files import File, read_table

# Columns that identify rows of a log.
KEYS = ("observer", "dataset", "condition", "item", "repeat")
# Where a row comes from: columns that no log has.
PLACE = ["\0file", "\0number"]
LETTERS = 26


class Reader(NamedTuple):
    """A file format: its name, its title in notes, and the functions that recognize and read it."""

    name: str
    title: str
    recognizes: Callable[[Sequence[File]], bool]
    read: Callable[[Sequence[File], Log], None]


@cache
def readers() -> dict[str, Reader]:
    """Return all readers by name, in alphabetical order."""
    files = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    found = {reader.name: reader for file in files for reader in file.READERS}
    return {name: found[name] for name in sorted(found)}


class Run(NamedTuple):
    """One run of a model on a task."""

    observer: str
    task: str
    way: Mapping[str, str]  # arguments and settings: an observer of its own where they differ
    rank: tuple[Any, ...]  # of several the last in this order counts, if it repeats the others
    name: str
    content: Any
    keys: frozenset[Any] | None = None  # of its samples, if they are known


class Log:
    """A log that is read: choices of the user, samples or tables, and guesses.

    Readers of samples call `add` for each sample, and `finish` makes tables of the samples. Readers
    of experiments set `tables`, `columns` (of roles, and ``classes``) and `missing`.
    """

    def __init__(
        self, columns: Mapping[str, Any], names: list[str], of_files: Mapping[str, Any]
    ) -> None:
        self.asked = {name: of_files[name] for name in ("score", "filter")}
        self.renamed = columns  # by the user
        self.tables: list[Any] = []
        self.names = names  # where each table comes from
        self.by_file = True  # whether each table is one file
        # The file at work, and in it the number of the sample.
        self.current, self.number = "", -1
        self.columns: dict[str, Any] = {}
        self.missing: Sequence[str] = ()
        self.notes: list[str] = []
        self.options: pd.DataFrame | None = None
        self.truths: tuple[pd.DataFrame, str] | None = None  # of items, and where they come from
        self.rows: list[dict[str, Any]] = []
        self.text: dict[str, Any] = {name: of_files[name] for name in ("sep", "encoding")}
        self._all_runs = of_files["runs"] == "all"
        self._questions: dict[tuple[str, ...], tuple[Any, str]] = {}

    def table(self, file: File, odd_quotes: bool = False) -> pd.DataFrame:
        """Read a file as a table with null for empty cells; rows are numbered as in the file."""
        self.current = file.name
        found = read_table(file, self.notes, **self.text, odd_quotes=odd_quotes)
        if not len(found):
            self.notes.append(f"{file.name!r} has no rows")
        if isinstance(found, pd.DataFrame):
            return found
        return found.to_pandas().astype(object).where(lambda frame: frame.notna(), None)

    def records(self, file: File) -> list[dict[str, Any]]:
        """Entries of a JSON file, each with named fields."""
        self.current = file.name
        return file.objects(self.notes, self.text["encoding"])

    def samples(self, file: File, found: Iterable[Any] | None = None) -> Iterator[Any]:
        """Iterate over samples of a file (default: its records); note the place for messages."""
        records = self.records(file) if found is None else found
        for self.number, sample in enumerate(records):
            self.current = file.name
            yield sample
        self.number = -1

    @property
    def where(self) -> str:
        """Names of the current file and, if there is one, of the current sample."""
        return repr(self.current) + (f", sample {self.number}" if self.number >= 0 else "")

    def arrow(self, file: File) -> pa.Table:
        """Read a file as a table of typed columns."""
        self.current = file.name
        return read_table(file, self.notes, **self.text)

    def field(self, record: Any, *path: str | int) -> Any:
        """Look up a nested field."""
        here = record
        for step in path:
            try:
                here = here[step]
            except (KeyError, IndexError, TypeError):
                name = ".".join(map(str, path))
                raise ValueError(
                    f"{self.where} has no field {name!r}: an unknown version of this log; convert "
                    "it to a table and read that with format='table'"
                ) from None
        return here

    def label(self, record: Any, *path: str | int) -> str:
        """Look up a nested field that names something: a model, a task, an item."""
        found = self.field(record, *path)
        if found is None or found == "":
            raise ValueError(f"{self.where} has an empty field {'.'.join(map(str, path))!r}")
        return str(found)

    def right(self, value: Any, name: str, scores: Sequence[str] = ()) -> int:
        """Correctness, 0 or 1, from a number or a truth value."""
        if not isinstance(value, bool | int | float) or value not in (0, 1):
            fix = f"choose another score with score=, one of {listed(scores)}"
            if len(scores) == 1:
                fix = "the log has no other score, so correctness is unknown; score it again"
            raise ValueError(
                f"{name} of {self.where} is {value!r}, neither 0 nor 1, so not a score of "
                f"correctness; {fix if scores else 'choose another score with score='}"
            )
        return int(value)

    def runs(self, found: Sequence[Run]) -> list[tuple[str, str, Any]]:
        """Return observer, task and contents of the newest complete run of an observer and task."""
        ways: dict[str, dict[str, list[Mapping[str, str]]]] = {}
        for run in found:
            ways.setdefault(run.observer, {}).setdefault(run.task, []).append(run.way)
        names = []
        for run in found:
            # What tells this way of running a model from others at a task of its; mostly nothing.
            differ = {
                key
                for others in ways[run.observer].values()
                for key in set().union(*others)
                if len({other.get(key) for other in others}) > 1
            }
            told = ", ".join(key + run.way[key] for key in run.way if key in differ)
            names.append(f"{run.observer} ({told})" if told else run.observer)
        kept: dict[int, tuple[str, str, Any]] = {}
        read: dict[tuple[str, str], list[frozenset[Any] | None]] = {}
        older = []
        for i in sorted(range(len(found)), key=lambda i: found[i].rank, reverse=True):
            run, name = found[i], names[i]
            own = read.setdefault((name, run.task), [])
            # Runs of other samples are parts of one run.
            parts = run.keys is not None and not any(run.keys & (keys or set()) for keys in own)
            if not own or parts:
                own.append(run.keys)
                kept[i] = name, run.task, run.content
            elif self._all_runs:
                kept[i] = f"{name} ({run.name})", run.task, run.content
            else:
                older.append(run.name)
        if older:
            self.notes.append(
                "of several runs of a task the newest complete one was read; left out: "
                f"{listed(older, most=5)} (or give runs='all')"
            )
        return [kept[i] for i in sorted(kept)]

    def choose(self, what: str, keyword: str, there: Iterable[str], place: str = "") -> str:
        """Choose one of several names as requested by the user; a single name needs no request."""
        place = place or self.where
        names, asked = list(dict.fromkeys(there)), self.asked[keyword]
        if asked is not None:
            found = [name for name in asked.split(",") if name in names]
            if not found:
                there_are = f"choose from {listed(names)}"
                if len(names) == 1:
                    there_are = f"there is only {names[0]!r}"  # which may be called none
                raise ValueError(
                    f"{place} has no {what} {asked!r}; {there_are}{nearest(asked, names)}"
                )
            return found[0]
        if not names:
            raise ValueError(f"{place} has no {what}: correctness is unknown")
        if len(names) > 1:
            raise ValueError(
                f"{place} has {len(names)} {what}s, {listed(names)}; choose one with "
                f"{keyword}={names[0]!r}"
            )
        return names[0]

    def only(self, files: Iterable[File], known: Iterable[File]) -> list[File]:
        """Return the files that belong to the log, and add a note on all other files."""
        belong = dict.fromkeys(known)
        if others := [file.name for file in files if file not in belong]:
            self.notes.append(f"{len(others)} other files were not read: {listed(others, most=3)}")
        return [*belong]

    def add(
        self,
        observer: str,
        dataset: str,
        item: str,
        *,
        condition: str = "all",
        mark: Any = None,
        answered: bool = True,
        **answer: Any,
    ) -> None:
        """Add the current sample; an item is one question (by text or hash) for all observers.

        A sample that ended without a response (timeout, exception, nothing extracted) is missing.
        """
        key = dataset, condition, item
        name = self.current
        before, where = self._questions.setdefault(key, (mark, name)) if mark else (mark, "")
        if before != mark:
            raise ValueError(
                f"item {item!r} of {dataset!r} is one question in {where!r} and another in "
                f"{name!r}: the logs have different versions of the data; read them separately"
            )
        if not answered and answer["correct"] != 1:
            answer |= {"correct": None} | ({"response": None} if "response" in answer else {})
        own = {"observer": observer, "kind": "model", "dataset": dataset, "condition": condition}
        place = dict(zip(PLACE, (self.current, self.number), strict=True))
        self.rows.append({**own, "item": item, **answer, **place})

    def finish(self) -> None:
        """Make a table of the samples of each file, with labels if all samples have them."""
        if not self.rows:
            raise ValueError("no sample was found; are the files of another format?")
        table = pd.DataFrame(self.rows).astype({"correct": object})
        logits = table.pop("logits") if "logits" in table else None
        dropped = ["correct"]
        if why := _without_labels(table):
            dropped = ["truth", "response"]
            self.notes.append(f"{why}: correctness only")
        else:
            # Options are admissible answers, also those that are never right.
            self.columns["classes"] = "seen"
            if logits is not None:
                self.options = _options(table, logits)
                of_table = [table["truth"], table["response"].dropna(), self.options["option"]]
                # Positions by their size; letters as they are.
                names = pd.concat(of_table).unique()
                self.columns["classes"] = sorted(names, key=lambda name: (len(name), name))
        table = table.drop(columns=dropped, errors="ignore")
        self.by_file, self.names, self.tables = False, [], []
        file, number = PLACE
        for name, own in table.groupby(file, sort=False):
            self.names.append(str(name))
            self.tables.append(own.set_index(number).drop(columns=file))


def _without_labels(table: pd.DataFrame) -> str:
    """Why samples have no labels that determine correctness; empty if all have them."""
    if not {"truth", "response"} <= set(table):
        return "answers are free text"
    lacks, silent, correct = table["truth"].isna(), table["response"].isna(), table["correct"]
    if lacks.all():
        return "answers are free text"
    if silent.all():
        return "no answers were written, only whether they are right"
    agree = (table["truth"] == table["response"]).astype(float)
    reasons = {
        "have no options, or several right ones": lacks,
        "were right, and their answer is no option": silent & ~lacks & (correct == 1),
        "have an answer that contradicts their score": (
            ~lacks & ~silent & correct.notna() & (agree != correct.astype(float))
        ),
    }
    n = len(table)
    return "; ".join(
        f"{odd.sum()} of {n} samples {why}" for why, odd in reasons.items() if odd.any()
    )


def _options(table: pd.DataFrame, logits: pd.Series) -> pd.DataFrame:
    """A row for each option of each row of a table, options by their positions or letters."""
    known = logits.notna()
    keys = [name for name in KEYS if name in table]
    long = table.loc[known, keys].assign(logit=logits[known]).explode("logit", ignore_index=True)
    number = np.concatenate([np.arange(len(values)) for values in logits[known]])
    letters = bool(table["truth"].str.isalpha().all())
    option = [chr(ord("A") + n) if letters else str(n) for n in number.tolist()]
    return long.assign(option=option, logit=long["logit"].astype(np.float64))


def having(
    *ways: Collection[str], suffix: Collection[str] = ()
) -> Callable[[Sequence[File]], bool]:
    """Make a function that recognizes files by the columns of the first one with a suffix.

    It must have all columns of one of the `ways`, in upper or lower case.
    """

    def recognizes(files: Sequence[File]) -> bool:
        own = next((file for file in files if not suffix or file.suffix in suffix), None)
        there = set() if own is None else {name.lower() for name in own.columns()}
        return any(set(names) <= there for names in ways)

    return recognizes


def option(text: Any, n_options: int = 0) -> str | None:
    """Return the letter of the option that a text names, such as B; None for any other text.

    Options after Z are numbered.
    """
    letter = str(text).strip().strip("().")
    if letter.isascii() and letter.isdecimal() and 0 < int(letter) <= n_options - LETTERS:
        return letter
    return letter.upper() if len(letter) == 1 and letter.isascii() and letter.isalpha() else None


def letter_logits(
    tokens: Iterable[tuple[Any, Iterable[tuple[Any, float]]]],
    answer: str | None,
    letters: list[str],
) -> list[float]:
    """Log likelihoods of the letters of all options, at the first token that equals the answer."""
    for token, alternatives in tokens:
        if answer is not None and option(token) == answer:
            # The likeliest of several ways to write a letter counts.
            best = {option(text): value for text, value in sorted(alternatives, key=lambda a: a[1])}
            found = [best[letter] for letter in letters if letter in best]
            whole = len(found) == len(letters) > 1 and all(map(math.isfinite, found))
            return found if whole else []
    return []


def among(truth: Any, likelihood: Sequence[float]) -> dict[str, Any]:
    """Correct option, most probable option (the first of several), and all log likelihoods."""
    best = max(range(len(likelihood)), key=lambda k: likelihood[k])
    row = {"truth": str(truth), "response": str(best)}
    # A model that finds nothing possible, or no number, has no probabilities.
    finite = all(math.isfinite(value) for value in likelihood)
    return row | {"logits": list(likelihood)} if finite else row
