"""Patterns of correct responses: requested values, no further interaction, feasible values."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alikely.metrics import consistency
from alikely.simulate.simulators import INTERACTION, pattern_cells, pattern_probabilities

Numbers = tuple[float, float, float]

# Cells of any relative size, but none nearly empty.
masses = st.lists(st.floats(0.05, 1), min_size=8, max_size=8)
PAIRS = [(0, 1), (0, 2), (1, 2)]
RIGHT = np.array(list(itertools.product((1, 0), repeat=3)))
TRIPLES = [
    ((0.75, 0.75, 0.75), 0.8, 0.8),
    ((0.75, 0.75, 0.75), 0.9, -0.1),
    ((0.9, 0.85, 0.7), 0.6, 0.3),
    ((0.5, 0.5, 0.5), 0.6, -0.6),
    ((0.3, 0.6, 0.65), 0.4, 0.1),
    ((0.95, 0.93, 0.97), 0.7, 0.6),
]


def stated_of(p: np.ndarray) -> list[float]:
    """Accuracies and error consistencies, directly from the patterns."""
    ec = []
    for i, j in PAIRS:
        a, b = RIGHT[:, i], RIGHT[:, j]
        cells = [p @ (x * y) for x, y in ((a, b), (a, 1 - b), (1 - a, b), (1 - a, 1 - b))]
        ec.append(float(consistency.error_consistency(cells)))
    return [*(p @ RIGHT).tolist(), *ec]


def pair_shares(p_h: float, p_m: float, ec: float) -> tuple[float, float]:
    """Probabilities that both are correct, and that only the second is."""
    both = p_h * p_m + ec * (p_h + p_m - 2 * p_h * p_m) / 2
    return both, p_m - both


def feasible(accuracy: Numbers, first: float, second: float) -> tuple[float, float]:
    """Range of the models' error consistency, given theirs with the human.

    Among trials with a correct first observer, the others are correct with known probabilities,
    which bound their overlap from below and above; likewise for its errors.
    """
    h, a, b = accuracy
    low = high = 0.0
    shares = zip(pair_shares(h, a, first), pair_shares(h, b, second), (h, 1 - h), strict=True)
    for share_a, share_b, share in shares:
        low += max(0.0, share_a + share_b - share)
        high += min(share_a, share_b)
    least, most = (2 * (x - a * b) / (a + b - 2 * a * b) for x in (low, high))
    return least, most


@pytest.mark.parametrize("n", [2, 3, 6])
def test_patterns_and_the_cells_they_fall_into(n: int) -> None:
    patterns = np.array(list(itertools.product((1, 0), repeat=n)))
    for i, j in itertools.permutations(range(n), 2):
        cells = pattern_cells(n, i, j)
        for cell, (first, second) in enumerate(((1, 1), (1, 0), (0, 1), (0, 0))):
            expected = (patterns[:, i] == first) & (patterns[:, j] == second)
            np.testing.assert_array_equal(cells[:, cell], expected)


@settings(max_examples=60, deadline=None)
@given(masses)
def test_patterns_have_the_pairs_and_maximum_entropy(weights: list[float]) -> None:
    """Compare pairs of patterns with any joint distribution; further interactions are zero."""
    truth = np.array(weights) / sum(weights)
    stated = stated_of(truth)
    p = pattern_probabilities(*stated)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p.min() >= 0
    np.testing.assert_allclose(stated_of(p), stated, atol=1e-12)
    assert INTERACTION @ np.log(p) == pytest.approx(0, abs=1e-9)
    assert -(p * np.log(p)).sum() >= -(truth * np.log(truth)).sum() - 1e-12
    # Neither the order of the models nor exchanging correct and incorrect matters.
    h, a, b, ec_a, ec_b, ec_models = stated
    moved = pattern_probabilities(h, b, a, ec_b, ec_a, ec_models)
    np.testing.assert_allclose(p.reshape(2, 2, 2).transpose(0, 2, 1).ravel(), moved, atol=1e-12)
    mirrored = pattern_probabilities(1 - h, 1 - a, 1 - b, ec_a, ec_b, ec_models)
    np.testing.assert_allclose(p[::-1], mirrored, atol=1e-12)


@pytest.mark.parametrize(("accuracy", "first", "second"), [*TRIPLES[2:5], ((0.9, 0.5, 0.3), 0, 0)])
def test_models_left_open_are_conditionally_independent(
    accuracy: Numbers, first: float, second: float
) -> None:
    """Given the human, joint probabilities of the models are products."""
    h, a, b = accuracy
    p = pattern_probabilities(*accuracy, first, second)
    expected = []
    shares = zip(pair_shares(h, a, first), pair_shares(h, b, second), (h, 1 - h), strict=True)
    for share_a, share_b, share in shares:
        u, v = share_a / share, share_b / share
        expected += [share * x * y for x in (u, 1 - u) for y in (v, 1 - v)]
    np.testing.assert_allclose(p, expected, atol=1e-12)


@pytest.mark.parametrize(("accuracy", "first", "second"), TRIPLES)
def test_messages_give_the_feasible_range(accuracy: Numbers, first: float, second: float) -> None:
    least, most = feasible(accuracy, first, second)
    for value in (least - 0.05, most + 0.05):
        with pytest.raises(ValueError, match="the two models must lie in") as caught:
            pattern_probabilities(*accuracy, first, second, value)
        message = str(caught.value)
        assert f"{first:g} and {second:g} with the human; got {value:g}" in message
        found = re.search(r"\[(-?[\d.]+), (-?[\d.]+)\]", message)
        assert found is not None
        # Four digits are printed.
        assert float(found[1]) == pytest.approx(least, abs=6e-5)
        assert float(found[2]) == pytest.approx(most, abs=6e-5)
    # At the limits of the feasible range, some pattern is empty.
    for edge in (least, most):
        p = pattern_probabilities(*accuracy, first, second, edge)
        np.testing.assert_allclose(stated_of(p), [*accuracy, first, second, edge], atol=1e-6)
        assert p.min() < 1e-9
