"""Trials: alignment, labels, missing responses, selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markup import page

from alikely.data.trials import NO_RESPONSE, NOT_SHOWN, Trials


def small(**changes: Any) -> pd.DataFrame:
    columns = {
        "observer": ["h1", "h1", "h1", "m1", "m1"],
        "item": ["x", "y", "z", "y", "x"],
        "truth": ["cat", "dog", "cat", "dog", "cat"],
        "response": ["cat", "cat", None, "dog", "dog"],
        "kind": ["human", "human", "human", "model", "model"],
    }
    return pd.DataFrame({**columns, **changes})


def by_label(trials: Trials) -> dict[tuple[str, ...], int]:
    data = trials.data
    keys = list(zip(*(data[k].values for k in ("dataset", "condition", "item")), strict=True))
    return {
        (observer, *key): int(value)
        for observer, row in zip(trials.observers, data["correct"].values, strict=True)
        for key, value in zip(keys, row, strict=True)
    }


def test_alignment_and_the_two_kinds_of_missing() -> None:
    trials = Trials.from_table(small())
    aligned = by_label(trials)
    assert aligned["h1", "all", "all", "x"] == 1
    assert aligned["h1", "all", "all", "y"] == 0
    assert aligned["h1", "all", "all", "z"] == NO_RESPONSE
    assert aligned["m1", "all", "all", "z"] == NOT_SHOWN
    assert aligned["m1", "all", "all", "x"] == 0
    assert aligned["m1", "all", "all", "y"] == 1
    assert trials.classes == ["cat", "dog"]
    assert trials.data["kind"].values.tolist() == ["human", "model"]


def test_numeric_labels_become_text_in_any_format() -> None:
    whole = small(truth=[3, 10, 3, 10, 3], response=[3.0, 3.0, np.nan, 10.0, 10.0])
    trials = Trials.from_table(whole)
    assert trials.classes == ["3", "10"]
    assert by_label(trials) == by_label(Trials.from_table(small()))


def test_conditions_belong_to_data_sets_and_groups_are_contiguous() -> None:
    table = pd.DataFrame(
        {
            "observer": ["a"] * 4 + ["b"] * 4,
            "item": ["x", "x", "y", "y"] * 2,
            "dataset": ["one", "two", "one", "two"] * 2,
            "condition": ["0"] * 8,
            "correct": [1, 0, 1, 0, 0, 1, 0, 1],
        }
    )
    trials = Trials.from_table(table)
    assert trials.data["dataset"].values.tolist() == ["one", "one", "two", "two"]
    assert not trials.has_classes
    with pytest.raises(ValueError, match="contain correctness only"):
        _ = trials.classes


def test_image_is_an_item_column_and_names_are_keywords() -> None:
    table = small().rename(columns={"item": "image", "observer": "subject", "truth": "category"})
    trials = Trials.from_table(table, observer="subject", truth="category")
    assert by_label(trials) == by_label(Trials.from_table(small()))


def test_table_round_trip() -> None:
    trials = Trials.from_table(small(family=["h", "h", "h", "net", "net"]), labels=["family"])
    again = Trials.from_table(trials.to_table(), labels=["family"])
    assert again.data.identical(trials.data)
    correct = Trials.from_correct([[1, 0, np.nan], [1, 1, 0]], kind=["human", "model"])
    assert Trials.from_table(correct.to_table()).data.identical(correct.data)


@pytest.mark.parametrize("dtype", ["?", "u1", "u8", "i1", "f2", "O", "U1"])
def test_correctness_of_any_type(dtype: str) -> None:
    correct = np.array([[1, 0, 1], [0, 0, 1]])
    hidden = np.ma.masked_array(correct.astype(dtype), mask=[[0, 0, 0], [0, 1, 0]])
    found = Trials.from_correct(hidden).data["correct"].values
    np.testing.assert_array_equal(found, [[1, 0, 1], [0, NOT_SHOWN, 1]])


def test_from_arrays_equals_from_table() -> None:
    masked = np.ma.masked_array(
        np.array([["cat", "cat", None], ["dog", "dog", "cat"]], dtype=object),
        mask=[[False, False, False], [False, False, True]],
    )
    trials = Trials.from_arrays(
        masked,
        ["cat", "dog", "cat"],
        observers=["h1", "m1"],
        item=["x", "y", "z"],
        kind=["human", "model"],
    )
    assert trials.data.drop_attrs().identical(Trials.from_table(small()).data.drop_attrs())


def test_from_arrays_concatenates_conditions() -> None:
    trials = Trials.from_correct([[1, 0, 1, 0]], condition=["u", "v", "u", "v"])
    assert trials.data["condition"].values.tolist() == ["u", "u", "v", "v"]
    assert trials.data["correct"].values.tolist() == [[1, 1, 0, 0]]


def test_select_drops_unseen_trials() -> None:
    trials = Trials.from_table(small())
    models = trials.select(kind="model")
    assert models.observers == ["m1"]
    assert models.n_trials == 2
    only = Trials.from_correct([[1, 0], [1, 1]], condition=[0.5, 2]).select(condition=[2])
    assert only.n_trials == 1


def test_summary_counts_missing_responses() -> None:
    summary = Trials.from_table(small()).summary().set_index("observer")
    assert summary.loc["h1", ["n_trials", "no_response", "not_shown"]].tolist() == [3, 1, 0]
    assert summary.loc["m1", ["n_trials", "no_response", "not_shown"]].tolist() == [2, 0, 1]
    assert summary.loc["h1", "accuracy"] == pytest.approx(1 / 3)


def test_real_data(shared_data: Path) -> None:
    trials = Trials.read(shared_data / "model_vs_human" / "trials.parquet")
    correct = trials.data["correct"].values
    # Counts published with the data.
    assert (correct != NOT_SHOWN).sum() == 447_680
    assert (correct == NO_RESPONSE).sum() == 597
    assert trials.n_trials == 18_080
    assert len(set(trials.data["dataset"].values)) == 17
    assert trials.data.nbytes < 300e6


@pytest.mark.parametrize("n", [2, 10, 300])
def test_html_of_trials_is_short(n: int) -> None:
    trials = Trials.from_correct(np.tile([1, 1, 1, 0], (n, 1)))
    html = trials._repr_html_()
    around, rows = page(html)
    assert repr(trials)[1:-1] in around
    assert rows[0] == ["observer", "kind", "trials", "accuracy", "no response", "not shown"]
    assert rows[1] == ["observer_0", "observer", "4", "0.750", "0", "0"]
    assert len(rows) == min(n, 10) + 1
    assert (f"... and {n - 10} more rows" in around) == (n > 10)
    assert len(html) < 8_000
