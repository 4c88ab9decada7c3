"""The one kind of array that nearly everything here takes and gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats"]

Floats = NDArray[np.float64]
