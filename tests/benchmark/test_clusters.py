"""Scores whose images come in clusters: new clusters are drawn in place of new images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import alikely as al
from alikely.benchmark.decomposition import spread

ACCURACY = np.array([0.75, 0.78, 0.8, 0.76, 0.72, 0.7])
KINDS = ["human"] * 4 + ["model"] * 2
LIGHT = {"n_resamples": 0, "n_draws": 0}


def board(rng: np.random.Generator, sizes: list[int], icc: float) -> al.Trials:
    """Four humans and two models; strengths correlated .6 between them, and within clusters."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    n = len(ACCURACY)
    parts = []
    for size in (len(sizes), len(label)):
        shared = rng.normal(size=size)
        parts.append(np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=(n, size)))
    strength = np.sqrt(icc) * parts[0][:, label] + np.sqrt(1 - icc) * parts[1]
    right = (strength < stats.norm.ppf(ACCURACY)[:, None]).astype(int)
    names = [f"{kind}_{k}" for k, kind in enumerate(KINDS)]
    return al.Trials.from_correct(
        right, observers=names, kind=KINDS, item_columns={"template": label}
    )


def true_consistency(a: float, b: float) -> float:
    both = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]]).cdf(stats.norm.ppf([a, b]))
    chance = a * b + (1 - a) * (1 - b)
    return float((1 + 2 * both - a - b - chance) / (1 - chance))


def test_the_variance_of_one_human_and_one_model_is_that_of_their_pair() -> None:
    """Clusters of the pair and of the score, but for what is added to the cells."""
    trials = board(np.random.default_rng(1), [5, 10, 25, 40, 80, 140], 0.8)
    scores = al.benchmark_scores(trials, cluster="template", **LIGHT)
    pairs = al.error_consistency(trials, "human-model", cluster="template", rng=1, **LIGHT)
    means = al.mean(pairs, {"observer_b": "model_4"}, intervals=["analytic"])
    row = scores.summary("images", intervals=["analytic"]).set_index("system").loc["model_4"]
    assert row["se"] == pytest.approx(means.loc["analytic", "se"], rel=0.1)
    found = spread(scores.decomposition(), np.eye(4)[[0]], "images")
    unequal = 300**2 / sum(m**2 for m in (5, 10, 25, 40, 80, 140)) - 1
    assert found.df[0] <= unequal
    alone = al.benchmark_scores(trials, **LIGHT).summary("images", intervals=["analytic"])
    assert row["se"] > 1.3 * alone.set_index("system").loc["model_4", "se"]
    assert "6 clusters of 'template' with a design effect of" in row["note"]


def test_clusters_of_one_image_are_images() -> None:
    trials = board(np.random.default_rng(2), [1] * 120, 0.0)
    found, alone = (
        al.benchmark_scores(trials, cluster=cluster, n_resamples=300, n_draws=400, rng=1)
        for cluster in ("template", None)
    )
    for population in ("images", "crossed"):
        one, other = (scores.summary(population, intervals="all") for scores in (found, alone))
        for name in one.columns.drop(["level", "system", "note"]):
            np.testing.assert_allclose(one[name].astype(float), other[name].astype(float))


def test_all_methods_draw_clusters() -> None:
    """Bootstrap and posterior are as wide as the variance of clusters, not as that of images."""
    trials = board(np.random.default_rng(3), [10] * 60, 0.8)
    scores = al.benchmark_scores(
        trials, cluster="template", n_resamples=1_000, n_draws=1_000, rng=1
    )
    table = scores.summary("images", intervals=["analytic"]).set_index("system")
    for school, variable in (("bootstrap", "images"), ("posterior", "score")):
        drawn = scores.draws(school, variable, "overall").std(axis=0)
        np.testing.assert_allclose(drawn / table["se"].to_numpy(), 1, atol=0.15)
    labels = al.benchmark_scores(trials, cluster="template", metric="EC", **LIGHT)
    assert "new clusters of images (template)" in labels.sentence()
    assert labels.data.attrs["cluster"] == "template"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cluster": "item"}, "must be a column that describes items, got 'item'"),
        ({"cluster": "topic"}, "got 'topic'"),
        ({"cluster": "template", "cohort": True}, "cohort model takes items for independent"),
    ],
)
def test_clusters_that_cannot_be(change: dict[str, object], message: str) -> None:
    trials = board(np.random.default_rng(4), [5, 5], 0.0)
    with pytest.raises(ValueError, match=message):
        al.benchmark_scores(trials, **(LIGHT | change))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "icc"),
    [([30] * 10, 0.3), ([12] * 25, 0.8), ([3] * 100, 0.8)],
    ids=["10", "25", "100"],
)
def test_coverage_for_new_clusters(sizes: list[int], icc: float, sets: Callable[..., int]) -> None:
    n, truth = sets(200, 200), np.mean([true_consistency(a, ACCURACY[4]) for a in ACCURACY[:4]])
    held = 0
    for seed in range(n):
        scores = al.benchmark_scores(
            board(np.random.default_rng(seed), sizes, icc), cluster="template", **LIGHT
        )
        row = scores.summary("images", intervals=["analytic"]).iloc[0]
        held += row["analytic_ci95_lb"] <= truth <= row["analytic_ci95_ub"]
    assert held / n > 0.92 - 4 * (0.92 * 0.08 / n) ** 0.5
