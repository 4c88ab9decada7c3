"""Trials: what every observer answered on every trial, aligned, with all checks done here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._columns import (
    NO_RESPONSE,
    NOT_SHOWN,
    class_labels,
    code_dtype,
    number_trials,
    outside,
    per_observer,
    read_answers,
    read_correct,
    read_repeat,
    refuse_duplicates,
    refuse_two_truths,
)
from alikely._ingest import Column, label, open_tables, read_file

__all__ = ["NOT_SHOWN", "NO_RESPONSE", "Trials"]

DEFAULT_LABEL = "all"

Labels = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class Trials:
    """Aligned responses of several observers.

    Make one with `from_table`, `read`, `from_arrays` or `from_correct`.

    Attributes
    ----------
    data : xarray.Dataset
        ``correct`` (observer, trial) int8: 1 right, 0 wrong, -1 shown without a response, -2 not
        shown to this observer. ``response`` (observer, trial): class code, -1 and -2 likewise;
        absent when only correctness is known. Coordinates of ``trial``: ``dataset, condition,
        item, repeat`` and, with classes, ``truth``; of ``observer``: ``kind`` and free labels.
        Trials of one condition stand together.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "observer": ["anna", "anna", "net", "net"],
    ...     "item": [1, 2, 1, 2],
    ...     "truth": ["cat", "dog", "cat", "dog"],
    ...     "response": ["cat", "cat", "cat", "dog"],
    ... })
    >>> Trials.from_table(table)
    <Trials: 2 observers, 2 trials, 2 classes>
    """

    data: xr.Dataset

    @classmethod
    def from_table(
        cls,
        *tables: Any,
        observer: str = "observer",
        item: str = "item",
        response: str = "response",
        truth: str = "truth",
        correct: str = "correct",
        condition: str = "condition",
        dataset: str = "dataset",
        repeat: str = "repeat",
        kind: str = "kind",
        labels: Sequence[str] = (),
        classes: Sequence[Any] | None = None,
    ) -> Trials:
        """Align long tables: one row per observer and trial.

        Parameters
        ----------
        *tables : pandas, polars or pyarrow table
            One, or several that are read as one (humans here, models there).
        observer, item : str
            Column names. If there is no column ``item`` but one named ``image``, that is used.
        response, truth : str
            Column names; a null response means: shown, but no response given. An observer without
            a row for a trial was not shown it.
        correct : str
            Column of 0/1 (null: no response), read when ``response`` and ``truth`` are absent.
        condition, dataset, repeat, kind : str
            Column names; under their default names they may be absent. ``kind`` is what ``pairs``
            refers to, such as human and model.
        labels : sequence of str
            Further columns that describe observers, such as a model family.
        classes : sequence, optional
            All admissible answers; by default those that occur as truth.

        Returns
        -------
        Trials
            All labels as text.

        Raises
        ------
        TypeError
            If something is no table.
        ValueError
            If a column is missing, mixes types or lacks a value; for two rows of one observer and
            trial; for a truth that differs between rows of one trial; for a response outside the
            classes; for correctness other than 0 and 1. The message names the row.
        """
        source = open_tables(tables)
        if item == "item" and not source.has("item") and source.has("image"):
            item = "image"
        optional = {"condition": condition, "dataset": dataset, "kind": kind}
        columns = {"observer": source.read(observer), "item": source.read(item)}
        for role, name in optional.items():
            if name != role or source.has(name):
                columns[role] = source.read(name)
            else:
                columns[role] = Column(
                    np.zeros(source.n_rows, dtype=np.int64),
                    ["observer" if role == "kind" else DEFAULT_LABEL],
                    "text",
                )
        repeats = read_repeat(source, repeat)

        trial_keys = [columns[role].codes for role in ("dataset", "condition", "item")]
        trial, first = number_trials([*trial_keys, repeats])
        rows = columns["observer"].codes
        refuse_duplicates(source, columns, rows, trial, repeats)

        shape = (len(columns["observer"].labels), len(first))
        variables: dict[str, Any] = {}
        coords: dict[str, Any] = {}
        if source.has(response) or source.has(truth) or not source.has(correct):
            answers = read_answers(source, response, truth, classes)
            given, true_class, class_labels = answers
            refuse_two_truths(source, columns, true_class, trial, first, class_labels)
            coded = np.full(shape, NOT_SHOWN, dtype=code_dtype(class_labels))
            coded[rows, trial] = given
            right = np.where(given == NO_RESPONSE, NO_RESPONSE, given == true_class)
            variables["response"] = (("observer", "trial"), coded)
            coords["truth"] = ("trial", true_class[first].astype(coded.dtype))
            coords["class"] = np.array(class_labels, dtype=object)
        else:
            right = read_correct(source, correct)
        aligned = np.full(shape, NOT_SHOWN, dtype=np.int8)
        aligned[rows, trial] = right
        variables["correct"] = (("observer", "trial"), aligned)
        for role in ("dataset", "condition", "item"):
            texts = np.array(columns[role].labels, dtype=object)
            coords[role] = ("trial", texts[columns[role].codes[first]])
        coords["repeat"] = ("trial", repeats[first])
        coords["observer"] = np.array(columns["observer"].labels, dtype=object)
        described = {"kind": columns["kind"], **{name: source.read(name) for name in labels}}
        for name, column in described.items():
            coords[name] = ("observer", per_observer(source, name, column, columns["observer"]))
        return cls(xr.Dataset(variables, coords=coords))

    @classmethod
    def read(cls, path: str | Path, **columns: Any) -> Trials:
        """Read a long table from a csv or parquet file.

        Parameters
        ----------
        path : str or path
            File with suffix ``.csv``, ``.csv.gz`` or ``.parquet``. In csv files labels stay as
            printed (``0.10`` is not ``0.1``), and an empty response means: no response given.
        **columns
            As in `from_table`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If the file is missing, empty or neither csv nor parquet, and as in `from_table`.
        """
        return cls.from_table(read_file(path), **columns)

    @classmethod
    def from_arrays(
        cls,
        response: ArrayLike,
        truth: ArrayLike,
        *,
        observers: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        condition: Sequence[Any] | None = None,
        item: Sequence[Any] | None = None,
        dataset: Sequence[Any] | None = None,
        repeat: Sequence[int] | None = None,
        kind: Sequence[str] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> Trials:
        """Take responses that are aligned already.

        Parameters
        ----------
        response : array_like, shape (observer, trial)
            Class labels; None or NaN where no response was given; masked (`numpy.ma`) where the
            trial was not shown.
        truth : array_like, shape (trial,)
            True class labels.
        observers, kind : sequence of str, optional
            One per observer.
        classes : sequence, optional
            All admissible answers; by default those that occur as truth.
        condition, item, dataset, repeat : sequence, optional
            One per trial.
        labels : mapping of str to sequence, optional
            Further descriptions of the observers.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If shapes do not fit together, and as in `from_table`.

        Examples
        --------
        >>> Trials.from_arrays([["cat", "dog"], ["cat", None]], ["cat", "dog"])
        <Trials: 2 observers, 2 trials, 2 classes>
        """
        shown = ~np.ma.getmaskarray(np.ma.asarray(response))
        values = np.ma.getdata(np.ma.asarray(response)).astype(object)
        true = np.asarray(truth, dtype=object)
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
        known = class_labels(true, classes)
        code = {name: number for number, name in enumerate(known)}
        coded = np.full(values.shape, NOT_SHOWN, dtype=code_dtype(known))
        coded[shown] = NO_RESPONSE
        answered = shown & ~given_missing
        names = text(values[answered]) if answered.any() else np.array([], dtype=object)
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
        return cls(_with_coords(variables, extra, observers, kind, labels, *trial_coords))

    @classmethod
    def from_correct(
        cls,
        correct: ArrayLike,
        *,
        observers: Sequence[str] | None = None,
        condition: Sequence[Any] | None = None,
        item: Sequence[Any] | None = None,
        dataset: Sequence[Any] | None = None,
        repeat: Sequence[int] | None = None,
        kind: Sequence[str] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> Trials:
        """Take correctness alone; metrics that need class labels will say that they are missing.

        Parameters
        ----------
        correct : array_like, shape (observer, trial)
            1 right, 0 wrong, NaN no response; masked (`numpy.ma`) where not shown.
        observers, kind : sequence of str, optional
            One per observer.
        condition, item, dataset, repeat : sequence, optional
            One per trial.
        labels : mapping of str to sequence, optional
            Further descriptions of the observers.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If shapes do not fit together, or a value is none of 0, 1 and NaN.

        Examples
        --------
        >>> Trials.from_correct([[1, 0, 1], [1, 1, float("nan")]])
        <Trials: 2 observers, 3 trials, correctness only>
        """
        array = np.ma.asarray(correct)
        mask = np.ma.getmaskarray(array)
        values = np.ma.getdata(array).astype(np.float64)
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
        return cls(_with_coords(variables, {}, observers, kind, labels, *trial_coords))

    @property
    def observers(self) -> list[str]:
        """Names of the observers."""
        return [str(name) for name in self.data["observer"].values]

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return int(self.data.sizes["trial"])

    @property
    def has_classes(self) -> bool:
        """Whether class labels are known, not correctness alone."""
        return "response" in self.data

    @property
    def classes(self) -> list[str]:
        """Class labels.

        Raises
        ------
        ValueError
            If only correctness is known.
        """
        if not self.has_classes:
            raise ValueError(
                "these trials hold correctness only; error consistency works, metrics of which "
                "errors were made need responses: use Trials.from_table or Trials.from_arrays"
            )
        return [str(name) for name in self.data["class"].values]

    def select(
        self,
        *,
        condition: Labels | None = None,
        dataset: Labels | None = None,
        kind: Labels | None = None,
        observer: Labels | None = None,
    ) -> Trials:
        """Keep some conditions, data sets, kinds or observers.

        Parameters
        ----------
        condition, dataset, kind, observer : label or sequence of labels, optional
            What to keep; all if not given. A condition is kept in every data set that has it.

        Returns
        -------
        Trials
            Without observers that took part in none of the trials kept, and without trials that
            none of the observers kept was shown.

        Raises
        ------
        ValueError
            If a label does not occur, or nothing is left.
        """
        data = self.data
        wanted = {"condition": condition, "dataset": dataset, "kind": kind, "observer": observer}
        for name, value in wanted.items():
            if value is None:
                continue
            listed = [value] if np.isscalar(value) else list(value)
            keep = {label(entry) for entry in listed}
            present = set(self.data[name].values)
            if not keep <= present:
                known = ", ".join(sorted(present)[:20])
                raise ValueError(f"no {name} {sorted(keep - present)[0]!r}; there are: {known}")
            dim = "observer" if name in ("kind", "observer") else "trial"
            data = data.isel({dim: np.flatnonzero(np.isin(data[name].values, list(keep)))})
        shown = data["correct"].values != NOT_SHOWN
        data = data.isel(observer=shown.any(axis=1), trial=shown.any(axis=0))
        if not (data.sizes["observer"] and data.sizes["trial"]):
            raise ValueError("nothing is left: no selected observer was shown a selected trial")
        return Trials(data)

    def to_table(self) -> pd.DataFrame:
        """Long table, one row per observer and trial shown: what `from_table` reads.

        Returns
        -------
        pandas.DataFrame
            ``observer, kind`` and other labels of observers, ``dataset, condition, item, repeat``,
            and ``truth, response`` or ``correct``.
        """
        data = self.data
        i, t = np.nonzero(data["correct"].values != NOT_SHOWN)
        of_observer = [name for name in data.coords if data[name].dims == ("observer",)]
        columns = {str(name): data[name].values[i] for name in of_observer}
        for name in ("dataset", "condition", "item", "repeat"):
            columns[name] = data[name].values[t]
        if self.has_classes:
            # One place more, so that the code -1 of a missing response finds None.
            names = np.array([*self.classes, None], dtype=object)
            columns["truth"] = names[data["truth"].values[t]]
            columns["response"] = names[data["response"].values[i, t]]
        else:
            correct = data["correct"].values[i, t]
            columns["correct"] = np.where(correct == NO_RESPONSE, np.nan, correct)
        return pd.DataFrame(columns)

    def summary(self) -> pd.DataFrame:
        """Table of observers: one row per data set and observer.

        Returns
        -------
        pandas.DataFrame
            ``dataset, observer, kind, n_trials`` (shown), ``accuracy`` (no response counts as an
            error), ``no_response`` and ``not_shown`` (trials of the data set), as counts.
        """
        correct = self.data["correct"].values
        datasets = self.data["dataset"].values
        rows = []
        for name in pd.unique(datasets):
            part = correct[:, datasets == name]
            shown = part != NOT_SHOWN
            for i in np.flatnonzero(shown.any(axis=1)):
                rows.append(
                    {
                        "dataset": name,
                        "observer": self.observers[i],
                        "kind": str(self.data["kind"].values[i]),
                        "n_trials": int(shown[i].sum()),
                        "accuracy": float((part[i] == 1).sum() / shown[i].sum()),
                        "no_response": int((part[i] == NO_RESPONSE).sum()),
                        "not_shown": int((~shown[i]).sum()),
                    }
                )
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        n_classes = f"{len(self.classes)} classes" if self.has_classes else "correctness only"
        return f"<Trials: {len(self.observers)} observers, {self.n_trials} trials, {n_classes}>"


def _with_coords(
    variables: dict[str, Any],
    extra: dict[str, Any],
    observers: Sequence[str] | None,
    kind: Sequence[str] | None,
    labels: Mapping[str, Sequence[str]] | None,
    condition: Sequence[Any] | None,
    item: Sequence[Any] | None,
    dataset: Sequence[Any] | None,
    repeat: Sequence[int] | None,
) -> xr.Dataset:
    """Dataset of aligned arrays, with checked coordinates, conditions side by side."""
    n_observers, n_trials = variables["correct"][1].shape
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
        if numbers.shape != (n_trials,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise ValueError(f"repeat must be {n_trials} whole numbers from 0 on, one per trial")
    if len(set(texts["observer"])) < n_observers:
        raise ValueError("observers must have different names; two are called alike")
    coords: dict[str, Any] = {"observer": texts["observer"], "kind": ("observer", texts["kind"])}
    for name, values in (labels or {}).items():
        coords[name] = ("observer", _texts(name, values, n_observers, "observer", None))
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
    return data.isel(trial=np.argsort(group, kind="stable"))


def _texts(
    name: str, values: Sequence[Any] | None, length: int, dim: str, default: str | None
) -> NDArray[np.object_]:
    if values is None:
        names = [default or f"{dim}_{i}" for i in range(length)]
        return np.array(names, dtype=object)
    listed = list(values)
    if len(listed) != length:
        raise ValueError(
            f"{name} must have one entry per {dim}: expected {length}, got {len(listed)}"
        )
    missing = pd.isna(np.array(listed, dtype=object))
    if missing.any():
        raise ValueError(f"{name} has no value at position {int(np.argmax(missing))}")
    return np.array([label(value) for value in listed], dtype=object)
