"""Partially pooled pairs, put to the test on humans and machines over conditions."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm
import xarray as xr

from alikely import models, simulate
from alikely.calibration.case import Case
from alikely.calibration.cases._pairs import experiment, resampled_cells
from alikely.calibration.ranks import Values
from alikely.data.tables import joint_correctness


@functools.cache
def _pairs(n_humans: int = 3, n_conditions: int = 3) -> xr.Dataset:
    shown = experiment(n_humans, 40, 3, n_conditions)
    return joint_correctness(shown, "human-model", "condition")


def _design(*size: int) -> pm.Model:
    return models.pooled_pairs(_pairs(*size))


def _data(truth: Values, rng: np.random.Generator, size: tuple[int, ...] = ()) -> Values:
    table = _pairs(*size)
    delta = truth["delta_mean"] + truth["delta_sd"] * truth["delta_deviate"]
    for dim, name in (
        ("reference", "observer_a"),
        ("other", "observer_b"),
        ("condition", "condition"),
    ):
        if f"{dim}_effect" not in truth:
            continue  # one level has no effect
        labels = table[name].values.tolist()
        order = list(dict.fromkeys(labels))
        delta = delta + truth[f"{dim}_effect"][[order.index(label) for label in labels]]
    shown = table["cells"].values.sum(axis=1)
    u, v = (1 / (1 + np.exp(-truth["eta"] - sign * delta / 2)) for sign in (1, -1))
    a = rng.binomial(shown, truth["p_a"])
    n11, n01 = rng.binomial(a, u), rng.binomial(shown - a, v)
    return {"cells": np.stack([n11, a - n11, n01, shown - a - n01], axis=-1)}


def _example() -> pm.Model:
    return models.pooled_pairs(joint_correctness(simulate.example(), "human-model", "condition"))


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=(
        "p_a",
        "eta",
        "delta_mean",
        "delta_sd",
        "reference_sd",
        "other_sd",
        "condition_sd",
        "reference_effect",
        "other_effect",
        "condition_effect",
        "copy_probability",
        "error_consistency",
    ),
    words="3 humans and 3 machines, 3 conditions of 40 trials",
    thin=40,
    replicate=resampled_cells,
)
NOT_OF_FEW = ("reference_sd", "condition_sd", "condition_effect")
CASE = MAIN._replace(
    branches={
        "few_levels": MAIN.branch(
            "2 humans and 3 machines, 1 condition of 40 trials",
            functools.partial(_design, 2, 1),
            simulate=functools.partial(_data, size=(2, 1)),
            quantities=tuple(q for q in MAIN.quantities if q not in NOT_OF_FEW),
        )
    }
)
