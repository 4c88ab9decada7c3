"""Margins from the probabilities of options that trials carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.margins import decision_margins

KEYS = ["observer", "dataset", "condition", "item"]


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


def test_they_are_those_of_a_table(p: np.ndarray) -> None:
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


def test_options_that_a_question_lacks_and_answers_without_any(
    p: np.ndarray, tmp_path: Path
) -> None:
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
