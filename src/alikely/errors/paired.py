"""Errors of pairs of systems that may have answered the same items: counts and divergences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats, within
from alikely.data.blocks import Block
from alikely.metrics.rows import Mixture

__all__ = [
    "PairedErrors",
    "divergence",
    "label_cells",
    "paired_errors",
    "plug_in",
    "stacked",
    "unseen_cells",
]

Counts = NDArray[np.int64]
# Labels that neither system gave stand one by one up to so many; beyond, several in one.
UNSEEN = 32
# Shares below add nothing to a divergence, and their ratios lose all digits.
TINY = 1e-200


class PairedErrors(NamedTuple):
    """Errors of pairs by true class and label, separated by whether both systems erred."""

    agreed: Counts
    apart_a: Counts
    apart_b: Counts
    alone_a: Counts
    alone_b: Counts
    unseen: Counts
    classes: NDArray[np.intp]

    @property
    def of_a(self) -> Counts:
        """All errors of `a`."""
        return self.agreed + self.apart_a + self.alone_a

    @property
    def of_b(self) -> Counts:
        """All errors of `b`."""
        return self.agreed + self.apart_b + self.alone_b

    @property
    def both(self) -> Counts:
        """Items on which both erred, (pair, class)."""
        return (self.agreed + self.apart_a).sum(axis=-1)

    def take(self, pairs: NDArray[np.intp]) -> PairedErrors:
        """Some of the pairs, or the same several times."""
        return PairedErrors._make([*(part[pairs] for part in self[:-1]), self.classes])


def paired_errors(block: Block, pairs: NDArray[np.intp] | None = None) -> PairedErrors:
    """Count the errors of pairs of a block."""
    k = block.n_classes
    a, b = (side if pairs is None else side[pairs] for side in (block.a, block.b))
    wrong = block.wrong()
    both = wrong[a] & wrong[b]
    pair, trial = np.nonzero(both)
    label_a, label_b = block.response[a[pair], trial], block.response[b[pair], trial]
    same = label_a == label_b
    found = [(pair[same], trial[same], label_a[same])]
    found += [(pair[~same], trial[~same], label[~same]) for label in (label_a, label_b)]
    for side in (a, b):
        pair, trial = np.nonzero(wrong[side] & ~both)
        found.append((pair, trial, block.response[side[pair], trial]))
    codes = [(p * k + block.truth[t]) * k + label for p, t, label in found]
    cells, place = np.unique(np.concatenate(codes), return_inverse=True)
    of_pair, of_class = np.divmod(cells // k, k)
    classes, column = np.unique(of_class, return_inverse=True)
    row = of_pair * len(classes) + column
    first = np.flatnonzero(np.diff(row, prepend=-1))
    within = np.arange(len(cells)) - np.repeat(first, np.diff([*first, len(cells)]))
    shape = (len(a), len(classes), int(within.max(initial=-1)) + 1)
    at = row * shape[-1] + within
    parts, start = [], 0
    for code in codes:
        places = at[place[start : start + len(code)]]
        parts.append(np.bincount(places, minlength=int(np.prod(shape))).reshape(shape))
        start += len(code)
    seen = np.bincount(row, minlength=shape[0] * shape[1]).reshape(shape[:2])
    possible = block.n_possible if pairs is None else block.n_possible[pairs]
    return PairedErrors._make([*parts, possible[:, None] - 1 - seen, classes])


def stacked(parts: Sequence[PairedErrors]) -> PairedErrors:
    """Pairs of different blocks in one."""
    if len(parts) == 1:
        return parts[0]
    n_classes, width = (max(part.agreed.shape[axis] for part in parts) for axis in (1, 2))
    counts = [
        np.concatenate([
            np.pad(part[number], [
                (0, 0), (0, n_classes - part[number].shape[1]), (0, width - part[number].shape[2])
            ])
            for part in parts
        ])
        for number in range(5)
    ]  # fmt: skip
    # A class without errors has any number of labels.
    unseen = [
        np.pad(part.unseen, [(0, 0), (0, n_classes - part.unseen.shape[1])], constant_values=1)
        for part in parts
    ]
    return PairedErrors._make([*counts, np.concatenate(unseen), np.arange(n_classes)])


def unseen_cells(unseen: Counts) -> Floats:
    """Lay labels that neither gave out in cells, up to 32 of them."""
    n = min(int(unseen.max(initial=0)), UNSEEN)
    one_by_one = np.arange(n) < unseen[..., None]
    return np.where(unseen[..., None] > n, unseen[..., None] / max(n, 1), one_by_one)


def label_cells(data: PairedErrors) -> Floats:
    """How many labels each cell stands for: those given, one by one, and then the others."""
    seen = (data.of_a + data.of_b > 0).astype(np.float64)
    return np.concatenate([seen, unseen_cells(data.unseen)], axis=-1)


def divergence(p: Floats, q: Floats, part: Floats | float, base: float = 2) -> Floats:
    """Jensen-Shannon divergence of rows."""
    middle = part * p + (1 - part) * q
    with np.errstate(all="ignore"):
        parts = np.where(p > TINY, p * np.log(p / middle), 0)
        parts += np.where(q > TINY, q * np.log(q / middle), 0)
        # That of rows without a common label.
        most = -(np.log(part) + np.log1p(-np.asarray(part))) / 2 / np.log(base)
    # Each half counts alike also where the mixture is weighted, as in `alikely.metrics.rows`.
    nats = parts.sum(axis=-1, keepdims=True) / 2
    return within(nats / np.log(base), high=most)[..., 0]


def plug_in(
    errors_a: NDArray[np.integer],
    errors_b: NDArray[np.integer],
    labels: Floats,
    *,
    alpha: float,
    mixture: Mixture,
    base: float,
) -> Floats:
    """Divergence of smoothed rows by label; `alikely.metrics.rows.row_divergence` sums it."""
    a, b = np.asarray(errors_a, np.float64), np.asarray(errors_b, np.float64)
    n_a, n_b = a.sum(axis=-1, keepdims=True), b.sum(axis=-1, keepdims=True)
    prior = alpha * labels.sum(axis=-1, keepdims=True)

    def added(x: Floats | float, y: Floats | float) -> Floats:
        p, q = (x + alpha) / (n_a + prior), (y + alpha) / (n_b + prior)
        middle = (p + q) / 2 if mixture == "mean" else (x + y + alpha) / (n_a + n_b + prior)
        return (p * np.log(p / middle) + q * np.log(q / middle)) / 2

    per_label = added(a, b) * (labels > 0) + added(0, 0) * np.maximum(labels - 1, 0)
    weight = n_a + n_b
    total = weight.sum(axis=-2, keepdims=True)
    share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    return share * per_label / np.log(base)
