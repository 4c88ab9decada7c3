"""Exact posterior draws of any metric by a Dirichlet process over trials or clusters.

Trials or clusters have exponential weights. The prior has the weight of a number of trials, spread
over response patterns drawn from it. A metric with these weights is a draw.

References
----------
.. [BM73] Blackwell, MacQueen (1973). Ferguson distributions via Polya urn schemes.
   doi:10.1214/aos/1176342372
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [S94] Sethuraman (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
   639-650.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_array
from alikely.data.blocks import Block, blocks, cluster_numbers
from alikely.inference.evaluation import evaluator
from alikely.inference.features import shares_of_options
from alikely.metrics import Metric
from alikely.metrics.cell_priors import PatternPrior, Prior, cell_prior

FEWER = "choose fewer pairs or a smaller n_draws"
# Numbers held at a time by one worker.
CHUNK = 8_000_000
# Chains of a posterior, as all results have.
CHAINS = 4
# Response patterns of the prior.
PATTERNS = 256
# A population has items without end: what corrects for a small sample vanishes.
ENDLESS = 1e9
# Two readings of an item of the default prior are equal so often.
EQUAL = 2 / 3


class ClusterWeights(NamedTuple):
    """Weights of all clusters of a table, and which cluster each trial of a block is of."""

    weights: Floats  # (draw, cluster)
    member: NDArray[np.intp]


type OfBlock = Callable[
    [Block, int, Metric, np.random.SeedSequence, ClusterWeights | None], NDArray[np.float32]
]


def process_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    prior: Prior | None = None,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draw a metric of all entries of a table from one posterior: (draw, entry)."""
    of_block = functools.partial(_block_draws, base=_base(metric, prior))
    return drawn_by_block(of_block, table, n_draws, metric, rng, cluster)


def _block_draws(
    block: Block,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    clusters: ClusterWeights | None,
    base: _Base,
) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    n_trials, known = block.correct.shape[1], evaluator(block, metric).features.known()
    ready = evaluator(_with_prior(block, metric, base, rng), metric)
    out = np.empty((n_draws, len(known)), dtype=np.float32)
    for some, weights in process_weights(rng, n_draws, n_trials, base.mass, ready.width, clusters):
        out[some] = ready.values(ENDLESS * weights)
    # Without a trial of an entry its posterior would be the prior.
    out[:, ~known] = np.nan
    return out


