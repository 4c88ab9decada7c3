"""Regression of pairs, with effects of both members and of groups integrated out.

References
----------
.. [BFB01] Browne, Goldstein, Rasbash (2001). Multiple membership multiple classification (MMMC)
   models. Statistical Modelling 1, 103-124. doi:10.1177/1471082X0100100202
.. [C08] Cappé, Douc, Guillin, Marin, Robert (2008). Adaptive importance sampling in general mixture
   classes. doi:10.1007/s11222-008-9059-x
.. [G06] Gelman (2006). Prior distributions for variance parameters in hierarchical models.
   Bayesian Analysis 1, 515-534. doi:10.1214/06-BA117A
.. [O98] Owen (1998). Scrambling Sobol' and Niederreiter-Xing points. doi:10.1006/jcom.1998.0487
.. [V24] Vehtari, Simpson, Gelman, Yao, Gabry (2024). Pareto smoothed importance sampling. Journal
   of Machine Learning Research 25(72), 1-58.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse, special, stats
from scipy.stats import qmc

from alikely._base.arrays import Floats

Density = Callable[[Floats], Floats]
DF = 5
ENOUGH = 0.35
ROUNDS = 5


# Names of spreads: of members, residuals and groups.
SPREADS = ("tau", "sigma", "omega")


class Weighted(NamedTuple):
    """Weighted draws from a posterior."""

    values: Floats
    weights: Floats
    spare: Floats
    efficiency: float


def importance_draws(
    log_target: Density, center: Floats, covariance: Floats, n_draws: int, seed: np.random.Generator
) -> Weighted:
    """Draw by importance sampling from Student's t, refitted if it fits badly [C08]_ [O98]_."""
    n = len(center)
    best: Weighted | None = None
    for _ in range(ROUNDS):
        points = qmc.Sobol(n + 2, rng=seed).random(n_draws)
        points = np.clip(points, 1e-9, 1 - 1e-9)
        z = special.ndtri(points[:, :n])
        stretch = np.sqrt(DF / stats.chi2.ppf(points[:, n], DF))
        root = np.linalg.cholesky(covariance)
        values = center + stretch[:, None] * z @ root.T
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
        center = tempered @ values
        around = values - center
        covariance = (tempered[:, None] * around).T @ around + 1e-9 * np.eye(n)
    assert best is not None
    return best


