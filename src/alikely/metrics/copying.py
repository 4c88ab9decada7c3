"""Copy model: probability of copying between observers, and its relation to error consistency.

Functions of ``cells`` take the four cells of a pair's correctness table on the last axis, in the
order ``n11, n10, n01, n00``. The first index (1 correct, 0 incorrect) refers to the copied observer
``a``, and the second index to ``b``. Leading dimensions are arbitrary. Counts, bootstrap weights
and probabilities are valid, because all estimands are invariant to scale.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely.metrics.bounds import error_consistency_bounds
from alikely.metrics.cells import divide, probability, split
from alikely.metrics.consistency import accuracy_gap, expected_agreement
from alikely.metrics.metric import Metric, register


def mismatch_factor(accuracy_a: ArrayLike, accuracy_b: ArrayLike) -> Floats:
    """Compute the factor ``f`` of copy probability in error consistency, ``EC = c f`` [K25]_."""
    p_a = probability(accuracy_a, "accuracy_a")
    return divide(2 * p_a * (1 - p_a), 1 - expected_agreement(accuracy_a, accuracy_b))


def copy_probability(cells: ArrayLike) -> Floats:
    """Compute the signed probability that ``b`` copies ``a``, NaN if ``a`` never varies.

    It is ``P(b correct | a correct) - P(b correct | a incorrect)``. Positive values follow the copy
    model of Proposition 1 in [K25]_. Negative values, the probability that ``b`` inverts ``a``, are
    an extension for which ``EC = c f`` remains valid (see `mismatch_factor`).
    """
    n11, n10, n01, n00 = split(cells)
    return divide(n11, n11 + n10) - divide(n01, n01 + n00)


def copy_undefined_reason(cells: ArrayLike) -> NDArray[Any]:
    """Return the reason why the copy probability is undefined, or an empty string."""
    n11, n10, n01, n00 = split(cells)
    return np.select(
        [n11 + n10 + n01 + n00 == 0, n01 + n00 == 0, n11 + n10 == 0],
        [
            "no common trials",
            "reference observer always correct",
            "reference observer always incorrect",
        ],
        default="",
    )


def own_accuracy(cells: ArrayLike) -> Floats:
    """Compute the accuracy of ``b`` on trials without copying, under the copy model [K25]_."""
    n11, n10, n01, n00 = split(cells)
    right, wrong = n11 + n10, n01 + n00
    # Correct and incorrect without copying; without cancellation.
    own = np.minimum(divide(n11, right), divide(n01, wrong))
    return divide(own, own + np.minimum(divide(n10, right), divide(n00, wrong)))


def copy_parameters(
    accuracy_a: ArrayLike, accuracy_b: ArrayLike, error_consistency: ArrayLike
) -> tuple[Floats, Floats]:
    """Compute copy probability, and accuracy without copying, from accuracies and EC [K25]_."""
    p_a, p_b, kappa = np.broadcast_arrays(
        probability(accuracy_a, "accuracy_a"),
        probability(accuracy_b, "accuracy_b"),
        np.asarray(error_consistency, dtype=np.float64),
    )
    if np.any((p_a == 0) | (p_a == 1)):
        raise ValueError(
            "accuracy_a must lie strictly between 0 and 1, got 0 or 1, for which the copy "
            "probability is undefined; exchange the observers"
        )
    lower, upper = error_consistency_bounds(p_a, p_b)
    # One unit in the last places of the bounds, which are themselves rounded.
    slack = 1e-12
    outside = (kappa < lower - slack) | (kappa > upper + slack)
    if np.any(outside):
        first = np.flatnonzero(outside.ravel())[0]
        raise ValueError(
            f"error_consistency must lie in [{lower.flat[first]:.4f}, {upper.flat[first]:.4f}] for "
            f"accuracies {p_a.flat[first]:g} and {p_b.flat[first]:g}, got {kappa.flat[first]:g}"
        )
    c = within(kappa / mismatch_factor(p_a, p_b), -1, 1, slack)
    copied = np.where(c >= 0, p_a, 1 - p_a)
    magnitude = np.abs(c)
    # Rounding can move a boundary case slightly outside [0, 1].
    q = divide(p_b - magnitude * copied, 1 - magnitude)
    q = within(q, slack=slack)
    return c, np.where(np.abs(q - 0.5) <= 0.5, q, np.nan)


COPY_PROBABILITY = register(
    Metric(
        "copy_probability",
        copy_probability,
        reason=copy_undefined_reason,
        short="copying",
        independent=0.0,
        derived={"accuracy_gap": accuracy_gap},
        symmetric=False,
        sources=("10.48550/arXiv.2507.06645",),
    )
)
