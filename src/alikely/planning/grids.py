"""What users state of a study to be planned: a row for each combination, checked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

__all__ = ["check_between", "check_whole", "check_width", "grid"]


def grid(**inputs: ArrayLike) -> pd.DataFrame:
    """Broadcast inputs to columns, a row for each combination."""
    given = {name: np.asarray(x, dtype=np.float64) for name, x in inputs.items()}
    try:
        shape = np.broadcast_shapes(*(x.shape for x in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ValueError(
            f"inputs must broadcast, got shapes {shapes}; for all combinations give one of them as "
            "a column, such as x[:, None]"
        ) from None
    return pd.DataFrame({name: np.broadcast_to(x, shape).ravel() for name, x in given.items()})


def check_between(
    values: ArrayLike, name: str, fix: str, low: float = 0.0, high: float = 1.0
) -> None:
    """Refuse numbers that are not strictly between two others (`ValueError`)."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = ~((numbers > low) & (numbers < high))
    if bad.any():
        raise ValueError(
            f"{name} must lie strictly between {low:g} and {high:g}, got {numbers[bad].flat[0]:g}; "
            f"{fix}"
        )


def check_whole(values: ArrayLike, name: str, fewest: int = 2) -> None:
    """Refuse numbers that are not whole or below the fewest (`ValueError`)."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = ~((numbers >= fewest) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"{name} must be whole numbers of at least {fewest}, got {numbers[bad].flat[0]:g}"
        )


def check_width(values: ArrayLike, of: str = "error consistency") -> None:
    """Refuse widths outside (0, 2] (`ValueError`)."""
    widths = np.asarray(values, dtype=np.float64)
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            f"width must lie in (0, 2], as {of} lies in [-1, 1]; got {widths[bad].flat[0]:g}"
        )
