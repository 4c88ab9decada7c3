"""Observer margins, put to the test on observers, repeats and a machine."""

from __future__ import annotations

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._margins import ALTERNATIVES, right_answers, with_margins
from alikely.calibration.ranks import Values

OBSERVERS, REPEATS = (4, 16), 3


def _design() -> pm.Model:
    right = np.indices(OBSERVERS).sum(axis=0) % (REPEATS + 1)
    margins = np.linspace(-2, 2, OBSERVERS[1])
    return models.observer_margins(right, np.full(OBSERVERS, REPEATS), margins, m=ALTERNATIVES)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    """Every observer has items of its own strength, which come back with every repeat."""
    made = with_margins(truth, OBSERVERS[1], rng)
    mean, gain = truth["strength_mean"], np.exp(truth["log_gain"])[:, None]
    own = mean + truth["ability"][:, None] + gain * (made["strength"] - mean)
    own = own + truth["stable_sd"] * rng.normal(size=OBSERVERS)
    answers = right_answers(np.broadcast_to(own, (REPEATS, *OBSERVERS)), ALTERNATIVES, rng)
    return made | {"right": answers.sum(axis=0)}


def _example() -> pm.Model:
    right = [[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]]
    return models.observer_margins(right, [[2] * 6] * 2, range(6), m=16)


CASE = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=(
        "rho",
        "strength_mean",
        "strength_sd",
        "strength",
        "ability_sd",
        "ability",
        "log_gain_sd",
        "log_gain",
        "stable_sd",
        "share",
        "ceiling",
    ),
    words="4 observers, 16 items shown 3 times each, margins of a machine, 4 alternatives",
    thin=10,
)
