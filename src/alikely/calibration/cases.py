"""How each model of the catalogue is put to the test: a design, and its story told again in NumPy.

The simulators are written from the models' cards, not from their code, so that a mistake in a
likelihood cannot hide in both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

from alikely import models
from alikely._error_rows import drop_true, insert_true
from alikely.calibration.ranks import Derive, Replicate, Simulate, Values
from alikely.datasets import load_example
from alikely.error_posteriors import error_divergence_draws, error_row_draws
from alikely.metrics import ERROR_CONSISTENCY
from alikely.models.cohort import cohort_layout
from alikely.simulate import cohort as simulated_cohort
from alikely.tables import cohort_counts, joint_correctness

__all__ = ["CASES", "Case"]

Floats = NDArray[np.float64]


class Case(NamedTuple):
    """How a model is put to the test.

    Attributes
    ----------
    example : callable
        Builds the model on the small fixed data of its card.
    design : callable
        Builds the model in the size in which it is simulated.
    simulate, quantities, derive, replicate
        As in `alikely.sbc`.
    words : str
        The design, for the card.
    n, thin
        Number of simulations, and how many draws of the chains lie between two that are ranked.
    """

    example: Callable[[], pm.Model]
    design: Callable[[], pm.Model]
    simulate: Simulate
    quantities: tuple[str, ...]
    words: str
    n: int = 200
    thin: int = 20
    derive: Derive | None = None
    replicate: Replicate | None = None


ONE_PAIR = [100, 20, 20, 20]

N_REPLICATES = 500
# Pairs of observers.
SHOWN = np.array([40, 160])


def _two_pairs(build: Callable[..., pm.Model]) -> pm.Model:
    return build(np.array([[n, 0, 0, 0] for n in SHOWN]))


def _copying_data(truth: Values, rng: np.random.Generator) -> Values:
    a = rng.binomial(SHOWN, truth["p_a"])
    n11 = rng.binomial(a, truth["u"])
    n01 = rng.binomial(SHOWN - a, truth["v"])
    return {"cells": np.stack([n11, a - n11, n01, SHOWN - a - n01], axis=-1)}


def _resampled_cells(data: Values, rng: np.random.Generator) -> Values:
    cells = data["cells"]
    shares = cells / cells.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(cells.sum(axis=1), shares, size=(N_REPLICATES, len(cells)))
    return {"error_consistency": ERROR_CONSISTENCY.value(drawn)}


def _independent_data(truth: Values, rng: np.random.Generator) -> Values:
    cells = []
    for n, p_a, p_b in zip(SHOWN, truth["p_a"], truth["p_b"], strict=True):
        a, b = rng.random(n) < p_a, rng.random(n) < p_b
        cells.append([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()])
    return {"cells": np.array(cells)}


# Humans and machines over conditions.
@functools.cache
def _experiment(n_humans: int, n_trials: int) -> Any:
    conditions = [0.6, 0.8, 0.9]
    return simulated_cohort(
        [0.2, 0.5, 0.8], [0.7] * 3, conditions, 0.4, n_humans=n_humans, n_trials=n_trials, rng=1
    )


@functools.cache
def _pairs() -> xr.Dataset:
    return joint_correctness(_experiment(3, 40), "human-model", "condition")


def _pooled_data(truth: Values, rng: np.random.Generator) -> Values:
    table = _pairs()
    delta = truth["delta_mean"] + truth["delta_sd"] * truth["delta_deviate"]
    for dim, name in (
        ("reference", "observer_a"),
        ("other", "observer_b"),
        ("condition", "condition"),
    ):
        labels = table[name].values.tolist()
        order = list(dict.fromkeys(labels))
        delta = delta + truth[f"{dim}_effect"][[order.index(label) for label in labels]]
    shown = table["cells"].values.sum(axis=1)
    u, v = (1 / (1 + np.exp(-truth["eta"] - sign * delta / 2)) for sign in (1, -1))
    a = rng.binomial(shown, truth["p_a"])
    n11, n01 = rng.binomial(a, u), rng.binomial(shown - a, v)
    return {"cells": np.stack([n11, a - n11, n01, shown - a - n01], axis=-1)}


@functools.cache
def _cohort_counts() -> xr.Dataset:
    return cohort_counts(_experiment(4, 100))


def _cohort_data(truth: Values, rng: np.random.Generator) -> Values:
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


# Errors by class.
ERRORS = np.array([[20, 5, 60, 0], [30, 10, 40, 2], [10, 20, 50, 4], [20, 20, 20, 20]])


def _error_rows() -> pm.Model:
    rows = np.zeros((4, 4, 4), dtype=int)
    rows[:, np.arange(4), (np.arange(4) + 1) % 4] = ERRORS
    return models.error_distributions(rows)


def _error_data(truth: Values, rng: np.random.Generator) -> Values:
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


JOINT_ERRORS = np.array([60, 200])


def _joint_tables() -> pm.Model:
    counts = np.zeros((2, 3, 3, 3), dtype=int)
    counts[:, 0, 1, 1] = JOINT_ERRORS
    return models.class_copying(counts)


def _joint_data(truth: Values, rng: np.random.Generator) -> Values:
    """Error by error: its class, the label of a, and that of b, copied or not."""
    n_classes = 3
    tables = np.zeros((len(JOINT_ERRORS), n_classes, n_classes, n_classes), dtype=int)
    for pair, n in enumerate(JOINT_ERRORS):
        for _ in range(n):
            t = rng.choice(n_classes, p=truth["class_share"][pair])
            a = rng.choice(n_classes, p=_whole(truth["errors_a"][pair, t]))
            own = rng.choice(n_classes, p=_whole(truth["own_errors_b"][pair, t]))
            b = a if rng.random() < truth["copy_probability"][pair] else own
            tables[pair, t, a, b] += 1
    same = np.diagonal(tables, axis1=-2, axis2=-1)
    return {
        "errors_of_a": drop_true(tables.sum(axis=-1)),
        "agreed": drop_true(same),
        "differed": drop_true(tables.sum(axis=-2) - same),
    }


def _whole(p: Floats) -> Floats:
    return p / p.sum()


# Items of some strength.
N_ITEMS, N_ANSWERS, ALTERNATIVES = 30, 10, 4


def _right(strength: Floats, m: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Right: the evidence for the target is above that for every distractor."""
    target = strength + rng.normal(size=strength.shape)
    return np.asarray(target > rng.normal(size=(m - 1, *strength.shape)).max(axis=0))


