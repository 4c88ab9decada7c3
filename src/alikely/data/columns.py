"""Alignment of trials: labels and responses of tables and arrays become one dataset."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.checks import entries
from alikely._base.names import listed, nearest
from alikely._base.size import check_memory
from alikely.data.ingest import Column, Source, item_column, label

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
SHOWN = "shown, not answered"
# The class of missing responses, where they count as errors.
SILENT = "(no response)"


def code_dtype(class_labels: Sequence[str]) -> type[np.signedinteger[Any]]:
    """Smallest integer type for codes of these classes."""
    return np.int16 if len(class_labels) < np.iinfo(np.int16).max else np.int32


def class_labels(truth: Sequence[str] | NDArray[Any]) -> list[str]:
    """Return the classes that occur, sorted; numbers are in numeric order."""
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
    """Return the admissible classes, and a note on classes that are never the true class."""
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
            f"a label must be text that a file can store, got {text!r} ({where}); change the label"
        )
    if missing or odd or not text.strip():
        shown = repr(text if isinstance(value, str) else value)
        raise ValueError(
            f"a label must be text or a number, got {shown} ({where}); name it or leave it out"
        )


def class_codes(
    texts: Sequence[str] | NDArray[Any], known: Sequence[str], where: Callable[[int], str]
) -> NDArray[Any]:
    """Return positions of texts among the known classes; `where` locates an unknown text."""
    code = {name: i for i, name in enumerate(known)}
    for i, text in enumerate(texts):
        if text not in code:
            raise ValueError(
                f"{text!r} ({where(i)}) is not among the {len(known)} classes {listed(known)}; if "
                "it is a valid class, list all classes with classes=[...], or accept every "
                "response as a class with classes='seen'; if it means no response, leave the value "
                f"empty (or, in a file, list it in na_values){nearest(text, known)}"
            )
    return np.array([code[text] for text in texts], dtype=code_dtype(known))


def check_label_names(
    names: Iterable[str], argument: str = "labels", of: str = "observers"
) -> None:
    """Raise an error for labels whose names are reserved for variables of trials."""
    names = entries(argument, names)
    odd = [name for name in names if not isinstance(name, str) or not name.strip()]
    if odd:
        raise ValueError(f"{argument} of {of} must be named by text, got {odd[0]!r}; rename it")
    taken = [name for name in names if name in OWN_NAMES]
    if taken:
        raise ValueError(
            f"a label of {of} must not have the name {taken[0]!r}, because trials use "
            f"the names {', '.join(OWN_NAMES)}; rename the column"
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
    names, labels, item_columns = _roles(source, columns)
    classes = columns.get("classes")
    answered = "response" in names
    answer = "response" if answered else "correct"
    listed_classes = [] if classes is None or isinstance(classes, str) else classes
    keep = {label(name) for name in listed_classes} if answered else ()
    found = {
        role: source.read(name, role != answer, keep if role in ("response", "truth") else ())
        for role, name in names.items()
    }
    # Columns with one value for each observer or trial, the same in all its rows.
    places = {"kind": "observer", "truth": "trial"} | dict.fromkeys(labels, "observer")
    places |= dict.fromkeys(item_columns, "trial")
    found |= {name: source.read(name) for name in (*labels, *item_columns)}
    for role in KEYS:
        for text in found[role].labels if role in found else ():
            check_label(f"column {role!r}", text)
    rows = _Rows(source, found, names)
    trial, first_rows = rows.trials()
    observer = found["observer"].codes
    n, n_trials = len(found["observer"].labels), len(first_rows)
    check_memory(
        6.0 * n * n_trials,
        f"answers of {n:,} observers on {n_trials:,} trials",
        "read fewer at a time",
    )
    first_row = first_of(observer)
    of_observer = {"observer": np.array(found["observer"].labels, dtype=object)}
    of_trial = {role: found[role].texts(first_rows) for role in OF_TRIAL if role in found}
    if "repeat" in found:
        of_trial["repeat"] = rows.repeats()[found["repeat"].codes[first_rows]]
    for name, place in places.items():
        if name in found:
            at, first = (trial, first_rows) if place == "trial" else (observer, first_row)
            own = found[name].codes
            if (odd := own[first][at] != own).any():
                row = int(np.argmax(odd))
                rows.refuse_clash(name, place, (int(first[at[row]]), row), trial, classes)
            if name != "truth":
                (of_trial if place == "trial" else of_observer)[name] = found[name].texts(first)
    notes = [
        f"codes of column {name!r} such as {whole} were read as {whole.removesuffix('.0')}"
        for name, whole in source.whole.items()
        if whole
    ] + _lost(source, names[answer])
    answers = None
    if answered:
        meant, truths, known = rows.classes(classes, notes)
    else:
        meant = rows.right()
    # One more, for the code -1.
    meant = np.append(meant, np.array(NO_RESPONSE, meant.dtype))
    values = np.full((n, n_trials), NOT_SHOWN, dtype=meant.dtype)
    values[observer, trial] = meant[found[answer].codes]
    if np.count_nonzero(values != NOT_SHOWN) < len(trial):
        rows.refuse_duplicates(trial)
    correct = values
    if answered:
        truth = None if truths is None else truths[found["truth"].codes[first_rows]]
        right = np.full(values.shape, NO_TRUTH, np.int8) if truth is None else values == truth
        correct = np.where(values < 0, values.astype(np.int8), right)
        answers = values, truth, known
    return _dataset(correct, answers, of_observer, of_trial, item_columns, notes)


def _roles(
    source: Source, columns: Mapping[str, Any]
) -> tuple[dict[str, str], Sequence[str], Sequence[str]]:
    """Columns of the roles that are read, and further columns of observers and of items."""
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
    return names, labels, item_columns


def first_of(numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Index of the first row with each number."""
    first = np.empty(int(numbers.max()) + 1, dtype=np.int64)
    # Backwards: the first of several stays.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def _dense(number: NDArray[Any], codes: NDArray[Any], n: int) -> NDArray[Any]:
    """Number the combinations of numbers and of `n` codes, in their order."""
    size = (int(number.max()) + 1) * n
    key = number.astype(np.int32 if size < np.iinfo(np.int32).max else np.int64) * n + codes
    if size > 4 * len(key):
        return pd.factorize(key, sort=True)[0]
    seen = np.zeros(size, dtype=bool)
    seen[key] = True
    return np.cumsum(seen, dtype=key.dtype)[key] - 1


