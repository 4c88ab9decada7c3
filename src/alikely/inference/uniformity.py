"""Are numbers uniform: a test, and bands for their distribution that hold everywhere at once.

References
----------
.. [A13] Aldor-Noiman, Brown, Buja, Rolke, Stine (2013). The power to see: a new graphical test of
   normality. doi:10.1080/00031305.2013.847865
.. [SBV22] Säilynoja, Bürkner, Vehtari (2022). Graphical test for discrete uniformity and its
   applications in goodness-of-fit evaluation and multiple sample comparison.
   doi:10.1007/s11222-022-10090-6
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from alikely._base.arrays import Floats

__all__ = ["rank_band", "uniformity"]

# Uniform samples to compare with: p-values are then right to .005 at .05.
N_REFERENCE = 4_000
# Places at which the distribution function is looked at.
N_PLACES = 100
SEED = 20_770


def uniformity(values: ArrayLike) -> float:
    """Test whether numbers come from the uniform distribution on (0, 1) [A13]_ [SBV22]_."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError("values must be at least 2 numbers in [0, 1], in one dimension")
    reference = _reference_levels(len(array))
    # Levels are discrete: what is as unlikely counts, however it is rounded.
    as_unlikely = np.searchsorted(reference, _levels(array[None])[0] * (1 + 1e-9), side="right")
    return float((as_unlikely + 1) / (len(reference) + 1))


def rank_band(n: int, ci_prob: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Band that holds the whole distribution function of n uniform numbers [SBV22]_."""
    if n < 2 or not 0 < ci_prob < 1:
        raise ValueError(f"n must be at least 2 and ci_prob between 0 and 1, got {n} and {ci_prob}")
    # The share 1 - ci_prob of samples, or fewer, is more unlikely than this.
    level = np.quantile(_reference_levels(n), 1 - ci_prob, method="lower")
    allowed = _tails(n) >= level * (1 - 1e-9)
    lower = allowed.argmax(axis=1)
    upper = n - allowed[:, ::-1].argmax(axis=1)
    return _places(n), lower / n, upper / n


def _places(n: int) -> Floats:
    k = min(n, N_PLACES)
    return np.arange(1, k) / k


@functools.lru_cache(maxsize=16)
def _tails(n: int) -> Floats:
    """Two-sided level of each number of values below each place: shape (place, n + 1)."""
    place, count = _places(n)[:, None], np.arange(n + 1)
    below = special.bdtr(count, n, place)
    above = 1 - np.concatenate([np.zeros((len(place), 1)), below[:, :-1]], axis=1)
    return np.asarray(2 * np.minimum(below, above))


def _levels(samples: Floats) -> Floats:
    """Level at the most unlikely place of each sample."""
    size, n = samples.shape
    place, tails = _places(n), _tails(n)
    # Numbers between one place and the next, of all samples at once, and from these how many are
    # at or below each place.
    width = len(place) + 1
    first = np.searchsorted(place, samples) + width * np.arange(size)[:, None]
    between = np.bincount(first.ravel(), minlength=size * width).reshape(size, width)
    below = between[:, :-1].cumsum(axis=1)
    return np.asarray(tails[np.arange(len(place)), below].min(axis=1))


@functools.lru_cache(maxsize=16)
def _reference_levels(n: int) -> Floats:
    rng = np.random.default_rng(SEED)
    blocks = [_levels(rng.random((50, n))) for _ in range(N_REFERENCE // 50)]
    return np.sort(np.concatenate(blocks))
