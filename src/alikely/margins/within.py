"""Correlation of strengths with margins within classes: a normal mixed model of items in classes.

References
----------
.. [M01] Minka (2001). Expectation propagation for approximate Bayesian inference. Proceedings of
   the 17th Conference on Uncertainty in Artificial Intelligence, 362-369.
.. [M13] Müller (2013). Risk of Bayesian inference in misspecified models, and the sandwich
   covariance matrix. doi:10.3982/ECTA9097
.. [LW82] Laird, Ware (1982). Random-effects models for longitudinal data. doi:10.2307/2529876
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from alikely._base.arrays import Floats
from alikely.margins.importance import scores_of_items
from alikely.margins.laws import strength_of
from alikely.margins.likelihoods import log_likelihood
from alikely.margins.moments import FEWEST_CLASSES, same_correlation
from alikely.margins.strengths import (
    MOST_INFLATED,
    PERFECT,
    GroupStrengths,
    StrengthFit,
    standard_scores,
)
from alikely.stats.importance import positive, second_derivatives

__all__ = ["WithinClasses", "classes_differ", "varied_within", "within_classes"]

# Normal scores on which likelihoods of items are laid out, and the least spread that they resolve.
SCORES = np.linspace(-6, 6, 241)
NARROW = 0.07
# The least that answers tell of an item: one that all answered alike tells next to nothing.
LEAST = 1e-4
SWEEPS, STEPS = 12, 40
SETTLED = 1e-3
# Columns of the model's parameters.
ETA, LOG_SPREAD, LOG_CLASS, LEVEL, SLOPE = range(5)
REACH = np.array([0.02, 0.02, 0.05, 0.02, 0.02])


class WithinClasses(NamedTuple):
    """Correlation of strengths with a machine's margins, within classes and between them."""

    rho: float
    lower: float
    upper: float
    between: float
    slopes: Floats
    inflation: float
    p_total: float


class _Items(NamedTuple):
    # Deviations of margins from the means of classes, these means, members (item, class).
    within: Floats
    mean: Floats
    member: Floats
    spread: float


class _Sites(NamedTuple):
    # Normal likelihoods that stand for those of items: where, and how sure.
    at: Floats
    precision: Floats


def within_classes(
    group: GroupStrengths,
    fit: StrengthFit,
    margins: ArrayLike,
    classes: NDArray[np.intp],
    ci_prob: float = 0.95,
) -> WithinClasses:
    """Correlation of strengths with margins within classes, and between them."""
    items = _laid_out(standard_scores(margins), classes)
    law = fit.mode.at[None, :-1]
    stable = np.exp(law[:, 4]) if law.shape[1] > 4 else np.zeros(1)
    n = len(classes)
    nodes = np.broadcast_to(SCORES, (1, n, len(SCORES)))
    log_p = log_likelihood(group.likelihoods, strength_of(law, nodes), stable)[0]
    theta, sites = _fitted(items, log_p, group, float(np.tanh(fit.mode.at[-1])))

    by_class = functools.partial(_log_likelihood, items=items, sites=sites)
    slopes = scores_of_items(by_class, theta, np.ones(5))
    second = second_derivatives(lambda x: by_class(x).sum(axis=1) + _log_prior(x), theta, REACH)
    # At a perfect correlation the likelihood is flat.
    inverse = np.linalg.inv(positive(-second, 0.4 / np.sqrt((slopes**2).sum(axis=0) + 1)))
    influence = slopes @ inverse[:, ETA]
    squares = items.within**2 / items.spread**2 - 1
    influence = influence + np.tanh(theta[ETA]) * squares @ items.member / (2 * n)
    n_classes = items.member.shape[1]
    inflation = 1.0
    if n_classes >= FEWEST_CLASSES:
        shown = (influence**2).sum() * n_classes / (n_classes - 1)
        inflation = float(np.clip(shown / inverse[ETA, ETA], 1, MOST_INFLATED))
    quantile = stats.t.ppf((1 + ci_prob) / 2, max(n_classes, FEWEST_CLASSES) - 1)
    bound = inflation * quantile**2 / 2
    lower, upper = (
        _limit(by_class, theta, side, bound, float(np.sqrt(2 * bound * inverse[ETA, ETA])))
        for side in (-1, 1)
    )
    root = np.sqrt(max(2 * _loss(by_class, theta, fit.mode.at[-1]) / inflation, 0.0))
    p_total = float(2 * stats.t.sf(root, max(n_classes, FEWEST_CLASSES) - 1))
    rho, between = float(np.tanh(theta[ETA])), _between(theta, items)
    return WithinClasses(rho, lower, upper, between, influence, inflation, p_total)


