"""Draws of agreement with few joint errors: prior, dependence between pairs, coverage."""

from __future__ import annotations

import dataclasses
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import alikely as al
from alikely.data.blocks import blocks
from alikely.data.tables import joint_correctness
from alikely.errors.draws import _patterns, agreement_draws
from alikely.inference.influence import covariance_of
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT, distinct_agreement
from studies.simulators.labels import label_trials


def pair_of(agreed: int, others: int, n_sets: int = 1) -> al.Trials:
    """Only joint errors of true class 0, with data sets as conditions."""
    given = np.arange(agreed + others) % 2
    first = np.tile(1 + 2 * given, n_sets)
    second = np.tile(np.where(np.arange(len(given)) < agreed, 1 + 2 * given, 2), n_sets)
    group = np.repeat(np.arange(n_sets), agreed + others)
    return al.Trials.from_arrays(
        [first, second], np.zeros(len(first), int), classes=range(4), condition=group
    )


def share(statistics: Any) -> NDArray[np.float64]:
    return np.asarray(statistics[..., 0] / statistics[..., 1:].sum(axis=-1) * 2)


@pytest.mark.slow
@pytest.mark.parametrize(("agreed", "others"), [(3, 2), (5, 0), (0, 7)])
def test_probability_of_equal_labels_is_jeffreys_beta(agreed: int, others: int) -> None:
    """Compare the first two moments of the Beta over many groups with separate patterns."""
    n_sets = 400
    table = joint_correctness(pair_of(agreed, others, n_sets), labels=True)
    metric = dataclasses.replace(MISCLASSIFICATION_AGREEMENT, value=share, distinct=None)
    drawn = agreement_draws(table, 400, metric, rng=1).astype(float)
    rng = np.random.default_rng(2)
    (first, *_) = blocks(table)
    half = np.mean([np.equal(*_patterns(first, rng)).mean() for _ in range(200)])
    assert 0.5 < half < 0.6
    beta = stats.beta(agreed + half, others + 1 - half)
    for power in (1, 2):
        means = (drawn**power).mean(axis=0)
        assert abs(means.mean() - beta.moment(power)) < 4 * means.std() / np.sqrt(n_sets)


def test_draws_are_of_the_metric_over_different_joint_errors() -> None:
    """A metric without a form for different joint errors is evaluated at the same weights."""
    table = joint_correctness(pair_of(30, 20), labels=True)
    seen: list[NDArray[np.float64]] = []

    def spy(statistics: Any, own: Any) -> Any:
        seen.append(own)
        assert (own[..., 0] <= own[..., 1]).all()
        return distinct_agreement(statistics, own)

    found = agreement_draws(
        table, 100, dataclasses.replace(MISCLASSIFICATION_AGREEMENT, distinct=spy), rng=1
    )
    np.testing.assert_array_equal(found, agreement_draws(table, 100, rng=1))
    assert sum(len(own) for own in seen) == 100
    plain = dataclasses.replace(MISCLASSIFICATION_AGREEMENT, distinct=None)
    # Chance agreement is higher if each joint error is paired with itself.
    assert agreement_draws(table, 100, plain, rng=1).mean() < found.mean()


def test_same_seed_same_draws_on_any_number_of_workers() -> None:
    table = joint_correctness(al.load_example(), labels=True)
    once = agreement_draws(table, 100, rng=3)
    with joblib.parallel_config(n_jobs=1):
        np.testing.assert_array_equal(once, agreement_draws(table, 100, rng=3))
    assert agreement_draws(table, 101, rng=3).shape == (104, table.sizes["pair"])


@pytest.mark.slow
def test_draws_of_pairs_correlate_as_estimates() -> None:
    row = (1 - np.eye(4)) / 3
    trials = label_trials([row] * 4, row, 0.5, 3_000, rng=12)
    table = joint_correctness(trials, labels=True)
    drawn = agreement_draws(table, 4_000, rng=13).astype(float)
    matrix = covariance_of(table, MISCLASSIFICATION_AGREEMENT, None, np.eye(table.sizes["pair"]))
    found = np.corrcoef(drawn.T)
    wanted = matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    # Largest error of 15 correlations of so many draws, and the prior: one of 3,000 joint errors.
    np.testing.assert_allclose(found, wanted, atol=4 / np.sqrt(len(drawn)) + 1 / 3_000)
    np.testing.assert_allclose(
        drawn.std(axis=0) / np.sqrt(np.diag(matrix)), 1, atol=4 / np.sqrt(2 * 4_000) + 1 / 3_000
    )


def test_undefined_agreement_has_a_note() -> None:
    """No joint error, and a single incorrect label, with a wide posterior."""
    right = al.Trials.from_arrays([[0, 1, 2], [1, 1, 2]], [0, 1, 2], classes=range(3))
    none = al.misclassification_agreement(right, n_resamples=100, n_draws=100, rng=7)
    assert none.undefined.tolist() == ["no joint error"]
    assert np.isnan(none.draws("posterior")).all()
    assert "interval" not in none.summary()["note"].iloc[0]
    alike = al.Trials.from_arrays([[1] * 6] * 2, [0] * 6, classes=range(4))
    same = al.misclassification_agreement(alike, n_resamples=100, n_draws=400, rng=8)
    assert same.undefined.tolist() == ["one and the same wrong label throughout"]
    low, high = np.quantile(same.draws("posterior"), [0.025, 0.975])
    # Chance agreement is unknown.
    assert low < 0.1
    assert high > 0.9


@pytest.mark.parametrize(("n_classes", "n"), [(3, 50), (3, 200), (16, 200)])
def test_full_agreement_never_has_low_draws(n_classes: int, n: int) -> None:
    """Also with a single label, for which kappa is undefined."""
    for labels in ([1] * n, [1] * (n - 2) + [2] * 2):
        trials = al.Trials.from_arrays([labels, labels], [0] * n, classes=range(n_classes))
        result = al.misclassification_agreement(trials, n_resamples=0, rng=1)
        drawn = result.draws("posterior")
        low, median, high = np.nanquantile(drawn, [0.025, 0.5, 0.975])
        assert low > -0.1
        assert high > 0.5
        assert median > (0.8 if 2 in labels else -0.01)
        # Almost all labels are equal, and kappa is undefined.
        assert np.isnan(drawn).mean() < 0.05