class _Rows(NamedTuple):
    """Columns of the rows of long tables, by role or name."""

    source: Source
    found: dict[str, Column]
    names: Mapping[str, str]

    def trials(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the trial of each row and first row of each trial, in the order of `OF_TRIAL`."""
        number: NDArray[Any] = np.zeros(self.source.n_rows, dtype=np.int32)
        for role in OF_TRIAL:
            if role in self.found and (n := len(self.found[role].labels)) > 1:
                codes = self.found[role].codes
                if role == "repeat":
                    codes = np.unique(self.repeats(), return_inverse=True)[1][codes]
                number = _dense(number, codes, n)
        return number, first_of(number)

    def repeats(self) -> NDArray[np.int64]:
        """Convert the labels of repeats to whole numbers."""
        for i, text in enumerate(self.found["repeat"].labels):
            if not text.isdecimal() or int(text) > MOST_NUMBER:
                raise ValueError(
                    f"column {self.names['repeat']!r} must contain whole numbers from 0, below "
                    f"2^63, got {text!r} in {self.where('repeat', i)}"
                )
        return np.array([int(text) for text in self.found["repeat"].labels], dtype=np.int64)

    def text(self, role: str, row: int) -> str:
        """Label of a row."""
        codes, labels = self.found[role]
        return labels[codes[row]]

    def where(self, role: str, code: int) -> str:
        """Return the location of the first row with a label."""
        return self.source.where(int(np.argmax(self.found[role].codes == code)))

    def refuse_clash(
        self, name: str, place: str, rows: tuple[int, int], trial: NDArray[Any], classes: Any
    ) -> None:
        """Raise an error if a row contradicts an earlier row of its observer or trial."""
        (had, has), row = (self.text(name, row) for row in rows), rows[1]
        # Before duplicates: a person and a model of one name are two observers, not one twice.
        if place == "observer":
            raise ValueError(
                f"observer {self.text('observer', row)!r} has {name} {had!r} and {has!r} "
                f"({self.source.where(row)}); {name} must be the same in all rows of an observer, "
                "and two observers must have different names"
            )
        self.refuse_duplicates(trial)
        item = self.text("item", row)
        if name == "truth":
            # Of Dog and dog it is said that they differ in case.
            admissible(self.found["truth"].labels, {}, classes)
            said = ((k, (self.text("observer", k), self.text("truth", k))) for k in rows)
            raise two_truths(self.source, item, *said)
        raise ValueError(
            f"item {item!r} has {name} {had!r} ({self.source.where(rows[0])}) and {has!r} "
            f"({self.source.where(row)}); a column of item_columns= must have the same value in "
            "all rows of an item"
        )

    def refuse_duplicates(self, trial: NDArray[Any]) -> None:
        """Raise an error if two rows have the same observer and trial."""
        cell = trial.astype(np.int64) * len(self.found["observer"].labels)
        cell += self.found["observer"].codes
        again = pd.Series(cell).duplicated().to_numpy()
        if not again.any():
            return
        row = int(np.argmax(again))
        other = int(np.argmax(cell == cell[row]))
        text = {"dataset": DEFAULT_LABEL, "condition": DEFAULT_LABEL, "repeat": "0"}
        text |= {role: self.text(role, row) for role in self.found}
        raise ValueError(
            f"observer {text['observer']!r} has two rows for item {text['item']!r} (dataset "
            f"{text['dataset']!r}, condition {text['condition']!r}, repeat {text['repeat']}): "
            f"{self.source.where(other)} and {self.source.where(row)}; number repeated trials in a "
            "column named by repeat=, or distinguish two observers by observer="
        )

    def classes(
        self, classes: Any, notes: list[str]
    ) -> tuple[NDArray[Any], NDArray[Any] | None, list[str]]:
        """Codes of the labels of responses and of truths, if any, and the names of all classes."""
        codes, given = self.found["response"]
        true = self.found["truth"].labels if "truth" in self.found else None
        if true is not None:
            family, of_truth = (self.source.family[self.names[r]] for r in ("response", "truth"))
            family = family if given or not self.source.of_files else "null"
            if "null" not in (family, of_truth) and family != of_truth:
                raise ValueError(
                    f"column {self.names['truth']!r} contains {of_truth}s but column "
                    f"{self.names['response']!r} contains {family}s, so no response is correct; "
                    "give both the same type"
                )
        numbers = np.bincount(codes[codes >= 0], minlength=len(given)).tolist()
        answers = dict(zip(given, numbers, strict=True))
        known, note = admissible(given if true is None else true, answers, classes)
        if true is None:
            note = (
                "there is no column of true classes: agreement of responses only (or give truth=)"
            )
        notes += [note] if note else []

        def coded(role: str) -> NDArray[Any]:
            def where(i: int) -> str:
                return f"column {self.names[role]!r}, {self.where(role, i)}"

            return class_codes(self.found[role].labels, known, where)

        truths = None if true is None else coded("truth")
        return coded("response"), truths, known

    def right(self) -> NDArray[np.int8]:
        """Correctness that the labels denote, as 1 or 0."""
        labels = self.found["correct"].labels
        for i, text in enumerate(labels):
            if text.lower() not in MEANING:
                raise ValueError(
                    f"column {self.names['correct']!r} must contain 0, 1 or nothing, got {text!r} "
                    f"in {self.where('correct', i)}"
                )
        return np.array([MEANING[text.lower()] for text in labels], dtype=np.int8)


def _lost(source: Source, answer: str) -> list[str]:
    """Note on the responses in files that are missing."""
    told = source.lost[answer]
    if not source.of_files or not (n := sum(told.values())):
        return []
    by = ", ".join(f"{number} {text}" for text, number in told.items() if number)
    return [f"{n:,} of {source.n_rows:,} values of column {answer!r} are missing ({by}): {SHOWN}"]


def two_truths(source: Source, item: str, *rows: tuple[int, Sequence[str]]) -> ValueError:
    """Make the error for an item with two true classes, from two rows with observer and truth."""
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
    if not (names := list(item_columns)):
        return data
    # They describe items: they are equal for all repeats.
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
    """Build the data set of `Trials.from_arrays`."""
    values, hidden = _array("response", response)
    true, _ = _array("truth", truth)
    if values.ndim != 2 or true.shape != values.shape[1:]:
        raise ValueError(
            "response must have shape (observer, trial) and truth shape (trial,), got "
            f"{values.shape} and {true.shape}"
        )
    values, true = values.astype(object), true.astype(object)
    if pd.isna(true).any():
        raise ValueError(f"truth has no value on trial {int(np.argmax(pd.isna(true)))}")
    answered = ~hidden & ~pd.isna(values)
    names = [label(value) for value in values[answered]]
    truths = [label(value) for value in true]
    known, note = admissible(truths, Counter(names), classes)
    coded = np.where(hidden, NOT_SHOWN, NO_RESPONSE).astype(code_dtype(known))
    coded[answered] = class_codes(
        names, known, lambda i: "observer {}, trial {}".format(*np.argwhere(answered)[i])
    )
    true_code = class_codes(truths, known, lambda i: f"truth of trial {i}")
    correct = np.where(coded < 0, coded, coded == true_code).astype(np.int8)
    return _described(correct, (coded, true_code, known), [note] if note else [], **described)


def correct_aligned(correct: ArrayLike, **described: Any) -> xr.Dataset:
    """Build the data set of `Trials.from_correct`."""
    values, hidden = _array("correct", correct)
    if values.ndim != 2:
        raise ValueError(f"correct must have shape (observer, trial), got {values.shape}")
    if values.dtype.kind in "mMc":
        raise ValueError(f"correct must be 0, 1 or NaN, got an array of {values.dtype}")
    gone, numbers = pd.isna(values), values
    if values.dtype.kind in "OSU":
        given = pd.Series(values.ravel(), dtype=object).where(~gone.ravel(), np.nan)
        numbers = pd.to_numeric(given, errors="coerce").to_numpy().reshape(values.shape)
    bad = ~hidden & ~gone & (numbers != 0) & (numbers != 1)
    if bad.any():
        observer, trial = np.argwhere(bad)[0]
        (value,) = values[observer, [trial]].tolist()
        raise ValueError(
            f"correct must be 0, 1 or NaN, got {value!r} for observer {observer}, trial {trial}"
        )
    # Signed first: the codes do not fit into arrays of unsigned integers.
    coded = np.where(hidden | gone, 0, numbers).astype(np.int8)
    coded[gone], coded[hidden] = NO_RESPONSE, NOT_SHOWN
    return _described(coded, None, [], **described)


def _array(name: str, values: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Values, without turning NaN and None into text, and which are masked."""
    try:
        array = np.ma.asarray(values)
        mask = np.ma.getmaskarray(array)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            return np.asarray(values, dtype=object), mask
    except ValueError:
        raise ValueError(f"rows of {name} have different lengths; make them equally long") from None
    return np.ma.getdata(array), mask


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
    if not correct.size:
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
    names, texts = (
        {name: _texts(name, given, n, dim) for name, given in all_of.items() if given is not None}
        for dim, n, all_of in (
            ("observer", n_observers, {"observers": observers, "kind": kind, **(labels or {})}),
            ("trial", n_trials, {**of_trial, **(item_columns or {})}),
        )
    )
    names = {"observer": names.pop("observers"), **names}
    if len(set(names["observer"])) < n_observers:
        raise ValueError("observers must have different names; two have the same name")
    if repeat is not None:
        numbers = np.asarray(repeat)
        whole = numbers.dtype.kind in "iu" and numbers.shape == (n_trials,)
        if not whole or (numbers < 0).any() or (numbers > MOST_NUMBER).any():
            raise ValueError(f"repeat must be {n_trials} whole numbers from 0, one per trial")
        texts["repeat"] = numbers.astype(np.int64)
    data = _dataset(correct, answers, names, texts, item_columns or (), notes)
    keys = pd.DataFrame({name: data[name].values for name in OF_TRIAL})
    if (again := keys.duplicated()).any():
        bad = int(np.argmax(again))
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
