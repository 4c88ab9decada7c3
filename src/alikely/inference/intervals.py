"""Intervals from draws and estimates, moments of defined values, corrections for multiplicity.

References
----------
.. [A13] Aldor-Noiman, Brown, Buja, Rolke, Stine (2013). The power to see: a new graphical test of
   normality. doi:10.1080/00031305.2013.847865
.. [BH95] Benjamini, Hochberg (1995). Controlling the false discovery rate.
   doi:10.1111/j.2517-6161.1995.tb02031.x
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
.. [SBV22] Säilynoja, Bürkner, Vehtari (2022). Graphical test for discrete uniformity and its
   applications in goodness-of-fit evaluation and multiple sample comparison.
   doi:10.1007/s11222-022-10090-6
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base import arrays
from alikely._base.arrays import Floats
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely.metrics.metric import Metric

# Uniform samples to compare with: p-values near 0.05 are then accurate to 0.005.
N_REFERENCE = 4_000
# Places at which the distribution function is looked at.
N_PLACES = 100
SEED = 20_770
OPEN = "human-human consistency does not differ from 0: the ratio to it is unbounded"


def interval(draws: NDArray[np.floating], ci_prob: float, ci_kind: CiKind) -> NDArray[np.float64]:
    """Interval of the defined draws of each entry."""
    check_interval(ci_prob, ci_kind)
    compute = array_stats.eti if ci_kind == "eti" else array_stats.hdi
    bounds = np.full((draws.shape[1], 2), np.nan)
    number = (~np.isnan(draws)).sum(axis=0)
    for n in np.unique(number[number > 1]):
        defined = draws[:, number == n]
        if n < len(draws):
            defined = np.sort(defined, axis=0)[:n]  # NaN last
        bounds[number == n] = compute(defined, ci_prob, axis=0)
    return bounds


def describe_draws(
    draws: NDArray[np.floating],
    ci_prob: float,
    ci_kind: CiKind,
    rope: tuple[float, float] | None = None,
    estimate: float | None = None,
) -> dict[str, object]:
    """Describe the draws of one quantity as a row of a table."""
    defined = draws[~np.isnan(draws)]
    row: dict[str, object] = {"frac_undefined": 1 - len(defined) / len(draws)}
    if len(defined) < 2:
        return {**row, "estimate": np.nan, "note": "no defined draws"}
    bounds = interval(defined[:, None], ci_prob, ci_kind)[0]
    row["estimate"] = float(np.median(defined)) if estimate is None else estimate
    row["se"] = float(defined.std(ddof=1))
    row |= bound_columns("", ci_kind, ci_prob, bounds)
    row["prob_positive"] = float(np.mean(defined > 0))
    if rope is not None:
        row["rope_mass"] = float(np.mean((defined > rope[0]) & (defined < rope[1])))
    return row


def analytic_interval(
    metric: Metric, estimate: NDArray[Any], se: NDArray[Any], deviate: float | NDArray[Any]
) -> Floats:
    """Normal interval on the metric's own scale, within its bounds."""
    value, half = np.asarray(estimate, np.float64), deviate * np.asarray(se, np.float64)
    if metric.scale == "identity":
        return within(metric, np.stack([value - half, value + half], axis=-1))
    low, high = (-1.0, 1.0) if metric.scale == "fisher" else metric.bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        # Fisher's z and the logit are one function on unlike ranges: a share of the way through.
        share = (value - low) / (high - low)
        center = np.log(share) - np.log1p(-share)
        half = half / ((high - low) * share * (1 - share))
        ends = np.stack([center - half, center + half], axis=-1)
        return np.asarray(low + (high - low) / (1 + np.exp(-ends)))


def within(metric: Metric, limits: Floats, weights: ArrayLike = 1.0) -> Floats:
    """Keep limits within the possible values of a metric, or of a weighted sum of metric values."""
    ends = np.multiply.outer(np.atleast_1d(weights).astype(float), metric.bounds)
    return np.clip(limits, ends.min(axis=1).sum(), ends.max(axis=1).sum())


