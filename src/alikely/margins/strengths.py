"""Posterior of the correlation of item strengths of a model and a group, by quadrature.

The generative model is that of the model page `models/item_margins`, with a distribution of
strengths of any skewness and tail weight [JP09]_, given normal scores of the margins. With repeated
responses, the model has a stable deviation of each observer and item.

References
----------
.. [BHHH74] Berndt, Hall, Hall, Hausman (1974). Estimation and inference in nonlinear structural
   models. Annals of Economic and Social Measurement 3, 653-665.
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [JP09] Jones, Pewsey (2009). Sinh-arcsinh distributions. doi:10.1093/biomet/asp053
.. [L82] Louis (1982). Finding the observed information matrix when using the EM algorithm. Journal
   of the Royal Statistical Society B 44, 226-233.
.. [M13] Müller (2013). Risk of Bayesian inference in misspecified models, and the sandwich
   covariance matrix. doi:10.3982/ECTA9097
.. [NS82] Naylor, Smith (1982). Applications of a method for the efficient computation of posterior
   distributions. doi:10.2307/2347995
.. [R48] Rao (1948). Large sample tests of statistical hypotheses concerning several parameters with
   applications to problems of estimation. doi:10.1017/S0305004100023987
.. [SL87] Self, Liang (1987). Asymptotic properties of maximum likelihood estimators and likelihood
   ratio tests under nonstandard conditions. doi:10.1080/01621459.1987.10478472
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.random import RandomState, seed_sequence
from alikely.inference.regression import Weighted, importance_draws, positive, second_derivatives
from alikely.metrics.margins import check_task, m_afc_log_probability, normal_scores, repeated

# Grid of strengths of the tables, with linear interpolation and extrapolation.
STEP = 1 / 40
GRID = np.arange(-10, 18 + STEP / 2, STEP)
# With stable deviations of observers on items.
WIDE = np.arange(-50, 60, STEP)
# Nodes of the stable deviation of an observer on an item, and of the strength of an item.
STABLE_NODES, NODES = 15, 11
# Nodes are laid a little wider than the normal approximation: tails of items with few answers.
WIDER = 1.15
# Columns of a distribution of strengths; repeats add the logarithm of the stable spread.
LAW = ("mean", "log_sd", "skewness", "log_tail", "log_stable")
SKEWNESS, TAIL = LAW.index("skewness"), LAW.index("log_tail")
LOW = (-8.0, np.log(0.02), -1.5, -0.9)
HIGH = (12.0, np.log(12.0), 1.5, 1.2)
# Most numbers in memory, draws times nodes.
CHUNK = 200_000
# Half the distance of differences that give slopes; all parameters are of the order of 1.
REACH = 0.05
STEPS = 30
LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])
# Atanh of the correlation beyond which nothing changes: 1 - 1e-5.
PERFECT = 6.1
N_POINTS = 512
# Largest ratio of empirical to model-based standard errors; above, the model is rejected.
MOST_INFLATED = 6.0
# Spreads of stable deviations of the first tables; the others reach some standard errors from the
# mode to either side.
FIRST_STABLE = (0.2, 2.5)
TABLES, ERRORS = 10, 3.0
# If less of the posterior is beyond this correlation, a perfect correlation is excluded.
NEARLY, NOTHING = np.arctanh(0.9), 1e-3
# Of the wave that two modes of strengths follow, by normal scores.
WAVE = 3.0


class ItemLikelihoods(NamedTuple):
    """Log likelihoods of items over strength, and estimated strength and information.

    Coefficients of powers of the log stable standard deviation, (power, item, strength).
    """

    table: Floats
    stable: tuple[float, float]
    seen: Floats
    information: Floats


class GroupStrengths(NamedTuple):
    """Likelihoods and distribution of strengths of a group, for all its comparisons."""

    likelihoods: ItemLikelihoods
    law: Floats
    score: Floats
    variance: Floats


class Mode(NamedTuple):
    """Mode of a posterior density."""

    at: Floats
    log_likelihood: float
    curvature: Floats
    prior_curvature: Floats
    slopes: Floats


class StrengthFit(NamedTuple):
    """Posterior of the correlation of item strengths for one pair."""

    eta: Floats
    weights: Floats
    draws: Weighted
    mode: Mode
    slopes: Floats
    inflation: float
    p_perfect: float
    p_opposite: float


class _Density(NamedTuple):
    """Log likelihoods by item (draw, item) and log prior (draw) of parameters within bounds."""

    by_item: Callable[[Floats], Floats]
    log_prior: Callable[[Floats], Floats]
    low: Floats
    high: Floats
    n_items: int

    def log_likelihood(self, at: Floats) -> Floats:
        """Compute the sum of log likelihoods over items, in chunks of draws."""
        step = max(1, CHUNK // (self.n_items * NODES))
        parts = [self.by_item(at[i : i + step]).sum(axis=1) for i in range(0, len(at), step)]
        return np.concatenate(parts)

    def slopes(self, at: Floats, free: Floats) -> Floats:
        """Compute derivatives of each item's log likelihood, by central differences."""
        steps = REACH * np.diag(free)
        values = self.by_item(np.concatenate([at + steps, at - steps]))
        return np.asarray((values[: len(at)] - values[len(at) :]).T / (2 * REACH))

    def prior_shape(self, at: Floats, free: Floats) -> tuple[Floats, Floats]:
        """Compute slope and (diagonal) curvature of independent priors."""
        steps, n = REACH * np.diag(free), len(at)
        values = self.log_prior(np.concatenate([at + steps, at - steps, at[None]]))
        above, below, here = values[:n], values[n : 2 * n], values[-1]
        curvature = np.maximum(-(above + below - 2 * here) / REACH**2, 0.0)
        return (above - below) / (2 * REACH), np.diag(curvature)


