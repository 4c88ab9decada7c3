"""Benchmark scores: stored values, plain loops, coverage over images and humans, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scored import covariance

import alikely as al
from alikely.benchmark.benchmark import level_parts
from alikely.benchmark.layout import exclude_conditions
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.metrics import consistency


@pytest.fixture(scope="module")
def example() -> Trials:
    return al.load_example().select(condition=["blur", "noise"])


@pytest.fixture(scope="module")
def scores(example: Trials) -> al.Result:
    return al.benchmark_scores(example, n_resamples=10_000, rng=1)


def two_datasets(seed: int = 1, n_humans: int = 5) -> Trials:
    """Two data sets with separate humans, several conditions, three models."""
    rng = np.random.default_rng(seed)
    n_trials = 240
    z = rng.standard_normal(n_trials)
    right = 0.8 * z + 0.6 * rng.standard_normal((2 * n_humans + 3, n_trials)) > -0.6
    mask = np.zeros_like(right)
    first = np.arange(n_trials) < 120
    mask[:n_humans, ~first] = True
    mask[n_humans : 2 * n_humans, first] = True
    return Trials.from_correct(
        np.ma.masked_array(right.astype(float), mask=mask),
        dataset=np.where(first, "one", "two").tolist(),
        condition=[str(i % 3) for i in range(n_trials)],
        kind=["human"] * (2 * n_humans) + ["model"] * 3,
    )


def test_scores_equal_nested_means_by_hand() -> None:
    trials = two_datasets()
    scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0)
    table = joint_correctness(trials, ["human-model", "human-human"])
    frame = pd.DataFrame(
        {n: table[n].values for n in ("dataset", "condition", "observer_a", "observer_b")}
    ).assign(ec=consistency.error_consistency(table["cells"].values))
    mixed = frame[frame["observer_b"].isin(trials.observers[-3:])]
    by_human = mixed.groupby(["dataset", "observer_b", "observer_a"])["ec"].mean()
    by_dataset = by_human.groupby(["dataset", "observer_b"]).mean()
    for model in trials.observers[-3:]:
        for dataset in ("one", "two"):
            value = scores.estimates["estimate"].sel(level=dataset, system=model)
            assert float(value) == pytest.approx(by_dataset[dataset, model], abs=1e-12)
        overall = scores.estimates["estimate"].sel(level="overall", system=model)
        assert float(overall) == pytest.approx(by_dataset.xs(model, level=1).mean(), abs=1e-12)
    alike = frame[~frame["observer_b"].isin(trials.observers[-3:])]
    per_pair = alike.groupby(["dataset", "observer_a", "observer_b"])["ec"].mean()
    row = scores.estimates["estimate"].sel(system="human-human")
    np.testing.assert_allclose(row.sel(level=["one", "two"]), per_pair.groupby("dataset").mean())
    np.testing.assert_allclose(row.sel(level="overall"), per_pair.groupby("dataset").mean().mean())


def test_image_variance_agrees_with_the_bootstrap(scores: al.Result) -> None:
    draws = scores.draws("bootstrap")
    names = scores.estimates["system"].values
    # Pseudocounts are not resampled.
    matrix = (
        covariance(scores, "images").values - level_parts(scores)["pseudocount_variance"].values
    )
    se = np.sqrt(np.diag(matrix))
    # Error of 10,000 replicates, and of the delta method at 160 trials per condition.
    np.testing.assert_allclose(draws.std(axis=0), se, rtol=4 / np.sqrt(20_000) + 2 / 160)
    correlation = np.corrcoef(draws.T)
    analytic = matrix / np.outer(se, se)
    noise = 4 / np.sqrt(10_000)
    assert np.abs(correlation - analytic).max() < noise + 2 / 160
    assert names.tolist()[-2:] == ["human-human", "ceiling"]


def test_a_score_above_the_ceiling_is_not_clipped() -> None:
    rng = np.random.default_rng(1)
    z = rng.standard_normal(600)
    humans = 0.5 * z + 0.85 * rng.standard_normal((5, 600)) > -0.6
    trials = Trials.from_correct(np.vstack([humans, [z > -0.6]]), kind=["human"] * 5 + ["model"])
    row = al.benchmark_scores(trials, n_resamples=0, n_draws=0).summary().iloc[0]
    assert row["ceiling_normalized"] > 1
    assert "ceiling-normalized score exceeds 1" in row["note"]


def test_posterior_uses_joint_draws_for_nested_means(scores: al.Result) -> None:
    draws = scores.draws("posterior")
    se = np.sqrt(np.diag(covariance(scores, "images")))
    # Same data and population: spreads agree up to Monte Carlo error and a prior of two trials.
    np.testing.assert_allclose(draws.std(axis=0), se, rtol=4 / np.sqrt(8000) + 0.05)
    estimate = scores.estimates["estimate"].sel(level="overall").values
    np.testing.assert_allclose(draws.mean(axis=0), estimate, atol=0.02)


def test_differences_use_the_covariance(scores: al.Result) -> None:
    table = al.benchmark.differences(scores, "images", intervals="all")
    assert len(table) == 15
    matrix = covariance(scores, "images")
    row = table.iloc[3]
    v = [
        float(matrix.sel(system=a, system_other=b))
        for a in (row["system"], row["other"])
        for b in (row["system"], row["other"])
    ]
    assert row["se"] == pytest.approx(np.sqrt(v[0] + v[3] - 2 * v[1]), rel=1e-9)
    half = (table["simultaneous_ci95_ub"] - table["interval_center"]) / table["se"]
    # Between one comparison of normal means and Bonferroni's bound for fifteen with few df.
    assert (half > 1.96).all()
    assert (half < stats.t.isf(0.025 / 15, table["df"].min())).all()
    assert (table["p_value_bh"] >= table["p_value"]).all()


def test_p_values_agree_with_their_intervals(scores: al.Result) -> None:
    for population in ("images", "observers", "both"):
        table = al.benchmark.differences(scores, population, intervals="all", ci_prob=0.8)  # type: ignore[arg-type]
        for interval, p in (("pointwise", "p_value"), ("simultaneous", "p_value_simultaneous")):
            low, high = table[f"{interval}_ci80_lb"], table[f"{interval}_ci80_ub"]
            without = (low > 0) | (high < 0)
            assert (without == (table[p] < 0.2)).all()
        alone = (table["p_value"] < 0.2) & (table["p_value_simultaneous"] > 0.2)
        assert (
            alone == table["note"].str.startswith("the difference is significant without")
        ).all()


def test_simultaneous_intervals_cover_all_pairs_together(scores: al.Result) -> None:
    """Draw estimates from the fitted normal, and count how often any interval misses."""
    models = scores.observers
    matrix = covariance(scores, "images").sel(system=models, system_other=models).values
    table = al.benchmark.differences(scores, "images", intervals="all")
    half = (table["simultaneous_ci95_ub"] - table["interval_center"]).to_numpy()
    rng = np.random.default_rng(3)
    new = rng.multivariate_normal(np.zeros(len(models)), matrix, 20_000, method="eigh")
    j, k = np.triu_indices(len(models), 1)
    held = (np.abs(new[:, j] - new[:, k]) <= half).all(axis=1).mean()
    # One simulation of 20,000. Correlated means with unequal errors, and finite degrees of freedom,
    # increase coverage.
    assert 0.95 - 4 * np.sqrt(0.95 * 0.05 / 20_000) < held < 0.99


def test_identical_models_are_noted() -> None:
    trials = two_datasets()
    table = trials.to_table()
    twin = table[table["observer"] == trials.observers[-1]].assign(observer="twin")
    scores = al.benchmark_scores(
        Trials.from_table(pd.concat([table, twin])), n_resamples=0, n_draws=0
    )
    rows = al.benchmark.differences(scores, "images", intervals="all").set_index(
        ["system", "other"]
    )
    row = rows.loc[(trials.observers[-1], "twin")]
    assert row["difference"] == 0
    assert np.isnan(row["p_value"])
    assert row["note"].startswith("the two systems respond identically")
    assert (rows["note"].str.contains("identical")).sum() == 1
    with pytest.raises(ValueError, match="and 'twin' has no variance, because"):
        al.benchmark.ranks(scores, "images", rng=1)


@pytest.mark.slow
def test_real_benchmark(shared_data: Path) -> None:
    trials = al.datasets.model_vs_human(shared_data / "model_vs_human")
    trials = al.exclude_conditions(trials, "model-vs-human")
    scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0)
    assert scores.data.attrs["exclude"] == "model-vs-human"
    row = scores.estimates["estimate"].sel(system="human-human")
    assert round(float(row.sel(level="overall")), 4) == 0.4312
    assert round(float(row.sel(level="edge")), 4) == 0.3184
    se = scores.summary("images", None).query("system == 'human-human'").set_index("level")["se"]
    # Standard errors over images as in the design notes, within a tenth.
    golden = {
        "edge": 0.048,
        "sketch": 0.037,
        "stylized": 0.018,
        "cue-conflict": 0.014,
        "silhouette": 0.032,
        "rotation": 0.024,
    }
    for level, value in golden.items():
        assert se[level] == pytest.approx(value, rel=0.1)
    assert len(scores.observers) == 22
    levels = scores.estimates["level"].values.tolist()
    assert len(levels) == 18
    assert np.isnan(scores.estimates["estimate"].sel(level="edge", system="vgg11"))


def test_exclusions_are_compared_after_normalizing() -> None:
    trials = Trials.from_correct(
        np.eye(2, 4), dataset=["uniform-noise"] * 4, condition=["0.00", "0.10", "0.60", "0.1"]
    )
    kept = exclude_conditions(trials, "model-vs-human")
    assert sorted(set(kept.data["condition"].values)) == ["0.1", "0.10"]


def drop_humans(trials: Trials, n: int) -> Trials:
    humans = [name for name in trials.observers if name.startswith("human")]
    return trials.select(observer=[o for o in trials.observers if o not in humans[n:]])


def test_few_humans_raise_or_are_noted() -> None:
    trials = al.load_example().select(condition="noise")
    three = al.benchmark_scores(drop_humans(trials, 3), n_resamples=0, n_draws=0)
    crossed = three.summary("both", intervals=["analytic"], columns=["df"])
    assert crossed["se"].notna().all()
    assert (crossed["df"] >= 2).all()
    assert crossed["note"].str.startswith("only 3 humans: the interval is approximate").all()
    two = al.benchmark_scores(drop_humans(trials, 2), n_resamples=0, n_draws=0)
    found = two.summary("both", intervals=["analytic"])
    assert found["se"].isna().all()
    assert found["note"].str.startswith("only 2 humans: too few to generalize to new humans").all()
    assert two.summary("images")["se"].notna().all()
    four = al.benchmark_scores(trials, n_resamples=0, n_draws=0).summary("both")
    assert four["note"].str.startswith("only 4 humans: the interval is approximate").all()


def test_undefined_entries_widen_the_interval() -> None:
    generator = np.random.default_rng(1)
    correct = np.ones((6, 80))
    # Perfect model and perfect humans: only the pair with the first human is defined.
    correct[0], correct[4] = generator.random((2, 80)) < 0.7
    trials = Trials.from_correct(
        correct,
        observers=["h0", "h1", "h2", "h3", "some_errors", "perfect"],
        kind=["human"] * 4 + ["model"] * 2,
    )
    scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0)
    images = scores.summary("images").set_index("system")
    crossed = scores.summary("both", intervals=["analytic"]).set_index("system")
    assert images.loc["perfect", "estimate"] == 0
    # The pairs without errors are unknown and make the interval wide.
    row = crossed.loc["perfect"]
    assert row["note"].endswith("3 undefined comparisons are excluded from the estimate")
    assert row["analytic_ci95_ub"] - row["analytic_ci95_lb"] > 0.5
    assert row["analytic_ci95_lb"] < 0 < row["analytic_ci95_ub"]
    assert crossed.loc["some_errors", "se"] >= images.loc["some_errors", "se"] > 0


def test_models_that_lack_a_dataset() -> None:
    trials = two_datasets()
    table = trials.to_table()
    gone = (table["observer"] == trials.observers[-1]) & (table["dataset"] == "two")
    holed = Trials.from_table(table[~gone])
    with pytest.raises(ValueError, match="is missing in data set 'two', so its mean is not"):
        al.benchmark_scores(holed)


def test_equal_labels_in_two_data_sets_need_human_ids() -> None:
    rng = np.random.default_rng(1)
    z = rng.standard_normal(240)
    right = 0.8 * z + 0.6 * rng.standard_normal((5, 240)) > -0.6
    trials = Trials.from_correct(
        right.astype(float),
        kind=["human"] * 4 + ["model"],
        dataset=["one"] * 120 + ["two"] * 120,
        item=[str(i) for i in range(120)] * 2,
    )

    def scored(trials: Trials = trials, **how: Any) -> al.Result:
        return al.benchmark_scores(trials, n_resamples=0, n_draws=0, **how)

    with pytest.raises(ValueError, match="label 'observer_0' occurs in 2 data sets and may be one"):
        scored()
    same, other = scored(human_ids="shared"), scored(human_ids="per_dataset")
    found = same.data.attrs["human_ids"], other.data.attrs["human_ids"]
    assert found == ("shared", "per_dataset")
    # With separate humans, the mean of two data sets has twice the degrees of freedom.
    assert same.summary("observers", columns="all")["df"].tolist() == [3.0] * 3
    assert other.summary("observers", columns="all")["df"].tolist() == [6.0] * 3
    for level in ("one", "two"):
        pd.testing.assert_frame_equal(same.summary(level=level), other.summary(level=level))
    # The value set by a loader applies, unless a call overrides it.
    said = Trials(trials.data.assign_attrs(human_ids="per_dataset"))
    assert scored(said).data.attrs["human_ids"] == "per_dataset"
    assert scored(said, human_ids="shared").data.attrs["human_ids"] == "shared"
    # An image in both data sets is one image only if `item_scope` states it.
    shared = level_parts(scored(human_ids="shared", item_scope="label"))
    assert shared.sizes["image"] == 120
    assert level_parts(same).sizes["image"] == 240


def test_intervals_have_their_center_and_student_quantiles() -> None:
    scores = al.benchmark_scores(two_datasets(), n_resamples=0, n_draws=0)
    table = scores.summary(level=None, columns=["interval_center", "df"])
    half = stats.t.ppf(0.975, table["df"]) * table["se"]
    np.testing.assert_allclose(table["analytic_ci95_lb"], table["interval_center"] - half)
    np.testing.assert_allclose(table["analytic_ci95_ub"], table["interval_center"] + half)
    # Pseudocounts move estimates slightly towards the middle.
    assert (table["interval_center"] - table["estimate"]).abs().max() < 0.05
