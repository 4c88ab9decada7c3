"""Decision margins from tables and from option probabilities, by hand in each layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import special

import alikely as al
from alikely.data.trials import Trials
from alikely.margins import decision_margins

CLASSES = ["cat", "dog", "car", "bus"]
GROUPS = {"cat": "animal", "dog": "animal", "car": "vehicle", "bus": "vehicle"}
KEYS = ["observer", "dataset", "condition", "item"]


def logits(n_observers: int = 3, n_items: int = 8, seed: int = 1) -> pd.DataFrame:
    """Long table of two conditions; items have the same names but other truths."""
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product(
        [[f"net_{i}" for i in range(n_observers)], ["clear", "noisy"], range(n_items), CLASSES],
        names=["observer", "condition", "item", "class"],
    )
    table = index.to_frame(index=False)
    shift = (table["condition"] == "noisy").to_numpy()
    table["truth"] = np.array(CLASSES)[(table["item"] + shift) % len(CLASSES)]
    table["logit"] = rng.normal(0, 3, len(table))
    return table


def by_hand(table: pd.DataFrame) -> list[float]:
    """Margins of observers and items, in a loop."""
    found = []
    for _, part in table.groupby(["observer", "condition", "item"], sort=False):
        right = part["class"] == part["truth"]
        found.append((part["logit"][right].iloc[0] - part["logit"][~right].max()) / np.sqrt(2))
    return found


def probabilities(table: pd.DataFrame) -> pd.DataFrame:
    p = special.softmax(table["logit"].to_numpy().reshape(-1, len(CLASSES)), axis=1)
    return table.drop(columns="logit").assign(probability=p.ravel())


def test_margins_by_hand() -> None:
    table = logits()
    found = decision_margins(table)
    assert found.columns.tolist() == [*KEYS, "margin"]
    np.testing.assert_array_equal(found["margin"], by_hand(table))
    first = table.drop_duplicates(["observer", "condition", "item"])
    assert found["observer"].tolist() == first["observer"].tolist()
    assert found["condition"].tolist() == first["condition"].tolist()
    assert found["item"].tolist() == first["item"].astype(str).tolist()
    assert set(found["dataset"]) == {"all"}


def test_probabilities_give_the_margins_of_their_logits() -> None:
    table = logits()
    found = decision_margins(probabilities(table))
    # The softmax constant cancels; a logarithm of 1e-8 has an error of 1e-15 times 20.
    np.testing.assert_allclose(found["margin"], by_hand(table), rtol=0, atol=1e-12)


def test_margins_are_unchanged() -> None:
    table = pd.DataFrame({"observer": list("bba"), "item": [2, 1, 2], "margin": [0.5, -3.0, 0.0]})
    found = decision_margins(table)
    assert found.to_dict("list") == {
        "observer": ["b", "b", "a"],
        "dataset": ["all"] * 3,
        "condition": ["all"] * 3,
        "item": ["2", "1", "2"],
        "margin": [0.5, -3.0, 0.0],
    }
    # They need neither truth nor trials; integers are valid.
    pd.testing.assert_frame_equal(
        decision_margins(table.assign(margin=[1, 2, 3])), found.assign(margin=[1.0, 2.0, 3.0])
    )


def test_tables_of_other_libraries_and_files(tmp_path: Path) -> None:
    table = logits()
    table.to_csv(tmp_path / "scores.csv.gz", index=False)
    texts = pl.from_pandas(table.assign(logit=table["logit"].map(repr)))
    for given in (pa.Table.from_pandas(table), texts, str(tmp_path / "scores.csv.gz")):
        found = decision_margins(given)
        pd.testing.assert_frame_equal(found, decision_margins(table), check_exact=True)


def test_columns_of_other_names() -> None:
    table = logits().assign(dataset="set")
    names = {
        "observer": "network", "item": "picture", "truth": "target", "class": "category",
        "logit": "score", "condition": "level", "dataset": "study",
    }  # fmt: skip
    renamed = table.rename(columns=names)
    assert "class" not in renamed
    found = decision_margins(renamed, columns=names)
    pd.testing.assert_frame_equal(found, decision_margins(table))
    assert set(found["dataset"]) == {"set"}


@pytest.mark.parametrize("how", ["mean", "mean_probability"])
@pytest.mark.parametrize("fine_truth", [False, True])
def test_coarse_categories(how: Literal["mean", "mean_probability"], fine_truth: bool) -> None:
    table = logits()
    scores = table["logit"].to_numpy().reshape(-1, 2, 2)
    reduced = {
        "mean": scores.mean(axis=2),
        "mean_probability": np.log(np.exp(scores).mean(axis=2)),
    }[how]
    sign = np.where(table["truth"][::4].map(GROUPS) == "animal", 1, -1)
    expected = sign * (reduced[:, 0] - reduced[:, 1]) / np.sqrt(2)
    coarse_table = table if fine_truth else table.assign(truth=table["truth"].map(GROUPS))
    found = decision_margins(coarse_table, coarse=GROUPS, how=how)
    np.testing.assert_allclose(found["margin"], expected, atol=1e-12)
    found = decision_margins(probabilities(coarse_table), coarse=GROUPS, how=how)
    np.testing.assert_allclose(found["margin"], expected, atol=1e-12)


def test_probabilities_of_0_add_to_others_of_their_category() -> None:
    table = probabilities(logits(1, 4))
    p = np.tile([0.7, 0, 0, 0.3], (8, 1))
    zeros = table.assign(probability=p.ravel(), truth=table["truth"].map(GROUPS))
    sign = np.where(zeros["truth"][::4] == "animal", 1, -1)
    found = decision_margins(zeros, coarse=GROUPS, how="mean_probability")
    np.testing.assert_allclose(found["margin"], sign * np.log(7 / 3) / np.sqrt(2))
    with pytest.raises(ValueError, match=r"a probability of .* item '0' is 0"):
        decision_margins(zeros, coarse=GROUPS)
    p[3] = [1, 0, 0, 0]
    none = zeros.assign(probability=p.ravel())
    with pytest.raises(ValueError, match=r"all probabilities of a category of .*'3' are 0"):
        decision_margins(none, coarse=GROUPS, how="mean_probability")


def test_incomplete_classes_are_noted() -> None:
    table = logits(2, 8).query("condition == 'clear'")
    table.loc[(table["observer"] == "net_1") & (table["class"] == "dog"), "logit"] = 0
    table["truth"] = "car"
    some = {"cat": "animal", "dog": "animal", "car": "vehicle"}
    notes = decision_margins(table, coarse=some, unmapped="ignore").groupby("observer")["note"]
    left = "1 of 4 classes without a category left out"
    same = "same score for all items in 1 classes, the first is 'dog'"
    assert notes.unique().map(list).tolist() == [[left], [f"{left}; {same}"]]


def test_a_name_of_both_kinds_is_the_category() -> None:
    table = logits(1, 4).query("condition == 'clear'").assign(truth="dog")
    # A category called dog, to which the class dog does not belong.
    coarse = {"cat": "dog", "dog": "pet", "car": "pet", "bus": "pet", "tram": "dog"}
    scores = table["logit"].to_numpy().reshape(-1, 4)
    expected = (scores[:, 0] - scores[:, 1:].mean(axis=1)) / np.sqrt(2)
    np.testing.assert_allclose(decision_margins(table, coarse=coarse)["margin"], expected)
    # A true class without scores still belongs to its category.
    tram = decision_margins(table.assign(truth="tram"), coarse=coarse)
    np.testing.assert_allclose(tram["margin"], expected)


def answers(table: pd.DataFrame) -> Trials:
    """Trials of a human, with the truths of the table and an additional item."""
    human = table.drop_duplicates(["condition", "item"]).assign(observer="human")
    human = pd.concat([human, human.iloc[:1].assign(item=99)])
    return Trials.from_table(human.assign(response=human["truth"])[::-1])


def test_truth_from_trials() -> None:
    table = logits()
    found = decision_margins(table.drop(columns="truth"), trials=answers(table))
    pd.testing.assert_frame_equal(found, decision_margins(table))
    # A truth column takes precedence.
    wrong = answers(table.assign(truth="bus"))
    pd.testing.assert_frame_equal(decision_margins(table, trials=wrong), found)


def test_trials_without_the_truth() -> None:
    table = logits()
    bare = table.drop(columns="truth")
    few = table.query("item < 7 or condition == 'clear'")
    message = (
        "trials have no dataset 'all', condition 'noisy', item '7', but for instance dataset 'all'"
    )
    with pytest.raises(ValueError, match=message):
        decision_margins(bare, trials=answers(few))
    twice = pd.DataFrame(
        {"observer": "a", "item": 1, "truth": ["cat", "dog"], "response": "cat", "repeat": [0, 1]}
    )
    with pytest.raises(ValueError, match="item '1' has two truths in trials; add a column 'truth'"):
        decision_margins(bare, trials=Trials.from_table(twice))
    with pytest.raises(ValueError, match="these trials contain correctness only"):
        decision_margins(bare, trials=Trials.from_correct([[1, 0], [1, 1]]))
    # The same truth in each repeat is one truth.
    again = pd.concat([answers(table).to_table().assign(repeat=i) for i in range(2)])
    pd.testing.assert_frame_equal(
        decision_margins(bare, trials=Trials.from_table(again)), decision_margins(table)
    )


def _trials(p: Any, n_options: Any = "classes") -> al.Trials:
    letters = np.array(list("ABCD"))
    truth = letters[np.random.default_rng(2).integers(0, 2, p.shape[1])]
    answers = letters[np.nan_to_num(p, nan=0.0).argmax(axis=2)]
    trials = al.Trials.from_arrays(answers, truth, classes=list("ABCD"))
    return trials.with_options(n_options).with_probabilities(p)


@pytest.fixture
def p() -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.dirichlet(np.ones(4), (3, 60)) + rng.dirichlet(np.ones(4), 60)


def test_probabilities_in_trials_equal_a_table(p: np.ndarray) -> None:
    trials = _trials(p / 2)
    data = trials.data
    rows = data["probability"].to_series().rename("probability").reset_index()
    rows["item"] = data["item"].values[rows["trial"]]
    table = rows[["observer", "item", "class", "probability"]]
    bare = al.Trials(data.drop_vars("probability"))
    expected = decision_margins(table.assign(dataset="all", condition="all"), trials=bare)
    found = decision_margins(trials)
    pd.testing.assert_frame_equal(
        found.sort_values(KEYS, ignore_index=True),
        expected[[*KEYS, "margin"]].sort_values(KEYS, ignore_index=True),
        check_dtype=False,
    )
    few: dict[str, Any] = {"n_resamples": 20, "n_draws": 0, "rng": 1}
    table = al.decision_margin_consistency(trials, trials, **few).summary()
    by_hand = found.pivot(index="item", columns="observer", values="margin").corr()
    assert len(table) == 3
    for _, row in table.iterrows():
        assert row["estimate"] == pytest.approx(by_hand.loc[row["observer_a"], row["observer_b"]])


def test_missing_options_and_probabilities(p: np.ndarray, tmp_path: Path) -> None:
    p = p / 2
    n_options = np.where(np.arange(60) % 2, 4, 3)
    p[:, n_options == 3, 3] = 0
    p /= p.sum(axis=2, keepdims=True)
    p[0, :5] = np.nan
    np.save(tmp_path / "p.npy", p)
    trials = _trials(np.load(tmp_path / "p.npy", mmap_mode="r"), n_options)
    found = decision_margins(trials)
    assert (found["observer"] == "observer_0").sum() == 55
    assert len(found) == 175
    right = trials.data["correct"].values[~np.isnan(p).any(axis=2)]
    np.testing.assert_array_equal(found["margin"] > 0, right == 1)
