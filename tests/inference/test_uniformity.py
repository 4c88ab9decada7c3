"""Bands of uniform numbers: what is counted, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from alikely.inference import intervals as bands


@pytest.mark.parametrize("n", [2, 7, 150])
def test_levels_are_those_of_counts_one_by_one(n: int) -> None:
    """Also of numbers that lie on the places, which are at or below them."""
    rng = np.random.default_rng(n)
    place = bands._places(n)
    samples = rng.random((6, n))
    samples[1:4] = rng.choice(np.concatenate([[0.0, 1.0], place]), (3, n))
    tails = bands._tails(n)
    for sample, level in zip(samples, bands._levels(samples), strict=True):
        below = [int((sample <= at).sum()) for at in place]
        assert level == min(tails[k, count] for k, count in enumerate(below))
