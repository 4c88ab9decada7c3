"""Tests of independence: Fisher's exact test, and permutations of items or clusters.

Permutations are for responses that are not independent given the items. Fisher's test takes
millions of tables, and is accurate far into the tail.

References
----------
.. [CRS17] Canay, Romano, Shaikh (2017). Randomization tests under an approximate symmetry
   assumption. doi:10.3982/ECTA13081
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [F35] Fisher (1935). The design of experiments. Section 21.
.. [PS10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats, within
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import LEFT_OUT, Block, blocks, cluster_numbers
from alikely.inference.influence import indicator
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.cells import divide

# Numbers held at a time by one worker.
CHUNK = 8_000_000
# Values of permutations that are equal differ by rounding alone.
ROUNDING = 1e-9
# With fewer clusters no combination of signs has a probability below 0.05.
FEWEST_FLIPPED = 6


def permutation_p(
    table: xr.Dataset,
    metric: Metric = ERROR_CONSISTENCY,
    n_permutations: int = 10_000,
    cluster: str | None = None,
    rng: RandomState = None,
) -> NDArray[np.float64]:
    """Two-sided p-values of tests of independence that permute the items of one observer."""
    numbers = None if cluster is None else cluster_numbers(table, cluster)
    conditions = np.zeros(table.sizes["trial"], np.intp)
    if "trial_condition" in table.coords:
        conditions = np.unique(table["trial_condition"].values, return_inverse=True)[1]

    def of_block(block: Block, seed: np.random.SeedSequence) -> Floats:
        generator = np.random.default_rng(seed)
        units = np.arange(len(block.trials)) if numbers is None else numbers[block.trials]
        answers = _by_unit(block.correct.astype(np.float64), units, conditions[block.trials])
        pairs = zip(block.a.tolist(), block.b.tolist(), strict=True)
        return np.array(
            [_of_pair(answers[a], answers[b], metric, n_permutations, generator) for a, b in pairs]
        )

    groups, out = list(blocks(table)), np.full(table.sizes["pair"], np.nan)
    jobs = list(zip(groups, seed_sequence(rng).spawn(len(groups)), strict=True))
    for block, found in zip(groups, in_parallel(of_block, jobs), strict=True):
        out[block.rows] = found
    return out


def sign_flip_p(
    table: xr.Dataset, metric: Metric, n_flips: int, cluster: str, rng: RandomState = None
) -> NDArray[np.float64]:
    """Two-sided p-values of independence, by flipping signs of cluster covariances.

    Each cluster adds the products of both observers' deviations from their accuracies, which for
    independent observers are as likely to be below 0 as above it [CRS17]_. Clusters may have any
    size. With G clusters, no p-value is below 2 / 2**G; with fewer than six, it is NaN.
    """
    numbers, out = cluster_numbers(table, cluster), np.full(table.sizes["pair"], np.nan)
    groups = list(blocks(table))
    for block, seed in zip(groups, seed_sequence(rng).spawn(len(groups)), strict=True):
        shares = block.shares().astype(np.float64)
        both, total = shares[:, 0], shares.sum(axis=1)
        a, b = both + shares[:, 1], both + shares[:, 2]
        n = total.sum(axis=1, keepdims=True)
        mean_a, mean_b = (divide(x.sum(axis=1, keepdims=True), n) for x in (a, b))
        products = both - mean_a * b - mean_b * a + mean_a * mean_b * total
        membership = indicator(numbers[block.trials])[0]
        enough = ((total @ membership > 0).sum(axis=1) >= FEWEST_FLIPPED) & (n[:, 0] > 0)
        defined = np.isfinite(metric.value(shares.sum(axis=2)))
        found = _flipped(products @ membership, n_flips, np.random.default_rng(seed))
        out[block.rows] = np.where(enough & defined, found, np.nan)
    return out


def _flipped(sums: NDArray[np.float64], n_flips: int, rng: np.random.Generator) -> Floats:
    """Proportion of signs whose total is at least as far from 0: all of them if they are few."""
    n_pairs, n = sums.shape
    every = n < 63 and 2 ** (n - 1) <= n_flips
    signs: NDArray[Any]
    if every:
        # The opposite of all signs is as far from 0.
        bits = np.arange(2 ** (n - 1)) >> np.arange(n)[:, None] & 1
    else:
        bits = rng.integers(0, 2, (n, n_flips))
    signs = 1.0 - 2.0 * bits
    far = np.abs(sums.sum(axis=1, keepdims=True)) - ROUNDING
    further = np.zeros(n_pairs, dtype=np.intp)
    step = max(1, CHUNK // signs.shape[1])
    for start in range(0, n_pairs, step):
        rows = slice(start, start + step)
        further[rows] = (np.abs(sums[rows] @ signs) >= far[rows]).sum(axis=1)
    more = 0 if every else 1
    return (more + further) / (more + signs.shape[1])


def _by_unit(
    correct: NDArray[np.float64], units: NDArray[np.intp], conditions: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Proportions correct (observer, unit, place), -1 where there are none."""
    used, unit = np.unique(units, return_inverse=True)
    frame = pd.DataFrame({"unit": unit, "condition": conditions})
    frame["rank"] = frame.groupby(["unit", "condition"]).cumcount()
    place = frame.groupby(["condition", "rank"]).ngroup().to_numpy()
    out = np.full((len(correct), len(used), int(place.max(initial=0)) + 1), float(LEFT_OUT))
    out[:, unit, place] = correct
    return out


