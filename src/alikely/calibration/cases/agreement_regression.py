"""Regression of agreement, put to the test on ten observers of four groups."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.ranks import Values

GROUP = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
FIRST, SECOND = np.triu_indices(len(GROUP), k=1)
# Differences in size, of pairs of which every second one has other standard errors.
SIZE = np.abs(GROUP[FIRST] - 2 * GROUP[SECOND]) / 2.0
X = (SIZE - SIZE.mean())[:, None]
SE = np.where(np.arange(len(FIRST)) % 2, 0.05, 0.1)
# Numbers around which priors are laid.
AROUND = 0.3 + 0.2 * (GROUP[FIRST] == GROUP[SECOND]) + 0.1 * np.cos(np.arange(len(FIRST)))


def _design() -> pm.Model:
    return models.agreement_regression(AROUND, SE, FIRST, SECOND, GROUP, X, predictors=["size"])


def _data(truth: Values, rng: np.random.Generator) -> Values:
    """Pair by pair: what both bring, what their group adds, what is left, and the error."""
    u_unit, v_unit = rng.normal(size=len(GROUP)), rng.normal(size=GROUP.max() + 1)
    u, v = truth["tau"] * u_unit, truth["omega"] * v_unit
    intercept, of_group, of_size = truth["b"]
    out = []
    for p, (i, j) in enumerate(zip(FIRST, SECOND, strict=True)):
        value = intercept + of_size * X[p, 0] + u[i] + u[j]
        if GROUP[i] == GROUP[j]:
            value += of_group + v[GROUP[i]]
        out.append(value + truth["sigma"] * rng.normal() + SE[p] * rng.normal())
    units = {"u_unit": u_unit, "v_unit": v_unit}
    return {**units, "u": u, "v": v, "estimate": np.array(out)}


CASE = Case(
    example=functools.partial(models.agreement_regression, AROUND, SE, FIRST, SECOND, GROUP),
    design=_design,
    simulate=_data,
    quantities=("b", "tau", "sigma", "omega", "u", "v"),
    words="10 observers of 4 groups, 45 pairs",
    thin=10,
    target_accept=0.95,
)
