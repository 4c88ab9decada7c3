"""Arrays: their type, rounding out of a range, nodes of quadrature, compiled loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
# Rounding error of sums and quotients near 1: 500 units in the last place of double precision. A
# value farther out of its range is a fault, which must show.
ROUNDING = 500 * float(np.finfo(np.float64).eps)


def is_chunked(values: Any) -> bool:
    """Whether an array is a dask array, whose chunks are computed on demand."""
    return hasattr(values, "dask") and hasattr(values, "shape")


def on_disk_or_chunked(values: Any) -> NDArray[Any]:
    """Convert to an array without loading memory-mapped or chunked values into memory."""
    chunked: NDArray[Any] = values
    return chunked if is_chunked(values) else np.asanyarray(values)


def within(
    values: ArrayLike, low: ArrayLike = 0.0, high: ArrayLike = 1.0, slack: ArrayLike | None = None
) -> NDArray[Any]:
    """Clip values that are outside their range only because of rounding."""
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


@functools.lru_cache(maxsize=32)
def normal_nodes(n: int) -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes of the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    weights /= weights.sum()
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that lets other threads run, and store the code on disk if possible."""
    import numba

    return kept_on_disk(numba.njit, nogil=True, error_model="numpy")(function)


def kept_on_disk(compile_: Callable[..., Any], *given: Any, **options: Any) -> Callable[..., Any]:
    """Decorate a function: compile the function, and store the code on disk if possible."""

    def decorated(function: Callable[..., Any]) -> Any:
        try:
            return compile_(*given, cache=True, **options)(function)
        except RuntimeError:
            # No folder to keep it in: compiled again by every process.
            return compile_(*given, **options)(function)

    return decorated
