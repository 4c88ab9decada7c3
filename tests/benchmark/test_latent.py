"""Noise-corrected correlations of data sets: algebra, bias, coverage, notes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import alikely as al
from alikely._base.notes import codes
from alikely.benchmark.benchmark import level_parts
from alikely.benchmark.decomposition import joint_covariance
from alikely.benchmark.ranking import latent_correlation, score_noise
from alikely.data.trials import Trials

Figure = Callable[[str], None]
MANY = 10**9


def two_datasets(
    rng: np.random.Generator, rho: float, *, models: int = 6, humans: int = 6, images: int = 120
) -> Trials:
    """Models whose correlation with human difficulty correlates rho between two data sets."""
    z = rng.normal(size=models)
    other = rho * z + np.sqrt(1 - rho**2) * rng.normal(size=models)
    blocks = []
    for liking in (z, other):
        load = np.r_[np.full(humans, 0.8), 0.5 + 0.13 * np.clip(liking, -2.5, 2.5)]
        hardness = rng.normal(size=images)
        own = rng.normal(size=(humans + models, images))
        blocks.append(load[:, None] * hardness + np.sqrt(1 - load[:, None] ** 2) * own + 0.6 > 0)
    return Trials.from_correct(
        np.concatenate(blocks, axis=1).astype(int),
        kind=["human"] * humans + ["model"] * models,
        dataset=["x"] * images + ["y"] * images,
    )


def test_without_noise_the_result_is_the_correlation() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 12))
    found = latent_correlation(x, y, (0.0, MANY), (0.0, MANY))
    assert found["latent"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found["reliability"] == found["reliability_other"] == 1
    # With known errors, the classical formula applies, for any noise and unit.
    noisy = latent_correlation(3 * x, y / 7, (0.5, MANY), (0.001, MANY))
    r = np.sqrt(noisy["reliability"] * noisy["reliability_other"])
    assert noisy["reliability"] == pytest.approx(1 - 0.5 / (9 * x.var(ddof=1)))
    assert noisy["latent"] == pytest.approx(found["pearson"] / r)
    # Exchanging the variables changes nothing; negating one changes the sign.
    back = latent_correlation(-y / 7, 3 * x, (0.001, MANY), (0.5, MANY))
    np.testing.assert_allclose(
        [back["latent"], back["lower"], back["upper"]],
        [-noisy["latent"], -noisy["upper"], -noisy["lower"]],
    )


def test_undefined_correlations_have_a_reason() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 8))
    none = latent_correlation(x, y, (10.0, 5), (0.1, 5))
    assert np.isnan([none["latent"], none["lower"], none["upper"]]).all()
    assert none["reliability"] < 0
    assert codes(none["note"]) == ["only-noise"]
    few = latent_correlation(x, y, (np.nan, np.nan), (0.1, 5))
    assert codes(few["note"]) == ["noise-unknown"]
    z, w = np.random.default_rng(3).normal(size=(2, 40))
    beyond = latent_correlation(z, z + 0.01 * w, (0.1 * z.var(ddof=1), 50), (0.0, MANY))
    assert beyond["latent"] > 1
    assert codes(beyond["note"]) == ["correlation-beyond-one", "correlation-near-one"]
    known = (0.1, MANY)
    assert latent_correlation(z, z + w, known, known)["note"] == ""
    assert latent_correlation(z, -z, known, known)["note"] == beyond["note"]
    unsure = latent_correlation(x, y, (0.6 * x.var(ddof=1), 2), (0.1, 2))
    assert np.isinf([unsure["lower"], unsure["upper"]]).all()
    assert codes(unsure["note"]) == ["reliability-unclear", "mostly-noise"]


def test_noise_is_that_of_differences_and_is_listed() -> None:
    trials = two_datasets(np.random.default_rng(3), 0.6)
    scores = al.benchmark_scores(trials, human_ids="per_dataset", n_resamples=60, n_draws=0, rng=1)
    models = list(range(6))
    parts = level_parts(scores, "x").isel(system=models, system_other=models)
    center = np.eye(6) - 1 / 6
    matrix = joint_covariance(parts, "images")
    noise, df = score_noise(parts)
    # Humans can only add to the variance of images; pseudocounts do not vary.
    assert noise >= np.trace(center @ (matrix - parts["pseudocount_variance"].values)) / 5 * (
        1 - 1e-9
    )
    assert df >= 5
    table = al.benchmark.score_correlations(scores, ci_prob=0.9)
    assert list(table)[-7:] == [
        "pearson", "reliability", "reliability_other", "latent", "latent_ci90_lb",
        "latent_ci90_ub", "note",
    ]  # fmt: skip
    row = table.iloc[0]
    assert row["reliability"] == pytest.approx(
        1 - noise / parts["interval_center"].values.var(ddof=1)
    )


@pytest.mark.parametrize("rho", [0.0, 0.6, 1.0])
def test_bias_and_coverage_of_scores_with_known_noise(rho: float, figure: Figure) -> None:
    """Twenty models, reliabilities 0.9 and 0.8, noise with 30 degrees of freedom."""
    rng, times, n, df = np.random.default_rng(5), 400, 20, 30
    noise = 1 / 0.9 - 1, 1 / 0.8 - 1
    found, held = [], []
    for _ in range(times):
        z = rng.normal(size=n)
        pair = np.stack([z, rho * z + np.sqrt(1 - rho**2) * rng.normal(size=n)])
        pair += rng.normal(size=(2, n)) * np.sqrt(noise)[:, None]
        said = [(v * rng.chisquare(df) / df, float(df)) for v in noise]
        row = latent_correlation(pair[0], pair[1], said[0], said[1])
        found.append((row["pearson"], row["latent"]))
        held.append(row["lower"] <= rho <= row["upper"])
    raw, latent = np.median(found, axis=0)
    cover = float(np.mean(held))
    figure(f"latent correlation {rho}: median {latent:.3f} (raw {raw:.3f}), covers {cover:.3f}")
    # The median of 400, whose standard deviation is about 1.3 / sqrt(20) at most.
    assert abs(latent - rho) < 4 * 1.25 * 1.3 / np.sqrt(n * times) + 0.01
    assert abs(raw - rho * np.sqrt(0.72)) < 4 * 1.25 / np.sqrt(n * times) + 0.02
    assert cover > 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)
