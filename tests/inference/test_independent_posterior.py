"""Independent observers by exact draws and by MCMC: closed forms, all tables, bad input."""

from __future__ import annotations

import math
from typing import Any

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr
from scipy import stats

from alikely.inference import null
from alikely.inference.null import independent_posterior
from alikely.metrics import consistency

# Few trials, so that all tables can be enumerated. The last pair is often undefined.
CELLS = np.array([[12, 3, 4, 1], [5, 8, 3, 4], [19, 1, 0, 0]])
N_DRAWS = 2000
Null = tuple[np.ndarray, np.ndarray, float]


def all_tables(cells: np.ndarray) -> Null:
    """Values of EC, their probabilities given that it is defined, and the undefined fraction."""
    n = int(cells.sum())
    k_a, k_b = cells[0] + cells[1], cells[0] + cells[2]
    of_a = stats.betabinom(n, k_a + 1, n - k_a + 1)
    return tables_of(n, of_a, stats.betabinom(n, k_b + 1, n - k_b + 1))


def tables_of(n: int, of_a: Any, of_b: Any) -> Null:
    """The same for any distributions of numbers correct, with hypergeometric overlap."""
    k = np.arange(n + 1)
    first, second = of_a.pmf(k), of_b.pmf(k)
    i, j, x = np.meshgrid(k, k, k, indexing="ij")
    mass = first[i] * second[j] * np.nan_to_num(stats.hypergeom(n, i, j).pmf(x))
    keep = mass > 0
    tables = np.stack([x, i - x, j - x, n - i - j + x], axis=-1)[keep]
    kappa, mass = consistency.error_consistency(tables), mass[keep]
    defined = ~np.isnan(kappa)
    # In stored precision, because equal values of tables may differ by rounding.
    values, place = np.unique(kappa[defined].astype(np.float32), return_inverse=True)
    return values, np.bincount(place, mass[defined]) / mass[defined].sum(), mass[~defined].sum()


@pytest.fixture(scope="module")
def exact() -> xr.DataTree:
    return independent_posterior(CELLS, n_draws=N_DRAWS, rng=1)


@pytest.fixture(scope="module")
def chains() -> xr.DataTree:
    return independent_posterior(CELLS, sampler="nuts", n_draws=N_DRAWS, rng=2)


@pytest.fixture(params=["exact", pytest.param("chains", marks=pytest.mark.slow)])
def tree(request: pytest.FixtureRequest) -> xr.DataTree:
    return request.getfixturevalue(request.param)


def effective(values: xr.DataArray) -> float:
    """Effective number of defined draws, from the autocorrelation of the chain."""
    missing = np.isnan(values)
    filled = values.fillna(values.mean())
    size = min(float(azs.ess(filled.to_dataset(name="x"))["x"]), values.size)
    return size * (1 - float(missing.mean()))


def test_replicates_have_the_null_distribution(tree: xr.DataTree) -> None:
    """Compare undefined fractions and tails with the enumeration of all tables."""
    for pair, cells in enumerate(CELLS):
        draws = tree["posterior_predictive"]["error_consistency"].isel(pair=pair)
        size = min(effective(draws), effective(np.isnan(draws).astype(float)))
        beyond_thresholds(draws.values.ravel(), *all_tables(cells), size=size)


def test_without_common_trials_all_is_undefined() -> None:
    for sampler in ("exact", "nuts"):
        tree = independent_posterior([[0, 0, 0, 0], *CELLS[:2]], None, sampler, n_draws=80, rng=1)
        missing = np.isnan(tree["posterior"]["p_a"]).mean(("chain", "draw"))
        assert missing.values.tolist() == [1, 0, 0]
        replicates = tree["posterior_predictive"]["error_consistency"]
        assert np.isnan(replicates).all(("chain", "draw")).values.tolist() == [True, False, False]


def beyond_thresholds(
    draws: np.ndarray, values: np.ndarray, mass: np.ndarray, lost: float, size: float = 0
) -> None:
    """Check undefined fractions and tails within four Monte Carlo errors."""
    missing = np.isnan(draws)
    n, defined = size or len(draws), size or (~missing).sum()
    error = math.sqrt(lost * (1 - lost) / n)
    assert missing.mean() == pytest.approx(lost, abs=4 * error + 1e-12)
    for threshold in (-0.2, 0.0, 0.2, 0.5):
        # No value except exact zeros is within single precision of these.
        beyond = mass[values > threshold + 1e-6].sum()
        error = math.sqrt(beyond * (1 - beyond) / defined)
        found = np.mean(draws[~missing] > threshold + 1e-6)
        assert found == pytest.approx(beyond, abs=4 * error)


def test_null_draws_have_the_null_distribution() -> None:
    draws = null.null_draws(CELLS[0], n_draws=200_000, rng=4)[:, 0]
    beyond_thresholds(draws, *all_tables(CELLS[0]))


def test_bootstrap_of_independent_observers() -> None:
    """Compare with two binomials and a hypergeometric overlap; observers at 1 never err."""
    cells = np.array([[12, 3, 4, 1], [20, 0, 0, 0], [0, 0, 0, 0]])
    draws = null.null_draws(cells, 40_000, rng=1, observed=True)
    assert np.isnan(draws[:, 1:]).all()
    of_a, of_b = stats.binom(20, 15 / 20), stats.binom(20, 16 / 20)
    beyond_thresholds(draws[:, 0], *tables_of(20, of_a, of_b))
