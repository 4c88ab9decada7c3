"""Error distributions: calibration with four systems."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

from alikely import models
from alikely.calibration.ranks import Values
from alikely.errors.paired import divergence, log_gamma_shares
from alikely.metrics.rows import drop_true, insert_true
from studies.case import Case, named

ERRORS = np.array([[20, 5, 60, 0], [30, 10, 40, 2], [10, 20, 50, 4], [20, 20, 20, 20]])


N_CLASSES = 4


def _errors(n_systems: int) -> NDArray[np.int64]:
    return np.resize(ERRORS, (n_systems, N_CLASSES))


def _design(n_systems: int = 4) -> pm.Model:
    rows = np.zeros((n_systems, N_CLASSES, N_CLASSES), dtype=int)
    here = np.arange(N_CLASSES)
    rows[:, here, (here + 1) % N_CLASSES] = _errors(n_systems)
    return models.error_distributions(rows)


def _data(truth: Values, rng: np.random.Generator, n_systems: int = 4) -> Values:
    logit = truth.get("base_logit")
    logits = truth["base_sd"] * truth["base_deviate"] if logit is None else logit
    base = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    alpha = truth["concentration"][:, None] * (N_CLASSES - 1) * base
    errors = _errors(n_systems)
    rows = np.array([[rng.dirichlet(a) for a in alpha] for _ in errors])
    counts = np.array(
        [
            [rng.multinomial(n, row) for n, row in zip(number, of_system, strict=True)]
            for number, of_system in zip(errors, rows, strict=True)
        ]
    )
    divergence = []
    for a, b in zip(*np.triu_indices(len(rows), 1), strict=True):
        weight = errors[a] + errors[b]
        by_class = jensenshannon(rows[a], rows[b], base=2, axis=-1) ** 2
        divergence.append((weight * by_class).sum() / weight.sum())
    whole = np.asarray(insert_true(base, N_CLASSES))
    return {"errors": counts, "base": whole, "error_divergence": np.array(divergence)}


def _error_divergence(draws: Values, data: Values, rng: np.random.Generator) -> Values:
    counts = data["errors"]
    prior = draws["concentration"][..., None] * (N_CLASSES - 1) * drop_true(draws["base"])
    rows = log_gamma_shares(prior[:, None] + counts, rng)
    a, b = np.triu_indices(len(counts), 1)
    weight = counts.sum(axis=-1)[a] + counts.sum(axis=-1)[b]
    apart = divergence(rows[:, a], rows[:, b], 0.5)
    return {"error_divergence": (weight * apart).sum(axis=-1) / weight.sum(axis=-1)}


def _example() -> pm.Model:
    rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    return models.error_distributions(rows)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=named("base base_sd spread class_sd concentration"),
    words="4 systems, 4 classes, 0 to 60 errors of a class",
    target_accept=0.9,
    derive=_error_divergence,
    derived=("error_divergence",),
)


CASE = MAIN._replace(
    branches={
        # As in the function, for ten systems and more.
        "many_systems": MAIN.branch(
            "10 systems, 4 classes, 0 to 60 errors of a class",
            functools.partial(_design, 10),
            simulate=functools.partial(_data, n_systems=10),
            target_accept=0.95,
        )
    }
)
