"""Bounds on agreement, error consistency and accuracy.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats, within
from alikely.metrics.cells import divide, probability
from alikely.metrics.consistency import consistency_bounds

__all__ = [
    "accuracy_bounds",
    "agreement_bounds",
    "agreement_bounds_from_expected",
    "error_consistency_bounds",
    "error_consistency_bounds_from_expected",
]


def agreement_bounds(accuracy_a: ArrayLike, accuracy_b: ArrayLike) -> tuple[Floats, Floats]:
    """Compute the minimum and maximum observed agreement given two accuracies [G20]_."""
    p_a = probability(accuracy_a, "accuracy_a")
    p_b = probability(accuracy_b, "accuracy_b")
    return np.asarray(np.abs(p_a + p_b - 1)), np.asarray(1 - np.abs(p_a - p_b))


def error_consistency_bounds(accuracy_a: ArrayLike, accuracy_b: ArrayLike) -> tuple[Floats, Floats]:
    """Compute the minimum and maximum error consistency given two accuracies [G20]_.

    Parameters
    ----------
    accuracy_a, accuracy_b : array_like
        Accuracies in [0, 1]; broadcast against each other.

    Returns
    -------
    lower, upper : ndarray
        Bounds in [-1, 1]; NaN if both accuracies are 0 or both are 1.

    Raises
    ------
    ValueError
        If an accuracy lies outside [0, 1].

    Examples
    --------
    >>> [round(float(bound), 3) for bound in error_consistency_bounds(0.9, 0.7)]
    [-0.176, 0.412]
    """
    return consistency_bounds(
        probability(accuracy_a, "accuracy_a"), probability(accuracy_b, "accuracy_b")
    )


def agreement_bounds_from_expected(expected: ArrayLike) -> tuple[Floats, Floats]:
    """Compute the minimum and maximum possible agreement given expected agreement [G20]_."""
    p_exp = probability(expected, "expected agreement")
    lower = np.sqrt(np.maximum(2 * p_exp - 1, 0))
    upper = 1 - np.sqrt(np.maximum(1 - 2 * p_exp, 0))
    return np.asarray(lower), np.asarray(upper)


def error_consistency_bounds_from_expected(expected: ArrayLike) -> tuple[Floats, Floats]:
    """Compute the minimum and maximum error consistency given expected agreement [G20]_."""
    p_exp = probability(expected, "expected agreement")
    lower, upper = agreement_bounds_from_expected(p_exp)
    bounds = (divide(bound - p_exp, 1 - p_exp) for bound in (lower, upper))
    least, greatest = (within(bound, -1) for bound in bounds)
    return least, greatest


def accuracy_bounds(accuracy: ArrayLike, error_consistency: ArrayLike) -> tuple[Floats, Floats]:
    """Bound an observer's accuracy, given another's accuracy and the pair's error consistency."""
    a = probability(accuracy, "accuracy")
    if np.any((a == 0) | (a == 1)):
        raise ValueError(
            "accuracy must lie strictly between 0 and 1, got 0 or 1: a perfect observer's error "
            "consistency is 0 with every imperfect one, so it bounds nothing"
        )
    k = probability(error_consistency, "error_consistency")
    lower, upper = a * k / (a * k + (1 - a) * (2 - k)), a * (2 - k) / (k + 2 * a * (1 - k))
    return within(lower), within(upper)
