"""Posterior of the correlation of strengths by quadrature: a machine and a group, or two groups.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [JP09] Jones, Pewsey (2009). Sinh-arcsinh distributions. doi:10.1093/biomet/asp053
.. [M13] Müller (2013). Risk of Bayesian inference in misspecified models, and the sandwich
   covariance matrix. doi:10.3982/ECTA9097
.. [SL87] Self, Liang (1987). Asymptotic properties of maximum likelihood estimators and likelihood
   ratio tests under nonstandard conditions. doi:10.1080/01621459.1987.10478472
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.margins.importance import Mode, log_items, posterior_mode, scores_of_items
from alikely.margins.laws import (
    NODES,
    OUTER_NODES,
    law_bounds,
    log_law_prior,
    matched,
    paired,
    placed,
    strength_of,
)
from alikely.margins.likelihoods import ItemLikelihoods, item_likelihoods
from alikely.metrics.alternatives import Link
from alikely.metrics.margins import normal_scores, repeated
from alikely.stats.importance import Weighted, importance_draws

__all__ = [
    "MOST_INFLATED",
    "GroupStrengths",
    "StrengthFit",
    "fit_groups",
    "fit_machine",
    "group_strengths",
    "item_strengths",
    "law_mode",
    "law_slopes",
    "standard_scores",
    "strength_limits",
]

# Atanh of the correlation beyond which nothing changes: 1 - 1e-5.
PERFECT = 6.1
N_POINTS = 512
# Draws by which items' strengths are averaged.
N_OF_ITEMS = 64
# Errors of the likelihood may be as much wider than the model says; beyond, the model is refused.
MOST_INFLATED = 6.0
# Spreads of stable deviations of the first tables; the others reach some standard errors from the
# mode to either side.
FIRST_STABLE = (0.2, 2.5)
TABLES, REACH = 10, 3.0
# Where less of the posterior lies beyond such a correlation, a perfect one is out of the question.
NEARLY, NOTHING = np.arctanh(0.9), 1e-3


class GroupStrengths(NamedTuple):
    """What a group's answers tell of strengths, for all that it is compared with."""

    likelihoods: ItemLikelihoods
    law: Floats
    score: Floats
    variance: Floats


class StrengthFit(NamedTuple):
    """Posterior of the correlation of strengths of one pair."""

    eta: Floats
    weights: Floats
    draws: Weighted
    mode: Mode
    slopes: Floats
    inflation: float
    p_perfect: float
    p_opposite: float


def group_strengths(
    right: ArrayLike, shown: ArrayLike, m: int, link: Link = "m_afc"
) -> GroupStrengths:
    """Tables and law of a group's strengths [GS66]_ [JP09]_."""
    law = np.array([1.5, np.log(1.5), 0.0, 0.0])
    stable = (0.0, 0.0)
    # One person's own deviations are part of the strengths.
    if len(np.asarray(shown)) > 1 and repeated(shown):
        law = np.append(law, 0.0)
        stable = FIRST_STABLE
    for _ in range(TABLES):
        found = item_likelihoods(right, shown, m, link, stable)
        mode = law_mode(found, law, curved=stable[1] > 0)
        law = mode.at
        if not stable[1]:
            break
        stable, done = _window(mode, stable)
        if done:
            break
    found, mean, variance = matched(law, found)
    return GroupStrengths(found, law, mean, variance)


def fit_machine(
    group: GroupStrengths,
    margins: ArrayLike,
    clusters: NDArray[np.intp] | None = None,
    *,
    n_points: int = N_POINTS,
    plain: bool = False,
    rng: RandomState = None,
) -> StrengthFit:
    """Posterior of the correlation of a group's strengths with a machine's margins."""
    if np.shape(margins) != group.score.shape:
        raise ValueError(
            f"margins must be of the {len(group.score)} items of the group, got shape "
            f"{np.shape(margins)}"
        )
    v = standard_scores(margins)
    found = group.likelihoods
    scores = v[None, :, None]

    def by_item(theta: Floats) -> Floats:
        return placed(theta[:, :-1], theta[:, -1], scores, found).log_likelihood[:, :, 0]

    rho = (group.score * v).mean() / max(group.score.var(), 1e-3)
    start = np.append(group.law, np.arctanh(np.clip(rho, -0.95, 0.95)))
    return _fit(
        by_item,
        lambda theta: log_law_prior(theta[:, :-1]),
        start,
        law_bounds(found),
        (len(v), NODES),
        None if plain else (clusters if clusters is not None else np.arange(len(v))),
        n_points,
        True,
        rng,
    )