def shares(value: NDArray[np.floating], ceiling: NDArray[np.floating]) -> Floats:
    """Replicates of a ratio, infinite where the denominator is not above 0."""
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
    """Interval of ratios; unbounded where the denominator does not differ from 0 [F54]_."""
    out = bounds(draws, ci_prob, ci_kind)
    out[open_ended & np.isfinite(draws).any(axis=0)] = -np.inf, np.inf
    return out


def mean_of_defined(values: ArrayLike, weights: ArrayLike = 1.0, axis: int = 0) -> Floats:
    """Weighted mean of the values that are defined."""
    array = np.asarray(values)
    defined = ~np.isnan(array)
    weight = np.where(defined, weights, 0.0)
    total = weight.sum(axis=axis, dtype=np.float64)
    out = np.full(total.shape, np.nan)
    sums = (weight * np.where(defined, array, 0.0)).sum(axis=axis, dtype=np.float64)
    np.divide(sums, total, out=out, where=total > 0)
    # A mean lies between what it is taken over, however its weights are rounded.
    least = array.min(initial=np.inf, where=defined)
    return arrays.within(out, least, array.max(initial=-np.inf, where=defined))


def adjusted_p_values(p: ArrayLike) -> NDArray[np.float64]:
    """Compute Benjamini-Hochberg adjusted p-values over all defined entries [BH95]_."""
    values = np.asarray(p, dtype=np.float64)
    out = np.full(values.shape, np.nan)
    defined = ~np.isnan(values)
    out[defined] = stats.false_discovery_control(values[defined])
    return out


def uniformity(values: ArrayLike) -> float:
    """Test whether numbers come from the uniform distribution on (0, 1) [A13]_ [SBV22]_."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError("values must be at least 2 numbers in [0, 1], in one dimension")
    reference = _reference_levels(len(array))
    # Levels are discrete: what is as unlikely counts, however it is rounded.
    as_unlikely = np.searchsorted(reference, _levels(array[None])[0] * (1 + 1e-9), side="right")
    return float((as_unlikely + 1) / (len(reference) + 1))


def rank_band(n: int, ci_prob: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Simultaneous band of the distribution function of n uniform numbers [SBV22]_."""
    if n < 2 or not 0 < ci_prob < 1:
        raise ValueError(f"n must be at least 2 and ci_prob between 0 and 1, got {n} and {ci_prob}")
    # The share 1 - ci_prob of samples, or fewer, is more unlikely than this.
    level = np.quantile(_reference_levels(n), 1 - ci_prob, method="lower")
    allowed = _tails(n) >= level * (1 - 1e-9)
    lower = allowed.argmax(axis=1)
    upper = n - allowed[:, ::-1].argmax(axis=1)
    return _places(n), lower / n, upper / n


def _places(n: int) -> Floats:
    k = min(n, N_PLACES)
    return np.arange(1, k) / k


@functools.lru_cache(maxsize=16)
def _tails(n: int) -> Floats:
    """Two-sided level of each number of values below each point: shape (point, n + 1)."""
    place, count = _places(n)[:, None], np.arange(n + 1)
    below = special.bdtr(count, n, place)
    above = 1 - np.concatenate([np.zeros((len(place), 1)), below[:, :-1]], axis=1)
    return np.asarray(2 * np.minimum(below, above))


def _levels(samples: Floats) -> Floats:
    """Level at the most unlikely point of each sample."""
    size, n = samples.shape
    place, tails = _places(n), _tails(n)
    # Numbers between one place and the next, of all samples at once, and from these how many are
    # at or below each place.
    width = len(place) + 1
    first = np.searchsorted(place, samples) + width * np.arange(size)[:, None]
    between = np.bincount(first.ravel(), minlength=size * width).reshape(size, width)
    below = between[:, :-1].cumsum(axis=1)
    return np.asarray(tails[np.arange(len(place)), below].min(axis=1))


@functools.lru_cache(maxsize=16)
def _reference_levels(n: int) -> Floats:
    rng = np.random.default_rng(SEED)
    blocks = [_levels(rng.random((50, n))) for _ in range(N_REFERENCE // 50)]
    return np.sort(np.concatenate(blocks))
