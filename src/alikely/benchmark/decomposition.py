"""What images and people each add to the error of scores, and how well each is known.

One set of influences of images on the scores serves every mean, difference and ratio: the variance
of new images and new people is that of images, plus what people add beyond the noise of their
answers, worked out for each contrast of its own.

References
----------
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
.. [T49] Tukey (1949). Comparing individual means in the analysis of variance. doi:10.2307/3001913
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely.benchmark.ceilings import fieller_interval
from alikely.benchmark.degrees import NOISE, crossed_degrees, degrees_of_images
from alikely.data.blocks import Block
from alikely.inference.evaluation import agreement_of_distinct, evaluator
from alikely.inference.influence import cluster_influence, indicator
from alikely.inference.weighted import Population as Drawn
from alikely.inference.weighted import deviations
from alikely.metrics import Metric

__all__ = [
    "Decomposition",
    "Population",
    "Share",
    "Spread",
    "added_count",
    "block_clusters",
    "block_influence",
    "invented_spread",
    "joint_covariance",
    "largest_of_differences",
    "mapped",
    "normal_deviates",
    "only",
    "pair_contrasts",
    "pooled_df",
    "share_of_ceiling",
    "spread",
    "student_bounds",
]

Population = Literal["images", "humans", "crossed"]
# The least that is added to each of the four cells of a pair, and the most, of one pair and block.
LEAST, MOST = 0.1, 0.5
# For each trial of independent answers that is added, so many more that all answer alike: people
# find hard what others do, and few images may carry nearly all errors. Chosen on 300 benchmarks of
# each of six designs near the ceiling: without them human-human of 40 people held .84, with as many
# as of the others its intervals were twice as wide as need be; so .99, and 1.3 times as wide.
ALIKE = 0.2
ROUNDING = 1e-12
# Four values on the patterns n11, n10, n01, n00, as a mean and what hangs on the first, the second
# and on both answers.
WAVES = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 4


class Decomposition(NamedTuple):
    """Scores of systems at one level, and the parts of their variance."""

    score: Floats
    images: Floats
    invented: Floats
    people: Floats
    shared: Floats
    df_people: Floats
    # Most degrees of freedom of images: clusters of these may be few, or of unequal size.
    most_df: float = np.inf


class Spread(NamedTuple):
    """Variance of contrasts of scores, and its degrees of freedom."""

    variance: Floats
    df: Floats
    people: Floats
    alike: NDArray[np.bool_]


class Share(NamedTuple):
    """A score over its ceiling."""

    ratio: float
    se: float
    lower: float
    upper: float
    bounded: bool


def added_count(n_blocks: float, n_humans: float) -> float:
    """What is added to each of the four cells of a pair."""
    return max(LEAST, MOST / float(np.sqrt(n_blocks * np.sqrt(n_humans))))


def block_influence(block: Block, metric: Metric, added: float) -> tuple[Floats, Floats, Floats]:
    """Values of the pairs of a block, and what each trial and each added trial does to them."""
    shares = block.shares()
    if metric.counts == "correctness":
        if block.chosen:
            shares = shares * block.scaled_weights()[:, None]
        cells = shares.sum(axis=2, dtype=np.float64)
        n_trials = cells.sum(axis=1)
        value = np.where(n_trials > 0, metric.value(cells + added), np.nan)
        psi = metric.influence(cells + added) / (n_trials + 4 * added)[:, None]
        psi[np.isnan(value)] = 0.0
        slopes = np.einsum("pc,pct->pt", psi, shares)
        if block.chosen:
            population: Drawn = "pool" if block.population == "pool" else "images"
            slopes = deviations(slopes, block.inclusion, block.shown(), population)
        return value, slopes, psi @ WAVES.T
    ready = evaluator(block, metric)
    value = np.asarray(ready.values(np.ones((1, shares.shape[2])))[0], np.float64)
    if metric.distinct is not None:
        over = agreement_of_distinct(block, metric)
        value = np.where(np.isfinite(value) & np.isfinite(over), over, value)
    decisive = {"labels": shares[:, 3:], "readings": shares}.get(metric.counts, shares[:, 1:])
    n = decisive.any(axis=1).sum(axis=1)
    scale = np.sqrt(n / np.maximum(n - 1, 1))
    slopes = np.where(np.isfinite(value), scale, 0.0)[:, None] * np.nan_to_num(ready.slopes())
    return value, slopes, np.zeros((len(value), 4))


def block_clusters(block: Block, metric: Metric, added: float, numbers: NDArray[np.intp]) -> Floats:
    """What each cluster of images moves the pairs of a block by, each left out: (pair, cluster)."""
    if metric.counts != "correctness":
        moved, _ = cluster_influence(evaluator(block, metric), numbers)
        return np.nan_to_num(moved)
    membership = indicator(numbers)[0]
    shares = block.shares().astype(np.float64)
    parted = (shares.reshape(-1, shares.shape[2]) @ membership).reshape(*shares.shape[:2], -1)
    cells = shares.sum(axis=2)
    # Differences of counts fall a few ulp below 0.
    without = np.maximum(cells[..., None] - parted, 0.0).transpose(0, 2, 1)
    n = parted.any(axis=1).sum(axis=1, keepdims=True)
    moved = metric.value(cells + added)[:, None] - metric.value(without + added)
    left = np.where(without.sum(axis=2) > 0, moved, 0.0)
    return np.nan_to_num((n - 1) / np.maximum(n, 1) * left)


def invented_spread(
    weights: Floats, waves: Floats, a: NDArray[np.intp], b: NDArray[np.intp], added: float
) -> Floats:
    """Covariance of scores from the trials added to one block."""
    n_observers = int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    first, second = (np.eye(n_observers)[side] for side in (a, b))
    features = [
        weights @ waves[:, :1],
        weights @ (waves[:, 1:2] * first + waves[:, 2:3] * second),
        # A pair in both orders is one pair of answers.
        weights @ (waves[:, 3:] * _pairs(a, b, n_observers)),
    ]
    # All right or all wrong: the product of two answers is 1.
    hard_for_all = [
        weights @ (waves[:, :1] + waves[:, 3:]),
        weights @ (waves[:, 1:2] + waves[:, 2:3]),
    ]
    together = np.concatenate(
        [*features, *(np.sqrt(ALIKE) * part for part in hard_for_all)], axis=1
    )
    return np.asarray(4 * added * together @ together.T)


def _pairs(a: NDArray[np.intp], b: NDArray[np.intp], n_observers: int) -> Floats:
    """Which pair of observers each entry is of, whatever their order: (entry, pair)."""
    code = np.minimum(a, b) * n_observers + np.maximum(a, b)
    found, number = np.unique(code, return_inverse=True)
    return np.eye(len(found))[number]


def spread(parts: Decomposition, contrasts: Floats, population: Population) -> Spread:
    """Variance of contrasts of scores for new images, new people, or both."""
    involved = contrasts != 0
    influence = contrasts @ parts.images
    n_images = influence.shape[1]
    square = (influence**2).sum(axis=1)
    # What rounding leaves is no influence.
    alike = square <= ROUNDING * contrasts**2 @ (parts.images**2).sum(axis=1)
    v_images = n_images / max(n_images - 1, 1) * square + _form(contrasts, parts.invented)
    unknown = (involved & np.isnan(parts.score)).any(axis=1)
    v_images[unknown] = np.nan
    df_images = np.minimum(degrees_of_images(influence), parts.most_df)
    # People are unknown where a system has too few of them, and only if it takes part.
    none = (involved & np.isnan(np.diag(parts.people))).any(axis=1) | unknown
    v_people = _form(contrasts, np.nan_to_num(parts.people))
    # Nor is it a variance: scores that differ alike for all people.
    size = contrasts**2 @ (np.nan_to_num(parts.score) ** 2 + np.nan_to_num(np.diag(parts.people)))
    v_people = np.where(np.abs(v_people) <= ROUNDING * size, 0.0, v_people)
    v_people = np.where(none, np.nan, v_people)
    df_people = np.where(involved, parts.df_people, np.inf).min(axis=1)
    if population == "images":
        return Spread(v_images, df_images, v_people, alike)
    if population == "humans":
        return Spread(v_people, df_people, v_people, alike)
    v_both = _form(contrasts, parts.shared)
    variance = v_images + np.maximum(v_people - v_both, 0.0)
    df = crossed_degrees(v_images, v_people, v_both, df_images, df_people)
    return Spread(variance, df, np.maximum(v_people - NOISE * v_both, 0.0), alike)


def _form(contrasts: Floats, matrix: Floats) -> Floats:
    """Quadratic form of each contrast."""
    return np.asarray(((contrasts @ matrix) * contrasts).sum(axis=1))


def joint_covariance(parts: Decomposition, population: Population) -> Floats:
    """Covariance of the scores of all systems, for statements about several of them at once."""
    n_images = parts.images.shape[1]
    images = n_images / max(n_images - 1, 1) * parts.images @ parts.images.T + parts.invented
    absent = np.isnan(parts.score)
    images[absent] = np.nan
    images[:, absent] = np.nan
    if population == "images":
        return images
    people = np.where(np.isnan(images), np.nan, parts.people)
    if population == "humans":
        return people
    beyond = np.zeros_like(people)
    known = np.isfinite(np.diag(people))
    if known.any():
        both = np.ix_(known, known)
        values, vectors = np.linalg.eigh((people - parts.shared)[both])
        beyond[both] = (vectors * np.maximum(values, 0)) @ vectors.T
    return np.where(np.isnan(people), np.nan, images + beyond)


def student_bounds(
    centre: Floats,
    variance: Floats,
    df: Floats,
    ci_prob: float,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Floats:
    """Bounds of Student's intervals: shape (..., 2)."""
    half = stats.t.ppf((1 + ci_prob) / 2, df) * np.sqrt(variance)
    # The part of the interval in the range has the same coverage.
    return np.clip(np.stack([centre - half, centre + half], axis=-1), *limits)


