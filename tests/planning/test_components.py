"""Variance components, planned errors, budgets and repeats, and simulated experiments."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import alikely as al
from alikely.metrics import error_consistency
from alikely.planning import plan_repeats
from alikely.planning.components import COMPONENTS
from alikely.simulate import repeated_answers

Answers = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def experiment(n_humans: int, n_images: int, n_repeats: int, rng: np.random.Generator) -> Answers:
    """Humans who differ in ability and item effects, and a model with the same item difficulty."""
    ease = rng.normal(0, 1, n_images)
    own = 0.7 + rng.normal(0, 0.5, (n_humans, 1)) + ease
    own = own + rng.normal(0, 0.8, (n_humans, n_images))
    people = own[:, :, None] + rng.normal(0, 1, (n_humans, n_images, n_repeats)) > 0
    evidence = 0.6 + 0.6 * ease + 0.8 * rng.normal(0, 1, n_images)
    model = evidence > rng.normal(0, 0.5, n_images)
    return people.reshape(n_humans, -1), np.repeat(model, n_repeats)


def means(people: NDArray[np.bool_], model: NDArray[np.bool_]) -> list[float]:
    """Mean error consistency of the model with humans, and of humans with each other."""
    n = people.shape[1]
    everyone = np.concatenate([model[None], people]).astype(float)
    both, right = everyone @ everyone.T, everyone.sum(axis=1)
    i, j = np.triu_indices(len(everyone), 1)
    cells = np.stack([both[i, j], right[i] - both[i, j], right[j] - both[i, j]], axis=1)
    cells = np.concatenate([cells, n - cells.sum(axis=1, keepdims=True)], axis=1)
    ec = error_consistency(cells)
    return [ec[i == 0].mean(), ec[i > 0].mean()]


def as_trials(people: NDArray[np.bool_], model: NDArray[np.bool_], n_repeats: int) -> al.Trials:
    n = people.shape[1] // n_repeats
    return al.Trials.from_correct(
        np.concatenate([people, model[None]]).astype(int),
        observers=[f"human_{h}" for h in range(len(people))] + ["model"],
        kind=["human"] * len(people) + ["model"],
        item=np.repeat(np.arange(n), n_repeats).tolist(),
        repeat=np.tile(np.arange(n_repeats), n).tolist(),
    )


@pytest.fixture(scope="module")
def known() -> pd.DataFrame:
    """Components of the experiment above, from a large pilot."""
    answers = experiment(60, 1_600, 2, np.random.default_rng(1))
    return al.planning.variance_components(as_trials(*answers, 2))


@pytest.mark.slow
def test_planned_errors_agree_with_experiments(known: pd.DataFrame) -> None:
    rng, times = np.random.default_rng(2), 1_000
    for design in ((5, 100, 1), (10, 200, 1), (10, 200, 3), (20, 100, 1)):
        found = np.array([means(*experiment(*design, rng)) for _ in range(times)]).std(axis=0)
        planned = al.planning.expected_errors(known, *design)["se"].to_numpy()
        # A standard deviation of 1,000 has a relative error of 1 / sqrt(2,000); components of the
        # pilot add about 2%, and the linear approximation less than that at 100 images.
        np.testing.assert_allclose(planned, found, rtol=4 / np.sqrt(2 * times) + 0.02)


@pytest.mark.slow
def test_without_repeats_noise_is_part_of_the_interaction(known: pd.DataFrame) -> None:
    rng = np.random.default_rng(4)
    once = al.planning.variance_components(as_trials(*experiment(60, 1200, 1, rng), 1))
    assert once[["observer_noise", "pair_noise"]].isna().all(axis=None)
    for stable, noise in (("observer_images", "observer_noise"), ("pair_images", "pair_noise")):
        np.testing.assert_allclose(once[stable], known[stable] + known[noise], rtol=0.1, atol=1e-9)
    with pytest.raises(ValueError, match="n_repeats must be 1: the pilot has no repeats"):
        al.planning.expected_errors(once, 10, 100, 2)


def test_the_best_design_is_the_best_of_a_grid(known: pd.DataFrame) -> None:
    table = al.planning.best_design(known.tail(1), 400, 0.05, 8, max_repeats=3, max_images=300)
    people, repeats = (x.ravel() for x in np.meshgrid(np.arange(3, 40), [1, 2, 3]))
    images = np.minimum(300, ((400 / people - 8) / (0.05 * repeats) + 1e-9).astype(int))
    bought = images >= 10
    designs = (each[bought] for each in (people, images, repeats))
    best = al.planning.expected_errors(known.tail(1), *designs)["width"].min()
    assert table["width"][0] == pytest.approx(best)
    assert table["cost"].max() <= 400 * (1 + 1e-9)
    assert table["width"].dropna().is_monotonic_increasing
    assert (table.loc[table["width"].isna(), "n_observers"] == 2).all()
    assert (table["n_images"] <= 300).all()
    # Fewer repeats and more images are better, unless images run out.
    assert table["n_repeats"][0] == 1


def test_undefined_components_have_a_note() -> None:
    trials = al.simulate.observers(4, 1, 60, {"one": 2.0, "two": 0.5}, rng=1)
    correct = trials.data["correct"].values.copy()
    correct[:, :60] = 1
    perfect = al.Trials.from_correct(
        correct, observers=trials.observers, kind=trials.data["kind"].values.tolist(),
        condition=trials.data["condition"].values.tolist(),
        item=trials.data["item"].values.tolist(),
    )  # fmt: skip
    table = al.planning.variance_components(perfect)
    assert table["note"].str.contains("is undefined in a condition").all()
    with pytest.raises(ValueError, match="are unknown"):
        al.planning.expected_errors(table, 4, 100)


def test_components_of_a_directed_metric_are_those_of_the_mean_of_both_orders() -> None:
    """Compare means with the benchmark; the order of observers does not matter."""
    trials = al.load_example().select(condition=["blur", "noise"])
    table = al.planning.variance_components(trials, metric="copy_probability").set_index("system")
    scores = al.benchmark_scores(
        trials, metric="copy_probability", n_resamples=0, n_draws=0
    ).estimates["estimate"]
    for system in ("model_1", "human-human"):
        assert table.loc[system, "mean"] == pytest.approx(
            float(scores.sel(level="overall", system=system)), rel=1e-12
        )
    backwards = al.Trials.from_table(trials.to_table().iloc[::-1])
    other = al.planning.variance_components(backwards, metric="copy_probability").set_index(
        "system"
    )
    names = list(COMPONENTS[:5])
    pd.testing.assert_frame_equal(
        table[names], other.loc[table.index, names], rtol=1e-9, atol=1e-12, check_dtype=False
    )


POINT = {"n_resamples": 0, "n_draws": 0}


@functools.cache
def pilot(n_repeats: tuple[int, int], n_items: int = 20_000, seed: int = 1) -> al.Result:
    trials, _ = repeated_answers(n_items, n_repeats, within=0.5, rng=seed)
    return al.error_consistency(trials, **POINT)


def test_current_design_has_the_current_standard_error() -> None:
    result = pilot((2, 3), 400)
    found = plan_repeats(result, 2, 3).iloc[0]
    assert found["se"] == pytest.approx(result.estimates["se"].item(), rel=1e-9)
    assert found[["items", "answers_a", "answers_b"]].sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("design", [(1, 6), (5, 2)])
def test_a_pilot_predicts_errors_of_other_designs(design: tuple[int, int]) -> None:
    """Compare predictions of a large pilot with standard errors of large studies."""
    foretold = plan_repeats(pilot((2, 3)), *design).iloc[0]["se"]
    shown = pilot(design, seed=2).estimates["se"].item()
    # Variances of 20,000 influences with a kurtosis below 10, twice.
    assert foretold == pytest.approx(shown, rel=4 * np.sqrt(2) * np.sqrt(10 / 20_000) / 2)


def test_more_items_halve_the_error_and_repeats_reduce_noise() -> None:
    result = pilot((4, 4), 400)
    table = plan_repeats(result, [1, 1000], n_items=1600)
    here = plan_repeats(result, [1, 1000])
    np.testing.assert_allclose(table["se"] * 2, here["se"])
    assert table["items"].iloc[1] > 0.98
    # Observers with equal responses in all repeats have no noise.
    right = np.random.default_rng(1).random((2, 50)) < 0.7
    same = al.Trials.from_correct(
        np.tile(right, 3), item=[*range(50)] * 3, repeat=np.repeat([0, 1, 2], 50).tolist()
    )
    flat = plan_repeats(al.error_consistency(same, **POINT), [1, 10])
    assert flat["se"].nunique() == 1
    assert (flat["items"] == 1).all()


def test_observers_without_repeats_need_single_responses() -> None:
    result = pilot((1, 4), 300)
    table = plan_repeats(result, [1, 2], [8, 8])
    assert np.isfinite(table["se"].iloc[0])
    assert np.isnan(table["se"].iloc[1])
    assert table["note"].iloc[1].startswith("observer_a responded once to each item")
