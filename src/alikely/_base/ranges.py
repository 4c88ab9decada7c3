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
    """Bring values back into their range where only rounding carried them out of it."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        # The derivative of a value that rounding carried out of its range is that of the value.
        return array
    outside = (array < low) | (array > high)
    if not outside.any():
        return array
    if slack is None:
        slack = 500 * float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0
    inside = np.clip(array, low, high)
    return np.where(outside & (np.abs(array - inside) <= slack), inside, array)
