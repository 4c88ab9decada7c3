"""Exact posterior draws of the agreement of readings.

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
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.data.blocks import Block
from alikely.inference.by_block import draws_by_block
from alikely.inference.conjugate import n_pieces, prior_pieces
from alikely.inference.readings import Counted, counted, equal_readings
from alikely.metrics import Metric
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.metrics.readings import Readings

__all__ = ["readings_draws"]

# Numbers held at a time by one worker.
CHUNK = 8_000_000
# A population has items without end: what corrects for a small sample vanishes.
ENDLESS = 1e9


# Two readings of an item of the default prior are equal so often.
EQUAL = 2 / 3


class ReadingPrior(NamedTuple):
    """Mass of the process, and how often two readings of an item are equal."""

    mass: float
    equal: float


def readings_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    prior: Prior | None = None,
) -> NDArray[np.float32]:
    """Exact draws of one posterior of all that readers said, for all entries of a table."""
    draw = functools.partial(_block_draws, prior=_reading_prior(prior))
    return draws_by_block(table, n_draws, metric, rng, draw)


def _reading_prior(prior: Prior | None) -> ReadingPrior:
    """Prior of readings from that of a table of two readers by two classes."""
    own = cell_prior(prior)
    n11, n10, n01, n00 = own.cells("the posterior of readings").tolist()
    mass = n11 + n10 + n01 + n00
    if prior is None:
        return ReadingPrior(mass, EQUAL)
    if not (math.isclose(n11, n00) and math.isclose(n10, n01) and n11 > n10):
        raise ValueError(
            "the posterior of readings needs a Dirichlet prior with n11 = n00 above n10 = n01, "
            f"got {own}; give such parameters, as prior=[1, 0.5, 0.5, 1]"
        )
    return ReadingPrior(mass, (n11 + n00) / mass)


def _block_draws(
    block: Block,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    prior: ReadingPrior,
) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    n_sticks = n_pieces(prior.mass)
    ready, n_trials = counted(block), block.response.shape[1]
    possible = _possible(block)
    n_pairs, n_readers = ready.members.shape
    width = n_trials + 2 * n_pairs * ready.size + n_sticks * (n_pairs * n_readers + len(block.a))
    step = max(1, CHUNK // (width + len(block.response) * (n_sticks + ready.k)))
    out = np.empty((n_draws, n_pairs), dtype=np.float32)
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        data = ready.readings(rng.standard_exponential((size, n_trials)))
        more = _prior(rng, size, ready, len(block.response), possible, prior)
        both = [ENDLESS * (x + y) for x, y in zip(data[:-1], more, strict=True)]
        out[start : start + size] = metric.value(Readings._make([*both, ready.n_classes]))
    # Without an item that two read the prior alone would speak.
    out[:, ready.readings(np.ones((1, n_trials))).items[0] == 0] = np.nan
    return out


def _possible(block: Block) -> NDArray[np.intp]:
    """Classes that readings of the prior are of: those that occur here, and what else could."""
    occurs = np.zeros(block.n_classes, dtype=bool)
    occurs[block.response[block.response >= 0]] = True
    occurs[block.truth[block.truth >= 0]] = True
    number = max(int(block.n_possible.max(initial=1)), int(occurs.sum()))
    return np.argsort(~occurs, kind="stable")[:number]


def _prior(
    rng: np.random.Generator,
    size: int,
    ready: Counted,
    n_observers: int,
    possible: NDArray[np.intp],
    prior: ReadingPrior,
) -> list[Floats]:
    """Sums over the pieces of the prior's part, each with readings of its own by everybody."""
    pieces = prior_pieces(rng, size, prior.mass)
    n_sticks = pieces.shape[1]
    said = possible[_said(rng, (size, n_observers, n_sticks), len(possible), prior.equal)]
    at = np.arange(size * n_observers).reshape(size, n_observers, 1) * ready.k + said
    mass = np.broadcast_to(pieces[:, None, :], said.shape)
    each = np.bincount(at.ravel(), mass.ravel(), minlength=size * n_observers * ready.k)
    given = each.reshape(size, n_observers, ready.k)[:, ready.members]
    n_pairs, n_readers = ready.members.shape
    if n_readers == 2:
        a, b = ready.members.T
        equal = np.einsum("dps,ds->dp", said[:, a] == said[:, b], pieces)
    else:
        codes = said[:, ready.members].transpose(1, 2, 0, 3).reshape(n_pairs, n_readers, -1)
        ways = equal_readings(codes, np.ones(codes.shape, bool), ready.k)
        equal = np.einsum("pds,ds->dp", ways.reshape(n_pairs, size, n_sticks), pieces)
        equal = equal / (n_readers * (n_readers - 1))
    items = np.broadcast_to(pieces.sum(axis=1, keepdims=True), equal.shape)
    paired = given.sum(axis=2)
    return [items, equal, n_readers * equal, paired / n_readers, paired, given]


def _said(
    rng: np.random.Generator, shape: tuple[int, int, int], k: int, equal: float
) -> NDArray[np.intp]:
    """Readings (draw, reader, piece) by Polya's urn: classes of a piece are Dirichlet."""
    said = rng.integers(0, k, shape)
    # All classes together weigh so much that two readers agree so often.
    fresh = (1 - equal) / (equal - 1 / k) if k > 1 else 1.0
    for reader in range(1, shape[1]):
        ball = rng.random((shape[0], 1, shape[2])) * (reader + fresh)
        copied = np.take_along_axis(said, np.minimum(ball.astype(np.intp), reader - 1), axis=1)
        said[:, reader] = np.where(ball < reader, copied, said[:, [reader]])[:, 0]
    return said
