"""The moment interval: closed forms, symmetries, brute force and simulated coverage."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alikely.margins.moments import (
    Moments,
    group_side,
    lists_of_items,
    model_side,
    moment_consistency,
    moment_limits,
    normal_scores,
    same_correlation,
)
from studies.simulators.margins import MarginData, MarginWorld, margin_data

LEVELS = np.array([0.025, 0.5, 0.975])


def found(
    right: Any, shown: Any, margins: Any, classes: Any = None, clusters: Any = None
) -> Moments:
    strata = lists_of_items(shown, classes)
    sides = group_side(right, shown, strata), model_side(margins, strata)
    return moment_consistency(*sides, strata, clusters)


def experiment(seed: int, **options: Any) -> MarginData:
    return margin_data(MarginWorld(**options), seed)


@pytest.mark.parametrize("within", [False, True])
def test_with_equal_numbers_the_result_has_a_closed_form(within: bool) -> None:
    data = experiment(1, n_repeats=2, n_items=96)
    x = data.right / data.shown
    n, n_observers = x.shape[1], len(x)
    v = normal_scores(data.margins)
    classes = data.classes if within else np.zeros(n, int)
    in_class = classes == np.arange(classes.max() + 1)[:, None]
    mean = in_class.T @ (in_class / in_class.sum(axis=1, keepdims=True))
    free = n - len(in_class)
    x, v = x - x @ mean, v - v @ mean
    s = x.mean(axis=0)
    noise = ((x - s) ** 2).sum(axis=0) / ((n_observers - 1) * n_observers) * n / free
    true_variance = s @ s / free - noise.mean()
    expected = s @ v / free / np.sqrt(v @ v / free * true_variance)
    result = found(data.right, data.shown, data.margins, classes if within else None)
    assert result.rho == pytest.approx(expected, abs=1e-12)


def test_with_unequal_numbers_noise_comes_from_pairs_of_humans() -> None:
    data = experiment(2, n_repeats=3, n_items=60, missing=0.4, n_observers=4)
    strata = lists_of_items(data.shown)
    side = group_side(data.right, data.shown, strata)
    n = data.shown.astype(float)
    # Brute force: a linear model with one effect for each human and item.
    person, item = np.nonzero(n)
    design = np.zeros((len(person), 4 + 60))
    design[np.arange(len(person)), person] = design[np.arange(len(person)), 4 + item] = 1
    share = data.right[person, item] / n[person, item]
    root = np.sqrt(n[person, item])
    fit = np.linalg.lstsq(design * root[:, None], share * root, rcond=None)[0]
    np.testing.assert_allclose(side.ease, fit[4:] - fit[4:].mean(), atol=1e-9)
    free = np.full(n.shape, np.nan)
    free[person, item] = share - fit[person] - fit[4:].mean()
    for i in range(60):
        pairs = [
            (n[a, i] * n[b, i], free[a, i] * free[b, i])
            for a, b in itertools.combinations(np.flatnonzero(n[:, i]), 2)
        ]
        if pairs:
            weight, product = np.array(pairs).T
            expected = weight @ product / weight.sum()
        else:
            expected = np.nan
        np.testing.assert_allclose(side.square[i], expected, atol=1e-9)


def test_limits_invert_the_test_of_the_ratio() -> None:
    data = experiment(3)
    result = found(data.right, data.shown, data.margins)
    lower, middle, upper = moment_limits(result, LEVELS)
    assert middle == pytest.approx(result.rho)
    assert lower < result.rho < upper
    t = stats.t.ppf(0.975, result.df)
    (saa, sab), (_, sbb) = result.spread
    for limit in (lower, upper):
        gap = result.covariance - limit * result.scale
        error = np.sqrt(saa - 2 * limit * sab + limit**2 * sbb)
        assert abs(gap) == pytest.approx(t * error)


@pytest.mark.parametrize("within", [False, True])
def test_slopes_agree_with_the_jackknife_over_items(within: bool) -> None:
    data = experiment(4, n_items=320, n_observers=12)
    classes = data.classes if within else None
    result = found(data.right, data.shown, data.margins, classes)
    changes = []
    for i in range(0, 320, 8):
        keep = np.arange(320) != i
        kept = classes[keep] if classes is not None else None
        less = found(data.right[:, keep], data.shown[:, keep], data.margins[keep], kept)
        changes.append(result.rho - less.rho)
    slopes = result.slopes[::8]
    assert result.slopes.sum() == pytest.approx(0, abs=1e-12)
    # Infinitesimal and complete removal of an item differ by lower-order terms: by 1 / n of it for
    # each estimated mean, 1 of 320 or 16.
    tolerance = 4 * (16 if within else 1) / 320 * np.abs(slopes).max() + 2e-4
    np.testing.assert_allclose(changes, slopes, atol=tolerance)


@given(st.integers(0, 10_000))
def test_symmetries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = experiment(seed, n_items=40, n_classes=5, missing=0.2, n_repeats=2)
    args = (data.right, data.shown, data.margins, None, data.classes)
    result = found(*args)
    limits = moment_limits(result, LEVELS)
    bent = found(data.right, data.shown, np.exp(data.margins / 2), None, data.classes)
    np.testing.assert_allclose(moment_limits(bent, LEVELS), limits, atol=1e-12)
    turned = found(data.right, data.shown, -data.margins, None, data.classes)
    np.testing.assert_allclose(moment_limits(turned, LEVELS), -limits[::-1], atol=1e-9)
    item, person = rng.permutation(40), rng.permutation(len(data.right))
    right, shown = (x[np.ix_(person, item)] for x in (data.right, data.shown))
    other = found(right, shown, data.margins[item], None, data.classes[item])
    np.testing.assert_allclose(moment_limits(other, LEVELS), limits, atol=1e-9)
    np.testing.assert_allclose(other.slopes, result.slopes[item], atol=1e-9)
    wrong = found(data.shown - data.right, data.shown, data.margins, None, data.classes)
    assert wrong.rho == pytest.approx(-result.rho)


def test_two_groups_of_the_same_strengths() -> None:
    data = experiment(6, n_observers=24, n_items=400, rho=1.0)
    strata = np.zeros(400, int)
    sides = [
        group_side(data.right[own], data.shown[own], strata) for own in (slice(12), slice(12, 24))
    ]
    result = moment_consistency(*sides, strata)
    at = np.array([1, -result.rho]) / result.scale
    se = np.sqrt(at @ result.spread @ at)
    assert result.rho == pytest.approx(1, abs=4 * se)
    assert 0 < se < 0.05


def test_noise_is_subtracted_without_bias() -> None:
    rng = np.random.default_rng(7)
    p = np.array([0.2, 0.5, 0.9, 0.7, 0.4, 0.6])
    strata = np.zeros(6, int)
    shown = np.array([[1] * 6, [3] * 6, [2] * 6, [1] * 6])
    drawn = [group_side(rng.binomial(shown, p), shown, strata).square.mean() for _ in range(4000)]
    # Responses of two humans are independent, so subtracted means leave no bias.
    expected = ((p - p.mean()) ** 2).mean()
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * error)


def test_lists_and_classes_are_strata() -> None:
    shown = [[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0]]
    assert lists_of_items(shown).tolist() == [0, 0, 1, 1]
    assert len(set(lists_of_items(shown, [0, 0, 0, 1]))) == 3
    assert lists_of_items(np.ones((3, 4))).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        (np.ones((3, 20)), "all margins of a system are equal"),
        (np.tile([[1], [0]], (1, 20)), "all margins of a system are equal"),
        (np.stack([np.arange(20) % 2, 1 - np.arange(20) % 2]), "all margins of a system are equal"),
        (np.arange(20)[None] % 2, "no item was answered by two observers"),
        ([[1, 0, 0, 0] * 5, [0, 1, 0, 0] * 5], "items differ no more than by chance"),
    ],
)
def test_uninformative_data_are_undefined_with_a_reason(right: Any, reason: str) -> None:
    result = found(right, np.ones(np.shape(right)), np.arange(20.0) ** 2)
    assert result.reason.startswith(reason)
    assert np.isnan(result.rho)
    assert np.isnan(moment_limits(result, LEVELS)).all()


def test_equal_correlations_are_rejected_at_the_level() -> None:
    """Compare normal variables in all items with those in the first half, which are equal."""
    rng = np.random.default_rng(1)
    p = []
    for _ in range(400):
        x, y = rng.standard_normal((2, 200))
        values, slopes = [], []
        for here in (np.arange(200) < 200, np.arange(200) < 100):
            own = here.sum()
            values.append(float(np.corrcoef(x[here], y[here])[0, 1]))
            a, b = (np.where(here, (v - v[here].mean()) / v[here].std(), 0) for v in (x, y))
            slopes.append((a * b - values[-1] * (a**2 + b**2) / 2) / own)
        p.append(same_correlation((values[0], values[1]), (slopes[0], slopes[1])))
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 400))
    nothing = np.zeros(5)
    assert np.isnan(same_correlation((0.5, 0.4), (nothing, nothing)))
