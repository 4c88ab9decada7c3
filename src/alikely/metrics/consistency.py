"""Error consistency (EC): point estimate, influence function, corrected and scaled forms.

All functions take the four cells of a pair's correctness table on the last axis, in the order
``n11, n10, n01, n00`` (first index: reference observer ``a`` right or wrong; second: ``b``), with
any leading dimensions. Counts, bootstrap weights and probabilities all serve: every estimand here
is free of scale.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [MA24] Martín Andrés, Álvarez Hernández (2024). Estimators of various kappa coefficients based
   on the unbiased estimator of the expected index of agreements. doi:10.1007/s11634-024-00581-x
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely.metrics.cells import divide, probability, split
from alikely.metrics.metric import Metric, register

__all__ = [
    "ACCURACY_COLUMNS",
    "ERROR_CONSISTENCY",
    "accuracies",
    "accuracy_gap",
    "consistency_bounds",
    "error_consistency",
    "expected_agreement",
    "less_biased_error_consistency",
    "observed_agreement",
    "undefined_reason",
]


def accuracies(cells: ArrayLike) -> tuple[Floats, Floats]:
    """Share of correct trials of either observer.

    Parameters
    ----------
    cells : array_like, shape (..., 4)
        Counts, weights or probabilities ``n11, n10, n01, n00``.

    Returns
    -------
    accuracy_a, accuracy_b : ndarray, shape (...)
        In [0, 1]; NaN for an empty table.

    Raises
    ------
    ValueError
        If the last axis does not hold four non-negative cells.

    Examples
    --------
    >>> p_a, p_b = accuracies([100, 20, 30, 10])
    >>> float(p_a), float(p_b)
    (0.75, 0.8125)
    """
    n11, n10, n01, n00 = split(cells)
    total = n11 + n10 + n01 + n00
    return divide(n11 + n10, total), divide(n11 + n01, total)


def accuracy_gap(cells: ArrayLike) -> Floats:
    """Accuracy of the first observer less that of the second."""
    p_a, p_b = accuracies(cells)
    return p_a - p_b


def observed_agreement(cells: ArrayLike) -> Floats:
    """Share of trials on which both are right or both are wrong, in [0, 1] [G20]_.

    Parameters
    ----------
    cells : array_like, shape (..., 4)
        Counts, weights or probabilities ``n11, n10, n01, n00``.

    Returns
    -------
    ndarray, shape (...)
        NaN for an empty table.

    Raises
    ------
    ValueError
        If the last axis does not hold four non-negative cells.

    Examples
    --------
    >>> float(observed_agreement([100, 20, 30, 10]))
    0.6875
    """
    n11, n10, n01, n00 = split(cells)
    return divide(n11 + n00, n11 + n10 + n01 + n00)


def expected_agreement(accuracy_a: ArrayLike, accuracy_b: ArrayLike) -> Floats:
    """Agreement of two independent observers with these accuracies, in [0, 1] [G20]_.

    Parameters
    ----------
    accuracy_a, accuracy_b : array_like
        In [0, 1]; broadcast against each other.

    Returns
    -------
    ndarray
        ``p_a p_b + (1 - p_a)(1 - p_b)``.

    Raises
    ------
    ValueError
        If an accuracy lies outside [0, 1].

    Examples
    --------
    >>> float(expected_agreement(0.75, 0.75))
    0.625
    """
    p_a = probability(accuracy_a, "accuracy_a")
    p_b = probability(accuracy_b, "accuracy_b")
    return np.asarray(p_a * p_b + (1 - p_a) * (1 - p_b))


def error_consistency(cells: ArrayLike) -> Floats:
    """Error consistency: Cohen's kappa of two observers' correctness [G20]_ [K25]_.

    Parameters
    ----------
    cells : array_like, shape (..., 4)
        Counts, weights or probabilities ``n11, n10, n01, n00``.

    Returns
    -------
    ndarray, shape (...)
        In [-1, 1]. NaN (0/0) for an empty table and when both observers are always right or both
        always wrong (see `undefined_reason`); exactly 0 when just one of them is.

    Raises
    ------
    ValueError
        If the last axis does not hold four non-negative cells.

    Notes
    -----
    ``(p_obs - p_exp) / (1 - p_exp)``, computed in its equal form
    ``2 (n11 n00 - n10 n01) / ((n11+n10)(n10+n00) + (n11+n01)(n01+n00))``, which does not lose
    digits near the ceiling.

    Examples
    --------
    >>> error_consistency([[100, 20, 20, 20], [160, 0, 0, 0]]).round(4)
    array([0.3333,    nan])
    """
    n11, n10, n01, n00 = split(cells)
    kappa = divide(
        2 * (n11 * n00 - n10 * n01), (n11 + n10) * (n10 + n00) + (n11 + n01) * (n01 + n00)
    )
    return within(kappa, -1)


def undefined_reason(cells: ArrayLike) -> NDArray[Any]:
    """Why error consistency is undefined."""
    n11, n10, n01, n00 = split(cells)
    total = n11 + n10 + n01 + n00
    return np.select(
        [total == 0, n11 == total, n00 == total],
        ["no common trials", "both observers always right", "both observers always wrong"],
        default="",
    )


def less_biased_error_consistency(kappa: ArrayLike, n_trials: ArrayLike) -> Floats:
    """Error consistency with less small-sample bias, ``N k / (N - 1 + k)`` [MA24]_."""
    k = np.asarray(kappa, dtype=np.float64)
    n = np.asarray(n_trials, dtype=np.float64)
    if np.any(n < 2):
        raise ValueError(f"n_trials must be at least 2, got {n.min():g}")
    return within(divide(n * k, n - 1 + k), -np.inf, 1)


def consistency_bounds(accuracy_a: Floats, accuracy_b: Floats) -> tuple[Floats, Floats]:
    """Least and greatest error consistency of two accuracies, unchecked [G20]_."""
    a, b = accuracy_a, accuracy_b
    wrong_a, wrong_b = 1 - a, 1 - b
    # Twice the smaller cell of agreement, or of disagreement, is emptied; nothing cancels.
    different = a * wrong_b + wrong_a * b
    lower = divide(0 - 2 * np.minimum(a * b, wrong_a * wrong_b), different)
    upper = divide(2 * np.minimum(a * wrong_b, wrong_a * b), different)
    return within(lower, -1, 0), within(upper)


def _least(cells: ArrayLike) -> Floats:
    return consistency_bounds(*accuracies(cells))[0]


def _greatest(cells: ArrayLike) -> Floats:
    return consistency_bounds(*accuracies(cells))[1]


def _less_biased(cells: ArrayLike) -> Floats:
    n_trials = np.asarray(cells, dtype=np.float64).sum(axis=-1)
    return less_biased_error_consistency(error_consistency(cells), np.maximum(n_trials, 2))


# What accuracies do to agreement: their difference, and what they allow.
ACCURACY_COLUMNS = MappingProxyType(
    {"accuracy_gap": accuracy_gap, "kappa_min": _least, "kappa_max": _greatest}
)
ERROR_CONSISTENCY = register(
    Metric(
        "error_consistency",
        error_consistency,
        reason=undefined_reason,
        short="EC",
        independent=0.0,
        derived={**ACCURACY_COLUMNS, "less_biased": _less_biased},
        limits="kappa",
        requested=("accuracy_gap", "kappa_min", "kappa_max", "less_biased"),
        sources=("10.48550/arXiv.2006.16736", "10.48550/arXiv.2507.06645"),
    )
)
