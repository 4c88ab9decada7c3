"""Item margins, put to the test on a group and a machine."""

from __future__ import annotations

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._margins import ALTERNATIVES, N_ANSWERS, right_answers, with_margins
from alikely.calibration.ranks import Values

N_ITEMS = 30


def _design() -> pm.Model:
    right = np.arange(N_ITEMS) % N_ANSWERS
    return models.item_margins(
        right, np.full(N_ITEMS, N_ANSWERS), np.linspace(-2, 2, N_ITEMS), m=ALTERNATIVES
    )


def _data(truth: Values, rng: np.random.Generator) -> Values:
    made = with_margins(truth, N_ITEMS, rng)
    answers = np.broadcast_to(made["strength"], (N_ANSWERS, N_ITEMS))
    return made | {"right": right_answers(answers, ALTERNATIVES, rng).sum(axis=0)}


def _example() -> pm.Model:
    margins = [1.2, -0.4, 0.9, -1.0, 0.1, 1.1]
    return models.item_margins([9, 3, 7, 1, 6, 8], [10] * 6, margins, m=16)


CASE = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=("rho", "strength_mean", "strength_sd", "strength"),
    words="30 items, 10 answers of a group each, margins of a machine, 4 alternatives",
)
