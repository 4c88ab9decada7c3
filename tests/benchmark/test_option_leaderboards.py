"""Families, judges and regressions over pairs for metrics of response options."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import alikely as al
from alikely.benchmark import agreement
from alikely.benchmark.trees import block_means
from alikely.estimates.matrices import influences

METRICS = [
    *(pytest.param(m, marks=pytest.mark.slow) for m in ("kappa_p", "kappa_p_discrete")),
    "misclassification_agreement",
]
N_OPTIONS = 4


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    """Nine models in three families that prefer the same options."""
    rng = np.random.default_rng(3)
    liked = rng.normal(size=(9, 200, 4)) + 1.5 * np.repeat(rng.normal(size=(3, 200, 4)), 3, axis=0)
    truth = rng.integers(0, N_OPTIONS, 200)
    liked[:, np.arange(200), truth] += rng.uniform(0.3, 2, (9, 1))
    p = np.exp(liked) / np.exp(liked).sum(axis=2, keepdims=True)
    letters = np.array(list("ABCD"))
    made = al.Trials.from_arrays(letters[p.argmax(axis=2)], letters[truth], classes=list("ABCD"))
    return made.with_probabilities(p)


def _without(trials: al.Trials, metric: str) -> np.ndarray:
    """Estimates without each question, (question, pair)."""
    data, out = trials.data, []
    for question in range(data.sizes["trial"]):
        kept = np.delete(np.arange(data.sizes["trial"]), question)
        answers = {
            name: data[name].values[(..., kept) if name != "probability" else (slice(None), kept)]
            for name in ("response", "truth", "n_options", "probability")
        }
        square = al.metrics.get_metric(metric).all_pairs(answers)["estimate"]  # type: ignore[misc]
        out.append(square[np.triu_indices(len(square), 1)])
    return np.array(out)


@pytest.mark.parametrize("metric", METRICS)
def test_support_is_that_of_resampled_questions(trials: al.Trials, metric: str) -> None:
    matrix = al.pairwise_matrix(trials, metric)
    tree = al.benchmark.families(matrix, 3, n_resamples=40, rng=1)
    groups = tree.summary().set_index("observer")
    assert groups.groupby("family").groups.keys() == {1, 2, 3}
    assert all(
        len({trials.observers.index(str(name)) // 3 for name in members}) == 1
        for members in groups.groupby("family").groups.values()
    )
    # Families differ by many standard errors; neighbors within families are uncertain.
    assert (groups["support"] > 0.9).all()
    assert tree.estimates["support"].values.min() < 0.9
    again = al.benchmark.families(matrix, n_resamples=40, rng=1)
    xr.testing.assert_identical(tree.estimates, again.estimates)
    matrix = al.Result(matrix.data)
    with pytest.raises(ValueError, match="load\\(path, trials\\)"):
        al.benchmark.families(matrix, n_resamples=5)
    assert np.isnan(al.benchmark.families(matrix, n_resamples=0).estimates["support"]).all()


@pytest.mark.parametrize("metric", METRICS)
def test_influences_agree_with_the_jackknife(trials: al.Trials, metric: str) -> None:
    """Compare influences of judges' agreements and of all entries with the jackknife."""
    matrix, names = al.pairwise_matrix(trials, metric), trials.observers
    n = trials.data.sizes["trial"]
    left = _without(trials, metric)
    jackknife = (n - 1) / n * (left.mean(axis=0) - left)
    value, _, psi = agreement._known(matrix, names[0], names[1:])
    np.testing.assert_allclose(value, al.estimates.square_matrix(matrix, "estimate").values[0, 1:])
    # With about 50 joint errors, leaving one out changes proportions by about 2% more than the
    # influence.
    scale = np.abs(jackknife[:, :8]).max()
    np.testing.assert_allclose(psi[0], jackknife[:, :8].T, atol=0.08 * scale)
    # Terms of the sums for regression coefficients and block means.
    (every,) = influences(matrix, [np.eye(jackknife.shape[1])])
    scale = np.abs(jackknife).max()
    np.testing.assert_allclose(every, jackknife.T, atol=0.08 * scale)
    assert np.corrcoef(every.ravel(), jackknife.T.ravel())[0, 1] > 0.999


def test_leaderboard_functions_take_probabilities(trials: al.Trials) -> None:
    matrix, names = al.pairwise_matrix(trials, "kappa_p"), trials.observers
    family = {name: str(k // 3) for k, name in enumerate(names)}
    blocks = block_means(matrix, family)
    within = blocks["group_a"] == blocks["group_b"]
    assert blocks[within]["estimate"].min() > blocks[~within]["estimate"].max()
    found = al.benchmark.agreement_regression(matrix, labels=family, n_draws=500, rng=1)
    assert found.summary().loc[1, "estimate"] > 0
    scores = {name: float(k) for k, name in enumerate(names[1:])}
    table = al.benchmark.judge_agreement(matrix, {names[0]: scores})
    expected = np.corrcoef(
        al.estimates.square_matrix(matrix, "estimate").values[0, 1:], list(scores.values())
    )[0, 1]
    assert table["correlation"].item() == pytest.approx(expected)
