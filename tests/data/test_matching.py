"""Items of only one observer, or one kind of observers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alikely as al


def table(items, condition="c"):
    """Rows of observers by their items; every third response is incorrect."""
    rows = [
        (name, condition, item, int(item[-1] not in "369"))
        for name, own in items.items()
        for item in own
    ]
    return pd.DataFrame(rows, columns=["observer", "condition", "item", "correct"])


def named(*numbers, before="item_"):
    return [f"{before}{number}" for number in numbers]


FULL, PART = named(*range(10)), named(*range(4, 10))


def test_tables_in_memory_are_noted():
    trials = al.Trials.from_table(table({"a": FULL, "b": PART}))
    assert "items that no other observer has: 4 of 10 of 'a'" in str(trials)
    assert "no other observer" not in str(al.Trials.from_table(table({"a": FULL, "b": FULL})))


def test_kinds_with_some_common_items():
    rows = table({"h1": FULL, "h2": FULL, "m1": PART, "m2": PART})
    trials = al.Trials.from_table(rows.assign(kind=rows["observer"].str[0]))
    assert "items that no other kind has: 4 of 10 of 'h'" in str(trials)
    assert "no other observer" not in str(trials)


def test_names_that_differ_in_their_ending_are_named():
    rows = table({"a": FULL, "b": [*PART, *named(0, 1, 2, 3, before="stim/ITEM_")]})
    assert "'item_0' and 'stim/ITEM_0' may mean one item" in str(al.Trials.from_table(rows))


def test_fewer_than_half_in_common_needs_confirmation():
    rows = table({"a": named(*range(9)), "b": named(*range(6, 18))})
    with pytest.raises(ValueError, match=r"6 of 9 of 'a', 9 of 12 of 'b'.*unmatched='accept'"):
        al.Trials.read(rows)
    trials = al.Trials.read(rows, unmatched="accept")
    assert trials.n_trials == 18
    note = al.error_consistency(trials, n_resamples=0, n_draws=0).summary()["note"][0]
    assert "15 of 18 trials have a response from only one observer of the pair" in note


@pytest.mark.parametrize("metric", ["error_consistency", "MA", "kappa_p_discrete"])
def test_every_pair_has_its_count(metric):
    rng = np.random.default_rng(1)
    own = {"a": FULL, "b": PART, "c": FULL}
    rows = pd.concat([table(own, "one"), table(dict.fromkeys(own, FULL), "two")])
    rows["truth"] = rng.choice(list("xyz"), 10)[rows["item"].str[-1].astype(int)]
    rows["response"] = rng.choice(list("xyz"), len(rows))
    trials = al.Trials.from_table(rows.drop(columns="correct"))
    if metric == "kappa_p_discrete":
        trials = trials.with_options(3)
    result = al.compare(trials, metric, n_resamples=0, n_draws=0)
    told = result.summary().reset_index()
    unmatched = told["note"].str.extract(r"(\d+) of (\d+) trials have a response from only")
    pairs = told["observer_a"] + told["observer_b"] + told["condition"]
    found = dict(zip(pairs, unmatched.astype(float).fillna(0).values.tolist(), strict=True))
    assert found == {
        "abone": [4, 10], "bcone": [4, 10], "acone": [0, 0],
        "abtwo": [0, 0], "bctwo": [0, 0], "actwo": [0, 0],
    }  # fmt: skip
