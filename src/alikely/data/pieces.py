"""Long tables aligned piece by piece: memory holds the answers, not the tables.

Columns become numbers by labels seen so far, answers are scattered into a grid that grows. What is
odd (no value, an answer given twice, two truths) is left to who reads whole columns: of the tables
that it concerns, found by reading once more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from alikely._base.size import check_memory
from alikely.data.columns import (
    MOST_NUMBER,
    NO_RESPONSE,
    NOT_SHOWN,
    admissible,
    check_label,
    code_dtype,
    meaning_of_correct,
    outside,
    refuse_two_families,
)
from alikely.data.ingest import Encoded, OddError, Source, floats_meant, label, note_missing

__all__ = ["KEYS", "Aligned", "Roles", "in_pieces"]

# Roles of columns whose labels name something.
KEYS = ("observer", "item", "dataset", "condition", "kind")
# Bits of a trial's number that its labels may take: 63 together.
BITS = {"dataset": 10, "condition": 14, "item": 27, "repeat": 12}
# Numbers of the grid: 0 not shown, 1 shown without a response, then labels.
FIRST = 2
# Answers that are given their final numbers at a time.
BLOCK = 4_000_000
TWO_BYTES = np.iinfo(np.uint16).max


class Roles(NamedTuple):
    """Columns to read: names by role, free labels of observers and of items, the answers."""

    columns: Mapping[str, str]  # only those that are there
    labels: Sequence[str]
    item_columns: Sequence[str]
    classes: Sequence[Any] | str | None
    answered: bool  # by response and truth, not by correctness


class Aligned(NamedTuple):
    """Answers of all observers on all trials, in the order of data set, condition, item, repeat."""

    correct: NDArray[np.int8]  # (observer, trial)
    response: NDArray[Any] | None  # (observer, trial)
    truth: NDArray[Any] | None  # (trial,)
    classes: list[str]
    of_trial: dict[str, NDArray[Any]]  # dataset, condition, item, repeat, and labels of items
    observers: list[str]
    of_observer: dict[str, NDArray[np.object_]]  # kind and free labels


def in_pieces(source: Source, roles: Roles) -> Aligned:
    """Align the rows of all tables, some at a time."""
    read = _Reading(source, roles)
    names = read.names()
    for table, start, coded in source.pieces(names):
        read.add(table, start, coded)
    return read.finished()


class _Labels:
    """Labels of a column in order of first appearance, and how often each occurred."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.family = "null"
        self._numbers: dict[str, int] = {}
        self._last: tuple[pa.Array, NDArray[np.int32]] | None = None

    def numbers(self, piece: Encoded) -> NDArray[np.int32]:
        """Number the labels of a piece; -1 where null."""
        if piece.family != "null":
            if self.family not in ("null", piece.family):
                raise OddError
            self.family = piece.family
        number = self._known(piece.values)
        codes = piece.codes
        used = np.bincount(codes + 1, minlength=len(number) + 1)[1:] > 0
        new = np.flatnonzero(used & (number < 0))
        if len(new):
            # The last one that is written stays: going backwards, the first row of each label.
            first = np.empty(len(number) + 1, dtype=np.int64)
            first[codes[::-1]] = np.arange(len(codes))[::-1]
            new = new[np.argsort(first[new])]
            for code, name in zip(new.tolist(), piece.values.take(new).to_pylist(), strict=True):
                number[code] = self._numbers.setdefault(name, len(self.names))
                if number[code] == len(self.names):
                    self.names.append(name)
        return np.append(number, np.int32(-1))[codes]

    def _known(self, values: pa.Array) -> NDArray[np.int32]:
        """Numbers of the labels that were seen, -1 of others."""
        # Files of one layout have the same labels in the same order.
        if self._last is None or not self._last[0].equals(values):
            known = [self._numbers.get(name, -1) for name in values.to_pylist()]
            self._last = values, np.array(known, dtype=np.int32)
        return self._last[1]