def pooled_df(found: Spread, parts: Decomposition, population: Population) -> Floats:
    """Degrees of freedom of differences that are judged together."""
    known = np.isfinite(found.people) & (found.people > 0)
    if population == "images" or not known.any():
        return found.df
    people = np.nanmean(found.people)
    pool = np.nanmean(found.variance) ** 2 * np.nanmin(parts.df_people) / people**2
    return np.minimum(found.df, pool)


def largest_of_differences(df: Floats, n_systems: int, ci_prob: float) -> Floats:
    """Critical values of all differences of systems at once."""
    range_ = stats.studentized_range.ppf(ci_prob, n_systems, np.inf)
    return np.asarray(stats.t.isf(special.ndtr(-range_ / np.sqrt(2)), df))


def share_of_ceiling(
    parts: Decomposition,
    system: int,
    ceiling: int,
    population: Population,
    ci_prob: float,
) -> Share:
    """Score over its ceiling, neither clipped nor made absolute."""
    two = only(parts, [system, ceiling])
    r, c = two.score
    if not c > 0:
        return Share(np.nan, np.nan, np.nan, np.nan, bounded=True)
    ratio = r / c
    found = spread(two, np.array([[1.0, -ratio]]), population)
    matrix = joint_covariance(two, population)
    df = float(found.df[0])
    bounds = fieller_interval(r, c, matrix[0, 0], matrix[1, 1], matrix[0, 1], ci_prob, df)
    se = np.sqrt(found.variance[0]) / c
    bounded = not np.isinf(bounds).any()
    if not bounded:
        half = float(stats.t.ppf((1 + ci_prob) / 2, df) * se)
        bounds = ratio - half, ratio + half
    return Share(float(ratio), float(se), *bounds, bounded)


