"""Cue bias, and items that are easy for one group: by hand, shuffling, coverage, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

import alikely as al
from alikely.papers import cue_bias, item_contrast

CLASSES = ["bird", "car", "cat", "dog"]


def some(n: int = 60, seed: int = 0) -> al.Trials:
    """Two humans with shape bias and three models with texture bias."""
    rng = np.random.default_rng(seed)
    shape, texture = rng.integers(0, 4, (2, n))
    rate = np.array([0.1, 0.2, 0.7, 0.8, 0.9])[:, None]
    said = np.where(rng.random((5, n)) < rate, texture, shape)
    said = np.where(rng.random((5, n)) < 0.2, rng.integers(0, 4, (5, n)), said)
    names = np.array(CLASSES, object)
    pairs = list(enumerate(zip(shape, texture, strict=True)))
    response = names[said]
    response[0, 0] = None
    return al.Trials.from_arrays(
        response,
        names[shape],
        classes=CLASSES,
        item=[f"{CLASSES[s]}{i}-{CLASSES[t]}{i}" for i, (s, t) in pairs],
        observers=["anna", "ben", "a", "b", "c"],
        kind=["human"] * 2 + ["model"] * 3,
    )


def test_proportions_by_hand() -> None:
    trials = some()
    table = trials.to_table()
    named = table["item"].str.extract(r"^([a-z]+)\d+-([a-z]+)\d+$")
    table["texture"] = named[1]
    table = table[table["texture"] != table["truth"]]
    summary = cue_bias(trials, n_resamples=50, intervals="all", rng=1).set_index("observer")
    for name, own in table.groupby("observer"):
        follows = (own["response"] == own["texture"]).sum()
        either = follows + (own["response"] == own["truth"]).sum()
        row = summary.loc[name]
        assert (row["estimate"], row["n_decisions"]) == (follows / either, either)
        assert (row["n_items"], row["decided"]) == (len(own), either / len(own))


def test_intervals_have_closed_forms() -> None:
    row = cue_bias(some(), n_resamples=20_000, intervals="all", rng=1).iloc[2]
    n, k = int(row["n_decisions"]), round(row["estimate"] * row["n_decisions"])
    wilson = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (row["analytic_ci95_lb"], row["analytic_ci95_ub"]) == pytest.approx(tuple(wilson))
    beta = stats.beta(k + 0.5, n - k + 0.5)
    for tail, bound in ((0.025, "lb"), (0.975, "ub")):
        expected = beta.ppf(tail)
        error = np.sqrt(0.025 * 0.975 / 20_000) / beta.pdf(expected)
        assert row[f"posterior_eti95_{bound}"] == pytest.approx(expected, abs=4 * error)
    # Resampled items: a ratio of sums, with approximately binomial spread given the decisions.
    se = np.sqrt(row["estimate"] * (1 - row["estimate"]) / n)
    width = row["bootstrap_eti95_ub"] - row["bootstrap_eti95_lb"]
    assert width == pytest.approx(2 * 1.96 * se, rel=0.15)


@pytest.mark.slow
def test_intervals_cover(sets: Callable[..., int]) -> None:
    """Coverage for observers with different bias, and items with different cue strength."""
    n_sets, n_items = sets(400, 200), 80
    rng = np.random.default_rng(1)
    one: dict[str, int] = dict.fromkeys(("analytic_ci95", "bootstrap_eti95", "posterior_eti95"), 0)
    grid, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / weight.sum()
    for seed in range(n_sets):
        own = -1.5 + 0.7 * rng.normal()
        texture = rng.random(n_items) < special.expit(own + 0.8 * rng.normal(size=n_items))
        decided = rng.random(n_items) < 0.8
        said = np.where(decided, np.where(texture, "dog", "cat"), "car")
        trials = al.Trials.from_arrays(
            [said, said], ["cat"] * n_items, classes=CLASSES, observers=["a", "b"],
            item=[f"cat{i}-dog{i}" for i in range(n_items)],
        )  # fmt: skip
        first = cue_bias(trials, n_resamples=400, intervals="all", rng=seed).iloc[0]
        true = float(special.expit(own + 0.8 * grid) @ weight)
        for name in one:
            one[name] += int(first[f"{name}_lb"] <= true <= first[f"{name}_ub"])
    alone = {name.split("_")[0]: count / n_sets for name, count in one.items()}
    least = stats.binom.ppf(1e-4, n_sets, 0.95) / n_sets
    assert alone["analytic"] >= least
    assert alone["posterior"] >= least
    # Percentile intervals of 80 items are slightly too narrow.
    assert alone["bootstrap"] >= stats.binom.ppf(1e-4, n_sets, 0.92) / n_sets


def test_items_by_hand() -> None:
    correct = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 1]])
    trials = al.Trials.from_correct(
        correct, kind=["human"] * 2 + ["model"] * 3, item=["p", "q", "r", "s"]
    )
    items, counts = item_contrast(trials)
    table = items.set_index("item")
    assert items["item"].iloc[0] == "p"
    assert table.loc["p", ["accuracy_a", "accuracy_b", "n_a", "n_b"]].tolist() == [
        1, 0, 2, 3,
    ]  # fmt: skip
    assert table.loc["p", "p_value"] == pytest.approx(stats.fisher_exact([[2, 0], [0, 3]]).pvalue)
    human, model = counts.to_dict("records")
    # Two of four items are easy for humans, one is hard for models.
    assert (human["observed"], human["expected"]) == (1, 2 * 1 / 4)
    assert human["p_more"] == pytest.approx(0.5)
    assert (model["observed"], model["expected"]) == (1, 2 * 1 / 4)
    assert human["p_fewer"] == 1


def test_chance_agrees_with_shuffled_items() -> None:
    trials = al.load_example().select(condition=["blur", "noise"])
    _, counts = item_contrast(trials, easy=0.75, hard=0.5)
    correct = trials.data["correct"].values == 1
    people = trials.data["kind"].values == "human"
    a, b = correct[people].mean(axis=0), correct[~people].mean(axis=0)
    place = trials.data["condition"].values
    rng, found = np.random.default_rng(1), []
    for _ in range(2_000):
        order = np.arange(len(b))
        for name in ("blur", "noise"):
            here = np.flatnonzero(place == name)
            order[here] = rng.permutation(here)
        found.append(((a >= 0.75) & (b[order] <= 0.5)).sum())
    row = counts.iloc[0]
    assert row["observed"] == ((a >= 0.75) & (b <= 0.5)).sum()
    error = np.std(found) / np.sqrt(2_000)
    assert row["expected"] == pytest.approx(np.mean(found), abs=4 * error)
    share = np.mean(np.array(found) <= row["observed"])
    assert row["p_fewer"] == pytest.approx(share, abs=4 * np.sqrt(0.25 / 2_000))
    inside = np.mean((found >= row["chance_lb"]) & (found <= row["chance_ub"]))
    assert inside > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 2_000)
