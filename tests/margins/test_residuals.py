"""Checks of the law of strengths: what they find, and how often they cry wolf."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import alikely as al
from alikely.margins.residuals import (
    Residuals,
    class_residuals,
    fan_check,
    law_check,
    residuals,
    skew_check,
)
from alikely.margins.strengths import GroupStrengths, fit_machine, group_strengths

WORLDS = al.simulate.MARGIN_WORLDS


def looked_at(name: str, seed: int) -> tuple[GroupStrengths, Residuals, np.ndarray]:
    data = al.simulate.margin_data(WORLDS[name], seed)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_machine(group, data.margins, plain=True, n_points=64, rng=1)
    return group, residuals(group, fit, data.margins), data.classes


@pytest.mark.parametrize(
    ("name", "check"), [("bimodal strengths", "law"), ("class bias", "classes"), ("fan", "fan")]
)
def test_each_check_speaks_where_it_should(name: str, check: str) -> None:
    _, left, classes = looked_at(name, 3)
    found = {
        "law": law_check(left),
        "classes": class_residuals(left, classes),
        "fan": fan_check(left),
    }
    assert found[check] < 0.05


def test_known_strengths_give_the_textbook_test_of_a_fan() -> None:
    generator = np.random.default_rng(1)
    v = generator.standard_normal(4_000)
    v = (v - v.mean()) / v.std()
    r = generator.standard_normal(4_000)
    # Nothing is unknown and nothing was fitted: the score of a variance that grows with v.
    left = Residuals(
        v, r[:, None], r[:, None], np.ones((4_000, 1)), np.zeros((4_000, 1)), np.eye(1)
    )
    z = (v * (r**2 - 1)).sum() / np.sqrt(2 * (v**2).sum())
    assert fan_check(left) == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_skewness_is_of_strengths_and_not_of_margins() -> None:
    data = al.simulate.margin_data(WORLDS["exp"], 1)
    assert skew_check(group_strengths(data.right, data.shown, 16)) > 0.01
    data = al.simulate.margin_data(WORLDS["skewed strengths"], 1)
    assert skew_check(group_strengths(data.right, data.shown, 16)) < 0.01


def test_classes_of_one_item_tell_nothing() -> None:
    _, left, _ = looked_at("10 people", 1)
    assert np.isnan(class_residuals(left, np.arange(160)))


@pytest.mark.slow
def test_level_and_power_of_the_checks() -> None:
    n = 200
    fired = {}
    for name in ("10 people", "bimodal strengths", "class bias", "fan", "skewed strengths"):
        p = []
        for seed in range(n):
            group, left, classes = looked_at(name, seed)
            p.append([
                fan_check(left), law_check(left), class_residuals(left, classes), skew_check(group)
            ])  # fmt: skip
        fired[name] = dict(
            zip(
                ("fan", "law", "classes", "skew"),
                np.nanmean(np.array(p) < 0.05, axis=0),
                strict=True,
            )
        )
    # At most .08 where all holds: with four errors of 200 data sets at .05.
    assert max(fired["10 people"].values()) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / n)
    assert fired["bimodal strengths"]["law"] > 0.9
    assert fired["class bias"]["classes"] > 0.9
    assert fired["fan"]["fan"] > 0.5
    assert fired["skewed strengths"]["skew"] > 0.6