class _Keys:
    """Numbers of trials in order of first appearance, by 63 bits that tell each."""

    def __init__(self) -> None:
        self.keys: list[NDArray[np.int64]] = []
        self._sorted = np.empty(0, dtype=np.int64)
        self._numbers = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._sorted)

    def numbers(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number trials by their keys."""
        at = np.searchsorted(self._sorted, keys)
        known = self._sorted[np.minimum(at, len(self) - 1)] == keys if len(self) else at < 0
        if not known.all():
            new = keys[~known]
            both = np.concatenate([self._sorted, new])
            numbers = np.concatenate([self._numbers, len(self) + np.arange(len(new))])
            order = np.argsort(both, kind="stable")
            self._sorted, self._numbers = both[order], numbers[order]
            self.keys.append(new)
            at = np.searchsorted(self._sorted, keys)
        return self._numbers[at]


class _Once:
    """One number for each observer or trial, which all its rows must agree on."""

    def __init__(self) -> None:
        self.values = np.full(64, -1, dtype=np.int32)

    def agree(self, at: NDArray[np.integer[Any]], values: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Rows that agree with the first of theirs."""
        most = int(at.max(initial=-1)) + 1
        if most > len(self.values):
            grown = np.full(2 * most, -1, dtype=np.int32)
            grown[: len(self.values)] = self.values
            self.values = grown
        new = self.values[at] < 0
        if new.any():
            # Backwards: the first of several stays.
            self.values[at[new][::-1]] = values[new][::-1]
        return np.asarray(self.values[at] == values)


class _Grid:
    """Numbers of answers (observer, trial), 0 where there is none; it grows in both directions."""

    def __init__(self) -> None:
        self.values: NDArray[Any] = np.zeros((16, 16), dtype=np.uint16)

    def put(
        self, observer: NDArray[np.int32], trial: NDArray[np.int64], values: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Write answers, unless one is there already: says where."""
        rows, columns = self.values.shape
        need = int(observer.max()) + 1, int(trial.max()) + 1
        least = np.uint16 if int(values.max()) <= TWO_BYTES else np.uint32
        kind = np.promote_types(least, self.values.dtype)
        if need[0] > rows or need[1] > columns or kind != self.values.dtype:
            # Little in reserve: where pages are large, what is reserved is taken.
            shape = [
                n if m <= n else m + m // 8 for n, m in zip((rows, columns), need, strict=True)
            ]
            _check_grid(*need, kind.itemsize)
            grown = np.zeros(shape, dtype=kind)
            grown[:rows, :columns] = self.values
            self.values = grown
        flat = observer.astype(np.int64) * self.values.shape[1] + trial
        cells = self.values.reshape(-1)
        taken = cells[flat] > 0
        if not taken.any():
            cells[flat] = values
        return np.asarray(taken)


class _Reading:
    """What was read so far of the columns that have a role."""

    def __init__(self, source: Source, roles: Roles) -> None:
        self.source, self.roles = source, roles
        self.labels = {name: _Labels() for name in self.names()}
        self.counts = np.zeros(0, dtype=np.int64)
        self.n_empty = 0
        self.grid, self.keys, self.truth = _Grid(), _Keys(), _Once()
        described = [r for r in ("kind",) if r in roles.columns] + list(roles.labels)
        self.of_observer = {role: _Once() for role in described}
        self.of_item = {name: _Once() for name in roles.item_columns}
        keep = () if roles.classes is None or isinstance(roles.classes, str) else roles.classes
        self.keep = {label(name) for name in keep}

    def names(self) -> list[str]:
        """Columns to read, each once."""
        roles = self.roles
        return list(dict.fromkeys([*roles.columns.values(), *roles.labels, *roles.item_columns]))

    def add(self, table: int, start: int, coded: Mapping[str, Encoded]) -> None:
        """Take a piece of a table."""
        columns, answer = self.roles.columns, self._answer()
        codes = {name: self._complete(table, name, piece) for name, piece in coded.items()}
        if not len(codes[answer]):
            return
        observer = codes[columns["observer"]]
        for role, once in self.of_observer.items():
            agree = once.agree(observer, codes[columns.get(role, role)])
            self._refuse(table, ~agree, {columns["observer"]: observer})
        key = self._key(codes)
        local, unique = pd.factorize(key)
        trial = self.keys.numbers(unique)[local]
        where = {columns[role]: codes[columns[role]] for role in BITS if role in columns}
        if _twice(observer, local, len(unique)):
            raise OddError(table)
        taken = self.grid.put(observer, trial, codes[answer] + FIRST)
        self._refuse(table, taken, {columns["observer"]: observer} | where)
        if self.roles.answered:
            agree = self.truth.agree(trial, codes[columns["truth"]])
            self._refuse(table, ~agree, where)
        for name, once in self.of_item.items():
            self._refuse(table, ~once.agree(trial, codes[name]), where)
        seen = np.bincount(codes[answer] + 1, minlength=len(self.counts) + 1)
        self.n_empty += int(seen[0])
        seen[1 : 1 + len(self.counts)] += self.counts
        self.counts = seen[1:]

    def _answer(self) -> str:
        return self.roles.columns["response" if self.roles.answered else "correct"]

    def _complete(self, table: int, name: str, piece: Encoded) -> NDArray[np.int32]:
        """Numbers of the labels of a piece, which only answers may lack."""
        labels = self.labels[name]
        n = len(labels.names)
        codes = labels.numbers(piece)
        if name == self._answer():
            return codes
        keep = self.keep if name == self.roles.columns.get("truth") else ()
        if (codes < 0).any() or any(self._is_missing(text, keep) for text in labels.names[n:]):
            raise OddError(table)
        if name == self.roles.columns.get("repeat"):
            new = labels.names[n:]
            if not all(text.isdecimal() and int(text) <= MOST_NUMBER for text in new):
                raise OddError(table)
        return codes

    def _is_missing(self, text: str, keep: Collection[str]) -> bool:
        return self.source.of_files and text in self.source.missing and text not in keep

    def _key(self, codes: Mapping[str, NDArray[np.int32]]) -> NDArray[np.int64]:
        """One number for each trial, of the numbers of its labels."""
        key = np.zeros(len(codes[self._answer()]), dtype=np.int64)
        for role, bits in BITS.items():
            name = self.roles.columns.get(role)
            if name is not None:
                if len(self.labels[name].names) >= 1 << bits:
                    raise OddError
                key = (key << bits) | codes[name]
            else:
                key <<= bits
        return key

    def _refuse(
        self, table: int, bad: NDArray[np.bool_], like: Mapping[str, NDArray[np.int32]]
    ) -> None:
        """Leave a row that contradicts an earlier one to who reads both tables as a whole."""
        if not bad.any():
            return
        row = int(np.argmax(bad))
        wanted = {name: codes[row] for name, codes in like.items()}

        def fits(codes: Mapping[str, NDArray[np.int32]]) -> NDArray[np.bool_]:
            return np.logical_and.reduce([codes[name] == value for name, value in wanted.items()])

        raise OddError(self._first(list(wanted), fits)[0], table)

    def _first(
        self,
        names: Sequence[str],
        fits: Callable[[Mapping[str, NDArray[np.int32]]], NDArray[np.bool_]],
    ) -> tuple[int, int]:
        """Table and row, of all rows, of the first that fits: reads once more."""
        for table, start, coded in self.source.pieces(names):
            found = fits({name: self.labels[name].numbers(piece) for name, piece in coded.items()})
            if found.any():
                return table, start + int(np.argmax(found))
        raise OddError

    def finished(self) -> Aligned:
        """All that was read, in order."""
        columns = self.roles.columns
        for labels in self.labels.values():
            meant = [text for text in labels.names if not self._is_missing(text, self.keep)]
            if self.source.of_files and labels.family == "text" and floats_meant(meant):
                raise OddError
        for role in KEYS:
            for text in self.labels[columns[role]].names if role in columns else ():
                check_label(f"column {role!r}", text)
        keys = np.concatenate(self.keys.keys)
        of_trial: dict[str, NDArray[Any]] = {}
        shift, by = 0, []
        for role, bits in reversed(BITS.items()):
            codes = (keys >> shift) & ((1 << bits) - 1)
            shift += bits
            if role in columns:
                names = np.array(self.labels[columns[role]].names, dtype=object)
                of_trial[role] = names[codes] if role != "repeat" else names.astype(np.int64)[codes]
            # Repeats in the order of their numbers, all else in that of its first appearance.
            by.append(of_trial[role] if role == "repeat" and role in columns else codes)
        order = np.lexsort(by)
        for name, once in self.of_item.items():
            of_trial[name] = np.array(self.labels[name].names, object)[once.values[: len(keys)]]
        of_trial = {role: values[order] for role, values in of_trial.items()}
        if self.roles.answered:
            numbers, true, classes = self._classes()
            truth = true[self.truth.values[: len(keys)]][order]
        else:
            numbers, truth, classes = self._right(), None, []
        correct, response = self._filled(order, numbers, truth)
        n = len(correct)
        of_observer = {}
        for role, once in self.of_observer.items():
            names = np.array(self.labels[columns.get(role, role)].names, dtype=object)
            of_observer[role] = names[once.values[:n]]
        observers = self.labels[columns["observer"]].names
        return Aligned(correct, response, truth, classes, of_trial, observers, of_observer)

    def _given(self) -> dict[str, int]:
        """Numbers of labels that are answers; others mean that there is none, which is noted."""
        name = self._answer()
        labels = self.labels[name].names
        keep = self.keep if self.roles.answered else ()
        gone = {i: text for i, text in enumerate(labels) if self._is_missing(text, keep)}
        if self.source.of_files and (gone or self.n_empty):
            counts = {text: int(self.counts[i]) for i, text in gone.items()}
            n = int(self.counts.sum()) + self.n_empty
            note_missing(self.source, name, counts, self.n_empty, n)
        return {text: i for i, text in enumerate(labels) if i not in gone}

    def _classes(self) -> tuple[NDArray[Any], NDArray[Any], list[str]]:
        """Classes of the numbers in the grid, of the labels of truth, and their names."""
        columns, given = self.roles.columns, self._given()
        true = self.labels[columns["truth"]]
        none = self.source.of_files and not given
        family = "null" if none else self.labels[columns["response"]].family
        refuse_two_families(columns["response"], columns["truth"], family, true.family)
        answers = {text: int(self.counts[i]) for text, i in given.items()}
        known, note = admissible(true.names, answers, self.roles.classes)
        if note:
            self.source.notes["untrue"] = note
        code = {text: i for i, text in enumerate(known)}
        for role, names in (("truth", true.names), ("response", given)):
            text = next((text for text in names if text not in code), None)
            if text is not None:
                raise ValueError(outside(self._named(role, text), text, known))
        kind = code_dtype(known)
        numbers = self._numbers(kind)
        for text, i in given.items():
            numbers[i + FIRST] = code[text]
        return numbers, np.array([code[text] for text in true.names], dtype=kind), known

    def _right(self) -> NDArray[Any]:
        """What the numbers in the grid mean, of correctness."""
        numbers = self._numbers(np.int8)
        for text, i in self._given().items():
            meant = meaning_of_correct(text)
            if meant is None:
                row = self._row("correct", text)
                raise ValueError(
                    f"column {self._answer()!r} must hold 0, 1 or nothing, got {text!r} in "
                    f"{self.source.where(row)}"
                )
            numbers[i + FIRST] = meant
        return numbers

    def _numbers(self, kind: Any) -> NDArray[Any]:
        numbers = np.full(len(self.counts) + FIRST, NO_RESPONSE, dtype=kind)
        numbers[0] = NOT_SHOWN
        return numbers

    def _row(self, role: str, text: str) -> int:
        name = self.roles.columns[role]
        code = self.labels[name].names.index(text)
        return self._first([name], lambda codes: codes[name] == code)[1]

    def _named(self, role: str, text: str) -> str:
        row = self._row(role, text)
        return f"column {self.roles.columns[role]!r}, {self.source.where(row)}"

    def _filled(
        self, order: NDArray[np.intp], numbers: NDArray[Any], truth: NDArray[Any] | None
    ) -> tuple[NDArray[np.int8], NDArray[Any] | None]:
        """Correctness and, where truth is known, responses of all observers on ordered trials."""
        n, n_trials = len(self.labels[self.roles.columns["observer"]].names), len(order)
        grid = self.grid.values
        _check_grid(n, n_trials, grid.dtype.itemsize)
        correct = np.empty((n, n_trials), dtype=np.int8)
        response = None if truth is None else np.empty((n, n_trials), dtype=numbers.dtype)
        step = max(1, BLOCK // n_trials)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            found = numbers[grid[rows][:, order]]
            if response is not None:
                response[rows] = found
                found = np.where(found < 0, found, found == truth)
            correct[rows] = found
        return correct, response


def _twice(observer: NDArray[np.int32], trial: NDArray[np.intp], n_trials: int) -> bool:
    """Whether a piece has two rows of one observer on one trial."""
    used = np.bincount(observer) > 0
    of_piece = (np.cumsum(used) - 1)[observer]
    entry = of_piece * n_trials + trial
    size = int(used.sum()) * n_trials
    if size > 8 * len(entry):
        return bool(pd.Series(entry).duplicated().any())
    seen = np.zeros(size, dtype=bool)
    seen[entry] = True
    return int(np.count_nonzero(seen)) < len(entry)


def _check_grid(n: int, n_trials: int, itemsize: int) -> None:
    """Refuse a grid that memory does not hold beside what is made of it."""
    size = float(n) * n_trials
    if size > BLOCK:
        check_memory(
            size * (2 * itemsize + 1),
            f"answers of {n:,} observers on {n_trials:,} trials",
            "read fewer at a time",
        )
