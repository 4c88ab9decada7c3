"""Posterior from a pool of which each stratum was seen in part.

References
----------
.. [E69] Ericson (1969). Subjective Bayesian models in sampling finite populations.
   doi:10.1111/j.2517-6161.1969.tb00782.x
.. [L88] Lo (1988). A Bayesian bootstrap for a finite population. doi:10.1214/aos/1176351061
.. [S94] Sethuraman (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
   639-650.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely._base.ranges import ROUNDING, within
from alikely.data.blocks import Block, blocks
from alikely.inference.evaluation import weighted_cells
from alikely.inference.weighted import Population
from alikely.metrics import Metric
from alikely.metrics.cell_priors import PatternPrior, cell_prior

__all__ = ["masses_of_strata", "right_in_strata", "strata_draws", "stratum_shares"]

# Pieces of the prior's mass in a stratum: the last has 2e-4 of it on average.
PIECES = 12
# Numbers held at a time.
CHUNK = 8_000_000


def stratum_shares(
    held: NDArray[np.intp], n_draws: int, population: Population, rng: np.random.Generator
) -> Floats:
    """Shares of the strata among what is asked about.

    Parameters
    ----------
    held : ndarray of int, shape (stratum,)
        Images of the pool.
    n_draws : int
    population : {"pool", "images"}
        The pool itself, whose shares are known, or the images that it stands for.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (draw, stratum)
        Rows sum to 1.

    Examples
    --------
    >>> stratum_shares(np.array([30, 10]), 1, "pool", np.random.default_rng(1)).tolist()
    [[0.75, 0.25]]
    """
    if population == "pool":
        return np.broadcast_to(held / held.sum(), (n_draws, len(held)))
    return rng.dirichlet(held.astype(float), size=n_draws)


def right_in_strata(
    right: NDArray[np.intp],
    shown: NDArray[np.intp],
    held: NDArray[np.intp],
    n_draws: int,
    population: Population,
    rng: np.random.Generator,
) -> Floats:
    """Posterior of one person's shares of right answers in strata.

    Parameters
    ----------
    right, shown, held : ndarray of int, shape (stratum,)
        Right answers, images shown, and images of the pool.
    n_draws : int
        Number of draws.
    population : {"pool", "images"}
        The share among the images of the pool, of which those shown are known [E69]_; or among
        the images that they stand for.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (draw, stratum)
        ``Beta(y + 1/2, n - y + 1/2)``; of the pool completed by a binomial of what was not shown.

    Examples
    --------
    >>> one = np.array([3]), np.array([4]), np.array([4])
    >>> right_in_strata(*one, 3, "pool", np.random.default_rng(1)).ravel().tolist()
    [0.75, 0.75, 0.75]
    """
    a, b = cell_prior(None).u
    theta = rng.beta(right + a, shown - right + b, size=(n_draws, len(held)))
    if population == "images":
        return theta
    return np.asarray((right + rng.binomial(held - shown, theta)) / held)


def strata_draws(
    table: xr.Dataset, n_draws: int, metrics: Sequence[Metric], rng: RandomState = None
) -> dict[str, NDArray[np.float32]]:
    """Posterior draws of all pairs from images that a plan drew by strata.

    Within a stratum every image was as likely as any other, so that no weights are needed. The
    images shown are atoms with masses Dirichlet(1, .., 1), and a mass of 1 is on patterns of coin
    tosses [S94]_; of a pool what was not shown is drawn from these [L88]_. The share of a person
    in a stratum is then Beta(y + 1/2, n - y + 1/2), and draws of people who saw the same images
    belong together. What two machines answered is known for all images of a stratum.

    Parameters
    ----------
    table : xarray.Dataset
        As from `alikely.data.joint_correctness`, of trials with a plan of strata.
    n_draws : int
        Number of draws.
    metrics : sequence of Metric
        Of correctness.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    dict of str to ndarray of float32, shape (n_draws, pair)
        By name of the metric.
    """
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
            cells = _cells(block, number, held, known, size, generator)
            for metric in metrics:
                out[metric.name][start : start + size, block.rows] = metric.value(cells)
    return out


def _cells(
    block: Block,
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    settled: NDArray[np.bool_],
    n_draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Draws of the cells of all pairs: (draw, pair, 4)."""
    population: Population = "pool" if block.population == "pool" else "images"
    share = stratum_shares(held, n_draws, population, rng)
    prior = _prior()
    tosses = prior.correct(rng, (n_draws, len(block.correct), len(held), PIECES))
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
        atoms, pieces = masses_of_strata(number[at], held, share, population, rng)
        cells = weighted_cells(atoms, shares[rows][:, :, at])
        right, other = tosses[:, block.a[rows]], tosses[:, block.b[rows]]
        both = np.einsum("dpgk,dpgk,dgk->dp", right, other, pieces)
        first = np.einsum("dpgk,dgk->dp", right, pieces)
        second = np.einsum("dpgk,dgk->dp", other, pieces)
        total = pieces.sum(axis=(1, 2))[:, None]
        cells += np.stack(
            [both, first - both, second - both, total - first - second + both], axis=-1
        )
        # What rounding leaves of an empty cell may be below 0; pieces sum to the answers unseen.
        out[:, rows] = within(
            cells, high=np.inf, slack=ROUNDING * cells.sum(axis=-1, keepdims=True)
        )
    return out


def _prior() -> PatternPrior:
    """In each stratum: as much as the default prior knows of `b` where `a` is correct."""
    right, wrong = cell_prior(None).u
    return PatternPrior(right + wrong, right / (right + wrong), 0.0)


def masses_of_strata(
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    share: Floats,
    population: Population,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Masses of images shown, and of the pieces of the prior in each stratum.

    Parameters
    ----------
    number : ndarray of int, shape (image,)
        Strata of the images shown.
    held : ndarray of int, shape (stratum,)
        Images of the pool.
    share : ndarray, shape (draw, stratum)
        As from `stratum_shares`.
    population : {"pool", "images"}
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (draw, image), ndarray, shape (draw, stratum, piece)
        They sum to 1 in every draw.
    """
    n_draws, mass = len(share), _prior().mass
    atoms, pieces = np.zeros((n_draws, len(number))), np.zeros((n_draws, len(held), PIECES))
    for g, count in enumerate(held):
        own = np.flatnonzero(number == g)
        masses = rng.standard_gamma([*np.ones(len(own)), mass], (n_draws, len(own) + 1))
        masses /= masses.sum(axis=1, keepdims=True)
        broken = 1 - (1 - rng.random((n_draws, PIECES))) ** (1 / mass)
        broken[:, -1] = 1
        left = np.cumprod(1 - broken[:, :-1], axis=1)
        sticks = broken * np.concatenate([np.ones((n_draws, 1)), left], axis=1)
        every = np.concatenate([masses[:, :-1], masses[:, -1:] * sticks], axis=1)
        if population == "pool":
            unseen = rng.multinomial(count - len(own), every / every.sum(axis=1, keepdims=True))
            every = unseen.astype(np.float64)
            every[:, : len(own)] += 1
            every /= count
        every *= share[:, g : g + 1]
        atoms[:, own], pieces[:, g] = every[:, : len(own)], every[:, len(own) :]
    return atoms, pieces
