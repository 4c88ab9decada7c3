"""Class criteria, put to the test on a group and a machine."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._margins import N_ANSWERS, with_margins, without_margins
from alikely.calibration.ranks import Values

CLASSES = np.repeat(np.arange(4), 4)


def _design(margins: bool = True) -> pm.Model:
    answers = np.full((len(CLASSES), 4), 2)
    answers[np.arange(len(CLASSES)), CLASSES] = 4
    x = np.linspace(-2, 2, len(CLASSES)) if margins else None
    return models.class_criteria(answers, CLASSES, x)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    """The answer is the class of the most evidence."""
    made = (with_margins if "rho" in truth else without_margins)(truth, len(CLASSES), rng)
    mean = np.tile(truth["criterion"], (len(CLASSES), 1))
    mean[np.arange(len(CLASSES)), CLASSES] += made["strength"]
    chosen = rng.normal(mean, size=(N_ANSWERS, *mean.shape)).argmax(axis=-1)
    return made | {"answers": (chosen[:, :, None] == np.arange(4)).sum(axis=0)}


def _example() -> pm.Model:
    answers = [[9, 1, 0], [6, 3, 1], [1, 8, 1], [3, 7, 0], [2, 1, 7], [4, 2, 4]]
    margins = [1.2, -0.4, 0.9, 0.1, 0.3, -1.0]
    return models.class_criteria(answers, [0, 0, 1, 1, 2, 2], margins)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=("rho", "criterion_sd", "criterion", "strength_mean", "strength_sd", "strength"),
    words="16 items of 4 classes, 10 answers each, margins of a machine",
    thin=10,
)
CASE = MAIN._replace(
    branches={
        "no_margins": MAIN.branch(
            "16 items of 4 classes, 10 answers each",
            functools.partial(_design, margins=False),
            quantities=MAIN.quantities[1:],
        )
    }
)