def group_strengths(right: ArrayLike, shown: ArrayLike, n_alternatives: int) -> GroupStrengths:
    """Compute likelihood tables and the distribution of a group's strengths [GS66]_ [JP09]_."""
    law = np.array([1.5, np.log(1.5), 0.0, 0.0])
    stable = (0.0, 0.0)
    # With one observer, its stable deviations are part of the strengths.
    if len(np.asarray(shown)) > 1 and repeated(shown):
        law = np.append(law, 0.0)
        stable = FIRST_STABLE
    for _ in range(TABLES):
        found = item_likelihoods(right, shown, n_alternatives, stable)
        mode = _mode(_alone(found), law, curved=stable[1] > 0)
        law = mode.at
        if not stable[1]:
            break
        stable, done = _window(mode, stable)
        if done:
            break
    # Nodes where the posteriors of items are, and what these are.
    nothing = np.zeros((1, len(found.seen)))
    _, u, weight = (part[0] for part in placed(law[None], np.zeros(1), nothing, found, 25))
    mean = (weight * u).sum(axis=1)
    variance = (weight * (u - mean[:, None]) ** 2).sum(axis=1)
    own = np.maximum(1 / variance - 1, 0.02)
    at = np.clip(mean / variance / own, -5, 5)
    strength, slope = strength_of(law[None], at[None])[0], _slope(law[None], at[None])[0]
    found = found._replace(seen=strength, information=own / slope**2)
    return GroupStrengths(found, law, mean, variance)


