"""Many tests at once.

References
----------
.. [BH95] Benjamini, Hochberg (1995). Controlling the false discovery rate.
   doi:10.1111/j.2517-6161.1995.tb02031.x
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["adjusted_p_values"]


def adjusted_p_values(p: ArrayLike) -> NDArray[np.float64]:
    """Benjamini-Hochberg adjusted p-values over all defined entries [BH95]_.

    Parameters
    ----------
    p : array_like, shape (pair,)
        p-values in [0, 1]; NaN (undefined) ones are no hypothesis and stay NaN.

    Returns
    -------
    ndarray, shape (pair,)

    Raises
    ------
    ValueError
        If a p-value lies outside [0, 1].

    Examples
    --------
    >>> adjusted_p_values([0.01, np.nan, 0.04, 0.03]).round(3)
    array([0.03,  nan, 0.04, 0.04])
    """
    values = np.asarray(p, dtype=np.float64)
    out = np.full(values.shape, np.nan)
    defined = ~np.isnan(values)
    out[defined] = stats.false_discovery_control(values[defined])
    return out
