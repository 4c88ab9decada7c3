"""Scores with clusters of images: intervals generalize to new clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.benchmark.benchmark import level_parts
from alikely.benchmark.decomposition import added_count, spread
from studies.clusters import consistency

ACCURACY = np.array([0.75, 0.78, 0.8, 0.76, 0.72, 0.7])
KINDS = ["human"] * 4 + ["model"] * 2
LIGHT = {"n_resamples": 0, "n_draws": 0}


def board(rng: np.random.Generator, sizes: list[int], icc: float) -> al.Trials:
    """Four humans and two models; item strengths correlate 0.6 between observers."""
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


def test_the_variance_of_one_human_and_one_model_is_that_of_their_pair() -> None:
    """Compare the cluster variance of the score with that of its pair, except pseudocounts."""
    trials = board(np.random.default_rng(1), [5, 10, 25, 40, 80, 140], 0.8)
    scores = al.benchmark_scores(trials, cluster="template", **LIGHT)
    pairs = al.error_consistency(trials, "human-model", cluster="template", rng=1, **LIGHT)
    means = al.mean(pairs, {"observer_b": "model_4"}, intervals=["analytic"])
    row = scores.summary("images", intervals=["analytic"]).set_index("system").loc["model_4"]
    # By hand: leave each cluster out of the cells of every human, with pseudocounts.
    label = np.repeat(np.arange(6), [5, 10, 25, 40, 80, 140])
    right, added = trials.data["correct"].values, added_count(1, 4)
    ec = al.metrics.ERROR_CONSISTENCY.value

    def mean(kept: np.ndarray) -> float:
        codes = (3 - 2 * right[:4] - right[4])[:, kept]
        return float(np.mean([ec(np.bincount(own, minlength=4) + added) for own in codes]))

    whole = mean(np.ones(300, bool))
    moved = [5 / 6 * (whole - mean(label != g)) for g in range(6)]
    at = scores.estimates["system"].values.tolist().index("model_4")
    np.testing.assert_allclose(
        level_parts(scores)["influence"].values[at], moved, rtol=1e-9, atol=1e-12
    )
    # Pseudocounts shrink the score and its error towards 0, by 2 of 300 trials.
    assert row["se"] == pytest.approx(means.loc["analytic", "se"], rel=0.1)
    found = spread(level_parts(scores), np.eye(4)[[0]], "images")
    # 280 of 300 trials are in four clusters.
    assert 1 <= found.df[0] < 3.5
    alone = al.benchmark_scores(trials, **LIGHT).summary("images", intervals=["analytic"])
    assert row["se"] > 1.3 * alone.set_index("system").loc["model_4", "se"]
    assert "cluster" not in row["note"]


def test_clusters_of_one_image_are_images() -> None:
    trials = board(np.random.default_rng(2), [1] * 120, 0.0)
    found, alone = (
        al.benchmark_scores(trials, cluster=cluster, n_resamples=300, n_draws=400, rng=1)
        for cluster in ("template", None)
    )
    for population in ("images", "both"):
        one, other = (scores.summary(population, intervals="all") for scores in (found, alone))
        for name in one.columns.drop(["level", "system", "note", "note_codes", "df"]):
            # The jackknife and first derivatives differ by about 1/N.
            near = 0.0 if name == "estimate" else 0.04
            np.testing.assert_allclose(
                one[name].astype(float), other[name].astype(float), rtol=near, atol=near
            )


def test_all_methods_draw_clusters() -> None:
    """Widths of bootstrap and posterior match the variance of clusters, not that of images."""
    trials = board(np.random.default_rng(3), [10] * 60, 0.8)
    scores = al.benchmark_scores(
        trials, cluster="template", n_resamples=1_000, n_draws=1_000, rng=1
    )
    table = scores.summary("images", intervals=["analytic"]).set_index("system")
    for method in ("bootstrap", "posterior"):
        drawn = scores.draws(method).std(axis=0)
        np.testing.assert_allclose(drawn / table["se"].to_numpy(), 1, atol=0.15)
    labels = al.benchmark_scores(trials, cluster="template", metric="EC", **LIGHT)
    assert "new clusters of images (template)" in labels.sentence()
    assert labels.data.attrs["cluster"] == "template"


def test_clusters_of_one_value_few_clusters_and_chosen_items() -> None:
    with pytest.raises(ValueError, match="at least two clusters, but all trials belong to"):
        al.benchmark_scores(board(np.random.default_rng(4), [40], 0.0), cluster="template", **LIGHT)
    few = board(np.random.default_rng(4), [20] * 4, 0.0)
    notes = al.benchmark_scores(few, cluster="template", **LIGHT).summary("images")["note"]
    assert notes.str.contains("only 4 clusters").all()
    plan = pd.DataFrame({"item": few.data["item"].values, "inclusion": 0.5})
    chosen = few.with_inclusion(plan, generalize_to="pool")
    with pytest.raises(ValueError, match="chosen by a plan, whose variance assumes no clusters"):
        al.benchmark_scores(chosen, cluster="template", **LIGHT)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "icc"), [([30] * 10, 0.3), ([12] * 25, 0.8)], ids=["10", "25"])
def test_coverage_for_new_clusters(sizes: list[int], icc: float, sets: Callable[..., int]) -> None:
    at = stats.norm.ppf(ACCURACY)
    n, truth = sets(200), consistency(at[:4], at[4], 0.6).mean()
    held = 0
    for seed in range(n):
        scores = al.benchmark_scores(
            board(np.random.default_rng(seed), sizes, icc), cluster="template", **LIGHT
        )
        row = scores.summary("images", intervals=["analytic"]).iloc[0]
        held += row["analytic_ci95_lb"] <= truth <= row["analytic_ci95_ub"]
    assert held / n > 0.92 - 4 * (0.92 * 0.08 / n) ** 0.5


def readings(rng: np.random.Generator, sizes: list[int], icc: float) -> al.Trials:
    """Six readers and an AI; lesions of patients, the same in both modalities."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    n, names = len(label), [f"r{k}" for k in range(6)] + ["AI"]
    right = []
    for _ in range(2):
        parts = []
        for size in (len(sizes), n):
            shared = rng.normal(size=size)
            parts.append(np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=(7, size)))
        strength = np.sqrt(icc) * parts[0][:, label] + np.sqrt(1 - icc) * parts[1]
        right.append((strength < 0.8).astype(int))
    return al.Trials.from_correct(
        np.concatenate(right, axis=1),
        observers=names,
        kind=["human"] * 6 + ["model"],
        condition=np.repeat(["CT", "MR"], n),
        item=np.tile(np.arange(n), 2),
        item_columns={"patient": np.tile(label, 2)},
    )


