"""Weighted sums of estimates from many small tables, including tables with few errors.

With few errors, an estimate is biased or undefined (0/0), and its standard error is too small. Over
many entries, the bias adds up but the standard error does not. Pseudo-trials are therefore added to
each entry, with its accuracies and the error consistency of all entries of its side of the sum.
Pseudo-trials do not change a mean of equal entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.metrics import Metric

# Disagreements that independent observers would have in the pseudo-trials of an entry of many.
MASS = 2.0
# Uniform pseudo-trials in each cell of a single entry; a sum of many divides them.
UNIFORM = 0.5
# Steps of numerical derivatives: first ones by counts and by pooled quantities, second ones.
STEP, SMALL, LARGE = 1e-3, 1e-4, 0.5
RIGHT_A, RIGHT_B = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])
APART = np.array([0.0, 1, 1, 0])


class Pooled(NamedTuple):
    """A weighted sum of estimates, its influences, and disagreements expected by chance."""

    value: float
    slopes: Floats
    added: float
    disagreements: Floats


def pooled_sum(metric: Metric, cells: Floats, weights: Floats, group: NDArray[np.intp]) -> Pooled:
    """Sum estimates of correctness tables; pseudo-trials depend on the sign of a table's weight."""
    cells = np.asarray(cells, np.float64)
    if not (cells.sum(axis=1) > 0).all():
        return Pooled(np.nan, np.full(cells.shape, np.nan), np.nan, np.full(len(cells), np.nan))
    value = added = 0.0
    slopes, disagreements = np.zeros(cells.shape), np.zeros(len(cells))
    for sign in (1, -1):
        own = np.flatnonzero(sign * weights > 0)
        if len(own):
            side = _side(metric, cells[own], weights[own], group[own])
            value, added = value + side.value, added + side.added
            slopes[own], disagreements[own] = side.slopes, side.disagreements
    return Pooled(value, slopes, added, disagreements)


def left_out(
    metric: Metric, cells: Floats, of_clusters: Floats, weights: Floats, group: NDArray[np.intp]
) -> Floats:
    """Influence of each cluster on a pooled sum, from its cells (pair, cell, cluster)."""
    n = of_clusters.shape[-1]
    value = pooled_sum(metric, cells, weights, group).value
    # Differences of counts fall a few ulp below 0.
    without = np.maximum(cells[..., None] - of_clusters, 0.0)
    left = [pooled_sum(metric, without[..., g], weights, group).value for g in range(n)]
    return (n - 1) / n * (value - np.array(left))


def _side(metric: Metric, cells: Floats, weights: Floats, group: NDArray[np.intp]) -> Pooled:
    n_effective = _effective(np.abs(weights), group)
    uniform, mass = UNIFORM / n_effective, MASS * (1 - 1 / n_effective)
    n = cells.sum(axis=1)
    own_a, own_b = cells @ RIGHT_A / n, cells @ RIGHT_B / n
    chance = _disagreement(own_a, own_b)
    # One disagreement of one expected: without data there is no consistency.
    apart, expected = float((cells @ APART).sum()) + 1, float(n @ chance) + 1
    consistency = 1 - apart / expected

    def made(counts: Floats, pool: float) -> tuple[Floats, Floats]:
        pseudo = mass * _copied(counts, pool) + uniform
        return metric.value(counts + pseudo), pseudo

    value, pseudo = made(cells, consistency)
    above, below = (made(cells, consistency + side * SMALL)[0] for side in (1, -1))
    by_pool = float((above - below) @ weights) / (2 * SMALL)
    slopes, alone, curved = np.empty((3, *cells.shape))
    for j in range(4):
        step = np.eye(4)[j]
        alone[:, j] = (made(cells + STEP * step, consistency)[0] - value) / STEP * weights
        moved = (
            chance + (1 - 2 * own_b) * (RIGHT_A[j] - own_a) + (1 - 2 * own_a) * (RIGHT_B[j] - own_b)
        )
        slopes[:, j] = alone[:, j] + by_pool * (apart / expected * moved - APART[j]) / expected
        width = np.minimum(LARGE, cells[:, j])
        safe = np.where(width > 0, width, 1.0)
        ends = [made(cells + side * width[:, None] * step, consistency)[0] for side in (1, -1)]
        curved[:, j] = np.where(width > 0, (ends[0] - 2 * value + ends[1]) / safe**2, 0.0)
    # Second-order bias of multinomial counts; scaling all cells leaves next to none.
    bias = (cells * curved).sum(axis=1) @ weights / 2
    centered = alone - (pseudo * alone).sum(axis=1, keepdims=True) / pseudo.sum(axis=1)[:, None]
    spread = np.sqrt((pseudo * centered**2).sum(axis=1))
    added = float((np.bincount(group, spread) ** 2).sum()) + by_pool**2 / 2 / expected**2
    slopes -= (cells * slopes).sum(axis=1, keepdims=True) / n[:, None]
    error = np.sqrt((cells * slopes**2).sum() + added)
    # The bias is approximate, and never larger than the standard error.
    found = float(value @ weights) - float(np.clip(bias, -error, error))
    return Pooled(found, slopes, added, n * _disagreement(*_smoothed(cells)))


def _effective(weights: Floats, group: NDArray[np.intp]) -> float:
    """Effective number of entries of a mean; those of one group of trials count by their root."""
    groups = np.bincount(group, weights)
    entries, blocks = (part.sum() ** 2 / (part**2).sum() for part in (weights, groups))
    return float(np.sqrt(entries * blocks))


def _disagreement(a: Floats, b: Floats) -> Floats:
    return a * (1 - b) + b * (1 - a)


def _smoothed(cells: Floats) -> tuple[Floats, Floats]:
    """Accuracies with half a correct and half an incorrect response more, never 0 or 1."""
    n = cells.sum(axis=1)
    return (cells @ RIGHT_A + 0.5) / (n + 1), (cells @ RIGHT_B + 0.5) / (n + 1)


def _copied(cells: Floats, consistency: float) -> Floats:
    """Cells of pseudo-trials with one disagreement expected by chance, and its own accuracies."""
    a, b = _smoothed(cells)
    chance = _disagreement(a, b)
    apart = np.clip(chance * (1 - consistency), np.abs(a - b), np.minimum(a + b, 2 - a - b))
    both = (a + b - apart) / 2
    shares = np.maximum(np.stack([both, a - both, b - both, 1 - a - b + both], axis=1), 0)
    return np.asarray(shares / chance[:, None])
