"""Interval of the noise-corrected correlation of two systems over items, by moments.

The correlation is between normal scores of margins and the proportion correct in the population of
observers. The method assumes neither a distribution of strengths nor the shape of the relation.

References
----------
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [F54] Fieller (1954). Some problems in interval estimation. Journal of the Royal Statistical
   Society B 16, 175-185.
.. [H68] Hajek (1968). Asymptotic normality of simple linear rank statistics under alternatives.
   doi:10.1214/aoms/1177698394
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special, stats
from scipy.sparse import csgraph

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.inference.influence import indicator, of_clusters
from alikely.metrics.margins import CONSTANT, normal_scores

# With fewer classes, items are the sampling unit instead of classes.
FEWEST_CLASSES = 5
# Number of clusters with exact leave-one-out values; for the others slopes suffice.
LEFT_OUT = 100


class Moments(NamedTuple):
    """Covariance of two systems over items, its scale, and the sampling covariance of both."""

    rho: float
    covariance: float
    scale: float
    spread: Floats
    df: float
    slopes: Floats
    reason: str = ""


def moment_consistency(
    one: Side,
    other: Side,
    strata: NDArray[np.intp],
    clusters: NDArray[np.intp] | None = None,
    again: Callable[[NDArray[np.bool_]], Moments] | None = None,
) -> Moments:
    """Compute the noise-corrected correlation of two systems over items.

    If moments of parts of the items are given, clusters are the sampling unit, with the jackknife
    variance and effective degrees of freedom (for classes, their number minus 1).
    """
    sides, n, n_strata = (one, other), len(strata), int(strata.max()) + 1
    groups = np.arange(n) if clusters is None else clusters
    n_groups = int(groups.max()) + 1
    answered = [np.isfinite(side.square) for side in sides]
    squares = [
        float(side.square[own].mean()) if own.any() else np.nan
        for side, own in zip(sides, answered, strict=True)
    ]
    if reason := _reason(sides, squares, n_groups):
        return unknown_moments(reason, n)
    covariance, scale = float((one.ease * other.ease).mean()), float(np.sqrt(np.prod(squares)))
    rho = covariance / scale
    a = one.ease * other.ease + _by_rank(one, other.ease) + _by_rank(other, one.ease)
    b, of_people = np.zeros(n), np.zeros((2, 2))
    for side, partner, square, own in zip(sides, sides[::-1], squares, answered, strict=True):
        # Items with one response have no noise estimate; it is taken from the other items.
        factor = n / own.sum() * scale / square
        b += factor * (np.nan_to_num(side.square - square) / 2 + _by_rank(side, side.ease))
        if len(side.cells) > 1:
            cells = side.cells * partner.ease, factor * np.nan_to_num(side.square_cells)
            of_people += _of_people(np.stack(cells), side.weights, groups, rho)
    influence = np.stack([a - a.mean(), b - b.mean()])
    df = float(n_groups - 1 if clusters is not None else n - n_strata - 1)
    if again is None:
        spread = _variance(influence, groups, strata)
    else:
        moved = _without_each(influence, groups, np.array([covariance, scale]), again)
        spread = n_groups / (n_groups - 1) * moved @ moved.T
        single = influence[0] - rho * influence[1]
        by_cluster = np.bincount(groups, single**2)[None].astype(np.float64)
        df = float(of_clusters((moved[0] - rho * moved[1])[None], by_cluster)[1][0])
    slopes = (influence[0] - rho * influence[1]) / (scale * n)
    return Moments(rho, covariance, scale, spread + of_people, df, slopes)


def unknown_moments(reason: str, n: int) -> Moments:
    """Return undefined moments with the number of items and the reason."""
    nan = np.nan
    return Moments(nan, nan, nan, np.full((2, 2), nan), 1, np.full(n, nan), reason)


def moment_limits(found: Moments, tail: ArrayLike) -> Floats:
    """Compute limits of the correlation for tail probabilities [F54]_."""
    p = np.asarray(tail, dtype=np.float64)
    if found.reason:
        return np.full(p.shape, np.nan)
    c, d, (saa, sab), (_, sbb) = found.covariance, found.scale, *found.spread
    t = special.stdtrit(found.df, p)
    lead, half, rest = d**2 - t**2 * sbb, c * d - t**2 * sab, c**2 - t**2 * saa
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without variance the limits equal the ratio, and rounding may make the root imaginary.
        root = np.sqrt(np.maximum(half**2 - lead * rest, 0))
        limit = (half + np.sign(t) * root) / lead
    return np.clip(np.where(lead > 0, limit, np.sign(t)), -1, 1)


def same_correlation(
    values: tuple[float, float],
    slopes: tuple[Floats, Floats],
    clusters: NDArray[np.intp] | None = None,
) -> float:
    """Test whether two correlations over the same items are equal."""
    apart = slopes[0] - slopes[1]
    if clusters is not None:
        apart = np.asarray(np.bincount(clusters, apart), dtype=np.float64)
    n = len(apart)
    error = float(np.sqrt(n / (n - 1) * (apart**2).sum()))
    if not error > 0:
        return np.nan
    return float(2 * stats.t.sf(abs(values[0] - values[1]) / error, n - 1))


def _reason(sides: tuple[Side, Side], squares: list[float], n_groups: int) -> str:
    """Why there is no correlation, or empty."""
    if min((side.ease**2).mean() for side in sides) < 1e-24:
        return CONSTANT
    if not np.isfinite(squares).all():
        return "no item was answered by two observers: noise cannot be told from items"
    if min(squares) <= 1e-12:
        return "items differ no more than by chance: the correlation has no bound"
    return "all items are of one cluster" if n_groups < 2 else ""


def _by_rank(side: Side, weights: Floats) -> Floats:
    """Influence of an item on a weighted mean of scores, through the ranks of all items."""
    if side.slopes is None:
        return np.zeros(len(weights))
    n = len(weights)
    pull = side.slopes * weights
    _, place, count = np.unique(side.values, return_inverse=True, return_counts=True)
    of_value = np.bincount(place, pull)
    # An item raises the rank of each higher item by 1, and of each tied item by 1/2.
    above = (of_value.sum() - np.cumsum(of_value) + of_value / 2)[place]
    share = (np.cumsum(count) - count / 2) / n
    return np.asarray((above - share[place] @ pull) / n)


def _variance(influence: Floats, groups: NDArray[np.intp], strata: NDArray[np.intp]) -> Floats:
    """Covariance of the two moments, over new items or clusters."""
    n, n_groups, n_strata = len(strata), int(groups.max()) + 1, int(strata.max()) + 1
    summed = np.stack([np.bincount(groups, row, n_groups) for row in influence])
    # Both moments are means over items with the same small-sample bias.
    if n_groups == n:
        factor = n / (n - n_strata)
    elif len(np.unique(strata * n_groups + groups)) == n_strata:
        factor = n_groups / (n_groups - 1)
    else:
        # Clusters in one stratum have its mean in common: products of their deviations shrink
        # with it, and there are few of them.
        factor = (n_groups / (n_groups - 1)) ** 3
    return np.asarray(factor * summed @ summed.T / n**2)


def _without_each(
    influence: Floats,
    groups: NDArray[np.intp],
    both: Floats,
    again: Callable[[NDArray[np.bool_]], Moments],
) -> Floats:
    """Influence of each cluster on both moments: leave-one-out for the largest, else slopes."""
    n, n_groups = len(groups), int(groups.max()) + 1
    moved = np.stack([np.bincount(groups, row, n_groups) for row in influence]) / n
    for group in np.argsort(-np.abs(moved / both[:, None]).max(axis=0))[:LEFT_OUT]:
        found = again(groups != group)
        if not found.reason:
            without = np.array([found.covariance, found.scale])
            moved[:, group] = (n_groups - 1) / n_groups * (both - without)
    return moved


def _of_people(cells: Floats, weights: Floats, groups: NDArray[np.intp], rho: float) -> Floats:
    """Covariance due to differences between observers beyond response noise; or zero."""
    (n_humans, n), n_groups = weights.shape, int(groups.max()) + 1
    member = indicator(groups)[0]
    tables = (cells.reshape(-1, n) @ member).reshape(2, n_humans, n_groups)
    share = weights @ member
    share /= share.sum(axis=0)
    of_person = weights.sum(axis=1) / n
    group_sum = tables.sum(axis=1)
    person = tables.sum(axis=2) - of_person * group_sum.sum(axis=1)[:, None]
    alone = share / share.sum(axis=1, keepdims=True)
    left = tables - share * group_sum[:, None] - alone * person[:, :, None]
    by_people = n_humans / (n_humans - 1) * person @ person.T
    flat = left.reshape(2, -1)
    by_chance = n_humans / (n_humans - 1) * n_groups / (n_groups - 1) * flat @ flat.T
    excess = (by_people - by_chance) / n**2
    at = np.array([1.0, -rho])
    return excess if at @ excess @ at > 0 else np.zeros((2, 2))


# Sides of a comparison


class Side(NamedTuple):
    """Margins of one system on some items, as deviations from stratum means."""

    ease: Floats
    square: Floats
    cells: Floats
    square_cells: Floats
    weights: Floats
    slopes: Floats | None
    values: Floats


def lists_of_items(shown: ArrayLike, classes: ArrayLike | None = None) -> NDArray[np.intp]:
    """Find strata within which items are comparable: lists without common observers, classes."""
    n = np.asarray(shown)
    kinds = np.zeros(n.shape[1], dtype=np.intp) if classes is None else np.asarray(classes)
    n_kinds = int(kinds.max()) + 1
    observer, item = np.nonzero(n)
    # An observer of two classes does not connect them.
    ends = (observer * n_kinds + kinds[item], len(n) * n_kinds + item)
    size = len(n) * n_kinds + n.shape[1]
    graph = sparse.coo_array((np.ones(len(item)), ends), shape=(size, size))
    label = csgraph.connected_components(graph, directed=False)[1][len(n) * n_kinds :]
    return np.asarray(np.unique(label, return_inverse=True)[1])


def model_side(margins: ArrayLike, strata: NDArray[np.intp]) -> Side:
    """Prepare normal scores of a model's margins for a comparison."""
    scores = normal_scores(margins)
    ease = centred(scores, strata)
    none = np.zeros((0, len(ease)))
    slopes = 1 / stats.norm.pdf(scores)
    return Side(ease, ease**2, none, none, none, slopes, np.asarray(margins, dtype=np.float64))


