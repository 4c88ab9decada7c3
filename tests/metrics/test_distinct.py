"""Agreement by chance over different joint errors: against all pairs of them, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from alikely.metrics import errors
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT, distinct_agreement


def statistics_of(a: np.ndarray, b: np.ndarray, w: np.ndarray, k: int) -> tuple[np.ndarray, list]:
    table = np.zeros((k, k))
    np.add.at(table, (a, b), w)
    same = a == b
    return errors.label_statistics(table), [(w[same] ** 2).sum(), (w**2).sum()]


def test_equals_a_loop_over_pairs_of_joint_errors() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        n, k = int(rng.integers(2, 12)), 4
        a, b = rng.integers(0, k, (2, n))
        b = np.where(rng.random(n) < 0.4, a, b)
        w = rng.standard_exponential(n)
        top = bottom = 0.0
        for i in range(n):
            for j in range(n):
                if i != j:
                    top += w[i] * w[j] * (a[i] == b[j])
                    bottom += w[i] * w[j]
        observed = (w * (a == b)).sum() / w.sum()
        chance = min(top / bottom, (1 + observed) / 2)
        if chance < 1 - 1e-9:
            found = distinct_agreement(*statistics_of(a, b, w, k)).item()
            assert found == pytest.approx((observed - chance) / (1 - chance), abs=1e-10)


def test_chance_is_unbiased_where_that_of_margins_is_not() -> None:
    rng = np.random.default_rng(2)
    n_sets, n, k = 20_000, 6, 5
    p = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    a, own = rng.choice(k, (2, n_sets, n), p=p)
    b = np.where(rng.random((n_sets, n)) < 0.5, a, own)
    one, other = np.eye(k)[a].sum(axis=1), np.eye(k)[b].sum(axis=1)
    same = (a == b).sum(axis=1)
    chance = ((one * other).sum(axis=1) - same) / (n * n - n)
    error = chance.std() / np.sqrt(n_sets)
    assert abs(chance.mean() - p @ p) < 4 * error
    # Products of margins take a part of the observed agreement for chance, 0.27 / 6.
    plain = (one * other).sum(axis=1) / n**2
    assert plain.mean() - p @ p > 4 * error
    found = distinct_agreement(
        np.column_stack([same, one, other]), np.column_stack([same, np.full(n_sets, n)])
    )
    inside = (chance < (1 + same / n) / 2) & (chance < 1)
    wanted = (same[inside] / n - chance[inside]) / (1 - chance[inside])
    np.testing.assert_allclose(found[inside], wanted, atol=1e-12)


def test_is_as_published_where_joint_errors_are_many() -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2_000, (6, 6))
    statistics = errors.label_statistics(table)
    found = distinct_agreement(statistics, [np.trace(table), table.sum()])
    # They differ by a joint error in as many.
    assert abs(found - errors.label_agreement(statistics)) < 2 / table.sum()


def test_range_and_what_is_undefined() -> None:
    # Two joint errors with the labels 0, 1 and 1, 0: each label of one is that of the other.
    assert distinct_agreement([0, 1, 1, 1, 1], [0, 2]) == -1
    for statistics, own in (
        ([1, 1, 0, 1, 0], [1, 1]),
        ([3, 3, 0, 3, 0], [3, 3]),
        ([0, 0, 0, 0, 0], [0, 0]),
    ):
        assert np.isnan(distinct_agreement(statistics, own))
    assert MISCLASSIFICATION_AGREEMENT.distinct is distinct_agreement
