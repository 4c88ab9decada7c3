"""How the reliability of a mean grows with the number of those it is taken over.

References
----------
.. [S10] Spearman (1910). Correlation calculated from faulty data.
   doi:10.1111/j.2044-8295.1910.tb00206.x
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats

__all__ = ["spearman_brown"]


def spearman_brown(r: ArrayLike, factor: float = 2) -> Floats:
    """Reliability of a group `factor` times as large [S10]_.

    Parameters
    ----------
    r : array_like
        Reliability, such as the correlation of two halves.
    factor : float
        Above 0; below 1 for a smaller group.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    ValueError
        If the factor is not above 0.

    Examples
    --------
    >>> spearman_brown([0.5, 0.8]).round(3).tolist()
    [0.667, 0.889]
    """
    if not factor > 0:
        raise ValueError(f"factor must be above 0, got {factor}")
    value = np.asarray(r, dtype=np.float64)
    return np.asarray(factor * value / (1 + (factor - 1) * value))
