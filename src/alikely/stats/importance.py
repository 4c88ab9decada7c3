"""Draws of few parameters by importance, and the shape of their density.

References
----------
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

__all__ = ["Weighted", "importance_draws", "positive", "second_derivatives"]

Density = Callable[[Floats], Floats]
DF = 5
ENOUGH = 0.35
ROUNDS = 5


class Weighted(NamedTuple):
    """Weighted draws of a posterior."""

    values: Floats
    weights: Floats
    spare: Floats
    efficiency: float


def importance_draws(
    log_target: Density, centre: Floats, covariance: Floats, n_draws: int, seed: np.random.Generator
) -> Weighted:
    """Draws by importance from Student's t, refitted where it does not fit [C08]_ [O98]_."""
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


def second_derivatives(function: Density, at: Floats, reach: Floats) -> Floats:
    """Second derivatives by differences."""
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
    """The nearest matrix whose directions all are curved, in units in which they are alike."""
    values, vectors = np.linalg.eigh(matrix * np.outer(unit, unit))
    values = np.maximum(values, 1e-3)
    return np.asarray((vectors * values) @ vectors.T / np.outer(unit, unit))
