"""Standard errors of sums of pair estimates over shared trials, without covariances of all pairs.

References
----------
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats

__all__ = ["combined_influence"]

# Answers that are held at a time, as numbers: 64 MB.
SLICE = 8_000_000


def combined_influence(
    answers: NDArray[np.int8], first: NDArray[np.intp], second: NDArray[np.intp], slopes: Floats
) -> Floats:
    """Influence of every trial on a weighted sum of estimates of pairs.

    A trial's influence on one pair depends on two answers alone, so that the sum over pairs is a
    quadratic form of the answers to that trial: no matrix of pairs by pairs is needed [H74]_.

    Parameters
    ----------
    answers : ndarray of int8, shape (observer, trial)
        1 right, 0 wrong, -1 left out.
    first, second : ndarray of int, shape (pair,)
        Positions of both observers.
    slopes : ndarray, shape (pair, 4)
        Influence of one trial in each of the cells ``n11, n10, n01, n00``, divided by the number
        of trials of the pair and multiplied by its weight in the sum.

    Returns
    -------
    ndarray, shape (trial,)
        The variance of the sum is the sum of squares.

    Examples
    --------
    >>> answers = np.array([[1, 0, 1], [1, 1, -1]], dtype=np.int8)
    >>> slopes = np.array([[0.1, 0.2, 0.3, 0.4]])
    >>> combined_influence(answers, np.array([0]), np.array([1]), slopes).tolist()
    [0.1, 0.3, 0.0]
    """
    n = len(answers)
    n11, n10, n01, n00 = (
        sparse.csr_array((column, (first, second)), shape=(n, n)) for column in slopes.T
    )
    out = np.zeros(answers.shape[1])
    step = max(1, SLICE // n)
    for start in range(0, answers.shape[1], step):
        part = answers[:, start : start + step]
        right, wrong = (part == 1).astype(np.float64), (part == 0).astype(np.float64)
        of_right = right * (n11 @ right + n10 @ wrong)
        of_wrong = wrong * (n01 @ right + n00 @ wrong)
        out[start : start + step] = (of_right + of_wrong).sum(axis=0)
    return out
