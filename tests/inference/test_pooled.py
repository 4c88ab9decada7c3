"""Sums of many small tables: closed forms, symmetries, derivatives, near-ceiling coverage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import alikely as al
from alikely.inference.influence import covariance_of
from alikely.inference.pooling import pooled_sum
from alikely.metrics import ERROR_CONSISTENCY

Floats = NDArray[np.float64]
CELLS = np.array([[40.0, 4, 3, 3], [45, 2, 2, 1], [44, 1, 3, 2], [47, 1, 2, 0]])
WEIGHTS = np.array([0.3, 0.2, 0.4, 0.1])


def test_many_trials_give_the_plain_estimate_and_variance() -> None:
    """A few pseudo-trials are negligible in large tables."""
    cells = CELLS * 2_000
    found = pooled_sum(ERROR_CONSISTENCY, cells, WEIGHTS, np.arange(4))
    plain = float(WEIGHTS @ ERROR_CONSISTENCY.value(cells))
    table = al.data.from_counts(cells.astype(int))
    variance = covariance_of(table, ERROR_CONSISTENCY, None, WEIGHTS[None])[0, 0]
    sampled = float((cells * found.slopes**2).sum())
    assert found.value == pytest.approx(plain, abs=0.05 * np.sqrt(variance))
    assert sampled == pytest.approx(variance, rel=0.01)
    assert found.added < 0.01 * variance
    accuracy = (cells[:, :1] + cells[:, 1:3]) / cells.sum(axis=1, keepdims=True)
    chance = (accuracy * (1 - accuracy[:, ::-1])).sum(axis=1)
    # Half a correct and half an incorrect response add less than one disagreement.
    np.testing.assert_allclose(found.disagreements, cells.sum(axis=1) * chance, rtol=0, atol=1)


def test_symmetries() -> None:
    """Check the order of tables and of observers, and sign and scale of the weights."""
    group = np.arange(4)
    found = pooled_sum(ERROR_CONSISTENCY, CELLS, WEIGHTS, group)
    turned = pooled_sum(ERROR_CONSISTENCY, CELLS[::-1], WEIGHTS[::-1], group)
    assert turned.value == pytest.approx(found.value, abs=1e-12)
    np.testing.assert_allclose(turned.slopes, found.slopes[::-1], atol=1e-9)
    other = pooled_sum(ERROR_CONSISTENCY, CELLS[:, [0, 2, 1, 3]], WEIGHTS, group)
    assert other.value == pytest.approx(found.value, abs=1e-12)
    np.testing.assert_allclose(other.slopes, found.slopes[:, [0, 2, 1, 3]], atol=1e-9)
    minus = pooled_sum(ERROR_CONSISTENCY, CELLS, -2 * WEIGHTS, group)
    assert minus.value == pytest.approx(-2 * found.value, abs=1e-12)
    assert minus.added == pytest.approx(4 * found.added, rel=1e-9)
    # Subtracted tables are pooled separately.
    difference = pooled_sum(
        ERROR_CONSISTENCY, np.tile(CELLS, (2, 1)), np.append(WEIGHTS, -WEIGHTS), np.arange(8)
    )
    assert difference.value == pytest.approx(0, abs=1e-12)
    assert difference.added == pytest.approx(2 * found.added, rel=1e-9)


def test_slopes_are_derivatives_of_the_sum() -> None:
    """The second-order bias has a smaller derivative, so slopes agree within 5% of the largest."""
    found = pooled_sum(ERROR_CONSISTENCY, CELLS, WEIGHTS, np.arange(4))
    step, numeric = 0.05, np.empty(CELLS.shape)
    for place in np.ndindex(*CELLS.shape):
        ends = []
        for side in (1, -1):
            moved = CELLS.copy()
            moved[place] = max(moved[place] + side * step, 0)
            ends.append(pooled_sum(ERROR_CONSISTENCY, moved, WEIGHTS, np.arange(4)).value)
        numeric[place] = (ends[0] - ends[1]) / (2 * step if CELLS[place] else step)
    numeric -= (CELLS * numeric).sum(axis=1, keepdims=True) / CELLS.sum(axis=1)[:, None]
    used = CELLS > 1
    np.testing.assert_allclose(
        found.slopes[used], numeric[used], atol=0.05 * np.abs(numeric[used]).max()
    )


def test_tables_without_errors_or_trials() -> None:
    """Tables of perfect observers (0/0) have the consistency of the others."""
    perfect = np.array([50.0, 0, 0, 0])
    both = pooled_sum(
        ERROR_CONSISTENCY, np.stack([CELLS[0], perfect]), np.full(2, 0.5), np.arange(2)
    )
    assert np.isfinite(both.value)
    assert np.isfinite(both.slopes).all()
    empty = pooled_sum(
        ERROR_CONSISTENCY, np.stack([CELLS[0], 0 * perfect]), np.full(2, 0.5), np.arange(2)
    )
    assert np.isnan(empty.value)


def _mean_designs() -> dict[str, tuple[list[int], float | list[float], float | list[float]]]:
    """Trials per condition, accuracies of both observers, and error consistency."""
    return {
        # Designs of no page, in which plain analytic intervals of means covered 0.41, 0.58, 0.73.
        "unequal": ([400, 20, 20, 20], 0.9, 0.6),
        "16 x 50 at .96": ([50] * 16, 0.96, 0.3),
    }


@pytest.mark.slow
@pytest.mark.parametrize("design", _mean_designs())
def test_means_near_the_ceiling_are_covered(sets: Callable[..., int], design: str) -> None:
    """Coverage is at least 0.92, minus four Monte Carlo errors."""
    n, (trials, accuracy, consistency) = sets(400, 200), _mean_designs()[design]
    p = np.broadcast_to(accuracy, len(trials))
    probabilities = np.stack([al.simulate.cell_probabilities(q, q, consistency) for q in p])
    rng = np.random.default_rng(11)
    drawn = np.stack(
        [rng.multinomial(m, q, n) for m, q in zip(trials, probabilities, strict=True)], axis=1
    )
    held = 0
    for cells in drawn:
        result = al.error_consistency(al.data.from_counts(cells), n_resamples=0, n_draws=0)
        table = al.mean(result)
        assert table.index.tolist() == ["analytic"]
        held += table["eti95_lb"].item() <= consistency <= table["eti95_ub"].item()
    assert held / n >= 0.92 - 4 * np.sqrt(0.92 * 0.08 / n)