def classes_differ(fit: StrengthFit, within: WithinClasses, classes: NDArray[np.intp]) -> float:
    """Test whether the correlation in all is that within classes."""
    if len(within.slopes) < FEWEST_CLASSES:
        return np.nan
    total = float(np.tanh(fit.mode.at[-1]))
    of_classes = np.asarray(np.bincount(classes, fit.slopes), dtype=np.float64)
    of_total = (1 - total**2) * of_classes
    slopes = of_total, (1 - within.rho**2) * within.slopes
    return max(same_correlation((total, within.rho), slopes), within.p_total)


def varied_within(margins: ArrayLike, classes: NDArray[np.intp]) -> bool:
    """Whether margins differ within classes at all."""
    scores = standard_scores(margins)
    mean = np.bincount(classes, scores) / np.bincount(classes)
    return bool(np.abs(scores - mean[classes]).max() > 1e-9)


def _laid_out(scores: Floats, classes: NDArray[np.intp]) -> _Items:
    count = np.bincount(classes)
    if len(count) < 2:
        raise ValueError("all items are of one class: within it is all there is")
    mean = np.bincount(classes, scores) / count
    within = scores - mean[classes]
    spread = float(np.sqrt((within**2).sum() / (len(scores) - len(count))))
    if not spread > 1e-12:
        raise ValueError("margins do not differ within classes")
    member = (classes[:, None] == np.arange(len(count))).astype(np.float64)
    return _Items(within, mean, member, spread)


def _log_prior(theta: Floats) -> Floats:
    """Half-normal on both spreads of scores whose variance is 1: there is a mode at any data."""
    logs = theta[:, [LOG_SPREAD, LOG_CLASS]]
    return np.asarray((logs - np.exp(2 * logs) / 2).sum(axis=1))


def _parts(theta: Floats, items: _Items) -> tuple[Floats, Floats, Floats]:
    """Expected scores (draw, item), and variances of items and classes of their own (draw, 1)."""
    eta, log_spread, log_class, level, slope = (column[:, None] for column in theta.T)
    total = np.exp(log_spread)
    line = np.tanh(eta) * total / items.spread * items.within
    between = slope * (items.member @ items.mean)
    return level + between + line, (total / np.cosh(eta)) ** 2, np.exp(2 * log_class)


def _log_likelihood(theta: Floats, items: _Items, sites: _Sites) -> Floats:
    """Log likelihood of the sites of each class: (draw, class)."""
    expected, own, of_class = _parts(theta, items)
    spread = own + 1 / sites.precision
    left = sites.at - expected
    weight, pull, square, log = (
        part @ items.member
        for part in (1 / spread, left / spread, left**2 / spread, np.log(spread))
    )
    shrunk = 1 + of_class * weight
    return np.asarray(-(log + np.log(shrunk) + square - of_class * pull**2 / shrunk) / 2)


def _total(theta: Floats, items: _Items, sites: _Sites) -> Floats:
    return np.asarray(_log_likelihood(theta, items, sites).sum(axis=1))


def _fitted(
    items: _Items, log_p: Floats, group: GroupStrengths, rho: float
) -> tuple[Floats, _Sites]:
    """Parameters and sites that fit one another."""
    precision = np.maximum(1 / group.variance - 1, LEAST)
    sites = _Sites(group.score / group.variance / precision, precision)
    theta = np.array([np.arctanh(np.clip(rho, -0.95, 0.95)), -0.1, -1.0, 0.0, rho])
    free = np.ones(5, dtype=bool)
    for _ in range(SWEEPS):
        before = theta
        theta = _climbed(functools.partial(_total, items=items, sites=sites), theta, free)
        sites = _matched(theta, items, sites, log_p)
        if np.abs(theta - before).max() < SETTLED:
            break
    return theta, sites


