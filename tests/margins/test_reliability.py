"""Reliability: all splits by hand, identities of test theory, coverage for new humans and items."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.margins import reliability
from alikely.margins.moments import group_side, lists_of_items
from alikely.metrics.consistency import error_consistency


def group(rng: np.random.Generator, n: int = 6, n_items: int = 60) -> np.ndarray:
    """Items with different easiness, Beta(2, 1), for identical observers."""
    return (rng.random((n, n_items)) < rng.beta(2, 1, n_items)).astype(float)


@pytest.mark.parametrize("n", [2, 5, 6])
def test_every_split_is_used_once(n: int) -> None:
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


def alpha(x: np.ndarray, people: Any = 1, items: Any = 1, shown: Any = 1) -> float:
    kinds = np.ones((1, x.shape[1]))
    weights = np.broadcast_to(people, len(x)), np.broadcast_to(items, x.shape[1])
    p, w = (np.array(part, dtype=float)[None] for part in weights)
    return float(reliability._alpha(x, np.full(x.shape, float(shown)), kinds, p, w)[0])


def test_alpha_is_cronbachs() -> None:
    x = group(np.random.default_rng(8))
    variances = x.var(axis=1).sum() / x.sum(axis=0).var()
    expected = len(x) / (len(x) - 1) * (1 - variances)
    assert alpha(x) == pytest.approx(expected)
    assert alpha(x, shown=2) == pytest.approx(expected)
    # Weights repeat items, or humans except for pairs with themselves.
    twice = np.ones(x.shape[1])
    twice[:20] = 2
    longer = np.concatenate([x, x[:, :20]], axis=1)
    assert alpha(x, 1, twice) == pytest.approx(alpha(longer))
    doubled = np.array([2, 2, 1, 1, 0, 0])
    centered = x - x.mean(axis=1, keepdims=True)
    covariance = centered @ centered.T / x.shape[1]
    pairs = np.outer(doubled, doubled) * (1 - np.eye(6))
    between = (pairs * covariance).sum() / pairs.sum()
    own = doubled @ np.diag(covariance) / doubled.sum()
    assert alpha(x, doubled) == pytest.approx(6 * between / (own + 5 * between))
    assert np.isnan(alpha(x, np.array([6, 0, 0, 0, 0, 0])))
    assert np.isnan(alpha(np.ones((3, 6))))


def lists(
    rng: np.random.Generator, n: int = 6, n_items: int = 60, ability: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Proportions correct and numbers of responses: two lists, one to three responses each."""
    ease = rng.beta(2, 1, n_items)
    shown = rng.integers(1, 4, (n, n_items))
    shown[: n // 2, : n_items // 2] = 0
    shown[n // 2 :, n_items // 2 :] = 0
    level = ability * rng.normal(size=(n, 1))
    p = np.clip(ease + level, 0, 1)
    right = rng.binomial(shown, p)
    return np.where(shown > 0, right / np.maximum(shown, 1), np.nan), shown


def test_pairs_of_observers_on_their_common_items_by_hand() -> None:
    x, shown = lists(np.random.default_rng(14))
    # Means are subtracted first, which changes nothing here.
    side = group_side(np.nan_to_num(x) * shown, shown, lists_of_items(shown))
    y = np.where(shown > 0, side.cells / np.where(shown > 0, side.weights, 1), 0)
    common = []
    for i in range(shown.shape[1]):
        both = list(itertools.permutations(np.flatnonzero(shown[:, i]), 2))
        weight = [shown[a, i] * shown[b, i] for a, b in both]
        common.append(np.average([y[a, i] * y[b, i] for a, b in both], weights=weight))
    share = (shown * y).sum(axis=0) / shown.sum(axis=0)
    expected = np.mean(common) / np.mean(share**2)
    found = reliability.split_half_reliability(x, shown, n_resamples=10, rng=1)
    assert found.reliability == pytest.approx(expected, abs=1e-12)
    assert found.lower < found.reliability < found.upper


def test_means_of_lists_and_of_humans_do_not_matter() -> None:
    rng = np.random.default_rng(15)
    x, shown = lists(rng)
    plain = reliability.split_half_reliability(x, shown, n_splits=50, n_resamples=10, rng=1)
    shifted = x + np.array([0.3, 0.2, 0.1, -0.1, 0, 0])[:, None]
    moved = reliability.split_half_reliability(shifted, shown, n_splits=50, n_resamples=10, rng=1)
    np.testing.assert_allclose(moved.split_half, plain.split_half, atol=1e-9)
    np.testing.assert_allclose(moved[1:4], plain[1:4], atol=1e-9)


def test_halves_of_an_incomplete_table_by_hand() -> None:
    x, shown = lists(np.random.default_rng(16), 8, 80)
    strata = lists_of_items(shown)
    kinds = (strata == np.arange(2)[:, None]).astype(float)
    answers, _ = reliability._without_levels(np.nan_to_num(x), shown.astype(float), strata)
    of_observer = (shown @ kinds.T).argmax(axis=1)
    halves, every = reliability._splits(of_observer, 5, np.random.default_rng(1), complete=False)
    assert not every
    # Two of the four observers of each list.
    assert (halves @ (of_observer[:, None] == [0, 1]) == 2).all()
    r = reliability._half_correlations(answers, shown.astype(float), kinds, halves)
    for half, value in zip(halves > 0, r, strict=True):
        a, b = (
            (shown[own] * answers[own]).sum(axis=0) / shown[own].sum(axis=0)
            for own in (half, ~half)
        )
        for own in (strata == 0, strata == 1):
            a[own] -= a[own].mean()
            b[own] -= b[own].mean()
        assert value == pytest.approx((a @ b) / np.sqrt((a @ a) * (b @ b)))


def test_self_consistency_of_trials() -> None:
    trials, _ = al.simulate.detection_experiment(3, 40, 3, rng=5)
    raw = trials.data["correct"].values
    x = raw.reshape(3, 3, 40).transpose(0, 2, 1).astype(float)
    table = reliability.self_consistency(trials)
    plain = reliability.self_consistency(x)
    assert table["observer"].tolist() == trials.observers
    pd.testing.assert_frame_equal(table.drop(columns="observer"), plain.drop(columns="observer"))
    assert (table["note"] == "").all()
    # Only some items are repeated, one three times; pairs of repeats are weighted by items.
    frame = trials.to_table()
    keep = (frame["repeat"] == 0) | frame["item"].isin([f"item_{i}" for i in range(1, 13)])
    keep &= (frame["repeat"] < 2) | (frame["item"].isin([f"item_{i}" for i in range(1, 9)]))
    part = reliability.self_consistency(al.Trials.from_table(frame[keep]))
    assert part["n_items"].tolist() == [12] * 3
    assert part["note"].tolist() == ["12 of 40 items recur"] * 3
    cut = x.copy()
    cut[:, 12:, 1:] = np.nan
    cut[:, 8:, 2] = np.nan
    again = reliability.self_consistency(cut)
    np.testing.assert_allclose(part["kappa"], again["kappa"])
    one, two, three = x[0, :12, 0], x[0, :12, 1], x[0, :8, 2]
    pairs = [(one, two), (one[:8], three), (two[:8], three)]
    by_hand = [
        float(error_consistency([(a * b).sum(), (a * (1 - b)).sum(), ((1 - a) * b).sum(),
                                 ((1 - a) * (1 - b)).sum()]))
        for a, b in pairs
    ]  # fmt: skip
    defined = ~np.isnan(by_hand)
    weights = np.array([12, 8, 8])[defined]
    expected = np.average(np.array(by_hand)[defined], weights=weights)
    assert part["kappa"][0] == pytest.approx(expected)


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
        assert row["noise_fraction"] == pytest.approx(1 - r)
        assert row["noise_fraction_squared"] == pytest.approx(1 - r**2)
    three = np.concatenate([x[:1], x[:1, :, :1]], axis=2)
    again = reliability.self_consistency(three).iloc[0]
    # The first and the third repeat are equal, so one of three pairs agrees fully.
    assert again["r"] == pytest.approx((1 + 2 * table["r"][0]) / 3)
    assert reliability.self_consistency(np.ones((1, 9, 2)))["r"].isna().all()
