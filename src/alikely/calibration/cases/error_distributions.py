"""Error distributions, put to the test on four systems."""

from __future__ import annotations

import numpy as np
import pymc as pm
import xarray as xr
from scipy.spatial.distance import jensenshannon

from alikely import models
from alikely.calibration.case import N_REPLICATES, Case
from alikely.calibration.ranks import Values
from alikely.errors.posteriors import error_divergence_draws, error_row_draws
from alikely.metrics.dense_rows import drop_true, insert_true

ERRORS = np.array([[20, 5, 60, 0], [30, 10, 40, 2], [10, 20, 50, 4], [20, 20, 20, 20]])


def _design() -> pm.Model:
    rows = np.zeros((4, 4, 4), dtype=int)
    rows[:, np.arange(4), (np.arange(4) + 1) % 4] = ERRORS
    return models.error_distributions(rows)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    base, concentration = drop_true(truth["base"]), truth["concentration"]
    n_classes = len(base)
    alpha = concentration[:, None] * (n_classes - 1) * base
    rows = np.array([[rng.dirichlet(a) for a in alpha] for _ in ERRORS])
    counts = np.array(
        [
            [rng.multinomial(n, row) for n, row in zip(number, of_system, strict=True)]
            for number, of_system in zip(ERRORS, rows, strict=True)
        ]
    )
    divergence = []
    for a, b in zip(*np.triu_indices(len(rows), 1), strict=True):
        weight = ERRORS[a] + ERRORS[b]
        by_class = jensenshannon(rows[a], rows[b], base=2, axis=-1) ** 2
        divergence.append((weight * by_class).sum() / weight.sum())
    return {"errors": counts, "error_divergence": np.array(divergence)}


def _error_divergence(draws: Values, data: Values, rng: np.random.Generator) -> Values:
    dims = ("chain", "draw", "true_class", "response_class")
    posterior = xr.Dataset(
        {
            "base": (dims, draws["base"][None]),
            "concentration": (dims[:3], draws["concentration"][None]),
        }
    )
    counts = np.asarray(insert_true(data["errors"], data["errors"].shape[-2]))
    rows = error_row_draws(posterior, counts, rng)
    return {"error_divergence": error_divergence_draws(rows, counts)}


def _resampled_rows(data: Values, rng: np.random.Generator) -> Values:
    errors = data["errors"]
    number = errors.sum(axis=-1)
    shares = errors / np.maximum(number, 1)[..., None]
    # The last share takes what is left of 1, all of it where there is no error to resample.
    drawn = rng.multinomial(number, shares, size=(N_REPLICATES, *number.shape))
    again = insert_true(drawn / np.maximum(number, 1)[..., None], errors.shape[-2])
    counts = np.asarray(insert_true(errors, errors.shape[-2]))
    return {"error_divergence": error_divergence_draws(again, counts)}


def _example() -> pm.Model:
    rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    return models.error_distributions(rows)


CASE = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=("base", "base_sd", "spread", "class_sd", "concentration"),
    words="4 systems, 4 classes, 0 to 60 errors of a class",
    derive=_error_divergence,
    derived=("error_divergence",),
    replicate=_resampled_rows,
)
