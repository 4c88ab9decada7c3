"""Posterior draws of agreement on joint errors.

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

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.data.blocks import Block
from alikely.inference.evaluation import joint_errors_of, wrong_answers
from alikely.inference.process import PATTERNS, Prepared, dirichlet_draws
from alikely.metrics import Metric
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT

# Samplers that are not exact.
SAMPLERS = ("nuts", "gibbs", "moments", "strengths")
# Prior of agreement: half a joint error with agreement, half a joint error without.
MASS = 1.0
# Pseudocount of each label.
GIVEN = 0.5


def chained(
    draws: NDArray[np.floating],
    table: xr.Dataset,
    metric: Metric,
    sampler: str,
    *,
    joint: bool = True,
    clustered: bool = False,
) -> xr.Dataset:
    """Arrange draws in four chains, for ArviZ."""
    shaped = draws.reshape(4, -1, table.sizes["pair"])
    return xr.Dataset(
        {metric.name: (("chain", "draw", "pair"), shaped)},
        coords={"pair": table["pair"].values},
        attrs={
            "sampler": sampler if sampler in SAMPLERS else "exact",
            "joint": int(joint),
            "clustered": int(clustered),
        },
    )


def agreement_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draw agreement on joint errors, with nominal coverage even for few joint errors.

    Weights of joint errors come from a Dirichlet process [F73]_ with Jeffreys' prior of a
    proportion [BCD01]_. Chance agreement is over different joint errors, a U-statistic [H48]_.
    """
    if "response" not in table:
        raise ValueError(
            f"{metric.name} needs class labels and this table has none; count it with labels=True"
        )

    def prepare(block: Block, generator: np.random.Generator) -> Prepared:
        statistics, squares = _designs(block, generator)
        n_pairs, width = len(block.a), 1 + 2 * block.n_classes

        def values(weights: Floats) -> NDArray[np.floating]:
            # Sums over trials, (draw, pair, statistic).
            sums, own = (
                (design @ part.T).T.reshape(len(weights), n_pairs, -1)
                for design, part in ((statistics, weights), (squares, weights**2))
            )
            found = metric.value(sums) if metric.distinct is None else metric.distinct(sums, own)
            return np.asarray(found)

        return Prepared(values, n_pairs * (width + 2), block.shares()[:, 3].any(axis=1))

    return dirichlet_draws(prepare, table, n_draws, MASS, rng, cluster)


def _designs(block: Block, rng: np.random.Generator) -> list[sparse.csr_array]:
    """Contributions of trials and patterns to the statistics of pairs, and to sums of squares.

    Shapes are (pair * (1 + 2 * class), trial) and (pair * 2, trial).
    """
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
    width, size = 1 + 2 * k, n_trials + PATTERNS

    def design(
        values: list[Floats], rows: list[NDArray[np.intp]], trial: NDArray[np.intp]
    ) -> sparse.csr_array:
        columns = np.tile(trial, len(rows))
        shape = n_pairs * (width if len(rows) == 3 else 2), size
        matrix = sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), columns)), shape=shape
        )
        matrix.eliminate_zeros()
        return matrix

    start = pair * width
    rows = [start, start + 1 + first, start + 1 + k + second]
    statistics = design([share * (first == second), share, share], rows, trial)
    # A trial with itself: all pairs of its first and second labels.
    met, own = np.unique(pair * size + trial, return_inverse=True)
    given = [
        sparse.csr_array((share, (own, label)), shape=(len(met), k)) for label in (first, second)
    ]
    alike = np.asarray(given[0].multiply(given[1]).sum(axis=1)).ravel()
    whole = np.asarray(np.bincount(own, share), dtype=np.float64) ** 2
    start, trial = met // size * 2, met % size
    return [statistics, design([alike, whole], [start, start + 1], trial)]


def _patterns(block: Block, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels of the prior (observer, pattern)."""
    given = block.response[wrong_answers(block)]
    frequency = np.bincount(given, minlength=block.n_classes) + GIVEN
    shape = (len(block.correct), PATTERNS)
    # Both observers of a pair give the common label with probability 1/2, else separate labels.
    follows = rng.random(shape) < np.sqrt(0.5)
    share = frequency / frequency.sum()
    common = rng.choice(block.n_classes, PATTERNS, p=share)
    others = np.where(np.arange(block.n_classes) == common[:, None], 0, share)
    steps = np.cumsum(others, axis=1)
    point = rng.random(shape) * steps[:, -1]
    own = (point[..., None] >= steps).sum(axis=-1)
    return np.where(follows, common, own)
