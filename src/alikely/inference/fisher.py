"""Fisher's exact test of ten million tables, far into the tail.

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
from alikely._base.compiled import can_compile
from alikely._base.parallel import at_most, in_parallel

__all__ = ["fisher_log10_p", "log_table_mass", "whole_counts"]

# Log probabilities of tables that are equally probable differ by rounding, never by this much.
ROUNDING = 1e-7
# Terms of a tail end below this share of their sum.
END = 1e-17
# Below this the rest of a log factorial comes from a table, from here on from a series.
SMALL = 16
REST = np.array([0.0] + [math.lgamma(n + 1) - n * math.log(n) + n for n in range(1, SMALL)])
# Tables held at a time by one worker.
BLOCK = 65_536
# Fewer tables than these are done before numba is imported.
FEW = 2_000
# Counts up to this have the rest of their log factorials in a table.
LONGEST = 1_000_000
SIDES = {"two-sided": 0, "greater": 1, "less": -1}


def fisher_log10_p(
    cells: ArrayLike,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
    *,
    workers: int | None = None,
) -> Floats:
    """Logarithm (base 10) of Fisher's exact p-value of independence."""
    if alternative not in SIDES:
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )
    counts = whole_counts(cells)
    flat = counts.reshape(-1, 4)
    out = np.empty(len(flat))
    rest = None if len(flat) < FEW or not can_compile() else _rests(flat)
    jobs = [
        (flat[start : start + BLOCK], rest, SIDES[alternative])
        for start in range(0, len(flat), BLOCK)
    ]
    with at_most(workers):
        for k, found in enumerate(in_parallel(_log_p, jobs)):
            out[k * BLOCK : k * BLOCK + len(found)] = found
    out /= math.log(10)
    return out.reshape(counts.shape[:-1])


def whole_counts(cells: ArrayLike) -> NDArray[np.integer]:
    """Whole numbers in fours, in the type they have: copies of ten million are no small thing."""
    counts = np.asarray(cells)
    if counts.ndim == 0 or counts.shape[-1] != 4:
        raise ValueError(
            f"cells must be n11, n10, n01, n00 on the last axis, got shape {counts.shape}"
        )
    if counts.dtype.kind not in "iu":
        raise ValueError(f"cells must be whole numbers, of an integer type; got {counts.dtype}")
    if counts.size and counts.min() < 0:
        raise ValueError(f"cells must not be negative, got {counts.min()}")
    return counts


def _rests(flat: NDArray[np.integer]) -> Floats:
    """What log n! has beyond n log n - n, up to the largest count of trials."""
    largest = 0
    for start in range(0, len(flat), BLOCK):
        largest = max(largest, int(flat[start : start + BLOCK].sum(axis=1, dtype=np.int64).max()))
    return _stirling(np.arange(max(SMALL, min(largest, LONGEST)) + 1.0))


def _log_p(flat: NDArray[np.integer], rest: Floats | None, alternative: int) -> Floats:
    """Natural logarithms of p-values: table by table in compiled loops, or column by column."""
    table = np.ascontiguousarray(flat, dtype=np.int64)
    if rest is not None:
        from alikely.inference.fisher_loops import log_tails

        out = np.empty(len(table))
        log_tails(table, rest, alternative, out)
        return out
    if alternative == 0:
        out = _log_both(table)
    else:
        out = _log_upper(table if alternative == 1 else table[:, [1, 0, 3, 2]])
    return np.where(table.sum(axis=1) == 0, np.nan, out)


