"""Checks of the law of strengths: what they find, and how often they cry wolf."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from alikely.margins.residuals import (
    Residuals,
    class_residuals,
    law_check,
    line_check,
    residuals,
    skew_check,
)
from alikely.margins.strengths import GroupStrengths, fit_machine, group_strengths
from studies.simulators.margins import MARGIN_WORLDS, margin_data

WORLDS = MARGIN_WORLDS


def looked_at(name: str, seed: int) -> tuple[GroupStrengths, Residuals, np.ndarray]:
    data = margin_data(WORLDS[name], seed)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_machine(group, data.margins, plain=True, n_points=64, rng=1)
    return group, residuals(group, fit, data.margins), data.classes


@pytest.mark.parametrize(
    ("name", "check"),
    [("bimodal strengths", "law"), ("class bias", "classes"), ("skewed strengths", "line")],
)
def test_each_check_speaks_where_it_should(name: str, check: str) -> None:
    _, left, classes = looked_at(name, 3)
    found = {
        "law": law_check(left),
        "classes": class_residuals(left, classes),
        "line": line_check(left),
    }
    assert found[check] < 0.05


def known(u: np.ndarray, margins: np.ndarray) -> Residuals:
    """Nothing is unknown, and nothing was fitted but the correlation."""
    u, v = (stats.norm.ppf((stats.rankdata(x) - 0.5) / len(x)) for x in (u, margins))
    rho = float(np.corrcoef(u, v)[0, 1])
    r = (u - rho * v) / np.sqrt(1 - rho**2)
    none = np.zeros((len(u), 1))
    return Residuals(v, u[:, None], r[:, None], none + 1, none, np.eye(1), np.eye(1), rho)


@pytest.mark.parametrize("rho", [0.7, -0.5])
def test_slope_of_a_line_in_skewed_strengths_is_its_information(rho: float) -> None:
    n, bend, s = 200_000, 0.04, np.sqrt(1 - rho**2)
    w, noise = np.random.default_rng(1).standard_normal((2, n))
    p = line_check(known(w, rho * (w + bend * (w**2 - 1)) + s * noise))
    # Expected: bend times the root of the information in what bends along margins.
    information = n * (2 * rho**2 * s) ** 2 * 2
    z = stats.norm.isf(p / 2)
    # Four errors of a standard score, and twice the square of the bend, which is of that order.
    assert z == pytest.approx(bend * np.sqrt(information), abs=4 + n**0.5 * 2 * bend**2)


def test_two_humps_along_margins_are_none_of_the_margins() -> None:
    generator = np.random.default_rng(2)
    # Four values: normal scores of margins have gaps, strengths given margins are normal.
    margins = generator.integers(0, 4, 40_000).astype(float)
    left = known(generator.standard_normal(40_000), margins)
    v = left.scores
    rho, noise = 0.8, generator.standard_normal(40_000)
    u = rho * v + 0.6 * noise
    here = left._replace(strength=u[:, None], residual=noise[:, None], rho=rho)
    assert law_check(here) > 1e-3
    humps = here._replace(strength=(rho * v + 0.6 * np.sign(noise))[:, None])
    assert law_check(humps) < 1e-6


def test_skewness_is_of_strengths_and_not_of_margins() -> None:
    data = margin_data(WORLDS["exp"], 1)
    assert skew_check(group_strengths(data.right, data.shown, 16)) > 0.01
    data = margin_data(WORLDS["skewed strengths"], 1)
    assert skew_check(group_strengths(data.right, data.shown, 16)) < 0.01


def test_classes_of_one_item_tell_nothing() -> None:
    _, left, _ = looked_at("10 people", 1)
    assert np.isnan(class_residuals(left, np.arange(160)))
