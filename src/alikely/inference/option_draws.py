"""Exact posterior draws of agreement on options.

References
----------
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
"""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.data.blocks import Block
from alikely.inference.by_block import draws_by_block
from alikely.inference.conjugate import n_pieces, prior_pieces
from alikely.inference.options import chosen
from alikely.metrics import Metric
from alikely.metrics.cell_priors import PatternPrior, Prior, cell_prior
from alikely.metrics.option_sums import OptionSums

__all__ = ["option_draws"]

# Numbers held at a time by one worker.
CHUNK = 8_000_000


def option_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    prior: Prior | None = None,
) -> NDArray[np.float32]:
    """Exact draws of one posterior of what all systems choose, for all entries of a table."""
    base = cell_prior(prior).patterns("the posterior of options")
    draw = functools.partial(_block_draws, prior=base)
    return draws_by_block(table, n_draws, metric, rng, draw)


def _block_draws(
    block: Block,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    prior: PatternPrior,
) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    ready = chosen(block, metric.counts == "probabilities")
    n_sums, n_pairs, n_trials = ready.each.shape
    step = max(1, CHUNK // (n_trials + n_pairs * (n_sums + n_pieces(prior.mass))))
    out = np.empty((n_draws, n_pairs), dtype=np.float32)
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        data = ready.sums(rng.standard_exponential((size, n_trials)))
        more = _prior(rng, size, block, ready.sharpness, prior)
        out[start : start + size] = metric.value(
            OptionSums(*(x + y for x, y in zip(data, more, strict=True)))
        )
    # Without a common question the prior alone would speak.
    out[:, ready.each[0].sum(axis=1) == 0] = np.nan
    return out


def _prior(
    rng: np.random.Generator, size: int, block: Block, sharpness: Floats, prior: PatternPrior
) -> OptionSums:
    """Sums over the pieces of the prior's part, each a question that everybody answers."""
    pieces = prior_pieces(rng, size, prior.mass)
    each = (size, 1, pieces.shape[1])
    n_options = rng.choice(block.n_options, each)
    chances = prior.chances(rng, each)
    shape = (size, len(block.response), pieces.shape[1])
    # Option 0 is the right one.
    wrong = 1 + np.floor(rng.random(shape) * (n_options - 1)).astype(np.int64)
    taken = np.where(rng.random(shape) < chances, 0, wrong)
    # Of sharp probabilities an option has all, of others a share of each is spread over all.
    a, b = taken[:, block.a], taken[:, block.b]
    of_a, of_b = (sharpness[side, None] for side in (block.a, block.b))
    equal = np.broadcast_to(1 / n_options, a.shape)

    def weighed(hit: NDArray[np.bool_], share: Floats) -> Floats:
        return np.asarray(equal + share * (hit - equal))

    right_a, right_b = weighed(a == 0, of_a), weighed(b == 0, of_b)
    sure = np.ones(a.shape, dtype=bool)
    parts = (
        np.ones(a.shape), weighed(a == b, of_a * of_b), right_a, right_b, weighed(sure, of_a**2),
        weighed(sure, of_b**2), np.broadcast_to(1 / (n_options - 1.0), a.shape), right_a * right_b,
    )  # fmt: skip
    return OptionSums(*(np.einsum("dps,ds->dp", part, pieces) for part in parts))
