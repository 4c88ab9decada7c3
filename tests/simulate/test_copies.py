"""Copied sequences: cells against the copy model in closed form, and their spread."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.metrics import error_consistency


@pytest.mark.parametrize(("copying", "own"), [(0.5, 0.75), (0.9, 0.2), (-0.4, 0.6), (0.0, 0.5)])
def test_cells_are_those_of_the_copy_model(copying: float, own: float) -> None:
    n, sets = 400, 300
    reference = np.arange(n) < 0.75 * n
    made = al.simulate.copied_trials(reference, copying, own, size=sets, rng=1).astype(bool)
    cells = np.stack(
        [(a & b).sum(axis=1) for a in (reference, ~reference) for b in (made, ~made)], axis=-1
    )
    p = al.simulate.copy_cell_probabilities(0.75, copying, own)
    error = np.sqrt(p * (1 - p) / (n * sets))
    np.testing.assert_array_less(np.abs(cells.mean(axis=0) / n - p), 4 * error + 1e-12)
    # Given the reference, right answers of either kind are binomial.
    for wins, of in ((cells[:, 0], 300), (cells[:, 2], 100)):
        share = wins.mean() / of
        expected = of * share * (1 - share)
        # The variance of 300 counts is off by a share of sqrt(2 / 300).
        assert wins.var() == pytest.approx(expected, rel=4 * np.sqrt(2 / sets), abs=1e-9)


def test_a_fixed_number_of_copies_spreads_less() -> None:
    """What a simulator that copies exactly half of the trials leaves out."""
    rng = np.random.default_rng(2)
    n, sets = 400, 4_000
    reference = (rng.random((sets, n)) < 0.75).astype(int)
    ours = np.stack(
        [al.simulate.copied_trials(r, 0.5, 0.75, rng=i) for i, r in enumerate(reference)]
    )
    half = np.argsort(rng.random((sets, n)), axis=1) < n // 2
    fixed = np.where(half, reference, rng.random((sets, n)) < 0.75)

    def spread(made: np.ndarray) -> float:
        right = reference.astype(bool)
        b = made.astype(bool)
        cells = [(x & y).sum(axis=1) for x in (right, ~right) for y in (b, ~b)]
        return float(error_consistency(np.stack(cells, axis=-1)).std())

    # Either spread is off by 1 / sqrt(2 sets), 1.1 %.
    assert 0.78 < spread(fixed) / spread(ours) < 0.91


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"reference must hold 1 \(right\) and 0"):
        al.simulate.copied_trials([1, 2], 0.5, 0.5)
    with pytest.raises(ValueError, match=r"copy_probability must lie in \[-1, 1\], got 1.5"):
        al.simulate.copied_trials([1, 0], 1.5, 0.5)
    with pytest.raises(ValueError, match=r"own_accuracy must lie in \[0, 1\], got -0.1"):
        al.simulate.copied_trials([1, 0], 0.5, -0.1)
    with pytest.raises(
        ValueError, match=r"copy_probability must be one number, got \[0\.4, 0\.5\]"
    ):
        al.simulate.copied_trials([1, 0], [0.4, 0.5], 0.5)  # type: ignore[arg-type]
    for size in (2.5, -1, (3, 1.5)):
        with pytest.raises(ValueError, match="size must be whole numbers, at least 0, got"):
            al.simulate.copied_trials([1, 0], 0.5, 0.5, size=size)  # type: ignore[arg-type]


def test_sizes_of_numpy_are_sizes() -> None:
    found = al.simulate.copied_trials([1, 0], 0.5, np.float64(0.5), size=np.int64(3), rng=1)
    np.testing.assert_array_equal(found, al.simulate.copied_trials([1, 0], 0.5, 0.5, size=3, rng=1))