def _items() -> pm.Model:
    right = np.arange(N_ITEMS) % N_ANSWERS
    return models.item_margins(
        right, np.full(N_ITEMS, N_ANSWERS), np.linspace(-2, 2, N_ITEMS), m=ALTERNATIVES
    )


def _with_margins(truth: Values, n_items: int, rng: np.random.Generator) -> Values:
    """Margins of any place and unit, and strengths that are correlated with them."""
    z = rng.normal(size=n_items)
    rho = truth["rho"]
    apart = np.sqrt(1 - rho**2) * rng.normal(size=n_items)
    # The model measures margins in units of their own spread, and from their own mean.
    return {
        "margins": 3 + 5 * z,
        "strength": truth["strength_mean"] + truth["strength_sd"] * (rho * z + apart),
        "margin_mean": np.array(-z.mean() / z.std()),
        "margin_sd": np.array(1 / z.std()),
    }


def _items_data(truth: Values, rng: np.random.Generator) -> Values:
    made = _with_margins(truth, N_ITEMS, rng)
    answers = np.broadcast_to(made["strength"], (N_ANSWERS, N_ITEMS))
    return made | {"right": _right(answers, ALTERNATIVES, rng).sum(axis=0)}


CLASSES = np.repeat(np.arange(4), 4)


def _criteria() -> pm.Model:
    answers = np.full((len(CLASSES), 4), 2)
    answers[np.arange(len(CLASSES)), CLASSES] = 4
    return models.class_criteria(answers, CLASSES, np.linspace(-2, 2, len(CLASSES)))


def _criteria_data(truth: Values, rng: np.random.Generator) -> Values:
    """The answer is the class of the most evidence."""
    made = _with_margins(truth, len(CLASSES), rng)
    mean = np.tile(truth["criterion"], (len(CLASSES), 1))
    mean[np.arange(len(CLASSES)), CLASSES] += made["strength"]
    chosen = rng.normal(mean, size=(N_ANSWERS, *mean.shape)).argmax(axis=-1)
    return made | {"answers": (chosen[:, :, None] == np.arange(4)).sum(axis=0)}


OBSERVERS, REPEATS = (4, 16), 3


def _observers() -> pm.Model:
    right = np.indices(OBSERVERS).sum(axis=0) % (REPEATS + 1)
    margins = np.linspace(-2, 2, OBSERVERS[1])
    return models.observer_margins(right, np.full(OBSERVERS, REPEATS), margins, m=ALTERNATIVES)


def _observers_data(truth: Values, rng: np.random.Generator) -> Values:
    """Every observer has items of its own strength, which come back with every repeat."""
    made = _with_margins(truth, OBSERVERS[1], rng)
    mean, gain = truth["strength_mean"], np.exp(truth["log_gain"])[:, None]
    own = mean + truth["ability"][:, None] + gain * (made["strength"] - mean)
    own = own + truth["stable_sd"] * rng.normal(size=OBSERVERS)
    answers = _right(np.broadcast_to(own, (REPEATS, *OBSERVERS)), ALTERNATIVES, rng)
    return made | {"right": answers.sum(axis=0)}


# People in conditions.
PEOPLE, CONDITIONS, ANSWERS = 4, 8, 60
IS_REFERENCE = np.arange(CONDITIONS) < 2


