"""Item margins: calibration with a group and a model."""

from __future__ import annotations

import numpy as np
import pymc as pm
from scipy import special

from alikely._base.arrays import Floats
from alikely.calibration.ranks import Values
from generative.item_margins import item_margins
from studies.case import Case, named
from studies.cases._margins import (
    ALTERNATIVES,
    FEW_COUNTS,
    N_ANSWERS,
    TUNE,
    right_answers,
    with_margins,
)

N_ITEMS = 30


def _design() -> pm.Model:
    right = np.arange(N_ITEMS) % N_ANSWERS
    shown, margins = np.full(N_ITEMS, N_ANSWERS), np.linspace(-2, 2, N_ITEMS)
    return item_margins(right, shown, margins, n_alternatives=ALTERNATIVES)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    made = with_margins(truth, N_ITEMS, rng)
    answers = np.broadcast_to(made["strength"], (N_ANSWERS, N_ITEMS))
    return made | {"right": right_answers(answers, ALTERNATIVES, rng).sum(axis=0)}


def _design_of_groups() -> pm.Model:
    right = np.indices((2, N_ITEMS)).sum(axis=0) % N_ANSWERS
    shown = np.full((2, N_ITEMS), N_ANSWERS)
    return item_margins(right, shown, n_alternatives=ALTERNATIVES)


def _data_of_groups(truth: Values, rng: np.random.Generator) -> Values:
    """Strengths of two groups; the second is regressed on the first."""
    rho, mean, sd = (truth[name] for name in ("rho", "strength_mean", "strength_sd"))
    first, apart = rng.normal(size=(2, N_ITEMS))
    second = rho * first + np.sqrt(1 - rho**2) * apart
    strength = mean[:, None] + sd[:, None] * np.stack([first, second])
    answers = np.broadcast_to(strength, (N_ANSWERS, *strength.shape))
    return {
        "strength_first": strength[0],
        "strength_second": strength[1],
        "strength": strength,
        "right": right_answers(answers, ALTERNATIVES, rng).sum(axis=0),
    }


def _design_of_bent() -> pm.Model:
    right = np.arange(N_ITEMS) % N_ANSWERS
    shown, margins = np.full(N_ITEMS, N_ANSWERS), np.linspace(-2, 2, N_ITEMS)
    return item_margins(right, shown, margins, n_alternatives=ALTERNATIVES, law="sinh_arcsinh")


def _data_of_bent(truth: Values, rng: np.random.Generator) -> Values:
    """Normal scores of strengths given those of margins, and strengths by the page's formula."""
    given = special.ndtri((np.arange(N_ITEMS) + 0.5) / N_ITEMS)
    rho = truth["rho"]
    u = rho * given / given.std() + np.sqrt(1 - rho**2) * rng.normal(size=N_ITEMS)
    strength = _bent(u, truth)
    answers = np.broadcast_to(strength, (N_ANSWERS, N_ITEMS))
    right = right_answers(answers, ALTERNATIVES, rng).sum(axis=0)
    return {"score": u, "strength": strength, "right": right}


def _bent(u: Floats, truth: Values) -> Floats:
    def curve(x: Floats | float) -> Floats:
        return np.sinh((np.arcsinh(x) + truth["skewness"]) / np.exp(truth["log_tail"]))

    unit = 2 * truth["strength_sd"] / (curve(1.0) - curve(-1.0))
    return np.asarray(truth["strength_mean"] + unit * (curve(u) - curve(0.0)))


def _example() -> pm.Model:
    margins = [1.2, -0.4, 0.9, -1.0, 0.1, 1.1]
    return item_margins([9, 3, 7, 1, 6, 8], [10] * 6, margins, n_alternatives=16)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=named("rho strength_mean strength_sd strength"),
    words="30 items, 10 responses of a group to each, margins of a model, 4 alternatives",
    tune=TUNE,
    target_accept=FEW_COUNTS,
)
CASE = MAIN._replace(
    branches={
        "sinh_arcsinh": MAIN.branch(
            "30 items, 10 responses of a group to each, sinh-arcsinh strengths given margins, "
            "4 alternatives",
            _design_of_bent,
            simulate=_data_of_bent,
            quantities=named("rho strength_mean strength_sd skewness log_tail strength"),
            # No public function uses it: `margins.strengths.fit_model` fits it without MCMC.
            tune=1_000,
            target_accept=0.95,
        ),
        "two_groups": MAIN.branch(
            "30 items, 10 responses of each of 2 groups to each, 4 alternatives",
            _design_of_groups,
            simulate=_data_of_groups,
        ),
    }
)
