"""Patterns of right and wrong answers: what is asked for, nothing beyond, and what can exist."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alikely import simulate
from alikely.metrics import bounds, consistency
from alikely.simulate.cells import correctness_patterns, pattern_cells, pattern_probabilities

Figure = Callable[[str], None]

NAN = np.nan
# Cells of any size relative to each other, but none next to empty.
masses = st.floats(0.05, 1)


def symmetric(n: int, pairs: dict[tuple[int, int], float], rest: float = NAN) -> np.ndarray:
    ec = np.full((n, n), rest)
    for (i, j), value in pairs.items():
        ec[i, j] = ec[j, i] = value
    return ec


def margins(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies and error consistencies, straight from what each pattern says."""
    right = np.array(list(itertools.product((1, 0), repeat=int(np.log2(len(p))))))
    n = right.shape[1]
    ec = np.full((n, n), np.nan)
    for i, j in itertools.combinations(range(n), 2):
        a, b = right[:, i], right[:, j]
        cells = [p @ (x * y) for x, y in ((a, b), (a, 1 - b), (1 - a, b), (1 - a, 1 - b))]
        ec[i, j] = ec[j, i] = consistency.error_consistency(cells)
    return p @ right, ec


def interactions(p: np.ndarray) -> dict[tuple[int, ...], float]:
    """Terms of the log-linear model, one for each group of observers."""
    n = int(np.log2(len(p)))
    sign = np.array(list(itertools.product((1, -1), repeat=n)))
    groups = itertools.chain.from_iterable(
        itertools.combinations(range(n), size) for size in range(1, n + 1)
    )
    return {g: float(np.log(p) @ sign[:, list(g)].prod(axis=1)) / len(p) for g in groups}


def pair_shares(p_h: float, p_m: float, ec: float) -> tuple[float, float]:
    """Probabilities that both are right, and that the first is wrong and the second right."""
    both = p_h * p_m + ec * (p_h + p_m - 2 * p_h * p_m) / 2
    return both, p_m - both


def feasible(accuracy: list[float], first: float, second: float) -> tuple[float, float]:
    """Range of the last two's error consistency, given what either shares with the first.

    Among the trials on which the first observer is right the other two are right with known
    probabilities, and overlap as little or as much as these allow; likewise where it is wrong.
    """
    h, a, b = accuracy
    low = high = 0.0
    shares = zip(pair_shares(h, a, first), pair_shares(h, b, second), (h, 1 - h), strict=True)
    for share_a, share_b, share in shares:
        low += max(0.0, share_a + share_b - share)
        high += min(share_a, share_b)
    least, most = (2 * (x - a * b) / (a + b - 2 * a * b) for x in (low, high))
    return least, most


@pytest.mark.parametrize("n", range(2, 9))
def test_patterns_and_the_cells_they_fall_into(n: int) -> None:
    patterns = correctness_patterns(n)
    assert patterns.shape == (2**n, n)
    assert len({tuple(row) for row in patterns.tolist()}) == 2**n
    assert patterns[0].all()
    assert not patterns[-1].any()
    for i, j in itertools.permutations(range(n), 2):
        cells = pattern_cells(n, i, j)
        assert (cells.sum(axis=1) == 1).all()
        for cell, (first, second) in enumerate(((1, 1), (1, 0), (0, 1), (0, 0))):
            expected = (patterns[:, i] == first) & (patterns[:, j] == second)
            np.testing.assert_array_equal(cells[:, cell], expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 4).flatmap(lambda n: st.lists(masses, min_size=2**n, max_size=2**n)))
def test_pairs_are_kept_and_nothing_is_added(weights: list[float]) -> None:
    """Of any joint distribution the pairs come back, and nothing beyond pairs."""
    truth = np.array(weights) / sum(weights)
    accuracy, ec = margins(truth)
    p = pattern_probabilities(accuracy, ec)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p.min() >= 0
    again, ec_again = margins(p)
    np.testing.assert_allclose(again, accuracy, atol=1e-6)
    np.testing.assert_allclose(ec_again, ec, atol=1e-6)
    # Terms of the logarithms magnify what fitting leaves open in small probabilities.
    beyond = [term for group, term in interactions(p).items() if len(group) > 2]
    np.testing.assert_allclose(beyond, 0, atol=1e-6)
    assert -(p * np.log(p)).sum() >= -(truth * np.log(truth)).sum() - 1e-9


