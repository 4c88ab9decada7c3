"""Posterior of the correlation of strengths: brute force, MCMC and the prior."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import alikely as al
from alikely.inference.regression import importance_draws
from alikely.margins.moments import normal_scores, tied_ranks
from alikely.margins.strengths import (
    StrengthFit,
    fit_model,
    group_strengths,
    item_likelihoods,
    log_law_prior,
    log_likelihood,
    placed,
    strength_checks,
    strength_limits,
    strength_of,
)
from alikely.metrics.margins import m_afc_log_probability, m_afc_probability
from generative.item_margins import item_margins
from studies.simulators.margins import MARGIN_WORLDS, MarginData, MarginWorld, margin_data

TAILS = [0.025, 0.5, 0.975]


def experiment(seed: int, **features: object) -> MarginData:
    world = dataclasses.replace(MarginWorld(), **features)  # type: ignore[arg-type]
    return margin_data(world, seed)


def test_tables_are_the_likelihood_of_counts() -> None:
    right, shown = np.array([[1, 0, 2], [1, 3, 0]]), np.array([[1, 1, 2], [2, 3, 0]])
    found = item_likelihoods(right, shown, 4)
    at = np.array([-1.3, 0.2, 2.71, 17.0])
    log_right, log_wrong = m_afc_log_probability(at, 4)
    k, n = right.sum(axis=0)[:, None], shown.sum(axis=0)[:, None]
    expected = k * log_right + (n - k) * log_wrong
    value = log_likelihood(found, np.broadcast_to(at, (1, 3, 4)), np.zeros(1))[0]
    # Linear interpolation with steps of 1/40 and curvature n: error at most n / 40**2 / 8.
    assert np.abs(value - expected).max() <= 6 / 40**2 / 8


def test_tables_of_repeats_integrate_stable_deviations_out() -> None:
    right, shown = np.array([[2, 0, 1], [1, 2, 3]]), np.array([[2, 2, 2], [2, 2, 3]])
    found = item_likelihoods(right, shown, 16, stable=(0.8, 1.4))
    at, tau = np.array([0.5, 2.0]), 1.1
    e, w = np.polynomial.hermite_e.hermegauss(80)
    p = m_afc_probability(at[:, None] + tau * e, 16)
    k, n = right[..., None, None], shown[..., None, None]
    expected = np.log((p**k * (1 - p) ** (n - k)) @ (w / w.sum())).sum(axis=0)
    value = log_likelihood(found, np.broadcast_to(at, (1, 3, 2)), np.array([tau]))[0]
    # Interpolation in strength as above, with six responses, and between two tables of spreads.
    assert value == pytest.approx(expected, abs=5e-3)
    between = log_likelihood(found, np.broadcast_to(at, (1, 3, 2)), np.array([0.95]))[0]
    p = m_afc_probability(at[:, None] + 0.95 * e, 16)
    expected = np.log((p**k * (1 - p) ** (n - k)) @ (w / w.sum())).sum(axis=0)
    # Quadratic terms of log spreads over a factor of 1.75 add at most 0.014.
    assert between == pytest.approx(expected, abs=0.014)


@pytest.mark.parametrize("eta", [-1.0, 0.2, 1.5, 4.0])
@pytest.mark.parametrize("n_observers", [3, 10, 90])
def test_quadrature_is_the_integral_over_strengths(eta: float, n_observers: int) -> None:
    data = experiment(1, n_observers=n_observers, n_items=40, rho=float(np.tanh(eta)))
    group = group_strengths(data.right, data.shown, 16)
    law = group.law[None] + np.array([[0.1, -0.1, 0.1, -0.1]])
    v = normal_scores(data.margins)
    value, _, weight = placed(law, np.array([eta]), v[None], group.likelihoods)
    z = np.linspace(-8, 8, 4001)
    u = np.tanh(eta) * v[:, None] + z / np.cosh(eta)
    log_p = log_likelihood(group.likelihoods, strength_of(law, u[None]), np.zeros(1))[0]
    brute = special.logsumexp(log_p + stats.norm.logpdf(z), axis=1) + np.log(z[1] - z[0])
    assert weight.sum(axis=-1) == pytest.approx(1)
    # A tenth of a relevant change of a likelihood ratio, over all items.
    gap = value[0] - brute
    assert abs(gap - gap.mean()).sum() < 0.25


def test_importance_draws_of_a_known_density() -> None:
    center, spread = np.array([1.0, -2.0, 0.5]), np.array([0.5, 2.0, 0.1])

    def density(x: np.ndarray) -> np.ndarray:
        return -(((x - center) / spread) ** 2).sum(axis=1) / 2

    # A bad start is refitted until it fits.
    found = importance_draws(
        density, center + 2 * spread, np.diag(9 * spread**2), 1024, np.random.default_rng(1)
    )
    assert found.efficiency > 0.35
    mean = found.weights @ found.values
    square = found.weights @ (found.values - mean) ** 2
    # Four errors of plain Monte Carlo with this effective size; Sobol points are better.
    room = 4 / np.sqrt(1024 * found.efficiency)
    assert np.abs((mean - center) / spread).max() < room
    assert np.abs(square / spread**2 - 1).max() < room * np.sqrt(2)


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=3)
def test_symmetries(seed: int) -> None:
    data = experiment(seed, n_items=40, rho=0.5)
    group = group_strengths(data.right, data.shown, 16)
    fits = [
        fit_model(group, margins, plain=True, rng=1, n_points=2048)
        for margins in (data.margins, np.exp(data.margins), -data.margins)
    ]
    low, middle, high = strength_limits(fits[0], TAILS)
    # Only the ranks of margins matter.
    assert strength_limits(fits[1], TAILS).tolist() == [low, middle, high]
    # Negated margins use other quadrature points, with differences of some thousandths.
    assert strength_limits(fits[2], TAILS) == pytest.approx([-high, -middle, -low], abs=0.03)


def test_a_perfect_model_is_covered_and_an_unrelated_one_is_not_perfect() -> None:
    data = experiment(1, rho=1.0)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_model(group, data.margins, data.classes, rng=1)
    assert fit.p_perfect > 0.05
    assert strength_limits(fit, 0.975) == 1.0
    shuffled = np.random.default_rng(1).permutation(data.margins)
    other = fit_model(group, shuffled, data.classes, rng=1)
    assert other.p_perfect == other.p_opposite == 0.0
    assert -0.5 < strength_limits(other, 0.025) < strength_limits(other, 0.975) < 0.5
    opposite = fit_model(group, -data.margins, data.classes, rng=1)
    assert strength_limits(opposite, 0.025) == -1.0


def test_allowance_for_misfit_only_widens() -> None:
    data = experiment(3, rho=0.6)
    group = group_strengths(data.right, data.shown, 16)
    # Dependent items of a class: neighbors by residual.
    plain = fit_model(group, data.margins, plain=True, rng=1)
    together = plain.slopes.argsort().argsort() // 10
    whole = fit_model(group, data.margins, together, rng=1)
    assert whole.inflation > 1.0 == plain.inflation
    width = [np.diff(strength_limits(fit, [0.025, 0.975]))[0] for fit in (plain, whole)]
    # New margins add half the squared correlation; tempering adds the root of the inflation.
    assert width[1] > width[0] * np.sqrt(whole.inflation) * 0.9


def test_repeats_do_not_count_as_other_humans() -> None:
    data = experiment(5, n_observers=5, n_repeats=2, stable_sd=2.0)
    with_repeats = group_strengths(data.right, data.shown, 16)
    assert len(with_repeats.law) == 5
    # The spread of 2 is estimated from 5 humans within a factor of 2.
    assert 1.0 < np.exp(with_repeats.law[4]) < 4.0
    # If repeats count as other humans, item variances are underestimated.
    others = group_strengths(
        np.concatenate([data.right > 0, data.right > 1]), np.ones((10, 160), int), 16
    )
    assert others.variance.mean() < with_repeats.variance.mean()


def test_rank_correlations_agree_with_influences() -> None:
    generator = np.random.default_rng(1)
    base = generator.normal(size=(2, 200))
    rows = [base[0], 0.8 * base[0] + 0.6 * base[1], -base[0]]
    parts = [(np.arange(200), row, None) for row in rows]
    ranks = tied_ranks(200, parts, 4_000, rng=2)
    assert (np.sort(ranks, axis=0) == np.arange(4_000)[:, None]).all()
    expected = 6 / np.pi * np.arcsin(np.corrcoef(rows) / 2)
    # Rank correlation of a normal copula, up to four errors of 4,000 draws.
    assert np.corrcoef(ranks.T) == pytest.approx(expected, abs=4 / np.sqrt(4_000))


def test_the_prior_is_that_of_the_model_page() -> None:
    law = np.array([[0.3, 0.2, -0.1, 0.4, -0.5], [1.0, -0.4, 0.3, -0.2, 0.1]])
    expected = [
        stats.norm.logpdf(mean, 1, 2)
        + stats.gamma.logpdf(np.exp(log_sd), 2, scale=3 / 4) + log_sd
        + stats.norm.logpdf(skewness, 0, 0.4)
        + stats.norm.logpdf(log_tail, 0, 0.3)
        + stats.halfnorm.logpdf(np.exp(log_stable), 0, 2) + log_stable
        for mean, log_sd, skewness, log_tail, log_stable in law
    ]  # fmt: skip
    assert np.diff(log_law_prior(law)) == pytest.approx(np.diff(expected))


@pytest.mark.parametrize(
    ("name", "check"), [("bimodal strengths", "p_modes"), ("skewed strengths", "p_linearity")]
)
def test_each_check_detects_its_problem(name: str, check: str) -> None:
    data = margin_data(MARGIN_WORLDS[name], 3)
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_model(group, data.margins, plain=True, n_points=64, rng=1)
    assert strength_checks(group, fit, data.margins)[check] < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "features",
    [{"rho": 1.0}, {"rho": 0.3, "law": "skewed"}],
)
def test_limits_agree_with_mcmc(features: dict[str, object]) -> None:
    data = experiment(10, n_items=80, **features)
    right, shown = data.right.sum(axis=0), data.shown.sum(axis=0)
    model = item_margins(right, shown, data.margins, n_alternatives=16, law="sinh_arcsinh")
    group = group_strengths(data.right, data.shown, 16)
    fit = fit_model(group, data.margins, plain=True, n_points=8_192, rng=1)
    assert_equal_to_chains(fit, model, 4_000)


def assert_equal_to_chains(fit: StrengthFit, model: Any, n_draws: int) -> None:
    """Check both tails and the mean within four Monte Carlo errors of MCMC."""
    import arviz_stats

    tree = al.inference.nuts(model, n_draws, rng=3, target_accept=0.9)
    rho = tree["posterior"]["rho"]
    for tail in (0.025, 0.975):
        error = float(arviz_stats.mcse(rho, method="quantile", prob=tail))
        assert abs(float(np.quantile(rho, tail)) - strength_limits(fit, tail)) < 4 * error
    error = float(arviz_stats.mcse(rho, method="mean"))
    assert abs(float(rho.mean()) - fit.weights @ np.tanh(fit.eta)) < 4 * error
