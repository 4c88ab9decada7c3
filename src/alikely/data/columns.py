"""Alignment of trials: labels and responses of tables and arrays become one dataset."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.checks import entries
from alikely._base.names import listed, nearest
from alikely._base.size import check_memory
from alikely.data.ingest import Source, item_column, label

# Names of dims, variables and coordinates of trials.
OWN_NAMES = (
    "observer", "kind", "trial", "item", "condition", "dataset", "repeat", "truth", "class",
    "response", "correct", "n_options", "probability", "inclusion", "stratum", "stratum_images",
)  # fmt: skip
# Range of 64-bit integers.
MOST_NUMBER = np.iinfo(np.int64).max
# Roles of columns of a long table.
ROLES = (
    "observer", "item", "response", "truth", "correct", "condition", "dataset", "repeat", "kind",
)  # fmt: skip
KEYS = ("observer", "item", "dataset", "condition", "kind")
# Trials are sorted by these: by first appearance, repeats numerically.
OF_TRIAL = ("dataset", "condition", "item", "repeat")
DEFAULT_LABEL = "all"
# Numbers of the grid: 0 not shown, 1 shown without a response, then labels.
FIRST = 2
# Responses that get their final numbers at a time.
BLOCK = 4_000_000
TWO_BYTES = np.iinfo(np.uint16).max
NO_RESPONSE = -1
NOT_SHOWN = -2
# A response whose correctness is unknown.
NO_TRUTH = -3
# Attribute by which a loader says whether a label of two data sets is one person ("label") or two
# ("dataset").
HUMAN_IDS = "human_ids"
# Attribute of trials: classes that are the truth only in data sets that were left out.
ELSEWHERE = "true_elsewhere"
# Level of each condition, for benchmarks.
LEVELS = "levels"
# Attribute of trials: what was guessed or counted when they were read.
NOTES = "notes"
# Attribute of trials: names of the columns that describe their items.
ITEM_COLUMNS = "item_columns"
# Maximal proportion of responses with classes that are never true and not listed.
MOST_UNTRUE = 0.02
# Texts that may mean no response but are read as classes.
LIKE_MISSING = {
    "-", "--", "?", "miss", "missed", "missing", "n/a", "na", "nan", "no response", "none", "null",
    "skip", "skipped", "timeout", "timed out",
}  # fmt: skip
SEEN = "seen"
# Values of a column of correctness, in upper or lower case.
MEANING = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "0.00": 0, "1.00": 1, "false": 0, "true": 1}
# The class of missing responses, where they count as errors.
SILENT = "(no response)"


def code_dtype(class_labels: Sequence[str]) -> type[np.signedinteger[Any]]:
    """Smallest integer type for codes of these classes."""
    return np.int16 if len(class_labels) < np.iinfo(np.int16).max else np.int32


def class_labels(truth: Sequence[str] | NDArray[Any]) -> list[str]:
    """Classes that occur, with numbers in numeric order."""
    names = sorted(set(truth))
    try:
        return sorted(names, key=int)
    except ValueError:
        return names


def admissible(
    true: Sequence[str] | NDArray[Any],
    answers: Mapping[str, int],
    classes: Sequence[Any] | str | None,
) -> tuple[list[str], str]:
    """Admissible classes, and a note on those that are never true."""
    if isinstance(classes, str) and classes != SEEN:
        raise ValueError(f"classes must be a list of labels or 'seen', got {classes!r}")
    if classes is not None and not isinstance(classes, str):
        return _listed_classes(classes), ""
    known = set(true)
    untrue = {name: n for name, n in answers.items() if name not in known}
    n_untrue, n = sum(untrue.values()), sum(answers.values())
    if classes is None and n_untrue > MOST_UNTRUE * n:
        untrue = {}
    every = class_labels([*known, *untrue])
    lower: dict[str, str] = {}
    for name in sorted({*every, *answers}):
        other = lower.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"classes {other!r} and {name!r} differ only in case; use one spelling or, if "
                "they are two classes, list all of them with classes=[...]"
            )
    if not untrue:
        return every, ""
    silent = [name for name in untrue if name.casefold() in LIKE_MISSING]
    hint = f"; if no answer is meant, read it as missing, na_values={silent!r}" if silent else ""
    return every, (
        f"{n_untrue} of {n} answers are of classes that are never true ({listed(untrue, most=5)}); "
        f"they count as classes and as wrong{hint}"
    )


def _listed_classes(classes: Any) -> list[str]:
    """Classes as listed by the user, without duplicates."""
    given = entries("classes", classes, "['cat', 'dog']")
    names = [label(name) for name in given]
    for name, text in zip(given, names, strict=True):
        check_label("classes", text, name)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"classes has {twice[0]!r} twice; list each class once")
    return names


def check_label(where: str, text: str, value: object = "") -> None:
    """Raise `ValueError` for a label that is missing, empty, blank or of another type."""
    missing = value is None or (isinstance(value, float) and np.isnan(value)) or text == "<NA>"
    odd = isinstance(value, bytes | list | tuple | set | dict | np.ndarray)
    # Half of a pair of surrogates has no code.
    if "\0" in text or text.encode(errors="ignore").decode() != text:
        raise ValueError(
            f"a label must be text that a file can hold, got {text!r} ({where}); change it"
        )
    if missing or odd or not text.strip():
        shown = repr(text if isinstance(value, str) else value)
        raise ValueError(
            f"a label must be text or a number, got {shown} ({where}); name it or leave it out"
        )


def class_codes(
    texts: Sequence[str] | NDArray[Any], known: Sequence[str], where: Callable[[int], str]
) -> NDArray[Any]:
    """Positions of texts among the known classes; `where` names the place of one that is not."""
    code = {name: i for i, name in enumerate(known)}
    for i, text in enumerate(texts):
        if text not in code:
            raise ValueError(
                f"{text!r} ({where(i)}) is not among the {len(known)} classes {listed(known)}; if "
                "it is an admissible answer, list all of them with classes=[...], or take whatever "
                "was answered with classes='seen'; if it means no response, leave it empty (or, in "
                f"a file, name it in na_values){nearest(text, known)}"
            )
    return np.array([code[text] for text in texts], dtype=code_dtype(known))


def check_label_names(
    names: Iterable[str], argument: str = "labels", of: str = "observers"
) -> None:
    """Raise an error for labels with a name that trials use themselves."""
    names = entries(argument, names)
    odd = [name for name in names if not isinstance(name, str) or not name.strip()]
    if odd:
        raise ValueError(f"{argument} of {of} must be named by text, got {odd[0]!r}; rename it")
    taken = [name for name in names if name in OWN_NAMES]
    if taken:
        raise ValueError(
            f"a label of {of} must not have the name {taken[0]!r}, as trials use "
            f"{', '.join(OWN_NAMES)} themselves; give the column another name"
        )


def with_silence(names: Sequence[str]) -> list[str]:
    """Add the class of missing responses; `ValueError` if its name is taken."""
    if SILENT in names:
        raise ValueError(
            f"{SILENT!r} is a class, but also the name of missing responses; rename the class"
        )
    return [*names, SILENT]


def table_aligned(source: Source, columns: Mapping[str, Any]) -> xr.Dataset:
    """Align long tables, by names of columns and options of `Trials.from_table`."""
    known = (*ROLES, "labels", "item_columns", "classes")
    if (unknown := next((name for name in columns if name not in known), None)) is not None:
        raise ValueError(
            f"there is no column or option {unknown!r}; columns are {listed(ROLES)}"
            f"{nearest(unknown, known)}"
        )
    labels, item_columns = columns.get("labels", ()), columns.get("item_columns", ())
    check_label_names(labels)
    check_label_names(item_columns, "item_columns", "items")
    if both := set(labels) & set(item_columns):
        raise ValueError(
            f"column {min(both)!r} is given twice, in labels and in item_columns; a column "
            "describes either observers or items"
        )
    names = {role: columns.get(role, role) for role in ROLES}
    pairs = itertools.combinations([role for role in ROLES if role != "kind"], 2)
    if twice := next(((a, b) for a, b in pairs if names[a] == names[b]), None):
        raise ValueError(f"column {names[twice[0]]!r} is given twice, as {' and as '.join(twice)}")
    # Files of two layouts raise their own error, before their rows clash.
    there = {name: source.has(name) for name in names.values()}
    names["item"] = item_column(names["item"], source.columns)
    answered = there[names["response"]] or there[names["truth"]] or not there[names["correct"]]
    unused: tuple[str, ...] = ("correct",) if answered else ("response", "truth")
    if answered and names["truth"] == "truth" and not there["truth"] and there[names["response"]]:
        # Readings: nobody says which are right, or that alone is said.
        judged = there[names["correct"]] and names["response"] == "response"
        unused = ("response", "truth") if judged else ("correct", "truth")
    # A column of another name than its role was asked for, and must be there.
    optional = ("condition", "dataset", "kind", "repeat")
    names = {
        role: name
        for role, name in names.items()
        if role not in unused and (role not in optional or name != role or there[name])
    }
    for name in (*names.values(), *labels, *item_columns):
        source.require(name)
    while True:
        reading = _Reading(source, names, labels, item_columns, columns.get("classes"))
        try:
            for start, codes in source.pieces(list(source.labels)):
                if len(codes[reading.answer]):
                    reading.add(start, codes)
        except ValueError:
            # What contradicts itself may be the same number written in two ways.
            if not source.found_floats(complete=False):
                raise
        else:
            if not source.found_floats(complete=True):
                return reading.finished()


def _first_values(
    known: NDArray[np.int32], at: NDArray[np.integer[Any]], values: NDArray[np.int32]
) -> NDArray[np.int32]:
    """First value of each observer or trial; they are numbered in order of appearance."""
    n = int(at.max()) + 1
    if n <= len(known):
        return known
    first = np.empty(n, dtype=np.int32)
    # Backwards: the first of several stays.
    first[at[::-1]] = values[::-1]
    return np.append(known, first[len(known) :])


def _grown(grid: NDArray[Any], *largest: int) -> NDArray[Any]:
    """A grid with room for the largest numbers of an observer, a trial and an answer."""
    kind = np.promote_types(np.uint16 if largest[2] + FIRST <= TWO_BYTES else np.uint32, grid.dtype)
    n, n_trials = (number + 1 for number in largest[:2])
    shape = [max(n, grid.shape[0]), max(n_trials, grid.shape[1])]
    if kind == grid.dtype and shape == [*grid.shape]:
        return grid
    _check_grid(n, n_trials, kind.itemsize)
    # Little in reserve: where pages are large, what is reserved is taken.
    reserve = [m if m == size else m + m // 8 for m, size in zip(shape, grid.shape, strict=True)]
    grown = np.zeros(reserve, dtype=kind)
    grown[: len(grid), : grid.shape[1]] = grid
    return grown


def _check_grid(n: int, n_trials: int, itemsize: int) -> None:
    """Raise an error for a grid too large for memory."""
    size = float(n) * n_trials
    if size > BLOCK:
        check_memory(
            size * (2 * itemsize + 1),
            f"answers of {n:,} observers on {n_trials:,} trials",
            "read fewer at a time",
        )


class _Reading:
    """What was read so far of the columns with a role; only responses are kept in memory."""

    def __init__(
        self,
        source: Source,
        columns: Mapping[str, str],
        labels: Sequence[str],
        item_columns: Sequence[str],
        classes: Sequence[Any] | str | None,
    ) -> None:
        self.source, self.columns, self.classes = source, columns, classes
        self.item_columns = item_columns
        self.answered = "response" in columns
        self.answer = columns["response" if self.answered else "correct"]
        listed_classes = [] if classes is None or isinstance(classes, str) else classes
        keep = {label(name) for name in listed_classes}
        names = dict.fromkeys([*columns.values(), *labels, *item_columns])
        of_classes = [columns[r] for r in ("response", "truth") if self.answered and r in columns]
        source.restart([*names], dict.fromkeys(of_classes, keep))
        self.n_answers = np.zeros(1, dtype=np.int64)  # of none, and of each label
        # Response numbers (observer, trial), 0 where there is none.
        self.grid: NDArray[Any] = np.zeros((0, 0), dtype=np.uint16)
        # Columns with one value for each observer or trial, the same in all its rows.
        of = {"kind": "observer", "truth": "trial"}
        self.fixed = {role: (columns[role], of[role]) for role in of if role in columns}
        self.fixed |= {name: (name, "observer") for name in labels}
        self.fixed |= {name: (name, "trial") for name in item_columns}
        self.first = {role: np.empty(0, dtype=np.int32) for role in self.fixed}
        # The number of a trial is made of those of its labels, one after the other.
        self.of_trial = [role for role in OF_TRIAL if role in columns]
        self.keys = [np.empty(0, dtype=np.int64) for _ in self.of_trial[1:]]

    def add(self, start: int, codes: Mapping[str, NDArray[np.int32]]) -> None:
        """Add a chunk whose first row is `start`."""
        answer = codes[self.answer]
        for name, own in codes.items():
            if name != self.answer:
                self.source.refuse_gaps(name, start, own)
        observer, trial = codes[self.columns["observer"]], self._trials(codes)
        at: dict[str, NDArray[Any]] = {"observer": observer, "trial": trial}
        most = (int(numbers.max()) for numbers in (observer, trial, answer))
        self.grid = _grown(self.grid, *most)
        self.grid[observer, trial] = answer + FIRST
        n_answers = np.bincount(answer + 1, minlength=len(self.n_answers))
        n_answers[: len(self.n_answers)] += self.n_answers
        self.n_answers = n_answers
        for role, (name, of) in self.fixed.items():
            self.first[role] = _first_values(self.first[role], at[of], codes[name])
            odd = self.first[role][at[of]] != codes[name]
            if odd.any():
                self._refuse_clash(role, start, codes, int(np.argmax(odd)))

    def _trials(self, codes: Mapping[str, NDArray[np.int32]]) -> NDArray[np.int64]:
        """Number the trial of each row, in order of first appearance."""
        first, *others = (codes[self.columns[role]] for role in self.of_trial)
        number: NDArray[np.int64] = first.astype(np.int64)
        for level, own in enumerate(others):
            local, new = pd.factorize(number << 32 | own)
            n = len(self.keys[level])
            every, self.keys[level] = pd.factorize(np.concatenate([self.keys[level], new]))
            number = every[n:][local]
        return number

    def _refuse_clash(
        self, role: str, start: int, codes: Mapping[str, NDArray[np.int32]], row: int
    ) -> None:
        """Raise an error for a row whose observer or trial has another value in an earlier row."""
        name, of = self.fixed[role]
        value, where = self._label(name, codes[name][row]), self.source.where(start + row)
        observer = codes[self.columns["observer"]][row]
        # Before duplicates: a person and a model of one name are two observers, not one twice.
        if of == "observer":
            raise ValueError(
                f"observer {self._text('observer', observer)!r} has {role} "
                f"{self._label(name, self.first[role][observer])!r} and {value!r} ({where}); it "
                "must be the same in all rows of an observer, and two observers need two names"
            )
        self._refuse_duplicates()
        if role == "truth":
            # Of Dog and dog it is said that they differ in case.
            admissible(self.source.labels[name].names, {}, self.classes)
        other, before = self._first(self._of_trial(codes, row), self.columns["observer"], name)
        item = self._text("item", codes[self.columns["item"]][row])
        if role == "truth":
            has = self._text("observer", observer), value
            raise two_truths(self.source, item, (other, before), (start + row, has))
        raise ValueError(
            f"item {item!r} has {name} {before[1]!r} ({self.source.where(other)}) and {value!r} "
            f"({where}); a column of item_columns= is the same in all rows of an item"
        )

    def _refuse_duplicates(self) -> None:
        """Raise an error for two rows of an observer on a trial; reads the data again."""
        seen = np.zeros(self.grid.size, dtype=bool)
        for start, codes in self.source.pieces(list(self.source.labels)):
            if start >= self.n_answers.sum():
                return
            observer = codes[self.columns["observer"]]
            cell = observer.astype(np.int64) * self.grid.shape[1] + self._trials(codes)
            taken = seen[cell] | pd.Series(cell).duplicated().to_numpy()
            seen[cell] = True
            if not taken.any():
                continue
            row = int(np.argmax(taken))
            own = {self.columns["observer"]: int(observer[row])}
            other, _ = self._first(self._of_trial(codes, row) | own)
            text = {
                role: self._text(role, codes[self.columns[role]][row])
                for role in ("observer", *self.of_trial)
            }
            raise ValueError(
                f"observer {text['observer']!r} has two rows for item {text['item']!r} (dataset "
                f"{text.get('dataset', DEFAULT_LABEL)!r}, condition "
                f"{text.get('condition', DEFAULT_LABEL)!r}, repeat {text.get('repeat', '0')}): "
                f"{self.source.where(other)} and {self.source.where(start + row)}; number repeated "
                "trials in a column named by repeat=, or distinguish two observers by observer="
            )

    def _label(self, name: str, code: int) -> str:
        return self.source.labels[name].names[code]

    def _text(self, role: str, code: int) -> str:
        return self._label(self.columns[role], code)

    def _of_trial(self, codes: Mapping[str, NDArray[np.int32]], row: int) -> dict[str, int]:
        """Numbers of the labels of the trial of a row."""
        return {name: int(codes[name][row]) for name in (self.columns[r] for r in self.of_trial)}

    def _first(self, wanted: Mapping[str, int], *names: str) -> tuple[int, list[str]]:
        """First row with these labels, and its texts in some columns; reads the data again."""
        for start, codes in self.source.pieces(list(dict.fromkeys([*wanted, *names]))):
            found = np.logical_and.reduce([codes[name] == code for name, code in wanted.items()])
            if found.any():
                row = int(np.argmax(found))
                return start + row, [self._label(name, codes[name][row]) for name in names]
        raise AssertionError("a row that was read is missing")

    def finished(self) -> xr.Dataset:
        """Everything read, in order."""
        if np.count_nonzero(self.grid) < self.n_answers.sum():
            self._refuse_duplicates()
        labels = {role: self.source.labels[name].names for role, name in self.columns.items()}
        for role in KEYS:
            for text in labels.get(role, ()):
                check_label(f"column {role!r}", text)
        observers = labels["observer"]
        of_trial, order = self._ordered()
        truth, known = None, None
        if self.answered:
            numbers, truths, known = self._classes()
            truth = None if truths is None else truths[self.first["truth"][order]]
        else:
            numbers = self._right()
        correct, response = self._filled(len(observers), order, numbers, truth)
        of_observer = {"observer": np.array(observers, dtype=object)}
        for role, (name, of) in self.fixed.items():
            if of == "observer":
                of_observer[role] = self._texts_of(name)[self.first[role]]
        floats = [
            f"codes of column {name!r} such as {found.whole} were read as "
            f"{found.whole.removesuffix('.0')}"
            for name, found in self.source.labels.items()
            if found.whole
        ]
        answers = None if known is None else (response, truth, known)
        notes = [*floats, *self.source.notes]
        return _dataset(correct, answers, of_observer, of_trial, self.item_columns, notes)

    def _texts_of(self, name: str) -> NDArray[np.object_]:
        return np.array(self.source.labels[name].names, dtype=object)

    def _ordered(self) -> tuple[dict[str, NDArray[Any]], NDArray[np.intp]]:
        """Labels of trials in their order, and their numbers in that order."""
        every = [range(len(self.source.labels[self.columns["item"]].names)), *self.keys]
        number, codes = np.arange(len(every[-1])), {}
        for role, key in zip(self.of_trial[:0:-1], self.keys[::-1], strict=True):
            number, codes[role] = key[number] >> 32, key[number] & 0xFFFFFFFF
        codes[self.of_trial[0]] = number
        if "repeat" in codes:
            codes["repeat"] = self._repeats()[codes["repeat"]]
        order = np.lexsort([codes[role] for role in reversed(self.of_trial)])
        of_trial: dict[str, NDArray[Any]] = {}
        for role in self.of_trial:
            own = codes[role][order]
            of_trial[role] = own if role == "repeat" else self._texts_of(self.columns[role])[own]
        for name in self.item_columns:
            of_trial[name] = self._texts_of(name)[self.first[name][order]]
        return of_trial, order

    def _repeats(self) -> NDArray[np.int64]:
        names = self.source.labels[self.columns["repeat"]].names
        for text in names:
            if not text.isdecimal() or int(text) > MOST_NUMBER:
                raise ValueError(
                    f"column {self.columns['repeat']!r} must contain whole numbers from 0, below "
                    f"2^63, got {text!r} in {self.source.where(self._row('repeat', text))}"
                )
        return np.array([int(text) for text in names], dtype=np.int64)

    def _given(self) -> dict[str, int]:
        """Numbers of labels that are responses; others are missing, which is noted."""
        labels = self.source.labels[self.answer]
        n_empty, *counts = self.n_answers.tolist()
        told = {labels.names[i]: counts[i] for i in labels.gone} | {"empty": n_empty}
        if self.source.of_files and (n := sum(told.values())):
            by = ", ".join(f"{n} {text}" for text, n in told.items() if n)
            self.source.notes.append(
                f"{n} of {sum(self.n_answers)} values of column {self.answer!r} are missing "
                f"({by}): shown, not answered"
            )
        return {text: i for i, text in enumerate(labels.names) if i not in labels.gone}

    def _classes(self) -> tuple[NDArray[Any], NDArray[Any] | None, list[str]]:
        """Classes of the numbers in the grid and of the truths, if any, and their names."""
        columns, given = self.columns, self._given()
        response = self.source.labels[columns["response"]]
        true = self.source.labels[columns["truth"]] if "truth" in columns else None
        if true is not None:
            family = response.family if given or not self.source.of_files else "null"
            if "null" not in (family, true.family) and family != true.family:
                raise ValueError(
                    f"column {columns['truth']!r} contains {true.family}s but column "
                    f"{columns['response']!r} contains {family}s, so no response is correct; give "
                    "both the same type"
                )
        answers = {text: int(self.n_answers[i + 1]) for text, i in given.items()}
        known, note = admissible(true.names if true else [*given], answers, self.classes)
        if true is None:
            note = (
                "there is no column of true classes: agreement of responses only (or give truth=)"
            )
        self.source.notes += [note] if note else []

        def coded(role: str, names: Sequence[str]) -> NDArray[Any]:
            def where(i: int) -> str:
                return f"column {columns[role]!r}, {self.source.where(self._row(role, names[i]))}"

            return class_codes(names, known, where)

        truths = None if true is None else coded("truth", true.names)
        codes = coded("response", [*given])
        meant = dict(zip(given.values(), codes.tolist(), strict=True))
        return self._numbers(codes.dtype, meant), truths, known

    def _right(self) -> NDArray[Any]:
        """Meaning of the numbers in the grid, for correctness."""
        meant = {}
        for text, i in self._given().items():
            if text.lower() not in MEANING:
                row = self.source.where(self._row("correct", text))
                raise ValueError(
                    f"column {self.answer!r} must contain 0, 1 or nothing, got {text!r} in {row}"
                )
            meant[i] = MEANING[text.lower()]
        return self._numbers(np.int8, meant)

    def _numbers(self, kind: Any, meant: Mapping[int, int]) -> NDArray[Any]:
        """Final numbers of the numbers in the grid."""
        numbers = np.full(len(self.n_answers) - 1 + FIRST, NO_RESPONSE, dtype=kind)
        numbers[0] = NOT_SHOWN
        for old, new in meant.items():
            numbers[old + FIRST] = new
        return numbers

    def _row(self, role: str, text: str) -> int:
        name = self.columns[role]
        return self._first({name: self.source.labels[name].names.index(text)})[0]

    def _filled(
        self, n: int, order: NDArray[np.intp], numbers: NDArray[Any], truth: NDArray[Any] | None
    ) -> tuple[NDArray[np.int8], NDArray[Any] | None]:
        """Correctness and, where truth is known, responses of all observers on ordered trials."""
        grid = self.grid
        _check_grid(n, len(order), grid.dtype.itemsize)
        correct = np.empty((n, len(order)), dtype=np.int8)
        response = np.empty(correct.shape, dtype=numbers.dtype) if self.answered else None
        step = max(1, BLOCK // len(order))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            found = numbers[grid[rows][:, order]]
            if response is not None:
                response[rows] = found
                right = NO_TRUTH if truth is None else found == truth
                found = np.where(found < 0, found, right)
            correct[rows] = found
        return correct, response


def two_truths(source: Source, item: str, *rows: tuple[int, Sequence[str]]) -> ValueError:
    """Error for an item with two true classes, by row, observer and truth of two rows."""
    had, has = (
        f"{truth!r} for observer {observer!r} ({source.where(row)})"
        for row, (observer, truth) in rows
    )
    return ValueError(
        f"item {item!r} has truth {had} but {has}; an item has one truth in a condition"
    )


def _dataset(
    correct: NDArray[np.int8],
    answers: tuple[Any, Any, Sequence[str]] | None,
    of_observer: Mapping[str, Any],
    of_trial: Mapping[str, Any],
    item_columns: Iterable[str],
    notes: Sequence[str],
) -> xr.Dataset:
    """Dataset of aligned trials; `answers` are responses, truths and classes, if known."""
    n_observers, n_trials = correct.shape
    every = np.full(n_trials, DEFAULT_LABEL, dtype=object)
    of_trial = {
        "dataset": every, "condition": every, "repeat": np.zeros(n_trials, dtype=np.int64),
        **of_trial,
    }  # fmt: skip
    of_observer = {"kind": np.full(n_observers, "observer", dtype=object), **of_observer}
    variables: dict[str, Any] = {"correct": (("observer", "trial"), correct)}
    coords: dict[str, Any] = {name: ("observer", texts) for name, texts in of_observer.items()}
    coords |= {name: ("trial", texts) for name, texts in of_trial.items()}
    if answers is not None:
        variables["response"] = (("observer", "trial"), answers[0])
        if answers[1] is not None:
            coords["truth"] = ("trial", answers[1])
        coords["class"] = np.array(answers[2], dtype=object)
    data = xr.Dataset(variables, coords, {NOTES: list(notes)} if notes else None)
    return _with_item_columns(data, list(item_columns))


def _with_item_columns(data: xr.Dataset, names: list[str]) -> xr.Dataset:
    """Record which coordinates of trials describe items; they are equal for all repeats."""
    if not names:
        return data
    keys = ["dataset", "condition", "item"]
    frame = pd.DataFrame({name: data[name].values for name in (*keys, *names)})
    first = frame.groupby(keys, sort=False)[names].transform("first")
    for row, column in np.argwhere((frame[names] != first).to_numpy()):
        name = names[column]
        raise ValueError(
            f"{name} must be the same for all repeats of an item, got {first[name].iloc[row]!r} "
            f"and {frame[name].iloc[row]!r} for item {frame['item'].iloc[row]!r}; leave it out of "
            "item_columns"
        )
    return data.assign_attrs({ITEM_COLUMNS: names})


def arrays_aligned(
    response: ArrayLike, truth: ArrayLike, classes: Sequence[Any] | str | None, **described: Any
) -> xr.Dataset:
    """Data of `Trials.from_arrays`."""
    response = _array("response", response)
    shown = ~np.ma.getmaskarray(response)
    values = np.ma.getdata(response).astype(object)
    true = np.ma.getdata(_array("truth", truth)).astype(object)
    if values.ndim != 2 or true.shape != values.shape[1:]:
        raise ValueError(
            "response must have shape (observer, trial) and truth shape (trial,), got "
            f"{values.shape} and {true.shape}"
        )
    given_missing = pd.isna(values)
    if pd.isna(true).any():
        raise ValueError(f"truth has no value on trial {int(np.argmax(pd.isna(true)))}")
    text = np.frompyfunc(label, 1, 1)
    true = np.asarray(text(true), dtype=object)
    answered = shown & ~given_missing
    names = text(values[answered]) if answered.any() else np.array([], dtype=object)
    known, note = admissible(true, Counter(names.tolist()), classes)
    coded = np.full(values.shape, NOT_SHOWN, dtype=code_dtype(known))
    coded[shown] = NO_RESPONSE
    coded[answered] = class_codes(
        names, known, lambda i: "observer {}, trial {}".format(*np.argwhere(answered)[i])
    )
    true_code = class_codes(true, known, lambda i: f"truth of trial {i}")
    correct = np.where(coded < 0, coded, coded == true_code).astype(np.int8)
    return _described(correct, (coded, true_code, known), [note] if note else [], **described)


def correct_aligned(correct: ArrayLike, **described: Any) -> xr.Dataset:
    """Data of `Trials.from_correct`."""
    array = _array("correct", correct)
    mask, values = np.ma.getmaskarray(array), np.ma.getdata(array)
    if values.ndim != 2:
        raise ValueError(f"correct must have shape (observer, trial), got {values.shape}")
    if values.dtype.kind in "mMc":
        raise ValueError(f"correct must be 0, 1 or NaN, got an array of {values.dtype}")
    numbers = values
    if values.dtype.kind in "OSU":
        given = pd.Series(values.ravel(), dtype=object).where(lambda s: s.notna(), np.nan)
        numbers = pd.to_numeric(given, errors="coerce").to_numpy().reshape(values.shape)
    gone = pd.isna(values)
    bad = ~mask & ~gone & (numbers != 0) & (numbers != 1)
    if bad.any():
        observer, trial = np.argwhere(bad)[0]
        (value,) = values[observer, [trial]].tolist()
        raise ValueError(
            f"correct must be 0, 1 or NaN, got {value!r} for observer {observer}, trial {trial}"
        )
    # Signed first: the codes do not fit into arrays of unsigned integers.
    coded = np.where(mask | gone, 0, numbers).astype(np.int8)
    coded[gone], coded[mask] = NO_RESPONSE, NOT_SHOWN
    return _described(coded, None, [], **described)


def _array(name: str, values: ArrayLike) -> np.ma.MaskedArray[Any, Any]:
    """Convert to an array without turning NaN and None into text."""
    try:
        array = np.ma.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            kept = np.asarray(values, dtype=object)
            return np.ma.masked_array(kept, np.ma.getmaskarray(array))
    except ValueError:
        raise ValueError(f"rows of {name} have different lengths; give each the same") from None
    return array


def _described(
    correct: NDArray[np.int8],
    answers: tuple[Any, Any, Sequence[str]] | None,
    notes: Sequence[str],
    *,
    observers: Sequence[str] | None,
    kind: Sequence[str] | None,
    labels: Mapping[str, Sequence[str]] | None,
    repeat: Sequence[int] | None,
    item_columns: Mapping[str, Sequence[Any]] | None,
    **of_trial: Sequence[Any] | None,
) -> xr.Dataset:
    """Aligned arrays with checked labels and contiguous conditions."""
    n_observers, n_trials = correct.shape
    if not n_observers or not n_trials:
        raise ValueError(f"no trials: got {n_observers} observers and {n_trials} trials")
    of_dims = ("labels", labels, "observer"), ("item_columns", item_columns, "trial")
    for argument, given, dim in of_dims:
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                f"{argument} must map names to one entry per {dim}, such as {{'lab': ['x', 'y']}}, "
                f"got {type(given).__name__}"
            )
        check_label_names(given or (), argument, f"{dim}s")
    if observers is None:
        observers = [f"observer_{i}" for i in range(n_observers)]
    if of_trial["item"] is None:
        of_trial["item"] = [f"trial_{i}" for i in range(n_trials)]
    names = {
        name: _texts("observers" if name == "observer" else name, values, n_observers, "observer")
        for name, values in {"observer": observers, "kind": kind, **(labels or {})}.items()
        if values is not None
    }
    of_trials = {
        name: _texts(name, values, n_trials, "trial")
        for name, values in {**of_trial, **(item_columns or {})}.items()
        if values is not None
    }
    if len(set(names["observer"])) < n_observers:
        raise ValueError("observers must have different names; two have the same name")
    if repeat is not None:
        numbers = np.asarray(repeat)
        whole = numbers.dtype.kind in "iu" and numbers.shape == (n_trials,)
        if not whole or (numbers < 0).any() or (numbers > MOST_NUMBER).any():
            raise ValueError(f"repeat must be {n_trials} whole numbers from 0, one per trial")
        of_trials["repeat"] = numbers.astype(np.int64)
    data = _dataset(correct, answers, names, of_trials, item_columns or (), notes)
    keys = pd.DataFrame({name: data[name].values for name in OF_TRIAL})
    if keys.duplicated().any():
        bad = int(np.argmax(keys.duplicated()))
        raise ValueError(
            f"trial {bad} repeats item {keys['item'][bad]!r} in its condition; number repeated "
            "trials with repeat=[...]"
        )
    group = keys.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    return data.isel(trial=np.argsort(group, kind="stable"))


def _texts(name: str, values: Sequence[Any], length: int, dim: str) -> NDArray[np.object_]:
    listed = entries(name, values)
    if len(listed) != length:
        raise ValueError(
            f"{name} must have one entry per {dim}: expected {length}, got {len(listed)}"
        )
    for position, value in enumerate(listed):
        if np.ndim(value) == 0 and pd.isna(value):
            raise ValueError(f"{name} has no value at position {position}")
        check_label(f"{name}, position {position}", label(value), value)
    return np.array([label(value) for value in listed], dtype=object)
