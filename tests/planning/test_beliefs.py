"""Assurance from priors and plans from a pilot, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import alikely as al
from alikely import simulate
from alikely.inference.process import pairwise_draws

Floats = NDArray[np.float64]


def brute_force(
    truths: Floats, n_trials: int, pilot: NDArray[np.int64] | int = 0
) -> tuple[Floats, Floats]:
    """Posterior intervals of one study for each row of (accuracy_a, accuracy_b, ec), one by one."""
    rng = np.random.default_rng(5)
    p = simulate.cell_probabilities(*truths.T)
    counts = pilot + np.array([rng.multinomial(n_trials, row) for row in p])
    draws = pairwise_draws(counts, n_draws=1_000, rng=6)["error_consistency"]
    lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
    return lower, upper


def prior_draws(n: int) -> Floats:
    """What the priors below say, truncated to what can exist."""
    rng = np.random.default_rng(7)
    a, b = rng.beta(30, 10, (2, 4 * n))
    ec = rng.normal(0.4, 0.15, 4 * n)
    lower, upper = al.metrics.bounds.error_consistency_bounds(a, b)
    fits = (lower <= ec) & (ec <= upper)
    return np.stack([a, b, ec], axis=1)[fits][:n]


@pytest.mark.slow
def test_assurance_is_what_brute_force_finds() -> None:
    accuracy, n_studies = stats.beta(30, 10), 2_000
    plan = al.planning.plan_from(
        {"accuracy_a": accuracy, "accuracy_b": accuracy, "ec": stats.norm(0.4, 0.15)}, [80, 320],
        width=0.2, rope=(-0.1, 0.1), n_datasets=n_studies, rng=1,
    )  # fmt: skip
    truths = prior_draws(n_studies)
    for _, row in plan.iterrows():
        lower, upper = brute_force(truths, int(row["n_trials"]))
        width = upper - lower
        found = {
            "p_width": width <= 0.2,
            "p_excludes": (lower > 0) | (upper < 0),
            "p_outside_rope": (lower > 0.1) | (upper < -0.1),
            "p_inside_rope": (lower >= -0.1) & (upper <= 0.1),
            "coverage": (lower <= truths[:, 2]) & (truths[:, 2] <= upper),
        }
        for name, shown in found.items():
            # Both are shares of 2,000 studies.
            error = np.sqrt(2 * max(shown.mean() * (1 - shown.mean()), 1e-3) / n_studies)
            assert abs(row[name] - shown.mean()) <= 4 * error, name
        error = np.sqrt(2 / n_studies) * width.std()
        # Both take intervals from finite draws, which only adds noise.
        assert abs(row["expected_width"] - width.mean()) <= 4 * error
        quantile = np.quantile(width, 0.8)
        near = np.quantile(width, [0.75, 0.85])
        # Error of a quantile: that of the share below it over the density there.
        error = np.sqrt(2 * 0.8 * 0.2 / n_studies) * (near[1] - near[0]) / 0.1
        assert abs(row["assured_width"] - quantile) <= 4 * error


def test_impossible_draws_are_drawn_again_and_reported() -> None:
    beliefs = {"accuracy_a": stats.uniform(0.6, 0.39), "accuracy_b": 0.7, "ec": 0.6}
    plan = al.planning.plan_from(beliefs, [100], n_datasets=1_000, rng=1)
    # With 0.7, an EC of .6 needs an accuracy whose upper bound is .6 or more.
    a = np.linspace(0.6, 0.99, 100_001)
    possible = (al.metrics.bounds.error_consistency_bounds(a, 0.7)[1] >= 0.6).mean()
    share = plan["impossible_share"][0]
    assert share == pytest.approx(1 - possible, abs=4 * np.sqrt(possible * (1 - possible) / 1_000))


@pytest.mark.slow
def test_a_plan_from_a_pilot_is_what_brute_force_finds() -> None:
    counts, n_studies = np.array([80, 12, 14, 14]), 2_000
    pilot = al.error_consistency(al.data.from_counts(counts), n_resamples=0, n_draws=1_000, rng=1)
    for keep in (False, True):
        plan = al.planning.plan_from(pilot, 300, keep_pilot=keep, n_datasets=n_studies, rng=2)
        p = np.random.default_rng(3).dirichlet(counts + 0.5, n_studies)
        truths = np.stack([p[:, 0] + p[:, 1], p[:, 0] + p[:, 2], al.metrics.error_consistency(p)])
        lower, upper = brute_force(truths.T, 300, counts if keep else 0)
        error = np.sqrt(2 / n_studies) * (upper - lower).std()
        assert abs(plan["expected_width"][0] - (upper - lower).mean()) <= 4 * error
        excludes = ((lower > 0) | (upper < 0)).mean()
        error = np.sqrt(2 * excludes * (1 - excludes) / n_studies)
        assert abs(plan["p_excludes"][0] - excludes) <= 4 * error + 1e-3
    # A posterior that is given all the data covers what it believes, to the digit: 1.9 errors of
    # 2,000 studies on either side.
    assert plan["coverage"][0] == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / n_studies))


@pytest.mark.slow
def test_other_metrics_are_planned_by_the_normal_approximation() -> None:
    """Against whole studies of counts; items that are clusters have a normal approximation."""
    cells = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [300, 60, 50, 90], axis=0).T
    trials = al.Trials.from_correct(cells, item_columns={"own": np.arange(500)})
    exact, normal = (
        al.planning.plan_from(
            al.error_consistency(
                trials, n_resamples=0, n_draws=4_000, cluster=cluster, rng=1
            ),
            1_000, width=0.13, n_datasets=4_000, rng=2,
        )
        for cluster in (None, "own")
    )  # fmt: skip
    assert normal["method"].tolist() == ["normal"]
    # The width varies with the truth, which the approximation ignores: by 1 %.
    assert normal["expected_width"][0] == pytest.approx(exact["expected_width"][0], rel=0.02)
    assert normal["coverage"][0] == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 4_000))
    trials = al.load_example()
    result = al.misclassification_agreement(
        trials, [("human_1", "human_2")], n_resamples=0, n_draws=500, rng=1
    )
    plan = al.planning.plan_from(result, width=0.2, n_datasets=200, rng=1)
    defined = plan["note"] == ""
    assert (plan.loc[defined, "expected_width"] <= 0.2 + 1e-9).all()
    assert plan.loc[~defined, "note"].str.contains("pilot's estimate is undefined").all()
    assert (plan["method"] == "normal").all()


@pytest.mark.slow
def test_a_pilot_with_clusters_gives_its_design_effect() -> None:
    """Widths of new studies with clusters of the same size, and of independent items, by hand."""
    rng = np.random.default_rng(11)

    def study(n_clusters: int, size: int = 20) -> al.Trials:
        shared, own = (rng.normal(size=(3, n)) for n in (n_clusters, n_clusters * size))
        label = np.repeat(np.arange(n_clusters), size)
        both = np.sqrt(0.5) * (shared[:, label] + own)
        strength = np.sqrt(0.6) * both[0] + np.sqrt(0.4) * both[1:]
        right = (strength < 0.7).astype(int)
        return al.Trials.from_correct(right, item_columns={"template": label})

    def consistency(trials: al.Trials, n_draws: int = 0, cluster: str = "template") -> al.Result:
        amounts = {"n_resamples": 0, "n_draws": n_draws}
        return al.error_consistency(trials, cluster=cluster, rng=1, **amounts)

    pilot = consistency(study(100), 500)
    (plan,) = al.planning.plan_from(pilot, 4_000, n_datasets=1_000, rng=2).to_dict("records")
    assert plan["method"] == "normal"
    assert plan["design_effect"] == float(pilot.estimates["design_effect"][0]) > 2
    planned = plan["expected_width"] / (2 * stats.norm.ppf(0.975))
    found = [float(consistency(study(200)).estimates["se"][0]) for _ in range(4)]
    # The pilot's standard error of 100 clusters is known within 1/sqrt(200) or so: five errors.
    assert planned == pytest.approx(np.mean(found), rel=5 / np.sqrt(200))
