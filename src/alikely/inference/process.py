"""Exact posterior draws without MCMC: for single pairs, for all pairs, and by strata of a pool.

The posterior of all pairs is a Dirichlet process over trials or clusters, which have exponential
weights. The prior has the weight of a number of trials, spread over response patterns drawn from
the prior. A metric with these weights is a draw.

References
----------
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [S94] Sethuraman (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
   639-650.
.. [BM73] Blackwell, MacQueen (1973). Ferguson distributions via Polya urn schemes.
   doi:10.1214/aos/1176342372
.. [E69] Ericson (1969). Subjective Bayesian models in sampling finite populations.
   doi:10.1111/j.2517-6161.1969.tb00782.x
.. [L88] Lo (1988). A Bayesian bootstrap for a finite population. doi:10.1214/aos/1176351061
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import ROUNDING, Floats, within
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely._base.size import check_array
from alikely.data.blocks import Block, blocks, cluster_numbers
from alikely.data.tables import check_counts
from alikely.inference.evaluation import evaluator, shares_of_options, weighted_cells
from alikely.inference.weighting import Population
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.consistency import (
    PatternPrior,
    Prior,
    cell_prior,
)
from alikely.metrics.copying import COPY_PROBABILITY

FEWER = "choose fewer pairs or a smaller n_draws"

# What the copy model is about: both are functions of the same cells.
COPY_MODEL = (ERROR_CONSISTENCY, COPY_PROBABILITY)
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
# Pieces of the prior's mass in a stratum: the last has 2e-4 of it on average.
PIECES = 12


def in_chunks(
    draw: Callable[[NDArray[np.int64], np.random.SeedSequence], NDArray[np.floating]],
    counts: NDArray[np.int64],
    shape: tuple[int, ...],
    step: int,
    rng: RandomState,
) -> NDArray[np.float32]:
    """Return draws (*shape, pair) for tables of pairs; each chunk of tables has a separate seed."""
    starts = range(0, len(counts), step)
    seeds = seed_sequence(rng).spawn(len(starts))
    jobs = [(counts[start : start + step], seed) for start, seed in zip(starts, seeds, strict=True)]
    check_array(math.prod(shape), len(counts), "draws", FEWER)
    out = np.empty((*shape, len(counts)), dtype=np.float32)
    for start, drawn in zip(starts, in_parallel(draw, jobs), strict=True):
        out[..., start : start + step] = drawn
    return out


def pairwise_draws(
    cells: ArrayLike,
    prior: Prior | None = None,
    n_draws: int | None = None,
    metrics: Sequence[Metric] = COPY_MODEL,
    rng: RandomState = None,
) -> dict[str, NDArray[np.float32]]:
    """Draw exactly from the posterior of each pair under the copy model."""
    n = resolve("n_draws", n_draws)
    own = cell_prior(prior)

    def draw(counts: NDArray[np.int64], seed: np.random.SeedSequence) -> Floats:
        generator, size = np.random.default_rng(seed), (n, len(counts))
        n11, n10, n01, n00 = counts.T
        p_a = generator.beta(own.p_a[0] + n11 + n10, own.p_a[1] + n01 + n00, size)
        u = generator.beta(own.u[0] + n11, own.u[1] + n10, size)
        v = generator.beta(own.v[0] + n01, own.v[1] + n00, size)
        both, neither = p_a * u, (1 - p_a) * v
        drawn = np.stack([both, p_a - both, neither, (1 - p_a) - neither], axis=-1)
        return np.stack([metric.value(drawn) for metric in metrics])

    counts, step = np.atleast_2d(check_counts(cells)), max(1, CHUNK // (8 * n))
    found = in_chunks(draw, counts, (len(metrics), n), step, rng)
    return {metric.name: values for metric, values in zip(metrics, found, strict=True)}


class Prepared(NamedTuple):
    """Values for any weights of the trials of a block and of the `PATTERNS` of a prior."""

    values: Callable[[Floats], NDArray[np.floating]]  # (draw, trial) to (draw, pair)
    width: int
    known: NDArray[np.bool_]


def process_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    prior: Prior | None = None,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draw a metric of all entries of a table from one posterior: (draw, entry)."""
    base = _base(metric, prior)

    def prepare(block: Block, generator: np.random.Generator) -> Prepared:
        ready = evaluator(_with_prior(block, metric, base, generator), metric)
        known = evaluator(block, metric).features.known()
        return Prepared(lambda weights: ready.values(ENDLESS * weights), ready.width, known)

    return dirichlet_draws(prepare, table, n_draws, base.mass, rng, cluster)


