"""Agreement of labels by chance, over different trials: what few joint errors do not hold down.

References
----------
.. [C60] Cohen (1960). A coefficient of agreement for nominal scales.
   doi:10.1177/001316446002000104
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats, within
from alikely.metrics.cells import divide

__all__ = ["distinct_agreement"]


def distinct_agreement(statistics: ArrayLike, own: ArrayLike) -> Floats:
    """Misclassification agreement with its expected agreement taken over different joint errors."""
    array, squares = np.asarray(statistics, np.float64), np.asarray(own, np.float64)
    first, second = np.split(array[..., 1:], 2, axis=-1)
    total = first.sum(axis=-1)
    observed = within(divide(array[..., 0], total))
    chance = divide((first * second).sum(axis=-1) - squares[..., 0], total**2 - squares[..., 1])
    # No two distributions of labels have more: kappa is never below -1.
    chance = np.clip(chance, 0, (1 + observed) / 2)
    out = np.full(observed.shape, np.nan)
    np.divide(observed - chance, 1 - chance, out=out, where=chance < 1 - 1e-12)
    return within(out, -1)
