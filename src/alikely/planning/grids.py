"""What users state of a study to be planned: a row for each combination, checked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats

__all__ = ["check_between", "check_whole", "check_width", "grid"]


def _numbers(values: ArrayLike | None, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one number or several, got {values!r:.60}") from None


def grid(**inputs: ArrayLike | None) -> pd.DataFrame:
    """Broadcast inputs to columns, a row for each combination."""
    given = {name: _numbers(x, name) for name, x in inputs.items()}
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
    numbers = _numbers(values, name)
    bad = ~((numbers > low) & (numbers < high))
    if bad.any():
        raise ValueError(
            f"{name} must lie strictly between {low:g} and {high:g}, got {numbers[bad].flat[0]:g}; "
            f"{fix}"
        )


def check_whole(values: ArrayLike, name: str, fewest: int = 2) -> None:
    """Refuse numbers that are not whole or below the fewest (`ValueError`)."""
    numbers = _numbers(values, name)
    bad = ~((numbers >= fewest) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"{name} must be whole numbers of at least {fewest}, got {numbers[bad].flat[0]:g}"
        )


def check_width(values: ArrayLike, of: str = "error consistency") -> None:
    """Refuse widths outside (0, 2] (`ValueError`)."""
    widths = _numbers(values, "width")
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            f"width must lie in (0, 2], as {of} lies in [-1, 1]; got {widths[bad].flat[0]:g}"
        )
