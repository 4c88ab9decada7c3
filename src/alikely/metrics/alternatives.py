"""Choices among m alternatives: probability correct as a function of signal strength.

References
----------
.. [GW69] Golub, Welsch (1969). Calculation of Gauss quadrature rules.
   doi:10.1090/S0025-5718-69-99647-1
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
"""

from __future__ import annotations

import functools
import numbers

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from alikely._base.arrays import Floats


def check_task(n_alternatives: int) -> None:
    """Check the number of alternatives (`ValueError`)."""
    whole = (
        isinstance(n_alternatives, numbers.Real)
        and not isinstance(n_alternatives, bool)
        and float(n_alternatives).is_integer()
    )
    if not whole or n_alternatives < 2:
        raise ValueError(
            f"n_alternatives must be a whole number of at least 2, got {n_alternatives}"
        )


@functools.lru_cache(maxsize=64)
def distractor_nodes(n_alternatives: int, n_nodes: int = 24) -> tuple[Floats, Floats]:
    """Compute Gauss nodes and weights for the maximum of m - 1 normal distractors [GW69]_."""
    check_task(n_alternatives)
    # Below this the remaining probability is 1e-17.
    low = (
        max(float(special.ndtri(1e-17 ** (1 / (n_alternatives - 1)))), -9.5)
        if n_alternatives > 2
        else -9.5
    )
    x, w = np.polynomial.legendre.leggauss(400)
    x = (9.5 - low) / 2 * x + (9.5 + low) / 2
    density = w * np.exp(stats.norm.logpdf(x) + (n_alternatives - 2) * special.log_ndtr(x))
    density /= density.sum()
    # Polynomials orthogonal under that density, by their three-term recurrence.
    a, b = np.zeros(n_nodes), np.zeros(n_nodes)
    before, now, norm_before = np.zeros_like(x), np.ones_like(x), 1.0
    for k in range(n_nodes):
        norm = density @ now**2
        a[k], b[k] = density @ (x * now**2) / norm, norm / norm_before
        before, now, norm_before = now, (x - a[k]) * now - (b[k] if k else 0) * before, norm
    off = np.sqrt(b[1:])
    nodes, vectors = np.linalg.eigh(np.diag(a) + np.diag(off, 1) + np.diag(off, -1))
    weights = vectors[0] ** 2
    return nodes, weights / weights.sum()


def m_afc_log_probability(d_prime: ArrayLike, n_alternatives: int) -> tuple[Floats, Floats]:
    """Compute log probabilities of a correct and of an incorrect response in m-AFC [GS66]_."""
    nodes, weights = distractor_nodes(n_alternatives)
    ahead = np.asarray(d_prime, dtype=np.float64)[..., None] - nodes
    right = np.asarray(special.logsumexp(special.log_ndtr(ahead), b=weights, axis=-1))
    wrong = np.asarray(special.logsumexp(special.log_ndtr(-ahead), b=weights, axis=-1))
    # Probabilities near 1 are computed from the other one, to avoid rounding errors.
    likely = right > wrong
    return (
        np.where(likely, np.log1p(-np.exp(np.where(likely, wrong, -1.0))), right),
        np.where(likely, wrong, np.log1p(-np.exp(np.where(likely, -1.0, right)))),
    )


def m_afc_probability(d_prime: ArrayLike, n_alternatives: int) -> Floats:
    """Compute the probability of a correct response in m-AFC, ``E[Phi(d' - M)]`` [GS66]_."""
    nodes, weights = distractor_nodes(n_alternatives)
    ahead = np.asarray(d_prime, dtype=np.float64)[..., None] - nodes
    right, wrong = special.ndtr(ahead) @ weights, special.ndtr(-ahead) @ weights
    # Weights sum to 1 up to rounding: probabilities near 1 are computed from the other one.
    return np.asarray(np.where(right > wrong, 1 - wrong, right))
