"""What the metric modules share: reading cells, checking ranges, quotients that stay silent."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats


def split(cells: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """The four cells, each as an array of its own."""
    array = np.asarray(cells, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != 4:
        raise ValueError(
            f"cells must have the four cells n11, n10, n01, n00 on the last axis, got shape "
            f"{array.shape}; move that axis to the end with numpy.moveaxis"
        )
    if array.size and array.min() < 0:
        raise ValueError(f"cells must not be negative, got {array.min():g}")
    return array[..., 0], array[..., 1], array[..., 2], array[..., 3]


def probability(value: ArrayLike, name: str, low: float = 0.0, high: float = 1.0) -> Floats:
    """Refuse what lies outside a range (`ValueError`)."""
    array = np.asarray(value, dtype=np.float64)
    if np.any(array < low) or np.any(array > high):
        bad = array[(array < low) | (array > high)].flat[0]
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}], got {bad:g}")
    return array


def divide(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Quotient that is NaN, and silent, where the denominator is 0 or an operand is NaN."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    )
    out = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=out, where=bottom != 0)
    return out