@settings(max_examples=10, deadline=None)
@given(st.lists(masses, min_size=8, max_size=8), st.permutations(range(3)))
def test_the_order_of_observers_does_not_matter(weights: list[float], order: list[int]) -> None:
    accuracy, ec = margins(np.array(weights) / sum(weights))
    p = pattern_probabilities(accuracy, ec).reshape(2, 2, 2)
    moved = pattern_probabilities(accuracy[order], ec[np.ix_(order, order)]).reshape(2, 2, 2)
    np.testing.assert_allclose(p.transpose(order), moved, atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.lists(masses, min_size=8, max_size=8))
def test_right_and_wrong_may_be_exchanged(weights: list[float]) -> None:
    """Error consistency does not know which answers are right."""
    accuracy, ec = margins(np.array(weights) / sum(weights))
    p, mirrored = (pattern_probabilities(a, ec) for a in (accuracy, 1 - accuracy))
    np.testing.assert_allclose(p[::-1], mirrored, atol=1e-6)


@pytest.mark.parametrize("accuracy", [[0.75, 0.6], [0.9, 0.5, 0.3], [0.98, 0.7, 0.2, 0.55, 0.8]])
def test_independent_observers(accuracy: list[float]) -> None:
    n = len(accuracy)
    right = np.array(list(itertools.product((True, False), repeat=n)))
    expected = np.where(right, accuracy, 1 - np.array(accuracy)).prod(axis=1)
    for rest in (0.0, NAN):
        p = pattern_probabilities(accuracy, np.full((n, n), rest))
        np.testing.assert_allclose(p, expected, atol=1e-9)


@pytest.mark.parametrize("ec", [-0.2, 0.0, 0.5, 0.9])
def test_two_observers_are_those_of_the_copy_model(ec: float) -> None:
    p = pattern_probabilities([0.75, 0.72], symmetric(2, {(0, 1): ec}))
    np.testing.assert_allclose(p, simulate.cell_probabilities(0.75, 0.72, ec), atol=1e-9)


@pytest.mark.parametrize(
    ("accuracy", "first", "second"),
    [([0.75, 0.75, 0.75], 0.5, 0.3), ([0.9, 0.7, 0.5], 0.3, -0.1), ([0.4, 0.8, 0.6], 0.2, 0.6)],
)
def test_a_pair_left_open_is_conditionally_independent(
    accuracy: list[float], first: float, second: float
) -> None:
    """Given the first observer, what the other two do is a product."""
    h, a, b = accuracy
    p = pattern_probabilities(accuracy, symmetric(3, {(0, 1): first, (0, 2): second}))
    expected = []
    shares = zip(pair_shares(h, a, first), pair_shares(h, b, second), (h, 1 - h), strict=True)
    for share_a, share_b, share in shares:
        u, v = share_a / share, share_b / share
        expected += [share * x * y for x in (u, 1 - u) for y in (v, 1 - v)]
    np.testing.assert_allclose(p, expected, atol=1e-8)


def test_open_pairs_of_four_observers_have_no_term_of_their_own() -> None:
    known = {(0, 1): 0.5, (0, 2): 0.4, (0, 3): 0.3, (2, 3): 0.6}
    p = pattern_probabilities([0.8, 0.75, 0.7, 0.72], symmetric(4, known))
    accuracy, ec = margins(p)
    np.testing.assert_allclose(accuracy, [0.8, 0.75, 0.7, 0.72], atol=1e-6)
    for pair, value in known.items():
        assert ec[pair] == pytest.approx(value, abs=1e-6)
    for group, term in interactions(p).items():
        if len(group) > 2 or group in ((1, 2), (1, 3)):
            assert abs(term) < 1e-6, group


TRIPLES = [
    ([0.75, 0.75, 0.75], 0.8, 0.8),
    ([0.75, 0.75, 0.75], 0.9, -0.1),
    ([0.9, 0.85, 0.7], 0.6, 0.3),
    ([0.5, 0.5, 0.5], 0.6, -0.6),
    ([0.3, 0.6, 0.65], 0.4, 0.1),
    ([0.95, 0.93, 0.97], 0.7, 0.6),
]


