"""Intervals of draws, the same for every school of inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

__all__ = ["CiKind", "check_interval", "defined_quantiles", "interval"]

CiKind = Literal["eti", "hdi"]


def check_interval(ci_prob: float, ci_kind: str) -> None:
    """Refuse a probability outside (0, 1) or an unknown kind of interval."""
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must lie strictly between 0 and 1, got {ci_prob}; try 0.95")
    if ci_kind not in ("eti", "hdi"):
        raise ValueError(f"ci_kind must be 'eti' or 'hdi', got {ci_kind!r}")


def interval(draws: NDArray[np.floating], ci_prob: float, ci_kind: CiKind) -> NDArray[np.float64]:
    """Interval of the defined draws of each entry.

    Parameters
    ----------
    draws : ndarray, shape (draw, entry)
        NaN draws (undefined) are left out; their share is for the caller to report.
    ci_prob : float
        In (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.

    Returns
    -------
    ndarray, shape (entry, 2)
        NaN where fewer than two draws are defined.
    """
    check_interval(ci_prob, ci_kind)
    compute = array_stats.eti if ci_kind == "eti" else array_stats.hdi
    bounds = np.full((draws.shape[1], 2), np.nan)
    undefined = np.isnan(draws).sum(axis=0)
    complete = undefined == 0
    if complete.any():
        bounds[complete] = compute(draws[:, complete], ci_prob, axis=0)
    for entry in np.flatnonzero(~complete & (undefined < len(draws) - 1)):
        column = draws[:, entry]
        bounds[entry] = compute(column[~np.isnan(column)], ci_prob)
    return bounds


def defined_quantiles(
    draws: NDArray[np.floating], probabilities: Sequence[float]
) -> NDArray[np.float64]:
    """Quantiles of the defined draws of each entry, all entries at once.

    Parameters
    ----------
    draws : ndarray, shape (draw, entry)
        NaN draws are left out.
    probabilities : sequence of float
        In [0, 1].

    Returns
    -------
    ndarray, shape (entry, probability)
        NaN where no draw is defined.
    """
    ordered = np.sort(draws, axis=0)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=0) - 1, 0)[:, None]
    at = last * np.array(probabilities)
    low = np.floor(at).astype(np.intp)
    high = np.minimum(low + 1, last)
    entry = np.arange(draws.shape[1])[:, None]
    below, above = ordered[low, entry], ordered[high, entry]
    return np.asarray(below + (at - low) * (above - below), dtype=np.float64)
