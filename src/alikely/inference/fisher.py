"""Fisher's exact test for millions of tables, accurate far into the tail.

References
----------
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel

# Below this the rest of a log factorial comes from a table, from here on from a series.
SMALL = 16
REST = np.array([0.0] + [math.lgamma(n + 1) - n * math.log(n) + n for n in range(1, SMALL)])
# Tables held at a time by one worker.
BLOCK = 65_536
# Counts up to this have the rest of their log factorials in a table.
LONGEST = 1_000_000
SIDES = {"two-sided": 0, "greater": 1, "less": -1}


def fisher_log10_p(
    cells: ArrayLike,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
) -> Floats:
    """Logarithm (base 10) of Fisher's exact p-value of independence."""
    if alternative not in SIDES:
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )
    from alikely.inference.count_loops import log_tails

    counts = whole_counts(cells)
    flat = counts.reshape(-1, 4)
    out = np.empty(len(flat))
    rest, side = _rests(flat), SIDES[alternative]

    def log_p(part: NDArray[np.integer]) -> Floats:
        found = np.empty(len(part))
        log_tails(np.ascontiguousarray(part, dtype=np.int64), rest, side, found)
        return found

    jobs = [(flat[start : start + BLOCK],) for start in range(0, len(flat), BLOCK)]
    for k, found in enumerate(in_parallel(log_p, jobs)):
        out[k * BLOCK : k * BLOCK + len(found)] = found
    out /= math.log(10)
    return out.reshape(counts.shape[:-1])


def whole_counts(cells: ArrayLike) -> NDArray[np.integer]:
    """Check whole numbers in fours, without copying them."""
    counts = np.asarray(cells)
    if counts.ndim == 0 or counts.shape[-1] != 4:
        raise ValueError(
            f"cells must be n11, n10, n01, n00 on the last axis, got shape {counts.shape}"
        )
    if counts.dtype.kind not in "iu":
        raise ValueError(f"cells must be whole numbers of an integer type, got {counts.dtype}")
    if counts.size and counts.min() < 0:
        raise ValueError(f"cells must not be negative, got {counts.min()}")
    return counts


def _rests(flat: NDArray[np.integer]) -> Floats:
    """Remainder of log n! beyond n log n - n, up to the largest count of trials."""
    largest = 0
    for start in range(0, len(flat), BLOCK):
        largest = max(largest, int(flat[start : start + BLOCK].sum(axis=1, dtype=np.int64).max()))
    return _stirling(np.arange(max(SMALL, min(largest, LONGEST)) + 1.0))


def log_table_mass(table: NDArray[np.int64]) -> Floats:
    """Log hypergeometric probability of tables given their margins."""
    square = table.reshape(-1, 2, 2)
    n = table.sum(axis=1, keepdims=True)
    log_factorial = special.gammaln(np.arange(n.max(initial=0) + 1) + 1.0)
    margins = log_factorial[square.sum(axis=1)] + log_factorial[square.sum(axis=2)]
    return np.asarray(margins.sum(axis=1) - log_factorial[np.hstack([table, n])].sum(axis=1))


def _stirling(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Remainder of log n! beyond n log n - n."""
    inverse = 1 / np.maximum(n, SMALL)
    square = inverse**2
    # The next term is below 1e-16 from 16 on.
    series = inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    )
    large = np.log(2 * np.pi * np.maximum(n, SMALL)) / 2 + series
    return np.where(n < SMALL, REST[np.minimum(n, SMALL - 1).astype(np.intp)], large)
