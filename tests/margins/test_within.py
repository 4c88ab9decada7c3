"""Strengths within classes: known correlations, symmetries, and where it says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from alikely.margins.moments import same_correlation
from alikely.margins.strengths import GroupStrengths, fit_machine, group_strengths, standard_scores
from alikely.margins.within import classes_differ, varied_within, within_classes
from alikely.metrics.alternatives import m_afc_probability
from studies.simulators.margins import MARGIN_WORLDS, MarginWorld, margin_data

N, K = 160, 16
CLASSES = np.arange(N) % K


def made(rho: float, class_sd: float, opposite: float, rng: int) -> tuple[np.ndarray, np.ndarray]:
    """Strengths and margins, correlated so within classes; what classes have goes its own way."""
    generator = np.random.default_rng(rng)
    u, noise = generator.standard_normal((2, N))
    own = generator.standard_normal(K)[CLASSES]
    margins = rho * u + np.sqrt(1 - rho**2) * noise - opposite * own
    return u + class_sd * own, margins


def answered(u: np.ndarray, n: int, rng: int) -> GroupStrengths:
    p = m_afc_probability(1.2 + 1.2 * u / u.std(), 16)
    right = np.random.default_rng(rng).binomial(n, p)[None]
    return group_strengths(right, np.full((1, N), n), 16)


@pytest.mark.parametrize(("rho", "class_sd", "opposite"), [(0.6, 0.0, 0.0), (0.6, 1.0, 1.5)])
def test_of_many_answers_it_is_the_correlation_of_deviations(
    rho: float, class_sd: float, opposite: float
) -> None:
    u, margins = made(rho, class_sd, opposite, 1)
    group = answered(u, 400, 2)
    fit = fit_machine(group, margins, CLASSES, n_points=16, rng=1)
    found = within_classes(group, fit, margins, CLASSES)
    scores = [standard_scores(u), standard_scores(margins)]
    tables = [x.reshape(-1, K) for x in scores]
    apart = [(x - x.mean(axis=0)).ravel() for x in tables]
    # What is left of the noise of 400 answers is a two-hundredth of the variance: four errors.
    assert found.rho == pytest.approx(np.corrcoef(apart)[0, 1], abs=4 * np.sqrt(0.005 / N))
    means = [x.mean(axis=0) for x in tables]
    assert np.sign(found.between) == np.sign(np.corrcoef(means)[0, 1])
    # A random effect takes chance in the means of classes off their spread: 16 of them.
    assert found.between == pytest.approx(np.corrcoef(means)[0, 1], abs=0.1)
    assert found.lower < found.rho < found.upper


def test_turned_bent_and_renamed() -> None:
    u, margins = made(0.7, 0.8, 0.0, 3)
    group = answered(u, 10, 4)
    found = [
        within_classes(group, fit_machine(group, x, c, n_points=16, rng=1), x, c)
        for x, c in (
            (margins, CLASSES),
            (np.exp(margins), CLASSES),
            (-margins, CLASSES),
            (margins, (K - 1 - CLASSES)),
        )
    ]
    plain, bent, turned, renamed = (np.array(f[:4]) for f in found)
    np.testing.assert_allclose(bent, plain, atol=1e-12)
    # The mode is found to a thousandth.
    np.testing.assert_allclose(turned, -plain[[0, 2, 1, 3]], atol=5e-3)
    np.testing.assert_allclose(renamed, plain, atol=1e-6)


def test_without_differences_of_classes_it_is_that_in_all() -> None:
    """Of 400 items the two differ by chance in 15 of 400 degrees of freedom."""
    world = MarginWorld(n_items=400, rho=0.7)
    data = margin_data(world, rng=5)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_machine(group, data.margins, data.classes, n_points=16, rng=1)
    found = within_classes(group, fit, data.margins, data.classes)
    error = (1 - 0.7**2) / np.sqrt(400) * np.sqrt(15 / 400)
    # Answers of ten people each, and the prior in all, add to it.
    assert found.rho == pytest.approx(np.tanh(fit.mode.at[-1]), abs=4 * 2 * error)
    assert classes_differ(fit, found, data.classes) > 0.01


def test_opposite_classes_are_told() -> None:
    data = margin_data(MARGIN_WORLDS["opposite classes"], rng=1)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_machine(group, data.margins, data.classes, n_points=16, rng=1)
    found = within_classes(group, fit, data.margins, data.classes)
    assert found.lower < 0.5 < found.upper
    assert found.between < -0.3
    assert classes_differ(fit, found, data.classes) < 0.01


def test_a_perfect_machine_reaches_one_within() -> None:
    data = margin_data(MarginWorld(rho=1.0), rng=2)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_machine(group, data.margins, data.classes, n_points=16, rng=1)
    found = within_classes(group, fit, data.margins, data.classes)
    assert found.upper == 1
    assert found.lower > 0.9


def test_where_it_says_nothing() -> None:
    u, margins = made(0.7, 0.0, 0.0, 6)
    group = answered(u, 10, 7)
    few = CLASSES % 3
    fit = fit_machine(group, margins, n_points=16, rng=1)
    found = within_classes(group, fit, margins, few)
    assert found.inflation == 1
    assert np.isnan(classes_differ(fit, found, few))
    with pytest.raises(ValueError, match="all items are of one class"):
        within_classes(group, fit, margins, np.zeros(N, int))
    flat = CLASSES.astype(float)
    assert not varied_within(flat, CLASSES)
    assert varied_within(margins, CLASSES)
    with pytest.raises(ValueError, match="margins do not differ within classes"):
        within_classes(group, fit, flat, CLASSES)


def test_correlations_that_are_one_are_told_apart_in_the_share_of_the_level() -> None:
    """Of normal variables in all and of their first half: a known world."""
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
