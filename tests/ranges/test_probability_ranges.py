"""Probabilities, correlations of scores and p-values are in range despite rounding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from edge_numbers import SEEDS, N, assert_within, edges, nearly, shares
from hypothesis import given, settings
from hypothesis import strategies as st

import alikely as al
from alikely._base.arrays import within
from alikely.benchmark import agreement, ranking, scores
from alikely.inference import independence, intervals, resampling
from alikely.metrics import margins
from alikely.metrics.consistency import DEFAULT_PRIOR
from alikely.models import _mixtures as mixtures
from alikely.papers import leaderboards as reconstruction
from alikely.planning import trials
from studies.simulators import trees as simulated_judges

INFINITE = float("inf")
EPS = np.finfo(np.float64).eps
STRENGTHS = np.concatenate([np.linspace(-15, 25, 4001), [-1e6, -40, 40, 1e6]])


@given(rng=SEEDS)
def test_only_rounding_errors_are_clipped(rng: np.random.Generator) -> None:
    inside = rng.uniform(-1, 1, N)
    np.testing.assert_array_equal(within(inside, -1), inside)
    for number in (np.float32, np.float64):
        eps = np.finfo(number).eps
        rounded = np.array([1 + 3 * eps, -1 - 3 * eps], dtype=number)
        np.testing.assert_array_equal(within(rounded, -1), [1, -1])
        assert within(rounded, -1).dtype == number
        # Larger errors are unchanged.
        faults = np.array([1 + 1e4 * eps, -1.1, np.inf, np.nan], dtype=number)
        np.testing.assert_array_equal(within(faults, -1), faults)
    slack = np.array([1e-3, 1e-5])
    np.testing.assert_array_equal(within(np.full(2, 1 + 1e-4), slack=slack), [1, 1 + 1e-4])


@settings(max_examples=25)
@given(n_alternatives=st.integers(2, 2_000), rng=SEEDS)
def test_probability_of_a_correct_response_among_alternatives(
    n_alternatives: int, rng: np.random.Generator
) -> None:
    p = margins.m_afc_probability(STRENGTHS, n_alternatives)
    assert_within(p)
    # The draw raises an error for invalid probabilities.
    rng.binomial(1, p)
    assert (np.diff(p[:4001]) >= -4 * EPS).all()
    for log_p in margins.m_afc_log_probability(STRENGTHS, n_alternatives):
        assert_within(log_p, -INFINITE, 0)
        assert np.isfinite(log_p[:4001]).all()


@given(rng=SEEDS)
def test_cells_that_are_differences_are_not_negative(rng: np.random.Generator) -> None:
    a, b = np.triu_indices(4, 1)
    prior = DEFAULT_PRIOR.patterns("these draws")
    pieces = resampling.prior_pieces(rng, 50, prior.mass)
    block: Any = SimpleNamespace(a=a, b=b, correct=np.empty((4, 0)))
    cells = resampling._prior_cells(rng, prior, pieces, block)
    assert_within(cells / pieces.sum(axis=1)[:, None, None], 0, 1 + 1e-12)
    counts = rng.integers(0, 30, (N, 4))
    counts[:, 0] += 1
    null = trials._null_tables(counts, float(rng.choice([0.0, 0.3, -1.0, 1.0])))
    assert_within(null)
    humans = np.clip(edges(rng, 5), 1e-6, 1 - 1e-6)
    place = SimpleNamespace(accuracy=humans, n_trials=20)
    drawn = reconstruction._pairs(rng, place, float(rng.choice([0.2, 0.999])), 0.9, 3)
    assert drawn.min() >= 0
    h, k = rng.normal(0, 3, (2, N))
    correlation = rng.choice([0, 0.3, -0.999, 1 - 1e-9], N)
    assert_within(simulated_judges.normal_consistency(correlation, h, k), -1)


@given(rng=SEEDS)
def test_permutation_p(rng: np.random.Generator) -> None:
    answers = rng.integers(0, 4, (2, 9, 2)) / 3
    p = independence._of_pair(*answers, al.metrics.ERROR_CONSISTENCY, 30, rng)
    if not np.isnan(p):
        assert 0 < p <= 1


@settings(max_examples=25)
@given(rng=SEEDS)
def test_tails_of_tables(rng: np.random.Generator) -> None:
    flat = rng.integers(0, 10 ** int(rng.integers(1, 5)), (N, 4))
    table = np.where(rng.random((N, 4)) < 0.2, 0, flat)
    for alternative in ("two-sided", "greater", "less"):
        assert_within(independence.fisher_log10_p(table, alternative), -INFINITE, 0)


@given(rng=SEEDS)
def test_correlations_of_scores(rng: np.random.Generator) -> None:
    x = rng.normal(size=(N, 7))
    y = np.where(rng.random((N, 1)) < 0.5, nearly(rng, -x), rng.integers(0, 3, (N, 7)))
    for found in (ranking.spearman(x, y),):
        assert_within(found, -1)
    found = ranking.latent_correlation(x[0], -3 * x[0] + 1, (1e-9, 20), (1e-9, 20))
    assert_within(found["pearson"], -1)
    rest = rng.normal(size=7)
    partial = [
        agreement.partial_correlation(x[0] + rest, sign * 3 * rest + 2 * x[0], x[0])[0]
        for sign in (-1, 1)
    ]
    assert_within(partial, -1)


@given(rng=SEEDS)
def test_means_are_between_their_values(rng: np.random.Generator) -> None:
    n = int(rng.integers(2, 60))
    value, weights = float(rng.choice([-1.0, 1.0, 0.1])), rng.uniform(0, 1, n)
    for weight in (weights, np.ones(n)):
        assert intervals.mean_of_defined(np.full(n, value), weight) == value
    for weight in (weights / weights.sum(), np.full(n, 1 / n)):
        assert_within(scores._mean_of_draws(np.ones((4, n)), weight), -1)
    regimes = mixtures.neighbour_probabilities(
        rng.normal(0, 9, N), shares(rng, 3), np.sort(rng.normal(size=3)), rng.uniform(0.1, 2, 3)
    )
    assert_within(regimes)
