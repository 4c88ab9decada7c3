"""The copy model, put to the test on two pairs."""

from __future__ import annotations

import functools

import numpy as np

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._pairs import ONE_PAIR, SHOWN, resampled_cells, two_pairs
from alikely.calibration.ranks import Values


def _data(truth: Values, rng: np.random.Generator) -> Values:
    a = rng.binomial(SHOWN, truth["p_a"])
    n11 = rng.binomial(a, truth["u"])
    n01 = rng.binomial(SHOWN - a, truth["v"])
    return {"cells": np.stack([n11, a - n11, n01, SHOWN - a - n01], axis=-1)}


CASE = Case(
    example=functools.partial(models.copying, ONE_PAIR),
    design=functools.partial(two_pairs, models.copying),
    simulate=_data,
    quantities=(
        "p_a",
        "u",
        "v",
        "copy_probability",
        "own_accuracy",
        "accuracy",
        "error_consistency",
    ),
    words="2 pairs, 40 and 160 trials",
    n=1_000,
    thin=10,
    replicate=resampled_cells,
)
