"""Answers of any layout, aligned: what the constructors of `Trials` make their data of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.checks import entries
from alikely._base.size import check_memory
from alikely.data.columns import (
    NO_RESPONSE,
    NOT_SHOWN,
    NOTES,
    admissible,
    check_label,
    check_label_names,
    code_dtype,
    number_trials,
    outside,
    per_observer,
    per_trial,
    read_answers,
    read_correct,
    read_repeat,
    refuse_duplicates,
    refuse_two_truths,
    with_item_columns,
)
from alikely.data.ingest import Column, OddError, Source, label
from alikely.data.pieces import KEYS, Aligned, Roles, in_pieces

__all__ = ["arrays_aligned", "correct_aligned", "table_aligned"]

DEFAULT_LABEL = "all"
# So many are read as a whole where anything is odd; of more only the tables that it concerns.
FEW_ROWS = 1 << 20
# What a row takes while whole columns are read: texts, codes and sorted numbers of trials.
ROW_BYTES = 200


def table_aligned(
    source: Source,
    names: Mapping[str, str],
    *,
    labels: Sequence[str],
    item_columns: Sequence[str],
    classes: Sequence[Any] | str | None,
) -> xr.Dataset:
    """Data of `Trials.from_table`, from the names of columns by role."""
    check_label_names(labels)
    check_label_names(item_columns, "item_columns", "items")
    if both := set(labels) & set(item_columns):
        raise ValueError(
            f"column {min(both)!r} is given twice, in labels and in item_columns; a column "
            "describes either observers or items"
        )
    _refuse_column_twice({role: name for role, name in names.items() if role != "kind"})
    columns = dict(names)
    if columns["item"] == "item" and not source.has("item") and source.has("image"):
        columns["item"] = "image"
    answers, right = (columns["response"], columns["truth"]), columns["correct"]
    answered = any(map(source.has, answers)) or not source.has(right)
    unused = ("correct",) if answered else ("response", "truth")
    # A column of another name than its role was asked for, and must be there.
    optional = ("condition", "dataset", "kind", "repeat")
    columns = {
        role: name
        for role, name in columns.items()
        if role not in unused and (role not in optional or name != role or source.has(name))
    }
    roles = Roles(columns, labels, item_columns, classes, answered)
    found = _read(source, roles)

    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    if found.response is not None:
        variables["response"] = (("observer", "trial"), found.response)
        coords["truth"] = ("trial", found.truth)
        coords["class"] = np.array(found.classes, dtype=object)
    variables["correct"] = (("observer", "trial"), found.correct)
    n_observers, n_trials = found.correct.shape
    for role in ("dataset", "condition", "item"):
        texts = found.of_trial.get(role, np.full(n_trials, DEFAULT_LABEL, dtype=object))
        coords[role] = ("trial", texts)
    coords["repeat"] = ("trial", found.of_trial.get("repeat", np.zeros(n_trials, dtype=np.int64)))
    coords["observer"] = np.array(found.observers, dtype=object)
    none = np.full(n_observers, "observer", dtype=object)
    coords["kind"] = ("observer", found.of_observer.get("kind", none))
    for name in labels:
        coords[name] = ("observer", found.of_observer[name])
    for name in item_columns:
        coords[name] = ("trial", found.of_trial[name])
    notes = list(source.notes.values())
    data = xr.Dataset(variables, coords=coords, attrs={NOTES: notes} if notes else None)
    return with_item_columns(data, item_columns)


def _read(source: Source, roles: Roles) -> Aligned:
    """Answers of a source, piece by piece where nothing is odd."""
    needed = (*roles.columns.values(), *roles.labels, *roles.item_columns)
    try:
        if all(source.has(name) for name in needed):
            return in_pieces(source, roles)
    except OddError as odd:
        # Of two truths, classes that others of the tables name are none that are unknown.
        seen = "seen" if roles.classes is None else roles.classes
        if odd.tables and source.n_rows > FEW_ROWS:
            _at_once(source.part(odd.tables), roles._replace(classes=seen))
    source.notes.clear()
    check_memory(
        ROW_BYTES * source.n_rows,
        f"{source.n_rows:,} rows with entries of several types or printed as floats",
        "give each column one type, or read fewer files at a time",
    )
    return _at_once(source, roles)


def _at_once(source: Source, roles: Roles) -> Aligned:
    """Answers of a source whose columns are read as a whole, which says what is odd about rows."""
    names = roles.columns
    columns = {role: source.read(names[role]) for role in KEYS if role in names}
    # Before duplicates: a person and a machine of one name are two observers, not one twice.
    observer = columns["observer"]
    of_observer = {}
    if "kind" in columns:
        of_observer["kind"] = per_observer(source, "kind", columns["kind"], observer)
    for role in ("dataset", "condition"):
        none = np.zeros(source.n_rows, dtype=np.int64)
        columns.setdefault(role, Column(none, [DEFAULT_LABEL], "text"))
    repeats = read_repeat(source, names.get("repeat", "repeat"))

    trial_keys = [columns[role].codes for role in ("dataset", "condition", "item")]
    trial, first = number_trials([*trial_keys, repeats])
    for role in KEYS:
        for text in columns[role].labels if role in columns else ():
            check_label(f"column {role!r}", text)
    rows = observer.codes
    refuse_duplicates(source, columns, rows, trial, repeats)

    shape = (len(observer.labels), len(first))
    coded, truth = None, None
    class_labels: list[str] = []
    if roles.answered:
        answers = read_answers(source, names["response"], names["truth"], roles.classes)
        given, true_class, class_labels = answers
        refuse_two_truths(source, columns, true_class, trial, first, class_labels)
        coded = np.full(shape, NOT_SHOWN, dtype=code_dtype(class_labels))
        coded[rows, trial] = given
        right = np.where(given == NO_RESPONSE, NO_RESPONSE, given == true_class)
        truth = true_class[first].astype(coded.dtype)
    else:
        right = read_correct(source, names["correct"])
    correct = np.full(shape, NOT_SHOWN, dtype=np.int8)
    correct[rows, trial] = right
    of_trial: dict[str, NDArray[Any]] = {}
    for role in ("dataset", "condition", "item"):
        texts = np.array(columns[role].labels, dtype=object)
        of_trial[role] = texts[columns[role].codes[first]]
    of_trial["repeat"] = repeats[first]
    for name in roles.item_columns:
        of_trial[name] = per_trial(source, name, columns["item"], trial, first)
    for name in roles.labels:
        of_observer[name] = per_observer(source, name, source.read(name), observer)
    return Aligned(correct, coded, truth, class_labels, of_trial, observer.labels, of_observer)


def _refuse_column_twice(roles: Mapping[str, str]) -> None:
    """Refuse one column in two roles (`ValueError`)."""
    for role, name in roles.items():
        first = next(other for other, column in roles.items() if column == name)
        if first != role:
            raise ValueError(f"column {name!r} is given twice, as {first} and as {role}")


def arrays_aligned(
    response: ArrayLike,
    truth: ArrayLike,
    *,
    observers: Sequence[str] | None,
    classes: Sequence[Any] | str | None,
    condition: Sequence[Any] | None,
    item: Sequence[Any] | None,
    dataset: Sequence[Any] | None,
    repeat: Sequence[int] | None,
    kind: Sequence[str] | None,
    labels: Mapping[str, Sequence[str]] | None,
    item_columns: Mapping[str, Sequence[Any]] | None,
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
    code = {name: number for number, name in enumerate(known)}
    coded = np.full(values.shape, NOT_SHOWN, dtype=code_dtype(known))
    coded[shown] = NO_RESPONSE
    numbers = np.array([code.get(name, NOT_SHOWN) for name in names], dtype=coded.dtype)
    if (numbers == NOT_SHOWN).any():
        bad = int(np.argmax(numbers == NOT_SHOWN))
        place = np.argwhere(answered)[bad]
        raise ValueError(outside(f"observer {place[0]}, trial {place[1]}", names[bad], known))
    coded[answered] = numbers
    true_code = np.array([code.get(name, NOT_SHOWN) for name in true], dtype=coded.dtype)
    if (true_code == NOT_SHOWN).any():
        bad = int(np.argmax(true_code == NOT_SHOWN))
        raise ValueError(outside(f"truth of trial {bad}", true[bad], known))
    correct = np.where(coded < 0, coded, coded == true_code).astype(np.int8)
    variables = {"correct": (("observer", "trial"), correct)}
    variables["response"] = (("observer", "trial"), coded)
    extra = {"truth": ("trial", true_code), "class": np.array(known, dtype=object)}
    trial_coords = (condition, item, dataset, repeat)
    data = _with_coords(variables, extra, observers, kind, labels, item_columns, *trial_coords)
    return data.assign_attrs({NOTES: [note]}) if note else data


def correct_aligned(
    correct: ArrayLike,
    *,
    observers: Sequence[str] | None,
    condition: Sequence[Any] | None,
    item: Sequence[Any] | None,
    dataset: Sequence[Any] | None,
    repeat: Sequence[int] | None,
    kind: Sequence[str] | None,
    labels: Mapping[str, Sequence[str]] | None,
    item_columns: Mapping[str, Sequence[Any]] | None,
) -> xr.Dataset:
    """Data of `Trials.from_correct`."""
    array = _array("correct", correct)
    mask = np.ma.getmaskarray(array)
    values = _numbers_of(np.ma.getdata(array))
    if values.ndim != 2:
        raise ValueError(f"correct must have shape (observer, trial), got {values.shape}")
    bad = ~mask & ~np.isnan(values) & (values != 0) & (values != 1)
    if bad.any():
        observer, trial = np.argwhere(bad)[0]
        raise ValueError(
            f"correct must be 0, 1 or NaN, got {values[observer, trial]:g} for observer "
            f"{observer}, trial {trial}"
        )
    aligned = np.where(mask, NOT_SHOWN, np.where(np.isnan(values), NO_RESPONSE, values))
    variables = {"correct": (("observer", "trial"), aligned.astype(np.int8))}
    trial_coords = (condition, item, dataset, repeat)
    return _with_coords(variables, {}, observers, kind, labels, item_columns, *trial_coords)


def _array(name: str, values: ArrayLike) -> np.ma.MaskedArray[Any, Any]:
    """An array of what was given; NumPy would make text of NaN and None beside text."""
    try:
        array = np.ma.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            kept = np.asarray(values, dtype=object)
            return np.ma.masked_array(kept, np.ma.getmaskarray(array))
    except ValueError:
        raise ValueError(f"rows of {name} have different lengths; give each the same") from None
    return array


def _numbers_of(values: NDArray[Any]) -> NDArray[np.float64]:
    """Correctness as floats, NaN where there is no value."""
    if values.dtype.kind in "mMc":
        raise ValueError(f"correct must be 0, 1 or NaN, got an array of {values.dtype}")
    if values.dtype.kind == "O":
        if not values.ndim:
            raise ValueError("correct must have shape (observer, trial), got one value")
        values = np.where(pd.isna(values), np.nan, values)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        bad = next(value for value in values.ravel().tolist() if not _is_number(value))
        raise ValueError(f"correct must be 0, 1 or NaN, got {bad!r}") from None


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _with_coords(
    variables: dict[str, Any],
    extra: dict[str, Any],
    observers: Sequence[str] | None,
    kind: Sequence[str] | None,
    labels: Mapping[str, Sequence[str]] | None,
    item_columns: Mapping[str, Sequence[Any]] | None,
    condition: Sequence[Any] | None,
    item: Sequence[Any] | None,
    dataset: Sequence[Any] | None,
    repeat: Sequence[int] | None,
) -> xr.Dataset:
    """Dataset of aligned arrays, with checked coordinates, conditions side by side."""
    n_observers, n_trials = variables["correct"][1].shape
    data_shape = {"observer": n_observers, "trial": n_trials}
    if not n_observers or not n_trials:
        raise ValueError(f"no trials: got {n_observers} observers and {n_trials} trials")
    texts = {
        "observer": _texts("observers", observers, n_observers, "observer", None),
        "kind": _texts("kind", kind, n_observers, "observer", "observer"),
        "condition": _texts("condition", condition, n_trials, "trial", DEFAULT_LABEL),
        "item": _texts("item", item, n_trials, "trial", None),
        "dataset": _texts("dataset", dataset, n_trials, "trial", DEFAULT_LABEL),
    }
    if repeat is None:
        numbers = np.zeros(n_trials, dtype=np.int64)
    else:
        numbers = np.asarray(repeat)
        whole = numbers.dtype.kind in "iu" and numbers.shape == (n_trials,)
        if not whole or (numbers < 0).any() or (numbers > np.iinfo(np.int64).max).any():
            raise ValueError(f"repeat must be {n_trials} whole numbers from 0 on, one per trial")
    if len(set(texts["observer"])) < n_observers:
        raise ValueError("observers must have different names; two are called alike")
    coords: dict[str, Any] = {"observer": texts["observer"], "kind": ("observer", texts["kind"])}
    own = {"labels": ("observer", labels), "item_columns": ("trial", item_columns)}
    for argument, (dim, given) in own.items():
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                f"{argument} must map names to one entry per {dim}, such as {{'lab': ['x', 'y']}}, "
                f"got {type(given).__name__}"
            )
        check_label_names(given or (), argument, f"{dim}s")
        for name, values in (given or {}).items():
            coords[name] = (dim, _texts(name, values, data_shape[dim], dim, None))
    for name in ("condition", "item", "dataset"):
        coords[name] = ("trial", texts[name])
    coords["repeat"] = ("trial", numbers.astype(np.int64))
    data = xr.Dataset(variables, coords=coords | extra)
    keys = pd.DataFrame(
        {name: data[name].values for name in ("dataset", "condition", "item", "repeat")}
    )
    if keys.duplicated().any():
        bad = int(np.argmax(keys.duplicated()))
        raise ValueError(
            f"trial {bad} repeats item {texts['item'][bad]!r} in its condition; number repeated "
            "trials with repeat=[...]"
        )
    group = keys.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    data = data.isel(trial=np.argsort(group, kind="stable"))
    return with_item_columns(data, tuple(item_columns or ()))


def _texts(
    name: str, values: Sequence[Any] | None, length: int, dim: str, default: str | None
) -> NDArray[np.object_]:
    if values is None:
        names = [default or f"{dim}_{i}" for i in range(length)]
        return np.array(names, dtype=object)
    listed = entries(name, values)
    if len(listed) != length:
        raise ValueError(
            f"{name} must have one entry per {dim}: expected {length}, got {len(listed)}"
        )
    array = np.empty(length, dtype=object)
    array[:] = listed
    missing = np.array([np.ndim(value) == 0 and bool(pd.isna(value)) for value in array])
    if missing.any():
        raise ValueError(f"{name} has no value at position {int(np.argmax(missing))}")
    texts = np.array([label(value) for value in listed], dtype=object)
    for position, (value, text) in enumerate(zip(listed, texts, strict=True)):
        check_label(f"{name}, position {position}", text, value)
    return texts