def _climbed(log_p: Callable[[Floats], Floats], start: Floats, free: NDArray[np.bool_]) -> Floats:
    """Newton's steps to the mode along free parameters, held back until they climb."""

    def density(points: Floats) -> Floats:
        return np.asarray(log_p(points) + _log_prior(points))

    at, value = start, float(density(start[None])[0])
    lengths = 0.5 ** np.arange(8)
    reach = REACH[free]

    def along(moves: Floats) -> Floats:
        points = np.tile(at, (len(moves), 1))
        points[:, free] += moves
        return density(points)

    nothing = np.zeros(len(reach))
    for _ in range(STEPS):
        steps = np.diag(reach)
        ends = along(np.concatenate([steps, -steps]))
        gradient = (ends[: len(reach)] - ends[len(reach) :]) / (2 * reach)
        second = second_derivatives(along, nothing, reach)
        values, vectors = np.linalg.eigh(-second)
        # Where it is not curved as a mode is, a step along the slope.
        step = vectors @ (vectors.T @ gradient / np.maximum(np.abs(values), 1.0))
        step = step / max(1.0, np.abs(step).max())
        tried = np.tile(at, (len(lengths), 1))
        tried[:, free] += lengths[:, None] * step
        tried[:, ETA] = np.clip(tried[:, ETA], -PERFECT, PERFECT)
        found = density(tried)
        best = int(np.argmax(found))
        gain = float(found[best]) - value
        if gain > 0:
            at, value = tried[best], float(found[best])
        if gain < 1e-5:
            break
    return at


def _matched(theta: Floats, items: _Items, sites: _Sites, log_p: Floats) -> _Sites:
    """Sites with which each item has the moments that its own likelihood gives it."""
    expected, own, of_class = (part[0] for part in _parts(theta[None], items))
    noise = 1 / sites.precision
    spread = own + noise
    weight, pull = ((part / spread) @ items.member for part in (1.0, sites.at - expected))
    left = 1 / (1 / of_class + weight)
    shared, unsure = items.member @ (left * pull), items.member @ left
    mean = (noise * (expected + shared) + own * sites.at) / spread
    variance = own * noise / spread + (noise / spread) ** 2 * unsure
    others = np.maximum(1 / variance - sites.precision, 1e-3)
    centre = (mean / variance - sites.at * sites.precision) / others
    # Narrower than the nodes resolve, the likelihood of an item is much the same.
    others = np.minimum(others, 1 / NARROW**2)
    log_density = log_p - (SCORES - centre[:, None]) ** 2 * others[:, None] / 2
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    density /= density.sum(axis=1, keepdims=True)
    first = density @ SCORES
    second = (density * (SCORES - first[:, None]) ** 2).sum(axis=1)
    precision = np.maximum(1 / second - others, LEAST)
    at = (first * (precision + others) - others * centre) / precision
    return _Sites(at, precision)


def _loss(by_class: Callable[[Floats], Floats], theta: Floats, eta: float) -> float:
    """What the log likelihood loses at a correlation, the other parameters fitted."""

    def log_p(points: Floats) -> Floats:
        return np.asarray(by_class(points).sum(axis=1))

    start = theta.copy()
    start[ETA] = eta
    found = np.stack([theta, _climbed(log_p, start, np.arange(5) != ETA)])
    best, there = log_p(found) + _log_prior(found)
    return float(best - there)


def _limit(
    by_class: Callable[[Floats], Floats], theta: Floats, side: int, bound: float, first: float
) -> float:
    """Where the log likelihood, the other parameters fitted, is so far below its greatest."""

    def excess(eta: float) -> float:
        return _loss(by_class, theta, eta) - bound

    near, far = theta[ETA], theta[ETA]
    while True:
        far = float(np.clip(far + side * np.clip(first, 0.05, 2.0), -PERFECT, PERFECT))
        if excess(far) > 0:
            break
        if abs(far) >= PERFECT:
            return float(side)
        near = far
    return float(np.tanh(optimize.brentq(excess, near, far, xtol=2e-3)))


def _between(theta: Floats, items: _Items) -> float:
    """Correlation of the means of classes, of items like these."""
    _, own, of_class = (part.ravel()[0] for part in _parts(theta[None], items)[0:3])
    count = items.member.sum(axis=0)
    mean = items.mean
    line = theta[SLOPE] ** 2 * np.average(
        (mean - np.average(mean, weights=count)) ** 2, weights=count
    )
    rest = of_class + own * len(count) / count.sum()
    return float(np.sign(theta[SLOPE]) * np.sqrt(line / (line + rest)))
