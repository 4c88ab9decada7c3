"""Error consistency of observers whose latent parts are normal and correlate."""

from __future__ import annotations

import numpy as np
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.ranges import within
from alikely.metrics import ERROR_CONSISTENCY

__all__ = ["normal_consistency"]


def normal_consistency(correlation: Floats, ability_a: Floats | float, ability_b: Floats) -> Floats:
    """Error consistency of observers who are right where a normal part is below their ability."""
    h, k = np.broadcast_arrays(ability_a, ability_b)
    a, b = special.ndtr(h), special.ndtr(k)
    root = np.sqrt(1 - correlation**2)
    both = (a + b) / 2 - (h * k < 0) / 2
    both -= special.owens_t(h, (k - correlation * h) / (h * root))
    both -= special.owens_t(k, (h - correlation * k) / (k * root))
    cells = np.stack([both, a - both, b - both, 1 - a - b + both], axis=-1)
    return ERROR_CONSISTENCY.value(within(cells))
