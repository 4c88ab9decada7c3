"""Cells of correctness: probabilities and counts for pairs and for three observers.

References
----------
.. [C75] Csiszar (1975). I-divergence geometry of probability distributions and minimization
   problems. doi:10.1214/aop/1176996454
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from alikely._base.arrays import Floats, within
from alikely._base.checks import check_ranges
from alikely.metrics import copying


def copy_cell_probabilities(
    accuracy_a: ArrayLike, copy_probability: ArrayLike, own_accuracy: ArrayLike
) -> NDArray[np.float64]:
    """Cell probabilities of the signed copy model [K25]_."""
    p_a, c, q = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in (accuracy_a, copy_probability, own_accuracy))
    )
    check_ranges(
        ("accuracy_a", p_a, 0, 1), ("copy_probability", c, -1, 1), ("own_accuracy", q, 0, 1)
    )
    own = (1 - np.abs(c)) * q
    u, v = within(np.maximum(c, 0) + own), within(np.maximum(-c, 0) + own)
    return np.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1)


def cell_probabilities(
    accuracy_a: ArrayLike, accuracy_b: ArrayLike, error_consistency: ArrayLike
) -> NDArray[np.float64]:
    """Compute cell probabilities from two accuracies and an error consistency.

    Parameters
    ----------
    accuracy_a : array_like
        Accuracy of the first observer, in (0, 1).
    accuracy_b : array_like
        Accuracy of the second observer, in [0, 1].
    error_consistency : array_like
        Error consistency, within the range given by
        `alikely.metrics.bounds.error_consistency_bounds`.

    Returns
    -------
    ndarray, shape (..., 4)
        Probabilities of ``n11, n10, n01, n00``.

    Raises
    ------
    ValueError
        If the combination is impossible. The message states the feasible range.

    Examples
    --------
    >>> cell_probabilities(0.75, 0.75, 0.5).round(4).tolist()
    [0.6562, 0.0938, 0.0938, 0.1562]
    """
    c, q = copying.copy_parameters(accuracy_a, accuracy_b, error_consistency)
    # If all responses are copied, the independent accuracy is irrelevant.
    return copy_cell_probabilities(accuracy_a, c, np.where(np.isnan(q), 0.5, q))


# Tolerance for rounding at the limits of feasible values.
SLACK = 1e-7
# Sign of each pattern in the three-way interaction: 111, 110, ..., 000.
INTERACTION = np.array([1, -1, -1, 1, -1, 1, 1, -1])


def pattern_cells(n_observers: int, first: int, second: int) -> Floats:
    """Cell of a pair's table for each pattern of correct and incorrect responses."""
    right = np.array(list(itertools.product((1, 0), repeat=n_observers)))
    code = 3 - 2 * right[:, first] - right[:, second]
    return np.asarray(code[:, None] == np.arange(4), dtype=np.float64)


def pattern_probabilities(
    human: float, a: float, b: float, ec_a: float, ec_b: float, ec_models: float = np.nan
) -> Floats:
    """Maximum-entropy joint probabilities of three observers' correctness, given pairs [C75]_.

    Patterns are 111, 110, ..., 000 for a human and two models.
    """
    h_a, h_b = (float(cell_probabilities(human, *of)[0]) for of in ((a, ec_a), (b, ec_b)))
    neither = 1 - human - a - b + h_a + h_b
    # Conditionally independent given the human, if the two models' consistency is unknown.
    a_b = h_a * h_b / human + (a - h_a) * (b - h_b) / (1 - human)
    if not np.isnan(ec_models):
        chance, alone = a * b, (a + b - 2 * a * b) / 2
        low = max(0.0, a + b - 1, h_a + h_b - human, -neither)
        high = min(a, b, h_b - h_a + a, h_a - h_b + b)
        least, most = (low - chance) / alone, (high - chance) / alone
        if not least - SLACK <= ec_models <= most + SLACK:
            raise ValueError(
                f"error consistency of the two models must lie in [{least:.4f}, {most:.4f}] given "
                f"accuracies {human:g}, {a:g}, {b:g}, and {ec_a:g} and {ec_b:g} with the human; "
                f"got {ec_models:g}"
            )
        a_b = float(np.clip(chance + ec_models * alone, low, high))

    def table(all_right: float) -> Floats:
        t = all_right
        last = (human - h_a - h_b + t, a_b - t, a - h_a - a_b + t, b - h_b - a_b + t)
        return within(np.array([t, h_a - t, h_b - t, *last, neither + a_b - t]))

    def interaction(all_right: float) -> float:
        return float(INTERACTION @ np.log(np.maximum(table(all_right), 1e-300)))

    low = max(0.0, h_a + h_b - human, h_a + a_b - a, h_b + a_b - b)
    high = min(h_a, h_b, a_b, neither + a_b)
    if high - low < SLACK**2:
        return table((low + high) / 2)
    # Entropy is highest without three-way interaction.
    return table(optimize.brentq(interaction, low, high, xtol=1e-16))
