"""Have chains converged, and how much do they say: for thousands of quantities at a time.

The figures are those of ArviZ, which works out one quantity after the other.

References
----------
.. [V21] Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021). Rank-normalization, folding, and
   localization: an improved R-hat. doi:10.1214/20-BA1221
.. [G92] Geyer (1992). Practical Markov chain Monte Carlo. doi:10.1214/ss/1177011137
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, special, stats

from alikely._base.arrays import Floats

__all__ = ["convergence"]

# Numbers of draws worked on at a time: more would not fit a processor's cache, fewer cost calls.
BLOCK = 200_000


def convergence(draws: ArrayLike) -> tuple[Floats, Floats]:
    """Rank-normalised split r_hat and bulk effective sample size [V21]_.

    Parameters
    ----------
    draws : array_like, shape (chain, draw, ...)
        Of at least two chains of at least eight draws.

    Returns
    -------
    r_hat : numpy.ndarray, shape (...)
        The larger one of bulk and tails; at best 1. NaN of what is undefined in a draw, or the same
        in all.
    ess : numpy.ndarray, shape (...)
        Of the bulk: how many independent draws would say as much. NaN of what is undefined in a
        draw; all draws of what does not vary.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500, 3))
    >>> r_hat, ess = convergence(draws)
    >>> bool((r_hat < 1.01).all()), bool((ess > 1_000).all())
    (True, True)
    """
    array = np.asarray(draws, dtype=np.float64)
    n_draws, shape = array.shape[1], array.shape[2:]
    half = n_draws // 2
    # Of each quantity its halves of chains, one after the other.
    split = np.concatenate([array[:, :half], array[:, n_draws - half :]])
    split = np.moveaxis(split.reshape(*split.shape[:2], -1), -1, 0)
    r_hat, ess = np.full(len(split), np.nan), np.full(len(split), np.nan)
    known = np.flatnonzero(np.isfinite(split).all(axis=(1, 2)))
    step = max(BLOCK // (2 * len(array) * half), 1)
    for first in range(0, len(known), step):
        some = known[first : first + step]
        part = split[some]
        bulk = _normal_scores(part)
        folded = np.abs(part - np.median(part, axis=(1, 2), keepdims=True))
        r_hat[some] = np.maximum(_r_hat(bulk), _r_hat(_normal_scores(folded)))
        ess[some] = _effective(bulk)
    return r_hat.reshape(shape), ess.reshape(shape)


def _normal_scores(split: Floats) -> Floats:
    """Ranks among all draws of a quantity, as quantiles of the normal distribution."""
    flat = split.reshape(len(split), -1)
    ranks = stats.rankdata(flat, axis=1)
    return special.ndtri((ranks - 3 / 8) / (flat.shape[1] + 1 / 4)).reshape(split.shape)


def _r_hat(split: Floats) -> Floats:
    n = split.shape[2]
    between = n * split.mean(axis=2).var(axis=1, ddof=1)
    within = split.var(axis=2, ddof=1).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((between / within + n - 1) / n))


def _effective(split: Floats) -> Floats:
    """Effective sample size by Geyer's initial monotone sequence [G92]_."""
    _, n_chains, n = split.shape
    total = n_chains * n
    centred = split - split.mean(axis=2, keepdims=True)
    length = fft.next_fast_len(2 * n, real=True)
    power = np.abs(fft.rfft(centred, length)) ** 2
    covariance = fft.irfft(power, length)[..., :n].mean(axis=1) / n
    within = covariance[:, :1] * n / (n - 1)
    spread = covariance[:, 0] + split.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1 - (within - covariance) / spread[:, None]
    rho[:, 0] = 1
    # Neighbours are taken together, as far as ArviZ goes.
    last = max((n - 3) // 2, 0)
    even, odd = rho[:, : 2 * last + 1 : 2], rho[:, 1 : 2 * last + 2 : 2]
    pairs = even + odd
    ends = pairs <= 0
    ends[:, -1] = True
    stop = ends.argmax(axis=1)
    # Their sums fall; what rises again is noise.
    falling = np.minimum.accumulate(pairs, axis=1)
    before = np.where(np.arange(pairs.shape[1]) < stop[:, None], falling, 0).sum(axis=1)
    rows = np.arange(len(rho))
    rest = np.where(pairs[rows, stop] < 0, np.maximum(even[rows, stop], 0), even[rows, stop])
    tau = np.maximum(2 * before - 1 + rest, 1 / np.log10(total))
    constant = np.ptp(split, axis=(1, 2)) < np.finfo(float).resolution
    return np.where(constant, total, total / tau)
