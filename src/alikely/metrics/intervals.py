"""Analytic intervals on the scale of a metric, and its possible values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely.metrics.metric import Metric

__all__ = ["analytic_interval", "within"]


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
    """Keep limits within the possible values of a metric, or of a weighted sum of it."""
    ends = np.multiply.outer(np.atleast_1d(weights).astype(float), metric.bounds)
    return np.clip(limits, ends.min(axis=1).sum(), ends.max(axis=1).sum())