def _conditions() -> pm.Model:
    condition, person = (part.ravel() for part in np.indices((CONDITIONS, PEOPLE)))
    right = np.where(condition < CONDITIONS // 2, 45, 20) + person
    shown = np.full(len(right), ANSWERS)
    return models.spectrum(right, shown, condition, person, IS_REFERENCE, k=2)


def _conditions_data(truth: Values, rng: np.random.Generator) -> Values:
    condition, person = (part.ravel() for part in np.indices((CONDITIONS, PEOPLE)))
    sd = truth["ability_sd"][np.where(IS_REFERENCE, 0, 1)]
    logit = truth["logit_accuracy"][condition]
    logit = logit + sd[condition] * truth["ability_deviate"][person]
    logit = logit + truth["interaction_sd"] * truth["interaction_deviate"]
    return {"right": rng.binomial(ANSWERS, 1 / (1 + np.exp(-logit)))}


def _example_rows() -> pm.Model:
    rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    return models.error_distributions(rows)


def _example_tables() -> pm.Model:
    tables = np.zeros((1, 3, 3, 3), dtype=int)
    tables[0, 0] = [[0, 0, 0], [0, 5, 1], [0, 2, 3]]
    return models.class_copying(tables)


def _example_items() -> pm.Model:
    margins = [1.2, -0.4, 0.9, -1.0, 0.1, 1.1]
    return models.item_margins([9, 3, 7, 1, 6, 8], [10] * 6, margins, m=16)


def _example_criteria() -> pm.Model:
    answers = [[9, 1, 0], [6, 3, 1], [1, 8, 1], [3, 7, 0], [2, 1, 7], [4, 2, 4]]
    margins = [1.2, -0.4, 0.9, 0.1, 0.3, -1.0]
    return models.class_criteria(answers, [0, 0, 1, 1, 2, 2], margins)


def _example_observers() -> pm.Model:
    right = [[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]]
    return models.observer_margins(right, [[2] * 6] * 2, range(6), m=16)


def _example_conditions() -> pm.Model:
    right, condition, person = [90, 80, 95, 40, 50, 30], [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    return models.spectrum(right, [100] * 6, condition, person, [True, False], k=2)


def _example_pairs() -> pm.Model:
    return models.pooled_pairs(joint_correctness(load_example(), "human-model", "condition"))


CASES = {
    "class_copying": Case(
        _example_tables,
        _joint_tables,
        _joint_data,
        (
            "copy_probability",
            "class_share",
            "errors_a",
            "own_errors_b",
            "base_sd",
            "row_sd",
            "misclassification_agreement",
        ),
        "2 pairs, 3 classes, 60 and 200 joint errors",
    ),
    "class_criteria": Case(
        _example_criteria,
        _criteria,
        _criteria_data,
        ("rho", "criterion_sd", "criterion", "strength_mean", "strength_sd", "strength"),
        "16 items of 4 classes, 10 answers each, margins of a machine",
        thin=10,
    ),
    "cohort": Case(
        lambda: models.cohort(cohort_counts(load_example())),
        lambda: models.cohort(_cohort_counts()),
        _cohort_data,
        (
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
        "4 humans and 3 machines, 3 conditions of 100 trials",
    ),
    "copying": Case(
        functools.partial(models.copying, ONE_PAIR),
        functools.partial(_two_pairs, models.copying),
        _copying_data,
        ("p_a", "u", "v", "copy_probability", "own_accuracy", "accuracy", "error_consistency"),
        "2 pairs, 40 and 160 trials",
        n=1_000,
        thin=10,
        replicate=_resampled_cells,
    ),
    "error_distributions": Case(
        _example_rows,
        _error_rows,
        _error_data,
        ("base", "base_sd", "spread", "class_sd", "concentration"),
        "4 systems, 4 classes, 0 to 60 errors of a class",
        derive=_error_divergence,
        replicate=_resampled_rows,
    ),
    "independence": Case(
        functools.partial(models.independence, ONE_PAIR),
        functools.partial(_two_pairs, models.independence),
        _independent_data,
        ("p_a", "p_b"),
        "2 pairs, 40 and 160 trials",
        n=1_000,
        thin=10,
    ),
    "item_margins": Case(
        _example_items,
        _items,
        _items_data,
        ("rho", "strength_mean", "strength_sd", "strength"),
        "30 items, 10 answers of a group each, margins of a machine, 4 alternatives",
    ),
    "observer_margins": Case(
        _example_observers,
        _observers,
        _observers_data,
        (
            "rho",
            "strength_mean",
            "strength_sd",
            "strength",
            "ability_sd",
            "ability",
            "log_gain_sd",
            "log_gain",
            "stable_sd",
            "share",
            "ceiling",
        ),
        "4 observers, 16 items shown 3 times each, margins of a machine, 4 alternatives",
        thin=10,
    ),
    "pooled_pairs": Case(
        _example_pairs,
        lambda: models.pooled_pairs(_pairs()),
        _pooled_data,
        (
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
        "3 humans and 3 machines, 3 conditions of 40 trials",
        thin=40,
        replicate=_resampled_cells,
    ),
    "spectrum": Case(
        _example_conditions,
        _conditions,
        _conditions_data,
        (
            "lowest_mean",
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
        "8 conditions, 2 of them the reference, 4 people of 60 answers in each, 2 regimes",
        thin=40,
    ),
}
