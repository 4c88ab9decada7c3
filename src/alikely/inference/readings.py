"""What readers said, as sums over weighted items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.data.blocks import Block
from alikely.metrics.readings import Readings

__all__ = ["Counted", "counted", "equal_readings"]


class Counted(NamedTuple):
    """Readings of a block, ready to be weighted."""

    members: NDArray[np.intp]
    design: sparse.csr_array
    n_classes: NDArray[np.int64]
    k: int

    @property
    def size(self) -> int:
        """Sums of each entry."""
        return 3 + self.k * (2 + self.members.shape[1])

    def readings(self, weights: NDArray[np.floating]) -> Readings:
        """Sums over weighted items."""
        total = self.design @ weights.T.astype(np.float64)
        sums = total.reshape(len(self.members), self.size, -1).transpose(2, 0, 1)
        ends = 3 + self.k * np.arange(3)
        shares, paired = (sums[..., start : start + self.k] for start in ends[:2])
        given = sums[..., ends[2] :].reshape(*sums.shape[:2], -1, self.k)
        return Readings._make(
            [*(sums[..., i] for i in range(3)), shares, paired, given, self.n_classes]
        )

    def slopes(self, derivatives: Readings) -> Floats:
        """Change of each entry with the weight of each item."""
        n_pairs = len(self.members)
        parts = [part.reshape(n_pairs, -1) for part in derivatives[:-1]]
        by_sum = np.concatenate(parts, axis=1).ravel()
        rows = np.arange(n_pairs * self.size)
        shape = (n_pairs, n_pairs * self.size)
        gather = sparse.csr_array((by_sum, (rows // self.size, rows)), shape=shape)
        return np.asarray((gather @ self.design).toarray())


def counted(block: Block) -> Counted:
    """Prepare the readings of a block."""
    groups = block.readers.size > 0
    if groups:
        members = np.stack([np.flatnonzero(row) for row in block.readers])
    else:
        members = np.stack([block.a, block.b], axis=1)
    codes = block.response[members]
    n_pairs, n_readers, n_trials = codes.shape
    k, seen = block.n_classes, codes >= 0
    if not groups:
        seen &= seen.all(axis=1, keepdims=True)
    number = seen.sum(axis=1)
    many = number > 1
    equal = equal_readings(codes, seen, k) / np.maximum(number * (number - 1), 1)
    pair, reader, trial = np.nonzero(seen)
    code, of_item = codes[pair, reader, trial], number[pair, trial]
    size = 3 + k * (2 + n_readers)
    some, item = np.nonzero(many)
    double = of_item > 1
    rows = [
        some * size,
        some * size + 1,
        some * size + 2,
        pair * size + 3 + code,
        (pair * size + 3 + k + code)[double],
        pair * size + 3 + k * (2 + reader) + code,
    ]
    values = [
        np.ones(len(some)),
        equal[some, item],
        equal[some, item] * number[some, item],
        1 / of_item,
        np.ones(double.sum()),
        np.ones(len(pair)),
    ]
    columns = [item, item, item, trial, trial[double], trial]
    at = np.concatenate(rows), np.concatenate(columns)
    design = sparse.csr_array((np.concatenate(values), at), shape=(n_pairs * size, n_trials))
    return Counted(members, design, np.asarray(block.n_possible), k)


def equal_readings(
    codes: NDArray[np.integer], seen: NDArray[np.bool_], k: int
) -> NDArray[np.int64]:
    """Count ordered pairs of equal readings of each item."""
    if codes.shape[1] == 2:
        return np.asarray(2 * ((codes[:, 0] == codes[:, 1]) & seen[:, 0] & seen[:, 1]))
    pair, reader, trial = np.nonzero(seen)
    n_trials = codes.shape[2]
    key = (pair * n_trials + trial) * k + codes[pair, reader, trial]
    kinds, times = np.unique(key, return_counts=True)
    shape = codes.shape[0], n_trials
    ways = np.bincount(kinds // k, times * (times - 1), minlength=shape[0] * shape[1])
    return np.asarray(ways.astype(np.int64).reshape(shape))
