"""Benchmarks whose levels are groups of conditions, such as regimes of difficulty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import alikely as al
from alikely.benchmark.benchmark import dataset_names
from alikely.data.trials import Trials
from studies.benchmarks import BenchmarkDesign, population_scores, simulated_benchmark

REGIMES = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}


@pytest.fixture(scope="module")
def trials() -> Trials:
    return al.load_example()


@pytest.fixture(scope="module")
def grouped(trials: Trials) -> al.Result:
    return al.benchmark_scores(trials.with_levels(REGIMES), n_resamples=300, n_draws=300, rng=1)


def test_scores_are_means_over_the_conditions_of_a_level(
    trials: Trials, grouped: al.Result
) -> None:
    assert dataset_names(grouped) == ["easy", "hard"]
    each = al.condition_alignment(trials, metrics="error_consistency", n_resamples=0)
    value = each["estimate"].isel(metric=0)
    hard = value.sel(condition=["all:blur", "all:noise"]).mean("condition")
    found = grouped.estimates["estimate"]
    systems = each["system"].values
    np.testing.assert_allclose(found.sel(level="hard", system=systems), hard)
    easy = found.sel(level="easy", system=systems)
    np.testing.assert_allclose(easy, value.sel(condition="all:clean"))
    overall = found.sel(level="overall", system=systems)
    np.testing.assert_allclose(overall, (easy + hard.values) / 2)
    regimes = al.spectrum.regime_alignment(
        al.condition_alignment(trials, metrics="error_consistency", n_resamples=50, rng=1), REGIMES
    ).set_index(["regime", "system"])
    for name in grouped.observers:
        assert regimes.loc[("hard", name), "estimate"] == pytest.approx(
            float(found.sel(level="hard", system=name))
        )


def test_single_condition_levels_equal_alignment_by_condition(trials: Trials) -> None:
    own = {name: name for name in REGIMES}
    found = al.benchmark_scores(trials.with_levels(own), n_resamples=0, n_draws=0)
    each = al.condition_alignment(trials, metrics="error_consistency", n_resamples=0)
    for name in own:
        table = found.summary("both", name, columns=["interval_center"]).set_index("system")
        table = table.loc[each["system"].values]
        part = each.isel(metric=0).sel(condition=name)
        np.testing.assert_allclose(table["se"], part["se"])
        np.testing.assert_allclose(table["interval_center"], part["interval_center"])


def test_a_level_with_too_few_humans_in_a_condition_has_a_note() -> None:
    right = np.ma.masked_array(np.random.default_rng(2).random((7, 120)) < 0.7)
    right[2:5, :60] = np.ma.masked
    made = Trials.from_correct(
        right.astype(int), kind=["human"] * 5 + ["model"] * 2, condition=np.repeat(["x", "y"], 60)
    )
    levels = {"all:x": "one", "all:y": "one"}
    scores = al.benchmark_scores(made.with_levels(levels), n_resamples=0, n_draws=0)
    table = scores.summary(level="one")
    people = table[table["system"].str.startswith("human")]
    assert people["se"].isna().all()
    assert table["note"].str.contains("only 2 humans: too few to generalize to new humans").all()


@pytest.mark.slow
def test_coverage_of_scores_by_regime(sets: Callable[..., int]) -> None:
    """Conditions of two data sets with the same humans, in two regimes."""
    design = BenchmarkDesign("probit", 5, 2, 3, 120, pool=5)
    truth = population_scores(design).models
    levels = {f"{d}:{c}": "near" if c < 2 else "far" for d in range(2) for c in range(3)}
    rng, n_sets, hits = np.random.default_rng(1), sets(100), []
    for _ in range(n_sets):
        trials = simulated_benchmark(design, rng)[0].with_levels(levels)
        scores = al.benchmark_scores(trials, human_ids="shared", n_draws=0)
        for level in ("near", "far", "overall"):
            ends = scores.summary("both", level).head(4).filter(regex="^analytic_").to_numpy()
            hits.append(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
    share = np.reshape(hits, (n_sets, 3))
    error = share.std(axis=0) / np.sqrt(n_sets)
    assert (share.mean(axis=0) > 0.95 - 0.02 - 4 * error).all(), share.mean(axis=0)
