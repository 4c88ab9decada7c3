"""Scores as a share of their ceiling, with the error of both.

References
----------
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["ceiled_scores", "fieller_interval"]


def ceiled_scores(
    value: NDArray[np.float64], matrix: NDArray[np.float64], ceiling: int, ci_prob: float
) -> NDArray[np.float64]:
    """Scores over their ceiling, neither clipped nor made absolute.

    Parameters
    ----------
    value : ndarray, shape (system,)
        Scores, that of the ceiling among them.
    matrix : ndarray, shape (system, system)
        Their covariance.
    ceiling : int
        Position of the ceiling.
    ci_prob : float
        In (0, 1).

    Returns
    -------
    ndarray, shape (system, 4)
        Ratio, its standard error by the delta method, and its Fieller bounds [F54]_.
    """
    out = np.full((len(value), 4), np.nan)
    c, v_cc = value[ceiling], matrix[ceiling, ceiling]
    for s in np.flatnonzero(np.isfinite(value) & np.isfinite(c)):
        ratio = value[s] / c
        v_rr, v_rc = matrix[s, s], matrix[s, ceiling]
        variance = (v_rr - 2 * ratio * v_rc + ratio**2 * v_cc) / c**2
        bounds = fieller_interval(value[s], c, v_rr, v_cc, v_rc, ci_prob)
        out[s] = ratio, np.sqrt(max(variance, 0.0)), *bounds
    return out


def fieller_interval(
    numerator: float,
    denominator: float,
    variance_numerator: float,
    variance_denominator: float,
    covariance: float,
    ci_prob: float = 0.95,
) -> tuple[float, float]:
    """Confidence set of a ratio of two normal estimates [F54]_.

    Parameters
    ----------
    numerator, denominator : float
        Estimates.
    variance_numerator, variance_denominator, covariance : float
        Their variances and covariance.
    ci_prob : float
        In (0, 1).

    Returns
    -------
    lower, upper : float
        Infinite where the denominator cannot be told from 0: the set is then the whole line or
        all but an interval, and says nothing.

    Raises
    ------
    ValueError
        If `ci_prob` lies outside (0, 1) or a variance is negative.

    Examples
    --------
    >>> [round(bound, 3) for bound in fieller_interval(0.2, 0.4, 0.02**2, 0.03**2, 0.0)]
    [0.387, 0.635]
    """
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must lie strictly between 0 and 1, got {ci_prob}; try 0.95")
    if variance_numerator < 0 or variance_denominator < 0:
        raise ValueError("variances must not be negative")
    if not np.isfinite([variance_numerator, variance_denominator, covariance]).all():
        return np.nan, np.nan
    z2 = special.ndtri((1 + ci_prob) / 2) ** 2
    a = denominator**2 - z2 * variance_denominator
    b = numerator * denominator - z2 * covariance
    c = numerator**2 - z2 * variance_numerator
    if a <= 0:
        return -np.inf, np.inf
    half = np.sqrt(max(b**2 - a * c, 0.0))
    return float((b - half) / a), float((b + half) / a)
