"""Agreement of few joint errors: do intervals of pairs, of means and of differences hold.

References
----------
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely._base.intervals import bound_names
from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.estimates.errors import misclassification_agreement
from alikely.estimates.result import Result, School
from alikely.estimates.weighted_sums import contrast
from alikely.inference.sampling import Sampler
from studies.simulators.labels import label_trials, shared_label_agreement

__all__ = ["POPULATIONS", "agreement_coverage", "agreement_grid"]

# How often a label is given, next to the one before it, where some are liked better.
SKEWED = 0.6
# Mean Dirichlet parameter of labels in rows that true classes invite, and its seed.
INVITED, INVITING = 0.4, 11
# Of trials that both may get right: that a system errs. One in four is a joint error.
ERRING = 0.5
N_OBSERVERS = 4
CI_PROB = 0.95
# Method, the sampler of the door that it takes, and the school.
METHODS: dict[str, tuple[Sampler, School]] = {
    "analytic": ("auto", "analytic"),
    "bootstrap": ("auto", "bootstrap"),
    "bca": ("auto", "bca"),
    "exact": ("exact", "posterior"),
    "auto": ("auto", "posterior"),
}


def _wrong(liking: Floats) -> Floats:
    out = liking.copy()
    np.fill_diagonal(out, 0)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _uniform(k: int) -> list[Floats]:
    return [_wrong(np.ones((k, k)))] * N_OBSERVERS


def _skewed(k: int) -> list[Floats]:
    return [_wrong(np.tile(SKEWED ** np.arange(k), (k, 1)))] * N_OBSERVERS


def _different(k: int) -> list[Floats]:
    row = np.tile(SKEWED ** np.arange(k), (k, 1))
    return [_wrong(np.roll(row, step * k // N_OBSERVERS, axis=1)) for step in range(N_OBSERVERS)]


def _invited(k: int) -> list[Floats]:
    rng = np.random.default_rng(INVITING)
    return [_wrong(rng.gamma(INVITED, size=(k, k)))] * N_OBSERVERS


def _invited_apart(k: int) -> list[Floats]:
    rng = np.random.default_rng(INVITING)
    return [_wrong(rng.gamma(INVITED, size=(k, k))) for _ in range(N_OBSERVERS)]


# Rows of wrong labels of four systems: by the number of classes.
POPULATIONS: dict[str, Callable[[int], list[Floats]]] = {
    "uniform": _uniform,
    "skewed": _skewed,
    "different": _different,
    "invited": _invited,
    "invited apart": _invited_apart,
}


def agreement_grid(
    n_joint_errors: Sequence[int] = (5, 10, 20, 40, 80),
    copy_probability: Sequence[float] = (0.0, 0.5, 0.8),
    n_classes: Sequence[int] = (4, 8, 16),
) -> pd.DataFrame:
    """Settings of `agreement_coverage`: all populations, joint errors fixed and random."""
    names = ("population", "n_classes", "copy_probability", "n_joint_errors", "random")
    values = (POPULATIONS, n_classes, copy_probability, n_joint_errors, (False, True))
    return pd.DataFrame(itertools.product(*values), columns=list(names))


def agreement_coverage(
    grid: pd.DataFrame | None = None,
    *,
    n_observers: int = 2,
    n_datasets: int = 200,
    n_draws: int = 1_000,
    methods: Sequence[str] = tuple(METHODS),
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """How often 95 % intervals of misclassification agreement contain the truth."""
    if n_observers not in (2, N_OBSERVERS):
        raise ValueError(f"n_observers must be 2 or {N_OBSERVERS}, got {n_observers}")
    chosen = agreement_grid() if grid is None else grid
    unknown = sorted(set(chosen["population"]) - set(POPULATIONS))
    if unknown:
        raise ValueError(f"population must be one of {', '.join(POPULATIONS)}, got {unknown[0]!r}")
    if odd := [name for name in methods if name not in METHODS]:
        raise ValueError(f"methods must be among {', '.join(METHODS)}, got {odd[0]!r}")
    common = {
        "n_observers": n_observers,
        "n_datasets": n_datasets,
        "n_draws": n_draws,
        "methods": ", ".join(name for name in METHODS if name in methods),
    }
    cells = [
        {
            "population": str(row.population),
            "n_classes": int(row.n_classes),
            "copy_probability": float(row.copy_probability),
            "n_joint_errors": int(row.n_joint_errors),
            "random": bool(row.random),
        }
        | common
        for row in chosen.itertuples()
    ]
    table = run_study(_setting, cells, folder, rng=rng)
    return table.drop(columns=[*common])


def _setting(
    population: str,
    n_classes: int,
    copy_probability: float,
    n_joint_errors: int,
    random: bool,
    n_observers: int,
    n_datasets: int,
    n_draws: int,
    methods: str,
    seed: Any,
) -> list[dict[str, Any]]:
    data, drawing = seed.spawn(2)
    rows = POPULATIONS[population](n_classes)
    shared = np.mean(rows, axis=0)
    chance = ERRING if random else 1.0
    trials = label_trials(
        rows[:n_observers],
        shared,
        copy_probability,
        round(n_joint_errors / chance**2),
        error_probability=chance,
        n_datasets=n_datasets,
        rng=data,
    )
    truth = shared_label_agreement(rows[:n_observers], shared, copy_probability)
    of_pairs = truth[np.triu_indices(n_observers, 1)]
    found: list[dict[str, Any]] = []
    asked = {name: METHODS[name] for name in methods.split(", ")}
    resampled = any(school in ("bootstrap", "bca") for _, school in asked.values())
    results = {
        sampler: misclassification_agreement(
            trials,
            n_resamples=n_draws if resampled and sampler == "auto" else 0,
            n_draws=n_draws,
            sampler=sampler,
            # A copy: seeds of one posterior are not to hang on whether the other was drawn.
            rng=copy.deepcopy(drawing),
        )
        for sampler in dict.fromkeys(sampler for sampler, _ in asked.values())
    }
    if n_observers == 2:
        for method, (sampler, school) in asked.items():
            frame = results[sampler].summary(CI_PROB, "eti", [school])
            kind = "ci" if school in ("analytic", "bca") else "eti"
            ends = frame[list(bound_names(school, kind, CI_PROB))].to_numpy()
            found.append({"of": "pair", "method": method} | _held(ends, of_pairs[0]))
        return found
    for of, weights in _contrasts(len(of_pairs)).items():
        tables = {name: _contrasted(result, weights) for name, result in results.items()}
        for method, (sampler, school) in asked.items():
            if school in tables[sampler]:
                held = _held(tables[sampler][school], float(weights @ of_pairs))
                found.append({"of": of, "method": method} | held)
    return found


def _contrasts(n_pairs: int) -> dict[str, Floats]:
    first, second = np.eye(n_pairs)[:2]
    return {"mean": np.full(n_pairs, 1 / n_pairs), "difference": first - second}


def _contrasted(result: Result, weights: Floats) -> dict[str, Floats]:
    """Bounds of a weighted sum of the pairs of each data set, (data set, 2), by school."""
    columns, parts = list(bound_names("", "eti", CI_PROB)), []
    size = len(weights)
    for start in range(0, result.table.sizes["pair"], size):
        every = np.zeros(result.table.sizes["pair"])
        every[start : start + size] = weights
        parts.append(contrast(result, every, intervals="all")[columns])
    return {
        str(school): np.stack([part.loc[school] for part in parts]) for school in parts[0].index
    }


def _held(ends: Floats, truth: float) -> dict[str, float]:
    lower, upper = np.asarray(ends, dtype=np.float64).T
    there = ~np.isnan(lower)
    lower, upper = lower[there], upper[there]
    shares = {"truth": truth, "coverage": float(((lower <= truth) & (truth <= upper)).mean())}
    shares |= {"below": float((truth < lower).mean()), "above": float((truth > upper).mean())}
    return shares | {"width": float((upper - lower).mean()), "no_interval": float(1 - there.mean())}
