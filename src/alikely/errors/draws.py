"""Exact posterior draws of error patterns: labels of joint errors, and error rows.

References
----------
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [S94] Sethuraman (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
   639-650.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_array
from alikely.data.blocks import Block, blocks
from alikely.errors.posteriors import error_divergence_draws, error_row_draws
from alikely.errors.tables import dense_rows
from alikely.inference.conjugate import n_pieces, prior_pieces
from alikely.inference.evaluation import evaluator
from alikely.metrics import Metric, errors
from alikely.metrics.cell_priors import cell_prior
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.rows import Mixture

__all__ = [
    "PATTERNS",
    "chained",
    "check_number",
    "drawn_by_block",
    "label_draws",
    "process_weights",
    "row_draws",
]

FEWER = "choose fewer pairs or a smaller n_draws"

# Numbers held at a time by one worker.
CHUNK = 8_000_000
# Ways to draw that are not exact.
SAMPLERS = ("nuts", "gibbs", "moments", "strengths")
# Patterns of labels that stand for the prior.
PATTERNS = 256


def label_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
) -> NDArray[np.float32]:
    """Exact draws of one posterior of the labels of joint errors, for all pairs of a table."""
    return drawn_by_block(_label_block, table, n_draws, metric, rng)


def drawn_by_block(
    draw: Callable[[Block, int, Metric, np.random.SeedSequence], NDArray[np.float32]],
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState,
) -> NDArray[np.float32]:
    """Draws of the labels of joint errors, block by block."""
    n_draws = check_number(n_draws)
    groups = list(blocks(table))
    seeds = seed_sequence(rng).spawn(len(groups))
    jobs = [(block, n_draws, metric, seed) for block, seed in zip(groups, seeds, strict=True)]
    check_array(n_draws, table.sizes["pair"], "draws", FEWER)
    out = np.empty((n_draws, table.sizes["pair"]), dtype=np.float32)
    for block, drawn in zip(groups, in_parallel(draw, jobs), strict=True):
        drawn[:, ~block.shares()[:, 3].any(axis=1)] = np.nan
        out[:, block.rows] = drawn
    return out


def process_weights(
    rng: np.random.Generator, n_draws: int, n_trials: int, mass: float, held: int
) -> Iterator[tuple[slice, Floats]]:
    """Weights of trials, and of patterns that stand for the prior of a Dirichlet process [S94]_."""
    step = max(1, CHUNK // (n_trials + PATTERNS + held))
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        weights = np.zeros((size, n_trials + PATTERNS))
        weights[:, :n_trials] = rng.standard_exponential((size, n_trials))
        pattern = n_trials + rng.integers(0, PATTERNS, (size, n_pieces(mass)))
        np.add.at(weights, (np.arange(size)[:, None], pattern), prior_pieces(rng, size, mass))
        yield slice(start, start + size), weights


def _label_block(
    block: Block, n_draws: int, metric: Metric, seed: np.random.SeedSequence
) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    n_observers, n_trials = block.correct.shape
    shape = (n_observers, PATTERNS)
    # Everybody gives the common label with this probability, so two do with 1/2.
    copied = rng.random(shape) < np.sqrt(0.5)
    common = rng.integers(0, block.n_classes, PATTERNS)
    labels = np.where(copied, common, rng.integers(0, block.n_classes, shape))
    with_prior = block._replace(
        correct=np.concatenate([block.correct, np.zeros(shape, np.int8)], axis=1),
        response=np.concatenate([block.response, labels.astype(np.int32)], axis=1),
        truth=np.concatenate([block.truth, np.full(PATTERNS, -1, np.int32)]),
    )
    ready = evaluator(with_prior, metric)
    # As many trials as the prior on the cells of a pair is worth.
    mass = float(cell_prior(None).cells("labels").sum())
    out = np.empty((n_draws, len(block.a)), dtype=np.float32)
    for some, weights in process_weights(rng, n_draws, n_trials, mass, ready.width):
        out[some] = ready.values(weights)
    return out


def row_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
    rng: RandomState = None,
) -> NDArray[np.float32]:
    """Exact draws of class-level error similarity from conjugate Dirichlet rows."""
    n_draws = check_number(n_draws)
    generator = np.random.default_rng(seed_sequence(rng))
    out = np.full((n_draws, table.sizes["pair"]), np.nan, dtype=np.float32)
    for block in blocks(table):
        rows = dense_rows(block)
        if not rows.any():
            continue
        k = block.n_classes
        fixed = xr.Dataset(
            {
                "base": (("true_class", "response_class"), (1 - np.eye(k)) / (k - 1)),
                "concentration": ((), alpha),
            }
        ).expand_dims(chain=1)
        pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))
        step = max(1, CHUNK // rows.size)
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start)
            drawn = error_row_draws(fixed.expand_dims(draw=size), rows, generator)
            divergence = error_divergence_draws(drawn, rows, pairs, mixture=mixture, base=base)
            out[start : start + size, block.rows] = errors.error_similarity(divergence)
    return out


def chained(
    draws: NDArray[np.floating],
    table: xr.Dataset,
    metric: Metric,
    sampler: str,
    *,
    joint: bool = True,
) -> xr.Dataset:
    """Lay draws out in four chains, as ArviZ takes them."""
    shaped = draws.reshape(4, -1, table.sizes["pair"])
    return xr.Dataset(
        {metric.name: (("chain", "draw", "pair"), shaped)},
        coords={"pair": table["pair"].values},
        attrs={"sampler": sampler if sampler in SAMPLERS else "exact", "joint": int(joint)},
    )


def check_number(n_draws: int) -> int:
    """Round a number of draws up to four chains of equal length."""
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    return 4 * -(-n_draws // 4)
