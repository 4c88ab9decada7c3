"""What the columns of a long table must hold to become aligned trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import entries
from alikely._base.names import listed, nearest
from alikely.data.ingest import Column, Source, label

__all__ = [
    "NOT_SHOWN",
    "NO_RESPONSE",
    "SILENT",
    "admissible",
    "check_label",
    "check_label_names",
    "class_labels",
    "code_dtype",
    "meaning_of_correct",
    "number_trials",
    "outside",
    "per_observer",
    "per_trial",
    "read_answers",
    "read_correct",
    "read_repeat",
    "refuse_duplicates",
    "refuse_two_families",
    "refuse_two_truths",
    "with_item_columns",
    "with_silence",
]

# What trials call their own dims, variables and coordinates.
OWN_NAMES = (
    "observer", "kind", "trial", "item", "condition", "dataset", "repeat", "truth", "class",
    "response", "correct", "n_options", "probability", "inclusion", "stratum", "stratum_images",
)  # fmt: skip
# What 64 bits hold.
MOST_NUMBER = np.iinfo(np.int64).max
NO_RESPONSE = -1
NOT_SHOWN = -2
# Attribute of trials: classes that are true in data sets alone which were left out.
# Attribute by which a loader says whether a label of two data sets is one person ("label") or two
# ("dataset").
PEOPLE = "people"
ELSEWHERE = "true_elsewhere"
# Attribute of trials: what was guessed or counted when they were read.
NOTES = "notes"
# Attribute of trials: names of the columns that describe their items.
ITEM_COLUMNS = "item_columns"
# Answers of classes that are never true may be this share of all answers without being asked for.
MOST_UNTRUE = 0.02
# What people write where there is no answer, and what is read as a class.
LIKE_MISSING = {
    "-", "--", "?", "miss", "missed", "missing", "n/a", "na", "nan", "no response", "none", "null",
    "skip", "skipped", "timeout", "timed out",
}  # fmt: skip
SEEN = "seen"
# What a column of correctness may hold, in letters of any size.
MEANING = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "0.00": 0, "1.00": 1, "false": 0, "true": 1}
# The class of answers that were not given, where they count as wrong.
SILENT = "(no response)"


def code_dtype(class_labels: Sequence[str]) -> type[np.signedinteger[Any]]:
    """Smallest whole numbers that count these classes."""
    return np.int16 if len(class_labels) < np.iinfo(np.int16).max else np.int32


def class_labels(truth: Sequence[str] | NDArray[Any]) -> list[str]:
    """Classes that occur, numbers in their own order."""
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
    """Admissible classes and, where some are never true but were admitted, a note of them."""
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
                f"classes {other!r} and {name!r} differ in case alone; write both alike or, if "
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
    """Classes as a user lists them, each once."""
    given = entries("classes", classes, "['cat', 'dog']")
    names = [label(name) for name in given]
    for name, text in zip(given, names, strict=True):
        check_label("classes", text, name)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"classes has {twice[0]!r} twice; list each class once")
    return names


def check_label(where: str, text: str, value: object = "") -> None:
    """Refuse a label that is none: missing, empty, blank or of another kind (`ValueError`)."""
    missing = value is None or (isinstance(value, float) and np.isnan(value)) or text == "<NA>"
    odd = isinstance(value, bytes | list | tuple | set | dict | np.ndarray)
    if "\0" in text or not _writable(text):
        raise ValueError(
            f"a label must be text that a file can hold, got {text!r} ({where}); write it otherwise"
        )
    if missing or odd or not text.strip():
        shown = repr(text if isinstance(value, str) else value)
        raise ValueError(
            f"a label must be text or a number, got {shown} ({where}); name it or leave it out"
        )


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True


def outside(where: str, name: str, known: Sequence[str]) -> str:
    """Say where a value stands that is none of those known."""
    return (
        f"{name!r} ({where}) is not among the {len(known)} classes {listed(known)}; if it is an "
        "admissible answer, list all of them with classes=[...], or take whatever was answered "
        "with classes='seen'; if it means no response, leave it empty (or, in a file, name it in "
        f"na_values){nearest(name, known)}"
    )


def check_label_names(
    names: Iterable[str], argument: str = "labels", of: str = "observers"
) -> None:
    """Refuse free labels that bear a name which the trials use themselves."""
    names = entries(argument, names)
    odd = [name for name in names if not isinstance(name, str) or not name.strip()]
    if odd:
        raise ValueError(f"{argument} of {of} are called by text, got {odd[0]!r}; rename it")
    taken = [name for name in names if name in OWN_NAMES]
    if taken:
        raise ValueError(
            f"a label of {of} must not be called {taken[0]!r}, as trials use "
            f"{', '.join(OWN_NAMES)} themselves; give the column another name"
        )


def with_silence(names: Sequence[str]) -> list[str]:
    """Classes and that of missing answers, which no other may be called (`ValueError`)."""
    if SILENT in names:
        raise ValueError(
            f"{SILENT!r} is a class here, and what missing answers are called; rename the class"
        )
    return [*names, SILENT]


def number_trials(keys: list[NDArray[np.int64]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the trials; also the first row of each."""
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        # Python's numbers do not run over: where the product would, both are numbered anew.
        if int(combined.max(initial=0) + 1) * (int(key.max(initial=0)) + 1) > MOST_NUMBER:
            combined = np.unique(combined, return_inverse=True)[1].astype(np.int64)
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        combined = combined * (key.max(initial=0) + 1) + key
    _, first, trial = np.unique(combined, return_index=True, return_inverse=True)
    return trial, first


