"""Simulators of the studies: stated properties of their populations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import alikely as al
from alikely.metrics import errors
from alikely.metrics.margins import m_afc_probability
from studies.simulators.labels import (
    ErrorPopulation,
    label_trials,
    shared_errors,
    shared_label_agreement,
)
from studies.simulators.margins import (
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
)

ROW = np.array([[0, 0.7, 0.3, 0], [0.2, 0, 0.2, 0.6], [0.5, 0.1, 0, 0.4], [0.1, 0.1, 0.8, 0]])
OTHER = ROW[::-1, ::-1]
COMMON = (ROW + OTHER) / 2


@pytest.mark.slow
@pytest.mark.parametrize("copying", [0.0, 0.8])
def test_agreement_of_many_errors_equals_the_population_value(copying: float) -> None:
    rows = [ROW, OTHER, ROW]
    trials = label_trials(
        rows, COMMON, copying, 30_000, error_probability=0.7, rng=int(10 * copying)
    )
    result = al.misclassification_agreement(trials, n_resamples=0, n_draws=0)
    truth = shared_label_agreement(rows, COMMON, copying)
    found, se = (result.estimates[name].values for name in ("estimate", "se"))
    # True value over all pairs, with true classes as frequent as simulated.
    assert (abs(found - truth[np.triu_indices(3, 1)]) < 4 * se).all()
    number = trials.data["correct"].values == 0
    assert abs(number.mean() - 0.7) < 4 * np.sqrt(0.21 / number.size)


def test_population_without_copying_by_hand() -> None:
    table = sum(np.outer(a, b) for a, b in zip(ROW, OTHER, strict=True))
    found = shared_label_agreement([ROW, OTHER], COMMON, 0)
    assert found[0, 1] == pytest.approx(errors.misclassification_agreement(table).item())


N = 60_000
FIRST = np.array([[0, 0.7, 0.2, 0.1], [0.5, 0, 0.25, 0.25], [0.3, 0.3, 0, 0.4], [0.1, 0.1, 0.8, 0]])
SECOND = np.array(
    [[0, 0.1, 0.1, 0.8], [0.2, 0, 0.6, 0.2], [0.9, 0.05, 0, 0.05], [0.4, 0.3, 0.3, 0]]
)


def mixed() -> ErrorPopulation:
    """Two kinds of items, and systems that follow these with different probabilities."""
    suggested = np.stack([FIRST, SECOND])
    own = np.stack([np.stack([SECOND, FIRST]), np.stack([SECOND, SECOND])])
    return ErrorPopulation(suggested, own, np.array([0.8, 0.3]))


def test_rows_agree_with_the_population() -> None:
    of, truth = mixed(), np.repeat(np.arange(4), N // 4)
    labels = shared_errors(of, truth, np.ones((2, N), dtype=bool), rng=1)
    for system in range(2):
        found = np.zeros((4, 4))
        np.add.at(found, (truth, labels[system]), 4 / N)
        room = 4 * np.sqrt(of.rows[system] * (1 - of.rows[system]) * 4 / N)
        assert (np.abs(found - of.rows[system]) <= room).all()


def test_agreement_is_from_copying_and_chance() -> None:
    """Also for kinds of items, within which separate labels are correlated."""
    of, truth = mixed(), np.zeros(N, dtype=int)
    a, b = shared_errors(of, truth, np.ones((2, N), dtype=bool), rng=2)
    u, v = of.follows
    by_kind = []
    for kind in range(2):
        s, p, q = of.suggested[kind, 0], of.own[0, kind, 0], of.own[1, kind, 0]
        by_kind.append(
            u * v + u * (1 - v) * s @ q + (1 - u) * v * s @ p + (1 - u) * (1 - v) * p @ q
        )
    wanted = np.mean(by_kind)
    assert (a == b).mean() == pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / N))


World = MarginWorld
data, truth = margin_data, true_margin_consistency


def test_true_value_of_a_simple_scenario_is_an_integral() -> None:
    world = World(rho=0.6, ability_sd=0, log_gain_sd=0)
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    weight /= weight.sum()
    p = m_afc_probability(1.6 + 1.6 * z, 16)
    expected = 0.6 * (weight @ (p * z)) / np.sqrt(weight @ (p - weight @ p) ** 2)
    # Both numbers have an error of at most 1 / sqrt(n) for 600,000 items.
    assert truth(world, 1) == pytest.approx((expected, expected), abs=4 / np.sqrt(600_000))


@pytest.mark.parametrize("rho", [0.6, 1.0])
def test_true_value_of_two_simple_groups_is_a_series(
    rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.simulators.margins.CLASSES", 2_000)
    world = World(group_rho=rho, ability_sd=0, log_gain_sd=0)
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    weight /= weight.sum()
    p = m_afc_probability(1.6 + 1.6 * z, 16)
    # Mehler's formula: the term of degree k is multiplied by rho**k.
    parts = [
        (weight @ (p * np.polynomial.hermite_e.hermeval(z, np.eye(k + 1)[k]))) ** 2
        / math.factorial(k)
        for k in range(1, 40)
    ]
    expected = np.dot(parts, rho ** np.arange(1, 40)) / np.sum(parts)
    found = true_group_consistency(world, 1)
    assert found == pytest.approx(expected, abs=4 / np.sqrt(100_000))


def test_a_second_model_and_group_have_their_correlations() -> None:
    world = World(rho=0.9, other_rho=0.3, group_rho=0.5, n_items=20_000, n_observers=20)
    found = data(world, 7)
    share = found.right.mean(axis=0)
    near, far = (np.corrcoef(share, x)[0, 1] for x in (found.margins, found.other_margins))
    # Correlations with proportions correct are proportional to rho.
    assert far / near == pytest.approx(1 / 3, abs=4 / np.sqrt(20_000))
    between = np.corrcoef(share, found.other_right.mean(axis=0))[0, 1]
    assert 0.4 < between < 0.55
    lists = data(World(n_lists=2, n_observers=6, n_items=20), 8)
    np.testing.assert_array_equal(lists.shown, lists.other_shown)


def test_class_effects_separate_total_and_within() -> None:
    total, within = truth(World(rho=0.5, class_sd=1.2, class_opposite=1.0), 3)
    assert total < 0 < within


def test_lists_and_missing_responses() -> None:
    lists = data(World(n_lists=2, n_observers=5, n_items=20), 4)
    assert (np.sort(lists.shown.sum(axis=0)) == [2] * 10 + [3] * 10).all()
    some = data(World(missing=0.5, n_repeats=2, n_items=400), 5)
    # 10 * 400 * 2 responses, each present or missing.
    assert some.shown.mean() == pytest.approx(1, abs=4 * np.sqrt(0.5 / 4000))
    assert (some.right <= some.shown).all()


@pytest.mark.parametrize("law", ["normal", "t4", "skewed", "bimodal"])
def test_strengths_have_mean_0_and_variance_1(law: Any) -> None:
    # Margins of rho 1 are the strengths.
    x = data(World(rho=1, law=law, n_items=100_000, n_observers=1), 6).margins
    assert x.mean() == pytest.approx(0, abs=4 / np.sqrt(len(x)))
    # The fourth moment of t4 is infinite, so its variance converges slowly.
    assert x.var() == pytest.approx(1, abs=0.1 if law == "t4" else 4 * np.sqrt(6 / len(x)))


def test_a_fan_preserves_the_correlation_with_unequal_spread() -> None:
    world = MarginWorld(rho=0.7, fan=0.5, n_items=100_000, n_observers=1)
    y = data(world, 1).margins
    # Total variance is 1, as without a fan; squares of this noise have an SD of 4 at most.
    assert abs(y.var() - 1) < 4 * 4 / np.sqrt(100_000)