def group_side(right: ArrayLike, shown: ArrayLike, strata: NDArray[np.intp]) -> Side:
    """Prepare proportions correct of a group for a comparison."""
    r, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    x = np.divide(r, n, out=np.zeros_like(r), where=n > 0)
    weight = n / n.sum(axis=0)
    y = np.where(n > 0, x - _levels(x, n, strata), 0.0)
    mean = (weight * y).sum(axis=0)
    shift = mean - centred(mean, strata)
    y = np.where(n > 0, y - shift, 0.0)
    cells = weight * y
    ease = cells.sum(axis=0)
    both = 1 - (weight**2).sum(axis=0)
    alone = (n > 0).sum(axis=0) < 2
    with np.errstate(divide="ignore", invalid="ignore"):
        square_cells = np.where(alone, np.nan, cells * (ease - cells) / both)
    return Side(ease, square_cells.sum(axis=0), cells, square_cells, weight, None, ease)


def centred(x: Floats, strata: NDArray[np.intp]) -> Floats:
    """Subtract from each value the mean of its stratum."""
    means = np.bincount(strata, x) / np.bincount(strata)
    return np.asarray(x - means[strata])


def _levels(x: Floats, n: Floats, strata: NDArray[np.intp]) -> Floats:
    """Level of each observer in each stratum, by least squares with item effects."""
    out = np.zeros_like(x)
    for stratum in range(int(strata.max()) + 1):
        own = strata == stratum
        part, answers = x[:, own], n[:, own]
        there = answers.any(axis=1)
        part, answers = part[there], answers[there]
        if (answers == answers[:1, :1]).all():
            level = part.mean(axis=1)
        else:
            share = answers / answers.sum(axis=0)
            normal = np.diag(answers.sum(axis=1)) - share @ answers.T
            gap = (answers * (part - (share * part).sum(axis=0))).sum(axis=1)
            # A common shift of all levels is not identified, only rounding error.
            level = np.linalg.pinv(normal, rcond=1e-10, hermitian=True) @ gap
        out[np.ix_(there, own)] = level[:, None]
    return out


