"""Dependent items: columns of items as clusters of an analysis."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import alikely as al
from alikely.data.tables import joint_correctness
from alikely.estimates.notes import design_effect
from alikely.inference.influence import estimate

EC = al.metrics.get_metric("EC")


def answers(
    rng: np.random.Generator, sizes: list[int], icc: float, n_observers: int = 2
) -> al.Trials:
    """Correctness with normal item strengths, correlated 0.6 between observers, with an ICC."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    parts = []
    for n in (len(sizes), len(label)):
        shared = rng.normal(size=n)
        parts.append(np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.normal(size=(n_observers, n)))
    strength = np.sqrt(icc) * parts[0][:, label] + np.sqrt(1 - icc) * parts[1]
    accuracy = np.linspace(0.75, 0.8, n_observers)[:, None]
    right = (strength < stats.norm.ppf(accuracy)).astype(int)
    return al.Trials.from_correct(right, item_columns={"template": label})


def true_consistency() -> float:
    a, b = 0.75, 0.8
    both = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]]).cdf(stats.norm.ppf([a, b]))
    chance = a * b + (1 - a) * (1 - b)
    return float((1 + 2 * both - a - b - chance) / (1 - chance))


def test_variance_and_degrees_of_freedom_by_hand() -> None:
    """Compare with the jackknife over clusters, and the smallest of three degrees of freedom."""
    trials = answers(np.random.default_rng(1), [3, 5, 8, 14, 30], 0.5)
    table = joint_correctness(trials)
    found = estimate(table, EC, "template").isel(pair=0)
    cells = table["cells"].values.astype(float)
    code = 2 * (1 - table["correct"].values[0]) + (1 - table["correct"].values[1])
    psi = EC.influence(cells)[0][code] / 60
    of_cluster = [
        np.bincount(code[table["template"].values == str(g)], minlength=4) for g in range(5)
    ]
    without = EC.value(cells - np.array(of_cluster))
    sums = 4 / 5 * (EC.value(cells)[0] - without)
    assert float(found["se"]) ** 2 == pytest.approx(5 / 4 * (sums**2).sum())
    square, fourth = (sums**2).sum(), (sums**4).sum()
    varying = 2 * square**2 / (fourth - square**2 / 5)
    # Independent trials would give the sum of squared influences.
    expected = np.bincount(np.repeat(range(5), [3, 5, 8, 14, 30]), psi**2)
    unequal = expected.sum() ** 2 / (expected**2).sum() - 1
    # Minus one degree for estimated accuracies, but at least two.
    least = min(varying, unequal, 4)
    assert float(found["df"]) == pytest.approx(max(least - 1, min(least, 2)))
    assert int(found["n_clusters"]) == 5
    effect = 5 / 4 * square / (psi**2).sum()
    assert float(found["design_effect"]) == pytest.approx(effect)
    # The table has Student's interval.
    row = al.error_consistency(trials, cluster="template", rng=1).summary().iloc[0]
    half = stats.t.ppf(0.975, float(found["df"])) * float(found["se"])
    assert row["analytic_ci95_ub"] == pytest.approx(min(row["estimate"] + half, 1))


def test_clusters_of_one_item_are_items() -> None:
    """With single-item clusters, the variance is close to that of items; posteriors are equal."""
    trials = answers(np.random.default_rng(2), [1] * 80, 0.0)
    table = joint_correctness(trials)
    alone, clustered = estimate(table, EC), estimate(table, EC, "template")
    ratio = float(clustered["se"][0] / alone["se"][0])
    # Third moments increase the jackknife variance by about 1/N.
    assert 1 < ratio**2 < 1 + 8 / 80
    found = [
        al.error_consistency(trials, cluster=cluster, rng=1).draws("posterior")
        for cluster in (None, "template")
    ]
    # Four Monte Carlo errors of a difference of means of 4,000 draws each.
    error = np.hypot(*(draws.std() / np.sqrt(len(draws)) for draws in found))
    assert abs(found[0].mean() - found[1].mean()) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "icc"),
    [([30] * 10, 0.3), ([3] * 100, 0.8)],
    ids=["10", "100"],
)
def test_coverage(sizes: list[int], icc: float, sets: Callable[..., int]) -> None:
    """At least 0.92 minus four Monte Carlo errors; independent items cover 0.33 to 0.94."""
    n, truth = sets(400, 200), true_consistency()
    held = 0
    for seed in range(n):
        table = joint_correctness(answers(np.random.default_rng(seed), sizes, icc))
        found = estimate(table, EC, "template").isel(pair=0)
        half = stats.t.ppf(0.975, float(found["df"])) * float(found["se"])
        held += abs(float(found["estimate"]) - truth) < half
    assert held / n > 0.92 - 4 * (0.92 * 0.08 / n) ** 0.5


