"""Confusion matrices and divergences between conditions, by hand and by other counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import alikely as al
from alikely.data.trials import Trials
from alikely.errors.tables import condition_divergences
from alikely.metrics import errors

CLASSES = ["cat", "dog", "owl"]


def test_two_conditions_by_hand() -> None:
    """Two humans, one image of each class and condition, and one missing response."""
    trials = Trials.from_arrays(
        [["dog", "dog", "cat", "cat"], ["cat", "owl", None, "cat"], ["owl", "owl", "owl", "owl"]],
        ["cat", "dog", "cat", "dog"],
        classes=CLASSES,
        condition=["a", "a", "b", "b"],
        kind=["human", "human", "model"],
    )
    found = condition_divergences(trials)
    assert found["condition"].values.tolist() == ["all:a", "all:b"]
    assert found["n_errors"].values.tolist() == [2, 3]
    # Rows of cat and dog; the missing response is the fourth label.
    a = [[0, 1, 0, 0], [0, 0, 1, 0], [0] * 4, [0] * 4]
    b = [[0, 0, 0, 1], [2, 0, 0, 0], [0] * 4, [0] * 4]
    assert found["divergence"].values[0, 1] == pytest.approx(errors.error_divergence(a, b))
    p, q = np.array([1.5, 0.5, 0.5]) / 2.5, np.array([0.5, 0.5, 1.5]) / 2.5
    cat = distance.jensenshannon(p, q, 2) ** 2
    p, q = np.array([0.5, 1.5, 0.5]) / 2.5, np.array([2.5, 0.5, 0.5]) / 3.5
    dog = distance.jensenshannon(p, q, 2) ** 2
    assert found["divergence"].values[0, 1] == pytest.approx((2 * cat + 3 * dog) / 5)
    # The first condition has one error on a dog; of three errors, two have one label.
    p, q = np.array([1.5, 0.5, 0.5]) / 2.5, np.array([1.5, 1.5, 0.5]) / 3.5
    other = distance.jensenshannon(p, q, 2) ** 2
    expected = (2 * cat + dog + 2 * other) / 5
    assert found["expected"].values[0, 1] == pytest.approx(expected)
    dropped = condition_divergences(trials, no_response="drop")
    assert dropped["n_errors"].values.tolist() == [2, 2]
    three = [np.array(table)[:3, :3] for table in (a, b)]
    assert dropped["divergence"].values[0, 1] == pytest.approx(errors.error_divergence(*three))


def test_counts_agree_with_confusion_matrices() -> None:
    trials = al.load_example()
    found = condition_divergences(trials, kind="model")
    dense = []
    for name in found["condition"].values:
        of_condition = trials.select(condition=name.split(":")[1])
        counts = al.estimates.confusion_matrices(of_condition, "kind").sel(group="model").values
        assert not counts[:, -1].any()  # models always respond
        dense.append(counts[:, :-1] * (1 - np.eye(len(counts))))
    np.testing.assert_array_equal(found["n_errors"], np.sum(dense, axis=(1, 2)))
    for i, j in ((0, 1), (2, 0), (1, 2)):
        both = dense[i], dense[j]
        assert found["divergence"].values[i, j] == pytest.approx(errors.error_divergence(*both))


def test_confusions_count_every_response() -> None:
    trials = al.load_example()
    counts = al.estimates.confusion_matrices(trials)
    table = trials.to_table()
    own = table[table["observer"] == "human_2"]
    for (truth, response), part in own.groupby(["truth", own["response"].fillna("no response")]):
        cell = counts.sel(group="human_2", truth=truth, response=response)
        assert int(cell) == len(part)
    assert int(counts.sum()) == len(table)
    by_kind = al.estimates.confusion_matrices(trials, "kind").sel(group="human")
    people = [name for name in trials.observers if name.startswith("human")]
    np.testing.assert_array_equal(by_kind, counts.sel(group=people).sum("group"))
    named = al.estimates.confusion_matrices(trials, {"human_2": "ben"})
    np.testing.assert_array_equal(named.sel(group="ben"), counts.sel(group="human_2"))


def test_shape_of_the_matrix() -> None:
    found = condition_divergences(al.load_example())
    divergence, expected = found["divergence"].values, found["expected"].values
    np.testing.assert_array_equal(divergence, divergence.T)
    np.testing.assert_array_equal(expected, expected.T)
    np.testing.assert_array_equal(np.diag(divergence), 0)
    assert np.isnan(np.diag(expected)).all()
    assert set(np.diag(found["undefined"])) == {"a condition is not a second sample of itself"}
    assert set(found["undefined"].values[np.triu_indices(3, k=1)]) == {""}
    np.testing.assert_array_equal(found["excess"], divergence - expected)


def test_conditions_without_errors() -> None:
    """Two conditions without errors are not comparable; one has its expected divergence."""
    trials = Trials.from_arrays(
        [["cat", "dog", "cat", "dog", "dog", "owl"], ["cat", "dog", "cat", "dog", "dog", "cat"]],
        ["cat", "dog"] * 3,
        classes=CLASSES,
        condition=["a", "a", "b", "b", "c", "c"],
        kind=["human"] * 2,
    )
    found = condition_divergences(trials)
    assert found["n_errors"].values.tolist() == [0, 0, 4]
    assert np.isnan(found["divergence"].values[0, 1])
    assert np.isnan(found["divergence"].values[0, 0])
    assert found["undefined"].values[0, 1] == "no error in either condition"
    assert found["divergence"].values[0, 2] > 0
    np.testing.assert_allclose(found["excess"].values[[0, 1], 2], 0, atol=1e-12)


EXAMPLE = al.load_example()
NEVER_SEEN = Trials.from_arrays(
    np.ma.array([["cat", "dog", "cat"], ["dog", "dog", "dog"]], mask=[[0, 0, 1], [0, 0, 0]]),
    ["cat", "dog", "cat"],
    condition=["a", "b", "c"],
    dataset=["one", "one", "two"],
    kind=["human", "model"],
)


divergences = condition_divergences


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: divergences(EXAMPLE, kind="monkey"), "of kind 'monkey'; .* with kind="),
        (lambda: divergences(EXAMPLE.select(condition="blur")), "at least two conditions, got"),
        (lambda: divergences(NEVER_SEEN), r"saw condition 'two:c' \(1 such .*{'two': \['c'\]}"),
        (
            lambda: divergences(EXAMPLE, no_response="guess"),  # type: ignore[arg-type]
            "no_response must be one of 'error', 'drop'",
        ),
    ],
)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