def fit_model(
    group: GroupStrengths,
    margins: ArrayLike,
    clusters: NDArray[np.intp] | None = None,
    *,
    n_points: int = N_POINTS,
    plain: bool = False,
    rng: RandomState = None,
) -> StrengthFit:
    """Fit the correlation of a group's item strengths with a model's margins."""
    n, v = len(group.score), standard_scores(margins)
    low, high = np.append(_bounds(group.likelihoods), [[-PERFECT], [PERFECT]], axis=1)
    density = _Density(
        lambda theta: placed(theta[:, :-1], theta[:, -1], v[None], group.likelihoods)[0],
        # Uniform on the correlation.
        lambda theta: log_law_prior(theta[:, :-1]) - 2 * np.log(np.cosh(theta[:, -1])),
        low,
        high,
        n,
    )
    rho = (group.score * v).mean() / max(group.score.var(), 1e-3)
    mode = _mode(density, np.append(group.law, np.arctanh(np.clip(rho, -0.95, 0.95))))
    inverse = np.linalg.inv(mode.curvature + mode.prior_curvature)
    influence = mode.slopes @ inverse[-1]
    inflation = 1.0
    if not plain:
        summed = np.bincount(np.arange(n) if clusters is None else clusters, influence)
        of_items = (summed**2).sum() * len(summed) / max(len(summed) - 1, 1)
        inflation = float(np.clip(of_items / inverse[-1, -1], 1, MOST_INFLATED))

    def log_target(theta: Floats) -> Floats:
        out = np.full(len(theta), -np.inf)
        inside = ((theta >= density.low) & (theta <= density.high)).all(axis=1)
        some = theta[inside]
        out[inside] = density.log_likelihood(some) / inflation + density.log_prior(some)
        return out

    generator = np.random.default_rng(seed_sequence(rng))
    covariance = np.linalg.inv(mode.curvature / inflation + mode.prior_curvature)
    draws = importance_draws(log_target, mode.at, covariance, n_points, generator)
    eta = draws.values[:, -1]
    ends = [0.0, 0.0]
    if not plain:
        # New items have new margins.
        ratio = n / stats.chi2.ppf(draws.spare, n - 1)
        eta = np.arcsinh(np.sinh(eta) * ratio ** (np.sqrt(inflation) / 2))
        free = np.append(np.ones(len(group.law)), 0.0)
        for place, sign in enumerate((1, -1)):
            if draws.weights[sign * eta > NEARLY].sum() > NOTHING:
                start = np.append(mode.at[:-1], sign * PERFECT)
                there = _mode(density, start, free=free, curved=False).log_likelihood
                ratio = max(2 * (mode.log_likelihood - there) / inflation, 0.0)
                ends[place] = float(stats.chi2.sf(ratio, 1))
    order = np.argsort(eta)
    return StrengthFit(eta[order], draws.weights[order], draws, mode, influence, inflation, *ends)


def strength_limits(fit: StrengthFit, tail: ArrayLike) -> Floats:
    """Compute limits of the correlation for tail probabilities."""
    p = np.asarray(tail, dtype=np.float64)
    cumulated = np.cumsum(fit.weights) - fit.weights / 2
    limit = np.tanh(np.interp(p, cumulated, fit.eta))
    limit = np.where(p >= 1 - fit.p_perfect / 2, 1.0, limit)
    return np.asarray(np.where(p <= fit.p_opposite / 2, -1.0, limit))


def strength_checks(
    group: GroupStrengths, fit: StrengthFit, margins: ArrayLike
) -> dict[str, float]:
    """Compute score tests of linearity (skewed strengths) and of two modes [R48]_ [L82]_."""
    v, mode = standard_scores(margins), fit.mode
    law, eta = np.split(mode.at[None], [-1], axis=1)
    _, u, nodes = placed(law, eta[:, 0], v[None], group.likelihoods, 2 * NODES + 1)
    scores, weight, rho = u[0], nodes[0], float(np.tanh(mode.at[-1]))
    expected, variance = rho * v, 1 - rho**2
    bend = v[:, None] ** 2 - 1
    line = bend * (scores - expected[:, None]) / np.sqrt(variance)
    mean = np.cos(WAVE * expected) * np.exp(-(WAVE**2) * variance / 2)
    square = (1 + np.cos(2 * WAVE * expected) * np.exp(-2 * WAVE**2 * variance)) / 2
    wave = np.cos(WAVE * scores) - mean[:, None]
    return {
        "p_linearity": _score_test(line, float((bend**2).sum()), weight, mode),
        "p_modes": _score_test(wave, float((square - mean**2).sum()), weight, mode),
    }


