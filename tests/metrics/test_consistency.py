"""Error consistency: closed forms, published values, symmetries, identities with libraries."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alikely.metrics import bounds, consistency, copying
from alikely.metrics.consistency import cell_prior, check_prior, prior_text
from alikely.simulate.simulators import pattern_cells

cells_of = st.tuples(*[st.integers(0, 400)] * 4).filter(lambda cells: sum(cells) > 0)
probability = st.floats(0.01, 0.99)


def definition(cells: np.ndarray) -> float:
    n11, n10, n01, n00 = cells / cells.sum()
    p_a, p_b, p_obs = n11 + n10, n11 + n01, n11 + n00
    p_exp = p_a * p_b + (1 - p_a) * (1 - p_b)
    return (p_obs - p_exp) / (1 - p_exp)


@given(cells_of)
def test_equals_the_definition_and_is_nan_only_where_both_are_perfect(
    cells: tuple[int, ...],
) -> None:
    array = np.array(cells, dtype=float)
    value = consistency.error_consistency(array)
    if sum(cells) in (cells[0], cells[3]):
        assert np.isnan(value)
        assert consistency.undefined_reason(array) != ""
    else:
        # Both forms divide numbers of order one by 1 - p_exp, at least 1/N here.
        assert value == pytest.approx(definition(array), abs=1e-11)
        assert -1 <= value <= 1
        assert consistency.undefined_reason(array) == ""


@given(cells_of)
def test_symmetries(cells: tuple[int, ...]) -> None:
    n11, n10, n01, n00 = cells
    value = consistency.error_consistency(cells)
    same = {"exchange": [n11, n01, n10, n00], "right for wrong": [n00, n01, n10, n11]}
    for other in same.values():
        np.testing.assert_allclose(consistency.error_consistency(other), value, atol=1e-14)
    np.testing.assert_allclose(
        consistency.error_consistency(np.array(cells) * 7.5), value, atol=1e-13
    )


def test_undefined_cases_have_a_reason_and_no_warning() -> None:
    cells = [[0, 0, 0, 0], [9, 0, 0, 0], [0, 0, 0, 9], [3, 1, 0, 0]]
    assert consistency.undefined_reason(cells).tolist() == [
        "no common trials",
        "both observers always correct",
        "both observers always incorrect",
        "",
    ]
    assert np.isnan(consistency.error_consistency(cells)).tolist() == [True, True, True, False]


@given(probability, probability)
def test_agreement_bounds_are_reached_and_not_exceeded(p_a: float, p_b: float) -> None:
    least, most = max(0.0, p_a + p_b - 1), min(p_a, p_b)
    agreements = [
        consistency.observed_agreement(np.maximum([x, p_a - x, p_b - x, 1 - p_a - p_b + x], 0))
        for x in (least, most)
    ]
    np.testing.assert_allclose(bounds.agreement_bounds(p_a, p_b), agreements, atol=1e-12)
    kappas = [
        consistency.error_consistency(np.maximum([x, p_a - x, p_b - x, 1 - p_a - p_b + x], 0))
        for x in (least, most)
    ]
    np.testing.assert_allclose(bounds.error_consistency_bounds(p_a, p_b), kappas, atol=1e-9)


@given(probability, probability)
def test_expected_agreement_bounds_cover_all_pairs_of_accuracies(p_a: float, p_b: float) -> None:
    expected = consistency.expected_agreement(p_a, p_b)
    lower, upper = bounds.agreement_bounds(p_a, p_b)
    least, most = bounds.agreement_bounds_from_expected(expected)
    assert least - 1e-7 <= lower
    assert upper <= most + 1e-7
    k_least, k_most = bounds.error_consistency_bounds_from_expected(expected)
    k_lower, k_upper = bounds.error_consistency_bounds(p_a, p_b)
    assert k_least - 1e-6 <= k_lower
    assert k_upper <= k_most + 1e-6


@given(st.floats(0.05, 0.95), st.floats(0.0, 0.95))
def test_accuracy_bounds_are_where_kappa_max_equals_kappa(accuracy: float, kappa: float) -> None:
    for other in bounds.accuracy_bounds(accuracy, kappa):
        if 1e-3 < other < 1 - 1e-3:
            assert bounds.error_consistency_bounds(accuracy, other)[1] == pytest.approx(
                kappa, abs=1e-9
            )


def signed_copy_cells(p_a: float, c: float, q: float) -> np.ndarray:
    """Cells of the copy model: copy (or invert) with probability |c|, else independent."""
    copied = np.array([p_a, 0, 0, 1 - p_a]) if c >= 0 else np.array([0, p_a, 1 - p_a, 0])
    own = np.array([p_a * q, p_a * (1 - q), (1 - p_a) * q, (1 - p_a) * (1 - q)])
    return abs(c) * copied + (1 - abs(c)) * own


@given(probability, st.floats(-0.99, 0.99), probability)
def test_copy_model_round_trip_and_mismatch_factor(p_a: float, c: float, q: float) -> None:
    cells = signed_copy_cells(p_a, c, q)
    assert copying.copy_probability(cells) == pytest.approx(c, abs=1e-10)
    assert copying.own_accuracy(cells) == pytest.approx(q, abs=1e-7)
    p_a, p_b = consistency.accuracies(cells)
    kappa = consistency.error_consistency(cells)
    assert kappa == pytest.approx(c * copying.mismatch_factor(p_a, p_b), abs=1e-12)
    again = copying.copy_parameters(p_a, p_b, kappa)
    np.testing.assert_allclose(again, (c, q), atol=1e-6)


@given(cells_of)
@settings(max_examples=50)
def test_scaled_forms(cells: tuple[int, ...]) -> None:
    value = float(consistency.error_consistency(cells))
    p_a, p_b = consistency.accuracies(cells)
    lower, upper = bounds.error_consistency_bounds(p_a, p_b)
    share = float(consistency.normalized_error_consistency(cells))
    if np.isfinite(share):
        assert share == pytest.approx(value / upper, abs=1e-9)
    scaled = float(consistency.min_mid_max_agreement(cells))
    if np.isfinite(scaled):
        assert -1 - 1e-9 <= scaled <= 1 + 1e-9
        # If the scale is ill-defined, its two ends differ by rounding errors.
        if value > 1e-12:
            assert scaled == pytest.approx(value / upper, abs=1e-9)
        elif value < -1e-12:
            assert scaled == pytest.approx(-value / lower, abs=1e-9)


def test_bias_corrected_form_of_two_opposite_trials_is_undefined() -> None:
    # The denominator N - 1 + k is 2 - 1 - 1 = 0; with k = 1, the ratio is 2 / 2.
    found = consistency.less_biased_error_consistency([-1.0, 1.0], 2)
    np.testing.assert_array_equal(found, [np.nan, 1])
    found = consistency.ERROR_CONSISTENCY.derived["bias_corrected"]([0, 1, 1, 0])
    assert np.isnan(found)


# Correlated, uncorrelated, worth many trials.
SYMMETRIC = [(3, 1, 1, 2), (8, 2, 2, 0.5), (0.5, 0.5, 0.5, 0.5), (60, 4, 4, 12)]


@pytest.mark.parametrize("cells", [(1, 2, 3, 4), (0.1, 0.2, 0.3, 0.7)])
def test_a_dirichlet_is_three_betas(cells: tuple[float, ...]) -> None:
    prior = cell_prior(cells)
    assert prior.is_dirichlet
    assert prior.cells("this") == pytest.approx(cells)
    assert cell_prior(check_prior(cells)) == prior  # type: ignore[arg-type]
    assert cell_prior(json.loads(prior_text(prior))) == prior
    n11, n10, n01, n00 = cells
    margins = np.array(list(prior.accuracies("this").values()))
    assert margins == pytest.approx(np.array([[n11 + n10, n01 + n00], [n11 + n01, n10 + n00]]))
    assert not cell_prior({"u": (1, 1)}).is_dirichlet


@pytest.mark.parametrize("cells", SYMMETRIC)
@pytest.mark.parametrize("n_observers", [2, 3, 5])
def test_patterns_give_every_pair_the_prior(cells: tuple[float, ...], n_observers: int) -> None:
    """Sums over patterns of a Dirichlet have a Dirichlet distribution."""
    parameters = cell_prior(cells).patterns("this").parameters(n_observers)
    for first, second in [(0, 1), (1, n_observers - 1)]:
        if first != second:
            of_pair = parameters @ pattern_cells(n_observers, first, second)
            assert of_pair == pytest.approx(cells, rel=1e-12)


@pytest.mark.parametrize("cells", SYMMETRIC)
def test_drawn_patterns_have_dirichlet_moments(cells: tuple[float, ...]) -> None:
    base, n = cell_prior(cells).patterns("this"), 20_000
    first, second = base.correct(np.random.default_rng(1), (n, 2, 1))[..., 0].T
    share = np.array([np.mean(first & second), np.mean(first > second), np.mean(first < second)])
    expected = np.array(cells[:3]) / sum(cells)
    assert np.all(np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n))