@pytest.mark.slow
def test_cases_of_patients() -> None:
    """Patients with one case each equal cases; patients with several widen intervals."""
    alone, one_each = (
        al.benchmark.reader_study(
            readings(np.random.default_rng(5), [1] * 90, 0.0), "AI", cluster=cluster
        ).summary()
        for cluster in (None, "patient")
    )
    assert one_each["se"].tolist() == pytest.approx(alone["se"].tolist(), rel=0.05)
    trials = readings(np.random.default_rng(6), [10] * 20, 0.8)
    plain, found = (
        al.benchmark.reader_study(trials, "AI", cluster=cluster) for cluster in (None, "patient")
    )
    assert (found.summary()["se_cases"] > 1.5 * plain.summary()["se_cases"]).all()
    assert found.summary()[["n_cases", "n_clusters"]].values.tolist() == [[200, 20]] * 2
    assert (found.summary()["df_cases"] <= 19).all()
    assert not found.summary()["note"].str.contains("cluster").any()
    with pytest.raises(ValueError, match="must be a column that describes items, got 'item'"):
        al.benchmark.reader_study(trials, "AI", cluster="item")


@pytest.mark.slow
def test_support_of_branches_is_lower_with_clusters() -> None:
    trials = board(np.random.default_rng(7), [15] * 20, 0.8)
    squares = [al.pairwise_matrix(trials, cluster=cluster) for cluster in (None, "template")]
    support = [
        al.benchmark.families(square, n_resamples=200, rng=1).estimates["support"][:-1].mean()
        for square in squares
    ]
    assert support[1] < support[0]
    assert squares[1].data.attrs["cluster"] == "template"


def test_noise_of_questions_is_that_of_clusters() -> None:
    """Noise grows by N/(N - 1) with clusters of one question, and by 10 with ten equal ones."""
    panel = al.simulate.leaderboard(10, 2, 30, rng=1)
    judge, *candidates = panel.observers
    given = {judge: dict(zip(candidates, np.linspace(0, 1, len(candidates)), strict=True))}

    def noise(times: int, cluster: str | None) -> float:
        trials = al.Trials.from_correct(
            np.repeat(panel.data["correct"].values, times, axis=1),
            observers=panel.observers,
            item_columns={"topic": np.repeat(np.arange(30), times)},
        )
        matrix = al.pairwise_matrix(trials, cluster=cluster)
        return float(al.benchmark.judge_agreement(matrix, given)["noise"].iloc[0])

    assert noise(1, "topic") == pytest.approx(30 / 29 * noise(1, None), rel=1e-9)
    assert noise(10, "topic") == pytest.approx(10 * 30 / 29 * noise(10, None), rel=1e-9)
