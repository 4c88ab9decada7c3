"""Options of questions and their probabilities in trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al

CLASSES = list("ABC")


def trials() -> al.Trials:
    """Two models and three questions, the last of which only one model answered."""
    response = np.ma.masked_array([["A", "B", "B"], ["B", "B", "A"]], [[0, 0, 0], [0, 0, 1]])
    return al.Trials.from_arrays(
        response, ["A", "B", "C"], observers=["x", "y"], item=["q1", "q2", "q3"], classes=CLASSES
    )


P = np.array(
    [
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.5, 0.3]],
        [[0.3, 0.6, 0.1], [0.2, 0.5, 0.3], [np.nan] * 3],
    ]
)


def table(values: Any = P, name: str = "probability") -> pd.DataFrame:
    """The same data as a long table, with questions and options in another order."""
    at = [(i, t, k) for t in (2, 0, 1) for i in (1, 0) for k in (2, 0, 1)]
    rows = [
        {"observer": "xy"[i], "item": f"q{t + 1}", "option": CLASSES[k], name: values[i, t, k]}
        for i, t, k in at
        if not np.isnan(values[i, t, k])
    ]
    return pd.DataFrame(rows)


def test_arrays_and_tables_are_equivalent() -> None:
    of_array = trials().with_probabilities(P).data
    of_table = trials().with_probabilities(table()).data
    np.testing.assert_array_equal(of_array["probability"], P)
    np.testing.assert_array_equal(of_table["probability"], P)
    assert of_table["n_options"].values.tolist() == [3, 3, 3]
    assert of_array["probability"].dims == ("observer", "trial", "class")


def test_logits_are_converted_to_probabilities() -> None:
    logits = np.log(P) + 3.0
    found = trials().with_probabilities(logits, scale="logits").data["probability"]
    np.testing.assert_allclose(found, P, atol=1e-15)
    found = trials().with_probabilities(table(logits, "logit"), scale="logits").data["probability"]
    np.testing.assert_allclose(found, P, atol=1e-15)


def test_questions_with_fewer_options() -> None:
    two = P.copy()
    two[:, 1] = [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]
    given = trials().with_options([3, 2, 3])
    found = given.with_probabilities(two).data
    assert found["n_options"].values.tolist() == [3, 2, 3]
    rows = table(two)
    rows = rows[(rows["item"] != "q2") | (rows["option"] != "C")]
    of_table = trials().with_probabilities(rows).data
    np.testing.assert_array_equal(of_table["probability"], two)
    assert of_table["n_options"].values.tolist() == [3, 2, 3]
    with np.errstate(divide="ignore"):
        logits = np.log(two)
    of_logits = given.with_probabilities(logits, scale="logits").data
    np.testing.assert_allclose(of_logits["probability"], two, atol=1e-15)


def test_notes_on_responses_and_probabilities() -> None:
    """All responses are the likeliest options, such as B for the third question of x."""
    assert trials().with_probabilities(P).notes == []
    other = P[:, :, [1, 0, 2]]
    assert trials().with_probabilities(other).notes == [
        "5 of 5 answers are not the likeliest option"
    ]
    gone = P.copy()
    gone[0, 0] = np.nan
    assert trials().with_probabilities(gone).notes == ["1 of 5 trials shown have no probabilities"]


def test_probabilities_stay_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", P.astype(np.float32))
    on_disk = np.load(tmp_path / "p.npy", mmap_mode="r")
    found = trials().with_probabilities(on_disk)
    assert np.shares_memory(found.data["probability"].values, on_disk)
    assert found.data["probability"].dtype == np.float32


def test_selected_trials_have_their_probabilities() -> None:
    part = trials().with_probabilities(P).select(observer="x")
    np.testing.assert_array_equal(part.data["probability"], P[:1])
    assert part.data["n_options"].values.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("n_options", "message"),
    [
        ([3, 1, 3], "question 1 has one option"),
        (4, "question 0 has 4 options, but there are 3 classes"),
        ([3, 3, 2], "the correct option of question 2 is 2"),
        ([3, 3], "n_options must be 3 whole numbers"),
        ("all", "or 'classes', got 'all'"),
        (2.5, "n_options must be whole numbers"),
    ],
)
def test_bad_numbers_of_options(n_options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trials().with_options(n_options)


FEW = P.copy()
FEW[0, 0, 0] = np.nan
BELOW = P.copy()
BELOW[0, 0] = [1.2, -0.2, 0]
STRAY = np.where(np.isnan(P), 1 / 3, P)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (P[..., :2], {}, r"shape \(observer, trial, class\) = \(2, 3, 3\), classes in the order"),
        (FEW, {}, "for question 0 include NaN"),
        (STRAY, {}, "item 'q3' of observer 'y' was not shown but has probabilities"),
        (P, {"scale": "odds"}, "scale must be one of 'probabilities', 'logits'; got 'odds'"),
        (FEW, {"scale": "logits"}, "item 'q1' of observer 'x' has no logit of option 'A'"),
    ],
)
def test_bad_arrays(values: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trials().with_probabilities(values, **options)
    with pytest.raises(ValueError, match="question 1 has 2 options but a logit for another"):
        trials().with_options([3, 2, 3]).with_probabilities(np.zeros((2, 3, 3)), scale="logits")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace({"option": {"C": "D"}}), "'D' .* is not among the 3 classes"),
        (lambda t: t.replace({"item": {"q3": "q9"}}), "no trial of item 'q9'"),
        (lambda t: t.drop(index=t.index[-1]), "item 'q2' of observer 'x' has no probability of"),
        (lambda t: t[t["option"] == "A"], "'B', which is not one of the options in the table: A"),
        (lambda t: t.assign(probability=0.3), "sum to 0.9, not to 1"),
    ],
)
def test_bad_tables(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trials().with_probabilities(change(table()))


@pytest.mark.parametrize(("name", "labels"), [("condition", ["c", "d"]), ("repeat", [0, 1])])
def test_tables_must_identify_trials(name: Any, labels: list[Any]) -> None:
    twice = al.Trials.from_arrays(
        [["A", "B"]], ["A", "B"], item=["q", "q"], observers=["x"], **{name: labels}
    )
    rows = pd.DataFrame(
        {"observer": "x", "item": "q", name: np.repeat(labels, 2), "option": list("ABAB"),
         "probability": [0.9, 0.1, 0.4, 0.6]}
    )  # fmt: skip
    found = twice.with_probabilities(rows).data["probability"].values
    np.testing.assert_array_equal(found, [[[0.9, 0.1], [0.4, 0.6]]])
    with pytest.raises(ValueError, match=r"item do not identify trials; .* dataset, condition"):
        twice.with_probabilities(rows.drop(columns=name))
    with pytest.raises(ValueError, match=rf"no trial of item 'q', {name} '5' \(row 0\)"):
        twice.with_probabilities(rows.assign(**{name: "5"}))
