"""Speed, as ratios within one run: ``uv run pytest tests/benchmarks --benchmark-only -n 0``.

Nothing here is asserted of time; the table of pytest-benchmark gives each group's ratios.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import alikely as al
from alikely.benchmark.layout import laid_out
from alikely.benchmark.nesting import by_level, nested_scores
from alikely.data.tables import from_counts, joint_correctness
from alikely.inference import ready, resampling, sampling
from alikely.inference.conjugate import joint_draws, pairwise_draws
from alikely.inference.null import null_draws
from alikely.inference.resampling import bootstrap
from alikely.metrics import consistency

N_RESAMPLES = 10_000


@pytest.fixture(scope="module")
def humans_and_models() -> xr.Dataset:
    """52 models, 4 humans, 160 trials of one condition."""
    trials = al.simulate.observers(4, 52, 160, {"noise": 0.4}, rng=1)
    return joint_correctness(trials, "human-model")


@pytest.mark.benchmark(group="bootstrap of one pair, N = 1000, 10,000 replicates")
def test_one_pair_here(benchmark: Any) -> None:
    table = from_counts([600, 150, 100, 150])
    benchmark.pedantic(
        resampling.bootstrap, (table,), {"n_resamples": N_RESAMPLES, "rng": 1}, rounds=20
    )


@pytest.mark.benchmark(group="bootstrap of one pair, N = 1000, 10,000 replicates")
def test_one_pair_scipy(benchmark: Any) -> None:
    right = tuple(from_counts([600, 150, 100, 150])["correct"].values.astype(float))

    def kappa(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        p_a, p_b, n11 = a.mean(axis=axis), b.mean(axis=axis), (a * b).mean(axis=axis)
        expected = p_a * p_b + (1 - p_a) * (1 - p_b)
        return (1 - p_a - p_b + 2 * n11 - expected) / (1 - expected)

    options = {"paired": True, "vectorized": True, "method": "percentile", "rng": 1}
    benchmark.pedantic(
        stats.bootstrap, (right, kappa), {"n_resamples": N_RESAMPLES, **options}, rounds=2
    )


@pytest.mark.benchmark(group="52 models x 4 humans, N = 160, 10,000 replicates")
def test_many_pairs_here(benchmark: Any, humans_and_models: xr.Dataset) -> None:
    benchmark.pedantic(
        resampling.bootstrap,
        (humans_and_models,),
        {"n_resamples": N_RESAMPLES, "rng": 1},
        rounds=10,
        warmup_rounds=1,
    )


@pytest.mark.benchmark(group="52 models x 4 humans, N = 160, 10,000 replicates")
def test_many_pairs_by_index_a_hundredth(benchmark: Any, humans_and_models: xr.Dataset) -> None:
    """The usual loop over replicates and pairs, 100 of the 10,000 replicates."""
    correct = humans_and_models["correct"].values
    first, second = humans_and_models["first"].values, humans_and_models["second"].values

    def loop() -> None:
        rng = np.random.default_rng(1)
        for _ in range(N_RESAMPLES // 100):
            index = rng.integers(0, 160, 160)
            for a, b in zip(first, second, strict=True):
                right_a, right_b = correct[a, index], correct[b, index]
                p_a, p_b = right_a.mean(), right_b.mean()
                expected = p_a * p_b + (1 - p_a) * (1 - p_b)
                _ = ((right_a == right_b).mean() - expected) / (1 - expected)

    benchmark.pedantic(loop, rounds=1)


@pytest.mark.benchmark(group="posterior")
def test_ten_thousand_pairs_exact(benchmark: Any) -> None:
    cells = al.simulate.correctness_cells([0.6, 0.15, 0.1, 0.15], 160, 10_000, rng=1)
    benchmark.pedantic(pairwise_draws, (cells,), {"n_draws": 4000, "rng": 1}, rounds=1)


@pytest.mark.benchmark(group="posterior")
def test_fifteen_hundred_pairs_jointly(benchmark: Any) -> None:
    trials = al.simulate.observers(4, 52, 160, {"noise": 0.4}, rng=1)
    table = joint_correctness(trials, "all")
    benchmark.pedantic(joint_draws, (table, 4000), {"rng": 1}, rounds=2)


@pytest.mark.benchmark(group="posterior")
def test_thousand_pairs_by_nuts(benchmark: Any) -> None:
    cells = al.simulate.correctness_cells([0.6, 0.15, 0.1, 0.15], 160, 1000, rng=1)
    ready.cache_clear()
    benchmark.pedantic(sampling.posterior, (from_counts(cells), "nuts"), {"rng": 1}, rounds=1)


@pytest.mark.benchmark(group="null test, 100 pairs, 10,000 draws")
def test_null_draws(benchmark: Any) -> None:
    cells = al.simulate.correctness_cells([0.6, 0.15, 0.1, 0.15], 160, 100, rng=1)
    benchmark.pedantic(null_draws, (cells,), {"rng": 1}, rounds=5)


@pytest.mark.benchmark(group="point estimates of a million tables")
def test_error_consistency(benchmark: Any) -> None:
    cells = np.random.default_rng(1).integers(1, 100, (1_000_000, 4)).astype(float)
    benchmark(consistency.error_consistency, cells)


@pytest.fixture(scope="module")
def benchmark_trials() -> al.Trials:
    """As large as model-vs-human: 14 data sets, 43 conditions, 4 humans, 22 models."""
    per_dataset = [3] * 13 + [4]
    conditions = [(f"dataset_{d}", f"{c}") for d, n in enumerate(per_dataset) for c in range(n)]
    rng = np.random.default_rng(1)
    z = rng.standard_normal((43, 160))
    loading = np.repeat([0.8, 0.5], [4, 22])[:, None, None]
    noise = rng.standard_normal((26, 43, 160))
    right = loading * z + np.sqrt(1 - loading**2) * noise > -0.6
    return al.Trials.from_correct(
        right.reshape(26, -1).astype(int),
        kind=["human"] * 4 + ["model"] * 22,
        dataset=[d for d, _ in conditions for _ in range(160)],
        condition=[c for _, c in conditions for _ in range(160)],
    )


@pytest.mark.benchmark(group="benchmark of 22 models in 43 conditions, 10,000 replicates")
def test_whole_benchmark(benchmark: Any, benchmark_trials: al.Trials) -> None:
    benchmark.pedantic(
        al.benchmark_scores, (benchmark_trials,), {"rng": 1}, rounds=2, warmup_rounds=1
    )


@pytest.mark.benchmark(group="benchmark of 22 models in 43 conditions, 10,000 replicates")
def test_whole_benchmark_of_images(benchmark: Any, benchmark_trials: al.Trials) -> None:
    """The replicates of the scores for new images alone, as the loop below has them."""
    table, layout = laid_out(benchmark_trials, models="model", humans="human")

    def replicates() -> None:
        drawn = bootstrap(table, n_resamples=N_RESAMPLES, rng=1).values
        by_level(layout, nested_scores(layout, drawn))

    benchmark.pedantic(replicates, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="benchmark of 22 models in 43 conditions, 10,000 replicates")
def test_whole_benchmark_by_index_a_fiftieth(benchmark: Any, benchmark_trials: al.Trials) -> None:
    """The same scores for new images by resampling indices: 200 of the 10,000 replicates."""
    data = benchmark_trials.data
    correct = data["correct"].values
    labels = np.char.add(data["dataset"].values.astype(str), data["condition"].values.astype(str))
    groups = [np.flatnonzero(labels == label) for label in dict.fromkeys(labels)]

    def one(rng: np.random.Generator) -> None:
        total = np.zeros((26, 26))
        for trials in groups:
            index = rng.choice(trials, len(trials))
            for a in range(4):
                for b in range(a + 1, 26):
                    right_a, right_b = correct[a, index], correct[b, index]
                    p_a, p_b = right_a.mean(), right_b.mean()
                    expected = p_a * p_b + (1 - p_a) * (1 - p_b)
                    total[a, b] += ((right_a == right_b).mean() - expected) / (1 - expected)

    def loop() -> None:
        rng = np.random.default_rng(1)
        for _ in range(N_RESAMPLES // 50):
            one(rng)

    benchmark.pedantic(loop, rounds=1)


@pytest.mark.benchmark(group="all 79,800 pairs of 400 observers, N = 12,000: points, errors, tests")
def test_all_pairs_of_400(benchmark: Any) -> None:
    rng = np.random.default_rng(1)
    strength = rng.normal(1, 0.6, size=(400, 1)) + rng.normal(size=12_000)
    trials = al.Trials.from_correct(rng.random(strength.shape) < 1 / (1 + np.exp(-strength)))
    off = {"n_resamples": 0, "n_draws": 0, "n_null": 0}
    result = benchmark.pedantic(al.error_consistency, (trials,), off, rounds=3)
    assert result.table.sizes["pair"] == 79_800
