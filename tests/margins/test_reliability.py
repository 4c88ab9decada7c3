"""Reliability: all splits by hand, identities of test theory, coverage for new people and items."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from alikely.margins import reliability
from alikely.metrics import alternatives
from alikely.metrics.consistency import error_consistency


def group(rng: np.random.Generator, n: int = 6, n_items: int = 60) -> np.ndarray:
    """Items that differ in how easy they are, Beta(2, 1), for observers that do not."""
    return (rng.random((n, n_items)) < rng.beta(2, 1, n_items)).astype(float)


@pytest.mark.parametrize("n", [2, 4, 5, 6])
def test_every_split_is_taken_once(n: int) -> None:
    x = group(np.random.default_rng(n), n)
    people, values = set(range(n)), []
    for chosen in itertools.combinations(range(n), n // 2):
        if n % 2 == 0 and 0 not in chosen:
            continue
        rest = sorted(people - set(chosen))
        values.append(np.corrcoef(x[list(chosen)].mean(axis=0), x[rest].mean(axis=0))[0, 1])
    found = reliability.split_half_reliability(x, n_resamples=10, rng=1)
    assert found.every_split
    assert found.n_splits == len(values)
    assert found.split_half == pytest.approx(np.mean(values))
    r = np.array(values)
    assert found.reliability == pytest.approx(np.mean(2 * r / (1 + r)))


def test_random_splits_come_close_to_all() -> None:
    x = group(np.random.default_rng(7), 10)
    every = reliability.split_half_reliability(x, n_resamples=10, rng=1)
    some = reliability.split_half_reliability(x, n_splits=100, n_resamples=10, rng=1)
    assert every.n_splits == 126
    assert not some.every_split
    low, high = some.as_published
    # The t-interval is for the mean over splits, and so contains it.
    assert low < every.reliability < high


def test_alpha_is_cronbachs() -> None:
    x = group(np.random.default_rng(8))
    variances = x.var(axis=1).sum() / x.sum(axis=0).var()
    expected = len(x) / (len(x) - 1) * (1 - variances)
    ones = np.ones(len(x)), np.ones(x.shape[1])
    assert reliability._alpha(x, *ones) == pytest.approx(expected)
    # Weights are repetitions, of items; of people but for pairs with themselves.
    twice = np.ones(x.shape[1])
    twice[:20] = 2
    longer = np.concatenate([x, x[:, :20]], axis=1)
    assert reliability._alpha(x, ones[0], twice) == pytest.approx(
        reliability._alpha(longer, ones[0], np.ones(longer.shape[1]))
    )


@pytest.mark.slow
def test_coverage_of_the_reliability(figure: Callable[[str], None]) -> None:
    """300 experiments with new people and items; the t-interval over splits beside it."""
    n_sets, n = 300, 6
    between, within = 2 / (9 * 4), 2 / 9
    truth = n * between / (within + (n - 1) * between)
    covered = published = 0
    rng = np.random.default_rng(9)
    for s in range(n_sets):
        found = reliability.split_half_reliability(group(rng, n, 100), n_resamples=400, rng=s)
        covered += found.lower <= truth <= found.upper
        published += found.as_published[0] <= truth <= found.as_published[1]
    figure(
        f"coverage of the reliability {covered / n_sets:.3f}, of the t-interval over "
        f"splits {published / n_sets:.3f}"
    )
    assert covered / n_sets > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_sets)
    assert published < covered


def test_self_consistency_by_hand() -> None:
    rng = np.random.default_rng(10)
    x = (rng.random((2, 80, 2)) < 0.7).astype(float)
    x[1, :10, 1] = np.nan
    table = reliability.self_consistency(x)
    assert table["n_items"].tolist() == [80, 70]
    for observer, row in table.iterrows():
        a, b = x[observer][~np.isnan(x[observer]).any(axis=1)].T
        cells = [((a == i) & (b == j)).sum() for i, j in ((1, 1), (1, 0), (0, 1), (0, 0))]
        assert row["kappa"] == pytest.approx(error_consistency(cells).item())
        r = stats.pearsonr(a, b).statistic
        assert row["r"] == pytest.approx(r)
        assert row["noise_share"] == pytest.approx(1 - r)
        assert row["noise_share_squared"] == pytest.approx(1 - r**2)
    three = np.concatenate([x[:1], x[:1, :, :1]], axis=2)
    again = reliability.self_consistency(three).iloc[0]
    # First and third repeat are the same: one pair of three agrees wholly.
    assert again["r"] == pytest.approx((1 + 2 * table["r"][0]) / 3)
    constant = reliability.self_consistency(np.ones((1, 9, 2)))
    assert constant["r"].isna().all()


def test_disattenuation_by_hand() -> None:
    rng = np.random.default_rng(11)
    x = group(rng, 6, 80)
    y = x.mean(axis=0) + rng.normal(0, 0.3, 80)
    table = reliability.disattenuation(y, x, m=4, n_resamples=50, rng=1)
    table = table.set_index(["scale", "value"])
    alpha = reliability._alpha(x, np.ones(6), np.ones(80))
    strength, edge = alternatives.empirical_d_prime(x.sum(axis=0), 6, 4)
    for scale, index in (("share", x.mean(axis=0)), ("strength", strength)):
        r = stats.pearsonr(y, index).statistic
        assert table["estimate"][scale, "naive"] == pytest.approx(r)
        assert table["estimate"][scale, "corrected"] == pytest.approx(r / np.sqrt(alpha))
    assert (table["n_edge"] == edge.sum()).all()


@pytest.mark.slow
def test_correction_finds_the_noise_free_correlation(figure: Callable[[str], None]) -> None:
    """200 experiments: how often the interval holds the correlation with an endless group."""
    n_sets, covered, naive, corrected = 200, 0, [], []
    rng = np.random.default_rng(12)
    for s in range(n_sets):
        ease = rng.beta(2, 1, 120)
        standard = (ease - 2 / 3) / np.sqrt(1 / 18)
        y = 0.6 * standard + 0.8 * rng.normal(size=120)
        x = (rng.random((8, 120)) < ease).astype(float)
        table = reliability.disattenuation(y, x, m=2, n_resamples=300, rng=s)
        row = table.query("value == 'corrected' and scale == 'share'").iloc[0]
        covered += row["ci95_lb"] <= 0.6 <= row["ci95_ub"]
        naive.append(table["estimate"][0])
        corrected.append(row["estimate"])
    figure(
        f"correlation .6: naive {np.mean(naive):.3f}, corrected {np.mean(corrected):.3f}, "
        f"coverage {covered / n_sets:.3f}"
    )
    assert covered / n_sets > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_sets)
    # The root of the reliability bends: a bias of the order of its variance, well below .01.
    assert abs(np.mean(corrected) - 0.6) < 4 * np.std(corrected) / np.sqrt(n_sets) + 0.01
    assert np.mean(naive) < 0.55


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reliability.split_half_reliability(np.ones((1, 9))), "at least 2 observers"),
        (lambda: reliability.split_half_reliability(np.ones((2, 4))), "at least 5 items, got 4"),
        (
            lambda: reliability.split_half_reliability(np.full((2, 6), np.nan)),
            "observer 0 has no answer to item 0",
        ),
        (lambda: reliability.split_half_reliability(np.ones((4, 9))), "equally hard"),
        (
            lambda: reliability.split_half_reliability(np.eye(6), n_splits=0),
            "n_splits must be at least 1",
        ),
        (lambda: reliability.split_half_reliability(np.eye(6), ci_prob=2), "ci_prob"),
        (lambda: reliability.self_consistency(np.ones((2, 9))), r"shape \(observer, item, repeat"),
        (lambda: reliability.self_consistency(np.ones((2, 9, 1))), "at least 2 repeats"),
        (
            lambda: reliability.disattenuation(np.ones(6), np.eye(6), m=2),
            "margins must be 6 finite numbers, not all the same",
        ),
        (lambda: reliability.disattenuation(np.arange(5), np.eye(6), m=2), "must be 6 finite"),
        (lambda: reliability.spearman_brown(0.5, 0), "factor must be above 0, got 0"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
