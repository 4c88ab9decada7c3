"""Draws of agreement on joint errors whose quantiles hold also where joint errors are few.

References
----------
.. [BCD01] Brown, Cai, DasGupta (2001). Interval estimation for a binomial proportion.
   doi:10.1214/ss/1009213286
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.data.blocks import Block
from alikely.inference.features import joint_errors_of, wrong_answers
from alikely.inference.process import PATTERNS, ClusterWeights, drawn_by_block, process_weights
from alikely.metrics import Metric
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT

__all__ = ["agreement_draws"]

# Mass of the prior: half a joint error that agrees, half a one that does not.
MASS = 1.0
# As if each label had been given that much more often.
GIVEN = 0.5


def agreement_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draws of an estimand of the labels of joint errors, for all pairs of a table."""
    if "response" not in table:
        raise ValueError(
            f"{metric.name} needs class labels and this table has none; count it with labels=True"
        )
    return drawn_by_block(_of_block, table, n_draws, metric, rng, cluster)


class _Counted(NamedTuple):
    """What trials and patterns add to the statistics of each pair, and to sums of squares."""

    statistics: sparse.csr_array  # (pair * (1 + 2 * class), trial)
    squares: sparse.csr_array  # (pair * 2, trial)


def _of_block(
    block: Block,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    clusters: ClusterWeights | None,
) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    n_pairs, n_trials = len(block.a), block.correct.shape[1]
    counted = _counted(block, rng)
    width = 1 + 2 * block.n_classes
    out = np.empty((n_draws, n_pairs), dtype=np.float32)
    held = n_pairs * (width + 2)
    for some, weights in process_weights(rng, n_draws, n_trials, MASS, held, clusters):
        statistics = _summed(counted.statistics, weights, width)
        if metric.distinct is None:
            out[some] = metric.value(statistics)
        else:
            own = _summed(counted.squares, weights**2, 2)
            out[some] = metric.distinct(statistics, own)
    out[:, ~block.shares()[:, 3].any(axis=1)] = np.nan
    return out


def _counted(block: Block, rng: np.random.Generator) -> _Counted:
    n_pairs, n_trials, k = len(block.a), block.correct.shape[1], block.n_classes
    pair, trial, first, second, share = joint_errors_of(block)
    labels = _patterns(block, rng)
    first, second = (
        np.concatenate([given, labels[side].ravel()])
        for given, side in ((first, block.a), (second, block.b))
    )
    at, pattern = np.indices((n_pairs, PATTERNS)).reshape(2, -1)
    pair, trial = np.concatenate([pair, at]), np.concatenate([trial, n_trials + pattern])
    share = np.concatenate([share, np.ones(len(at))])
    same = first == second
    width, size = 1 + 2 * k, n_trials + PATTERNS
    rows = [pair[same] * width, pair * width + 1 + first, pair * width + 1 + k + second]
    statistics = _design(
        rows, [trial[same], trial, trial], [share[same], share, share], (n_pairs * width, size)
    )
    # A trial with itself: all its first labels with all its second ones.
    met, own = np.unique(pair * size + trial, return_inverse=True)
    given = [
        sparse.csr_array((share, (own, label)), shape=(len(met), k)) for label in (first, second)
    ]
    alike = np.asarray(given[0].multiply(given[1]).sum(axis=1)).ravel()
    whole = np.asarray(np.bincount(own, share), dtype=np.float64) ** 2
    squares = _design(
        [met // size * 2, met // size * 2 + 1],
        [met % size] * 2,
        [alike, whole],
        (n_pairs * 2, size),
    )
    return _Counted(statistics, squares)


def _patterns(block: Block, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels of the prior, (observer, pattern)."""
    given = block.response[wrong_answers(block)]
    frequency = np.bincount(given, minlength=block.n_classes) + GIVEN
    shape = (len(block.correct), PATTERNS)
    # Both of a pair give the common label half of the time; the others give labels of their own,
    # which are not it, however frequent it is.
    follows = rng.random(shape) < np.sqrt(0.5)
    share = frequency / frequency.sum()
    common = rng.choice(block.n_classes, PATTERNS, p=share)
    others = np.where(np.arange(block.n_classes) == common[:, None], 0, share)
    steps = np.cumsum(others, axis=1)
    point = rng.random(shape) * steps[:, -1]
    own = (point[..., None] >= steps).sum(axis=-1)
    return np.where(follows, common, own)


def _design(
    rows: list[NDArray[np.intp]],
    columns: list[NDArray[np.intp]],
    values: list[Floats],
    shape: tuple[int, int],
) -> sparse.csr_array:
    at = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(values), at), shape=shape)


def _summed(design: sparse.csr_array, weights: Floats, width: int) -> Floats:
    """Sums over trials, (draw, pair, width)."""
    total = design @ weights.T
    return np.asarray(total.reshape(-1, width, len(weights)).transpose(2, 0, 1))
