"""Options of questions and their probabilities for each observer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, is_chunked, on_disk_or_chunked
from alikely._base.checks import check_answers, check_options, check_probabilities, one_of
from alikely._base.names import listed, nearest
from alikely.data.columns import NOT_SHOWN, NOTES, class_codes
from alikely.data.ingest import Source, open_tables

# Names in trials.
PROBABILITY, N_OPTIONS = "probability", "n_options"
# A value of each scale, and its column in a table.
NAMES = {"probabilities": "probability", "logits": "logit"}
# Columns that, with `item`, identify the trial of a row of a long table.
OF_TRIAL = ("dataset", "condition", "repeat")
# Size of a block of questions.
CHUNK = 8_000_000


def with_options(data: xr.Dataset, n_options: ArrayLike) -> xr.Dataset:
    """Data of `Trials.with_options`."""
    _require_classes(data)
    right, options = data["truth"].values, n_options
    if isinstance(n_options, str):
        if n_options != "classes":
            raise ValueError(
                f"n_options must be a number, one for each trial, or 'classes', got {n_options!r}"
            )
        options = data.sizes["class"]
    _, numbers = check_options(right, options, data.sizes["trial"])
    if (more := numbers > data.sizes["class"]).any():
        bad = int(np.argmax(more))
        raise ValueError(
            f"question {bad} has {numbers[bad]} options, but there are {data.sizes['class']} "
            f"classes ({listed(data['class'].values)}); list all classes with classes=[...]"
        )
    answers = data["response"].values
    check_answers(np.where(answers < 0, -1, answers), numbers)
    return data.assign_coords({N_OPTIONS: ("trial", numbers)})


def with_probabilities(data: xr.Dataset, values: Any, scale: str) -> xr.Dataset:
    """Data of `Trials.with_probabilities`."""
    _require_classes(data)
    one_of("scale", scale, ("probabilities", "logits"))
    if not hasattr(values, "columns"):
        array, options = _of_array(data, values, scale)
    else:
        array, options = _of_table(data, open_tables([values]), scale)
    shown = data["correct"].values != NOT_SHOWN
    given, likeliest = _looked_at(array)
    stray = given & ~shown
    if stray.any():
        raise ValueError(
            f"{_place(data, *np.argwhere(stray)[0])} was not shown but has probabilities; give "
            "NaN for all of its options"
        )
    answers = data["response"].values
    both = given & (answers >= 0)
    notes = list(data.attrs.get(NOTES, ()))
    if n := int((shown & ~given).sum()):
        notes.append(f"{n} of {int(shown.sum())} trials shown have no probabilities")
    if n := int((both & (likeliest != answers)).sum()):
        notes.append(f"{n} of {int(both.sum())} answers are not the likeliest option")
    data = data.assign({PROBABILITY: (("observer", "trial", "class"), array)})
    return data.assign_coords({N_OPTIONS: ("trial", options)}).assign_attrs({NOTES: notes})


def softmax(logits: NDArray[Any]) -> Floats:
    """Probabilities of options from logits or log likelihoods; NaN where all are NaN."""
    array = np.asarray(logits, dtype=np.float64)
    if np.isposinf(array).any():
        raise ValueError("logits must be below infinity, got inf")
    with np.errstate(invalid="ignore"):
        odds = np.exp(array - array.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _require_classes(data: xr.Dataset) -> None:
    if "response" in data and "truth" not in data:
        raise ValueError("these trials have no true classes; name their column by truth=")
    if "response" not in data:
        raise ValueError(
            "these trials contain correctness only, but options are classes: read them with "
            "columns truth and response"
        )


def _of_array(
    data: xr.Dataset, values: ArrayLike, scale: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Probabilities from an array of aligned trials; options are the first classes."""
    array = on_disk_or_chunked(values.data if isinstance(values, xr.DataArray) else values)
    k = data.sizes["class"]
    shape = (data.sizes["observer"], data.sizes["trial"], k)
    if array.shape != shape:
        raise ValueError(
            f"probabilities must have shape (observer, trial, class) = {shape}, classes in the "
            f"order {listed(data['class'].values)}; got {array.shape}"
        )
    if N_OPTIONS not in data:
        data = with_options(data, k)
    options = data[N_OPTIONS].values
    if scale == "logits":
        if is_chunked(array):
            raise ValueError(
                "logits of a chunked array would all be read for the softmax; give probabilities, "
                "such as array.map_blocks(alikely.data.probabilities.softmax)"
            )
        array, possible = np.asarray(array, np.float64), np.arange(k) < options[:, None]
        if (stray := np.isfinite(array) & ~possible).any():
            question = int(np.argwhere(stray)[0][1])
            raise ValueError(
                f"question {question} has {options[question]} options but a logit for another "
                "class; give -inf for this class, or set the number of options by "
                "Trials.with_options"
            )
        array = _filled(data, array, possible, scale)
    return array, options


