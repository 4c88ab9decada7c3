"""Confusion matrices: counts against pandas, bad input."""

from __future__ import annotations

import numpy as np

import alikely as al
from alikely.estimates import confusion_matrices


def test_confusions_count_every_answer() -> None:
    trials = al.load_example()
    counts = confusion_matrices(trials)
    table = trials.to_table()
    own = table[table["observer"] == "human_2"]
    for (truth, response), part in own.groupby(["truth", own["response"].fillna("no response")]):
        cell = counts.sel(group="human_2", truth=truth, response=response)
        assert int(cell) == len(part)
    assert int(counts.sum()) == len(table)
    by_kind = confusion_matrices(trials, "kind").sel(group="human")
    people = [name for name in trials.observers if name.startswith("human")]
    np.testing.assert_array_equal(by_kind, counts.sel(group=people).sum("group"))
    named = confusion_matrices(trials, {"human_2": "ben"})
    np.testing.assert_array_equal(named.sel(group="ben"), counts.sel(group="human_2"))
