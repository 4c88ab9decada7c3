"""Item margins, put to the test on a group and a machine."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._margins import (
    ALTERNATIVES,
    FEW_COUNTS,
    N_ANSWERS,
    TUNE,
    right_answers,
    with_margins,
)
from alikely.calibration.ranks import Values
from alikely.margins.posterior import Link

N_ITEMS = 30


def _design(link: Link = "m_afc") -> pm.Model:
    right = np.arange(N_ITEMS) % N_ANSWERS
    shown, margins = np.full(N_ITEMS, N_ANSWERS), np.linspace(-2, 2, N_ITEMS)
    return models.item_margins(right, shown, margins, m=ALTERNATIVES, link=link)


def _data(truth: Values, rng: np.random.Generator, link: Link = "m_afc") -> Values:
    made = with_margins(truth, N_ITEMS, rng)
    answers = np.broadcast_to(made["strength"], (N_ANSWERS, N_ITEMS))
    return made | {"right": right_answers(answers, ALTERNATIVES, rng, link).sum(axis=0)}


def _design_of_groups(link: Link = "m_afc") -> pm.Model:
    right = np.indices((2, N_ITEMS)).sum(axis=0) % N_ANSWERS
    shown = np.full((2, N_ITEMS), N_ANSWERS)
    return models.item_margins(right, shown, m=ALTERNATIVES, link=link)


def _data_of_groups(truth: Values, rng: np.random.Generator, link: Link = "m_afc") -> Values:
    """Strengths of two groups, those of the second around what those of the first let expect."""
    rho, mean, sd = (truth[name] for name in ("rho", "strength_mean", "strength_sd"))
    first, apart = rng.normal(size=(2, N_ITEMS))
    second = rho * first + np.sqrt(1 - rho**2) * apart
    strength = mean[:, None] + sd[:, None] * np.stack([first, second])
    answers = np.broadcast_to(strength, (N_ANSWERS, *strength.shape))
    return {
        "strength_first": strength[0],
        "strength_second": strength[1],
        "strength": strength,
        "right": right_answers(answers, ALTERNATIVES, rng, link).sum(axis=0),
    }


def _example() -> pm.Model:
    margins = [1.2, -0.4, 0.9, -1.0, 0.1, 1.1]
    return models.item_margins([9, 3, 7, 1, 6, 8], [10] * 6, margins, m=16)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=("rho", "strength_mean", "strength_sd", "strength"),
    words="30 items, 10 answers of a group each, margins of a machine, 4 alternatives",
    tune=TUNE,
    target_accept=FEW_COUNTS,
)
GROUPS = "30 items, 10 answers of each of 2 groups"
CASE = MAIN._replace(
    branches={
        "probit": MAIN.branch(
            "30 items, 10 answers of a group each, margins of a machine, probit link",
            functools.partial(_design, "probit"),
            simulate=functools.partial(_data, link="probit"),
        ),
        "two_groups": MAIN.branch(
            f"{GROUPS}, 4 alternatives", _design_of_groups, simulate=_data_of_groups
        ),
        "two_groups_probit": MAIN.branch(
            f"{GROUPS}, probit link",
            functools.partial(_design_of_groups, "probit"),
            simulate=functools.partial(_data_of_groups, link="probit"),
        ),
    }
)
