"""Bootstrap: identity with index resampling, dependence between pairs, intervals."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from scipy import stats

from alikely.data.blocks import blocks
from alikely.data.tables import from_counts, joint_correctness
from alikely.data.trials import Trials
from alikely.inference import evaluation, resampling
from alikely.metrics import consistency


def experiment(n_trials: int = 80, missing: bool = True) -> Trials:
    rng = np.random.default_rng(11)
    right = rng.standard_normal(n_trials) + rng.standard_normal((4, n_trials)) > -0.7
    values = np.ma.masked_array(right.astype(float), mask=False)
    if missing:
        values[0, :5] = np.ma.masked
        values[1, 3:9] = np.nan
    return Trials.from_correct(values)


def test_same_indices_give_exactly_the_replicates_of_index_resampling() -> None:
    table = joint_correctness(experiment(), no_response="drop")
    (block,) = blocks(table)
    n = block.correct.shape[1]
    rng = np.random.default_rng(2)
    for _ in range(20):
        index = rng.integers(0, n, n)
        weights = np.bincount(index, minlength=n)[None].astype(np.float32)
        cells = evaluation.weighted_cells(weights, block.shares())[0]
        values = consistency.error_consistency(cells)
        for pair, (a, b) in enumerate(zip(block.a, block.b, strict=True)):
            right_a, right_b = block.correct[a, index], block.correct[b, index]
            both = (right_a >= 0) & (right_b >= 0)
            plain = [((right_a == i) & (right_b == j) & both).sum() for i in (1, 0) for j in (1, 0)]
            assert cells[pair].tolist() == plain
            assert values[pair] == consistency.error_consistency(plain)


def test_pairs_correlate_within_conditions_only() -> None:
    rng = np.random.default_rng(1)
    right = rng.standard_normal(300) + 0.5 * rng.standard_normal((3, 300)) > 0
    trials = Trials.from_correct(right, condition=["u"] * 150 + ["v"] * 150)
    draws = resampling.bootstrap(joint_correctness(trials), n_resamples=4000, rng=1).values
    correlation = np.corrcoef(draws.T)
    assert (correlation[:3, :3] > 0.2).all()
    assert np.abs(correlation[:3, 3:]).max() < 4 / np.sqrt(4000)


def test_undefined_replicates_are_nan_and_counted() -> None:
    cells = np.array([158, 2, 0, 0])
    draws = resampling.bootstrap(from_counts(cells), n_resamples=50_000, rng=4).values[:, 0]
    probability = (158 / 160) ** 160
    noise = np.sqrt(probability * (1 - probability) / 50_000)
    assert np.isnan(draws).mean() == pytest.approx(probability, abs=4 * noise)


def test_same_seed_same_replicates_whatever_the_workers_and_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = Trials.from_correct(
        np.random.default_rng(1).integers(0, 2, (4, 90)), condition=list("uvw") * 30
    )
    table = joint_correctness(trials)
    draws = resampling.bootstrap(table, n_resamples=500, rng=8)
    with joblib.parallel_config(backend="sequential"):
        assert resampling.bootstrap(table, n_resamples=500, rng=8).identical(draws)
    assert not resampling.bootstrap(table, n_resamples=500, rng=9).identical(draws)
    generator = np.random.default_rng(8)
    first = resampling.bootstrap(table, n_resamples=5, rng=generator)
    assert not resampling.bootstrap(table, n_resamples=5, rng=generator).identical(first)
    # Chunks are consecutive parts of one random stream.
    monkeypatch.setattr(resampling, "CHUNK", 1000)
    assert resampling.bootstrap(table, n_resamples=500, rng=8).identical(draws)


def test_bca_equals_scipy() -> None:
    cells = np.array([60, 15, 10, 15])
    right = from_counts(cells)["correct"].values

    def kappa(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        n11 = (a * b).sum(axis=axis)
        n10, n01 = a.sum(axis=axis) - n11, b.sum(axis=axis) - n11
        return consistency.error_consistency(
            np.stack([n11, n10, n01, a.shape[axis] - n11 - n10 - n01], axis=-1)
        )

    n_resamples = 20_000
    reference = stats.bootstrap(
        tuple(right),
        kappa,
        paired=True,
        vectorized=True,
        n_resamples=n_resamples,
        method="BCa",
        rng=np.random.default_rng(1),
        batch=2000,
    )
    draws = resampling.bootstrap(from_counts(cells), n_resamples=n_resamples, rng=2)
    ours = resampling.bca_interval([cells], draws)[0]
    # Both limits are quantiles of replicates with density f: their Monte Carlo error is sqrt(p (1 -
    # p) / n) / f, doubled because the bias correction is simulated too, and there are two
    # simulations.
    se = np.std(reference.bootstrap_distribution)
    density = stats.norm.pdf(1.96) / se
    noise = 4 * 2 * np.sqrt(2) * np.sqrt(0.025 * 0.975 / n_resamples) / density
    assert ours[0] == pytest.approx(reference.confidence_interval.low, abs=noise)
    assert ours[1] == pytest.approx(reference.confidence_interval.high, abs=noise)


def test_bca_is_undefined_where_it_must_be() -> None:
    cells = [[160, 0, 0, 0], [150, 10, 0, 0]]
    draws = resampling.bootstrap(from_counts(cells), n_resamples=200, rng=1)
    assert np.isnan(resampling.bca_interval(cells, draws)).all()
