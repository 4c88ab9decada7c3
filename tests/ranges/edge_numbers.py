"""Random numbers at the limits of their range, which rounding may exceed."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

# Each example is a seed, from which NumPy draws many cases.
SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)
# Number of cases of a quantity in one example.
N = 200


def assert_within(values: ArrayLike, low: float = 0.0, high: float = 1.0) -> None:
    """Assert that all defined values are exactly in the range, and some are defined."""
    array = np.asarray(values)
    known = array[~np.isnan(array)]
    assert known.size
    assert low <= known.min(), f"{known.min()!r} lies below {low}"
    assert known.max() <= high, f"{known.max()!r} lies above {high}"


def nearly(rng: np.random.Generator, values: ArrayLike) -> NDArray[np.float64]:
    """Numbers changed by some units in the last place."""
    array = np.asarray(values, dtype=np.float64)
    return array * (1 + np.finfo(np.float64).eps * rng.integers(-4, 5, array.shape))


def edges(rng: np.random.Generator, shape: Any = N) -> NDArray[np.float64]:
    """Probabilities, most of them near 0, 1, both, or one half."""
    small = 10.0 ** -rng.uniform(0, 18, shape)
    kind = rng.integers(0, 6, shape)
    return np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3, kind == 4],
        [np.zeros(shape), np.ones(shape), small, 1 - small, np.full(shape, 0.5)],
        rng.random(shape),
    )


def tables(rng: np.random.Generator, n_cells: int = 4, n: int = N) -> NDArray[np.float64]:
    """Tables of resampled weights, counts and probabilities; cells may be empty."""
    cells = rng.standard_gamma(0.3, (n, n_cells)) * rng.integers(0, 2, (n, n_cells))
    cells[::3] = rng.integers(0, 40, cells[::3].shape)
    # Two cells that differ only by rounding.
    pair = rng.integers(0, n_cells, 2)
    cells[1::3, pair[0]] = nearly(rng, cells[1::3, pair[1]])
    return cells * 10.0 ** rng.integers(-6, 7, (n, 1)) / 3


def shares(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """Distributions over the last axis, some concentrated on one class."""
    drawn = rng.standard_gamma(rng.choice([0.02, 0.3, 3]), shape)
    drawn[..., 0] += 1e-30
    return drawn / drawn.sum(axis=-1, keepdims=True)
