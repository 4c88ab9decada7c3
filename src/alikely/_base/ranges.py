"""Quantities with a range, such as probabilities and correlations, that rounding carries beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ROUNDING", "within"]

# Rounding error of sums and quotients near 1: 500 units in the last place of double precision. A
# value farther out of its range is a fault, which must show.
ROUNDING = 500 * float(np.finfo(np.float64).eps)


def within(
    values: ArrayLike,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    slack: ArrayLike | None = None,
) -> NDArray[Any]:
    """Bring values back into their range where only rounding carried them out of it.

    Parameters
    ----------
    values : array_like
        Numbers; NaN stays NaN.
    low, high : array_like
        Bounds of the range. Default: those of a probability.
    slack : array_like, optional
        Largest rounding error. Values farther outside are returned unchanged, so that a fault
        remains visible. Default: `ROUNDING`, and as many units in the last place of single
        precision.

    Returns
    -------
    ndarray
        Of the shape and type of `values`.

    Examples
    --------
    >>> within([-1e-17, 0.5, 1 + 2**-52, 1.1]).tolist()
    [0.0, 0.5, 1.0, 1.1]
    """
    array = np.asarray(values)
    outside = (array < low) | (array > high)
    if not outside.any():
        return array
    if slack is None:
        slack = 500 * float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0
    inside = np.clip(array, low, high)
    return np.where(outside & (np.abs(array - inside) <= slack), inside, array)
