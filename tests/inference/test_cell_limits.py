"""Posterior limits without draws: compared with draws and integrals, and symmetries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from alikely.calibration.coverage import default_grid
from alikely.inference import cell_limits
from alikely.inference.cell_limits import posterior_limits
from alikely.inference.process import pairwise_draws
from alikely.simulate import cell_probabilities

# Stated error of the tail probabilities of both limits.
PROMISE = 0.002


SMALL = [[1, 0, 2, 40], [40, 0, 0, 0], [0, 0, 3, 0], [20, 0, 0, 20], [0, 18, 13, 0], [3, 0, 0, 100]]
SHARP = [[0, 5624, 237, 0], [500, 534, 20, 0], [2, 6000, 6000, 9], [3, 11_900, 60, 40]]
LARGE = [[100, 20, 20, 20], [5, 5, 5, 5], [8000, 1000, 1000, 2000], [5, 400, 7, 2000]]
ODD = np.array([*SMALL, *SHARP, *LARGE])


def test_tails_agree_with_draws() -> None:
    n_draws = 60_000
    draws = pairwise_draws(ODD, n_draws=n_draws, rng=1)["error_consistency"]
    for ci_prob in (0.5, 0.95):
        tail = (1 - ci_prob) / 2
        limits = posterior_limits(ODD, ci_prob)
        room = PROMISE + 4 * np.sqrt(tail * (1 - tail) / n_draws)
        np.testing.assert_allclose((draws < limits[:, 0]).mean(axis=0), tail, atol=room)
        np.testing.assert_allclose((draws > limits[:, 1]).mean(axis=0), tail, atol=room)


@pytest.mark.slow
def test_coverage_of_all_tables_of_forty_trials(figure: Callable[[str], None]) -> None:
    """Exact coverage over the probabilities of all 12,341 tables, in 22 settings."""
    n = 40
    numbers = np.indices((n + 1, n + 1, n + 1)).reshape(3, -1).T
    numbers = numbers[numbers.sum(axis=1) <= n]
    tables = np.column_stack([numbers, n - numbers.sum(axis=1)])
    assert len(tables) == 12_341
    low, high = posterior_limits(tables).T
    coverage = []
    for row in default_grid().query("n_trials == 40").itertuples():
        shares = cell_probabilities(row.accuracy_a, row.accuracy_b, row.ec)
        mass = stats.multinomial(n, shares).pmf(tables)
        coverage.append(mass[(low <= row.ec) & (row.ec <= high)].sum())
    figure(
        f"coverage of posterior limits without draws, 40 trials, exactly: {min(coverage):.4f} to "
        f"{max(coverage):.4f} over {len(coverage)} settings"
    )
    assert len(coverage) == 22
    assert min(coverage) >= 0.93


def test_exchanging_observers_or_outcomes_changes_nothing() -> None:
    limits = posterior_limits(ODD)
    turned = posterior_limits(ODD[:, [0, 2, 1, 3]])
    np.testing.assert_array_equal(turned, limits)
    for order in ([3, 1, 2, 0], [3, 2, 1, 0]):
        turned = posterior_limits(ODD[:, order])
        np.testing.assert_allclose(turned, limits, rtol=0, atol=1e-12)


def test_shapes_types_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and chunks of any size give equal limits; equal tables are integrated once."""
    tables = np.vstack([ODD, ODD]).reshape(2, len(ODD), 4)
    limits = posterior_limits(tables)
    assert limits.shape == (2, len(ODD), 2)
    np.testing.assert_array_equal(limits[0], limits[1])
    asked = []

    def counted(tables: np.ndarray, *rest: object) -> object:
        asked.append(len(tables))
        return integrated(tables, *rest)  # type: ignore[arg-type]

    integrated = cell_limits._integrated
    monkeypatch.setattr(cell_limits, "BLOCK", 5)
    monkeypatch.setattr(cell_limits, "TOGETHER", 3)
    monkeypatch.setattr(cell_limits, "_integrated", counted)
    for dtype in (np.int32, np.int64):
        again = posterior_limits(tables.astype(dtype))
        np.testing.assert_array_equal(again, limits)
    assert sum(asked) == 2 * (ODD.min(axis=1) < 5).sum()
    assert posterior_limits(tables[:, :0]).shape == (2, 0, 2)
    # Counts too large to pack four in one number.
    large = np.array([[70_000, 0, 3, 2_000], [300_000, 40_000, 50_000, 90_000], [9, 1, 1, 2]])
    of_large = posterior_limits(large)
    assert (np.diff(of_large) > 0).all()
    np.testing.assert_array_equal(posterior_limits(large[1:])[1], of_large[2])


def test_an_empty_table_has_no_limits() -> None:
    limits = posterior_limits([[0, 0, 0, 0], [30, 2, 3, 9]])
    np.testing.assert_array_equal(np.isnan(limits), [[True, True], [False, False]])