def _normal(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def second_derivatives(function: Density, at: Floats, reach: Floats) -> Floats:
    """Compute second derivatives by finite differences."""
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
    """The nearest positive definite matrix, in standardized units."""
    values, vectors = np.linalg.eigh(matrix * np.outer(unit, unit))
    values = np.maximum(values, 1e-3)
    return np.asarray((vectors * values) @ vectors.T / np.outer(unit, unit))


# Standard deviation of the prior of coefficients, in units of the spread of the values over that of
# the predictor.
SLOPE = 2.5
# Points of the scales at which all else is worked out.
N_POINTS = 1_024
# Above so many effects half as many points do: each takes long.
MANY = 150
# Numbers that are held at a time: 64 MB.
HELD = 8_000_000
# Where, in the coordinate of importance draws, a spread is where its density is greatest.
MIDDLE = 0.3375
# Draws have so many times the variance that curvature tells: spreads of few groups have long tails.
WIDER = 2.5
# Logarithms of scales, in units of the spread of the values, beyond which there is no mass.
REACH = (-15.0, 4.0)


class PairRegression:
    """Regression of values of pairs via the normal equations, given the effects' SDs.

    ``columns`` are predictors, the first constant; ``first, second`` the members of each pair;
    ``groups`` the group of each pair, -1 of none. Spreads are those of members, residuals and
    groups.
    """

    def __init__(
        self,
        value: Floats,
        se: Floats,
        columns: Floats,
        first: NDArray[np.intp],
        second: NDArray[np.intp],
        groups: NDArray[np.intp],
    ) -> None:
        self.value, self.se, self.columns = value, se, columns
        self.first, self.second, self.groups = first, second, groups
        n_pairs, n_columns = columns.shape
        self.n_members = int(max(first.max(), second.max())) + 1
        # Priors are relative to the spread of the values and of the predictors.
        unit, spread = value.std(), columns.std(axis=0)
        spread[0] = 1.0
        self.prior_mean = np.where(np.arange(n_columns) == 0, value.mean(), 0.0)
        same, n_groups = np.flatnonzero(groups >= 0), int(groups.max()) + 1
        # Of groups the spread of the pairs that have one: these may be few, and differ more.
        self.prior_scales = np.array([unit, unit, max(unit, value[same].std())])
        self.unit = np.log(unit)
        pair = np.tile(np.arange(n_pairs), 2)
        left = value - columns @ self.prior_mean
        self.rows = sparse.hstack(
            [
                sparse.csr_array(columns),
                sparse.csr_array(
                    (np.ones(2 * n_pairs), (pair, np.r_[first, second])), (n_pairs, self.n_members)
                ),
                sparse.csr_array((np.ones(len(same)), (same, groups[same])), (n_pairs, n_groups)),
                sparse.csr_array(left[:, None]),
            ],
            format="csr",
        )
        self.n_effects = self.rows.shape[1] - 1
        # Spread of each effect; of coefficients it is known.
        self.kind = np.repeat([-1, 0, 2], [n_columns, self.n_members, n_groups])
        self.prior_sd = np.zeros(self.n_effects)
        self.prior_sd[:n_columns] = SLOPE * unit / spread
        self.places, self.products = _products(self.rows)

    def draws(self, n_draws: int, rng: np.random.Generator) -> xr.Dataset:
        """Draw coefficients, effects of observers and groups, and standard deviations [BFB01]_."""
        n_scales = len(self.prior_scales)
        climbed = optimize.minimize(
            lambda x: -max(self.log_density(x[None])[0], -1e300),
            self.unit - np.full(n_scales, 0.7),
            method="Nelder-Mead",
            options={"xatol": 0.02, "fatol": 0.02, "maxiter": 200 * n_scales},
        )

        def density(x: Floats) -> Floats:
            log_scales, log_slope = _spreads(x, climbed.x)
            return np.asarray(self.log_density(log_scales) + log_slope)

        middle = np.full(n_scales, MIDDLE)
        second = second_derivatives(density, middle, np.full(n_scales, 0.2))
        covariance = WIDER * np.linalg.inv(
            positive(-second, np.ones(n_scales)) + 0.3 * np.eye(n_scales)
        )
        n_points = N_POINTS if self.n_effects <= MANY else N_POINTS // 2
        points = importance_draws(density, middle, covariance, n_points, rng)
        places, _ = _spreads(points.values, climbed.x)
        with np.errstate(divide="ignore"):
            log_weights = np.log(points.weights)
        _, pareto_k = array_stats.psislw(-log_weights[np.isfinite(log_weights)])
        # As often as the weights say, but for one.
        ends = np.cumsum(points.weights)
        chosen = np.searchsorted(ends / ends[-1], (np.arange(n_draws) + rng.random()) / n_draws)
        used, times = np.unique(chosen, return_counts=True)
        effects = np.concatenate(
            [self.effects(places[k], n, rng) for k, n in zip(used, times.tolist(), strict=True)]
        )
        order = rng.permutation(n_draws)
        n_columns = len(self.prior_mean)
        b, u, v = np.split(effects[order], [n_columns, n_columns + self.n_members], axis=1)
        scales = np.exp(places[np.repeat(used, times)])[order]
        return xr.Dataset(
            {
                "b": (("draw", "predictor"), b + self.prior_mean),
                "u": (("draw", "observer"), u),
                "v": (("draw", "group"), v),
                **{name: ("draw", own) for name, own in zip(SPREADS, scales.T, strict=True)},
            },
            attrs={
                "n_effective": 1 / float((points.weights**2).sum()), "pareto_k": float(pareto_k)
            },
        )  # fmt: skip

    def weights(self, scales: Floats) -> Floats:
        """Return the weights of the pairs' values in the coefficients, given the spreads."""
        root, _ = self.factor(np.log(scales))
        inverse = linalg.cho_solve((root, True), np.eye(len(root), len(self.prior_mean)))
        return np.asarray((self.rows[:, :-1] @ inverse).T / (self.se**2 + scales[1] ** 2))

    def log_density(self, log_scales: Floats) -> Floats:
        """Marginal log posterior density (draw,) of logarithms of spreads (draw, scale)."""
        out = np.full(len(log_scales), -np.inf)
        apart = log_scales - self.unit
        inside = np.flatnonzero(((apart > REACH[0]) & (apart < REACH[1])).all(axis=1))
        step = max(1, HELD // max((self.n_effects + 1) ** 2, len(self.value)))
        for start in range(0, len(inside), step):
            part = inside[start : start + step]
            out[part] = self._log_density(log_scales[part])
        return out

    def _log_density(self, log_scales: Floats) -> Floats:
        roots, log_variance = self._factors(log_scales)
        diagonal = np.diagonal(roots, axis1=1, axis2=2)
        log_det = 2 * np.log(diagonal[:, :-1]).sum(axis=1)
        # What the last row leaves: the squared residuals, of effects as far as priors let them.
        fit = -(log_variance + log_det + diagonal[:, -1] ** 2) / 2
        log_prior = log_scales - (np.exp(log_scales) / self.prior_scales) ** 2 / 2
        return np.asarray(fit + log_prior.sum(axis=1))

    def _factors(self, log_scales: Floats) -> tuple[Floats, Floats]:
        """Cholesky factors with the values as last row, and log variances of all normals."""
        scales = np.exp(log_scales)
        variance = self.se**2 + scales[:, 1:2] ** 2
        prior = np.where(self.kind < 0, self.prior_sd, scales[:, self.kind]) ** 2
        n = self.n_effects + 1
        matrix = np.zeros((len(scales), n * n))
        matrix[:, self.places] = (self.products @ (1 / variance).T).T
        matrix = matrix.reshape(-1, n, n)
        own = np.arange(self.n_effects)
        matrix[:, own, own] += 1 / prior
        log_variance = np.log(variance).sum(axis=1) + np.log(prior).sum(axis=1)
        return np.linalg.cholesky(matrix), log_variance

    def factor(self, log_scales: Floats) -> tuple[Floats, Floats]:
        """Cholesky factor of the effects' precision matrix, and the transformed values."""
        root = self._factors(log_scales[None])[0][0]
        return root[:-1, :-1], root[-1, :-1]

    def effects(self, log_scales: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draws (draw, effect) given the standard deviations of effects."""
        root, value = self.factor(log_scales)
        noise = rng.standard_normal((self.n_effects, n_draws))
        drawn = linalg.solve_triangular(root, value[:, None] + noise, lower=True, trans=1)
        return np.asarray(drawn.T)


def _spreads(x: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """Logarithms of spreads, of numbers in which their posterior is about normal."""
    below = special.log_ndtr(-x)
    with np.errstate(divide="ignore"):
        log_scales = middle + np.log(-below)
    log_slope = -(x**2) / 2 - below - log_scales
    return log_scales, np.where(np.isfinite(log_slope), log_slope, 0.0).sum(axis=-1)


def _products(rows: sparse.csr_array) -> tuple[NDArray[np.intp], sparse.csr_array]:
    """Products of the entries of each row, by their place in the lower triangle."""
    n_pairs, n = rows.shape
    counts = np.diff(rows.indptr)
    pair = np.repeat(np.arange(n_pairs), counts)
    # Each entry with all entries of its row.
    times = counts[pair]
    one = np.repeat(np.arange(rows.nnz), times)
    within = np.arange(len(one)) - np.repeat(np.cumsum(times) - times, times)
    other = within + np.repeat(rows.indptr[pair], times)
    high, low = rows.indices[one].astype(np.intp), rows.indices[other]
    once = high >= low
    used, place = np.unique((high * n + low)[once], return_inverse=True)
    values = (rows.data[one] * rows.data[other])[once]
    table = sparse.csr_array((values, (place, pair[one][once])), shape=(len(used), n_pairs))
    return used, table
