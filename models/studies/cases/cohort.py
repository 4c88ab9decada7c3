"""Cohort copy model: calibration with humans and models in several conditions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from alikely import models
from alikely._base.arrays import Floats
from alikely.calibration.ranks import Values
from alikely.data.cohorts import cohort_counts
from alikely.datasets.loaders import load_example
from alikely.models.cohorts import cohort_layout
from alikely.simulate import cohort as simulated_cohort
from studies.case import Case, named

N_HUMANS, N_TRIALS = 4, 100
SMALL = (3, 3)
# As in the public function, for fewer than 10 conditions and for more.
SHORT_STEPS, LONG_STEPS = 0.99, 0.9
# Grid of the latent easiness of trials; steps are too small to matter with 100 trials.
EASE = np.linspace(-6, 6, 601)


@functools.cache
def _cohort_counts(n_models: int, n_conditions: int, by_person: bool = False) -> xr.Dataset:
    copying, easy = np.resize([0.2, 0.5, 0.8], n_models), np.resize([0.6, 0.8, 0.9], n_conditions)
    alone = [0.7] * n_models
    trials = simulated_cohort(
        copying, alone, easy, 0.4, n_humans=N_HUMANS, n_trials=N_TRIALS, rng=1
    )
    return cohort_counts(trials, who_was_right=by_person)


def _design(
    size: tuple[int, int] = SMALL,
    human_effects: Literal["drawn", False] = False,
) -> pm.Model:
    counts = _cohort_counts(*size, human_effects == "drawn")
    return models.cohort(counts, human_effects=human_effects)


def _data(truth: Values, rng: np.random.Generator, size: tuple[int, int] = SMALL) -> Values:
    """Trials with separate probabilities, answered by 4 humans; models copy one of them or not."""
    mu, phi = truth["human_accuracy"], 1 / truth["human_error_consistency"] - 1
    alpha, beta = mu * phi, (1 - mu) * phi
    easy = rng.beta(alpha[:, None], beta[:, None], (len(mu), N_TRIALS))
    counts = _by_number(rng.binomial(N_HUMANS, easy))

    def again(condition: int, k: int, n: int) -> Floats:
        return rng.beta(alpha[condition] + k, beta[condition] + N_HUMANS - k, n)

    return {"human_data_4": counts, **_models(truth, counts, again, size, rng)}


def _data_of_people(
    truth: Values, rng: np.random.Generator, size: tuple[int, int] = SMALL
) -> Values:
    """Humans from a population with different accuracies and slopes; models with separate ones."""
    counts = _cohort_counts(*size, True)
    layout = cohort_layout(counts)
    ability, log_loading = truth["ability"], np.log(truth["loading"])
    spread = np.exp(truth["human_spread_condition"])

    def right(condition: int, ease: Floats) -> Floats:
        """Probabilities (image, human); levels and spreads are means over these humans."""
        slope = spread[condition] * np.exp(log_loading - log_loading.mean())
        level = truth["human_level"][condition] + ability - ability.mean()
        return _curve(level, slope, ease)

    patterns, place = counts["answers"].values, counts["stratum_condition"].values
    found = np.zeros(len(place), dtype=np.int64)
    for c in range(size[1]):
        p = right(c, rng.normal(size=N_TRIALS))
        answers = rng.random(p.shape) < p
        here = (answers[:, None] == patterns).all(axis=2) & (place == c)
        found += here.sum(axis=0)

    shown = found[layout["stratum_of_row"]]
    correct = []
    for stratum, entry, n in zip(
        layout["stratum_of_row"], layout["entry_of_row"], shown, strict=True
    ):
        c = place[stratum]
        of_humans = right(c, EASE)
        likely = np.where(patterns[stratum] == 1, of_humans, 1 - of_humans).prod(axis=1)
        weight = np.exp(-(EASE**2) / 2) * likely
        ease = EASE[rng.choice(len(EASE), n, p=weight / weight.sum())]
        slope = spread[c] * truth["following"][entry]
        p = _curve(truth["level"][[entry]], slope, ease)[:, 0]
        correct.append((rng.random(n) < p).sum())
    return {"human_data": found, "shown": shown, "right": np.array(correct)}


def _curve(level: Floats, slope: Floats, ease: Floats) -> Floats:
    """Averaging over images flattens a logistic curve; levels refer to accuracies."""
    return _logistic(level * np.sqrt(1 + 0.346 * slope**2) + slope * ease[:, None])


def _by_number(s: NDArray[np.int64]) -> NDArray[np.int64]:
    """Trials by the number of correct humans."""
    return (s[:, :, None] == np.arange(N_HUMANS + 1)).sum(axis=1)


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _models(
    truth: Values,
    counts: NDArray[np.int64],
    again: Callable[[int, int, int], Floats],
    size: tuple[int, int],
    rng: np.random.Generator,
) -> Values:
    """Responses of models, which share no more than these counts."""
    layout = cohort_layout(_cohort_counts(*size))
    condition = layout["condition_of_entry"][layout["entry_of_row"]]
    number = layout["stratum_of_row"] % (N_HUMANS + 1)
    shown = counts[condition, number]
    right = []
    for row, entry in enumerate(layout["entry_of_row"]):
        own, copied = truth["right_alone"][entry], truth["copy_probability"][entry]
        p = own + copied * again(condition[row], number[row], shown[row])
        right.append((rng.random(shown[row]) < p).sum())
    return {"shown": shown, "right": np.array(right)}


MAIN = Case(
    example=lambda: models.cohort(cohort_counts(load_example())),
    design=_design,
    simulate=_data,
    quantities=named(
        "human_level_mean human_level_sd human_level human_consistency_mean "
        "human_consistency_sd human_consistency_dataset_share level_mean level_sd "
        "level_condition_sd level_model_sd log_odds_ratio_mean log_odds_ratio_sd "
        "log_odds_ratio_model_sd log_odds_ratio_condition_sd human_accuracy "
        "human_error_consistency accuracy right_alone copy_probability error_consistency"
    ),
    words="4 humans and 3 models, 3 conditions of 100 trials",
    target_accept=SHORT_STEPS,
)
SPREADS = ("human_spread_mean", "human_spread_sd", "human_spread_dataset_share")
OF_PEOPLE = (
    *SPREADS, "ability_sd", "ability", "loading_sd", "loading", "human_error_consistency_these",
    "following_mean", "following_sd", "following_model_sd", "following_condition_sd", "following",
    "error_consistency_these",
)  # fmt: skip
OF_MANY = tuple(q for q in MAIN.quantities if not q.startswith("human_consistency"))
# With one model or two conditions, standard deviations are fixed.
GIVEN = tuple(q for q in MAIN.quantities if q.endswith(("level_sd", "_model_sd", "_condition_sd")))


def _sized(words: str, size: tuple[int, int], target_accept: float = SHORT_STEPS) -> Case:
    return MAIN.branch(
        f"4 humans and {words} of 100 trials",
        functools.partial(_design, size),
        simulate=functools.partial(_data, size=size),
        target_accept=target_accept,
    )


CASE = MAIN._replace(
    branches={
        "people": MAIN.branch(
            f"{MAIN.words}; humans as a sample from a population",
            functools.partial(_design, human_effects="drawn"),
            simulate=_data_of_people,
            quantities=OF_PEOPLE + tuple(q for q in OF_MANY if not q.startswith("log_odds")),
            target_accept=LONG_STEPS,
            # Draws are less correlated.
            thin=5,
        ),
        "few_levels": _sized("1 model, 2 conditions", (1, 2))._replace(
            quantities=tuple(q for q in MAIN.quantities if q not in GIVEN)
        ),
        "many_models": _sized("10 models, 3 conditions", (10, 3)),
        "many_conditions": _sized("3 models, 10 conditions", (3, 10), LONG_STEPS),
        "many": _sized("10 models, 10 conditions", (10, 10), LONG_STEPS),
    }
)