def _of_pair(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    metric: Metric,
    n_permutations: int,
    rng: np.random.Generator,
) -> float:
    common = (a != LEFT_OUT) & (b != LEFT_OUT)
    seen = common.any(axis=1)
    a, b, common = a[seen], b[seen], common[seen]
    if not len(a):
        return np.nan
    kinds, kind = np.unique(common, axis=0, return_inverse=True)
    right_a, right_b = np.where(common, a, 0.0), np.where(common, b, 0.0)
    total, sum_a, sum_b = float(common.sum()), right_a.sum(), right_b.sum()
    both, middle = np.zeros(n_permutations), 0.0
    observed = float((right_a * right_b).sum())
    for own in range(len(kinds)):
        members = np.flatnonzero(kind == own)
        a_own, b_own = right_a[members], right_b[members]
        # The mean over all permutations of these items.
        middle += float(a_own.sum(axis=0) @ b_own.sum(axis=0)) / len(members)
        both += _permuted_sums(a_own, b_own, n_permutations, rng)

    def value_at(n11: NDArray[np.float64]) -> NDArray[np.float64]:
        cells = np.stack([n11, sum_a - n11, sum_b - n11, total - sum_a - sum_b + n11], axis=-1)
        # Sums of shares in another order fall a few ulp below 0.
        return np.asarray(metric.value(within(cells / total)))

    center, value = value_at(np.array([middle, observed]))
    if np.isnan(value):
        return np.nan
    further = int((np.abs(value_at(both) - center) >= abs(value - center) - ROUNDING).sum())
    return (1 + further) / (1 + n_permutations)


def _permuted_sums(
    a: NDArray[np.float64], b: NDArray[np.float64], n_permutations: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Sums of ``a[i] @ b[permutation[i]]`` over many permutations."""
    n = len(a)
    out = np.empty(n_permutations)
    step = max(1, CHUNK // n)
    for start in range(0, n_permutations, step):
        size = min(step, n_permutations - start)
        order = rng.permuted(np.tile(np.arange(n), (size, 1)), axis=1)
        out[start : start + size] = sum(
            b[order, place] @ a[:, place] for place in range(a.shape[1])
        )
    return out


# Below this the rest of a log factorial comes from a table, from here on from a series.
SMALL = 16
REST = np.array([0.0] + [math.lgamma(n + 1) - n * math.log(n) + n for n in range(1, SMALL)])
# Tables held at a time by one worker.
BLOCK = 65_536
# Counts up to this have the rest of their log factorials in a table.
LONGEST = 1_000_000
SIDES = {"two-sided": 0, "greater": 1, "less": -1}


def fisher_log10_p(
    cells: ArrayLike,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
) -> Floats:
    """Logarithm (base 10) of the p-value of Fisher's exact test of independence."""
    if alternative not in SIDES:
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )
    from alikely.inference.count_loops import log_tails

    counts = whole_counts(cells)
    flat = counts.reshape(-1, 4)
    out = np.empty(len(flat))
    rest, side = _rests(flat), SIDES[alternative]

    def log_p(part: NDArray[np.integer]) -> Floats:
        found = np.empty(len(part))
        log_tails(np.ascontiguousarray(part, dtype=np.int64), rest, side, found)
        return found

    jobs = [(flat[start : start + BLOCK],) for start in range(0, len(flat), BLOCK)]
    for k, found in enumerate(in_parallel(log_p, jobs)):
        out[k * BLOCK : k * BLOCK + len(found)] = found
    out /= math.log(10)
    return out.reshape(counts.shape[:-1])


def whole_counts(cells: ArrayLike) -> NDArray[np.integer]:
    """Check that cells are whole numbers in groups of four, without copying them."""
    counts = np.asarray(cells)
    if counts.ndim == 0 or counts.shape[-1] != 4:
        raise ValueError(
            f"cells must be n11, n10, n01, n00 on the last axis, got shape {counts.shape}"
        )
    if counts.dtype.kind not in "iu":
        raise ValueError(f"cells must be whole numbers of an integer type, got {counts.dtype}")
    if counts.size and counts.min() < 0:
        raise ValueError(f"cells must not be negative, got {counts.min()}")
    return counts


def _rests(flat: NDArray[np.integer]) -> Floats:
    """Remainder of log n! beyond n log n - n, up to the largest count of trials."""
    largest = 0
    for start in range(0, len(flat), BLOCK):
        largest = max(largest, int(flat[start : start + BLOCK].sum(axis=1, dtype=np.int64).max()))
    return _stirling(np.arange(max(SMALL, min(largest, LONGEST)) + 1.0))


def log_table_mass(table: NDArray[np.int64]) -> Floats:
    """Log hypergeometric probability of tables given their margins."""
    square = table.reshape(-1, 2, 2)
    n = table.sum(axis=1, keepdims=True)
    log_factorial = special.gammaln(np.arange(n.max(initial=0) + 1) + 1.0)
    margins = log_factorial[square.sum(axis=1)] + log_factorial[square.sum(axis=2)]
    return np.asarray(margins.sum(axis=1) - log_factorial[np.hstack([table, n])].sum(axis=1))


def _stirling(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Remainder of log n! beyond n log n - n."""
    inverse = 1 / np.maximum(n, SMALL)
    square = inverse**2
    # The next term is below 1e-16 from 16 on.
    series = inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    )
    large = np.log(2 * np.pi * np.maximum(n, SMALL)) / 2 + series
    return np.where(n < SMALL, REST[np.minimum(n, SMALL - 1).astype(np.intp)], large)