def drawn_by_block(
    draw: OfBlock,
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draw each block with a separate seed, on any number of workers."""
    n_draws = four_chains(n_draws)
    groups = list(blocks(table))
    *seeds, of_clusters = seed_sequence(rng).spawn(len(groups) + 1)
    own: list[ClusterWeights | None] = [None] * len(groups)
    if cluster is not None:
        numbers = cluster_numbers(table, cluster)
        size = (n_draws, int(numbers.max(initial=-1)) + 1)
        check_array(*size, "weights of clusters", FEWER)
        # A cluster has the same weight in all blocks that it reaches into.
        weights = np.random.default_rng(of_clusters).standard_exponential(size)
        own = [ClusterWeights(weights, numbers[block.trials]) for block in groups]
    jobs = [
        (block, n_draws, metric, seed, clusters)
        for block, seed, clusters in zip(groups, seeds, own, strict=True)
    ]
    check_array(n_draws, table.sizes["pair"], "draws", FEWER)
    out = np.empty((n_draws, table.sizes["pair"]), dtype=np.float32)
    for block, drawn in zip(groups, in_parallel(draw, jobs), strict=True):
        out[:, block.rows] = drawn
    return out


def four_chains(n_draws: int) -> int:
    """Round a number of draws up to four chains of equal length."""
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    return CHAINS * -(-n_draws // CHAINS)


def process_weights(
    rng: np.random.Generator,
    n_draws: int,
    n_trials: int,
    mass: float,
    held: int,
    clusters: ClusterWeights | None = None,
) -> Iterator[tuple[slice, Floats]]:
    """Weights of trials, and of patterns of the prior of a Dirichlet process [S94]_."""
    step = max(1, CHUNK // (n_trials + PATTERNS + held))
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        weights = np.zeros((size, n_trials + PATTERNS))
        if clusters is None:
            weights[:, :n_trials] = rng.standard_exponential((size, n_trials))
        else:
            weights[:, :n_trials] = clusters.weights[start : start + size, clusters.member]
        pattern = n_trials + rng.integers(0, PATTERNS, (size, n_pieces(mass)))
        np.add.at(weights, (np.arange(size)[:, None], pattern), prior_pieces(rng, size, mass))
        yield slice(start, start + size), weights


def n_pieces(mass: float) -> int:
    """Pieces of a broken stick whose last has a millionth of the mass on average: at least 35."""
    return max(35, 1 + round(math.log(1e-6) / math.log(mass / (mass + 1))))


def prior_pieces(rng: np.random.Generator, size: int, mass: float, n: int | None = None) -> Floats:
    """Draw the masses of the prior's part of a Dirichlet process, broken like a stick [S94]_."""
    total = rng.standard_gamma(mass, size=(size, 1))
    shares = rng.beta(1.0, mass, size=(size, n_pieces(mass) if n is None else n))
    shares[:, -1] = 1.0
    shares[:, 1:] *= np.cumprod(1 - shares[:, :-1], axis=1)
    return np.asarray(total * shares)


class _Base(NamedTuple):
    """Weight of the prior in trials, and its response patterns."""

    mass: float
    patterns: PatternPrior | None = None
    equal: float = EQUAL


def _base(metric: Metric, prior: Prior | None) -> _Base:
    """The prior of these features, from a prior on the four cells of a pair."""
    own = cell_prior(prior)
    if metric.counts != "readings":
        patterns = own.patterns(f"the posterior of {metric.label}")
        return _Base(patterns.mass, patterns)
    # For ratings: a table of two raters by two classes.
    n11, n10, n01, n00 = own.cells("the posterior of readings").tolist()
    mass = n11 + n10 + n01 + n00
    if prior is None:
        return _Base(mass)
    if not (math.isclose(n11, n00) and math.isclose(n10, n01) and n11 > n10):
        raise ValueError(
            "the posterior of ratings needs a Dirichlet prior with n11 = n00 above n10 = n01, "
            f"got {own}; give such parameters, as prior=[1, 0.5, 0.5, 1]"
        )
    return _Base(mass, equal=(n11 + n00) / mass)


def _with_prior(block: Block, metric: Metric, base: _Base, rng: np.random.Generator) -> Block:
    """The block, with patterns of answers of the prior as further trials."""
    shape = len(block.correct), PATTERNS
    n_options = rng.choice(block.n_options, PATTERNS) if block.n_options.size else None
    if metric.counts == "readings":
        correct, truth = np.zeros(shape, np.int8), np.full(PATTERNS, -1)
        response = _said(block, base.equal, rng)
    else:
        assert base.patterns is not None
        correct = base.patterns.correct(rng, (1, *shape))[0]
        truth = np.zeros(PATTERNS, dtype=np.intp)
        several = np.full(PATTERNS, block.n_classes) if n_options is None else n_options
        wrong = 1 + np.floor(rng.random(shape) * np.maximum(several - 1, 1)).astype(np.intp)
        response = np.where(correct == 1, 0, wrong)
    added: dict[str, NDArray[np.generic]] = {
        "correct": np.concatenate([block.correct, correct.astype(block.correct.dtype)], axis=1)
    }
    if block.response.size:
        added["response"] = np.concatenate([block.response, response.astype(np.int32)], axis=1)
        added["truth"] = np.concatenate([block.truth, truth.astype(np.int32)])
    if n_options is not None:
        added["n_options"] = np.concatenate([block.n_options, n_options])
    if block.probability.size:
        sharp = _probabilities(block, response, several)
        added["probability"] = np.concatenate([block.probability, sharp], axis=1)
    return block._replace(**added)  # type: ignore[arg-type]


def _said(block: Block, equal: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Ratings (rater, pattern) by Polya's urn [BM73]_: classes of a pattern are Dirichlet."""
    possible = _possible(block)
    k = len(possible)
    said = rng.integers(0, k, (len(block.response), PATTERNS))
    # All classes together weigh so much that two readers agree so often.
    fresh = (1 - equal) / (equal - 1 / k) if k > 1 else 1.0
    for reader in range(1, len(said)):
        ball = rng.random(PATTERNS) * (reader + fresh)
        copied = np.minimum(ball.astype(np.intp), reader - 1)
        said[reader] = np.where(ball < reader, said[copied, np.arange(PATTERNS)], said[reader])
    return np.asarray(possible[said])


def _possible(block: Block) -> NDArray[np.intp]:
    """Classes of ratings of the prior: those that occur, and other possible ones."""
    occurs = np.zeros(block.n_classes, dtype=bool)
    occurs[block.response[block.response >= 0]] = True
    occurs[block.truth[block.truth >= 0]] = True
    number = max(int(block.n_possible.max(initial=1)), int(occurs.sum()))
    return np.argsort(~occurs, kind="stable")[:number]


def _probabilities(block: Block, response: NDArray[np.intp], n_options: NDArray[np.intp]) -> Floats:
    """Probabilities (system, pattern, option) as sharp as each system's own."""
    p, shown = shares_of_options(block)
    number = np.maximum(shown.sum(axis=1), 1)
    equal = (shown / block.n_options).sum(axis=1) / number
    beyond = np.einsum("nqk,nqk->n", p, p) / number - equal
    sharp = np.sqrt(np.clip(beyond / np.where(equal > 0, 1 - equal, 1.0), 0.0, 1.0))
    option = np.arange(block.probability.shape[2])
    taken = (response[..., None] == option) - 1 / n_options[:, None]
    found = 1 / n_options[:, None] + sharp[:, None, None] * taken
    return np.where(option < n_options[:, None], found, 0.0)
