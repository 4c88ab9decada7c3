"""Observer margins: calibration with observers, repeats and a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pymc as pm

from alikely import models
from alikely.calibration.ranks import Values
from studies.case import Case, named
from studies.cases._margins import (
    ALTERNATIVES,
    FEW_COUNTS,
    MANY_COUNTS,
    TUNE,
    right_answers,
    with_margins,
    without_margins,
)


class _Design(NamedTuple):
    """Numbers of observers, items and repeats, and options of the model."""

    observers: int = 4
    items: int = 16
    repeats: int = 3
    margins: bool = True

    def model(self) -> pm.Model:
        right = np.indices(self[:2]).sum(axis=0) % (self.repeats + 1)
        margins = np.linspace(-2, 2, self.items) if self.margins else None
        shown = np.full(self[:2], self.repeats)
        return models.observer_margins(right, shown, margins, n_alternatives=ALTERNATIVES)

    def data(self, truth: Values, rng: np.random.Generator) -> Values:
        """Simulate observers with separate strengths of items, which are equal in all repeats."""
        made = (with_margins if self.margins else without_margins)(truth, self.items, rng)
        mean, gain = truth["strength_mean"], np.exp(truth["log_gain"])[:, None]
        own = mean + truth["ability"][:, None] + gain * (made["strength"] - mean)
        # With one response per item, a deviation is part of the noise.
        if self.repeats > 1:
            own = own + truth["stable_sd"] * rng.normal(size=own.shape)
        every = np.broadcast_to(own, (self.repeats, *own.shape))
        answers = right_answers(every, ALTERNATIVES, rng)
        return made | {"right": answers.sum(axis=0)}


def _example() -> pm.Model:
    right = [[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]]
    return models.observer_margins(right, [[2] * 6] * 2, range(6), n_alternatives=16)


MAIN = Case(
    example=_example,
    design=_Design().model,
    simulate=_Design().data,
    quantities=named(
        "rho strength_mean strength_sd strength ability_sd ability log_gain_sd log_gain "
        "stable_sd share ceiling"
    ),
    words="4 observers, 16 items shown 3 times each, margins of a model, 4 alternatives",
    thin=10,
    tune=TUNE,
    target_accept=FEW_COUNTS,
)
OF_REPEATS = ("stable_sd", "ceiling")


def _branch(words: str, design: _Design, target_accept: float = FEW_COUNTS) -> Case:
    lacking = (() if design.margins else ("rho",)) + (() if design.repeats > 1 else OF_REPEATS)
    return MAIN.branch(
        words,
        design.model,
        simulate=design.data,
        quantities=tuple(q for q in MAIN.quantities if q not in lacking),
        target_accept=target_accept,
    )


CASE = MAIN._replace(
    branches={
        "no_margins": _branch("4 observers, 16 items shown 3 times each", _Design(margins=False)),
        "one_answer": _branch(
            "4 observers, 48 items shown once each, margins of a model", _Design(4, 48, 1)
        ),
        "one_answer_no_margins": _branch(
            "4 observers, 48 items shown once each", _Design(4, 48, 1, margins=False)
        ),
        "many_repeats": _branch(
            "4 observers, 16 items shown 8 times each, margins of a model", _Design(repeats=8)
        ),
        "many_answers": _branch(
            "4 observers, 200 items shown once each, margins of a model", _Design(4, 200, 1)
        ),
        "many_answers_repeated": _branch(
            "4 observers, 50 items shown 4 times each, margins of a model", _Design(4, 50, 4)
        ),
        "many_counts": _branch(
            "20 observers, 200 items shown once each, margins of a model",
            _Design(20, 200, 1),
            MANY_COUNTS,
        ),
    }
)
