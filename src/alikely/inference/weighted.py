"""Estimates from images that were drawn with unequal probabilities: weighted influence.

References
----------
.. [H71] Hájek (1971). Discussion of Basu. In: Foundations of statistical inference, 236.
.. [BD03] Brewer, Donadio (2003). The high entropy variance of the Horvitz-Thompson estimator.
   Survey Methodology 29(2), 189-196.
.. [RW88] Rao, Wu (1988). Resampling inference with complex survey data.
   doi:10.1080/01621459.1988.10478591
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats

__all__ = [
    "FEWEST_EFFECTIVE",
    "Population",
    "deviations",
    "effective_images",
    "freedom",
    "multiplicities",
    "student_deviate",
]

Population = Literal["pool", "images"]
# Measured (`alikely.calibration.coverage_chosen`): where a variance rests on fewer images than so
# many, 95 % intervals may cover less than 90 %.
FEWEST_EFFECTIVE = 8


def deviations(
    influence: Floats, inclusion: Floats, shown: NDArray[np.bool_], population: Population
) -> Floats:
    """Deviations of a weighted estimate: their squares sum to its variance.

    Parameters
    ----------
    influence : ndarray, shape (..., image)
        Weighted influences that sum to 0: ``psi / pi / sum(1/pi)`` [H71]_, 0 where not shown.
    inclusion : ndarray, shape (image,)
        Probability ``pi`` of each image, in (0, 1].
    shown : ndarray of bool, shape (..., image)
        Which images the entry rests on.
    population : {"pool", "images"}
        What is estimated: the value of the finite pool, of which images that were certain to be
        shown leave no doubt [BD03]_; or of all images that the pool stands for.

    Returns
    -------
    ndarray, shape (..., image)

    Examples
    --------
    >>> y, pi = np.array([0.3, -0.1, -0.2]), np.array([1.0, 0.5, 0.5])
    >>> deviations(y, pi, np.ones(3, dtype=bool), "pool").round(3).tolist()
    [0.0, 0.043, -0.043]
    """
    n = shown.sum(axis=-1, keepdims=True)
    rest = np.where(shown, 1 - inclusion if population == "pool" else 1.0, 0.0)
    total = rest.sum(axis=-1, keepdims=True)
    middle = (rest * influence).sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1)
    spread = np.sqrt(rest * n / np.maximum(n - 1, 1))
    return np.asarray(spread * (influence - np.where(shown, middle, 0.0)))


def freedom(deviation: Floats, n: int | NDArray[np.integer] | None = None) -> Floats:
    """Degrees of freedom of a variance that is a sum of squares, by their fourth moment.

    Parameters
    ----------
    deviation : ndarray, shape (..., image)
        As from `deviations`.
    n : int or ndarray, shape (...), optional
        Images shown; all if not given.

    Returns
    -------
    ndarray, shape (...)
        ``2 (sum u^2)^2 / (sum u^4 - (sum u^2)^2 / n)``, at least 1; infinite where no image
        differs from another.

    Examples
    --------
    >>> round(float(freedom(np.array([1.0, -1.0, 2.0, -2.0, 0.0]))), 2)
    14.29
    """
    square = deviation**2
    n = deviation.shape[-1] if n is None else n
    total = square.sum(axis=-1)
    varying = (square**2).sum(axis=-1) - total**2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(varying > 1e-12 * total**2, 2 * total**2 / varying, np.inf)
    return np.asarray(np.maximum(out, 1.0))


def student_deviate(df: Floats, ci_prob: float) -> Floats:
    """Deviate of Student for a two-sided interval; of the normal law where freedom has no end.

    Parameters
    ----------
    df : ndarray, shape (...)
    ci_prob : float
        In (0, 1).

    Returns
    -------
    ndarray, shape (...)
        NaN where `df` is.

    Examples
    --------
    >>> student_deviate(np.array([5.0, np.inf]), 0.95).round(2).tolist()
    [2.57, 1.96]
    """
    level = (1 + ci_prob) / 2
    finite = np.where(np.isfinite(df), df, 1.0)
    deviate = np.where(np.isinf(df), special.ndtri(level), special.stdtrit(finite, level))
    return np.where(np.isnan(df), np.nan, deviate)


def effective_images(deviation: Floats) -> Floats:
    """How many images a variance rests on: as many as would give it in equal parts.

    Parameters
    ----------
    deviation : ndarray, shape (..., image)
        As from `deviations`.

    Returns
    -------
    ndarray, shape (...)
        ``(sum u^2)^2 / sum u^4``; 0 where all are 0, and no image seen tells of an error; NaN where
        one is.

    Examples
    --------
    >>> float(effective_images(np.array([1.0, -1.0, 1.0, 0.0])))
    3.0
    """
    square = deviation**2
    total, fourth = square.sum(axis=-1), (square**2).sum(axis=-1)
    return np.asarray(np.where(total == 0, 0.0, total**2 / np.where(fourth == 0, 1.0, fourth)))


def multiplicities(
    inclusion: Floats, n_resamples: int, population: Population, rng: np.random.Generator
) -> Floats:
    """Weights of a bootstrap that resamples with the design [RW88]_.

    Parameters
    ----------
    inclusion : ndarray, shape (image,)
        Of the images that were shown.
    n_resamples : int
        Number of replicates.
    population : {"pool", "images"}
        As in `deviations`: of the pool, images that were certain to be shown keep their weight.

    Returns
    -------
    ndarray, shape (n_resamples, image)
        By which the weights ``1/pi`` are multiplied: mean 1, never negative.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> bool((multiplicities(np.array([1.0, 0.5, 0.5]), 100, "pool", generator)[:, 0] == 1).all())
    True
    """
    n = len(inclusion)
    if n < 2:
        return np.ones((n_resamples, n), dtype=np.float32)
    spread = np.sqrt(1 - inclusion) if population == "pool" else np.ones(n)
    drawn = rng.integers(0, n, size=(n_resamples, n - 1)) + n * np.arange(n_resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=n * n_resamples).reshape(n_resamples, n)
    return np.asarray(1 - spread + spread * counts * n / (n - 1), dtype=np.float32)
