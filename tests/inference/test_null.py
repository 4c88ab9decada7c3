"""Tests of independence: exact identities, published figures, calibration."""

from __future__ import annotations

import numpy as np
import pytest

from alikely.inference import null
from alikely.metrics import consistency


def test_gunel_dickey_published_figure() -> None:
    assert np.exp(null.log_bayes_factor([10, 2, 3, 15])) == pytest.approx(391.68, abs=0.005)


def test_gunel_dickey_equals_marginal_likelihoods() -> None:
    # Uniform Dirichlet over four cells against two independent uniform accuracies.
    for cells in np.random.default_rng(2).integers(0, 30, size=(50, 4)):
        n11, n10, n01, n00 = cells

        def log_dirichlet(y: np.ndarray) -> float:
            from scipy.special import gammaln

            return float(gammaln(y).sum() - gammaln(y.sum()))

        joint = log_dirichlet(cells + 1.0) - log_dirichlet(np.ones(4))
        margins = [(n11 + n10, n01 + n00), (n11 + n01, n10 + n00)]
        apart = sum(log_dirichlet(np.array(m) + 1.0) - log_dirichlet(np.ones(2)) for m in margins)
        assert float(null.log_bayes_factor(cells)) == pytest.approx(joint - apart, abs=1e-9)


def test_priors_without_one_of_independence() -> None:
    with pytest.raises(ValueError, match="needs prior margins above 1"):
        null.log_bayes_factor([1, 2, 3, 4], prior=0.5)


def test_p_value_is_never_zero_and_undefined_draws_leave_the_denominator() -> None:
    draws = np.zeros((99, 1))
    assert null.p_value([0.5], draws) == pytest.approx([1 / 100])
    draws[:49] = np.nan
    assert null.p_value([0.5], draws) == pytest.approx([1 / 51])
    draws[60] = -0.7
    assert null.p_value([0.5], draws) == pytest.approx([2 / 51])


def test_ties_count_as_at_least_as_large() -> None:
    kappa = consistency.error_consistency([7, 3, 2, 8])
    assert null.p_value([kappa], np.full((9, 1), kappa, dtype=np.float32)) == pytest.approx([1.0])


def test_same_seed_same_draws_whatever_the_workers() -> None:
    import joblib

    cells = np.random.default_rng(5).integers(1, 50, size=(150, 4))
    draws = null.null_draws(cells, 50, rng=6)
    with joblib.parallel_config(backend="sequential"):
        np.testing.assert_array_equal(null.null_draws(cells, 50, rng=6), draws)
    assert not np.array_equal(null.null_draws(cells, 50, rng=7), draws)


@pytest.mark.slow
def test_null_percentiles_agree_with_simulation() -> None:
    """The exact limits against a plain simulation over the same grid of accuracies."""
    n_trials, n_grid = 40, 30
    limits = null.null_percentiles(n_trials, n_grid=n_grid)
    third = n_grid // 3
    grid = np.concatenate(
        [np.linspace(0, 0.15, third), np.linspace(0.15, 0.85, third), np.linspace(0.85, 1, third)]
    )
    rng = np.random.default_rng(8)
    size = 2_000_000
    p_a, p_b = rng.choice(grid, size=size), rng.choice(grid, size=size)
    k_a, k_b = rng.binomial(n_trials, p_a), rng.binomial(n_trials, p_b)
    n11 = rng.hypergeometric(k_a, n_trials - k_a, k_b)
    p_obs = (n_trials - k_a - k_b + 2 * n11) / n_trials
    expected = (k_a * k_b + (n_trials - k_a) * (n_trials - k_b)) / n_trials**2
    kappa = consistency.error_consistency(
        np.stack([n11, k_a - n11, k_b - n11, n_trials - k_a - k_b + n11], axis=-1)
    )
    bins = np.minimum((k_a * k_b + (n_trials - k_a) * (n_trials - k_b)) * 100 // n_trials**2, 99)
    assert limits.shape == (100, 7)
    checked = 0
    for row in limits.itertuples():
        here = bins == row.Index
        if here.sum() < 5_000:
            continue
        checked += 1
        share = here.mean()
        spread = np.sqrt(share * (1 - share) / size)
        assert row.share == pytest.approx(share, abs=4 * spread)
        assert expected[here].min() >= row.expected_lb - 1e-12
        for values, lower, upper in (
            (p_obs[here], row.agreement_lb, row.agreement_ub),
            (kappa[here], row.error_consistency_lb, row.error_consistency_ub),
        ):
            defined = values[~np.isnan(values)]
            if not len(defined):
                assert np.isnan([lower, upper]).all()
                continue
            noise = 4 * np.sqrt(0.025 * 0.975 / len(defined))
            # A quantile of a discrete distribution: mass strictly below at most, up to it at least.
            for level, limit in ((0.025, lower), (0.975, upper)):
                assert np.mean(defined < limit - 1e-9) <= level + noise
                assert np.mean(defined <= limit + 1e-9) >= level - noise
    assert checked > 30
