"""Invariance to the order of rows, names, additional observers, and types of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import study_data as w
from hypothesis import given, settings
from hypothesis import strategies as st

import alikely as al

COLUMNS = ["condition", "observer_a", "observer_b", "n_trials", "estimate", "se"]
few = settings(max_examples=12)
seeds = st.integers(0, 2**32 - 1)
names = st.text(
    st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8
).filter(lambda name: name not in {*w.table()["observer"], "nan"})  # fmt: skip


def rows(table: pd.DataFrame, pairs: object = "human-model", **how: object) -> pd.DataFrame:
    trials = al.Trials.from_table(table)
    result = al.error_consistency(trials, pairs, n_resamples=0, n_draws=0, **how)
    return result.summary()[COLUMNS].sort_values(COLUMNS[:3], ignore_index=True)


PLAIN = rows(w.table())


@few
@given(seeds)
def test_order_of_rows(seed: int) -> None:
    shuffled = w.table().sample(frac=1, random_state=seed)
    pd.testing.assert_frame_equal(rows(shuffled), PLAIN)


@pytest.mark.slow
@few
@given(names)
def test_names_do_not_matter(name: str) -> None:
    found = rows(w.renamed("observer", net_b=name))
    back = found.replace({"observer_b": {name: "net_b"}}).sort_values(COLUMNS[:3])
    pd.testing.assert_frame_equal(back.reset_index(drop=True), PLAIN)


@pytest.mark.slow
@few
@given(seeds, st.integers(1, 24))
def test_additional_observers_change_nothing(seed: int, n_items: int) -> None:
    """An additional observer with any part of the items does not change other pairs."""
    own = w.table().query("observer == 'anna'").sample(frac=n_items / 24, random_state=seed)
    guest = own.assign(observer="guest", response=own["response"].iloc[::-1].to_numpy())
    found = rows(pd.concat([w.table(), guest], ignore_index=True))
    there = found["observer_a"].ne("guest") & found["observer_b"].ne("guest")
    pd.testing.assert_frame_equal(found[there].reset_index(drop=True), PLAIN)


@pytest.mark.slow
@few
@given(seeds)
def test_a_condition_is_the_sum_of_its_parts(seed: int) -> None:
    half = pd.Series(
        np.random.default_rng(seed).random(24) < 0.5, [f"img{i:02d}" for i in range(24)]
    )
    part = w.table()["item"].map(half).map({True: "one", False: "two"})
    split = w.table(dataset="all", condition=w.table()["condition"] + ": " + part)
    split["item"] = w.table()["condition"] + w.table()["item"]
    whole = w.table(item=w.table()["condition"] + w.table()["item"])
    pd.testing.assert_frame_equal(rows(split, by=None), rows(whole, by=None))
    counts = rows(split).groupby(["observer_a", "observer_b"])["n_trials"].sum()
    assert (counts == 48).all()


@pytest.mark.parametrize("kind", ["category", "string", object])
def test_types_of_labels(kind: object) -> None:
    pd.testing.assert_frame_equal(rows(w.table().astype(kind)), PLAIN)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.float64, "Int64", str])
def test_types_of_numbers(kind: object) -> None:
    code = {"bear": 0, "car": 1, "dog": 2}
    table = w.table(
        item=w.table()["item"].str[3:].astype(int).astype(kind),
        truth=w.table()["truth"].map(code).astype(kind),
        response=w.table()["response"].map(code).astype(kind),
    )
    pd.testing.assert_frame_equal(rows(table), PLAIN)
