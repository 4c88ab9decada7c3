"""Speed of the metrics of wrong labels, as ratios within one run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.errors.tables import joint_errors
from alikely.metrics import errors
from alikely.metrics.errors import error_divergence

N_RESAMPLES = 2_000
COLUMNS = ["observer", "item", "condition", "truth", "response"]


def crowd(n_observers: int, n_trials: int, n_classes: int) -> al.Trials:
    """Observers that err on 40 % of the trials, half of the time in a common way."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, n_classes, n_trials)
    common = (truth + rng.integers(1, min(n_classes, 12), n_trials)) % n_classes
    own = rng.integers(0, n_classes, (n_observers, n_trials))
    wrong = np.where(rng.random(own.shape) < 0.5, common, own)
    return al.Trials.from_arrays(
        np.where(rng.random(own.shape) < 0.6, truth, wrong), truth, classes=range(n_classes)
    )


@pytest.fixture(scope="module")
def data_set() -> al.Trials:
    """27 systems, 351 pairs, 800 trials of 16 classes."""
    return crowd(27, 800, 16)


@pytest.mark.benchmark(group="wrong labels of 27 systems, 351 pairs, 2,000 replicates")
def test_agreement(benchmark: Any, data_set: al.Trials) -> None:
    options = {"n_resamples": N_RESAMPLES, "n_draws": 0, "rng": 1}
    benchmark.pedantic(al.misclassification_agreement, (data_set,), options, rounds=2)


@pytest.mark.benchmark(group="wrong labels of 27 systems, 351 pairs, 2,000 replicates")
def test_similarity(benchmark: Any, data_set: al.Trials) -> None:
    options = {"n_resamples": N_RESAMPLES, "n_draws": 0, "rng": 1}
    benchmark.pedantic(al.error_similarity, (data_set,), options, rounds=2)


@pytest.mark.benchmark(group="wrong labels of 27 systems, 351 pairs, 2,000 replicates")
def test_both_by_index_a_two_hundredth(benchmark: Any, data_set: al.Trials) -> None:
    """Resampling indices and counting tables pair by pair: 10 of the 2,000 replicates."""
    response, truth = data_set.data["response"].values, data_set.data["truth"].values
    k = 16

    def table(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.bincount(rows * k + columns, minlength=k * k).reshape(k, k)

    def loop() -> None:
        rng = np.random.default_rng(1)
        for _ in range(N_RESAMPLES // 200):
            drawn = rng.integers(0, len(truth), len(truth))
            given, true = response[:, drawn].astype(int), truth[drawn].astype(int)
            for a in range(27):
                for b in range(a):
                    wrong = (given[a] != true) & (given[b] != true)
                    errors.misclassification_agreement(table(given[a, wrong], given[b, wrong]))
                    error_divergence(table(true, given[a]), table(true, given[b]))

    benchmark.pedantic(loop, rounds=1)


@pytest.mark.benchmark(group="wrong labels of 22 systems in 200 classes, 7,500 items")
def test_many_classes(benchmark: Any) -> None:
    trials = crowd(22, 7_500, 200)
    options = {"n_resamples": 200, "n_draws": 0, "rng": 1}

    def both() -> None:
        al.misclassification_agreement(trials, **options)
        al.error_similarity(trials, **options)

    benchmark.pedantic(both, rounds=1)


@pytest.mark.benchmark(group="error rows of 50 systems in 1,000 classes, 50,000 items")
def test_a_thousand_classes(benchmark: Any) -> None:
    trials = crowd(50, 50_000, 1_000)

    def tables() -> None:
        al.errors.error_rows(trials)
        joint_errors(al.data.joint_correctness(trials, [("observer_0", "observer_1")], labels=True))

    benchmark.pedantic(tables, rounds=1)


@pytest.mark.benchmark(group="calibrated limits of error similarity, 28 pairs of 16 classes")
def test_chains_of_pairs(benchmark: Any) -> None:
    trials = crowd(8, 800, 16)
    options = {"n_resamples": 0, "n_permutations": 0, "rng": 1}
    benchmark.pedantic(al.error_similarity, (trials,), options, rounds=2)


@pytest.mark.benchmark(group="calibrated limits of error similarity, 28 pairs of 16 classes")
def test_chains_of_pairs_in_conditions(benchmark: Any) -> None:
    """The same pairs, each with a condition of its own: chains of conditions run together."""
    trials = [crowd(2, 800, 16) for _ in range(28)]
    frames = [one.to_table().assign(condition=f"{n:02}") for n, one in enumerate(trials)]
    together = al.Trials.from_table(pd.concat(frames)[COLUMNS])
    options = {"n_resamples": 0, "n_permutations": 0, "rng": 1}
    benchmark.pedantic(al.error_similarity, (together,), options, rounds=2)


@pytest.mark.benchmark(group="error similarity of one pair, 1,000 classes, 50,000 trials")
@pytest.mark.parametrize("school", ["posterior", "permutations", "bootstrap"])
def test_a_pair_of_a_thousand_classes(benchmark: Any, school: str) -> None:
    trials = crowd(2, 50_000, 1_000)
    options = {"n_resamples": 0, "n_draws": 0, "n_permutations": 0, "rng": 1}
    options |= {"posterior": {"n_draws": 4_000}, "permutations": {"n_permutations": 999}}.get(
        school, {"n_resamples": 1_000}
    )
    benchmark.pedantic(al.error_similarity, (trials,), options, rounds=1)
