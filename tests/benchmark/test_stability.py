"""Ceilings, contrasts, multiverse analysis, reconstruction and correlations of a benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scored import covariance

import alikely as al
from alikely.benchmark.choices import CHOICES
from alikely.benchmark.decomposition import fieller_set
from alikely.benchmark.scores import noise_ceilings
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY


@pytest.fixture(scope="module")
def trials() -> Trials:
    return al.load_example().select(condition=["blur", "noise"])


@pytest.fixture(scope="module")
def scores(trials: Trials) -> al.Result:
    return al.benchmark_scores(trials, n_resamples=0, n_draws=400, rng=1)


def kappa(a: np.ndarray, b: np.ndarray) -> float:
    p, q = a.mean(), b.mean()
    expected = p * q + (1 - p) * (1 - q)
    return float(((a * b + (1 - a) * (1 - b)).mean() - expected) / (1 - expected))


def test_consensus_ceilings_by_hand() -> None:
    right = np.random.default_rng(1).integers(0, 2, (4, 50)).astype(float)
    table = noise_ceilings(
        Trials.from_correct(right.astype(int), kind=["human"] * 4), ERROR_CONSISTENCY
    )
    upper = (1 + np.sign(2 * right.sum(axis=0) - 4)) / 2
    lower = [(1 + np.sign(2 * (right.sum(axis=0) - own) - 3)) / 2 for own in right]
    assert table.loc["all", "upper"] == pytest.approx(np.mean([kappa(own, upper) for own in right]))
    assert table.loc["all", "lower"] == pytest.approx(
        np.mean([kappa(own, rest) for own, rest in zip(right, lower, strict=True)])
    )
    assert (table.loc["all"] == table.loc["overall"]).all()


@pytest.mark.slow
def test_consensus_errors_agree_with_resampled_images(trials: Trials) -> None:
    one = trials.select(condition="noise")
    table = noise_ceilings(one, ERROR_CONSISTENCY)
    correct = np.maximum(one.data["correct"].values[one.data["kind"].values == "human"], 0)
    rng = np.random.default_rng(2)
    n = correct.shape[1]
    replicates = []
    n_replicates = 400
    for _ in range(n_replicates):
        drawn = Trials.from_correct(correct[:, rng.integers(0, n, n)], kind=["human"] * 4)
        row = noise_ceilings(drawn, ERROR_CONSISTENCY).iloc[0]
        replicates.append((row["lower"], row["upper"]))
    sd = np.std(replicates, axis=0)
    # Monte Carlo error of a standard deviation, and second-order terms that influence omits.
    slack = 4 / np.sqrt(2 * n_replicates) + 1 / np.sqrt(n)
    np.testing.assert_allclose(
        table.loc["overall", ["lower_se", "upper_se"]].astype(float), sd, rtol=slack
    )


def test_ceilings_are_tested_against_zero(scores: al.Result, trials: Trials) -> None:
    table = al.benchmark.ceilings(scores, "images").set_index("level")
    row = table.loc["overall"]
    z = row["human_human"] / row["human_human_se"]
    assert row["p_human_human"] == pytest.approx(stats.norm.sf(z))
    assert row["p_human_human"] < 1e-6
    assert row["noise_ceiling_lower"] < row["noise_ceiling_upper"]
    coins = Trials.from_correct(
        np.random.default_rng(3).integers(0, 2, (6, 400)), kind=["human"] * 5 + ["model"]
    )
    guessing = al.benchmark.ceilings(al.benchmark_scores(coins, n_resamples=0, n_draws=0), "images")
    assert (guessing["p_human_human"] > 1e-3).all()
    two = al.benchmark_scores(
        trials.select(observer=["human_1", "human_2", "model_1", "model_2"]),
        n_resamples=0,
        n_draws=0,
    )
    assert al.benchmark.ceilings(two, "images").filter(like="consensus").isna().all().all()


def test_ceiling_ratio_if_the_ceiling_is_not_above_zero() -> None:
    """Below 0, ratios are undefined; if its interval includes 0, Fieller's set is unbounded."""
    right = np.random.default_rng(1).integers(0, 2, (7, 30))
    right[3], right[[1, 2, 4]] = right[0], 1 - right[0]
    guessing = np.random.default_rng(9).integers(0, 2, (7, 30))
    guessing[1, :24] = guessing[0, :24]
    kind = ["human"] * 5 + ["model"] * 2
    below, near = (
        al.benchmark_scores(Trials.from_correct(each, kind=kind), n_draws=0)
        for each in (right, guessing)
    )
    table = below.summary()
    assert table["ceiling_normalized"].isna().all()
    assert table["note"].str.contains("human-human consistency is not above 0").all()
    table = near.summary("images", columns="all")
    assert table.set_index("system").loc["ceiling", "estimate"] > 0
    assert fieller_set(-1e-9, 0.1, 0.2) == (-np.inf, np.inf)
    # The table then shows Student's interval of the ratio.
    row = table.iloc[0]
    width = row["ceiling_normalized_ci95_ub"] - row["ceiling_normalized_ci95_lb"]
    least = 2 * stats.norm.ppf(0.975) * row["ceiling_normalized_se"]
    assert least < width < np.inf
    assert table["note"].str.contains("human-human consistency does not differ significantly").all()