def _mode(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Most probable overlap; int64 holds the product up to 3 billion trials."""
    n11, n10, n01, _ = table.T
    return np.asarray((n11 + n10 + 1) * (n11 + n01 + 1) // (table.sum(axis=1) + 2))


def _log_upper(table: NDArray[np.int64]) -> Floats:
    """Of all tables with this overlap or a larger one."""
    below = table[:, 0] < _mode(table)
    # Below the mode: what is left of 1 by the smaller overlaps.
    one_less = _with_overlap(table, np.full(len(table), -1))[:, [1, 0, 3, 2]]
    none = below & (one_less.min(axis=1) < 0)
    # What has no smaller overlap is certain, and its sum, which may overflow, not used.
    summed = np.where(none[:, None], 1, np.where(below[:, None], one_less, table))
    log_p = np.minimum(log_table_mass(summed) + np.log(_tail(summed)), 0.0)
    with np.errstate(divide="ignore"):
        left = np.log1p(-np.exp(log_p))
    return np.where(none, 0.0, np.where(below, left, log_p))


def _log_both(flat: NDArray[np.int64]) -> Floats:
    mode = _mode(flat)
    # Flip b's answers where needed: the observed overlap is then the mode or above.
    flip = flat[:, 0] < mode
    table = np.where(flip[:, None], flat[:, [1, 0, 3, 2]], flat)
    steps = np.abs(flat[:, 0] - mode)
    own = log_table_mass(table)
    # R and SciPy call tables equal that differ by rounding alone.
    limit = own + ROUNDING
    rarer = np.flatnonzero(limit < log_table_mass(_with_overlap(table, -steps)))
    table = table[rarer]
    log_p = np.zeros(len(flat))
    log_p[rarer] = own[rarer] + np.log(_tail(table))
    opposite = _with_overlap(table, -_steps_down(table, steps[rarer], limit[rarer]))
    reached = opposite.min(axis=1) >= 0
    down, rows = opposite[reached][:, [1, 0, 3, 2]], rarer[reached]
    log_p[rows] = np.logaddexp(log_p[rows], log_table_mass(down) + np.log(_tail(down)))
    return np.minimum(log_p, 0.0)


def _with_overlap(table: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tables of the same margins with so many more trials in n11."""
    return table + more[:, None] * np.array([1, -1, -1, 1])


def _steps_down(
    table: NDArray[np.int64], steps: NDArray[np.int64], limit: NDArray[np.float64]
) -> NDArray[np.int64]:
    """How far below lies the first table beyond the mode whose log mass is at most the limit."""
    near, far = steps, np.minimum(table[:, 0], table[:, 3]) + 1
    while (far - near > 1).any():
        middle = (near + far) // 2
        # Where both have met, the middle is the nearer: a table, whatever becomes of it.
        at_most = log_table_mass(_with_overlap(table, -middle)) <= limit
        near = np.where(at_most, near, middle)
        far = np.where(at_most & (middle > near), middle, far)
    return far


def log_table_mass(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log hypergeometric probability of tables given their margins."""
    n11, n10, n01, n00 = (column.astype(np.float64) for column in table.T)
    total = n11 + n10 + n01 + n00
    rows, columns = (n11 + n10, n01 + n00), (n11 + n01, n10 + n00)
    away = (table[:, 0] * table[:, 3] - table[:, 1] * table[:, 2]) / np.maximum(total, 1)
    out = sum(map(_stirling, (*rows, *columns))) - _stirling(total)
    signed = ((n11, 1, 0, 0), (n10, -1, 0, 1), (n01, -1, 1, 0), (n00, 1, 1, 1))
    for cell, sign, row, column in signed:
        expected = rows[row] * columns[column] / np.maximum(total, 1)
        ratio = np.divide(sign * away, expected, out=np.zeros_like(cell), where=expected > 0)
        # cell log(cell / expected) + expected - cell; the differences sum to 0 over cells.
        out -= expected * (special.xlog1py(1 + ratio, ratio) - ratio) + _stirling(cell)
    return np.asarray(out)


def _stirling(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """What log n! has beyond n log n - n."""
    inverse = 1 / np.maximum(n, SMALL)
    square = inverse**2
    # The next term is below 1e-16 from 16 on.
    series = inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    )
    large = np.log(2 * np.pi * np.maximum(n, SMALL)) / 2 + series
    return np.where(n < SMALL, REST[np.minimum(n, SMALL - 1).astype(np.intp)], large)


def _tail(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probability of these tables and all with a larger overlap, over their own probability."""
    n11, n10, n01, n00 = (column.astype(np.float64) for column in table.T)
    total, term = np.ones(len(table)), np.ones(len(table))
    out, left = np.empty(len(table)), np.arange(len(table))
    while len(left):
        # Some terms at a time, then without the tables that are done.
        for _ in range(16):
            term = term * (n10 * n01) / ((n11 + 1) * (n00 + 1))
            total = total + term
            n11, n10, n01, n00 = n11 + 1, n10 - 1, n01 - 1, n00 + 1
        going = term > END * total
        out[left[~going]] = total[~going]
        left, total, term = left[going], total[going], term[going]
        n11, n10, n01, n00 = (cell[going] for cell in (n11, n10, n01, n00))
    return out