def dirichlet_draws(
    prepare: Callable[[Block, np.random.Generator], Prepared],
    table: xr.Dataset,
    n_draws: int,
    mass: float,
    rng: RandomState,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Values for weights from a Dirichlet process over trials or clusters [S94]_: (draw, entry)."""
    n_draws = four_chains(n_draws)
    groups = list(blocks(table))
    *seeds, of_clusters = seed_sequence(rng).spawn(len(groups) + 1)
    check_array(n_draws, table.sizes["pair"], "draws", FEWER)
    numbers, shared = np.empty(0, np.intp), np.empty(0)
    if cluster is not None:
        numbers = cluster_numbers(table, cluster)
        size = (n_draws, int(numbers.max(initial=-1)) + 1)
        check_array(*size, "weights of clusters", FEWER)
        # A cluster has the same weight in all blocks that it reaches into.
        shared = np.random.default_rng(of_clusters).standard_exponential(size)

    def draw(block: Block, seed: np.random.SeedSequence) -> NDArray[np.float32]:
        generator, n_trials = np.random.default_rng(seed), block.correct.shape[1]
        ready = prepare(block, generator)
        out = np.empty((n_draws, len(ready.known)), dtype=np.float32)
        step = max(1, CHUNK // (n_trials + PATTERNS + ready.width))
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start)
            weights = np.zeros((size, n_trials + PATTERNS))
            if cluster is None:
                weights[:, :n_trials] = generator.standard_exponential((size, n_trials))
            else:
                weights[:, :n_trials] = shared[start : start + size, numbers[block.trials]]
            pattern = n_trials + generator.integers(0, PATTERNS, (size, n_pieces(mass)))
            pieces = prior_pieces(generator, size, mass)
            np.add.at(weights, (np.arange(size)[:, None], pattern), pieces)
            out[start : start + size] = ready.values(weights)
        # Without a trial of an entry its posterior would be the prior.
        out[:, ~ready.known] = np.nan
        return out

    out = np.empty((n_draws, table.sizes["pair"]), dtype=np.float32)
    jobs = list(zip(groups, seeds, strict=True))
    for block, drawn in zip(groups, in_parallel(draw, jobs), strict=True):
        out[:, block.rows] = drawn
    return out


def four_chains(n_draws: int) -> int:
    """Round a number of draws up to four chains of equal length."""
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    return CHAINS * -(-n_draws // CHAINS)


def n_pieces(mass: float) -> int:
    """Number of stick-breaking pieces, at least 35, so that the last has a mean mass of 1e-6."""
    return max(35, 1 + round(math.log(1e-6) / math.log(mass / (mass + 1))))


def prior_pieces(rng: np.random.Generator, size: int, mass: float, n: int | None = None) -> Floats:
    """Draw the masses of the prior's part of a Dirichlet process by stick-breaking [S94]_."""
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
    if metric.counts != "ratings":
        patterns = own.patterns(f"the posterior of {metric.label}")
        return _Base(patterns.mass, patterns)
    # For ratings: a table of two raters by two classes.
    n11, n10, n01, n00 = own.cells("the posterior of ratings").tolist()
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
    if metric.counts == "ratings":
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


def strata_draws(
    table: xr.Dataset, n_draws: int, metrics: Sequence[Metric], rng: RandomState = None
) -> dict[str, NDArray[np.float32]]:
    """Posterior draws of all pairs from images that a plan sampled by strata."""
    groups = list(blocks(table))
    out = {m.name: np.full((n_draws, table.sizes["pair"]), np.nan, np.float32) for m in metrics}
    settled = np.isin(table["observer"].values, table.attrs["settled"])
    names, held_of = table["stratum"].values, table["stratum_images"].values
    ends = np.stack([table["first"].values, table["second"].values])
    for block, seed in zip(groups, seed_sequence(rng).spawn(len(groups)), strict=True):
        generator = np.random.default_rng(seed)
        _, at, number = np.unique(
            names[block.trials].astype(str), return_index=True, return_inverse=True
        )
        held = held_of[block.trials][at]
        known = settled[np.unique(ends[:, block.rows])]
        step = max(1, CHUNK // (len(number) + 12 * PIECES * len(held) * len(block.a)))
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start)
            cells = cells_of_strata(block, number, held, known, size, generator)
            for metric in metrics:
                out[metric.name][start : start + size, block.rows] = metric.value(cells)
    return out


def cells_of_strata(
    block: Block,
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    settled: NDArray[np.bool_],
    n_draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Draws of the cells of all pairs: (draw, pair, 4)."""
    generalize_to: Population = "pool" if block.generalize_to == "pool" else "images"
    # Shares of the strata among what is asked about.
    share = np.broadcast_to(held / held.sum(), (n_draws, len(held)))
    if generalize_to == "images":
        share = rng.dirichlet(held.astype(float), size=n_draws)
    # Shares of correct answers in strata of one person are known exactly, without pieces.
    people, alone = np.flatnonzero(~settled), (~settled).sum() == 1
    size = (n_draws, len(block.correct), len(held), 1 if alone else PIECES)
    tosses = np.zeros(size) if alone else _prior().correct(rng, size)
    for g in range(len(held)):
        tosses[:, settled, g] = block.correct[settled][:, number == g][:, :1]
    shares, shown = block.shares(), block.shown()
    out = np.full((n_draws, len(block.a), 4), np.nan)
    # People who saw lists of their own tell of the pool independently.
    for mask in np.unique(shown, axis=0):
        rows = np.flatnonzero((shown == mask).all(axis=1))
        at = np.flatnonzero(mask)
        if len(np.unique(number[at])) < len(held):
            continue
        if alone:
            answers = np.maximum(block.correct[people[0], at], 0)
            tosses[:, people[0], :, 0] = right_in_strata(
                number[at], answers, held, generalize_to, rng, n_draws
            )
            cells, pieces = np.zeros((n_draws, len(rows), 4)), np.asarray(share[..., None])
        else:
            atoms, pieces = masses_of_strata(number[at], held, share, generalize_to, rng)
            cells = np.asarray(weighted_cells(atoms, shares[rows][:, :, at]))
        right, other = tosses[:, block.a[rows]], tosses[:, block.b[rows]]
        both = np.einsum("dpgk,dpgk,dgk->dp", right, other, pieces)
        first, second = (np.einsum("dpgk,dgk->dp", side, pieces) for side in (right, other))
        total = pieces.sum(axis=(1, 2))[:, None]
        out[:, rows] = cells_of_sums(both, first, second, total, cells)
    return out


def cells_of_sums(
    both: Floats, first: Floats, second: Floats, total: Floats, more: Floats | float = 0.0
) -> Floats:
    """Compute cells n11, n10, n01, n00 from sums of both, either and all, and add further cells."""
    parts = [both, first - both, second - both, total - first - second + both]
    cells = more + np.stack(parts, axis=-1)
    # Differences of sums of the same pieces can fall a few ulp below 0.
    return within(cells, high=np.inf, slack=ROUNDING * cells.sum(axis=-1, keepdims=True))


def _prior() -> PatternPrior:
    """Prior in each stratum: that of `b` where `a` is correct, by default."""
    right, wrong = cell_prior(None).u
    return PatternPrior(right + wrong, right / (right + wrong), 0.0)


def right_in_strata(
    number: NDArray[np.intp],
    correct: NDArray[np.number],
    held: NDArray[np.intp],
    generalize_to: Population,
    rng: np.random.Generator,
    n_draws: int,
) -> Floats:
    """Posterior of one human's proportions correct in strata."""
    shown, right = np.bincount(number), np.bincount(number, correct)
    a, b = cell_prior(None).u
    theta = rng.beta(right + a, shown - right + b, size=(n_draws, len(held)))
    if generalize_to == "images":
        return theta
    return np.asarray((right + rng.binomial(held - shown, theta)) / held)


def masses_of_strata(
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    share: Floats,
    generalize_to: Population,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Probability masses of the shown images and of the prior in each stratum."""
    n_draws, mass = len(share), _prior().mass
    atoms, pieces = np.zeros((n_draws, len(number))), np.zeros((n_draws, len(held), PIECES))
    for g, count in enumerate(held):
        own = np.flatnonzero(number == g)
        masses = rng.standard_exponential((n_draws, len(own)))
        every = np.hstack([masses, prior_pieces(rng, n_draws, mass, PIECES)])
        every /= every.sum(axis=1, keepdims=True)
        if generalize_to == "pool":
            unseen = rng.multinomial(count - len(own), every)
            every = unseen.astype(np.float64)
            every[:, : len(own)] += 1
            every /= count
        every *= share[:, g : g + 1]
        atoms[:, own], pieces[:, g] = every[:, : len(own)], every[:, len(own) :]
    return atoms, pieces
