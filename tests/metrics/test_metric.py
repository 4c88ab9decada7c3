"""The registry of metrics, scaled error consistency, and properties of all metrics."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

import alikely as al
from alikely.inference.intervals import analytic_interval
from alikely.metrics import Metric, consistency, get_metric
from alikely.metrics.consistency import MIN_MID_MAX_AGREEMENT, NORMALISED_ERROR_CONSISTENCY
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.metric import find_metric

BY_CELLS = [m for m in al.metrics.metric.metrics().values() if m.counts == "correctness"]
CELLS = st.lists(st.integers(1, 200), min_size=4, max_size=4)


@pytest.mark.parametrize("metric", BY_CELLS, ids=repr)
@given(cells=CELLS)
def test_influence_is_the_derivative(metric: Metric, cells: list[int]) -> None:
    """Compare with central differences, away from kinks."""
    counts = np.array(cells, dtype=float)
    p_a, p_b = consistency.accuracies(counts)
    kappa = consistency.error_consistency(counts)
    if min(abs(p_a - p_b), abs(p_a + p_b - 1), abs(kappa)) < 1e-3:
        return
    step = 1e-4
    moved = counts + step * np.array([1, -1])[:, None, None] * np.eye(4)
    slopes = (metric.value(moved[0]) - metric.value(moved[1])) / (2 * step)
    # Error of central differences: squared step times a third derivative, a few 1/min(cells)^3.
    np.testing.assert_allclose(
        metric.influence(counts), slopes * counts.sum(), rtol=1e-4, atol=1e-5 * counts.sum()
    )


@pytest.mark.parametrize("metric", BY_CELLS, ids=repr)
@given(cells=CELLS)
def test_influences_have_mean_zero_and_symmetry_is_as_stated(
    metric: Metric, cells: list[int]
) -> None:
    counts = np.array(cells, dtype=float)
    assert abs(counts @ metric.influence(counts)) < 1e-7 * counts.sum()
    value, turned = metric.value(counts), metric.value(counts[[0, 2, 1, 3]])
    if metric.symmetric:
        assert value == pytest.approx(turned)
    assert metric.bounds[0] <= value <= metric.bounds[1] + 1e-12


@pytest.mark.parametrize("metric", BY_CELLS, ids=repr)
def test_independent_observers_have_the_null_value(metric: Metric) -> None:
    accuracy = np.array([0.55, 0.7, 0.9])
    cells = al.simulate.cell_probabilities(accuracy[:, None], accuracy, 0.0)
    np.testing.assert_allclose(metric.value(cells), metric.independent, atol=1e-12)


def test_influences_at_a_kink_average_both_sides() -> None:
    cells, near = np.array([100.0, 20, 20, 30]), np.array([0.0, 1e-7, -1e-7, 0])
    for metric in (NORMALISED_ERROR_CONSISTENCY, MIN_MID_MAX_AGREEMENT):
        sides = metric.influence(np.stack([cells + near, cells - near]))
        np.testing.assert_allclose(metric.influence(cells), sides.mean(axis=0), atol=1e-5)


def test_scaled_analytic_interval_covers_away_from_its_kink() -> None:
    """With accuracies 0.9 and 0.6, coverage of the ratio 0.3 is nominal."""
    probabilities = al.simulate.cell_probabilities(0.9, 0.6, 0.12)
    truth = float(consistency.normalized_error_consistency(probabilities))
    drawn = np.random.default_rng(1).multinomial(600, probabilities, 4_000)
    metric = NORMALISED_ERROR_CONSISTENCY
    psi = metric.influence(drawn)
    se = np.sqrt((drawn * psi**2).sum(axis=1)) / 600
    covered = np.abs(metric.value(drawn) - truth) < 1.959964 * se
    # Four Monte Carlo errors of 4,000 data sets are 0.014; the same for the finite sample.
    assert covered.mean() == pytest.approx(0.95, abs=0.014 + 0.01)


def tables(n: int) -> np.ndarray:
    """All tables of n trials."""
    cuts = np.array(list(itertools.combinations(range(n + 3), 3)))
    edges = np.concatenate(
        [np.full((len(cuts), 1), -1), cuts, np.full((len(cuts), 1), n + 3)], axis=1
    )
    return np.diff(edges, axis=1) - 1


@pytest.mark.parametrize(
    ("accuracy", "n", "plain", "corrected"),
    [
        (0.75, 20, -0.0234, -0.0135),
        (0.95, 20, -0.1119, -0.1086),
    ],
)
def test_bias_of_the_bias_corrected_form(
    accuracy: float, n: int, plain: float, corrected: float, figure: Callable[[str], None]
) -> None:
    """Exact bias at an error consistency of 0.5: half at 0.75, nearly unchanged near 1."""
    probabilities = al.simulate.cell_probabilities(accuracy, accuracy, 0.5)
    every = tables(n)
    weight = stats.multinomial(n, probabilities).pmf(every)
    assert weight.sum() == pytest.approx(1)
    kappa = consistency.error_consistency(every)
    defined = np.isfinite(kappa)
    share = weight[defined] / weight[defined].sum()
    biases = [
        share @ value[defined] - 0.5
        for value in (kappa, consistency.less_biased_error_consistency(kappa, n))
    ]
    figure(
        f"bias of EC .5, accuracy {accuracy}, {n} trials: {biases[0]:.4f}, less biased form "
        f"{biases[1]:.4f}"
    )
    assert biases == pytest.approx([plain, corrected], abs=5e-5)


def test_scales_of_the_analytic_interval() -> None:
    def interval(scale: Any, bounds: tuple[float, float] = (-1, 1)) -> Any:
        metric = Metric("x", max, "margins", scale=scale, bounds=bounds)
        return analytic_interval(metric, np.array([0.8]), np.array([0.1]), 2.0)[0]

    np.testing.assert_allclose(interval("identity"), [0.6, 1.0])
    half = 0.2 / (1 - 0.8**2)
    np.testing.assert_allclose(interval("fisher"), np.tanh(np.arctanh(0.8) + [-half, half]))
    half = 0.2 / (0.8 * 0.2)
    by_logit = special.expit(special.logit(0.8) + np.array([-half, half]))
    np.testing.assert_allclose(interval("logit", (0, 1)), by_logit)


def test_metrics_are_found_by_name_short_name_and_module() -> None:
    ma = MISCLASSIFICATION_AGREEMENT
    place = "alikely.metrics.errors:MISCLASSIFICATION_AGREEMENT"
    for text in ("misclassification_agreement", "MA", "ma", place):
        assert find_metric(text) is ma
    assert get_metric(ma) is ma
    assert get_metric("cles", mixture="pooled").options["mixture"] == "pooled"
    assert [get_metric(name).short for name in ("normalized", "min-mid-max", "copying")]
