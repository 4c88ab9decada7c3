"""Rank sets: coverage under ties, identities, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from alikely.benchmark import ranking


@pytest.mark.slow
def test_ten_systems_in_two_tie_groups(
    figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    """Joint coverage of the step-down procedure for true ranks 1-5 and 6-10."""
    n_sets, sd = sets(500), 0.05
    rng = np.random.default_rng(1)
    truth = np.repeat([0.3, 0.2], 5)
    # Scores on the same images are correlated.
    covariance = sd**2 * (0.5 * np.eye(10) + 0.5)
    root = np.linalg.cholesky(covariance)
    best, worst = np.repeat([1, 6], 5), np.repeat([5, 10], 5)
    hits = 0
    for _ in range(n_sets):
        x = truth + root @ rng.standard_normal(10)
        found = ranking.rank_sets(x, covariance, n_draws=2000, rng=rng)
        found = found.set_index(found["system"].astype(int)).sort_index()
        hits += bool(((found["rank_lb"] <= best) & (found["rank_ub"] >= worst)).all())
    figure(f"joint coverage of ten ranks in two tie groups: {hits / n_sets}")
    # One standard error below 0.95, which is 0.94 with all sets.
    assert hits / n_sets >= 0.95 - np.sqrt(0.95 * 0.05 / n_sets)


def test_marginal_sets_are_no_wider_than_joint_ones_and_clear_orders_are_found() -> None:
    x = np.array([0.1, 0.5, 0.3, 0.31])
    table = ranking.rank_sets(x, np.eye(4) * 0.02**2, list("abcd"), rng=1)
    assert table["system"].tolist() == ["b", "d", "c", "a"]
    assert table[["rank_lb", "rank_ub"]].values.tolist() == [[1, 1], [2, 3], [2, 3], [4, 4]]
    assert (table["marginal_lb"] >= table["rank_lb"]).all()
    assert (table["marginal_ub"] <= table["rank_ub"]).all()
    assert table["tier"].tolist() == [1, 2, 2, 3]
    assert table["tied_with_top"].tolist() == [True, False, False, False]


def test_step_down_declares_more_than_one_step() -> None:
    """After clear differences are removed, the quantile over the rest is smaller."""
    n, sd = 5, 0.1
    z = np.random.default_rng(3).standard_normal((200_000, n)) * sd
    j, k = np.nonzero(~np.eye(n, dtype=bool))
    standardized = (z[:, j] - z[:, k]) / (sd * np.sqrt(2))
    # Systems 0 to 2 are far above the others and from each other, so the first step finds them.
    clear = (j < 3) & (k > j)
    first = np.quantile(standardized.max(axis=1), 0.95)
    second = np.quantile(standardized[:, ~clear].max(axis=1), 0.95)
    assert second < first - 0.1
    gap = (first + second) / 2 * sd * np.sqrt(2)
    x = np.array([9.0, 8.0, 7.0, 0.0, gap])
    greater = ranking.significantly_greater(x, np.eye(n) * sd**2, n_draws=50_000, rng=4)
    assert greater[4, 3]
    assert greater.sum() == clear.sum() + 1


def test_probability_greater_is_that_of_normal_draws() -> None:
    draws = np.random.default_rng(1).normal([0.3, 0.2, 0.2], 0.1, (5000, 3))
    greater = ranking.probability_greater(draws)
    np.testing.assert_allclose(greater[0, 1] + greater[1, 0], 1)
    exact = stats.norm.cdf(0.1 / (0.1 * np.sqrt(2)))
    assert greater[0, 1] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 5000))


def test_undefined_draws_are_excluded() -> None:
    draws = np.random.default_rng(1).normal([0.3, 0.2], 0.1, (100, 2))
    holed = np.vstack([draws, [[np.nan, 1.0]] * 50])
    assert ranking.probability_greater(holed)[0, 1] == ranking.probability_greater(draws)[0, 1]


def test_undefined_estimates_have_no_ranks() -> None:
    with pytest.raises(ValueError, match="must be finite; leave out systems"):
        ranking.rank_sets([0.1, np.nan], np.eye(2))
