"""Metrics of pairs are within their bounds despite rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from edge_numbers import SEEDS, N, assert_within, edges, nearly, shares, tables
from hypothesis import example, given, settings

import alikely as al
from alikely.data.blocks import blocks
from alikely.errors import pairs
from alikely.inference.cell_limits import option_limits
from alikely.inference.evaluation import option_features, reading_features
from alikely.metrics import (
    bounds,
    consistency,
    copying,
    errors,
    margins,
)
from alikely.metrics.options import capa_matrices

METRICS = al.metrics.metric.metrics().values()
INFINITE = float("inf")


def of(counts: str) -> list[Any]:
    return [m for m in METRICS if m.counts == counts and m.module.startswith("alikely.")]


@pytest.mark.parametrize("metric", of("correctness"), ids=repr)
@given(rng=SEEDS)
def test_metrics_of_cells(metric: Any, rng: np.random.Generator) -> None:
    assert_within(metric.value(tables(rng)), *metric.bounds)


@given(rng=SEEDS)
def test_quantities_reported_with_error_consistency(rng: np.random.Generator) -> None:
    cells = tables(rng)
    accuracy_a, accuracy_b = consistency.accuracies(cells)
    assert_within([accuracy_a, accuracy_b])
    assert_within(consistency.accuracy_gap(cells), -1)
    assert_within(consistency.observed_agreement(cells))
    assert_within(consistency.expected_agreement(accuracy_a, accuracy_b))
    assert_within(copying.own_accuracy(cells))
    lower, upper = consistency.consistency_bounds(accuracy_a, accuracy_b)
    assert_within(lower, -1, 0)
    assert_within(upper)
    kappa = consistency.error_consistency(cells)
    bias_corrected = consistency.less_biased_error_consistency(kappa, rng.integers(2, 50, N))
    assert_within(bias_corrected, -INFINITE)


@given(rng=SEEDS)
def test_bounds_from_accuracies_and_agreement(rng: np.random.Generator) -> None:
    p, q = edges(rng), edges(rng)
    for low, high in (bounds.agreement_bounds(p, q), bounds.agreement_bounds_from_expected(p)):
        assert_within(low)
        assert_within(high)
    assert_within(np.stack(bounds.error_consistency_bounds(p, q)), -1)
    assert_within(np.stack(bounds.error_consistency_bounds_from_expected(p)), -1)
    inside = p[(p > 0) & (p < 1)]
    assert_within(np.stack(bounds.accuracy_bounds(inside, q[: len(inside)])))


@given(rng=SEEDS)
def test_the_copy_model_and_its_inverse(rng: np.random.Generator) -> None:
    p_a = np.clip(edges(rng), 1e-6, 1 - 1e-6)
    p_b = edges(rng)
    lower, upper = bounds.error_consistency_bounds(p_a, p_b)
    kappa = np.select([rng.random(N) < 0.3, rng.random(N) < 0.5], [lower, upper], 0.0)
    c, q = copying.copy_parameters(p_a, p_b, kappa)
    assert_within(c, -1)
    assert_within(q)
    cells = al.simulate.cell_probabilities(p_a, p_b, kappa)
    assert_within(cells)
    # The draw raises an error for negative cells, and for sums other than 1.
    rng.multinomial(20, cells)


@given(rng=SEEDS)
def test_agreement_of_labels(rng: np.random.Generator) -> None:
    joint = tables(rng, 9).reshape(N, 3, 3)
    joint[::4] *= np.eye(3)
    statistics = errors.label_statistics(joint)
    # Margins from matrix products, which sum in another order.
    statistics[:, 1:] = nearly(rng, statistics[:, 1:])
    assert_within(errors.label_agreement(statistics), -1)
    number = rng.integers(0, 9, (N, 3))
    one, other = (rng.multinomial(number, shares(rng, 3, 3)) for _ in range(2))
    assert_within(errors.expected_agreement(one, other), -1)
    own = np.stack([np.trace(joint**2, axis1=1, axis2=2), (joint**2).sum(axis=(1, 2))], axis=-1)
    assert_within(errors.distinct_agreement(statistics, own), -1)


@given(rng=SEEDS)
def test_agreement_of_labels_of_all_pairs(rng: np.random.Generator) -> None:
    response = rng.integers(0, 3, (12, 30))
    response[6:] = response[0]
    answers = {"response": response, "truth": rng.integers(0, 3, 30)}
    found = errors.MISCLASSIFICATION_AGREEMENT.all_pairs(answers)  # type: ignore[misc]
    assert_within(found["estimate"], -1)
    # A variance is a difference of large sums, but at least 0.
    assert np.isfinite(found["se"][np.isfinite(found["estimate"])]).all()


@given(rng=SEEDS)
def test_divergences(rng: np.random.Generator) -> None:
    p = shares(rng, N, 5)
    q = np.where(rng.random((N, 1)) < 0.5, nearly(rng, p), shares(rng, N, 5))
    assert_within(pairs.divergence(p, q, 0.5), 0, 1)


@given(rng=SEEDS)
def test_class_level_error_similarity(rng: np.random.Generator) -> None:
    a = tables(rng, 16).reshape(N, 4, 4)
    b = nearly(rng, a)
    for mixture in ("mean", "pooled"):
        most = 1 if mixture == "mean" else INFINITE
        divergence = errors.error_divergence(a, b, mixture=mixture)
        assert_within(divergence, 0, most)
        assert_within(errors.error_similarity(divergence))


@settings(max_examples=40)
@given(rng=SEEDS)
def test_agreement_of_ratings(rng: np.random.Generator) -> None:
    """With weights, as in the bootstrap and the posterior: sums are sparse matrix products."""
    codes = rng.integers(0, 3, (2, 25))
    codes[1] = np.where(rng.random(25) < rng.choice([0, 0.1, 0.5]), codes[1], codes[0])
    letters = np.array(["x", "y", "z"])
    trials = al.Trials.from_arrays(letters[codes].tolist(), ["x"] * 25, classes=letters.tolist())
    table = al.data.joint_correctness(trials, labels=True)
    (block,) = blocks(table)
    weights = tables(rng, 25) + 1e-12
    weights *= 25 / weights.sum(axis=1, keepdims=True)
    sums = reading_features(block).sums(weights)
    for metric in of("ratings"):
        assert_within(metric.value(sums), *metric.bounds)


@given(rng=SEEDS)
def test_agreement_on_options(rng: np.random.Generator) -> None:
    """Probabilities in single precision sum to 1 within seven digits."""
    p = shares(rng, 6, 25, 4).astype(np.float32)
    p[1] = p[0]
    truth = rng.integers(0, 4, 25)
    answers = p.argmax(axis=2)
    for found in (capa_matrices(p, truth), capa_matrices(answers, truth, 4)):
        for name, low in (("estimate", -1), ("r_p", -1), ("same_wrong", 0), ("observed", 0)):
            values = getattr(found, name)
            if np.isfinite(values).any():
                assert_within(values, low)
        for name in ("estimate", "r_p", "same_wrong"):
            se = getattr(found, "se" if name == "estimate" else f"{name}_se")
            assert np.isfinite(se[np.isfinite(getattr(found, name))]).all()
        assert_within(found.cells_of(*np.indices(found.estimate.shape)) / 25)


@settings(max_examples=40)
@given(rng=SEEDS)
def test_agreement_on_weighted_options(rng: np.random.Generator) -> None:
    p = shares(rng, 2, 25, 3)
    p[1, ::2] = p[0, ::2]
    letters = np.array(["x", "y", "z"])
    truth = letters[rng.integers(0, 3, 25)]
    plain = al.Trials.from_arrays(
        letters[p.argmax(axis=2)].tolist(), truth.tolist(), classes=letters.tolist()
    )
    weights = tables(rng, 25) + 1e-12
    for kind, trials in (
        ("options", plain.with_options(3)),
        ("probabilities", plain.with_probabilities(p)),
    ):
        table = al.data.joint_correctness(trials, labels="options")
        (block,) = blocks(table)
        sums = option_features(block, kind == "probabilities").sums(weights)
        for metric in of(kind):
            values = metric.value(sums)
            if np.isfinite(values).any():
                assert_within(values, *metric.bounds)


@example(rng=np.random.default_rng(50742))
@given(rng=SEEDS)
def test_correlations_of_margins(rng: np.random.Generator) -> None:
    x = rng.normal(rng.choice([0, 1e3]), 1, (N, 8))
    y = np.where(rng.random((N, 1)) < 0.5, nearly(rng, -2 * x), rng.normal(size=(N, 8)))
    y[1::5] = np.sign(y[1::5])
    moments = margins.margin_moments(x, y)
    assert_within(margins.margin_consistency(moments.sum(axis=-1)), -1)
    weights = tables(rng, 8)
    for each in (moments[0], margins.margin_moments(x[0], 3 * x[0] + 1)):
        assert_within(margins.margin_consistency(weights @ each.T), -1)


@settings(max_examples=25)
@given(rng=SEEDS)
def test_limits_of_agreement_on_options(rng: np.random.Generator) -> None:
    counts = rng.integers(0, 60, (20, 5)) * 10 ** rng.integers(0, 4)
    n_options = rng.integers(2, 6, 20)
    counts[n_options == 2, 4] = 0
    assert_within(option_limits(counts, n_options, [0.025, 0.5, 0.975]), -1)
