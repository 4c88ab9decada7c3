"""Shared parts of models: informed coordinates, standard deviations, sums and covariate effects.

Coordinates determine where MCMC chains start and the scale of their steps.

References
----------
.. [PRS07] Papaspiliopoulos, Roberts, Sköld (2007). A general framework for the parametrization of
   hierarchical models. doi:10.1214/088342307000000014
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray
from pymc.distributions.transforms import ZeroSumTransform
from pymc.logprob.transforms import Transform

from alikely._base.arrays import ROUNDING
from alikely.data.covariates import Covariates, covariate_tables, is_number

# For variables without data.
TINY = 1e-9
# What models call the dim of a kind of covariates.
DIMS = {"model": "model", "condition": "condition", "human": "person"}


class Placed(Transform):
    """Transform that approximately standardizes a variable, or the log of a positive variable."""

    name = "placed"

    def __init__(self, center: ArrayLike, scale: ArrayLike) -> None:
        self.center, self.scale = np.asarray(center), np.asarray(scale)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Variable to coordinate."""
        return (value - self.center) / self.scale

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Coordinate to variable."""
        return self.center + self.scale * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Log derivative of `backward`."""
        return pt.zeros_like(value) + np.log(self.scale)


def informed(name: str, mean: Any, sd: Any, seen: Any, information: Any, dims: str) -> Any:
    """Define normal variables in coordinates informed by the counts [PRS07]_."""
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
    """Normal variables that sum to zero, in coordinates informed by counts, as in `informed`."""

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
    """Coordinates in which normal variables are about standard normal a posteriori."""

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
    """As `Informed`, for all but one variable, along orthogonal axes with equal spreads."""

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


def spread(name: str, mean: float, n_groups: int) -> Any:
    """Standard deviation of effects; the prior avoids 0, where the posterior forms a funnel."""
    return pm.Gamma(name, 2, 2 / mean) if n_groups > 2 else mean


def log_odds(probability: Any) -> Any:
    """Log odds of a probability."""
    return pt.log(probability) - pt.log1p(-probability)


def averages(seen: Any, information: Any, group: NDArray[np.intp], n: int) -> tuple[Any, Any]:
    """Compute the precision-weighted mean and the total precision of each group."""
    total = sums(information + pt.zeros_like(seen), group, n) + TINY
    return sums(information * seen, group, n) / total, total


def sums(values: Any, group: NDArray[np.intp], n: int) -> Any:
    """Sums of values by group, shape (n,)."""
    return pt.inc_subtensor(pt.zeros(n)[group], values)


def tensor_within(value: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Clip values of a tensor that are outside their range only because of rounding."""
    inside = pt.clip(value, low, high)
    return pt.switch(pt.abs(value - inside) <= ROUNDING, inside, value)


def tables_for(
    covariates: Covariates | None,
    known: Mapping[str, Sequence[Any] | NDArray[Any]],
    names: Mapping[str, Sequence[str]],
    plain: Any,
) -> dict[str, pd.DataFrame]:
    """Return tables of covariates whose names do not occur in the model."""
    tables = covariate_tables(covariates, known)
    if not tables:
        return tables
    model = plain()
    taken = {*model.named_vars, *model.coords, *DIMS, "chain", "draw"}
    for kind, table in tables.items():
        for column in table:
            made = [str(column)]
            for name in names[kind]:
                made += [f"{name}_{column}{end}" for end in ("", "_sd", "_deviate")]
            clash = [name for name in made if name in taken]
            if clash:
                raise ValueError(
                    f"covariate {column!r} of {kind} would be named {clash[0]!r}, which the model "
                    "uses already; rename the column"
                )
            taken.update(made)
    return tables


def effects(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    at: Mapping[str, NDArray[np.intp]],
    scale: float,
) -> list[Any]:
    """Define the effects of all covariates on a quantity, in the current PyMC model."""
    return [
        _effect(f"{name}_{column}", kind, table[column], at[kind], scale)
        for kind, table in tables.items()
        if kind in at
        for column in table
    ]


def _effect(name: str, kind: str, column: pd.Series, rows: NDArray[np.intp], scale: float) -> Any:
    """One column's effect on each element."""
    model, title = pm.modelcontext(None), str(column.name)
    if is_number(column):
        # One that acts on several quantities is there already.
        data = (
            model[title]
            if title in model.named_vars
            else pm.Data(title, column.to_numpy(), dims=DIMS[kind])
        )
        unit = scale / float(column.std())
        # Coordinates of unit scale, since units of the table may be tiny or huge.
        slope = pm.Normal(name, 0, unit, transform=Placed(0, unit))
        return slope * (data - float(column.mean()))[rows]
    levels = column.cat.categories.tolist()
    if title not in model.coords:
        model.add_coord(title, levels)
    if len(levels) > 2:
        deviate = pm.ZeroSumNormal(f"{name}_deviate", 1, dims=title)
        sd = spread(f"{name}_sd", scale, len(levels))
        effect = pm.Deterministic(name, sd * deviate, dims=title)
    else:
        effect = pm.ZeroSumNormal(name, scale, dims=title)
    return effect[column.cat.codes.to_numpy()[rows]]
