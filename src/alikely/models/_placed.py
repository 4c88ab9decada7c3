"""Coordinates of variables that counts place: where chains start, and how long their steps are.

References
----------
.. [PRS07] Papaspiliopoulos, Roberts, Sköld (2007). A general framework for the parametrization of
   hierarchical models. doi:10.1214/088342307000000014
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike
from pymc.distributions.transforms import ZeroSumTransform
from pymc.logprob.transforms import Transform

__all__ = ["Informed", "Placed", "informed", "informed_zero_sum"]

# Of what nothing is seen.
TINY = 1e-9


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


def informed(name: str, mean: Any, sd: Any, seen: Any, information: Any, dims: str) -> Any:
    """Normal variables; what the counts say of them only shapes the coordinates [PRS07]_.

    Parameters
    ----------
    name : str
        Of the variable.
    mean, sd : tensor_like
        Of its distribution.
    seen, information : tensor_like
        Where the counts alone put it, and the inverse of the variance with which they do.
    dims : str
        Dim of the variable.

    Returns
    -------
    tensor
    """
    return pm.CustomDist(
        name,
        mean,
        sd,
        seen,
        information,
        logp=lambda value, mean, sd, *_: pm.logp(pm.Normal.dist(mean, sd), value),
        random=lambda mean, sd, *_, rng, size: rng.normal(mean, sd, size),
        support_point=lambda rv, size, mean, *_: pt.zeros_like(rv) + mean,
        class_name="InformedNormal",
        transform=Informed(),
        dims=dims,
    )


def informed_zero_sum(name: str, sd: Any, seen: Any, information: Any, dims: str) -> Any:
    """Normal variables that sum to zero, in coordinates as those of `informed`.

    Parameters
    ----------
    name : str
        Of the variable.
    sd : tensor_like
        Of each before the mean is taken off.
    seen : tensor_like, shape (n,)
        Where the counts alone put them.
    information : tensor_like
        The inverse of the variance with which they do, the same for all.
    dims : str
        Dim of the variable.

    Returns
    -------
    tensor
    """

    def logp(value: Any, sd: Any, *_: Any) -> Any:
        free = value.shape[-1] - 1
        square = pt.sum((value / pt.shape_padright(sd)) ** 2, axis=-1)
        return -square / 2 - free * (pt.log(sd) + math.log(2 * math.pi) / 2)

    def random(sd: Any, seen: Any, *_: Any, rng: np.random.Generator, size: Any) -> Any:
        shape = np.shape(seen) if size is None else (*size, np.shape(seen)[-1])
        drawn = rng.normal(0, np.asarray(sd)[..., None], shape)
        return drawn - drawn.mean(axis=-1, keepdims=True)

    return pm.CustomDist(
        name,
        sd,
        seen,
        information,
        logp=logp,
        random=random,
        support_point=lambda rv, *_: pt.zeros_like(rv),
        signature="(),(n),()->(n)",
        class_name="ZeroSumNormal",
        transform=_InformedZeroSum([-1]),
        dims=dims,
    )


class Informed(Transform):
    """Coordinates of normal variables whose posterior is about standard normal, at any spread.

    A normal approximation to the likelihood of each, combined with its conditional normal prior,
    gives a mean and a standard deviation; the coordinate is the distance from that mean in these
    units. It changes how fast chains mix, not what they sample.
    """

    name = "informed"

    def _place(self, inputs: Any) -> tuple[Any, Any]:
        mean, sd, seen, information = inputs[-4:]
        weight = sd**2 * information
        return (mean + weight * seen) / (1 + weight), sd / pt.sqrt(1 + weight)

    def forward(self, value: Any, *inputs: Any) -> Any:
        mean, sd = self._place(inputs)
        return (value - mean) / sd

    def backward(self, value: Any, *inputs: Any) -> Any:
        mean, sd = self._place(inputs)
        return mean + sd * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        return pt.log(self._place(inputs)[1]) + pt.zeros_like(value)


class _InformedZeroSum(ZeroSumTransform):
    """As `Informed`, of all but one of the variables: the axes are orthogonal, spreads the same."""

    name = "informed"

    def _place(self, inputs: Any) -> tuple[Any, Any]:
        sd, seen, information = inputs[-3:]
        weight = sd**2 * information
        free = super().forward(seen - seen.mean(axis=-1, keepdims=True))
        return pt.shape_padright(weight / (1 + weight)) * free, sd / pt.sqrt(1 + weight)

    def forward(self, value: Any, *inputs: Any) -> Any:
        mean, sd = self._place(inputs)
        return (super().forward(value) - mean) / pt.shape_padright(sd)

    def backward(self, value: Any, *inputs: Any) -> Any:
        mean, sd = self._place(inputs)
        return super().backward(mean + pt.shape_padright(sd) * value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        return value.shape[-1] * pt.log(self._place(inputs)[1])