def only(parts: Decomposition, systems: Sequence[int]) -> Decomposition:
    """Decomposition of some of the systems."""
    both = np.ix_(systems, systems)
    return Decomposition(
        parts.score[systems],
        parts.images[systems],
        parts.invented[both],
        parts.people[both],
        parts.shared[both],
        parts.df_people[systems],
        parts.most_df,
    )


def mapped(parts: Decomposition, weights: Floats) -> Decomposition:
    """Decomposition of weighted means of the systems, such as of groups of them."""
    w = weights
    return Decomposition(
        w @ parts.score,
        w @ parts.images,
        w @ parts.invented @ w.T,
        w @ parts.people @ w.T,
        w @ parts.shared @ w.T,
        np.where(w != 0, parts.df_people, np.inf).min(axis=1),
        parts.most_df,
    )


def pair_contrasts(n_systems: int) -> Floats:
    """Weights of all pairwise differences: (pair, system), in the order of `np.triu_indices`."""
    j, k = np.triu_indices(n_systems, 1)
    return np.eye(n_systems)[j] - np.eye(n_systems)[k]


def normal_deviates(parts: Decomposition, population: Population) -> Floats:
    """Normal deviates as unlikely as the standardised differences of all pairs of systems."""
    n = len(parts.score)
    contrasts = pair_contrasts(n)
    found = spread(parts, contrasts, population)
    t = contrasts @ parts.score / np.sqrt(found.variance)
    tail = stats.t.sf(np.abs(t), pooled_df(found, parts, population))
    deviates = np.zeros((n, n))
    deviates[np.triu_indices(n, 1)] = np.sign(t) * -special.ndtri(tail)
    return deviates - deviates.T
