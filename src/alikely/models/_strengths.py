"""Latent item strengths of counts of correct responses: log odds, coordinates and checks.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from alikely.metrics.alternatives import (
    check_task,
    m_afc_log_probability,
)
from alikely.metrics.margins import FEWEST_ITEMS

__all__ = [
    "FLOOR",
    "GRID",
    "arcsinh",
    "check_counts",
    "check_margins",
    "check_task",
    "expected_strength",
    "log_odds",
    "log_odds_spline",
    "one_sided",
    "refuse_extremes",
    "seen_strength",
]

# Strengths are never known to be the same: keeps the density of their difference bounded.
FLOOR = 1e-6
STEP = 1 / 16
GRID = np.arange(-30, 30 + STEP, STEP)


@functools.lru_cache(maxsize=16)
def log_odds_spline(n_alternatives: int) -> CubicSpline:
    """Spline of the log odds of a correct response over strength, accurate to 1e-6."""
    right, wrong = m_afc_log_probability(GRID, n_alternatives)
    return CubicSpline(GRID, right - wrong)


def log_odds(strength: Any, n_alternatives: int) -> Any:
    """Log odds of a correct response, linear beyond the grid."""
    curve = log_odds_spline(n_alternatives)
    inside = pt.clip(strength, GRID[0], GRID[-1])
    piece = pt.cast(pt.clip((inside - GRID[0]) / STEP, 0, len(GRID) - 2), "int64")
    x = inside - pt.constant(GRID)[piece]
    cubic, square, line, start = (pt.constant(row)[piece] for row in curve.c)
    slopes = curve(GRID[[0, -1]], 1)
    beyond = (strength - inside) * pt.switch(strength > 0, slopes[1], slopes[0])
    return ((cubic * x + square) * x + line) * x + start + beyond


def expected_strength(margins: NDArray[np.float64], mean: Any, sd: Any, rho: Any) -> Any:
    """Expected strengths given a model's margins; adds the likelihood of the margins."""
    x = pm.Data("margins", margins, dims="item")
    z = (x - x.mean()) / x.std()
    center = pm.Normal("margin_mean", 0, 1)
    width = pm.HalfNormal("margin_sd", 2)
    pm.Normal("observed_margins", center, width, observed=z, dims="item")
    return mean + sd * rho * (z - center) / width


def seen_strength(right: Any, shown: Any, n_alternatives: int) -> tuple[Any, Any]:
    """Empirical strengths from the counts, and their approximate information."""
    # Strength is nearly linear in the log odds of a right answer.
    intercept, slope = _line(n_alternatives)
    share = (right + 0.5) / (shown + 1)
    strength = (pt.log(share) - pt.log1p(-share) - intercept) / slope
    return strength, shown * share * (1 - share) * slope**2


def one_sided(right: Any, shown: Any, seen: Any, information: Any, expected: Any) -> Any:
    """Information on strengths, given their expected values."""
    above = pt.switch(pt.eq(right, shown), seen - expected, expected - seen)
    extreme = pt.eq(right, 0) | pt.eq(right, shown)
    return information * pt.switch(extreme, pt.sigmoid(above), 1)


def arcsinh(x: Any) -> Any:
    """Inverse hyperbolic sine, exact for large numbers of either sign; of slope 1 at 0."""
    below = pt.lt(x, 0)
    size = pt.switch(below, -x, x)
    value = pt.log(size + pt.sqrt(size**2 + 1))
    return pt.switch(below, -value, value)


def _line(n_alternatives: int) -> tuple[float, float]:
    """Intercept and slope of the log odds of a correct response for typical strengths."""
    at = np.linspace(0, 4, 41)
    slope, intercept = np.polyfit(at, log_odds_spline(n_alternatives)(at), 1)
    return float(intercept), float(slope)


def check_counts(
    right: ArrayLike, shown: ArrayLike, wanted: str, n_dims: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Raise an error for invalid counts, with items on the last axis."""
    k, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    if k.shape != n.shape or k.ndim != n_dims:
        raise ValueError(f"right and shown must have shape {wanted}; got {k.shape} and {n.shape}")
    if k.shape[-1] < FEWEST_ITEMS:
        raise ValueError(
            f"a correlation over items needs at least {FEWEST_ITEMS} items, got {k.shape[-1]}"
        )
    for name, values in (("right", k), ("shown", n)):
        if not (np.isfinite(values) & (values == np.round(values))).all():
            bad = values[~(np.isfinite(values) & (values == np.round(values)))].flat[0]
            raise ValueError(f"{name} must be whole numbers, got {bad:g}")
    if (bad := (k < 0) | (k > n)).any():
        raise ValueError(
            f"correct responses must be between 0 and shown, got {k[bad][0]:g} of {n[bad][0]:g}"
        )
    return k.astype(np.int64), n.astype(np.int64)


def refuse_extremes(right: NDArray[np.int64], shown: NDArray[np.int64]) -> None:
    """Raise an error for groups with all or no responses correct on each item."""
    if ((right == 0) | (right == shown)).all(axis=-1).any():
        raise ValueError(
            "all responses of a group to an item are the same, for each item, so strengths are "
            "unbounded; give counts of several responses per item"
        )


def check_margins(margins: ArrayLike, n_items: int) -> NDArray[np.float64]:
    x = np.asarray(margins, dtype=np.float64)
    if x.shape != (n_items,):
        raise ValueError(
            f"margins must have one value for each of {n_items} items, got shape {x.shape}"
        )
    if not np.isfinite(x).all():
        item = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ValueError(f"the margin of item {item} is {x[item]}; leave the item out everywhere")
    if np.ptp(x) == 0:
        raise ValueError(f"all margins are {x[0]:g}, and a constant has no correlation; check them")
    return x
