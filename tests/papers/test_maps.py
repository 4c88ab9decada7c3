"""Map of conditions: neighbors stay neighbors, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from alikely.papers.plots import condition_map

SMALL = pd.DataFrame([[0, 1, -1], [1, 0, 1], [-1, 1, 0]], list("abc"), list("abc"))


def test_map_keeps_neighbours() -> None:
    """Two clusters of conditions stay apart; the same seed gives the same map."""
    rng = np.random.default_rng(3)
    names = [f"c{i}" for i in range(24)]
    at = np.repeat([[0.0, 0.0], [8.0, 0.0]], 12, axis=0) + rng.normal(size=(24, 2))
    distances = pd.DataFrame(np.linalg.norm(at[:, None] - at, axis=-1), names, names)
    before = distances.copy()
    placed = condition_map(distances, perplexity=5, rng=1)
    pd.testing.assert_frame_equal(distances, before)
    assert placed["condition"].tolist() == names
    xy = placed[["x", "y"]].to_numpy()
    gaps = np.linalg.norm(xy[:, None] - xy, axis=-1) + np.diag(np.full(24, np.inf))
    nearest = gaps.argmin(axis=1)
    assert (nearest // 12 == np.arange(24) // 12).all()
    pd.testing.assert_frame_equal(placed, condition_map(distances, perplexity=5, rng=1))
    assert not placed.equals(condition_map(distances, perplexity=5, rng=2))


@pytest.mark.slow
def test_scikit_learn_is_loaded_for_maps_alone() -> None:
    code = "import sys, alikely.papers.plots; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"divergences": abs(SMALL)}, "above 0 and below the number of conditions, 3, got 15"),
        ({"divergences": abs(SMALL), "perplexity": 0}, "above 0 and below .*, 3, got 0"),
        ({"divergences": SMALL.replace(-1, np.nan)}, "the distance of 'a' and 'c' is nan; leave"),
        ({"divergences": SMALL, "perplexity": 2}, "'a' and 'c' is -1; map the divergence"),
    ],
)
def test_bad_input(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        condition_map(**given)