@pytest.mark.parametrize("n_observers", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_correlated_items_are_noted(n_observers: int) -> None:
    """A pair or ten observers with 300 items; notes on independent items are rare."""
    rng = np.random.default_rng(3)
    told = {}
    for icc in (0.0, 0.8):
        tables = [joint_correctness(answers(rng, [12] * 25, icc, n_observers)) for _ in range(8)]
        found = [design_effect(table, EC, "template") for table in tables]
        told[icc] = np.array([effect is not None and effect.p_value < 0.01 for effect in found])
    # At level 0.01, more than 2 of 8 notes occur once in 18,000 runs.
    assert told[0.0].sum() <= 2
    assert told[0.8].all()
    trials = answers(rng, [12] * 25, 0.8, n_observers)
    note = al.error_consistency(trials, n_draws=0, n_resamples=0).summary()["note"].iloc[0]
    assert "Pass cluster='template'" in note
    # Variance of accuracy with clusters, relative to independent items.
    correct = trials.data["correct"].values
    apart = correct - correct.mean(axis=1, keepdims=True)
    sums = apart.reshape(n_observers, 25, 12).sum(axis=2)
    scaled = (sums**2).sum(axis=1) / (apart**2).sum(axis=1)
    accuracy = float(note.split("design effect ")[1].split(" for accuracy")[0])
    # Independent items would have 288/299, estimated by the mean of 199 permutations (SD at most
    # sqrt(2/24) each): five Monte Carlo errors.
    expected = scaled.mean() * 299 / 288
    assert accuracy == pytest.approx(expected, rel=5 * (2 / 24 / 199) ** 0.5)
    ratings = al.Trials.from_arrays(
        correct, np.ones(300, int), classes=[0, 1],
        item_columns={"template": trials.data["template"].values.tolist()},
    )  # fmt: skip
    note = al.agreement(ratings, n_draws=0, n_resamples=0).summary()["note"].iloc[0]
    assert float(note.split("design effect ")[1].split(" for ratings")[0]) == pytest.approx(
        accuracy
    )
    clustered = al.error_consistency(trials, cluster="template", n_resamples=0, rng=1)
    note = clustered.summary()["note"].iloc[0]
    assert "cluster" not in note
    # Draws of few clusters are too narrow, so tables show the analytic interval.
    assert "analytic_ci95_lb" in clustered.summary()
    codes = clustered.summary(intervals="all")["note_codes"].iloc[0]
    assert "few-clusters-posterior" in codes


def labeled() -> al.Trials:
    """Six observers, three classes, two conditions, items of 20 templates."""
    rng = np.random.default_rng(5)
    n, template = 240, np.repeat(np.arange(20), 12)
    hard = rng.normal(size=20)[template]
    right = rng.normal(size=(6, n)) + hard > -0.3
    truth = rng.integers(0, 4, n)
    wrong = (truth + rng.integers(1, 4, (6, n))) % 4
    return al.Trials.from_arrays(
        np.where(right, truth, wrong),
        truth,
        observers=[f"m{k}" for k in range(6)],
        condition=np.where(np.arange(n) % 2, "near", "far").tolist(),
        item_columns={"template": template},
    )


@pytest.mark.parametrize("metric", ["EC", "MA"])
def test_a_matrix_has_the_intervals_of_pairs(metric: str) -> None:
    trials = labeled()
    square = al.pairwise_matrix(trials, metric, cluster="template").summary()
    pairs = al.compare(trials, metric, "all", cluster="template", n_resamples=0, n_draws=0)
    table = pairs.summary(intervals=["analytic"])
    on = ["condition", "observer_a", "observer_b"]
    both = square.merge(table, on=on)
    assert len(both) == len(square)
    for name in ("estimate", "se", "analytic_ci95_lb", "analytic_ci95_ub"):
        np.testing.assert_allclose(both[f"{name}_x"], both[f"{name}_y"], rtol=1e-6, atol=1e-9)
    assert "log10_p" not in square


@pytest.mark.parametrize("metric", ["EC", "MA"])
def test_sums_over_clusters_agree_with_pairs(metric: str) -> None:
    """Compare a difference and a mean with templates in both conditions, by hand and by matrix."""
    trials = labeled()
    result = al.compare(trials, metric, "all", None, cluster="template", n_resamples=0, n_draws=0)
    square = al.pairwise_matrix(trials, metric, None, cluster="template")
    first, second = ("m0", "m1"), ("m0", "m2")
    table = al.difference(
        result, *({"observer_a": a, "observer_b": b} for a, b in (first, second))
    ).loc["analytic"]
    found = al.difference(square, first, second).loc["analytic"]
    np.testing.assert_allclose(
        found.iloc[:5].astype(float), table.iloc[:5].astype(float), rtol=1e-6
    )
    mean = al.mean(result, {"observer": ["m0", "m1", "m2"]}, intervals="all").loc["analytic"]
    alone = al.mean(
        al.compare(trials, metric, "all", None, n_resamples=0, n_draws=0),
        {"observer": ["m0", "m1", "m2"]}, intervals="all",
    ).loc["analytic"]  # fmt: skip
    assert mean["df"] <= 19
    assert mean["se"] > 1.2 * alone["se"]
    pairs = [f"{a} x {b}" for a, b in (("m0", "m1"), ("m0", "m2"), ("m1", "m2"))]
    of_pairs = al.mean(result, pairs, intervals=["analytic"])[["estimate", "se", "eti95_lb"]]
    of_matrix = al.mean(square, ["m0", "m1", "m2"])[of_pairs.columns]
    np.testing.assert_allclose(of_matrix, of_pairs, rtol=1e-6)


@pytest.mark.parametrize("metric", ["MA", "cohen_kappa", "kappa_p_discrete"])
def test_every_posterior_resamples_clusters(metric: str) -> None:
    """Spreads of draws match the analytic error; a cluster is drawn once for all conditions."""
    trials = labeled().with_options("classes")
    result = al.compare(trials, metric, "all", cluster="template", n_resamples=500, rng=1)
    se = result.estimates["se"].values
    for method in ("bootstrap", "posterior"):
        ratio = result.draws(method).std(axis=0) / se
        assert np.median(ratio) == pytest.approx(0.95, abs=0.15)
    draws = result.draws("posterior")
    # Comparisons of one pair share clusters in both conditions; separate draws would correlate by
    # about 1/sqrt(4000).
    pairs = result.pairs.reset_index().groupby(["observer_a", "observer_b"])["index"].agg(list)
    together = [np.corrcoef(draws[:, a], draws[:, b])[0, 1] for a, b in pairs]
    assert np.mean(np.abs(together)) > 0.06


def test_independence_of_clusters() -> None:
    """Test cluster sums of products of deviations by sign flips; by Student's test below six."""
    for sizes in ([20] * 8, [5, 10, 15, 20, 25, 30, 35, 40], [30, 60, 90]):
        trials = answers(np.random.default_rng(8), sizes, 0.3)
        result = al.error_consistency(trials, cluster="template", n_resamples=0, n_draws=0, rng=1)
        found = result.estimates.isel(pair=0)
        a, b = trials.data["correct"].values.astype(float)
        label = np.repeat(np.arange(len(sizes)), sizes)
        sums = np.bincount(label, (a - a.mean()) * (b - b.mean()))
        every = [abs(np.dot(signs, sums)) for signs in itertools.product([1, -1], repeat=len(sums))]
        expected = np.mean(np.array(every) >= abs(sums.sum()) - 1e-9)
        if len(sizes) < 6:
            away = abs(float(found["estimate"] / found["se"]))
            expected = 2 * stats.t.sf(away, float(found["df"]))
        assert float(found["p_null"]) == pytest.approx(expected)


def test_a_sum_without_a_standard_error_has_no_interval() -> None:
    """One condition has a single cluster, without which it is empty."""
    rng = np.random.default_rng(5)
    label = ["a"] * 30 + list("bcdefgh") * 10
    trials = al.Trials.from_correct(
        (rng.random((2, 100)) < 0.7).astype(int),
        condition=["one"] * 30 + ["two"] * 70,
        item_columns={"template": label},
    )
    amounts = {"n_resamples": 0, "n_draws": 0}
    result = al.error_consistency(trials, cluster="template", rng=1, **amounts)
    row = al.mean(result).loc["analytic"]
    assert np.isfinite(row["estimate"])
    assert np.isnan(row[["se", "eti95_lb", "eti95_ub"]].astype(float)).all()
    drawn = al.error_consistency(trials, cluster="template", n_resamples=50, n_draws=40, rng=1)
    table = drawn.summary(intervals="all")
    limits = table.filter(regex="analytic.*_lb|bootstrap.*_lb")
    assert np.isfinite(limits).to_numpy().tolist() == [[False, False], [True, True]]
    four = al.Trials.from_correct(
        (rng.random((4, 100)) < 0.7).astype(int),
        kind=["human"] * 3 + ["model"],
        condition=["one"] * 30 + ["two"] * 70,
        item_columns={"template": label},
    )
    with pytest.raises(ValueError, match=r"two clusters in each condition, and 'one' has one"):
        al.benchmark_scores(four, cluster="template")
