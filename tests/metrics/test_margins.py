"""Decision margins: quadrature, margins by hand, influence as a derivative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from alikely.metrics import margins

D_PRIMES = np.linspace(-5, 10, 31)


def integral(d: float, n_alternatives: int) -> float:
    """Probability of a correct response by adaptive integration."""

    def density(x: float) -> float:
        return float(stats.norm.pdf(x - d) * special.ndtr(x) ** (n_alternatives - 1))

    options = {"epsabs": 1e-14, "epsrel": 1e-12, "limit": 400}
    return (
        integrate.quad(density, d - 9, d, **options)[0]
        + integrate.quad(density, d, d + 9, **options)[0]
    )


SLOW = [pytest.param(m, marks=pytest.mark.slow) for m in (2, 200)]


@pytest.mark.parametrize("n_alternatives", [4, 1000, *SLOW])
def test_probability_equals_the_integral(n_alternatives: int) -> None:
    reference = np.array([integral(d, n_alternatives) for d in D_PRIMES])
    found = margins.m_afc_probability(D_PRIMES, n_alternatives)
    # Far below the documented 1e-6; otherwise another rule would suffice.
    np.testing.assert_allclose(found, reference, atol=1e-12)
    few, weights = margins.distractor_nodes(n_alternatives, 12)
    np.testing.assert_allclose(
        special.ndtr(D_PRIMES[:, None] - few) @ weights, reference, atol=1e-6
    )
    right, wrong = margins.m_afc_log_probability(D_PRIMES, n_alternatives)
    np.testing.assert_allclose(np.exp(right), found, atol=1e-14)
    np.testing.assert_allclose(np.exp(right) + np.exp(wrong), 1, atol=1e-12)


def test_two_alternatives_have_a_closed_form() -> None:
    right, wrong = margins.m_afc_log_probability(D_PRIMES, 2)
    np.testing.assert_allclose(right, special.log_ndtr(D_PRIMES / np.sqrt(2)), rtol=1e-7)
    np.testing.assert_allclose(wrong, special.log_ndtr(-D_PRIMES / np.sqrt(2)), rtol=1e-7)
    np.testing.assert_allclose(margins.m_afc_probability(0.0, 7), 1 / 7)


def of_margins(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The correlation, and its derivative by the weight of each item."""
    moments = margins.margin_moments(x, y)
    sums = moments.sum(axis=-1)
    slopes = margins.DECISION_MARGIN_CONSISTENCY.derivative(sums) @ moments
    return float(margins.margin_consistency(sums)), slopes


@given(st.integers(5, 40), st.integers(0, 10_000))
def test_consistency_equals_scipy_and_has_its_symmetries(n: int, seed: int) -> None:
    x, y = np.random.default_rng(seed).normal(size=(2, n))
    pearson, slopes = of_margins(x, y)
    assert pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert of_margins(y, -3 * x + 1)[0] == pytest.approx(-pearson)
    assert abs(slopes.sum()) < 1e-8


def test_influence_is_the_derivative() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 30))
    slopes = of_margins(x, y)[1]

    def weighted(w: np.ndarray) -> float:
        w = w / w.sum()
        a, b = x - w @ x, y - w @ y
        return float((w @ (a * b)) / np.sqrt((w @ a**2) * (w @ b**2)))

    for i in range(30):
        step = 1e-6 * np.eye(30)[i]
        slope = (weighted(np.ones(30) + step) - weighted(np.ones(30) - step)) / 2e-6
        assert slopes[i] == pytest.approx(slope, abs=1e-8)


def test_constant_margins_have_no_consistency() -> None:
    value, slopes = of_margins(np.ones(6), np.arange(6))
    assert np.isnan(value)
    assert np.isnan(slopes).all()


def test_spearman_brown_equals_the_correlation_of_means_of_parallel_measures() -> None:
    """Compare with means of k measures with correlation r, whose variance is smaller."""
    r, k = np.linspace(0, 1, 11), 5
    np.testing.assert_allclose(margins.spearman_brown(r, k), r / (r + (1 - r) / k), rtol=1e-14)
    np.testing.assert_allclose(
        margins.spearman_brown(margins.spearman_brown(r, k), 1 / k), r, atol=1e-14
    )
