"""Items easy for one group alone: by hand, by shuffling, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import alikely as al
from alikely.papers import item_contrast


def test_items_by_hand() -> None:
    correct = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 1]])
    trials = al.Trials.from_correct(
        correct, kind=["human"] * 2 + ["model"] * 3, item=["p", "q", "r", "s"]
    )
    items, counts = item_contrast(trials)
    table = items.set_index("item")
    assert items["item"].iloc[0] == "p"
    assert table.loc["p", ["accuracy_one", "accuracy_other", "n_one", "n_other"]].tolist() == [
        1, 0, 2, 3,
    ]  # fmt: skip
    assert table.loc["p", "p_value"] == pytest.approx(stats.fisher_exact([[2, 0], [0, 3]]).pvalue)
    human, model = counts.to_dict("records")
    # Two items are easy for people, one is hard for machines, of four.
    assert (human["observed"], human["expected"]) == (1, 2 * 1 / 4)
    assert human["p_more"] == pytest.approx(0.5)
    assert (model["observed"], model["expected"]) == (1, 2 * 1 / 4)
    assert human["p_fewer"] == 1


def test_chance_is_that_of_shuffled_items() -> None:
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


def test_bad_input() -> None:
    trials = al.load_example()
    with pytest.raises(ValueError, match=r"0 <= hard < easy <= 1, got hard=0\.8 and easy"):
        item_contrast(trials, easy=0.5, hard=0.8)
    with pytest.raises(ValueError, match="no group 'robot' of observers; there are: human, model"):
        item_contrast(trials, "robot")
    with pytest.raises(ValueError, match="must be two groups, got 'human' twice"):
        item_contrast(trials, "human", "human")
    with pytest.raises(TypeError, match="trials must be Trials, got int"):
        item_contrast(1)  # type: ignore[arg-type]