# Draws of several correlations


def tied_ranks(
    n_trials: int,
    parts: Sequence[tuple[NDArray[np.intp], Floats, NDArray[np.intp] | None]],
    n_draws: int,
    rng: RandomState = None,
) -> NDArray[np.intp]:
    """Compute ranks of draws, correlated between estimates through common items.

    Each element of `parts` describes an estimate by its items, their influences and their clusters.
    """
    of_trial = np.arange(n_trials)
    for items, _, clusters in parts:
        if clusters is not None:
            # A cluster is represented by its first item, in all entries of these trials.
            of_trial[items] = items[np.unique(clusters, return_index=True)[1][clusters]]
    slopes = np.zeros((n_trials, len(parts)))
    for column, (items, influences, _) in zip(slopes.T, parts, strict=True):
        np.add.at(column, of_trial[items], np.nan_to_num(influences))
    # Sums of normal multipliers of items are normal: only their covariance matters.
    root = np.linalg.qr(slopes, mode="r")
    generator = np.random.default_rng(seed_sequence(rng))
    total = generator.standard_normal((n_draws, len(root))) @ root
    loose = ~total.any(axis=0)
    total[:, loose] = generator.standard_normal((n_draws, int(loose.sum())))
    return np.asarray(total.argsort(axis=0).argsort(axis=0))
