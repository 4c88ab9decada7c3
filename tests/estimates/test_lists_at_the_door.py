"""Designs as collected, from trials to one call: lists, repeats of some items, missing answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al

# 45 people, two lists of 80 images, each seen twice, accuracy about .80.
SEED = {"n_lists": 2, "strength_mean": 3.85, "strength_sd": 1.9, "stable_sd": 1.25}
RHO = {"near": 0.9, "far": 0.4}


def analyzed(trials: al.Trials, margins: pd.DataFrame, **options: Any) -> pd.DataFrame:
    given = {"n_resamples": 0, "rng": 1, **options}
    result = al.decision_margin_consistency(trials, margins, **given)
    return result.summary().query("observer_a == 'human'").set_index("observer_b")


@pytest.mark.slow
def test_two_lists_are_analysed_with_one_call() -> None:
    trials, margins = al.simulate.detection_experiment(rho=RHO, rng=4, **SEED)
    result = al.decision_margin_consistency(trials, margins, n_resamples=200, rng=1)
    table = result.summary(columns="all").query("observer_a == 'human'").set_index("observer_b")
    for name in RHO:
        row = table.loc[name]
        assert row["n_trials"] == 160
        assert row["posterior_eti95_lb"] < row["posterior_median"] < row["posterior_eti95_ub"]
        assert row["r_within_class_lb"] < row["r_within_class"] < row["r_within_class_ub"]
        assert row["ceiling"] == pytest.approx(np.sqrt(row["reliability"]))
        assert row["estimate"] < row["ceiling"]
        assert row["disattenuated"] == pytest.approx(row["estimate"] / row["ceiling"])
    ceilings = result.data["ceilings"]
    assert ceilings["undefined"].item() == ""
    assert ceilings["lower"].item() < ceilings["reliability"].item() < ceilings["upper"].item()
    assert 0.8 < ceilings["reliability"].item() < 0.99
    gap = al.difference(result, {"observer_b": "near"}, {"observer_b": "far"})
    assert gap.loc["posterior", "eti95_lb"] > 0


def cut(trials: al.Trials, keep: Callable[[pd.DataFrame], Any]) -> al.Trials:
    frame = trials.to_table()
    return al.Trials.from_table(frame[keep(frame)])


def test_repeats_of_some_items_and_missing_answers_have_a_ceiling_and_a_note() -> None:
    trials, margins = al.simulate.detection_experiment(8, 60, 2, rho=RHO, rng=6)
    some = cut(trials, lambda t: (t["repeat"] == 0) | t["item"].isin(["item_1", "item_2"]))
    row = analyzed(some, margins).loc["near"]
    assert "unbalanced repeats (1 to 2)" in row["note"]
    assert 0 < row["reliability"] < 1


@pytest.fixture(scope="module")
def small() -> tuple[al.Trials, pd.DataFrame]:
    return al.simulate.detection_experiment(6, 40, 2, rho=RHO, rng=1, n_alternatives=8)


def first_items(n: int) -> list[str]:
    return [f"item_{i + 1}" for i in range(n)]


def test_systems_that_share_no_item_are_refused(small: tuple[al.Trials, pd.DataFrame]) -> None:
    trials, margins = small
    message = "'human' and 'near' have no item in common, though both have some of data set 'all'"
    with pytest.raises(ValueError, match=message) as caught:
        analyzed(trials, margins.assign(item="x" + margins["item"]))
    assert "\n" not in str(caught.value)
    # Two groups of people, of which each saw the other half; a model has all.
    frame = trials.to_table()
    one = frame["observer"].isin(["human_1", "human_2", "human_3"])
    frame["lab"] = np.where(one, "east", "west")
    half = frame["item"].isin(first_items(20))
    apart = al.Trials.from_table(frame[one == half], labels=["lab"])
    with pytest.raises(ValueError, match=r"'east' and 'west' have no item .* pairs=\[\(a, b\)"):
        analyzed(apart, margins, group="lab")
    result = al.decision_margin_consistency(
        apart, margins, [("east", "near"), ("west", "near")], group="lab", n_resamples=0, rng=1
    )
    assert result.summary()["n_trials"].tolist() == [20, 20]
