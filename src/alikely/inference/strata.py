"""Posterior of shares in a pool of which each stratum was seen in part.

References
----------
.. [E69] Ericson (1969). Subjective Bayesian models in sampling finite populations.
   doi:10.1111/j.2517-6161.1969.tb00782.x
.. [L88] Lo (1988). A Bayesian bootstrap for a finite population. doi:10.1214/aos/1176351061
.. [GM97] Ghosh, Meeden (1997). Bayesian methods for finite population sampling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.inference.weighted import Population

__all__ = ["right_in_strata", "stratum_shares"]

# Pieces of the prior's mass of 1 in a stratum: what is left is below e-12.
PIECES = 12


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
    right: NDArray[np.int8],
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    n_draws: int,
    population: Population,
    rng: np.random.Generator,
) -> Floats:
    """Joint posterior of the shares right of several people who saw the same images.

    Parameters
    ----------
    right : ndarray of int8, shape (person, image)
        1 right, 0 wrong, of the images that were shown.
    number : ndarray of int, shape (image,)
        Stratum of each.
    held : ndarray of int, shape (stratum,)
        Images of the pool.
    n_draws : int
        Number of draws.
    population : {"pool", "images"}
        The share among the images of the pool, of which those shown are known [E69]_; or among
        the images that they stand for.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (draw, person, stratum)
        Each person's share in a stratum is ``Beta(y + 1/2, n - y + 1/2)``, completed by a binomial
        of what was not shown. People are dependent as their answers are: the images shown are
        atoms, to which a mass of 1 on patterns of coin tosses is added [L88]_ [GM97]_.

    Examples
    --------
    >>> answers = np.array([[1, 1, 0, 1]], dtype=np.int8)
    >>> generator = np.random.default_rng(1)
    >>> draws = right_in_strata(answers, np.zeros(4, int), np.array([4]), 3, "pool", generator)
    >>> draws.ravel().tolist()
    [0.75, 0.75, 0.75]
    """
    people, strata = len(right), len(held)
    out = np.empty((n_draws, people, strata))
    for g in range(strata):
        own = right[:, number == g].astype(np.int64)
        n, left = own.shape[1], int(held[g]) - own.shape[1]
        y = own.sum(axis=1)
        if people == 1:
            theta = rng.beta(y[0] + 0.5, n - y[0] + 0.5, size=n_draws)
            if population == "pool":
                theta = (y[0] + rng.binomial(left, theta)) / held[g]
            out[:, 0, g] = theta
            continue
        atoms = rng.standard_exponential((n_draws, n + 1))
        atoms /= atoms.sum(axis=1, keepdims=True)
        # A mass of 1, in the pieces that a Dirichlet process has.
        broken = rng.random((n_draws, PIECES))
        broken[:, -1] = 1
        kept = np.cumprod(1 - broken, axis=1)
        pieces = atoms[:, -1:] * broken * np.concatenate([np.ones((n_draws, 1)), kept[:, :-1]], 1)
        tosses = rng.integers(0, 2, size=(n_draws, people, PIECES))
        weights = np.concatenate([atoms[:, :-1], pieces], axis=1)
        if population == "pool":
            weights = rng.multinomial(left, weights / weights.sum(axis=1, keepdims=True))
        of_pieces = np.einsum("dpk,dk->dp", tosses, weights[:, n:])
        total = weights[:, :n] @ own.T + of_pieces
        out[:, :, g] = (y + total) / held[g] if population == "pool" else total
    return out
