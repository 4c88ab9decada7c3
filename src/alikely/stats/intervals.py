"""Intervals of draws, the same for every school of inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

from alikely._base.intervals import CiKind, bound_columns, check_interval

__all__ = ["defined_quantiles", "describe_draws", "interval"]


def interval(draws: NDArray[np.floating], ci_prob: float, ci_kind: CiKind) -> NDArray[np.float64]:
    """Interval of the defined draws of each entry."""
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
    """Quantiles of the defined draws of each entry, all entries at once."""
    ordered = np.sort(draws, axis=0)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=0) - 1, 0)[:, None]
    at = last * np.array(probabilities)
    low = np.floor(at).astype(np.intp)
    high = np.minimum(low + 1, last)
    entry = np.arange(draws.shape[1])[:, None]
    below, above = ordered[low, entry], ordered[high, entry]
    return np.asarray(below + (at - low) * (above - below), dtype=np.float64)


def describe_draws(
    draws: NDArray[np.floating],
    ci_prob: float,
    ci_kind: CiKind,
    rope: tuple[float, float] | None = None,
    estimate: float | None = None,
) -> dict[str, object]:
    """Row of a table about the draws of one number."""
    defined = draws[~np.isnan(draws)]
    row: dict[str, object] = {"undefined_share": 1 - len(defined) / len(draws)}
    if len(defined) < 2:
        return {**row, "estimate": np.nan, "note": "no defined draws"}
    bounds = interval(defined[:, None], ci_prob, ci_kind)[0]
    row["estimate"] = float(np.median(defined)) if estimate is None else estimate
    row["se"] = float(defined.std(ddof=1))
    row |= bound_columns("", ci_kind, ci_prob, bounds)
    row["p_positive"] = float(np.mean(defined > 0))
    if rope is not None:
        row["rope_mass"] = float(np.mean((defined > rope[0]) & (defined < rope[1])))
    return row
