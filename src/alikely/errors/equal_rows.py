"""Equality of error rows of two systems: expected divergence, permutation test, Bayes factor.

If two systems with the same items have equal rows, their labels on joint errors are exchangeable.
Joint errors with the same label carry no information for this test, but lower the divergence.

References
----------
.. [PS10] Pesarin, Salmaso (2010). Permutation tests for complex data. doi:10.1002/9780470689516
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_total
from alikely.data.blocks import Block, blocks
from alikely.errors.pairs import PairedErrors, paired_errors
from alikely.inference.intervals import adjusted_p_values
from alikely.metrics import Metric
from alikely.metrics.rows import Mixture, label_divergence

N_PERMUTATIONS = 999
# Tolerance of the number of copies among agreements.
EM_STEPS = 50
# Most labels of permutations in memory.
PERMUTED = 2_000_000
TINY = 1e-12


def equality(
    table: xr.Dataset, metric: Metric, n_permutations: int = N_PERMUTATIONS, rng: RandomState = None
) -> dict[str, NDArray[np.float64]]:
    """Test whether the error rows of each pair are equal.

    Returns arrays (pair,): expected divergence, log Bayes factor (nats, positive for equal rows),
    p-value and adjusted p-value; also the log Bayes factor of each class. NaN for pairs without
    errors.
    """
    check_total({"n_permutations": n_permutations})
    n_pairs = table.sizes["pair"]
    expected, p_equal = np.full((2, n_pairs), np.nan)
    by_class = np.zeros((n_pairs, table.sizes["class"]))
    groups = list(blocks(table))
    jobs = [
        (block, metric.options, n_permutations, seed)
        for block, seed in zip(groups, seed_sequence(rng).spawn(len(groups)), strict=True)
    ]
    for block, found in zip(groups, in_parallel(_of_block, jobs), strict=True):
        classes, expected[block.rows], by_class[block.rows, classes], p_equal[block.rows] = found
    factor = by_class.sum(axis=1)
    none = np.isnan(expected)
    factor[none] = by_class[none] = np.nan
    return {
        "expected_divergence": expected,
        "log_bayes_factor": factor,
        "class_log_bayes_factor": by_class,
        "p_equal": p_equal,
        "p_equal_adjusted": adjusted_p_values(p_equal),
    }


def _of_block(
    block: Block, options: Any, n_permutations: int, seed: np.random.SeedSequence
) -> tuple[NDArray[np.intp], Floats, Floats, Floats]:
    """Classes with errors, expected divergence, log Bayes factor by class, and p-value."""
    data = paired_errors(block)
    expected = expected_by_class(data, **options).sum(axis=1)
    n_a, n_b = data.totals.sum(axis=-1)
    p_equal = np.full(len(n_a), np.nan)
    if n_permutations:
        rng = np.random.default_rng(seed)
        for pair in np.flatnonzero((n_a > 0) & (n_b > 0)):
            p_equal[pair] = _p_equal(block, data, int(pair), options, n_permutations, rng)
    factors = log_bayes_factors(data, options["alpha"])
    return data.classes, np.where(n_a + n_b == 0, np.nan, expected), factors, p_equal


def expected_by_class(
    data: PairedErrors, *, alpha: float, mixture: Mixture, base: float
) -> NDArray[np.float64]:
    """Compute the mean divergence of equal rows, given the sufficient statistics."""
    options: dict[str, Any] = {"alpha": alpha, "mixture": mixture, "base": base}
    of_a, of_b = data.of_a, data.of_b
    n_a, n_b = of_a.sum(axis=-1), of_b.sum(axis=-1)
    k = (of_a + of_b > 0).sum(axis=-1) + data.unseen
    n_alone = data.alone_a.sum(axis=-1), data.alone_b.sum(axis=-1)
    at = np.nonzero(of_a + of_b)
    row = at[:2]
    agreed, tossed, here = (
        part[at] for part in (data.agreed, data.apart_a + data.apart_b, data.alone_a + data.alone_b)
    )
    drawn, pool = n_alone[0][row], n_alone[0][row] + n_alone[1][row]
    added = np.zeros(len(agreed))
    # Labels with equal numbers of errors are computed together.
    kinds, kind = np.unique(np.stack([tossed, here]), axis=1, return_inverse=True)
    order, sizes = np.argsort(kind.ravel(), kind="stable"), np.bincount(kind.ravel())
    for (coins, cards), end, n in zip(kinds.T, np.cumsum(sizes), sizes, strict=True):
        some = order[end - n : end]
        mass = _tossed_and_dealt(int(coins), int(cards), drawn[some], pool[some])
        got = agreed[some, None] + np.arange(mass.shape[1])
        rest = (2 * agreed[some] + coins + cards)[:, None] - got
        given = (part[row][some, None] for part in (n_a, n_b, k))
        added[some] = (mass * label_divergence(got, rest, *given, **options)).sum(axis=1)
    nothing = np.zeros(k.shape)
    out = data.unseen * label_divergence(nothing, nothing, n_a, n_b, np.maximum(k, 1), **options)
    np.add.at(out, row, added)
    total = (n_a + n_b).astype(np.float64)
    whole = total.sum(axis=1, keepdims=True)
    return np.asarray(out * np.divide(total, whole, out=np.zeros_like(total), where=whole > 0))


def _tossed_and_dealt(
    tossed: int, here: int, drawn: NDArray[np.integer], pool: NDArray[np.integer]
) -> Floats:
    """Probabilities of 0, 1, ... labels for `a`, (row, number)."""
    coins = stats.binom.pmf(np.arange(tossed + 1), tossed, 0.5)
    if not here:
        return np.broadcast_to(coins, (len(drawn), len(coins)))
    cards = stats.hypergeom.pmf(np.arange(here + 1), pool[:, None], here, drawn[:, None])
    return np.stack([np.convolve(coins, row) for row in cards]) if tossed else cards


def _p_equal(
    block: Block,
    data: PairedErrors,
    pair: int,
    options: Any,
    n_permutations: int,
    rng: np.random.Generator,
) -> float:
    """Proportion of permutations, including the data, with at least the observed divergence."""
    one = data.take(np.array([pair]))
    of_a, of_b = one.of_a[0], one.of_b[0]
    true, label = np.nonzero(of_a + of_b)
    # Neither what both gave of a label changes, nor how many errors a system made on a class: what
    # a label adds depends on the number that falls to `a`.
    most = (of_a + of_b)[true, label]
    first = np.cumsum(most + 1) - most - 1
    got = np.arange(len(first) + most.sum()) - np.repeat(first, most + 1)
    n_a, n_b = of_a.sum(axis=-1), of_b.sum(axis=-1)
    k = (of_a + of_b > 0).sum(axis=-1) + one.unseen[0]
    of_cell = np.repeat(true, most + 1)
    adds = (n_a + n_b)[of_cell] * label_divergence(
        got, np.repeat(most, most + 1) - got, n_a[of_cell], n_b[of_cell], k[of_cell], **options
    )
    here = adds[first + of_a[true, label]].sum()
    step = max(1, PERMUTED // max(len(true), 1))
    more = 0
    for start in range(0, n_permutations, step):
        counts = _permuted(block, one, pair, min(step, n_permutations - start), rng)
        under = adds[first + counts[:, true, label]].sum(axis=-1)
        # Equal values may differ by rounding.
        more += int((under >= here * (1 - 1e-9) - TINY).sum())
    return (1 + more) / (1 + n_permutations)


def _permuted(
    block: Block, one: PairedErrors, pair: int, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Errors of `a` after permutation of exchangeable labels: (n, class, cell)."""
    counts = np.tile(one.agreed, (n, 1, 1))
    pool, n_alone = (one.alone_a + one.alone_b)[0], one.alone_a[0].sum(axis=-1)
    for row in np.flatnonzero(pool.sum(axis=-1)):
        there = np.flatnonzero(pool[row])
        counts[:, row, there] += rng.multivariate_hypergeometric(
            pool[row, there], n_alone[row], size=n, method="marginals"
        )
    of_a, of_b = _apart(block, one, pair)
    given = np.where(rng.random((n, len(of_a))) < 0.5, of_a, of_b)
    width = counts[0].size
    at = np.arange(n)[:, None] * width + given
    return counts + np.bincount(at.ravel(), minlength=n * width).reshape(counts.shape)


