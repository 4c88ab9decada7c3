"""Speed of plans, as ratios within one run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely import simulate

ACCURACY = np.linspace(0.5, 0.97, 20)[:, None, None]
EC = np.linspace(0, 0.9, 20)[None, :, None]
TRIALS = np.geomspace(40, 4_000, 10).astype(int)
N_DATASETS = 2_000


def plan(method: str) -> pd.DataFrame:
    return al.planning.interval_width(
        ACCURACY, ACCURACY, EC, TRIALS, method=method, n_datasets=N_DATASETS, rng=1
    )


@pytest.mark.benchmark(group="4,000 settings: width, bias, undefined share")
def test_by_formula(benchmark: Any) -> None:
    assert len(benchmark.pedantic(plan, ("analytic",), rounds=3)) == 4_000


@pytest.mark.benchmark(group="4,000 settings: width, bias, undefined share")
def test_by_simulation(benchmark: Any) -> None:
    assert len(benchmark.pedantic(plan, ("simulated",), rounds=2)) == 4_000


@pytest.mark.benchmark(group="4,000 settings: width, bias, undefined share")
def test_a_tenth_of_them_trial_by_trial(benchmark: Any) -> None:
    """What simulating answers instead of counts costs, at a tenth of the settings."""

    def trial_by_trial() -> None:
        rng = np.random.default_rng(1)
        for p_a in ACCURACY[::2, 0, 0]:
            for ec in EC[0, ::2, 0]:
                p = simulate.cell_probabilities(p_a, p_a, ec)
                for n in TRIALS[[2, 4, 6, 8]]:
                    cell = rng.choice(4, size=(N_DATASETS, n), p=p)
                    cells = np.stack([(cell == k).sum(axis=1) for k in range(4)], axis=1)
                    np.nanquantile(al.metrics.error_consistency(cells), [0.025, 0.975])

    benchmark.pedantic(trial_by_trial, rounds=1)


@pytest.mark.benchmark(group="coverage of three schools at 20 settings")
def test_coverage(benchmark: Any) -> None:
    accuracy = ACCURACY[:, 0, 0]
    options = {"n_coverage": 1_000, "rng": 1}
    benchmark.pedantic(
        al.planning.interval_width, (accuracy, accuracy, 0.4, 400), options, rounds=1
    )
