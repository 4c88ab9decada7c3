"""Iterate over the groups of trials of a count table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.names import listed, nearest

LEFT_OUT = -1
# Variables of a table of which blocks contain their part.
VARIABLES = (
    "correct", "response", "truth", "n_classes", "margins", "readers", "n_options", "probability",
    "inclusion", "stratum", "asked",
)  # fmt: skip


class Block(NamedTuple):
    """One group of trials: the pairs compared on it and the correctness of those observers."""

    rows: slice
    a: NDArray[np.intp]
    b: NDArray[np.intp]
    correct: NDArray[np.int8 | np.float64]
    trials: NDArray[np.intp]
    response: NDArray[np.int32] = np.empty((0, 0), np.int32)
    truth: NDArray[np.int32] = np.empty(0, np.int32)
    n_classes: int = 0
    n_possible: NDArray[np.int64] = np.empty(0, np.int64)
    margins: NDArray[np.float64] = np.empty((0, 0))
    readers: NDArray[np.bool_] = np.empty((0, 0), np.bool_)
    n_options: NDArray[np.int64] = np.empty(0, np.int64)
    probability: NDArray[np.floating] = np.empty((0, 0, 0))
    inclusion: NDArray[np.float64] = np.empty(0)
    stratum: NDArray[np.intp] = np.empty(0, np.intp)
    asked: NDArray[np.bool_] = np.empty(0, np.bool_)
    generalize_to: str = ""

    @property
    def chosen(self) -> bool:
        """Whether a plan chose the images, so that estimates are weighted."""
        return len(self.inclusion) > 0

    def shown(self) -> NDArray[np.bool_]:
        """Trials used for each pair."""
        known = ~np.isnan(self.margins) if self.margins.size else self.correct != LEFT_OUT
        return np.asarray(known[self.a] & known[self.b])

    def scaled_weights(self) -> NDArray[np.float64]:
        """Weights of chosen images, ``1/inclusion``, that sum to the trials of each pair."""
        shown = self.shown()
        weights = np.where(shown, 1 / self.inclusion, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        return weights * shown.sum(axis=1, keepdims=True) / np.where(total > 0, total, 1)

    @property
    def crossed(self) -> bool:
        """Whether each trial is an item, to which observers may have responded repeatedly."""
        return self.correct.dtype != np.int8

    def wrong(self) -> NDArray[np.bool_]:
        """Return which responses of each observer are errors."""
        if self.crossed:
            raise ValueError(
                "items are repeated, and one response to each is needed; count with "
                "joint_correctness(..., repeats='paired')"
            )
        return np.asarray(self.correct == 0)

    def codes(self) -> NDArray[np.int8]:
        """Cell of each trial: 0 to 3 in the order n11, n10, n01, n00; -1 left out."""
        if self.crossed:
            raise ValueError("responses to repeated items fall into several cells; use shares")
        right_a, right_b = self.correct[self.a], self.correct[self.b]
        codes = 3 - 2 * right_a - right_b
        codes[(right_a == LEFT_OUT) | (right_b == LEFT_OUT)] = LEFT_OUT
        return np.asarray(codes, np.int8)

    def shares(self) -> NDArray[np.int8 | np.float64]:
        """Contribution of each trial to the four cells: 1 to one cell, or fractions to all."""
        known = self.correct != LEFT_OUT
        right = np.where(known, self.correct, np.zeros((), self.correct.dtype))
        wrong = np.where(known, 1 - right, np.zeros((), self.correct.dtype))
        sides = [(right, right), (right, wrong), (wrong, right), (wrong, wrong)]
        return np.stack([one[self.a] * other[self.b] for one, other in sides], axis=1)


def blocks(table: xr.Dataset) -> Iterator[Block]:
    """Iterate over the groups of a correctness table."""
    arrays = {name: table[name].values for name in (*VARIABLES, "first", "second") if name in table}
    if "stratum" in arrays:
        arrays["stratum"] = arrays["stratum"].astype(str)
    trial_group, pair_group = table["trial_group"].values, table["pair_group"].values
    order = np.argsort(trial_group, kind="stable")
    edges = np.searchsorted(trial_group[order], np.arange(pair_group.max(initial=-1) + 2))
    starts = np.flatnonzero(np.diff(pair_group, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(pair_group)], strict=True):
        rows = slice(start, stop)
        trials = order[edges[pair_group[start]] : edges[pair_group[start] + 1]]
        ends = [arrays["first"][rows], arrays["second"][rows]]
        if "readers" in arrays:
            ends.append(np.flatnonzero(arrays["readers"][rows].any(axis=0)))
        observers, local = np.unique(np.concatenate(ends), return_inverse=True)
        a, b = np.split(local[: 2 * (stop - start)], 2)
        at = {"observer": observers, "trial": trials, "pair": np.arange(start, stop)}
        fields: dict[str, Any] = {
            name: arrays[name][np.ix_(*(at[d] for d in table[name].dims if d in at))]
            for name in VARIABLES
            if name in arrays
        }
        if "stratum" in fields:
            fields["stratum"] = np.unique(fields["stratum"], return_inverse=True)[1]
        if "inclusion" in fields:
            fields["generalize_to"] = table.attrs["generalize_to"]
        if "n_classes" in fields:
            fields["n_possible"] = fields["n_classes"]
        if "response" in fields:
            fields["n_classes"] = table.sizes["class"]
        yield Block(rows, a, b, trials=trials, **fields)


def cluster_numbers(table: xr.Dataset, cluster: str) -> NDArray[np.intp]:
    """Number the clusters of trials that share a label within a data set."""
    names = [str(name) for name in table.coords if table[name].dims == ("trial",)]
    if cluster not in names:
        raise ValueError(
            f"cluster must name a trial coordinate ({listed(names)}), got "
            f"{cluster!r}{nearest(cluster, names)}; to keep a column of the data, give "
            f"item_columns=[{cluster!r}] when you read the data"
        )
    frame = pd.DataFrame({"label": table[cluster].values, "dataset": table["trial_dataset"].values})
    return np.asarray(frame.groupby(["dataset", "label"], sort=False).ngroup(), dtype=np.intp)


def linked(members: Sequence[NDArray[np.intp]]) -> list[list[int]]:
    """Connected components of groups that have members in common."""
    sizes = [len(own) for own in members]
    at = np.repeat(np.arange(len(members)), sizes), np.concatenate([[], *members]).astype(np.intp)
    width = 1 + int(max((own.max(initial=0) for own in members), default=0))
    edges = sparse.csr_array((np.ones(sum(sizes)), at), shape=(len(members), width))
    _, label = sparse.csgraph.connected_components(edges @ edges.T, directed=False)
    return [np.flatnonzero(label == each).tolist() for each in np.unique(label)]