def test_groups_are_means_with_their_covariance(scores: al.Result) -> None:
    families = {f"model_{i}": "a" if i < 4 else "b" for i in range(1, 7)}
    row = al.benchmark.differences(scores, "images", groups=families).iloc[0]
    values = scores.estimates["estimate"].sel(level="overall", system=scores.observers).values
    weights = np.repeat([1 / 3, -1 / 3], 3)
    matrix = covariance(scores, "images").sel(
        system=scores.observers, system_other=scores.observers
    )
    assert row["difference"] == pytest.approx(weights @ values)
    assert row["se"] == pytest.approx(np.sqrt(weights @ matrix.values @ weights))
    by_label = al.benchmark.differences(scores, "images", groups="family")
    assert set(by_label["system"]) | set(by_label["other"]) == set(
        al.load_example().data["family"].values[4:]
    )


@pytest.mark.slow
def test_multiverse_starts_with_the_benchmark_and_ranks_choices(
    scores: al.Result, trials: Trials
) -> None:
    table = al.benchmark.multiverse_analysis(trials, exclude={"all": ["blur"]})
    assert len(table) == 3 * 16 * 8
    plain = al.benchmark.multiverse_analysis(trials)
    first = plain.head(8).set_index("system")["score"]
    expected = scores.estimates["estimate"].sel(level="overall")
    for system in first.index:
        assert first[system] == pytest.approx(float(expected.sel(system=system)))
    band = al.benchmark.multiverse_analysis(trials, exclude={"all": ["blur"]}, summary=True)
    band = band.set_index("system")
    assert (band["lowest"] <= band["score"]).all()
    assert (band["score"] <= band["highest"]).all()
    assert set(band["most_influential_choice"]) <= set(CHOICES) - {"metric"}
    assert (
        band.loc[scores.observers, "most_influential_for_rank"]
        .isin([*band["most_influential_choice"], "metric"])
        .all()
    )
    own = plain[plain["metric"] == "error_consistency"]
    pooled = own[own["grouping"] == "per dataset"].groupby("system")["score"].mean()
    # Pooling conditions of unequal difficulty inflates error consistency.
    assert pooled["human-human"] > first["human-human"]


def test_both_perfect_counts_as_one_or_not_at_all() -> None:
    right = np.ones((4, 20), dtype=int)
    right[2:, :5] = 0
    right[3, 5:10] = 0
    trials = Trials.from_correct(right, kind=["human", "human", "human", "model"])
    table = al.benchmark.multiverse_analysis(trials, metrics=["error_consistency"])
    table = table.set_index(["both_perfect", "system"])["score"]
    assert np.unique(table["one", "human-human"]).tolist() == pytest.approx([1 / 3])
    assert np.unique(table["undefined", "human-human"]).tolist() == [0]


def test_correlations_of_data_sets() -> None:
    right = np.random.default_rng(6).integers(0, 2, (10, 400))
    right[:4] = right[0] | (np.random.default_rng(7).random((4, 400)) < 0.2)
    for i in range(4, 10):
        copied = np.random.default_rng(i).random(400) < (i - 3) / 8
        right[i] = np.where(copied, right[0], right[i])
    trials = Trials.from_correct(
        right, kind=["human"] * 4 + ["model"] * 6, dataset=["x"] * 200 + ["y"] * 200
    )
    two = al.benchmark_scores(trials, human_ids="shared", n_resamples=500, n_draws=0, rng=1)
    table = al.benchmark.score_correlations(two)
    assert len(table) == 1
    by_level = two.estimates["estimate"].sel(system=two.observers)
    expected = stats.spearmanr(by_level.sel(level="x"), by_level.sel(level="y")).statistic
    assert table["correlation"][0] == pytest.approx(expected)
    assert table["bootstrap_ci95_lb"][0] < expected <= table["bootstrap_ci95_ub"][0]


def test_a_difference_equals_its_row_among_all_pairs(scores: al.Result) -> None:
    for population in ("images", "observers", "both"):
        rows = al.benchmark.differences(scores, population, intervals="all").set_index(
            ["system", "other"]
        )  # type: ignore[arg-type]
        row = rows.loc[("model_1", "model_3")]
        found = al.difference(scores, "model_1", "model_3", generalize_to=population).loc[
            "analytic"
        ]  # type: ignore[arg-type]
        assert found["estimate"] == pytest.approx(row["difference"], rel=1e-12)
        assert found["se"] == pytest.approx(row["se"], rel=1e-9)
        assert found["p_value"] == pytest.approx(row["p_value"], rel=1e-9)
        assert found["prob_positive"] == pytest.approx(row["prob_positive"])
        half = stats.t.ppf(0.975, row["df"]) * found["se"]
        assert found["eti95_ub"] == pytest.approx(row["interval_center"] + half)
        assert found["eti95_lb"] == pytest.approx(row["pointwise_ci95_lb"])


def test_draws_are_combined_one_by_one(scores: al.Result) -> None:
    systems = scores.estimates["system"].values.tolist()
    w = np.zeros(len(systems))
    w[[systems.index("model_1"), systems.index("model_2")]] = 0.5
    w[systems.index("ceiling")] = -1
    table = al.difference(scores,
        ["model_1", "model_2"], "ceiling", generalize_to="images", rope=(-0.1, 0.1), ci_prob=0.9,
        intervals=["analytic", "posterior"],
    )  # fmt: skip
    assert table.index.tolist() == ["analytic", "posterior"]
    draws, row = scores.draws("posterior") @ w, table.loc["posterior"]
    tails = np.quantile(draws, [0.05, 0.95])
    np.testing.assert_allclose([row["eti90_lb"], row["eti90_ub"]], tails)
    assert row["prob_positive"] == (draws > 0).mean()
    assert row["rope_mass"] == (np.abs(draws) < 0.1).mean()
    assert row["frac_undefined"] == 0
    assert row["estimate"] == np.median(draws)
    matrix = covariance(scores, "images").values
    assert table.loc["analytic", "se"] == pytest.approx(np.sqrt(w @ matrix @ w), rel=1e-9)
