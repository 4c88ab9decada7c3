"""Independent observers, put to the test on two pairs."""

from __future__ import annotations

import functools

import numpy as np

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._pairs import ONE_PAIR, SHOWN, two_pairs
from alikely.calibration.ranks import Values


def _data(truth: Values, rng: np.random.Generator) -> Values:
    cells = []
    for n, p_a, p_b in zip(SHOWN, truth["p_a"], truth["p_b"], strict=True):
        a, b = rng.random(n) < p_a, rng.random(n) < p_b
        cells.append([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()])
    return {"cells": np.array(cells)}


CASE = Case(
    example=functools.partial(models.independence, ONE_PAIR),
    design=functools.partial(two_pairs, models.independence),
    simulate=_data,
    quantities=("p_a", "p_b"),
    words="2 pairs, 40 and 160 trials",
    n=1_000,
    thin=10,
)
