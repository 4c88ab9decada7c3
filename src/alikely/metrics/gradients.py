"""Numerical gradients of metrics: complex-step differentiation or central differences.

References
----------
.. [ST98] Squire, Trapp (1998). Using complex variables to estimate derivatives of real functions.
   doi:10.1137/S003614459631241X
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from alikely._base.arrays import Floats

# Steps, relative to the total of the sums; the first is free of cancellation.
IMAGINARY, STEP, SIDE = 1e-30, 6e-6, 1e-6
# Relative differences between both methods due to rounding and curvature.
CLOSE, KINK = 1e-6, 1e-3

Value = Callable[[Any], Floats]


def complex_step(value: Value, sums: Floats) -> Floats:
    """Compute the gradient of an analytic function, accurate to rounding error [ST98]_."""
    out = np.empty(np.shape(sums))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(out.shape[-1]):
            moved = np.array(sums, dtype=np.complex128)
            moved[..., k] += 1j * IMAGINARY
            out[..., k] = np.imag(value(moved)) / IMAGINARY
    return out


def complex_step_of[Sums: tuple[Any, ...]](value: Value, sums: Sums) -> Sums:
    """Compute the gradient for named sums, whose fields may have additional axes."""
    n_dims = np.ndim(value(sums))
    found = []
    for place, field in enumerate(sums):
        array = np.asarray(field, dtype=np.float64)
        out = np.zeros(array.shape)
        if not np.issubdtype(np.asarray(field).dtype, np.integer):
            for at in np.ndindex(array.shape[n_dims:]):
                moved = array.astype(np.complex128)
                moved[(..., *at)] += 1j * IMAGINARY
                parts = [*sums[:place], moved, *sums[place + 1 :]]
                with np.errstate(divide="ignore", invalid="ignore"):
                    out[(..., *at)] = np.imag(value(type(sums)(*parts))) / IMAGINARY
        found.append(out)
    return type(sums)(*found)


def central_differences(value: Value, sums: Floats) -> Floats:
    """Compute the gradient of a function; at a kink, average the slopes of both sides."""
    array = np.asarray(sums, dtype=np.float64)
    whole = STEP * np.abs(array).sum(axis=-1)
    out = np.empty(array.shape)
    for k in range(array.shape[-1]):
        unit, own = np.eye(array.shape[-1])[k], array[..., k]
        step = np.where(own != 0, np.minimum(np.abs(own) / 2, whole), whole)
        by = (_differences(value, array, unit, step * part) for part in (1.0, 0.5, 0.25))
        far, near, nearest = by
        # Romberg's rule removes the first and second power of the step.
        out[..., k] = (4 * (2 * nearest - near) - (2 * near - far)) / 3
    return out


def _differences(value: Value, sums: Floats, unit: Floats, step: Floats) -> Floats:
    """Slope between both sides; one-sided if the other side would be below 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = value(sums + step[..., None] * unit)
        below = sums - step[..., None] * unit
        inside = (below >= 0).all(axis=-1)
        down = value(np.where(inside[..., None], below, sums))
        return np.asarray((up - down) / np.where(inside, 2 * step, step))


def across_kinks(value: Value, sums: Floats) -> Floats:
    """Compute the gradient by complex step, and at kinks the mean of both sides."""
    smooth, mean = complex_step(value, sums), central_differences(value, sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.maximum(np.abs(mean).max(axis=-1, initial=0.0), 1 / np.abs(sums).sum(axis=-1))
        kink = (np.abs(smooth - mean) > CLOSE * scale[..., None]).any(axis=-1)
        # Values that are invariant to scale have slope 0 along the sums.
        along = (mean * sums).sum(axis=-1) / np.sum(sums, axis=-1)
    return np.where(kink[..., None], mean - along[..., None], smooth)


def one_sided(value: Value, sums: Floats, side: float) -> Floats:
    """Compute the gradient at positive sums by forward (`side` 1) or backward (-1) differences."""
    array = np.asarray(sums, dtype=np.float64)
    step = side * SIDE * array.sum(axis=-1)
    here = value(array)
    moved = (value(array + step[..., None] * unit) for unit in np.eye(array.shape[-1]))
    return np.stack([(there - here) / step for there in moved], axis=-1)


def agree(one: Floats, other: Floats, sums: Floats, tolerance: float) -> bool:
    """Check that two gradients are equal within a tolerance."""
    scale = np.maximum(np.abs(other).max(axis=-1, initial=0.0), 1 / np.abs(sums).sum(axis=-1))
    return bool((np.abs(one - other) <= tolerance * scale[..., None]).all())


def supports_complex(value: Value, sums: Floats) -> bool:
    """Check that complex step and central differences agree."""
    try:
        found = complex_step(value, sums)
    except (TypeError, ValueError):
        return False
    return found.shape == sums.shape and agree(found, central_differences(value, sums), sums, CLOSE)
