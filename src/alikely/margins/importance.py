"""Posterior of few parameters from the likelihoods of independent items, without chains.

References
----------
.. [BHHH74] Berndt, Hall, Hall, Hausman (1974). Estimation and inference in nonlinear structural
   models. Annals of Economic and Social Measurement 3, 653-665.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from alikely._base.arrays import Floats
from alikely.stats.importance import positive, second_derivatives

__all__ = [
    "Mode",
    "log_items",
    "posterior_mode",
    "scores_of_items",
]

ByItem = Callable[[Floats], Floats]
Prior = Callable[[Floats], Floats]
# Numbers that are held at a time, in draws times nodes.
CHUNK = 200_000
# Half the distance of differences that give slopes; all parameters are of the order of 1.
REACH = 0.05
STEPS = 30
LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])


class Mode(NamedTuple):
    """Where a posterior density is greatest."""

    at: Floats
    log_likelihood: float
    curvature: Floats
    prior_curvature: Floats
    slopes: Floats


def log_items(by_item: ByItem, at: Floats, n_nodes: int) -> Floats:
    """Log likelihood of all items, few draws at a time."""
    step = max(1, CHUNK // n_nodes)
    parts = [by_item(at[i : i + step]).sum(axis=1) for i in range(0, len(at), step)]
    return np.concatenate(parts)


def scores_of_items(by_item: ByItem, at: Floats, free: Floats) -> Floats:
    """Derivatives of each item's log likelihood, by central differences."""
    steps = REACH * np.diag(free)
    values = by_item(np.concatenate([at + steps, at - steps]))
    n = len(at)
    return np.asarray((values[:n] - values[n:]).T / (2 * REACH))


def posterior_mode(
    by_item: ByItem,
    log_prior: Prior,
    start: Floats,
    bounds: tuple[Floats, Floats],
    n_nodes: int,
    *,
    free: Floats | None = None,
    curved: bool = True,
) -> Mode:
    """Climb to the mode by outer products of items' slopes [BHHH74]_."""
    moves = np.ones(len(start)) if free is None else free
    held = np.diag(np.where(moves > 0, 0.0, 1.0))

    def density(points: Floats) -> Floats:
        return log_items(by_item, points, n_nodes) + log_prior(points)

    at = np.clip(start, *bounds)
    value = density(at[None])[0]
    for _ in range(STEPS):
        slopes = scores_of_items(by_item, at, moves)
        of_prior, prior_curvature = _prior_shape(log_prior, at, moves)
        gradient = slopes.sum(axis=0) + of_prior
        outer = slopes.T @ slopes + prior_curvature + held
        step = np.linalg.solve(outer + 1e-8 * np.trace(outer) * np.eye(len(at)), gradient)
        tried = np.clip(at + LENGTHS[:, None] * step, *bounds)
        found = density(tried)
        best = int(np.argmax(found))
        gain = found[best] - value
        if gain > 0:
            at, value = tried[best], found[best]
        if gain < 1e-3:
            break
    slopes = scores_of_items(by_item, at, moves)
    _, prior_curvature = _prior_shape(log_prior, at, moves)
    curvature = slopes.T @ slopes
    log_likelihood = float(value - log_prior(at[None])[0])
    if curved:
        reach = 0.4 / np.sqrt(np.diag(curvature + prior_curvature) + 1.0)
        second = second_derivatives(lambda x: log_items(by_item, x, n_nodes), at, reach)
        curvature = positive(-second + prior_curvature, reach) - prior_curvature
    return Mode(at, log_likelihood, curvature, prior_curvature, slopes)


def _prior_shape(log_prior: Prior, at: Floats, free: Floats) -> tuple[Floats, Floats]:
    """Slope and (diagonal) curvature of independent priors."""
    steps = REACH * np.diag(free)
    values = log_prior(np.concatenate([at + steps, at - steps, at[None]]))
    n = len(at)
    above, below, here = values[:n], values[n : 2 * n], values[-1]
    curvature = np.maximum(-(above + below - 2 * here) / REACH**2, 0.0)
    return (above - below) / (2 * REACH), np.diag(curvature)