def skew_check(group: GroupStrengths) -> float:
    """Test skewness of strengths, from the responses of a group [R48]_."""
    free = np.ones(len(group.law))
    free[[SKEWNESS, TAIL]] = 0
    density = _alone(group.likelihoods)
    mode = _mode(density, group.law * free, free=free)
    slopes, fitted = density.slopes(mode.at, np.ones(len(free))), free > 0
    cross = mode.curvature[SKEWNESS, fitted]
    known = (mode.curvature + mode.prior_curvature)[np.ix_(fitted, fitted)]
    weights = np.linalg.solve(known, cross)
    # What items show of it counts if it is more than the curvature says, as with two alternatives.
    apart = slopes[:, SKEWNESS] - slopes[:, fitted] @ weights
    variance = max(
        mode.curvature[SKEWNESS, SKEWNESS] - cross @ weights, ((apart - apart.mean()) ** 2).sum()
    )
    total = slopes[:, SKEWNESS].sum()
    return float(stats.chi2.sf(total**2 / variance, 1)) if variance > 0 else np.nan


def _score_test(direction: Floats, complete: float, weight: Floats, mode: Mode) -> float:
    """Score test of a direction that was not fitted."""
    slope = (weight * direction).sum(axis=1)
    cross, squares = slope @ mode.slopes, slope @ slope
    unknown = (weight * direction**2).sum() - squares
    information = mode.slopes.T @ mode.slopes + mode.prior_curvature
    curvature = mode.curvature + mode.prior_curvature
    variance = max(
        squares - cross @ np.linalg.solve(information, cross),
        complete - unknown - cross @ np.linalg.solve(curvature, cross),
    )
    return float(stats.chi2.sf(slope.sum() ** 2 / variance, 1)) if variance > 0 else np.nan


def standard_scores(margins: ArrayLike) -> Floats:
    """Compute normal scores of margins, with mean 0 and variance 1."""
    v = normal_scores(margins)
    return np.asarray((v - v.mean()) / v.std())


# The mode


def _alone(found: ItemLikelihoods) -> _Density:
    """Density of the parameters of a distribution, from the responses of a group."""
    nothing = np.zeros((1, len(found.seen)))
    low, high = _bounds(found)
    return _Density(
        lambda law: placed(law, np.zeros(len(law)), nothing, found)[0],
        log_law_prior,
        low,
        high,
        len(found.seen),
    )


def _mode(
    density: _Density, start: Floats, *, free: Floats | None = None, curved: bool = True
) -> Mode:
    """Find the mode by the BHHH algorithm [BHHH74]_."""
    moves = np.ones(len(start)) if free is None else free
    held = np.diag(np.where(moves > 0, 0.0, 1.0))

    def total(points: Floats) -> Floats:
        return density.log_likelihood(points) + density.log_prior(points)

    at = np.clip(start, density.low, density.high)
    value = total(at[None])[0]
    for _ in range(STEPS):
        slopes = density.slopes(at, moves)
        of_prior, prior_curvature = density.prior_shape(at, moves)
        gradient = slopes.sum(axis=0) + of_prior
        outer = slopes.T @ slopes + prior_curvature + held
        step = np.linalg.solve(outer + 1e-8 * np.trace(outer) * np.eye(len(at)), gradient)
        tried = np.clip(at + LENGTHS[:, None] * step, density.low, density.high)
        found = total(tried)
        best = int(np.argmax(found))
        gain = found[best] - value
        if gain > 0:
            at, value = tried[best], found[best]
        if gain < 1e-3:
            break
    slopes = density.slopes(at, moves)
    _, prior_curvature = density.prior_shape(at, moves)
    curvature = slopes.T @ slopes
    if curved:
        reach = 0.4 / np.sqrt(np.diag(curvature + prior_curvature) + 1.0)
        second = second_derivatives(density.log_likelihood, at, reach)
        curvature = positive(-second + prior_curvature, reach) - prior_curvature
    log_likelihood = float(value - density.log_prior(at[None])[0])
    return Mode(at, log_likelihood, curvature, prior_curvature, slopes)


