"""Simulated margins: what is said of the populations is true."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from alikely.metrics.alternatives import m_afc_probability
from studies.simulators.margins import (
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
)

World = MarginWorld
data, truth = margin_data, true_margin_consistency


def test_the_truth_of_a_plain_world_is_an_integral() -> None:
    world = World(rho=0.6, ability_sd=0, log_gain_sd=0)
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    weight /= weight.sum()
    p = m_afc_probability(1.6 + 1.6 * z, 16)
    expected = 0.6 * (weight @ (p * z)) / np.sqrt(weight @ (p - weight @ p) ** 2)
    # Of 600,000 items: 1 / sqrt(n) at most, for both numbers.
    assert truth(world, 1) == pytest.approx((expected, expected), abs=4 / np.sqrt(600_000))


@pytest.mark.parametrize("rho", [0.6, 1.0])
def test_the_truth_of_two_plain_groups_is_a_series(
    rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.simulators.margins.CLASSES", 2_000)
    world = World(group_rho=rho, ability_sd=0, log_gain_sd=0)
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    weight /= weight.sum()
    p = m_afc_probability(1.6 + 1.6 * z, 16)
    # Mehler: of the part of degree k the power k of the correlation is left.
    parts = [
        (weight @ (p * np.polynomial.hermite_e.hermeval(z, np.eye(k + 1)[k]))) ** 2
        / math.factorial(k)
        for k in range(1, 40)
    ]
    expected = np.dot(parts, rho ** np.arange(1, 40)) / np.sum(parts)
    found = true_group_consistency(world, 1)
    assert found == pytest.approx(expected, abs=4 / np.sqrt(100_000))


def test_a_second_model_and_group_are_as_said() -> None:
    world = World(rho=0.9, other_rho=0.3, group_rho=0.5, n_items=20_000, n_observers=20)
    found = data(world, 7)
    share = found.right.mean(axis=0)
    near, far = (np.corrcoef(share, x)[0, 1] for x in (found.margins, found.other_margins))
    # What both have in common with the shares is in proportion to rho.
    assert far / near == pytest.approx(1 / 3, abs=4 / np.sqrt(20_000))
    between = np.corrcoef(share, found.other_right.mean(axis=0))[0, 1]
    assert 0.4 < between < 0.55
    lists = data(World(n_lists=2, n_observers=6, n_items=20), 8)
    np.testing.assert_array_equal(lists.shown, lists.other_shown)


def test_class_effects_part_total_from_within() -> None:
    total, within = truth(World(rho=0.5, class_sd=1.2, class_opposite=1.0), 3)
    assert total < 0 < within


def test_lists_and_missing_answers() -> None:
    lists = data(World(n_lists=2, n_observers=5, n_items=20), 4)
    assert (np.sort(lists.shown.sum(axis=0)) == [2] * 10 + [3] * 10).all()
    some = data(World(missing=0.5, n_repeats=2, n_items=400), 5)
    # 10 * 400 * 2 answers, each there or not.
    assert some.shown.mean() == pytest.approx(1, abs=4 * np.sqrt(0.5 / 4000))
    assert (some.right <= some.shown).all()


@pytest.mark.parametrize("law", ["normal", "t4", "skewed", "bimodal"])
def test_strengths_have_mean_0_and_variance_1(law: Any) -> None:
    # Margins of rho 1 are the strengths.
    x = data(World(rho=1, law=law, n_items=100_000, n_observers=1), 6).margins
    assert x.mean() == pytest.approx(0, abs=4 / np.sqrt(len(x)))
    # The fourth moment of t4 has no bound: its variance settles slowly.
    assert x.var() == pytest.approx(1, abs=0.1 if law == "t4" else 4 * np.sqrt(6 / len(x)))


def test_a_fan_keeps_the_correlation_and_spreads_unevenly() -> None:
    world = MarginWorld(rho=0.7, fan=0.5, n_items=100_000, n_observers=1)
    y = data(world, 1).margins
    # Variance 1 in all, as without a fan; squares of this noise have a spread of 4 at most.
    assert abs(y.var() - 1) < 4 * 4 / np.sqrt(100_000)