def fit_groups(
    one: GroupStrengths,
    other: GroupStrengths,
    clusters: NDArray[np.intp] | None = None,
    *,
    n_points: int = N_POINTS,
    plain: bool = False,
    rng: RandomState = None,
) -> StrengthFit:
    """Posterior of the correlation of two groups' strengths."""
    n_first = len(one.law)
    found = (one.likelihoods, other.likelihoods)

    def by_item(theta: Floats) -> Floats:
        return paired(theta[:, :-1], theta[:, -1], found)

    spread = np.sqrt(max(one.score.var(), 1e-3) * max(other.score.var(), 1e-3))
    rho = (one.score * other.score).mean() / spread**2
    start = np.concatenate([one.law, other.law, [np.arctanh(np.clip(rho, -0.95, 0.95))]])
    limits = [law_bounds(part) for part in found]
    n = len(one.score)
    return _fit(
        by_item,
        lambda t: log_law_prior(t[:, :n_first]) + log_law_prior(t[:, n_first:-1]),
        start,
        (
            np.concatenate([limits[0][0], limits[1][0]]),
            np.concatenate([limits[0][1], limits[1][1]]),
        ),
        (n, OUTER_NODES**2),
        None if plain else (clusters if clusters is not None else np.arange(n)),
        n_points,
        False,
        rng,
    )


def strength_limits(fit: StrengthFit, tail: ArrayLike) -> Floats:
    """Limits of the correlation, by tail probability."""
    p = np.asarray(tail, dtype=np.float64)
    cumulated = np.cumsum(fit.weights) - fit.weights / 2
    limit = np.tanh(np.interp(p, cumulated, fit.eta))
    limit = np.where(p >= 1 - fit.p_perfect / 2, 1.0, limit)
    return np.asarray(np.where(p <= fit.p_opposite / 2, -1.0, limit))


def item_strengths(
    group: GroupStrengths, fit: StrengthFit, margins: ArrayLike
) -> tuple[Floats, Floats]:
    """Posterior mean and standard deviation of items' strengths."""
    levels = (np.arange(N_OF_ITEMS) + 0.5) / N_OF_ITEMS
    chosen = np.searchsorted(np.cumsum(fit.draws.weights), levels)
    theta = fit.draws.values[np.minimum(chosen, len(fit.draws.weights) - 1)]
    scores = standard_scores(margins)[None, :, None]
    nodes = placed(theta[:, :-1], theta[:, -1], scores, group.likelihoods)
    strength = strength_of(theta[:, :-1], nodes.score)
    mean, square = (
        (nodes.weight * strength**power).sum(axis=-1)[:, :, 0].mean(axis=0) for power in (1, 2)
    )
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _window(mode: Mode, stable: tuple[float, float]) -> tuple[tuple[float, float], bool]:
    """Range of stable spreads about the mode, and whether the one in use does."""
    low, high = np.log(stable)
    half, middle = (high - low) / 2, float(mode.at[4])
    off = abs(middle - (low + high) / 2)
    # Powers of the spread describe few standard errors of it well, and not much more.
    sd = np.sqrt(np.linalg.inv(mode.curvature + mode.prior_curvature)[4, 4])
    reach = float(np.clip(REACH * sd, 0.2, 1.5))
    if off > 0.8 * half:
        # At an edge the curvature says nothing.
        reach = 0.7
    elif off < 0.3 * half and 0.7 * reach < half < 1.5 * reach:
        return stable, True
    return (float(np.exp(middle - reach)), float(np.exp(middle + reach))), False


def standard_scores(margins: ArrayLike) -> Floats:
    """Normal scores of margins, with mean 0 and variance 1."""
    v = normal_scores(margins)
    if np.ptp(v) == 0:
        raise ValueError("all margins are equal: nothing can correlate with a constant")
    return np.asarray((v - v.mean()) / v.std())


