"""Analytic covariances: compared with the bootstrap, with clusters, and special cases."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import cohens_kappa

import alikely as al
from alikely.data.tables import from_counts, joint_correctness
from alikely.data.trials import Trials
from alikely.inference import influence
from alikely.inference.influence import covariance_of
from alikely.inference.resampling import bootstrap
from alikely.metrics import ERROR_CONSISTENCY
from alikely.metrics.answers import SLICE, combined_influence

CELLS = [[100, 20, 20, 20], [30, 60, 50, 20], [150, 5, 4, 1]]


def covariance(table: xr.Dataset, cluster: str | None = None) -> NDArray[np.float64]:
    """Covariance matrix of the estimates of all entries."""
    each = np.eye(table.sizes["pair"])
    return influence.covariance_of(table, ERROR_CONSISTENCY, cluster, each)


def three_observers(n_trials: int = 200, seed: int = 3) -> Trials:
    """Observers with common difficulty, so that all pairs are consistent and dependent."""
    rng = np.random.default_rng(seed)
    difficulty = rng.standard_normal(n_trials)
    right = difficulty + 0.8 * rng.standard_normal((3, n_trials)) > np.array(
        [[-0.8], [-0.5], [0.0]]
    )
    return Trials.from_correct(right)


def test_standard_error_equals_fleiss_cohen_everitt() -> None:
    result = influence.estimate(from_counts(CELLS))
    for i, cells in enumerate(CELLS):
        reference = cohens_kappa(np.reshape(cells, (2, 2)))
        assert result["estimate"][i].item() == pytest.approx(reference.kappa, abs=1e-12)
        assert result["se"][i].item() ** 2 == pytest.approx(reference.var_kappa, abs=1e-12)


def test_covariance_of_overlapping_pairs_agrees_with_the_bootstrap() -> None:
    table = joint_correctness(three_observers(n_trials=2000))
    matrix = covariance(table)
    n = 20_000
    draws = bootstrap(table, n_resamples=n, rng=5).values.astype(np.float64)
    for i in range(3):
        for j in range(3):
            products = (draws[:, i] - draws[:, i].mean()) * (draws[:, j] - draws[:, j].mean())
            noise = products.std() / np.sqrt(n)
            # With 2,000 trials, the error of the delta method, of relative order 1/N, is small.
            allowance = 4 * noise + 2 / 2000 * abs(matrix[i, j])
            assert matrix[i, j] == pytest.approx(products.mean(), abs=allowance)
    assert matrix[0, 1] > 0.2 * matrix[0, 0]


def test_diagonal_is_variances_and_disjoint_trials_are_uncorrelated() -> None:
    table = from_counts(CELLS)
    matrix = covariance(table)
    np.testing.assert_allclose(np.diag(matrix), influence.estimate(table)["se"] ** 2, rtol=1e-12)
    assert (matrix[~np.eye(3, dtype=bool)] == 0).all()


def test_undefined_estimates_have_no_error_and_no_warning() -> None:
    table = from_counts([[160, 0, 0, 0], [100, 20, 20, 20], [0, 0, 0, 0]])
    result = influence.estimate(table)
    assert np.isnan(result["se"]).values.tolist() == [True, False, True]
    assert np.isnan(covariance(table)[0]).all()


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_variances_agree_with_the_covariance_matrix(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    correct = (rng.random((7, 300)) < rng.random(300)).astype(float)
    correct[rng.random(correct.shape) < share] = np.nan
    trials = al.Trials.from_correct(correct)
    table = al.data.joint_correctness(trials, by=None)
    weight = rng.normal(size=table.sizes["pair"])
    expected = covariance_of(table, al.metrics.ERROR_CONSISTENCY, None, weight[None]).item()
    cells = table["cells"].values.astype(float)
    slopes = al.metrics.ERROR_CONSISTENCY.influence(cells)
    slopes *= (weight / cells.sum(axis=1))[:, None]
    monkeypatch.setattr("alikely.metrics.answers.SLICE", SLICE // 100_000)
    influence = combined_influence(
        table["correct"].values, table["first"].values, table["second"].values, slopes
    )
    assert (influence**2).sum() == pytest.approx(expected, rel=1e-12)