def _apart(block: Block, one: PairedErrors, pair: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Cells of both labels of each joint error with different labels."""
    k, sides = block.n_classes, (block.a[pair], block.b[pair])
    wrong = [block.correct[side] == 0 for side in sides]
    codes = [block.truth.astype(np.intp) * k + block.response[side] for side in sides]
    cells = np.unique(np.concatenate([c[w] for c, w in zip(codes, wrong, strict=True)]))
    row = np.searchsorted(one.classes, cells // k)
    place = row * one.agreed.shape[-1] + np.arange(len(cells)) - np.searchsorted(row, row)
    items = wrong[0] & wrong[1] & (codes[0] != codes[1])
    of_a, of_b = (place[np.searchsorted(cells, c[items])] for c in codes)
    return of_a, of_b


def log_bayes_factors(data: PairedErrors, alpha: float) -> NDArray[np.float64]:
    """Compute the log Bayes factor of equal against independent rows, without copied errors."""
    copies = _copies(data, alpha)
    k = (data.of_a + data.of_b > 0).sum(axis=-1) + data.unseen

    def evidence(counts: Floats) -> Floats:
        terms = (special.gammaln(counts + alpha) - special.gammaln(alpha)).sum(axis=-1)
        n = counts.sum(axis=-1)
        return np.asarray(terms + special.gammaln(alpha * k) - special.gammaln(n + alpha * k))

    one, other = data.of_a - copies, data.of_b - copies
    return evidence(one + other) - evidence(one) - evidence(other)


def _copies(data: PairedErrors, alpha: float) -> Floats:
    """Expected numbers of copies among agreements, by the EM algorithm."""
    k = ((data.of_a + data.of_b > 0).sum(axis=-1) + data.unseen)[..., None]
    both = np.maximum(data.both, 1)[..., None]
    copies = data.agreed / 2
    for _ in range(EM_STEPS):
        n = copies.sum(axis=-1, keepdims=True)
        share = n / both
        copied = (copies + alpha) / (n + alpha * k)
        own = data.of_a + data.of_b - 2 * copies
        row = (own + alpha) / (own.sum(axis=-1, keepdims=True) + alpha * k)
        by_copy, by_chance = share * copied, (1 - share) * row**2
        copies = data.agreed * by_copy / np.maximum(by_copy + by_chance, 1e-300)
    return np.asarray(copies)
