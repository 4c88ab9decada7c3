"""The spectrum of difficulty, put to the test on people in conditions."""

from __future__ import annotations

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.ranks import Values

PEOPLE, CONDITIONS, ANSWERS = 4, 8, 60

IS_REFERENCE = np.arange(CONDITIONS) < 2


def _design() -> pm.Model:
    condition, person = (part.ravel() for part in np.indices((CONDITIONS, PEOPLE)))
    right = np.where(condition < CONDITIONS // 2, 45, 20) + person
    shown = np.full(len(right), ANSWERS)
    return models.spectrum(right, shown, condition, person, IS_REFERENCE, k=2)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    condition, person = (part.ravel() for part in np.indices((CONDITIONS, PEOPLE)))
    sd = truth["ability_sd"][np.where(IS_REFERENCE, 0, 1)]
    logit = truth["logit_accuracy"][condition]
    logit = logit + sd[condition] * truth["ability_deviate"][person]
    logit = logit + truth["interaction_sd"] * truth["interaction_deviate"]
    return {"right": rng.binomial(ANSWERS, 1 / (1 + np.exp(-logit)))}


def _example() -> pm.Model:
    right, condition, person = [90, 80, 95, 40, 50, 30], [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    return models.spectrum(right, [100] * 6, condition, person, [True, False], k=2)


CASE = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=(
        "ease_mean",
        "gap",
        "regime_weight",
        "regime_mean",
        "regime_sd",
        "logit_accuracy",
        "ability_sd",
        "ability_deviate",
        "interaction_sd",
        "reference_mean",
        "reference_sd",
        "latent_reference_sd",
        "delta",
        "regime_delta",
    ),
    words="8 conditions, 2 of them the reference, 4 people of 60 answers in each, 2 regimes",
    thin=40,
)
