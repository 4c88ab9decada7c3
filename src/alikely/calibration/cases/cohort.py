"""The cohort copy model, put to the test on humans and machines over conditions."""

from __future__ import annotations

import functools

import numpy as np
import xarray as xr

from alikely import models
from alikely.calibration.case import Case
from alikely.calibration.cases._pairs import experiment
from alikely.calibration.ranks import Values
from alikely.data.tables import cohort_counts
from alikely.datasets.loaders import load_example
from alikely.models.cohorts import cohort_layout


@functools.cache
def _cohort_counts() -> xr.Dataset:
    return cohort_counts(experiment(4, 100))


def _data(truth: Values, rng: np.random.Generator) -> Values:
    """Trials of a probability of their own, answered by 4 humans; machines copy one or do not."""
    layout = cohort_layout(_cohort_counts())
    mu, phi = truth["human_accuracy"], 1 / truth["human_error_consistency"] - 1
    alpha, beta = mu * phi, (1 - mu) * phi
    n_humans, n_trials = 4, 100
    easy = rng.beta(alpha[:, None], beta[:, None], (len(mu), n_trials))
    s = rng.binomial(n_humans, easy)
    counts = (s[:, :, None] == np.arange(n_humans + 1)).sum(axis=1)
    right = []
    for entry, stratum in zip(layout["entry_of_row"], layout["stratum_of_row"], strict=True):
        condition = layout["condition_of_entry"][entry]
        k = stratum % (n_humans + 1)
        # Machines share no more than these counts, which is all that the model knows of them.
        shape = alpha[condition] + k, beta[condition] + n_humans - k
        again = rng.beta(*shape, counts[condition, k])
        p = truth["right_alone"][entry] + truth["copy_probability"][entry] * again
        right.append((rng.random(len(again)) < p).sum())
    shown = counts[
        layout["condition_of_entry"][layout["entry_of_row"]],
        layout["stratum_of_row"] % (n_humans + 1),
    ]
    return {"human_data_4": counts, "shown": shown, "right": np.array(right)}


CASE = Case(
    example=lambda: models.cohort(cohort_counts(load_example())),
    design=lambda: models.cohort(_cohort_counts()),
    simulate=_data,
    quantities=(
        "human_level_mean",
        "human_level_sd",
        "human_level",
        "human_consistency_mean",
        "human_consistency_sd",
        "human_consistency_dataset_share",
        "level_mean",
        "level_sd",
        "level_condition_sd",
        "level_machine_sd",
        "log_odds_ratio_mean",
        "log_odds_ratio_sd",
        "log_odds_ratio_machine_sd",
        "log_odds_ratio_condition_sd",
        "human_accuracy",
        "human_error_consistency",
        "accuracy",
        "right_alone",
        "copy_probability",
        "error_consistency",
    ),
    words="4 humans and 3 machines, 3 conditions of 100 trials",
)
