"""Likelihoods and reported quantities of models never have values out of range."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from edge_numbers import SEEDS, N, assert_within, edges, nearly, shares
from hypothesis import given
from hypothesis import strategies as st
from pytensor.compile.mode import Mode

import alikely as al
from alikely._base.arrays import within
from alikely.models import copies
from alikely.models._parts import tensor_within
from alikely.models.cohorts import SURE, _joint_probability
from generative import paired_errors as pairs

INFINITE = float("inf")
# Do not rewrite graphs, so that rounding is as in the code.
AS_WRITTEN = Mode(linker="py", optimizer=None)


@functools.cache
def compiled(make: Callable[..., Any], n: int) -> Callable[..., list[Any]]:
    """Function of n vectors."""
    vectors = [pt.dvector() for _ in range(n)]
    return pytensor.function(vectors, list(make(*vectors)), mode=AS_WRITTEN)


@given(rng=SEEDS)
def test_tensors_are_clipped_like_arrays(rng: np.random.Generator) -> None:
    values = np.concatenate([nearly(rng, np.ones(N)), rng.uniform(-2, 2, N), [np.nan]])
    (found,) = compiled(lambda x: [tensor_within(x, -1)], 1)(values)
    np.testing.assert_array_equal(found, within(values, -1))


@given(rng=SEEDS)
def test_own_accuracy_of_the_copy_model(rng: np.random.Generator) -> None:
    u, v = edges(rng), edges(rng)
    v[::2] = nearly(rng, u[::2])
    (own,) = compiled(lambda u, v: [copies._alone(u, v)], 2)(np.minimum(u, 1), np.minimum(v, 1))
    assert_within(own)


def _strata(mu: Any, accuracy: Any, log_odds_ratio: Any, share: Any) -> Any:
    followed = _joint_probability(mu, accuracy, pt.exp(log_odds_ratio)) / mu
    alone = _joint_probability(1 - mu, accuracy, pt.exp(-log_odds_ratio)) / (1 - mu)
    return followed, alone, alone + (followed - alone) * share


@given(rng=SEEDS)
def test_models_of_a_cohort(rng: np.random.Generator) -> None:
    """Up to the limits `alikely.models.cohorts.SURE` of the model."""
    mu, accuracy = np.clip(edges(rng), 1e-9, 1 - 1e-9), np.clip(edges(rng), 1e-9, 1 - 1e-9)
    ratio = rng.normal(0, rng.choice([0.3, 3, 12]), N)
    for found in compiled(_strata, 4)(mu, accuracy, ratio, edges(rng)):
        assert_within(SURE + (1 - 2 * SURE) * found)


def test_rows_of_a_cohort_are_probabilities() -> None:
    """Levels and odds ratios beyond those of real data."""
    model = al.models.cohort(al.data.cohort_counts(al.load_example()))
    (probability,) = model.replace_rvs_by_values([model["row_probability"]])
    row = model.compile_fn(
        probability, inputs=model.value_vars, mode=AS_WRITTEN, on_unused_input="ignore"
    )
    start, rng = model.initial_point(), np.random.default_rng(1)
    for size in (1, 5, 12):
        point = {k: v + rng.normal(0, size, np.shape(v)) for k, v in start.items()}
        assert_within(row(point))


@given(rng=SEEDS, k=st.integers(2, 5))
def test_labels_that_models_draw(rng: np.random.Generator, k: int) -> None:
    logs = np.log(np.maximum(shares(rng, 4, 2, k), 1e-300))
    copying = np.log(np.maximum(shares(rng, 4, 2, 2), 1e-300))
    like = np.zeros((4, 2, 3 * k), dtype=int)
    like[..., : 2 * k] = rng.integers(0, 5, (4, 2, 2 * k))
    drawn = pairs.drawn_both(copying, logs, logs, logs[..., ::-1], like, rng)
    assert (drawn >= 0).all()
    np.testing.assert_array_equal(drawn[..., : 2 * k].sum(axis=-1), like[..., : 2 * k].sum(axis=-1))