def _window(mode: Mode, stable: tuple[float, float]) -> tuple[tuple[float, float], bool]:
    """Range of stable standard deviations around the mode, and whether the current one suffices."""
    low, high = np.log(stable)
    half, middle = (high - low) / 2, float(mode.at[4])
    off = abs(middle - (low + high) / 2)
    # Powers of the spread describe few standard errors of it well, and not much more.
    sd = np.sqrt(np.linalg.inv(mode.curvature + mode.prior_curvature)[4, 4])
    reach = float(np.clip(ERRORS * sd, 0.2, 1.5))
    if off > 0.8 * half:
        # At an edge the curvature is uninformative.
        reach = 0.7
    elif off < 0.3 * half and 0.7 * reach < half < 1.5 * reach:
        return stable, True
    return (float(np.exp(middle - reach)), float(np.exp(middle + reach))), False


# The distribution of strengths


def log_law_prior(law: Floats) -> Floats:
    """Compute the log prior density of a distribution's parameters, up to a constant."""
    mean, log_sd, skewness, log_tail = law[:, :4].T
    out = -((mean - 1) ** 2) / 8 + 2 * log_sd - 4 / 3 * np.exp(log_sd)
    out = out - skewness**2 / (2 * 0.4**2) - log_tail**2 / (2 * 0.3**2)
    if law.shape[1] > 4:
        out = out + law[:, 4] - np.exp(2 * law[:, 4]) / 8
    return np.asarray(out)


def _bounds(found: ItemLikelihoods) -> Floats:
    """Bounds of a distribution's parameters, by priors and tables: shape (2, parameter)."""
    stable = np.log([found.stable]).T if found.stable[1] else np.zeros((2, 0))
    return np.concatenate([[LOW, HIGH], stable], axis=1)


def placed(
    law: Floats, eta: Floats, scores: Floats, found: ItemLikelihoods, n_nodes: int = NODES
) -> tuple[Floats, Floats, Floats]:
    """Compute log likelihoods of items given normal scores [NS82]_; return scores and node weights.

    The returned arrays have the shapes (draw, item), (draw, item, node) and (draw, item, node).
    """
    x, weights = normal_nodes(n_nodes)
    log_weights = np.log(weights) + x**2 / 2
    rho, apart = np.tanh(eta)[:, None], 1 / np.cosh(eta)[:, None]
    at, information = _site(law, found)
    precision = information + 1 / apart**2
    expected = rho * scores
    center = (information * at + expected / apart**2) / precision
    width = WIDER / np.sqrt(precision)
    u = center[..., None] + width[..., None] * x
    stable = np.exp(law[:, 4]) if law.shape[1] > 4 else np.zeros(len(law))
    log_p = log_likelihood(found, strength_of(law, u), stable)
    log_p -= ((u - expected[..., None]) / apart[..., None]) ** 2 / 2
    log_p += log_weights
    most = log_p.max(axis=-1, keepdims=True)
    np.exp(log_p - most, out=log_p)
    total = log_p.sum(axis=-1, keepdims=True)
    log_p /= total
    return np.log(total[..., 0]) + most[..., 0] + np.log(width / apart), u, log_p


def strength_of(law: Floats, u: Floats) -> Floats:
    """Convert normal scores to strengths [JP09]_."""
    mean, scale, skewness, power, middle = _shape(law, u.ndim)
    return np.asarray(mean + scale * (np.sinh((np.arcsinh(u) + skewness) * power) - middle))


def _shape(law: Floats, n_dims: int) -> tuple[Floats, ...]:
    """Parameters with additional axes for broadcasting."""
    mean, log_sd, skewness, log_tail = law[:, :4].T.reshape(4, len(law), *(1,) * (n_dims - 1))
    power = np.exp(-log_tail)
    one = np.arcsinh(1.0)
    unit = 2 / (np.sinh((one + skewness) * power) - np.sinh((skewness - one) * power))
    return mean, np.exp(log_sd) * unit, skewness, power, np.sinh(skewness * power)


def _slope(law: Floats, u: Floats) -> Floats:
    """Derivative of `strength_of`."""
    _, scale, skewness, power, _ = _shape(law, u.ndim)
    bent = np.cosh((np.arcsinh(u) + skewness) * power)
    return np.asarray(scale * power * bent / np.sqrt(1 + u**2))


