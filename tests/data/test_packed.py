"""Counts by bits against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from alikely.data.tables import all_cells, pack


def _plain(correct: NDArray[np.int8]) -> list[list[int]]:
    return [
        [int(((a == u) & (b == v)).sum()) for u, v in ((1, 1), (1, 0), (0, 1), (0, 0))]
        for a, b in itertools.combinations(correct, 2)
    ]


@settings(deadline=None, max_examples=60)
@given(
    hnp.arrays(
        np.int8, st.tuples(st.integers(2, 6), st.integers(1, 200)), elements=st.integers(-1, 1)
    )
)
def test_counts_and_answers_come_back(correct: NDArray[np.int8]) -> None:
    packed = pack(correct)
    assert all_cells(packed).tolist() == _plain(correct)
    assert (packed.unpacked(np.arange(len(correct))) == correct).all()
    assert packed.n_shown().tolist() == (correct >= 0).sum(axis=1).tolist()
    words = packed.right.shape[1]
    assert words == -(-correct.shape[1] // 64)


@pytest.mark.parametrize("n_observers", [64, 65, 130])
def test_jobs_meet_at_their_ends(n_observers: int) -> None:
    correct = np.random.default_rng(3).integers(-1, 2, (n_observers, 70)).astype(np.int8)
    assert all_cells(pack(correct)).tolist() == _plain(correct)
