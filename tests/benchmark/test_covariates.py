"""Covariates of the cohort: effects recovered, contrasts by hand, what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special

import alikely as al

FAMILIES = np.repeat(["cnn", "hybrid", "vit"], 4)
N_TRIALS, N_HUMANS = 120, 4
HUMAN_ACCURACY = np.array([0.75, 0.65, 0.85])
HUMAN_CONSISTENCY = 0.45


class World(NamedTuple):
    """A simulated benchmark and what is true of its families: (family, other) differences."""

    trials: al.Trials
    log_odds_ratio: np.ndarray
    copy_probability: np.ndarray
    error_consistency: np.ndarray


def table_of(log_odds_ratio: float, human: float, machine: float) -> tuple[float, float]:
    """P(machine right | copied human wrong) and the copy probability, by finding P(both right)."""
    odds = np.exp(log_odds_ratio)

    def off(both: float) -> float:
        neither = 1 - human - machine + both
        return both * neither - odds * (human - both) * (machine - both)

    both = optimize.brentq(off, max(0.0, human + machine - 1), min(human, machine), xtol=1e-14)
    alone = (machine - both) / (1 - human)
    return alone, both / human - alone


def world(effect: float, rng: np.random.Generator) -> World:
    """Twelve machines of three families that copy humans, trial by trial, and differ in accuracy.

    Machines vary about their family; families by `effect` in the log odds ratio, and by half a
    logit in accuracy.
    """
    family = np.repeat(np.arange(3), 4)
    shift = effect * np.array([-1.0, 0.0, 1.0])
    cells = (len(family), len(HUMAN_ACCURACY))
    own = rng.normal(1.6, 0.5, (cells[0], 1)) + rng.normal(0, [0.2, 0.2, 0.2], cells)
    easy = np.array([0.2, -0.4, 0.6])
    logit = 0.6 + 0.5 * (family - 1)[:, None] + easy + rng.normal(0, 0.4, (cells[0], 1))
    accuracy = special.expit(logit + rng.normal(0, 0.2, cells))
    # What each machine would do as a member of each family.
    tables = np.array(
        [
            [
                [
                    table_of(own[m, c] + moved, HUMAN_ACCURACY[c], accuracy[m, c])
                    for c in range(cells[1])
                ]
                for m in range(cells[0])
            ]
            for moved in shift
        ]
    )
    alone, copying = np.moveaxis(tables, -1, 0)
    mu = HUMAN_ACCURACY
    variance = mu * (1 - mu) * HUMAN_CONSISTENCY
    alike = 2 * copying * variance / (mu * (1 - accuracy) + (1 - mu) * accuracy)
    phi = 1 / HUMAN_CONSISTENCY - 1
    blocks = []
    for c in range(cells[1]):
        p = rng.beta(mu[c] * phi, (1 - mu[c]) * phi, N_TRIALS)
        humans = rng.random((N_HUMANS, N_TRIALS)) < p
        copied = rng.random((cells[0], N_TRIALS)) < p
        here = alone[family, np.arange(cells[0]), c], copying[family, np.arange(cells[0]), c]
        machines = rng.random(copied.shape) < here[0][:, None] + here[1][:, None] * copied
        blocks.append(np.concatenate([humans, machines]))
    trials = al.Trials.from_correct(
        np.concatenate(blocks, axis=1).astype(int),
        observers=[f"h{i}" for i in range(N_HUMANS)] + [f"m{i:02}" for i in range(cells[0])],
        kind=["human"] * N_HUMANS + ["model"] * cells[0],
        condition=np.repeat(["a", "b", "c"], N_TRIALS),
    )
    means = copying.mean(axis=(1, 2)), alike.mean(axis=(1, 2))
    return World(trials, shift, *means)


def family_table(trials: al.Trials) -> pd.DataFrame:
    machines = [name for name in trials.observers if name.startswith("m")]
    return pd.DataFrame({"family": FAMILIES}, index=machines)


def model_data(trials: al.Trials) -> dict[str, Any]:
    """What differs between models of two benchmarks of one shape."""
    model = al.models.cohort(al.data.cohort_counts(trials))
    return {variable.name: variable.get_value() for variable in model.data_vars}
