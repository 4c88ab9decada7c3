"""Shares of what humans reach among themselves: their draws and intervals.

References
----------
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.intervals import CiKind
from alikely.stats.intervals import interval

__all__ = ["OPEN", "bounds", "share_bounds", "shares"]


OPEN = "the humans' own agreement cannot be told from 0: a share of it may be anything"


def shares(value: NDArray[np.floating], ceiling: NDArray[np.floating]) -> Floats:
    """Replicates of a ratio, infinite where what it is a share of is not above 0."""
    top, below = np.broadcast_arrays(
        np.asarray(value, dtype=np.float64), np.asarray(ceiling, dtype=np.float64)
    )
    out = np.copysign(np.inf, top)
    np.divide(top, below, out=out, where=below > 0)
    return np.where(np.isnan(top) | np.isnan(below), np.nan, out)


def bounds(draws: NDArray[np.floating], ci_prob: float, ci_kind: CiKind) -> Floats:
    """Interval of the defined draws, which may be infinite."""
    out = np.full((draws.shape[1], 2), np.nan)
    # What is undefined in all entries at once is quicker to leave out here.
    draws = draws[~np.isnan(draws).all(axis=1)]
    infinite = np.isinf(draws).any(axis=0)
    if len(draws) < 2:
        return out
    out[~infinite] = interval(draws[:, ~infinite], ci_prob, ci_kind)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    for entry in np.flatnonzero(infinite):
        known = draws[~np.isnan(draws[:, entry]), entry]
        # Between two infinite draws there is nothing to interpolate, and no shortest interval.
        out[entry] = np.quantile(known, tails, method="inverted_cdf")
    return out


def share_bounds(
    draws: NDArray[np.floating], open_ended: NDArray[np.bool_], ci_prob: float, ci_kind: CiKind
) -> Floats:
    """Interval of shares: the whole line where their ceiling cannot be told from 0 [F54]_."""
    out = bounds(draws, ci_prob, ci_kind)
    out[open_ended & np.isfinite(draws).any(axis=0)] = -np.inf, np.inf
    return out
