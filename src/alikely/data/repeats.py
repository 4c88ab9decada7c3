"""Answers to items that come back: which trials are one item, and the share of each answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely.data.blocks import LEFT_OUT

__all__ = ["Presented", "label_meaning", "presented"]

PLACE = ["dataset", "condition", "item"]


class Presented(NamedTuple):
    """Items as they were presented, each once for every condition.

    Attributes
    ----------
    first : ndarray of int, shape (item,)
        The first trial of each.
    item, rank : ndarray of int, shape (trial,)
        Which of them a trial is of, and which of its repeats, from 0.
    """

    first: NDArray[np.intp]
    item: NDArray[np.intp]
    rank: NDArray[np.intp]

    def gathered(self, of_trials: NDArray[np.generic], fill: int) -> NDArray[np.generic]:
        """What trials hold, by item and repeat; `fill` where an item came back less often.

        Parameters
        ----------
        of_trials : ndarray, shape (observer, trial)
        fill : int

        Returns
        -------
        ndarray, shape (observer, item, repeat)
        """
        shape = (len(of_trials), len(self.first), int(self.rank.max(initial=0)) + 1)
        out = np.full(shape, fill, of_trials.dtype)
        out[:, self.item, self.rank] = of_trials
        return out

    def shares(self, correct: NDArray[np.int8]) -> NDArray[np.float64]:
        """Share of right answers of each observer to each item; -1 without any answer.

        Parameters
        ----------
        correct : ndarray of int8, shape (observer, trial)
            1 right, 0 wrong, -1 left out.

        Returns
        -------
        ndarray, shape (observer, item)

        Examples
        --------
        >>> import alikely as al
        >>> trials = al.Trials.from_correct([[1, 0, 1]], item=["x", "x", "y"], repeat=[0, 1, 0])
        >>> found = presented(trials.data)
        >>> found.shares(trials.data["correct"].values).tolist()
        [[0.5, 1.0]]
        """
        answers, number = self.gathered(correct, LEFT_OUT), self.number(correct)
        right = (answers == 1).sum(axis=2)
        return np.where(number > 0, right / np.maximum(number, 1), float(LEFT_OUT))

    def number(self, correct: NDArray[np.int8]) -> NDArray[np.int64]:
        """Number of answers of each observer to each item.

        Parameters
        ----------
        correct : ndarray of int8, shape (observer, trial)
            As in `shares`.

        Returns
        -------
        ndarray of int, shape (observer, item)
        """
        return np.asarray((self.gathered(correct, LEFT_OUT) != LEFT_OUT).sum(axis=2))


def presented(data: xr.Dataset) -> Presented | None:
    """Gather the trials of each item in each condition of a data set.

    Parameters
    ----------
    data : xarray.Dataset
        `alikely.Trials.data`.

    Returns
    -------
    Presented or None
        None where no item comes back within a condition.
    """
    frame = pd.DataFrame({key: data[key].values for key in PLACE})
    item = frame.groupby(PLACE, sort=False).ngroup().to_numpy()
    if not frame.duplicated(PLACE).any():
        return None
    order = np.argsort(data["repeat"].values, kind="stable")
    rank = np.empty(len(frame), np.intp)
    rank[order] = frame.iloc[order].groupby(PLACE, sort=False).cumcount().to_numpy()
    return Presented(np.flatnonzero(~frame.duplicated(PLACE)), item, rank)


def label_meaning(data: xr.Dataset) -> str:
    """What it means that labels of items come back in other conditions of a data set.

    Parameters
    ----------
    data : xarray.Dataset
        `alikely.Trials.data`.

    Returns
    -------
    {"", "one item", "other items"}
        Empty where none does; ``"other items"`` where a label that comes back has another truth,
        as where items are numbered within each condition.

    Examples
    --------
    >>> import alikely as al
    >>> rows = dict(truth=["cat", "cat"], item=["1", "1"], condition=["blurred", "sharp"])
    >>> label_meaning(al.Trials.from_arrays([["cat", "dog"]], classes=["cat", "dog"], **rows).data)
    'one item'
    """
    keys = ["dataset", "item"]
    frame = pd.DataFrame({key: data[key].values for key in PLACE})
    places = frame.drop_duplicates()
    if not places.duplicated(keys).any():
        return ""
    if "truth" not in data:
        return "one item"
    truths = frame.assign(truth=data["truth"].values).groupby(keys, sort=False)["truth"]
    return "one item" if truths.nunique().max() == 1 else "other items"
