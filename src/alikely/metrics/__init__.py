"""Estimands: each one a NumPy function of counts, with its influence function.

A `Metric` is all that the other rooms know of an estimand. Whoever writes a new one writes two
functions, its value and its influence, and gets every school of inference for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely.metrics import bounds, consistency, copying, errors, margins, rows
from alikely.metrics.consistency import error_consistency
from alikely.metrics.copying import copy_probability

__all__ = [
    "COPY_PROBABILITY",
    "DECISION_MARGIN_CONSISTENCY",
    "ERROR_CONSISTENCY",
    "ERROR_SIMILARITY",
    "MISCLASSIFICATION_AGREEMENT",
    "Metric",
    "bounds",
    "consistency",
    "copy_probability",
    "copying",
    "error_consistency",
    "error_similarity_metric",
    "errors",
    "margin_metric",
    "margins",
    "rows",
]


class Metric(NamedTuple):
    """An estimand that is a function of counts of trials.

    Attributes
    ----------
    name : str
        Name of the variable in a `Result`.
    counts : {"correctness", "labels", "rows", "margins"}
        What it is a function of: the four correctness cells of a pair; the label statistics of its
        joint errors (`errors.label_statistics`); the error rows of both observers, as lists
        (`rows.row_divergence`); or both systems' margins of each item.
    value : callable
        Counts ``(..., K)`` to values ``(...)``; NaN where undefined. Of ``"correctness"`` and
        ``"labels"`` it is scale-free, so that counts, weights and probabilities give the same
        value. Of ``"rows"`` it takes both observers' errors, their true classes and the number of
        classes; of ``"margins"`` both margins (item) and weights (draw, item).
    influence : callable
        Counts ``(..., K)`` to the influence of one trial in each cell ``(..., K)``; of ``"rows"``
        both derivatives; of ``"margins"`` both margins to the influence of each item.
    reason : callable
        Counts ``(..., K)`` to strings ``(...)``: why the value is undefined, empty where it is not.
    """

    name: str
    counts: Literal["correctness", "labels", "rows", "margins"]
    value: Callable[..., NDArray[np.float64]]
    influence: Callable[..., Any]
    reason: Callable[..., NDArray[Any]]


def error_similarity_metric(
    alpha: float = 0.5, mixture: rows.Mixture = "mean", base: float = 2
) -> Metric:
    """Class-level error similarity with its options, as an estimand.

    Parameters
    ----------
    alpha, mixture, base
        As in `alikely.metrics.errors.error_divergence`.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        If an option is out of range.

    Examples
    --------
    >>> error_similarity_metric(mixture="pooled").name
    'error_similarity'
    """
    rows.check_options(alpha, mixture, base)
    divergence = functools.partial(rows.row_divergence, alpha=alpha, mixture=mixture, base=base)
    slopes = functools.partial(rows.row_influence, alpha=alpha, mixture=mixture, base=base)

    def value(*counts: Any) -> NDArray[np.float64]:
        return errors.error_similarity(divergence(*counts))

    def influence(*counts: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        by_a, by_b = slopes(*counts)
        # d/dx of 1 / (1 + x).
        steep = -(value(*counts)[..., None] ** 2)
        return steep * by_a, steep * by_b

    def reason(*counts: Any) -> NDArray[Any]:
        return np.where(np.isfinite(value(*counts)), "", "neither observer made an error")

    return Metric("error_similarity", "rows", value, influence, reason)


def margin_metric(method: margins.Method = "pearson") -> Metric:
    """Decision-margin consistency, as an estimand.

    Parameters
    ----------
    method : {"pearson", "spearman"}
        As in `alikely.metrics.margins.margin_consistency`.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        If the method is unknown.

    Examples
    --------
    >>> margin_metric("spearman").counts
    'margins'
    """
    if method not in ("pearson", "spearman"):
        raise ValueError(f"method must be 'pearson' or 'spearman', got {method!r}")

    def reason(x: Any, y: Any) -> NDArray[Any]:
        constant = np.ptp(x) == 0 or np.ptp(y) == 0
        return np.asarray("all margins of a system are equal" if constant else "")

    return Metric(
        "decision_margin_consistency",
        "margins",
        functools.partial(margins.weighted_consistency, method=method),
        functools.partial(margins.margin_influence, method=method),
        reason,
    )


ERROR_CONSISTENCY = Metric(
    "error_consistency",
    "correctness",
    consistency.error_consistency,
    consistency.error_consistency_influence,
    consistency.undefined_reason,
)
COPY_PROBABILITY = Metric(
    "copy_probability",
    "correctness",
    copying.copy_probability,
    copying.copy_probability_influence,
    copying.copy_undefined_reason,
)
MISCLASSIFICATION_AGREEMENT = Metric(
    "misclassification_agreement",
    "labels",
    errors.label_agreement,
    errors.label_influence,
    errors.label_undefined_reason,
)
ERROR_SIMILARITY = error_similarity_metric()
DECISION_MARGIN_CONSISTENCY = margin_metric()
