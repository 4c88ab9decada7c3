"""Reliability of a group that did not answer everything: lists, repeats of some items, gaps.

References
----------
.. [C51] Cronbach (1951). Coefficient alpha and the internal structure of tests.
   doi:10.1007/BF02310555
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.ranges import within
from alikely.margins.sides import group_side, lists_of_items
from alikely.metrics.margins import FEWEST_ITEMS

__all__ = ["Incomplete", "incomplete_alpha", "incomplete_deviations", "incomplete_splits"]


class Incomplete(NamedTuple):
    """Answers of a group, with the levels of its members and the means of its lists taken off."""

    answers: Floats
    shown: Floats
    lists: NDArray[np.intp]
    alpha: float
    of_lists: tuple[float, ...]


def incomplete_alpha(correct: Floats, shown: Floats) -> Incomplete:
    """Coefficient alpha by covariances over common items [C51]_."""
    lists = lists_of_items(shown)
    by_two = int(((shown > 0).sum(axis=0) > 1).sum())
    if by_two < FEWEST_ITEMS:
        raise ValueError(
            f"a reliability needs at least {FEWEST_ITEMS} items that two observers answered, got "
            f"{by_two}"
        )
    side = group_side(np.where(shown > 0, correct, 0) * shown, shown, lists)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Shares of single items are 0 or not: what rounding leaves is no variance.
        total = np.where((side.ease**2).mean() > 1e-24, (side.ease**2).mean(), 0)
        alpha = float(within(np.nanmean(side.square) / total, -np.inf))
        own = [lists == k for k in range(int(lists.max()) + 1)]
        of_lists = tuple(_ratio(side.square[k], side.ease[k]) for k in own)
    if not np.isfinite(alpha):
        raise ValueError("all items are equally hard: no reliability")
    answers = np.divide(side.cells, side.weights, out=np.zeros_like(side.cells), where=shown > 0)
    return Incomplete(answers, np.asarray(shown, dtype=np.float64), lists, alpha, of_lists)


def _ratio(square: Floats, ease: Floats) -> float:
    total = float((ease**2).mean())
    known = square[np.isfinite(square)]
    return float(known.mean() / total) if total > 1e-24 and len(known) else np.nan


def incomplete_splits(
    found: Incomplete, n_splits: int, generator: np.random.Generator
) -> tuple[Floats, bool]:
    """Correlations of the shares of two halves, over items that both answered, within lists."""
    y, n, lists = found.answers, found.shown, found.lists
    n_lists = int(lists.max()) + 1
    kinds = lists == np.arange(n_lists)[:, None]
    # An observer has one list: else its answers would tie two.
    of_observer = (n @ kinds.T).argmax(axis=1)
    half = np.zeros((n_splits, len(y)))
    for k in range(n_lists):
        people = np.flatnonzero(of_observer == k)
        order = np.argsort(generator.random((n_splits, len(people))), axis=1)
        # Of an odd number the larger half is either one's turn.
        size = (len(people) + k) // 2
        half[:, people] = order < size
    index = []
    there = np.ones((n_splits, len(lists)), dtype=bool)
    for chosen in (half, 1 - half):
        answers = chosen @ n
        there &= answers > 0
        index.append(np.divide(chosen @ (n * y), answers, out=np.zeros(there.shape),
                               where=answers > 0))  # fmt: skip
    a, b = (_centred(x, there, kinds) for x in index)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
        r = within(np.where(spread > 1e-12, (a * b).sum(axis=1) / spread, np.nan), -1)
    return np.where(there.sum(axis=1) >= FEWEST_ITEMS, r, np.nan), False


def _centred(x: Floats, there: NDArray[np.bool_], kinds: NDArray[np.bool_]) -> Floats:
    """Rows less the means of each list, over items that are there; 0 elsewhere."""
    sums, counts = np.where(there, x, 0) @ kinds.T, there.astype(np.float64) @ kinds.T
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    return np.where(there, x - means @ kinds, 0)


def incomplete_deviations(
    found: Incomplete, n_resamples: int, generator: np.random.Generator
) -> tuple[Floats, float]:
    """Alpha with observers and items of each list resampled, and alpha of the data alike."""
    y, n, lists = found.answers, found.shown, found.lists
    kinds = lists == np.arange(int(lists.max()) + 1)[:, None]
    of_observer = (n @ kinds.T).argmax(axis=1)
    people = np.ones((n_resamples + 1, len(y)))
    items = np.ones((n_resamples + 1, len(lists)))
    for k in range(len(kinds)):
        for counts, own in ((people, np.flatnonzero(of_observer == k)),
                            (items, np.flatnonzero(kinds[k]))):  # fmt: skip
            shares = np.full(len(own), 1 / len(own))
            counts[1:, own] = generator.multinomial(len(own), shares, n_resamples)
    out = np.array([
        _alpha(y, n, kinds, p, w) for p, w in zip(people, items, strict=True)
    ])  # fmt: skip
    return out[1:], float(out[0])


def _alpha(y: Floats, n: Floats, kinds: NDArray[np.bool_], people: Floats, items: Floats) -> float:
    """Alpha of a group like this one, with weights of observers and items."""
    # Levels anew: what an observer is above the others on the items that were drawn.
    answers = people @ n
    weighted = n * items
    share = np.divide(people @ (n * y), answers, out=np.zeros(len(items)), where=answers > 0)
    own = weighted.sum(axis=1)
    level = np.divide((weighted * (y - share)).sum(axis=1), own, out=np.zeros(len(y)),
                      where=own > 0)  # fmt: skip
    z = y - level[:, None]
    share = np.divide(people @ (n * z), answers, out=np.zeros(len(items)), where=answers > 0)
    there = items * (answers > 0)
    means = np.divide(kinds @ (there * share), kinds @ there, out=np.zeros(len(kinds)),
                      where=kinds @ there > 0)  # fmt: skip
    z = n * (z - means @ kinds)
    single, pairs = people @ z**2, (people @ z) ** 2 - people**2 @ z**2
    # Products of different observers, over their number; of each one's own share of an item.
    n_pairs = answers**2 - people**2 @ n**2
    several = n_pairs > 0
    if not (items * several).any():
        return np.nan
    common = float((items[several] * pairs[several] / n_pairs[several]).sum())
    common /= float(items[several].sum())
    counted = answers > 0
    weight = items[counted] / items[counted].sum()
    alone = float(weight @ (single[counted] / answers[counted] ** 2))
    itself = float(weight @ ((people @ n**2)[counted] / answers[counted] ** 2))
    total = alone + (1 - itself) * common
    return common / total if total > 0 else np.nan