def _site(law: Floats, found: ItemLikelihoods) -> tuple[Floats, Floats]:
    """Normal score and information of each item from its responses."""
    mean, scale, skewness, power, middle = _shape(law, 2)
    inside = np.arcsinh((found.seen - mean) / scale + middle) / power - skewness
    at = np.clip(np.sinh(np.clip(inside, -3, 3)), -5, 5)
    return at, found.information * _slope(law, at) ** 2


# Likelihoods of items


def item_likelihoods(
    right: ArrayLike,
    shown: ArrayLike,
    n_alternatives: int,
    stable: tuple[float, float] = (0.0, 0.0),
) -> ItemLikelihoods:
    """Tabulate log likelihoods of the strengths of items [GS66]_."""
    check_task(n_alternatives)
    k, n = np.asarray(right, dtype=np.int64), np.asarray(shown, dtype=np.int64)
    total, answers = k.sum(axis=0), n.sum(axis=0)
    share = (total + 0.5) / (answers + 1)
    log_right, log_wrong = (np.interp(GRID, WIDE, part) for part in _wide(n_alternatives))
    odds = log_right - log_wrong
    seen = np.interp(special.logit(share), odds, GRID)
    slope = np.interp(seen, GRID, np.gradient(odds, STEP))
    information = np.maximum(answers * share * (1 - share) * slope**2, 0.02)
    if stable[1] == 0:
        table = total[:, None] * log_right + (answers - total)[:, None] * log_wrong
        return ItemLikelihoods(table[None], stable, seen, information)
    low, high = stable
    tables = [_with_stable(k, n, n_alternatives, tau) for tau in (low, np.sqrt(low * high), high)]
    line, square = (tables[2] - tables[0]) / 2, (tables[2] + tables[0]) / 2 - tables[1]
    # Responses of one observer are less informative about the common strength.
    spread = 1 + slope**2 * low * high / 3
    return ItemLikelihoods(np.stack([tables[1], line, square]), stable, seen, information / spread)


def log_likelihood(found: ItemLikelihoods, strength: Floats, stable: Floats) -> Floats:
    """Compute log likelihoods at given strengths (draw, item, point)."""
    place = (strength - GRID[0]) / STEP
    cell = np.clip(place, 0, len(GRID) - 2).astype(np.intp)
    part = place - cell
    cell += (np.arange(found.table.shape[1]) * len(GRID))[:, None]
    above = cell + 1
    t = np.zeros(len(strength))
    if found.stable[1]:
        low, high = np.log(found.stable)
        t = np.clip((2 * np.log(stable) - low - high) / (high - low), -1, 1)
    total = np.zeros(strength.shape)
    for power, table in enumerate(found.table):
        flat = table.ravel()
        start = flat.take(cell)
        value = flat.take(above)
        value -= start
        value *= part
        value += start
        if power:
            value *= (t**power)[:, None, None]
        total += value
    return total


@functools.lru_cache(maxsize=8)
def _wide(n_alternatives: int) -> tuple[Floats, Floats]:
    return m_afc_log_probability(WIDE, n_alternatives)


def _with_stable(
    right: NDArray[np.int64], shown: NDArray[np.int64], n_alternatives: int, tau: float
) -> Floats:
    """Log likelihoods (item, strength) with stable deviations of observers."""
    nodes, weights = normal_nodes(STABLE_NODES)
    at = GRID[:, None] + tau * nodes
    log_right, log_wrong = (np.interp(at, WIDE, part) for part in _wide(n_alternatives))
    table = np.zeros((right.shape[1], len(GRID)))
    # One code for each kind of cell, which is faster to sort than pairs.
    kind = shown * (shown.max() + 1) + right
    for number in np.unique(kind[shown > 0]).tolist():
        n, k = divmod(number, int(shown.max()) + 1)
        log_p = k * log_right + (n - k) * log_wrong
        most = log_p.max(axis=1)
        log_p = np.log(np.exp(log_p - most[:, None]) @ weights) + most
        table += (kind == number).sum(axis=0)[:, None] * log_p
    return table
