"""Responses to repeated items: trials that belong to one item, and proportions of responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely.data.blocks import LEFT_OUT, blocks

PLACE = ["dataset", "condition", "item"]
# Of results of errors by class, whose model takes one answer of an observer to an item.
ONE_ANSWER = "several answers to an item: posterior of one answer to each, no test of equal rows"
# At most this proportion of repeated labels has several truths by mistake; numbers have more.
FEW = 0.05


class Presented(NamedTuple):
    """Presented items, one for each item and condition."""

    first: NDArray[np.intp]
    item: NDArray[np.intp]
    rank: NDArray[np.intp]

    def require_one_truth(self, data: xr.Dataset) -> None:
        """Raise an error for items whose truth differs between repeats."""
        if "truth" not in data:
            return
        truth = data["truth"].values
        odd = np.flatnonzero(truth != truth[self.first][self.item])
        if len(odd):
            place = data.isel(trial=int(odd[0]))
            raise ValueError(
                f"item {place['item'].item()!r} of condition {place['condition'].item()!r} has "
                "several truths in its repeats; give items with different truths different labels"
            )

    def gathered(self, of_trials: NDArray[np.generic], fill: int) -> NDArray[np.generic]:
        """Values by item and repeat; `fill` where an item has fewer repeats."""
        shape = (len(of_trials), len(self.first), int(self.rank.max(initial=0)) + 1)
        out = np.full(shape, fill, of_trials.dtype)
        out[:, self.item, self.rank] = of_trials
        return out

    def shares(self, correct: NDArray[np.int8]) -> NDArray[np.float64]:
        """Proportion correct of each observer on each item; -1 without any response."""
        answers, number = self.gathered(correct, LEFT_OUT), self.number(correct)
        right = (answers == 1).sum(axis=2)
        return np.where(number > 0, right / np.maximum(number, 1), float(LEFT_OUT))

    def number(self, correct: NDArray[np.int8]) -> NDArray[np.int64]:
        """Number of responses of each observer to each item."""
        return np.asarray((self.gathered(correct, LEFT_OUT) != LEFT_OUT).sum(axis=2))


def presented(data: xr.Dataset) -> Presented | None:
    """Gather the trials of each item in each condition of a data set."""
    frame = pd.DataFrame({key: data[key].values for key in PLACE})
    item = frame.groupby(PLACE, sort=False).ngroup().to_numpy()
    if not frame.duplicated(PLACE).any():
        return None
    order = np.argsort(data["repeat"].values, kind="stable")
    rank = np.empty(len(frame), np.intp)
    rank[order] = frame.iloc[order].groupby(PLACE, sort=False).cumcount().to_numpy()
    return Presented(np.flatnonzero(~frame.duplicated(PLACE)), item, rank)


def refuse_repeats(data: xr.Dataset, what: str) -> None:
    """Raise an error for items repeated within a condition, if one response to each is needed."""
    items = presented(data)
    if items is None:
        return
    again = data.isel(trial=int(items.first[items.item[np.argmax(items.rank)]]))
    raise ValueError(
        f"item {again['item'].item()!r} of condition {again['condition'].item()!r} is repeated, "
        f"but {what} takes one response to each item: choose one with "
        f"trials.select(repeat={int(data['repeat'].values.min())})"
    )


def unequal_answers(table: xr.Dataset) -> NDArray[np.object_]:
    """Name the observers whose numbers of repeats differ between items, with their ranges."""
    out = np.full(table.sizes["pair"], "", dtype=object)
    if "answers" not in table:
        return out
    names = table["observer"].values
    for block in blocks(table):
        number = table["answers"].values[:, block.trials]
        ends = np.stack([table[side].values[block.rows] for side in ("first", "second")], axis=1)
        told = {}
        for observer in np.unique(ends).tolist():
            given = number[observer][number[observer] > 0]
            many = int(given.max(initial=0))
            few = int(given.min(initial=many))
            said = f"{names[observer]}: {few:,} to {many:,} answers to an item"
            told[observer] = said if few < many else ""
        out[block.rows] = ["; ".join(filter(None, map(told.get, pair))) for pair in ends.tolist()]
    return out


def recurring(data: xr.Dataset) -> tuple[bool, list[str], str]:
    """Determine whether item labels that recur in several conditions denote one item or several.

    Return whether recurring labels denote one item in some data set, the data sets that number
    items within conditions, and an item whose truth differs between conditions, apparently by
    mistake.
    """
    keys = ["dataset", "item"]
    frame = pd.DataFrame({key: data[key].values for key in PLACE})
    if "truth" in data:
        frame["truth"] = data["truth"].values
    places = frame.drop_duplicates(PLACE)
    places = places[places.duplicated(keys, keep=False)]
    shared, numbered, odd = False, [], ""
    for dataset, own in places.groupby("dataset", sort=False):
        truths = own.groupby("item")["truth" if "truth" in own else "dataset"].nunique()
        several = truths > 1
        if not several.any():
            shared = True
            continue
        numbered.append(str(dataset))
        if several.mean() <= FEW:
            odd = f"item {several.idxmax()!r} of data set {dataset!r}"
    return shared, numbered, odd


def nested_labels(datasets: Iterable[str], names: Iterable[str]) -> list[str]:
    """Label conditions or persons by data set and name."""
    return [f"{dataset} | {name}" for dataset, name in zip(datasets, names, strict=True)]


def condition_labels(data: xr.Dataset) -> tuple[list[str], NDArray[np.intp]]:
    """Name every condition ``dataset:condition``, because data sets may share condition names."""
    for dataset in np.unique(data["dataset"].values):
        if ":" in dataset:
            raise ValueError(
                f"name of data set {dataset!r} contains a colon, the separator of data set and "
                "condition; rename it"
            )
    names = data["dataset"].values + ":" + data["condition"].values
    codes, labels = pd.factorize(names)
    return labels.tolist(), codes
