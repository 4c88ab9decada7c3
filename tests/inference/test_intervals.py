"""Means of defined values, compared with NumPy, and bands of uniform numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from alikely.inference import intervals as bands
from alikely.inference.intervals import mean_of_defined

RNG = np.random.default_rng(1)
HOLES = np.where(RNG.random((40, 3, 5)) < 0.3, np.nan, RNG.normal(2, 3, (40, 3, 5)))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_statistics_of_defined_values_agree_with_numpy(axis: int, dtype: type) -> None:
    values = HOLES.astype(dtype)
    exact = values.astype(np.float64)
    mean = mean_of_defined(values, axis=axis)
    assert mean.dtype == np.float64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns about empty columns
        np.testing.assert_allclose(mean, np.nanmean(exact, axis=axis), rtol=1e-13, atol=1e-13)


def test_weighted_means_agree_with_numpy() -> None:
    values, weights = HOLES[:, 0, 0], RNG.integers(0, 4, 40)
    known = ~np.isnan(values)
    single = np.average(values[known], weights=weights[known])
    assert mean_of_defined(values, weights) == pytest.approx(single, rel=1e-14)
    # The same values with many sets of weights.
    many = mean_of_defined(values, weights * np.arange(1, 8)[:, None], axis=1)
    np.testing.assert_allclose(many, np.full(7, single), rtol=1e-14)
    # One row of weights for each replicate, as for resampled humans.
    times = RNG.integers(0, 3, (40, 3, 1))
    masked = np.ma.masked_invalid(HOLES)
    wanted = np.ma.average(masked, axis=1, weights=np.broadcast_to(times, HOLES.shape))
    found = mean_of_defined(HOLES, times, axis=1)
    np.testing.assert_allclose(found, wanted.filled(np.nan), rtol=1e-13, atol=1e-13)


def test_undefined_values_give_nan_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(mean_of_defined([]))
        assert np.isnan(mean_of_defined([np.nan, np.nan]))
        assert np.isnan(mean_of_defined([1.0, 2.0], [0, 0]))


def test_infinite_values_are_defined() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_of_defined([1.0, np.inf, np.nan]) == np.inf


@pytest.mark.parametrize("n", [2, 7, 150])
def test_levels_agree_with_single_counts(n: int) -> None:
    """Also for numbers equal to a grid point, which count as at or below it."""
    rng = np.random.default_rng(n)
    place = bands._places(n)
    samples = rng.random((6, n))
    samples[1:4] = rng.choice(np.concatenate([[0.0, 1.0], place]), (3, n))
    tails = bands._tails(n)
    for sample, level in zip(samples, bands._levels(samples), strict=True):
        below = [int((sample <= at).sum()) for at in place]
        assert level == min(tails[k, count] for k, count in enumerate(below))
