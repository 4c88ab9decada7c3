"""Copy model: calibration with two pairs of observers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from alikely import models
from alikely.calibration.ranks import Values
from studies.case import Case, named

ONE_PAIR = [100, 20, 20, 20]
SHOWN = np.array([40, 160])


def two_pairs(build: Callable[..., pm.Model]) -> pm.Model:
    """Build a model for a number of trials, whose outcomes are simulated."""
    return build(np.array([[n, 0, 0, 0] for n in SHOWN]))


def _data(truth: Values, rng: np.random.Generator) -> Values:
    a = rng.binomial(SHOWN, truth["p_a"])
    n11 = rng.binomial(a, truth["u"])
    n01 = rng.binomial(SHOWN - a, truth["v"])
    return {"cells": np.stack([n11, a - n11, n01, SHOWN - a - n01], axis=-1)}


def _counted(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> list[Any]:
    return [(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]


def _independent(truth: Values, rng: np.random.Generator) -> Values:
    p = zip(SHOWN, truth["p_a"], truth["p_b"], strict=True)
    return {"cells": np.array([_counted(rng.random(n) < a, rng.random(n) < b) for n, a, b in p])}


MAIN = Case(
    example=functools.partial(models.copying, ONE_PAIR),
    design=functools.partial(two_pairs, models.copying),
    simulate=_data,
    quantities=named("p_a u v copy_probability own_accuracy accuracy error_consistency"),
    words="2 pairs, 40 and 160 trials",
    n=1_000,
    thin=10,
    tune=500,
)
CASE = MAIN._replace(
    branches={
        "independent": MAIN.branch(
            "2 pairs, 40 and 160 trials, independent observers",
            functools.partial(two_pairs, functools.partial(models.copying, independent=True)),
            simulate=_independent,
            quantities=named("p_a p_b"),
            n=1_000,
            tune=1_000,
        ),
    }
)
