"""Dirichlet rows in coordinates that stay of unit size, however small or large their parameters.

A row is a set of gamma variables over their sum. Those of small parameters fill hundreds of
logarithms, with an edge at one end, and those of large ones next to nothing: neither suits a chain
that learns the parameters besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

__all__ = ["LEAST", "base_draws", "log_shares"]

# Parameters of less are of this size: such a label has next to no share in either case.
LEAST = 1e-8
# Chosen so that the log density of a coordinate bends at most 2.4 times as much as that of a normal
# variable of its standard deviation, for gamma variables of any parameter from 1e-4 to 100; with
# the mean and variance of a logarithm in their place, up to 90 times: chains diverge there.
CENTRE, WIDTH = 0.2, 8.0
# Newton's steps to a coordinate; each but the last few goes about 1 further, over log(1 / LEAST).
N_STEPS = 60


def log_shares(name: str, parameters: Any, seen: Any, dims: tuple[str, ...]) -> Any:
    """Logarithms of Dirichlet rows; what the counts say of them only shapes the coordinates."""
    above = parameters + LEAST
    coordinate = pm.CustomDist(
        name,
        above,
        seen,
        logp=_log_density,
        random=_random,
        support_point=lambda rv, *_: pt.zeros_like(rv),
        signature="(label),(label)->(label)",
        class_name="DirichletCoordinate",
        dims=dims,
    )
    return pt.special.log_softmax(_place(coordinate, above + seen), axis=-1)


def base_draws(counts: Any, parameters: Any) -> Any:
    """About how many independent draws from a base are behind counts of rows around it."""
    return parameters * pt.log1p(counts / parameters)


def _place(coordinate: Any, shape: Any, of: Any = pt) -> Any:
    """Logarithm of a gamma variable from its coordinate."""
    softplus = pt.softplus(-coordinate) if of is pt else np.logaddexp(0, -coordinate)
    return of.log(shape + CENTRE) + coordinate / of.sqrt(shape + WIDTH) - softplus / shape


def _log_density(value: Any, parameters: Any, seen: Any) -> Any:
    """Of coordinates: a Dirichlet row, and of its gamma variables any sum, as if of all seen."""
    shape = parameters + seen
    place = _place(value, shape)
    slope = 1 / pt.sqrt(shape + WIDTH) + pt.sigmoid(-value) / shape
    log_sum = pt.logsumexp(place, axis=-1)
    total, number = parameters.sum(axis=-1), seen.sum(axis=-1)
    each = parameters * place + pt.log(slope) - pt.gammaln(parameters)
    constant = pt.gammaln(total) - pt.gammaln(total + number)
    return each.sum(axis=-1) + number * log_sum - pt.exp(log_sum) + constant


def _random(
    parameters: NDArray[np.floating],
    seen: NDArray[np.floating],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.float64]:
    """Draw a row, the sum of its gamma variables, and find the coordinates."""
    whole = np.broadcast_shapes(parameters.shape, seen.shape)
    if size is not None:
        whole = (*size, whole[-1])
    parameters, seen = np.broadcast_to(parameters, whole), np.broadcast_to(seen, whole)
    logs = np.log(rng.standard_gamma(parameters + 1))
    logs -= rng.standard_exponential(whole) / parameters
    logs -= np.logaddexp.reduce(logs, axis=-1, keepdims=True)
    sums = rng.standard_gamma((parameters + seen).sum(axis=-1, keepdims=True))
    return _coordinate(logs + np.log(np.maximum(sums, np.finfo(float).tiny)), parameters + seen)


def _coordinate(place: NDArray[np.floating], shape: NDArray[np.floating]) -> NDArray[np.float64]:
    """Inverse of `_place`, which is concave: from below Newton's steps never go too far."""
    slope = 1 / np.sqrt(shape + WIDTH)
    beyond = place - np.log(shape + CENTRE)
    at = np.where(beyond > 0, beyond / slope, beyond / (slope + 1 / shape))
    for _ in range(N_STEPS):
        # 1 / (1 + exp(at)), also where the exponential would overflow.
        below = np.exp(-np.logaddexp(0, at))
        at = at + (place - _place(at, shape, np)) / (slope + below / shape)
    return np.asarray(at)
