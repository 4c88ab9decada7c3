"""Log likelihood of repeated answers with a normal deviation of their own integrated out, tabled.

References
----------
.. [dB01] de Boor (2001). A practical guide to splines. doi:10.1007/978-1-4612-6333-3
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from scipy import special
from scipy.interpolate import CubicSpline

from alikely._base.arrays import Floats
from alikely.models._strengths import GRID, Link, log_odds_spline

__all__ = ["log_likelihood", "table"]

# Knots over strength, in units of noise, and over the inverse hyperbolic sine of the deviation's
# spread, which is that spread where it is small and its logarithm where it is large. Beyond the
# last ones are straight lines, which is how log likelihoods go on.
STEP = 1 / 4
STRENGTHS = np.arange(-20, 20 + STEP / 2, STEP)
SPREAD_STEP = 1 / 8
SPREADS = np.arange(0, 3.75 + SPREAD_STEP / 2, SPREAD_STEP)


class Table(NamedTuple):
    """Piecewise bicubic log likelihoods [dB01]_."""

    coefficients: Floats
    first: Any


@functools.lru_cache(maxsize=16)
def table(shown: tuple[int, ...], m: int, link: Link) -> Table:
    """Log likelihoods of all numbers of right answers, exact to 1e-5 where strengths are."""
    first = np.full(max(shown) + 1, -1)
    values: list[Floats] = []
    for n in shown:
        first[n] = len(values)
        values += list(_integrated(n, m, link))
    flat = np.stack(values)
    by_strength = _pieces(flat, STRENGTHS, "natural")
    # Spreads of opposite sign are the same: no slope at 0.
    both = _pieces(np.moveaxis(by_strength, 2, -1), SPREADS, ("clamped", "natural"))
    # From (power of spread, power of strength, outcome, piece of strength, piece of spread).
    return Table(np.ascontiguousarray(np.moveaxis(both, -1, 3)), first)


def log_likelihood(
    right: Any, shown: Any, strength: Any, deviation: Any, tabled: tuple[int, ...], m: int,
    link: Link,
) -> Any:  # fmt: skip
    """Log probability of right answers, orders apart, whose strengths deviate alike."""
    coefficients, first = table(tabled, m, link)
    _, _, n_outcomes, n_spreads, n_strengths = coefficients.shape
    across, x = _piece(strength, STRENGTHS[0], STEP, n_strengths)
    along, t = _piece(_arcsinh(deviation), SPREADS[0], SPREAD_STEP, n_spreads)
    # Counts that cannot be have no place; the model refuses them.
    outcome = pt.clip(pt.constant(first)[shown] + right, 0, n_outcomes - 1)
    at = (outcome * n_spreads + along) * n_strengths + across
    total = 0.0
    for power in range(4):
        line = 0.0
        for of_spread in coefficients[:, power]:
            line = line * t + pt.constant(of_spread.ravel())[at]
        total = total * x + line
    return total


def _piece(value: Any, start: float, step: float, n_pieces: int) -> tuple[Any, Any]:
    """Number of the piece, and the distance from where it begins in steps; ends go on for ever."""
    # One piece more stands before the first knot.
    place = (value - start) / step + 1
    piece = pt.cast(pt.clip(place, 0, n_pieces - 1), "int64")
    return piece, place - piece


def _arcsinh(x: Any) -> Any:
    # Of a number above 0, in functions that the interpreter knows.
    return pt.log(x + pt.sqrt(x**2 + 1))


def _integrated(n: int, m: int, link: Link) -> Floats:
    """Log likelihoods by number of right answers, shape (outcome, spread, strength)."""
    k = np.arange(n + 1)
    out = np.empty((n + 1, len(SPREADS), len(STRENGTHS)))
    for j, spread in enumerate(np.sinh(SPREADS)):
        # Likelihoods are no narrower than a normal density for each answer; the deviation that
        # explains them best is no further away than one from the end of the strengths.
        weight = n * spread**2
        far = 8 + STRENGTHS[-1] * n * spread / (1 + weight)
        step = 0.5 / np.sqrt(1 + weight)
        e = np.arange(-far, far + step, step)
        odds = _log_odds(STRENGTHS[:, None] + spread * e, m, link)
        right, wrong = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
        density = np.log(step / np.sqrt(2 * np.pi)) - e**2 / 2
        for outcome in k:
            joint = outcome * right + (n - outcome) * wrong + density
            out[outcome, j] = special.logsumexp(joint, axis=-1)
    return out


def _log_odds(strength: Floats, m: int, link: Link) -> Floats:
    """As `alikely.models._strengths.log_odds`, in NumPy."""
    curve = log_odds_spline(m, link)
    inside = np.clip(strength, GRID[0], GRID[-1])
    slopes = curve(GRID[[0, -1]], 1)
    beyond = (strength - inside) * np.where(strength > 0, slopes[1], slopes[0])
    return np.asarray(curve(inside) + beyond)


def _pieces(values: Floats, knots: Floats, ends: Any) -> Floats:
    """Cubic pieces along the last axis, straight ones before and behind: (power, ..., piece)."""
    curve = CubicSpline(knots, values, axis=-1, bc_type=ends)
    step = knots[1] - knots[0]
    # From (power, piece, ...), in units of steps.
    inner = np.moveaxis(curve.c, 1, -1) * step ** np.arange(3, -1, -1).reshape(
        -1, *[1] * values.ndim
    )
    zero = np.zeros(values.shape[:-1])
    low, high = (curve(knots[end], 1) * step for end in (0, -1))
    before = np.stack([zero, zero, low, values[..., 0] - low])
    behind = np.stack([zero, zero, high, values[..., -1]])
    return np.concatenate([before[..., None], inner, behind[..., None]], axis=-1)
