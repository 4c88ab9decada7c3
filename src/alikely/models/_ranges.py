"""Quantities of a model with a range, such as correlations, that rounding carries beyond."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt

from alikely._base.arrays import ROUNDING

__all__ = ["tensor_within"]


def tensor_within(value: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Bring a tensor back into its range, as `alikely._base.arrays.within` brings arrays."""
    inside = pt.clip(value, low, high)
    return pt.switch(pt.abs(value - inside) <= ROUNDING, inside, value)
