"""Tests of independence: exact identities, published values, calibration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from alikely.inference import null
from alikely.metrics import consistency


def test_gunel_dickey_published_figure() -> None:
    assert np.exp(null.log_bayes_factor([10, 2, 3, 15])) == pytest.approx(391.68, abs=0.005)


def test_gunel_dickey_equals_marginal_likelihoods() -> None:
    # Uniform Dirichlet over four cells, compared with two independent uniform accuracies.
    for cells in np.random.default_rng(2).integers(0, 30, size=(50, 4)):
        n11, n10, n01, n00 = cells

        def log_dirichlet(y: np.ndarray) -> float:
            from scipy.special import gammaln

            return float(gammaln(y).sum() - gammaln(y.sum()))

        joint = log_dirichlet(cells + 1.0) - log_dirichlet(np.ones(4))
        margins = [(n11 + n10, n01 + n00), (n11 + n01, n10 + n00)]
        apart = sum(log_dirichlet(np.array(m) + 1.0) - log_dirichlet(np.ones(2)) for m in margins)
        assert float(null.log_bayes_factor(cells)) == pytest.approx(joint - apart, abs=1e-9)


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


def test_null_percentiles_are_those_of_all_tables() -> None:
    n, n_grid = 12, 6
    grid = np.concatenate([np.linspace(a, b, 2) for a, b in ((0, 0.15), (0.15, 0.85), (0.85, 1))])
    k = np.arange(n + 1)
    weight = stats.binom(n, grid[:, None]).pmf(k).mean(axis=0)
    i, j, x = np.meshgrid(k, k, k, indexing="ij")
    mass = weight[i] * weight[j] * np.nan_to_num(stats.hypergeom(n, i, j).pmf(x))
    tables = np.stack([x, i - x, j - x, n - i - j + x], axis=-1)[mass > 0]
    bins = np.minimum((i * j + (n - i) * (n - j)) * 100 // n**2, 99)[mass > 0]
    mass = mass[mass > 0]
    agreement, kappa = tables[:, [0, 3]].sum(axis=1) / n, consistency.error_consistency(tables)
    for row in null.null_percentiles(n, n_grid=n_grid).itertuples():
        here = bins == row.Index
        assert row.share == pytest.approx(mass[here].sum(), abs=1e-12)
        for values, lower, upper in (
            (agreement, row.agreement_lb, row.agreement_ub),
            (kappa, row.error_consistency_lb, row.error_consistency_ub),
        ):
            known = here & ~np.isnan(values)
            share = mass[known] / mass[known].sum()
            assert known.any() or np.isnan([lower, upper]).all()
            for level, limit in ((0.025, lower), (0.975, upper)) if known.any() else ():
                # Discrete quantile: the mass below is at most q, and the mass up to it at least q.
                assert share[values[known] < limit - 1e-9].sum() < level + 1e-9
                assert share[values[known] <= limit + 1e-9].sum() > level - 1e-9
