"""Coordinates of variables that counts place: where chains start, and how long their steps are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import ArrayLike
from pymc.logprob.transforms import Transform

__all__ = ["Placed"]


class Placed(Transform):
    """Moves a variable on the line (for positive ones: its logarithm) to about 0 and unit scale.

    Chains start within one such unit of the centre (`alikely.inference.nuts`), and take their first
    steps in these units. Steps much too long would carry them to where there is next to no
    probability, and they stay there.

    Parameters
    ----------
    centre : array_like
        Where the counts alone put the variable.
    scale : array_like
        How surely: its standard error by them.
    """

    name = "placed"

    def __init__(self, centre: ArrayLike, scale: ArrayLike) -> None:
        self.centre, self.scale = np.asarray(centre), np.asarray(scale)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Variable to coordinate."""
        return (value - self.centre) / self.scale

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Coordinate to variable."""
        return self.centre + self.scale * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Log derivative of `backward`."""
        return pt.zeros_like(value) + np.log(self.scale)
