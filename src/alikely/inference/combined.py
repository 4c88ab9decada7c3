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
    """Influence of every trial on a weighted sum of estimates of pairs."""
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
