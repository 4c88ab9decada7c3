"""Selecting images by models' responses, and conditions that separate models."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.planning import choose_conditions
from alikely.planning.choosing import (
    Design,
    Pool,
    Target,
    _part,
    _separation,
    allocation,
    by_weights,
    effects,
    fewest_images,
    probabilities,
    true_contrasts,
)


def pool(n: int = 240, models: int = 6, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=n)
    x = ease + rng.normal(0, 0.7, (models, n)) > -0.3
    return x, ease + rng.normal(0, 0.7, (2, n)) > -0.4


def trials(x: Any, people: Any = None, **more: Any) -> al.Trials:
    both = x if people is None else np.concatenate([people, x])
    humans = 0 if people is None else len(people)
    names = [f"p{k}" for k in range(humans)] + [f"m{k}" for k in range(len(x))]
    kinds = ["human"] * humans + ["model"] * len(x)
    return al.Trials.from_correct(both.astype(float), observers=names, kind=kinds, **more)


def with_classes() -> al.Trials:
    x, truth = pool()[0], np.repeat(list("abcd"), 60)
    said = np.where(x, truth, "e")
    return al.Trials.from_arrays(said, truth, classes=list("abcde"), kind=["model"] * 6)


def test_effects_are_the_influence_of_error_consistency() -> None:
    """Compare with the registered metric, at cells with these proportions."""
    p, h, k = 0.7, 0.6, 0.3
    chance = p * h + (1 - p) * (1 - h)
    both = (k * (p + h - 2 * p * h) + 2 * p * h) / 2
    cells = np.array([both, h - both, p - both, 1 - h - p + both])
    assert al.metrics.ERROR_CONSISTENCY.value(cells) == pytest.approx(k)
    psi = al.metrics.ERROR_CONSISTENCY.influence(1000 * cells)
    constant, slope = effects(np.array([p]), h, k)
    # n11, n10, n01, n00, with the human first.
    ours = [constant[r, 0] + slope[r, 0] * x for r, x in ((1, 1), (1, 0), (0, 1), (0, 0))]
    np.testing.assert_allclose(ours, psi, atol=1e-9)
    assert 0 < chance < 1


def test_weights_of_all_images_give_the_pool() -> None:
    x, people = pool()
    contrast = np.array([[1.0, -1, 0, 0, 0, 0]])
    found = by_weights(x, people, np.ones(240), contrast, "pool")
    assert found[0, 0] == pytest.approx(true_contrasts(x, people, contrast)[0], abs=1e-12)
    assert found[1, 0] == found[2, 0]


def test_allocation_respects_its_bounds() -> None:
    number = np.repeat([0, 1, 2], [3, 50, 100])
    shown = allocation(number, np.repeat([9.0, 1.0, 0.0], [3, 50, 100]), 40)
    assert shown.tolist() == [3, 33, 4]
    assert fewest_images(number).sum() == 11
    with pytest.raises(ValueError, match=r"n must be at least 11, .* each of 3 .* up to 4 images"):
        allocation(number, np.ones(153), 10)


def of_size(pi: Any) -> Design:
    x = np.zeros((0, len(pi)), bool)
    return Design(Pool("", "", [], x, x, x, 0), Target("", None), pi, pi)


def test_systematic_samples_have_their_probabilities() -> None:
    pi = probabilities(np.array([0.0, 1, 2, 3, 40, 1, 1, 1]), 4)
    assert pi.sum() == pytest.approx(4)
    assert pi.max() == 1
    rng = np.random.default_rng(1)
    drawn = np.zeros(8)
    for _ in range(4_000):
        at = of_size(pi).draw(rng)
        assert len(at) == 4
        drawn[at] += 1
    error = np.sqrt(pi * (1 - pi) / 4_000)
    assert (abs(drawn / 4_000 - pi) <= 4 * error + 1e-12).all()


def test_few_informative_images_leave_slots_for_others() -> None:
    """For equally accurate models, responses to images on which they agree have no effect."""
    size = np.repeat([2.0, 0.0], [5, 95])
    pi = probabilities(size, 24, uniform_fraction=0.15)
    assert pi.sum() == pytest.approx(24)
    np.testing.assert_allclose(pi[5:], 19 / 95)
    assert (pi[:5] == 1).all()
    assert len(of_size(pi).draw(np.random.default_rng(1))) == 24


def test_plan_of_a_pair(tmp_path: Path) -> None:
    x, people = pool()
    plan = al.planning.choose_images(trials(x), 60, ("m0", "m1"), rng=1)
    again = al.planning.choose_images(trials(x), 60, ("m0", "m1"), rng=1)
    pd.testing.assert_frame_equal(plan.table, again.table)
    table = plan.table
    assert len(table) == table["item"].nunique() == plan.n_images == 60
    # Weights of a stratum sum to its number of images.
    held = table.groupby("stratum").agg(w=("inclusion", lambda p: (1 / p).sum()),
                                        n=("stratum_images", "first"))  # fmt: skip
    np.testing.assert_allclose(held["w"], held["n"])
    assert held["n"].sum() == 240
    expected = plan.expected.set_index("design")
    assert expected.loc["chosen", "se_pool"] < expected.loc["random", "se_pool"]
    assert expected.loc["all", "se_pool"] == 0
    assert plan.sentence().startswith(
        "Show 60 of the 240 images. For the difference of m0 and m1 (error consistency) they "
        "should be as informative as "
    )
    for layout, column in (("plan", "inclusion"), ("psychopy", "item"), ("jspsych", "stimulus")):
        path = plan.to_csv(tmp_path / f"{layout}.csv", layout)
        assert column in pd.read_csv(path)
    with pytest.raises(ValueError, match="layout must be one of 'plan', 'psychopy', 'jspsych'"):
        plan.to_csv(tmp_path / "x.csv", "opensesame")
    # The file gives the same result as the plan.
    both = trials(x, people).to_table()
    asked = al.Trials.from_table(both[(both["kind"] == "model") | both["item"].isin(table["item"])])
    from_file = asked.with_inclusion(pd.read_csv(tmp_path / "plan.csv"), generalize_to="pool")
    pairs = [("p0", "m0")]
    ours, theirs = (
        al.error_consistency(t, pairs, n_resamples=0, n_draws=500, rng=1).summary()
        for t in (from_file, asked.with_inclusion(plan, generalize_to="pool"))
    )
    pd.testing.assert_frame_equal(ours, theirs)


def test_lists_classes_and_earlier_images() -> None:
    x, _ = pool()
    plan = al.planning.choose_images(trials(x), 40, "all pairs", n_humans=3, rng=1)
    assert plan.table.groupby("list").size().tolist() == [40, 40, 40]
    assert len({tuple(part) for _, part in plan.table.groupby("list")["item"]}) == 3
    before = plan.table.loc[plan.table["list"] == 1, "item"]
    rest = al.planning.choose_images(trials(x), 40, shown=before.tolist(), rng=1)
    assert not set(rest.table["item"]) & set(before)
    even = al.planning.choose_images(with_classes(), 40, by_class=True, uniform_fraction=1.0, rng=1)
    assert even.table["truth"].value_counts().max() <= 11
    np.testing.assert_allclose(even.table["inclusion"], 40 / 240)


def test_plans_are_simulated_with_new_humans() -> None:
    x, _ = pool()
    plan = al.planning.choose_images(trials(x), 60, ("m0", "m1"), rng=1)
    simulated = plan.simulate(accuracy=[0.7], difficulty_correlation=[0.8], n_designs=30, rng=1)
    assert simulated["design"].tolist() == ["random", "chosen", "strata"]
    assert (simulated["trials_saved"][1:] > 1).all()
    for name, value in (("accuracy", [1.2]), ("difficulty_correlation", [1.2]), ("n_designs", 5)):
        with pytest.raises(ValueError, match=f"{name} must"):
            plan.simulate(**{name: value})


def test_hard_images_are_noted_and_classes_balanced_within_strata() -> None:
    models = al.load_example().select(condition="blur", kind="model")
    for n, noted in ((40, True), (150, False)):
        hard = al.planning.choose_images(models, n, ("model_1", "model_4"), rng=1)
        assert any("half of the models" in note for note in hard.notes) is noted
    named = with_classes()
    pair = tuple(named.observers[:2])
    plan = al.planning.choose_images(named, 80, pair, by_class=True, rng=1)
    (part,) = plan._parts
    held = part.pool
    number = pd.Series(part.stratum, index=held.items)
    truths = pd.Series(held.truth, index=held.items)
    # Numbers per class in each stratum are proportional, up to one.
    for g, own in plan.table.groupby(plan.table["item"].map(number)):
        rest = truths[number == g].value_counts()
        counts = own["truth"].value_counts().reindex(rest.index, fill_value=0)
        assert (abs(counts - rest * len(own) / rest.sum()) < 1 + 1e-9).all()


def test_errors_on_selected_images_are_weighted() -> None:
    x, people = pool()
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 240)
    wrong = (truth + rng.integers(1, 5, (8, 240))) % 5
    said = np.where(np.concatenate([people, x]), truth, wrong)
    kinds = ["human"] * 2 + ["model"] * 6
    everybody = al.Trials.from_arrays(said.astype(str), truth.astype(str), kind=kinds)
    plan = al.planning.choose_images(everybody, 80, tuple(everybody.observers[2:4]), rng=1)
    table = everybody.to_table()
    seen = (table["kind"] == "model") | table["item"].isin(plan.table["item"])
    weighted = al.Trials.from_table(table[seen]).with_inclusion(plan, generalize_to="pool")
    result = al.misclassification_agreement(weighted, "human-model", n_resamples=200, rng=1)
    assert result.summary()["note"].str.contains("selected with unequal probabilities").all()
    assert np.isfinite(result.summary()["se"][:2]).all()
    with pytest.raises(ValueError, match="no weights, because a person errs on only 18 of 80"):
        al.error_similarity(weighted, "human-model", n_resamples=0, n_draws=0)


def study(telling: int = 2, n_conditions: int = 6, n: int = 120, seed: int = 0) -> al.Trials:
    """Models copy humans to different degrees in the first conditions, and not in others."""
    rng = np.random.default_rng(seed)
    rows, place = [], []
    for c in range(n_conditions):
        ease = rng.random(n) < 0.6
        people = np.where(rng.random((6, n)) < 0.8, ease, rng.random((6, n)) < 0.6)
        copying = np.linspace(0, 0.9, 5)[:, None] if c < telling else np.full((5, 1), 0.4)
        models = np.where(rng.random((5, n)) < copying, ease, rng.random((5, n)) < 0.6)
        rows.append(np.vstack([people, models]))
        place += [f"c{c}"] * n
    return al.Trials.from_correct(
        np.hstack(rows).astype(int), kind=["human"] * 6 + ["model"] * 5, condition=place
    )


def test_separation_by_pairs() -> None:
    """Compare with the variance of scores divided by the mean variance of differences."""
    rng = np.random.default_rng(1)
    score, v = _part(rng.random((3, 90)) < 0.7, rng.random((4, 90)) < 0.7)
    halves = [(v[i, i] + v[j, j] - 2 * v[i, j]) / 2 for i, j in itertools.combinations(range(4), 2)]
    expected = score.var(ddof=1) / np.mean(halves)
    assert _separation([(score, v)]) == pytest.approx(expected)


def test_standard_error_is_that_of_the_mean_over_humans() -> None:
    trials = al.load_example().select(condition="noise")
    correct = trials.data["correct"].values == 1
    people = trials.data["kind"].values == "human"
    score, _ = _part(correct[people], correct[~people])
    scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0).summary(generalize_to="images")
    own = scores.set_index("system").loc[[f"model_{k}" for k in range(1, 7)]]
    np.testing.assert_allclose(score, own["estimate"])


@pytest.mark.slow
def test_informative_conditions_come_first() -> None:
    chosen = choose_conditions(study(), n_splits=10, rng=1)
    assert set(chosen["condition"].iloc[:2]) == {"all:c0", "all:c1"}
    two = chosen.set_index("n").loc[2]
    assert two["gain"] > 0
    assert two["gain_lb"] > 0


def test_splits_without_errors_are_undefined() -> None:
    """Undefined values are NaN, without a warning."""
    rng = np.random.default_rng(1)
    correct = (rng.random((6, 60)) < 0.7).astype(int)
    correct[:2, :30] = 1
    correct[2:4, :30] = 1
    trials = al.Trials.from_correct(
        correct, kind=["human"] * 2 + ["model"] * 4, condition=["a"] * 30 + ["b"] * 30
    )
    found = choose_conditions(trials, n_splits=4, rng=1)
    assert np.isnan(found["held_out"].iloc[-1])
    assert np.isnan(found["gain_lb"].iloc[-1])
