"""The one kind of array that nearly everything here takes and gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "is_chunked", "on_disk_or_chunked"]

Floats = NDArray[np.float64]


def is_chunked(values: Any) -> bool:
    """Whether an array is one of dask, whose parts are made when they are asked for."""
    return hasattr(values, "dask") and hasattr(values, "shape")


def on_disk_or_chunked(values: Any) -> NDArray[Any]:
    """An array that is as much in memory as it was: mapped or chunked ones stay so."""
    chunked: NDArray[Any] = values
    return chunked if is_chunked(values) else np.asanyarray(values)
