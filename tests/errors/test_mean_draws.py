"""Limits of means over pairs, in populations with known bias and spread."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

from alikely.errors.draws import mean_draws

BIAS, SD, FURTHEST = 0.12, 0.02, 0.3
N_POPULATIONS, N_DRAWS = 400, 400


def populations(
    n_pairs: int,
    rng: np.random.Generator,
    true: float = 0.1,
    *,
    common: float = 0.0,
    tied: bool = False,
) -> xr.Dataset:
    """Estimates with bias and normal errors; a fraction `common` of the variance is shared."""
    step = np.arange(N_POPULATIONS) * 0.6180339887498949 % 1
    apart = FURTHEST * step[:, None] ** 2 * np.ones(n_pairs)
    of_population = np.sqrt(common) * SD * rng.standard_normal(apart.shape)
    estimates = [
        apart + BIAS + of_population + np.sqrt(1 - common) * SD * rng.standard_normal(apart.shape)
        for _ in range(2)
    ]
    estimates[1][::2] = np.nan
    score = rng.standard_normal((N_DRAWS, 1 if tied else n_pairs)) * np.ones(n_pairs)
    nothing = np.zeros(apart.shape)
    # The posterior of a single estimate without bias.
    posterior = np.abs(true + SD * rng.standard_normal(apart.shape))
    values = {
        "true": 1 - apart,
        "estimate": 1 - estimates[0],
        "again": 1 - estimates[1],
        "posterior": 1 - posterior,
        "in_frequent": nothing,
        "in_few": nothing,
    }
    return xr.Dataset(
        {name: (("generalize_to", "pair"), value) for name, value in values.items()}
        | {
            "observed": ("pair", np.full(n_pairs, np.nan)),
            "furthest": ("pair", np.full(n_pairs, 0.5)),
            "order": (("sample", "pair"), score.argsort(axis=0).argsort(axis=0)),
        },
        attrs={"equal": 1.0},
    )


def ends(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.quantile(draws, [0.025, 0.975], axis=0))


@pytest.mark.parametrize("apart", [0.0, 0.08])
def test_limits_of_means_cover_with_a_common_bias(apart: float) -> None:
    rng = np.random.default_rng(1)
    n_means, size = 100, 6
    made = populations(n_means * size, rng, apart)
    estimate = 1 - (apart + BIAS + SD * rng.standard_normal(n_means * size))
    made["observed"][:] = estimate
    drawn, bounded = mean_draws(made, lambda x: x.reshape(len(x), n_means, size).mean(axis=2))
    assert drawn.shape == (N_DRAWS, n_means)
    low, high = ends(drawn)
    # Single precision preserves 1; four standard errors below 0.95.
    held = (low <= 1 - apart) & (1 - apart <= high)
    assert held.mean() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_means)
    if not apart:
        assert (high == 1).mean() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_means)
        alone = 1 - np.abs(SD * rng.standard_normal((N_DRAWS, n_means, size))).mean(axis=2)
        assert (ends(alone)[1] < 1).all()
    # At most 1.5 times the width for six without bias, because posteriors vary by chance.
    assert np.median(high - low) < 1.5 * 2 * 1.96 * SD / np.sqrt(size)
    np.testing.assert_allclose(bounded, 1)


def width(n_pairs: int, **kind: float | bool) -> float:
    rng = np.random.default_rng(2)
    made = populations(n_pairs, rng, **kind)  # type: ignore[arg-type]
    # Without widening.
    made["posterior"][:] = 0.9
    made["observed"][:] = 1 - 0.1 - BIAS
    low, high = ends(mean_draws(made, lambda x: x.mean(axis=1))[0])
    return float(high - low)


def test_common_errors_of_pairs_do_not_average_out() -> None:
    one = width(1)
    # 95% limits of a normal estimate; the spread of 400 residuals has a standard error of 4%.
    room = 4 * 0.04
    assert one == pytest.approx(2 * 1.96 * SD, rel=room)
    assert width(16) == pytest.approx(one / 4, rel=2 * room)
    assert width(16, tied=True) == pytest.approx(one, rel=2 * room)
    assert width(16, common=1.0) == pytest.approx(one, rel=2 * room)
    half = np.sqrt(0.5 + 0.5 / 16)
    assert width(16, common=0.5) == pytest.approx(half * one, rel=2 * room)


def test_a_pair_without_errors_leaves_its_means_undefined() -> None:
    made = populations(4, np.random.default_rng(3))
    for name in ("true", "estimate", "again", "posterior", "in_frequent", "in_few"):
        made[name][:, 1] = np.nan
    made["observed"][:] = [0.9, np.nan, 0.9, 0.9]
    weights = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]).T

    def combine(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([x[:, :2].mean(axis=1), x[:, 2:].mean(axis=1)], axis=1)

    found, _ = mean_draws(made, combine)
    assert np.isnan(found[:, 0]).all()
    assert np.isfinite(found[:, 1]).all()
    alone, _ = mean_draws(made.isel(pair=[2, 3]), lambda x: x @ weights[2:, 1])
    assert alone.shape == (N_DRAWS,)
    assert ends(alone) == pytest.approx(ends(found[:, 1]), abs=SD / 4)
