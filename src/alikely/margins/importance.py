"""Posterior of few parameters from the likelihoods of independent items, without chains.

References
----------
.. [BHHH74] Berndt, Hall, Hall, Hausman (1974). Estimation and inference in nonlinear structural
   models. Annals of Economic and Social Measurement 3, 653-665.
.. [C08] Cappé, Douc, Guillin, Marin, Robert (2008). Adaptive importance sampling in general mixture
   classes. doi:10.1007/s11222-008-9059-x
.. [O98] Owen (1998). Scrambling Sobol' and Niederreiter-Xing points. doi:10.1006/jcom.1998.0487
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special, stats
from scipy.stats import qmc

from alikely._base.arrays import Floats

__all__ = [
    "Mode",
    "Weighted",
    "importance_draws",
    "log_items",
    "positive",
    "posterior_mode",
    "scores_of_items",
    "second_derivatives",
]

ByItem = Callable[[Floats], Floats]
Prior = Callable[[Floats], Floats]
# Numbers that are held at a time, in draws times nodes.
CHUNK = 200_000
# Half the distance of differences that give slopes; all parameters are of the order of 1.
REACH = 0.05
STEPS = 30
LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])
DF = 5
ENOUGH = 0.35
ROUNDS = 5


class Mode(NamedTuple):
    """Where a posterior density is greatest.

    Attributes
    ----------
    at : ndarray, shape (parameter,)
        Its place.
    log_likelihood : float
        There.
    curvature, prior_curvature : ndarray, shape (parameter, parameter)
        Minus the second derivatives of log likelihood and log prior.
    slopes : ndarray, shape (item, parameter)
        First derivatives of each item's log likelihood.
    """

    at: Floats
    log_likelihood: float
    curvature: Floats
    prior_curvature: Floats
    slopes: Floats


class Weighted(NamedTuple):
    """Weighted draws of a posterior.

    Attributes
    ----------
    values : ndarray, shape (draw, parameter)
        Draws.
    weights : ndarray, shape (draw,)
        They sum to 1.
    spare : ndarray, shape (draw,)
        Evenly spread numbers in (0, 1) that have nothing to do with the draws.
    efficiency : float
        Effective share of the draws.
    """

    values: Floats
    weights: Floats
    spare: Floats
    efficiency: float


def log_items(by_item: ByItem, at: Floats, n_nodes: int) -> Floats:
    """Log likelihood of all items, few draws at a time.

    Parameters
    ----------
    by_item : callable
        Log likelihoods (draw, item) of parameters (draw, parameter).
    at : ndarray, shape (draw, parameter)
        Parameters.
    n_nodes : int
        Numbers that each draw needs.

    Returns
    -------
    ndarray, shape (draw,)
    """
    step = max(1, CHUNK // n_nodes)
    parts = [by_item(at[i : i + step]).sum(axis=1) for i in range(0, len(at), step)]
    return np.concatenate(parts)


def scores_of_items(by_item: ByItem, at: Floats, free: Floats) -> Floats:
    """Derivatives of each item's log likelihood, by central differences.

    Parameters
    ----------
    by_item : callable
        As in `log_items`.
    at : ndarray, shape (parameter,)
        Where.
    free : ndarray, shape (parameter,)
        1 for parameters to move along, 0 for those that are held.

    Returns
    -------
    ndarray, shape (item, parameter)
    """
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
    """Climb to the mode by outer products of items' slopes [BHHH74]_.

    Parameters
    ----------
    by_item : callable
        As in `log_items`.
    log_prior : callable
        Log prior densities (draw,) of parameters (draw, parameter).
    start : ndarray, shape (parameter,)
        Where to begin.
    bounds : (ndarray, ndarray)
        Least and greatest values.
    n_nodes : int
        As in `log_items`.
    free : ndarray, shape (parameter,), optional
        0 for parameters that are held where they start; all move if not given.
    curved : bool
        Work out the second derivatives; otherwise they are outer products of slopes.

    Returns
    -------
    Mode
    """
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


def importance_draws(
    log_target: Prior, centre: Floats, covariance: Floats, n_draws: int, seed: np.random.Generator
) -> Weighted:
    """Draws by importance from Student's t, refitted where it does not fit [C08]_ [O98]_.

    Parameters
    ----------
    log_target : callable
        Log densities (draw,) of parameters (draw, parameter); minus infinity where there is none.
    centre, covariance : ndarray
        Of a normal approximation.
    n_draws : int
        A power of 2.
    seed : numpy.random.Generator
        Scrambles the points.

    Returns
    -------
    Weighted
    """
    n = len(centre)
    best: Weighted | None = None
    for _ in range(ROUNDS):
        points = qmc.Sobol(n + 2, rng=seed).random(n_draws)
        points = np.clip(points, 1e-9, 1 - 1e-9)
        z = special.ndtri(points[:, :n])
        stretch = np.sqrt(DF / stats.chi2.ppf(points[:, n], DF))
        root = np.linalg.cholesky(covariance)
        values = centre + stretch[:, None] * z @ root.T
        square = (z**2).sum(axis=1) * stretch**2
        log_proposal = -(DF + n) / 2 * np.log1p(square / DF)
        log_weights = log_target(values) - log_proposal
        weights = _normal(log_weights)
        efficiency = 1 / (weights**2).sum() / n_draws
        if best is None or efficiency > best.efficiency:
            best = Weighted(values, weights, points[:, n + 1], efficiency)
        if efficiency >= ENOUGH:
            break
        tempered = weights
        for power in (0.7, 0.5, 0.35, 0.25, 0.15, 0.1):
            if 1 / (tempered**2).sum() >= ENOUGH * n_draws:
                break
            tempered = _normal(power * log_weights)
        centre = tempered @ values
        around = values - centre
        covariance = (tempered[:, None] * around).T @ around + 1e-9 * np.eye(n)
    assert best is not None
    return best


def _normal(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _prior_shape(log_prior: Prior, at: Floats, free: Floats) -> tuple[Floats, Floats]:
    """Slope and (diagonal) curvature of independent priors."""
    steps = REACH * np.diag(free)
    values = log_prior(np.concatenate([at + steps, at - steps, at[None]]))
    n = len(at)
    above, below, here = values[:n], values[n : 2 * n], values[-1]
    curvature = np.maximum(-(above + below - 2 * here) / REACH**2, 0.0)
    return (above - below) / (2 * REACH), np.diag(curvature)


def second_derivatives(function: Prior, at: Floats, reach: Floats) -> Floats:
    """Second derivatives by differences.

    Parameters
    ----------
    function : callable
        Numbers (draw,) of parameters (draw, parameter).
    at : ndarray, shape (parameter,)
        Where.
    reach : ndarray, shape (parameter,)
        Half the distance of the differences.

    Returns
    -------
    ndarray, shape (parameter, parameter)
    """
    n = len(at)
    steps = np.diag(reach)
    rows, columns = np.triu_indices(n, 1)
    mixed = np.concatenate(
        [at + a * steps[rows] + b * steps[columns] for a in (1, -1) for b in (1, -1)]
    )
    values = function(np.concatenate([at[None], at + steps, at - steps, mixed]))
    here, above, below = values[0], values[1 : n + 1], values[n + 1 : 2 * n + 1]
    out = np.diag((above + below - 2 * here) / reach**2)
    pp, pm, mp, mm = values[2 * n + 1 :].reshape(4, -1)
    out[rows, columns] = out[columns, rows] = (pp - pm - mp + mm) / (
        4 * reach[rows] * reach[columns]
    )
    return out


def positive(matrix: Floats, unit: Floats) -> Floats:
    """The nearest matrix whose directions all are curved, in units in which they are alike.

    Parameters
    ----------
    matrix : ndarray, shape (parameter, parameter)
        Symmetric.
    unit : ndarray, shape (parameter,)
        Of each parameter.

    Returns
    -------
    ndarray, shape (parameter, parameter)
        Positive definite.
    """
    values, vectors = np.linalg.eigh(matrix * np.outer(unit, unit))
    values = np.maximum(values, 1e-3)
    return np.asarray((vectors * values) @ vectors.T / np.outer(unit, unit))
