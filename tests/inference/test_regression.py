"""Regression of pairs, compared with dense normal algebra, quadrature and symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from alikely.inference import regression as mixed
from alikely.inference.regression import PairRegression

N = 8
FIRST, SECOND = np.triu_indices(N, k=1)
GROUP = np.array([0, 0, 0, 1, 1, 2, 2, 3])


def made(order: slice | np.ndarray = slice(None), turned: bool = False) -> PairRegression:
    rng = np.random.default_rng(4)
    same = GROUP[FIRST] == GROUP[SECOND]
    extra = rng.normal(size=len(FIRST))
    columns = np.column_stack([np.ones(len(FIRST)), same, extra - extra.mean()])
    u = 0.1 * rng.normal(size=N)
    value = 0.3 + 0.2 * same + u[FIRST] + u[SECOND] + 0.1 * rng.normal(size=len(FIRST))
    se, of_pair = rng.uniform(0.02, 0.1, len(FIRST)), np.where(same, GROUP[FIRST], -1)
    ends = [each[order] for each in ((SECOND, FIRST) if turned else (FIRST, SECOND))]
    return PairRegression(value[order], se[order], columns[order], *ends, of_pair[order])


def dense(design: PairRegression, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and covariance of the values, and covariance of values with coefficients."""
    ends = np.zeros((len(design.value), N))
    pair = np.arange(len(design.value))
    ends[pair, design.first] = ends[pair, design.second] = 1
    matrix = scales[0] ** 2 * ends @ ends.T + np.diag(design.se**2 + scales[1] ** 2)
    matrix += scales[2] ** 2 * ((design.groups[:, None] == design.groups) & (design.groups >= 0))
    with_b = design.columns * design.prior_sd[: design.columns.shape[1]] ** 2
    return design.columns @ design.prior_mean, matrix + with_b @ design.columns.T, with_b


def test_the_density_of_spreads_agrees_with_a_dense_normal() -> None:
    design = made()
    log_scales = np.log(np.random.default_rng(1).uniform(0.01, 0.4, (6, 3)))
    expected = []
    for x in log_scales:
        mean, covariance, _ = dense(design, np.exp(x))
        normal = stats.multivariate_normal(mean, covariance).logpdf(design.value)
        prior = stats.halfnorm(scale=design.prior_scales).logpdf(np.exp(x)) + x
        expected.append(normal + prior.sum())
    found = design.log_density(log_scales)
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], atol=1e-8)


def test_coefficients_given_spreads_agree_with_a_dense_normal() -> None:
    design, scales = made(), np.array([0.1, 0.05, 0.2])
    mean, covariance, with_b = dense(design, scales)
    gain = np.linalg.solve(covariance, with_b).T
    np.testing.assert_allclose(design.weights(scales), gain, atol=1e-10)
    prior_sd = design.prior_sd[: design.columns.shape[1]]
    rng = np.random.default_rng(1)
    drawn = design.effects(np.log(scales), 40_000, rng)[:, : len(prior_sd)]
    exact = gain @ (design.value - mean)
    spread = np.diag(prior_sd**2) - gain @ with_b
    sd = np.sqrt(np.diag(spread))
    # 4 Monte Carlo errors of means, variances and covariances of normal draws.
    assert (np.abs(drawn.mean(axis=0) - exact) < 4 * sd / np.sqrt(len(drawn))).all()
    error = np.abs(np.cov(drawn.T) - spread) / np.outer(sd, sd)
    assert error.max() < 4 * np.sqrt(2 / len(drawn))


def test_order_of_observers_and_pairs_does_not_matter() -> None:
    design = made()
    order = np.random.default_rng(2).permutation(len(FIRST))
    turned = made(order=order, turned=True)
    log_scales = np.log([[0.1, 0.2, 0.1], [0.02, 0.3, 0.01]])
    np.testing.assert_allclose(turned.log_density(log_scales), design.log_density(log_scales))


@pytest.mark.slow
def test_draws_of_spreads_agree_with_quadrature() -> None:
    design = made()
    unit = np.log(design.value.std())
    axis = unit + np.linspace(-9, 2.5, 60)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    density = design.log_density(grid)
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    drawn = design.draws(8_000, np.random.default_rng(1))
    assert drawn.attrs["pareto_k"] < 0.7
    n = min(drawn.attrs["n_effective"], 8_000)
    for k, name in enumerate(mixed.SPREADS):
        values = np.exp(grid[:, k])
        mean = weight @ values
        sd = np.sqrt(weight @ (values - mean) ** 2)
        assert abs(drawn[name].values.mean() - mean) < 4 * sd / np.sqrt(n)
        # Quantiles agree within one step of the grid.
        step = np.bincount(np.searchsorted(axis, grid[:, k]), weight).max()
        for level in (0.025, 0.5, 0.975):
            at = np.quantile(drawn[name].values, level)
            room = 4 * np.sqrt(level * (1 - level) / n)
            assert weight @ (values <= at) == pytest.approx(level, abs=room + step)


def test_transformed_spreads_are_equivalent() -> None:
    """Spreads with exponential priors are standard normal there; slopes agree with differences."""
    x = np.linspace(-5, 3, 9)[:, None]
    log_scales, log_slope = mixed._spreads(x, np.zeros(1))
    np.testing.assert_allclose(np.exp(log_scales), -np.log(stats.norm.sf(x)))
    above, below = (mixed._spreads(x + d, np.zeros(1))[0] for d in (1e-5, -1e-5))
    constant = log_slope - np.log((above - below)[:, 0] / 2e-5)
    np.testing.assert_allclose(constant, constant[0], atol=1e-6)