def law_mode(
    found: ItemLikelihoods, start: Floats, *, normal: bool = False, curved: bool = True
) -> Mode:
    """Mode of a law's parameters by a group's answers alone."""
    free = np.ones(len(start))
    if normal:
        free[2:4] = 0
    return posterior_mode(
        _alone(found),
        log_law_prior,
        start * free,
        law_bounds(found),
        len(found.seen) * NODES,
        free=free,
        curved=curved,
    )


def law_slopes(found: ItemLikelihoods, law: Floats) -> Floats:
    """Derivatives of items' log likelihoods by a law's parameters, by answers alone."""
    return scores_of_items(_alone(found), law, np.ones(len(law)))


def _alone(found: ItemLikelihoods) -> Callable[[Floats], Floats]:
    nothing = np.zeros((1, len(found.seen), 1))

    def by_item(law: Floats) -> Floats:
        return placed(law, np.zeros(len(law)), nothing, found).log_likelihood[:, :, 0]

    return by_item


def _fit(
    by_item: Callable[[Floats], Floats],
    log_law: Callable[[Floats], Floats],
    start: Floats,
    bounds: tuple[Floats, Floats],
    size: tuple[int, int],
    clusters: NDArray[np.intp] | None,
    n_points: int,
    new_margins: bool,
    rng: RandomState,
) -> StrengthFit:
    n_items, n_nodes = size[0], size[0] * size[1]
    low, high = np.append(bounds[0], -PERFECT), np.append(bounds[1], PERFECT)

    def log_prior(theta: Floats) -> Floats:
        # Uniform on the correlation.
        return np.asarray(log_law(theta) - 2 * np.log(np.cosh(theta[:, -1])))

    mode = posterior_mode(by_item, log_prior, start, (low, high), n_nodes)
    inverse = np.linalg.inv(mode.curvature + mode.prior_curvature)
    influence = mode.slopes @ inverse[-1]
    inflation = 1.0
    if clusters is not None:
        summed = np.bincount(clusters, influence)
        of_items = (summed**2).sum() * len(summed) / max(len(summed) - 1, 1)
        inflation = float(np.clip(of_items / inverse[-1, -1], 1, MOST_INFLATED))

    def log_target(theta: Floats) -> Floats:
        out = np.full(len(theta), -np.inf)
        inside = ((theta >= low) & (theta <= high)).all(axis=1)
        some = theta[inside]
        out[inside] = log_items(by_item, some, n_nodes) / inflation + log_prior(some)
        return out

    generator = np.random.default_rng(seed_sequence(rng))
    covariance = np.linalg.inv(mode.curvature / inflation + mode.prior_curvature)
    draws = importance_draws(log_target, mode.at, covariance, n_points, generator)
    eta = draws.values[:, -1]
    ends = [0.0, 0.0]
    if clusters is not None:
        if new_margins:
            ratio = n_items / stats.chi2.ppf(draws.spare, n_items - 1)
            eta = np.arcsinh(np.sinh(eta) * ratio ** (np.sqrt(inflation) / 2))
        free = np.append(np.ones(len(start) - 1), 0.0)
        for place, sign in enumerate((1, -1)):
            if draws.weights[sign * eta > NEARLY].sum() > NOTHING:
                end = sign * PERFECT
                ends[place] = _against(
                    by_item, log_prior, mode, end, free, (low, high), n_nodes, inflation
                )
    order = np.argsort(eta)
    return StrengthFit(
        eta[order], draws.weights[order], draws, mode, influence, inflation, ends[0], ends[1]
    )


def _against(
    by_item: Callable[[Floats], Floats],
    log_prior: Callable[[Floats], Floats],
    mode: Mode,
    end: float,
    free: Floats,
    bounds: tuple[Floats, Floats],
    n_nodes: int,
    inflation: float,
) -> float:
    """p-value of a perfect correlation, by the likelihood ratio."""
    start = np.append(mode.at[:-1], end)
    there = posterior_mode(
        by_item, log_prior, start, bounds, n_nodes, free=free, curved=False
    ).log_likelihood
    best = mode.log_likelihood
    return float(stats.chi2.sf(max(2 * (best - there) / inflation, 0.0), 1))
