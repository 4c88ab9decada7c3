"""Means and variances of what is defined, and of what two factors vary.

References
----------
.. [SK23] Schütt, Kipnis, Diedrichsen, Kriegeskorte (2023). Statistical inference on
   representational geometries. doi:10.7554/eLife.82566
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats, within

__all__ = ["mean_of_defined", "two_factor_variance", "variance_of_defined"]


def mean_of_defined(values: ArrayLike, weights: ArrayLike = 1.0, axis: int = 0) -> Floats:
    """Weighted mean of the values that are defined."""
    array = np.asarray(values)
    defined = ~np.isnan(array)
    weight = np.where(defined, weights, 0.0)
    total = weight.sum(axis=axis, dtype=np.float64)
    out = np.full(total.shape, np.nan)
    sums = (weight * np.where(defined, array, 0.0)).sum(axis=axis, dtype=np.float64)
    np.divide(sums, total, out=out, where=total > 0)
    # A mean lies between what it is taken over, however its weights are rounded.
    least = array.min(initial=np.inf, where=defined)
    return within(out, least, array.max(initial=-np.inf, where=defined))


def variance_of_defined(values: ArrayLike, axis: int = 0, ddof: int = 1) -> Floats:
    """Variance of the values that are defined."""
    array = np.asarray(values)
    defined = ~np.isnan(array)
    centre = np.expand_dims(mean_of_defined(array, axis=axis), axis)
    with np.errstate(invalid="ignore"):  # of infinite values
        square = np.where(defined, array - centre, 0.0) ** 2
    count = defined.sum(axis=axis) - ddof
    out = np.full(count.shape, np.nan)
    np.divide(square.sum(axis=axis), count, out=out, where=count > 0)
    return out


def two_factor_variance(
    both: ArrayLike, observers: ArrayLike, trials: ArrayLike, n_observers: int, n_trials: int
) -> Floats:
    """Variance over new observers and new trials, from three bootstraps [SK23]_."""
    if n_observers < 2 or n_trials < 2:
        raise ValueError(
            f"two factors need at least 2 observers and 2 trials, got {n_observers} and {n_trials}"
        )
    v0, v1, v2 = (np.asarray(v, dtype=np.float64) for v in (both, observers, trials))
    r, s = n_observers / (n_observers - 1), n_trials / (n_trials - 1)
    corrected = r * v1 + s * v2 - r * s * (v0 - v1 - v2)
    return np.minimum(np.maximum(corrected, np.maximum(r * v1, s * v2)), v0)
