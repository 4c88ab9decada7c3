"""Difficulty spectrum: calibration with humans in several conditions."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.ranks import Values
from studies.case import Case, named

PEOPLE, CONDITIONS, ANSWERS = 4, 8, 60
# As in the public function: steps are short with fewer than 20 conditions.
SHORT_STEPS, LONG_STEPS = 0.99, 0.97


def _design(k: int = 2, n_conditions: int = CONDITIONS) -> pm.Model:
    condition, person = (part.ravel() for part in np.indices((n_conditions, PEOPLE)))
    right = np.where(condition < n_conditions // 2, 45, 20) + person
    shown = np.full(len(right), ANSWERS)
    is_reference = np.arange(n_conditions) < 2
    return models.spectrum(right, shown, condition, person, is_reference, k=k)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    n_conditions = len(truth["logit_accuracy"])
    condition, person = (part.ravel() for part in np.indices((n_conditions, PEOPLE)))
    sd = truth["ability_sd"][np.where(np.arange(n_conditions) < 2, 0, 1)]
    logit = truth["logit_accuracy"][condition]
    logit = logit + sd[condition] * truth["ability_deviate"][person]
    logit = logit + truth["interaction_sd"] * truth["interaction_deviate"]
    return {"right": rng.binomial(ANSWERS, 1 / (1 + np.exp(-logit)))}


def _example() -> pm.Model:
    right, condition, person = [90, 80, 95, 40, 50, 30], [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    return models.spectrum(right, [100] * 6, condition, person, [True, False], k=2)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=named(
        "ease_mean gap regime_weight regime_mean regime_sd logit_accuracy ability_sd "
        "ability_deviate interaction_sd reference_mean reference_sd latent_reference_sd delta "
        "regime_delta"
    ),
    words="8 conditions, 2 of them the reference, 4 humans with 60 responses in each, 2 regimes",
    thin=40,
    target_accept=SHORT_STEPS,
)


def _branch(k: int, n_conditions: int = CONDITIONS, target_accept: float = SHORT_STEPS) -> Case:
    of_one = ("gap", "regime_weight")
    return MAIN.branch(
        f"{n_conditions} conditions, 2 of them the reference, 4 humans with 60 responses in each, "
        f"{k} {'regime' if k == 1 else 'regimes'}",
        functools.partial(_design, k, n_conditions),
        quantities=tuple(q for q in MAIN.quantities if k > 1 or q not in of_one),
        target_accept=target_accept,
    )


CASE = MAIN._replace(
    branches={f"k{k}": _branch(k) for k in (1, 3, 4, 5, 6)}
    | {"many_conditions": _branch(4, 24, LONG_STEPS)}
)
