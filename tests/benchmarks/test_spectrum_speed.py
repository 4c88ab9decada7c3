"""Speed of the scale of difficulty and of its regimes, as ratios within one run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

import alikely as al

N_CONDITIONS, N_HUMANS, N_IMAGES = 72, 4, 160


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    """72 conditions, from undistorted to chance, seen by four humans."""
    rng = np.random.default_rng(1)
    level = np.linspace(2.5, -2.5, N_CONDITIONS) + rng.normal(0, 0.2, (N_HUMANS, N_CONDITIONS))
    accuracy = np.repeat(1 / (1 + np.exp(-level)), N_IMAGES, axis=1)
    return al.Trials.from_correct(
        rng.random(accuracy.shape) < accuracy,
        kind=["human"] * N_HUMANS,
        condition=[f"c{i // N_IMAGES}" for i in range(accuracy.shape[1])],
    )


@pytest.fixture(scope="module")
def spectrum(trials: al.Trials) -> xr.Dataset:
    return al.difficulty_spectrum(trials, [f"c{i}" for i in range(7)], chance=1 / 16)


@pytest.mark.benchmark(group="spectrum of 72 conditions")
def test_spectrum(benchmark: Any, trials: al.Trials) -> None:
    options = {"reference": [f"c{i}" for i in range(7)], "chance": 1 / 16}
    benchmark.pedantic(al.difficulty_spectrum, (trials,), options, rounds=3)


@pytest.mark.benchmark(group="regimes of 72 conditions, 1 to 6 components")
def test_regimes(benchmark: Any, spectrum: xr.Dataset) -> None:
    """All groupings in which 5,000 runs of k-means end, as starts of EM."""
    options = {"k": 4, "n_resamples": 0, "rng": 1}
    benchmark.pedantic(al.regimes, (spectrum,), options, rounds=2)


@pytest.mark.benchmark(group="regimes of 72 conditions, 1 to 6 components")
def test_a_hundredth_of_the_starts_by_scikit_learn_alone(
    benchmark: Any, spectrum: xr.Dataset
) -> None:
    """50 of the 5,000: k-means and EM anew from each."""
    delta = spectrum["delta"].values[:, None]

    def fits() -> None:
        with threadpool_limits(limits=1):
            for k in range(1, 7):
                GaussianMixture(k, n_init=50, random_state=1).fit(delta)

    benchmark.pedantic(fits, rounds=2)


@pytest.mark.benchmark(group="regimes of 72 conditions, 200 replicates")
def test_replicates(benchmark: Any, spectrum: xr.Dataset) -> None:
    options = {"k": 4, "n_starts": 1, "n_resamples": 200, "rng": 1}
    benchmark.pedantic(al.regimes, (spectrum,), options, rounds=1)
