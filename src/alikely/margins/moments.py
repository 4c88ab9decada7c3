"""Interval of the correlation of two systems over items, freed of noise, by moments alone.

No law of strengths is assumed and no shape of the relation: the correlation is that of normal
scores of margins with the shares of right answers that endlessly many people like these would give.

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

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.ranges import within
from alikely.margins.sides import Side
from alikely.metrics.margins import CONSTANT

__all__ = ["FEWEST_CLASSES", "Moments", "moment_consistency", "moment_limits", "same_correlation"]

# With fewer classes errors by class rest on too few of them, and items stand alone.
FEWEST_CLASSES = 5


class Moments(NamedTuple):
    """Moments of two systems over items, and how well they are known."""

    rho: float
    se: float
    covariance: float
    scale: float
    spread: Floats
    df: int
    reliability: tuple[float, float]
    slopes: Floats
    reason: str


def moment_consistency(
    one: Side, other: Side, strata: NDArray[np.intp], clusters: NDArray[np.intp] | None = None
) -> Moments:
    """Correlation of two systems over items, freed of the noise of single answers."""
    n, n_strata = len(strata), int(strata.max()) + 1
    if n < n_strata + 3:
        raise ValueError(
            f"{n} items in {n_strata} strata tell nothing of a correlation; pool conditions with "
            "by=, or do without classes"
        )
    shrunk = (n - n_strata) / n
    squares = [float(np.nanmean(side.square)) if _paired(side) else np.nan for side in (one, other)]
    totals = [float((side.ease**2).mean()) for side in (one, other)]
    covariance = float((one.ease * other.ease).mean())
    reliability = tuple(
        float(within(square / total, -np.inf)) if total > 0 else np.nan
        for square, total in zip(squares, totals, strict=True)
    )
    if reason := _reason(squares, totals):
        nan = np.nan
        return Moments(
            nan, nan, covariance / shrunk, nan, np.full(3, nan), 1,
            (reliability[0], reliability[1]), np.full(n, nan), reason,
        )  # fmt: skip
    scale = float(np.sqrt(squares[0] * squares[1]))
    a = one.ease * other.ease + _by_rank(one, other.ease) + _by_rank(other, one.ease)
    parts = [
        np.nan_to_num(side.square - square) + 2 * _by_rank(side, side.ease)
        # Items that one member answered tell nothing of the noise: the others stand for them.
        for side, square in zip((one, other), squares, strict=True)
    ]
    counted = [n / np.isfinite(side.square).sum() for side in (one, other)]
    b = sum(
        scale / (2 * square) * part * of_all
        for part, square, of_all in zip(parts, squares, counted, strict=True)
    )
    influence = np.stack([a - a.mean(), b - b.mean()])
    groups = np.arange(n) if clusters is None else clusters
    n_groups = int(groups.max()) + 1
    spread = _variance(influence, groups, strata)
    rho = covariance / scale
    for side, square, partner, of_all in (
        (one, squares[0], other, counted[0]),
        (other, squares[1], one, counted[1]),
    ):
        if len(side.cells) > 1:
            cells = np.stack([
                side.cells * partner.ease,
                np.nan_to_num(side.square_cells) * of_all * scale / square,
            ])  # fmt: skip
            spread = spread + _of_people(cells, side.weights, groups, n_groups, rho)
    at = np.array([1.0, -rho])
    variance = float(at @ spread @ at) / scale**2
    slopes = (influence[0] - rho * influence[1]) / (scale * n)
    return Moments(
        rho,
        float(np.sqrt(max(variance, 0.0))),
        covariance,
        scale,
        np.array([spread[0, 0], spread[0, 1], spread[1, 1]]),
        n_groups - 1 if clusters is not None else n - n_strata - 1,
        (reliability[0], reliability[1]),
        slopes,
        "",
    )


def moment_limits(found: Moments, tail: ArrayLike) -> Floats:
    """Limits of the correlation, by tail probability [F54]_."""
    p = np.asarray(tail, dtype=np.float64)
    if found.reason:
        return np.full(p.shape, np.nan)
    c, d = found.covariance, found.scale
    # The same levels, pair by pair.
    t = _deviates(p.tobytes(), found.df).reshape(p.shape)
    saa, sab, sbb = found.spread
    lead = d**2 - t**2 * sbb
    half = c * d - t**2 * sab
    rest = c**2 - t**2 * saa
    with np.errstate(invalid="ignore", divide="ignore"):
        # Without spread the limits are the ratio itself, and rounding may make the root imaginary.
        root = np.sqrt(np.maximum(half**2 - lead * rest, 0))
        limit = (half + np.sign(t) * root) / lead
    limit = np.where(lead > 0, limit, np.sign(t))
    return np.clip(limit, -1, 1)


def same_correlation(
    values: tuple[float, float],
    slopes: tuple[Floats, Floats],
    clusters: NDArray[np.intp] | None = None,
) -> float:
    """Test equality of two correlations over the same items."""
    apart = slopes[0] - slopes[1]
    if clusters is not None:
        apart = np.asarray(np.bincount(clusters, apart), dtype=np.float64)
    n = len(apart)
    error = float(np.sqrt(n / (n - 1) * (apart**2).sum()))
    if not error > 0:
        return np.nan
    return float(2 * stats.t.sf(abs(values[0] - values[1]) / error, n - 1))


@functools.lru_cache(maxsize=8)
def _deviates(levels: bytes, df: int) -> Floats:
    return np.asarray(stats.t.ppf(np.frombuffer(levels), df))


def _paired(side: Side) -> bool:
    return bool(np.isfinite(side.square).any())


def _reason(squares: list[float], totals: list[float]) -> str:
    if min(totals) < 1e-24:
        return CONSTANT
    if not np.isfinite(squares).all():
        return "no item was answered by two observers: noise cannot be told from items"
    if min(squares) <= 1e-12:
        return "items differ no more than by chance: the correlation has no bound"
    return ""


def _by_rank(side: Side, weights: Floats) -> Floats:
    """Influence of an item by moving the ranks of all others, on the mean of scores by weights."""
    if side.slopes is None:
        return np.zeros(len(weights))
    n = len(weights)
    pull = side.slopes * weights
    _, place, count = np.unique(side.values, return_inverse=True, return_counts=True)
    of_value = np.bincount(place, pull)
    # An item below another one moves it up by a rank, one that ties with it by half a rank.
    above = (of_value.sum() - np.cumsum(of_value) + of_value / 2)[place]
    share = (np.cumsum(count) - count / 2) / n
    return np.asarray((above - share[place] @ pull) / n)


def _variance(influence: Floats, groups: NDArray[np.intp], strata: NDArray[np.intp]) -> Floats:
    """Covariance of the two moments, over new items or clusters."""
    n, n_groups, n_strata = len(strata), int(groups.max()) + 1, int(strata.max()) + 1
    summed = np.stack([np.bincount(groups, row, n_groups) for row in influence])
    # Both moments are means over items, which shrink alike with the means taken off.
    if n_groups == n:
        factor = n / (n - n_strata)
    elif len(np.unique(strata * n_groups + groups)) == n_strata:
        factor = n_groups / (n_groups - 1)
    else:
        # Clusters in one stratum have its mean in common: products of their deviations shrink
        # with it, and there are few of them.
        factor = (n_groups / (n_groups - 1)) ** 3
    return np.asarray(factor * summed @ summed.T / n**2)


def _of_people(
    cells: Floats, weights: Floats, groups: NDArray[np.intp], n_groups: int, rho: float
) -> Floats:
    """What people add beyond the chance of their single answers, as a covariance; or nothing."""
    n_people, n = cells.shape[1:]
    tables = np.zeros((2, n_people, n_groups))
    for table, part in zip(tables, cells, strict=True):
        np.add.at(table.T, groups, part.T)
    share = np.zeros((n_people, n_groups))
    np.add.at(share.T, groups, weights.T)
    share /= share.sum(axis=0)
    of_person = weights.sum(axis=1) / n
    group_sum = tables.sum(axis=1)
    person = tables.sum(axis=2) - of_person * group_sum.sum(axis=1)[:, None]
    alone = np.divide(share, share.sum(axis=1, keepdims=True), where=share > 0,
                      out=np.zeros_like(share))  # fmt: skip
    left = tables - share * group_sum[:, None] - alone * person[:, :, None]
    by_people = n_people / (n_people - 1) * person @ person.T
    flat = left.reshape(2, -1)
    by_chance = n_people / (n_people - 1) * n_groups / (n_groups - 1) * flat @ flat.T
    excess = (by_people - by_chance) / n**2
    at = np.array([1.0, -rho])
    return excess if at @ excess @ at > 0 else np.zeros((2, 2))