def refuse_duplicates(
    source: Source,
    columns: dict[str, Column],
    rows: NDArray[np.int64],
    trial: NDArray[np.intp],
    repeats: NDArray[np.int64],
) -> None:
    """Refuse an observer that answered one trial twice (`ValueError`)."""
    entry = rows * (trial.max() + 1) + trial
    order = np.argsort(entry, kind="stable")
    again = np.flatnonzero(np.diff(entry[order]) == 0)
    if len(again):
        one, other = order[again[0]], order[again[0] + 1]
        name = {role: column.labels[column.codes[one]] for role, column in columns.items()}
        raise ValueError(
            f"observer {name['observer']!r} has two rows for item {name['item']!r} (dataset "
            f"{name['dataset']!r}, condition {name['condition']!r}, repeat {repeats[one]}): "
            f"{source.where(int(one))} and {source.where(int(other))}; number repeated trials in "
            "a column named by repeat="
        )


def refuse_two_truths(
    source: Source,
    columns: dict[str, Column],
    true_class: NDArray[np.int64],
    trial: NDArray[np.intp],
    first: NDArray[np.intp],
    class_labels: list[str],
) -> None:
    """Refuse an item with two true classes (`ValueError`)."""
    differs = true_class != true_class[first][trial]
    if differs.any():
        row = int(np.argmax(differs))
        other = int(first[trial[row]])
        observer, item = columns["observer"], columns["item"]
        raise ValueError(
            f"item {item.labels[item.codes[row]]!r} has truth "
            f"{class_labels[true_class[other]]!r} for observer "
            f"{observer.labels[observer.codes[other]]!r} ({source.where(other)}) but "
            f"{class_labels[true_class[row]]!r} for observer "
            f"{observer.labels[observer.codes[row]]!r} ({source.where(row)}); an item has one "
            "truth in a condition"
        )


def read_repeat(source: Source, name: str) -> NDArray[np.int64]:
    """Numbers of the presentations of an item; 0 where the table has none."""
    if name == "repeat" and not source.has(name):
        return np.zeros(source.n_rows, dtype=np.int64)
    column = source.read(name)
    numbers = np.empty(len(column.labels), dtype=np.int64)
    for code, text in enumerate(column.labels):
        if not text.isdecimal() or int(text) > MOST_NUMBER:
            row = int(np.argmax(column.codes == code))
            raise ValueError(
                f"column {name!r} must hold whole numbers from 0 on, below 2^63, got {text!r} "
                f"in {source.where(row)}"
            )
        numbers[code] = int(text)
    return numbers[column.codes]


def read_correct(source: Source, name: str) -> NDArray[np.int8]:
    """Column of right and wrong answers, and of those that are missing."""
    column = source.read(name, complete=False)
    numbers = np.empty(len(column.labels) + 1, dtype=np.int8)
    numbers[-1] = NO_RESPONSE  # the code of a null is -1: the last entry
    for code, text in enumerate(column.labels):
        meant = meaning_of_correct(text)
        if meant is None:
            row = int(np.argmax(column.codes == code))
            raise ValueError(
                f"column {name!r} must hold 0, 1 or nothing, got {text!r} in {source.where(row)}"
            )
        numbers[code] = meant
    return numbers[column.codes]


