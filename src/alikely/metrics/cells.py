"""Functions for correctness cells: conversion, checks of ranges, division."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats


def as_numbers(values: ArrayLike) -> Any:
    """Convert to double precision; complex numbers stay complex, for complex-step gradients."""
    array = np.asarray(values)
    return array if array.dtype.kind == "c" else array.astype(np.float64, copy=False)


def split(cells: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Split the four cells into separate arrays."""
    array = as_numbers(cells)
    if array.ndim == 0 or array.shape[-1] != 4:
        raise ValueError(
            f"cells must have the four cells n11, n10, n01, n00 on the last axis, got shape "
            f"{array.shape}; move that axis to the end with numpy.moveaxis"
        )
    if array.size and array.real.min() < 0:
        raise ValueError(f"cells must not be negative, got {array.real.min():g}")
    return array[..., 0], array[..., 1], array[..., 2], array[..., 3]


def probability(value: ArrayLike, name: str) -> Floats:
    """Check that values lie in [0, 1] (`ValueError`)."""
    array = np.asarray(value, dtype=np.float64)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ValueError(f"{name} must lie in [0, 1], got {array[outside].flat[0]:g}")
    return array


def reason_of(value: Callable[[Any], Any], nothing: str, other: str) -> Callable[[Any], Any]:
    """Make a function of sums that explains why a value is undefined; the first sum is a count."""

    def reason(sums: Any) -> NDArray[Any]:
        defined = np.isfinite(value(sums))
        return np.select([np.asarray(sums[0]) == 0, defined], [nothing, ""], other)

    return reason


def divide(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Divide; NaN without a warning if the denominator is 0 or an operand is NaN."""
    top, bottom = np.broadcast_arrays(as_numbers(numerator), as_numbers(denominator))
    out = np.full(top.shape, np.nan, np.result_type(top, bottom))
    np.divide(top, bottom, out=out, where=bottom != 0)
    return out