@pytest.mark.parametrize(("accuracy", "first", "second"), TRIPLES)
def test_messages_give_the_feasible_range(
    accuracy: list[float], first: float, second: float
) -> None:
    least, most = feasible(accuracy, first, second)
    alone = bounds.error_consistency_bounds(*accuracy[1:])
    # What the pair alone could be, but not together with the first observer.
    asked = [(outer + edge) / 2 for outer, edge in zip(alone, (least, most), strict=True)]
    beyond = [x for x in asked if x < least - 1e-3 or x > most + 1e-3]
    assert beyond
    for value in beyond:
        ec = symmetric(3, {(0, 1): first, (0, 2): second, (1, 2): value})
        with pytest.raises(ValueError, match=r"must lie in \[") as caught:
            pattern_probabilities(accuracy, ec, ["human", "model a", "model b"])
        message = str(caught.value)
        assert "of model a and model b must lie in" in message
        assert f"{first:g} of human and model a, {second:g} of human and model b" in message
        assert f"got {value:g}" in message
        found = re.search(r"\[(-?[\d.]+), (-?[\d.]+)\]", message)
        assert found is not None
        # Four digits are printed.
        assert float(found[1]) == pytest.approx(least, abs=6e-5)
        assert float(found[2]) == pytest.approx(most, abs=6e-5)


def test_a_pair_that_cannot_be_even_alone() -> None:
    lower, upper = bounds.error_consistency_bounds(0.9, 0.5)
    message = (
        rf"observer 1 and observer 2 must lie in \[{lower:.4f}, {upper:.4f}\] given accuracies 0.9 "
        "and 0.5; got 0.5"
    )
    with pytest.raises(ValueError, match=message):
        pattern_probabilities([0.9, 0.5], symmetric(2, {(0, 1): 0.5}))


@pytest.mark.parametrize(
    ("accuracy", "first", "second", "end"), [(*TRIPLES[2], 0), (*TRIPLES[5], 1)]
)
def test_at_the_edge_of_what_can_exist(
    accuracy: list[float], first: float, second: float, end: int, figure: Figure
) -> None:
    edge = feasible(accuracy, first, second)[end]
    asked = symmetric(3, {(0, 1): first, (0, 2): second, (1, 2): edge})
    p = pattern_probabilities(accuracy, asked)
    found, ec = margins(p)
    upper = np.triu_indices(3, 1)
    off = max(np.abs(found - accuracy).max(), np.abs(ec - asked)[upper].max())
    figure(f"patterns at the edge, accuracies {accuracy}, {edge:.4f}: margins off by {off:.1e}")
    # Some pattern is all but empty there, and fitting closes in on it slowly.
    assert off < 1e-3
    assert p.min() < 1e-3


def test_two_observers_at_their_bound() -> None:
    edge = float(bounds.error_consistency_bounds(0.9, 0.7)[1])
    p = pattern_probabilities([0.9, 0.7], symmetric(2, {(0, 1): edge}))
    np.testing.assert_allclose(p, simulate.cell_probabilities(0.9, 0.7, edge), atol=1e-3)


def test_many_alike_observers() -> None:
    n = 6
    p = pattern_probabilities([0.75] * n, np.full((n, n), 0.5))
    accuracy, ec = margins(p)
    np.testing.assert_allclose(accuracy, 0.75, atol=1e-6)
    np.testing.assert_allclose(ec[np.triu_indices(n, 1)], 0.5, atol=1e-6)
    # Only how many are right matters.
    n_right = correctness_patterns(n).sum(axis=1)
    for k in range(n + 1):
        assert np.ptp(p[n_right == k]) < 1e-6


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (pattern_probabilities, ([0.7, 0.8], np.zeros((3, 3))), r"got shapes \(3, 3\) and \(2,\)"),
        (pattern_probabilities, ([0.7, 0.8], [0.5, 0.5]), r"got shapes \(2,\) and \(2,\)"),
        (pattern_probabilities, ([[0.7, 0.8]], np.zeros((1, 1))), r"shapes \(1, 1\) and \(1, 2\)"),
        (pattern_probabilities, ([0.7, 0], np.zeros((2, 2))), "between 0 and 1, got 0"),
        (pattern_probabilities, ([1, 0.7], np.zeros((2, 2))), "between 0 and 1, got 1"),
        (pattern_probabilities, ([0.7, NAN], np.zeros((2, 2))), "between 0 and 1, got nan"),
        (pattern_probabilities, ([0.7] * 9, np.zeros((9, 9))), "2 to 8 observers, got 9; plan"),
        (pattern_probabilities, ([0.7], [[1.0]]), "2 to 8 observers, got 1"),
        (correctness_patterns, (1,), "2 to 8 observers, got 1"),
        (correctness_patterns, (9,), "2 to 8 observers, got 9"),
        (pattern_cells, (9, 0, 1), "2 to 8 observers, got 9"),
    ],
)
def test_bad_input(function: Callable[..., Any], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        function(*arguments)
    assert "\n" not in str(caught.value)
