"""Posterior for a pool with partially sampled strata.

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

from alikely._base.arrays import ROUNDING, Floats, within
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import Block, blocks
from alikely.inference.features import weighted_cells
from alikely.inference.process import prior_pieces
from alikely.inference.weighting import Population
from alikely.metrics import Metric
from alikely.metrics.cell_priors import PatternPrior, cell_prior

# Pieces of the prior's mass in a stratum: the last has 2e-4 of it on average.
PIECES = 12
# Numbers held at a time.
CHUNK = 8_000_000


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
    """Masses of images shown, and of the pieces of the prior in each stratum."""
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
