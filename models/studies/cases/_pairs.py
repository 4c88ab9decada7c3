"""What the cases of pairs of observers share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm

from alikely.calibration.ranks import Values
from alikely.metrics import ERROR_CONSISTENCY
from alikely.simulate import cohort as simulated_cohort
from studies.case import N_REPLICATES

ONE_PAIR = [100, 20, 20, 20]
SHOWN = np.array([40, 160])


def two_pairs(build: Callable[..., pm.Model]) -> pm.Model:
    """Build a model of as many trials as are shown; what they say is simulated."""
    return build(np.array([[n, 0, 0, 0] for n in SHOWN]))


def resampled_cells(data: Values, rng: np.random.Generator) -> Values:
    """Bootstrap of trials: cells drawn again in their own shares."""
    cells = data["cells"]
    shares = cells / cells.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(cells.sum(axis=1), shares, size=(N_REPLICATES, len(cells)))
    return {"error_consistency": ERROR_CONSISTENCY.value(drawn)}


@functools.cache
def experiment(n_humans: int, n_trials: int, n_machines: int = 3, n_conditions: int = 3) -> Any:
    """Humans and machines over conditions."""
    copying = np.resize([0.2, 0.5, 0.8], n_machines)
    conditions = np.resize([0.6, 0.8, 0.9], n_conditions)
    return simulated_cohort(
        copying, [0.7] * n_machines, conditions, 0.4, n_humans=n_humans, n_trials=n_trials, rng=1
    )