def _filled(
    data: xr.Dataset, array: NDArray[Any], possible: NDArray[np.bool_], scale: str
) -> NDArray[Any]:
    """Probabilities with 0 for what is no option; NaN where an observer has none."""
    gone = np.isnan(array)
    none = (gone | ~possible).all(axis=2, keepdims=True)
    if (some := gone & possible & ~none).any():
        i, t, k = np.argwhere(some)[0]
        raise ValueError(
            f"{_place(data, i, t)} has no {NAMES[scale]} of option {data['class'].values[k]!r}; "
            "give all options, or none of them"
        )
    filled = np.where(possible, array, 0 if scale == "probabilities" else -np.inf)
    filled = np.where(none, np.nan, filled)
    return filled if scale == "probabilities" else softmax(filled)


def _looked_at(array: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Available probabilities and the most probable option, in blocks."""
    n, n_trials, k = array.shape
    given, likeliest = np.zeros((n, n_trials), dtype=bool), np.zeros((n, n_trials), dtype=np.intp)
    # Options of a table are any of the classes: then none is beyond.
    step = max(1, CHUNK // (n * k))
    for start in range(0, n_trials, step):
        part = slice(start, start + step)
        values = np.asarray(array[:, part])
        given[:, part] = check_probabilities(values, np.full(values.shape[1], k), part)
        likeliest[:, part] = np.where(np.isnan(values), -1, values).argmax(axis=2)
    return given, likeliest


def _of_table(
    data: xr.Dataset, source: Source, scale: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Probabilities from a long table with a row for each observer, trial and option."""
    observer, trial = _rows_of(data, source)
    option = source.read("option")
    names = data["class"].values.tolist()

    def where(i: int) -> str:
        return f"column 'option', {source.where(int(np.argmax(option.codes == i)))}"

    chosen = class_codes(option.labels, names, where)[option.codes]
    shape = (data.sizes["observer"], data.sizes["trial"], len(names))
    at = np.ravel_multi_index((observer, trial, chosen), shape)
    if len(np.unique(at)) < len(at):
        row = int(np.flatnonzero(pd.Series(at).duplicated())[0])
        raise ValueError(f"{source.where(row)} repeats an option of an earlier row")
    array = np.full(shape, np.nan)
    array.ravel()[at] = source.numbers(NAMES[scale])
    possible = np.zeros(shape[1:], dtype=bool)
    possible[trial, chosen] = True
    answers, truth = data["response"].values, data["truth"].values
    asked = possible.any(axis=1)
    for what, codes in (("truth", np.broadcast_to(truth, answers.shape)), ("answer", answers)):
        foreign = (codes >= 0) & asked & ~possible[np.arange(shape[1]), np.maximum(codes, 0)]
        if foreign.any():
            i, t = np.argwhere(foreign)[0]
            raise ValueError(
                f"{_place(data, i, t)} has the {what} {names[codes[i, t]]!r}, which is not one of "
                f"the options in the table: {listed(np.array(names)[possible[t]])}"
            )
    options = possible.sum(axis=1)
    # A question that nobody has probabilities of has the options that are known of it, if any.
    known = data.coords.get(N_OPTIONS)
    options[~asked] = len(names) if known is None else known.values[~asked]
    check_options(np.zeros(shape[1], int), options, shape[1])
    return _filled(data, array, possible, scale), options


def _rows_of(data: xr.Dataset, source: Source) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Observer and trial of each row of a table, by their labels."""
    observers = source.read("observer")
    roles = ["item", *(role for role in OF_TRIAL if source.has(role))]
    keys = {role: source.read(role).texts() for role in roles}
    # Numbers of repeats are texts here, as labels are.
    values = {role: data[role].values for role in roles}
    of_trials = pd.MultiIndex.from_arrays(
        [v.astype(str).astype(object) if role == "repeat" else v for role, v in values.items()]
    )
    if not of_trials.is_unique:
        lacking = [role for role in OF_TRIAL if role not in keys]
        raise ValueError(
            f"{', '.join(keys)} do not identify trials; the table of probabilities also needs "
            f"{listed(lacking)}"
        )
    names = data["observer"].values.tolist()
    at = pd.Index(names).get_indexer(observers.texts())
    if (at < 0).any():
        name = observers.labels[observers.codes[int(np.argmax(at < 0))]]
        raise ValueError(
            f"no observer {name!r} in these trials ({source.where(int(np.argmax(at < 0)))}); "
            f"choose from {listed(names)}{nearest(name, names)}"
        )
    trial = of_trials.get_indexer(pd.MultiIndex.from_arrays(list(keys.values())))
    if (trial < 0).any():
        row = int(np.argmax(trial < 0))
        told = ", ".join(f"{role} {values[row]!r}" for role, values in keys.items())
        raise ValueError(f"no trial of {told} ({source.where(row)})")
    return at, trial


def _place(data: xr.Dataset, observer: int, trial: int) -> str:
    """Name an observer's trial for a message."""
    who, item = data["observer"].values[observer], data["item"].values[trial]
    return f"item {item!r} of observer {who!r}"
