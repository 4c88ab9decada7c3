"""Exact posteriors: distributions, dependence and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from alikely.data.blocks import cluster_numbers
from alikely.data.tables import from_counts, joint_correctness
from alikely.data.trials import Trials
from alikely.inference.process import pairwise_draws, process_draws
from alikely.inference.resampling import joint_draws
from alikely.metrics import Metric, consistency, copying
from alikely.metrics.answers import Answers

TABLES = [[100, 20, 20, 20], [30, 60, 50, 20], [150, 5, 4, 1], [158, 2, 0, 0], [160, 0, 0, 0]]
# The p-value of two samples of 20,000 is below this once in ten thousand tests.
TINY = 1e-4


def dirichlet(cells: np.ndarray, prior: float, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.asarray(cells) + prior, size=n)


@pytest.mark.parametrize("cells", TABLES)
def test_default_prior_is_dirichlet_one_half(cells: list[int]) -> None:
    draws = pairwise_draws(cells, n_draws=20_000, rng=1)
    reference = dirichlet(np.array(cells), 0.5, 20_000, 2)
    for name, function in (
        ("error_consistency", consistency.error_consistency),
        ("copy_probability", copying.copy_probability),
    ):
        assert stats.ks_2samp(draws[name][:, 0], function(reference)).pvalue > TINY


def test_other_priors_are_conjugate_updates() -> None:
    prior = {"p_a": (2.0, 3.0), "u": (4.0, 1.0), "v": (1.0, 2.0)}
    draws = pairwise_draws([10, 5, 3, 12], prior, n_draws=20_000, rng=1)["copy_probability"][:, 0]
    u, v = stats.beta(14, 6), stats.beta(4, 14)
    noise = 4 * np.sqrt((u.var() + v.var()) / 20_000)
    assert draws.mean() == pytest.approx(u.mean() - v.mean(), abs=noise)
    rng = np.random.default_rng(3)
    reference = u.rvs(20_000, random_state=rng) - v.rvs(20_000, random_state=rng)
    assert stats.ks_2samp(draws, reference).pvalue > TINY


@pytest.mark.parametrize("cells", TABLES)
def test_joint_marginal_equals_the_pairwise_posterior(cells: list[int]) -> None:
    joint = joint_draws(from_counts(cells), 20_000, rng=3)
    pairwise = pairwise_draws(cells, n_draws=20_000, rng=4)
    for name in joint:
        assert stats.ks_2samp(joint[name][:, 0], pairwise[name][:, 0]).pvalue > TINY


@pytest.mark.slow
def test_joint_marginals_among_many_observers_with_missing_trials() -> None:
    rng = np.random.default_rng(5)
    right = rng.standard_normal(120) + rng.standard_normal((12, 120)) > -1.5
    values = np.ma.masked_array(right.astype(float), mask=rng.random(right.shape) < 0.15)
    values[rng.random(right.shape) < 0.05] = np.nan
    table = joint_correctness(Trials.from_correct(values), no_response="drop")
    joint = joint_draws(table, 20_000, rng=6)["error_consistency"]
    pairwise = pairwise_draws(table["cells"].values, n_draws=20_000, rng=7)["error_consistency"]
    pairs = rng.choice(table.sizes["pair"], 15, replace=False)
    for pair in pairs:
        assert stats.ks_2samp(joint[:, pair], pairwise[:, pair]).pvalue > TINY


def test_joint_posterior_of_three_observers_is_a_dirichlet_over_patterns() -> None:
    rng = np.random.default_rng(8)
    right = (rng.standard_normal(60) + rng.standard_normal((3, 60)) > -1.2).astype(int)
    table = joint_correctness(Trials.from_correct(right))
    draws = joint_draws(table, 20_000, rng=9)["error_consistency"]
    counts = np.bincount(right.T @ [4, 2, 1], minlength=8)
    weights = dirichlet(counts, 2 / 8, 20_000, 10)
    pattern = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    kappas = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        code = 3 - 2 * pattern[:, a] - pattern[:, b]
        cells = np.stack([weights[:, code == c].sum(axis=1) for c in range(4)], axis=-1)
        kappas.append(consistency.error_consistency(cells))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ours, theirs = draws[:, i] - draws[:, j], kappas[i] - kappas[j]
        assert stats.ks_2samp(ours, theirs).pvalue > TINY


def test_pairs_without_common_trials_are_undefined_not_guessed() -> None:
    values = np.ma.masked_array(np.eye(2, 4), mask=[[0, 0, 0, 1], [0, 0, 1, 0]])
    table = joint_correctness(Trials.from_correct(values, condition=["u", "u", "v", "v"]))
    draws = joint_draws(table, 50, rng=1)["error_consistency"]
    assert np.isnan(draws).mean(axis=0).tolist() == [0, 1]


@pytest.mark.parametrize("way", ["cells", "process"])
def test_the_prior_is_worth_two_trials_whatever_the_clusters(way: str) -> None:
    """Both are always correct in four clusters of ten; a quarter of the prior is on that cell.

    The weight of the data is ten times Gamma(4), for four clusters; that of the prior is Gamma(2).
    """
    share = Metric("share", lambda cells: cells[..., 0] / cells.sum(axis=-1))
    both = Metric("both", lambda sums: sums[..., 1] / sums[..., 0], right_of_both)
    label = np.repeat(np.arange(4), 10)
    trials = Trials.from_correct(np.ones((2, 40), int), item_columns={"topic": label})
    table = joint_correctness(trials)
    if way == "cells":
        numbers = cluster_numbers(table, "topic")
        drawn = joint_draws(table, 20_000, [share], rng=1, images=numbers)["share"][:, 0]
    else:
        # Patterns of the prior are drawn once, so their mean differs between seeds.
        seeds = [process_draws(table, 1_000, both, k, cluster="topic")[:, 0] for k in range(20)]
        drawn = np.concatenate(seeds)
    rng = np.random.default_rng(2)
    data, prior = 10 * rng.standard_gamma(4, 200_000), rng.standard_gamma(2, 200_000)
    expected = 1 - 0.75 * prior / (data + prior)
    # Errors of the draws, of the expectation, and of the means of 20 times 256 prior patterns.
    of_patterns = 0 if way == "cells" else 0.06 * np.sqrt(0.75 * 0.25 / (20 * 256))
    error = np.hypot(drawn.std() / np.sqrt(len(drawn)), expected.std() / np.sqrt(200_000))
    assert abs(drawn.mean() - expected.mean()) < 4 * (error + of_patterns)
    # A prior worth two clusters of ten trials would give a much lower mean.
    assert drawn.mean() > 0.93


def right_of_both(answers: Answers) -> np.ndarray:
    every = np.ones(answers.correct_a.shape)
    return np.stack([every, answers.correct_a & answers.correct_b], axis=-1)