def meaning_of_correct(text: str) -> int | None:
    """Whether a label of a column of correctness says right (1) or wrong (0); None: neither."""
    return MEANING.get(text.lower())


def refuse_two_families(response: str, truth: str, given: str, true: str) -> None:
    """Refuse answers that no truth can equal, since their columns are of two types."""
    if "null" not in (given, true) and given != true:
        raise ValueError(
            f"column {truth!r} holds {true}s but column {response!r} holds {given}s, so no answer "
            "could be right; give both the same type"
        )


def read_answers(
    source: Source, response: str, truth: str, classes: Sequence[Any] | str | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Class codes of responses (-1 none) and truths, row by row, and the class labels."""
    keep = set() if classes is None or isinstance(classes, str) else set(map(label, classes))
    given, true = source.read(response, complete=False, keep=keep), source.read(truth, keep=keep)
    refuse_two_families(response, truth, given.family, true.family)
    counts = np.bincount(given.codes[given.codes >= 0], minlength=len(given.labels))
    answers = dict(zip(given.labels, counts.tolist(), strict=True))
    known, note = admissible(true.labels, answers, classes)
    if note:
        source.notes["untrue"] = note
    code = {name: number for number, name in enumerate(known)}
    recoded = []
    for name, column in ((truth, true), (response, given)):
        numbers = np.full(len(column.labels) + 1, NO_RESPONSE, dtype=np.int64)
        for old, text in enumerate(column.labels):
            if text not in code:
                row = int(np.argmax(column.codes == old))
                raise ValueError(outside(f"column {name!r}, {source.where(row)}", text, known))
            numbers[old] = code[text]
        recoded.append(numbers[column.codes])
    return recoded[1], recoded[0], known


def per_observer(
    source: Source, name: str, column: Column, observer: Column
) -> NDArray[np.object_]:
    """Label of each observer, which must be the same in all its rows."""
    _, first = np.unique(observer.codes, return_index=True)
    differs = column.codes != column.codes[first][observer.codes]
    if differs.any():
        row = int(np.argmax(differs))
        who = observer.labels[observer.codes[row]]
        one, other = (
            column.labels[column.codes[first[observer.codes[row]]]],
            column.labels[column.codes[row]],
        )
        raise ValueError(
            f"observer {who!r} has {name} {one!r} and {other!r} ({source.where(row)}); it must be "
            "the same in all rows of an observer, and two observers need two names"
        )
    return np.array(column.labels, dtype=object)[column.codes[first]]


def per_trial(
    source: Source,
    name: str,
    item: Column,
    trial: NDArray[np.intp],
    first: NDArray[np.intp],
) -> NDArray[np.object_]:
    """Label of each trial, which must be the same in the rows of all observers."""
    column = source.read(name)
    differs = column.codes != column.codes[first][trial]
    if differs.any():
        row = int(np.argmax(differs))
        other = int(first[trial[row]])
        raise ValueError(
            f"item {item.labels[item.codes[row]]!r} has {name} "
            f"{column.labels[column.codes[other]]!r} ({source.where(other)}) and "
            f"{column.labels[column.codes[row]]!r} ({source.where(row)}); a column of "
            "item_columns= is the same in all rows of an item"
        )
    return np.array(column.labels, dtype=object)[column.codes[first]]


def with_item_columns(data: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Remember which coordinates of trials describe items, the same for all repeats of one."""
    if not names:
        return data
    keys = ["dataset", "condition", "item"]
    frame = pd.DataFrame({name: data[name].values for name in (*keys, *names)})
    number = frame.groupby(keys, sort=False)[list(names)].transform("first")
    for name in names:
        differs = (frame[name] != number[name]).to_numpy()
        if differs.any():
            row = int(np.argmax(differs))
            raise ValueError(
                f"{name} must be the same for all repeats of an item, got "
                f"{number[name].iloc[row]!r} and {frame[name].iloc[row]!r} for item "
                f"{frame['item'].iloc[row]!r}; leave it out of item_columns"
            )
    return data.assign_attrs({ITEM_COLUMNS: list(names)})
