"""Variance of scores at every level: contributions of images and humans, degrees of freedom.

One set of influences of images on the scores serves all means, differences and ratios. For new
images and new humans, the variance is that of images, plus the variance between humans in excess of
trial-level noise. The variance is computed for each contrast separately.

A decomposition is an `xarray.Dataset` for one level, such as a data set. ``interval_center`` and
``df_humans`` have the dim system, ``influence`` has the dims system and image, and
``pseudocount_variance``, ``humans`` and ``shared`` have the dims system and system_other.
``most_df`` limits the degrees of freedom of images, because clusters of images may be few or of
unequal size.

References
----------
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
.. [T49] Tukey (1949). Comparing individual means in the analysis of variance. doi:10.2307/3001913
.. [S46] Satterthwaite (1946). An approximate distribution of estimates of variance components.
   doi:10.2307/3002019
.. [H74] Howe (1974). Approximate confidence limits on the mean of X + Y where X and Y are two
   tabled independent random variables. J. Am. Stat. Assoc. 69, 789-794.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark.layout import (
    Items,
    Layout,
    People,
    Population,
    human_shifts,
    image_numbers,
    nested_scores,
)
from alikely.data.blocks import Block, blocks
from alikely.inference.evaluation import agreement_of_distinct, evaluator
from alikely.inference.influence import (
    cluster_influence,
    estimate,
    freedom_of_clusters,
    indicator,
    most_freedom,
)
from alikely.inference.weighting import Population as Drawn
from alikely.inference.weighting import deviations, freedom_of_sums
from alikely.metrics import Metric

# Smallest and largest pseudocount in each of the four cells of a pair; the largest is for one pair
# and block.
LEAST, MOST = 0.1, 0.5
# Pseudo-trials on which all observers agree, per independent pseudo-trial: observers find the same
# images hard, and few images may cause nearly all errors. Chosen on 300 benchmarks of each of six
# near-ceiling designs. For the human-human score of 40 humans, coverage was 0.84 with a value of 0,
# and 0.99 with 0.2, with intervals 1.3 times as wide as needed. With 1, they were twice as wide.
ALIKE = 0.2
ROUNDING = 1e-12
# Values on the patterns n11, n10, n01, n00, as a mean and the effects of the first response, the
# second and their product.
WAVES = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 4
# Quantile at which limits of two variance components are combined.
AT = 0.975
# Fraction of trial-level noise in the variance between humans that is excluded when degrees of
# freedom are computed.
NOISE = 0.25
# Differences in memory at a time, about 160 MB.
CHUNK = 20_000_000
# Variables of a decomposition and their dimensions.
COMPONENTS = {
    "interval_center": ("system",),
    "influence": ("system", "image"),
    **dict.fromkeys(("pseudocount_variance", "humans", "shared"), ("system", "system_other")),
    "df_humans": ("system",),
}


def decomposition(*values: Floats, most_df: float = np.inf) -> xr.Dataset:
    """Collect the scores of systems at one level and the components of their variance."""
    found = zip(COMPONENTS.items(), values, strict=True)
    return xr.Dataset({name: (dims, each) for (name, dims), each in found} | {"most_df": most_df})


def decompositions(
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    *,
    human_ids: People,
    item_scope: Items,
    overall: bool = True,
    cluster: str | None = None,
) -> list[xr.Dataset]:
    """Decompose the variance of the scores of each level of a layout, and of their mean."""
    labels = [
        [(part.dataset if human_ids == "per_dataset" else "", name) for name in part.people]
        for part in layout.parts
    ]
    number = {label: i for i, label in enumerate(dict.fromkeys(itertools.chain(*labels)))}
    person = [np.array([number[label] for label in own], dtype=np.intp) for own in labels]
    raw = estimate(table, metric)["estimate"].values
    there = ~np.isnan(nested_scores(layout, raw[None])[0])
    image = image_numbers(table, item_scope)
    unit = image if cluster is None else image_numbers(table, item_scope, cluster)
    of_part: list[list[Block]] = [[] for _ in layout.parts]
    for block in blocks(table):
        of_part[layout.part_of_entry[block.rows.start]].append(block)
    levels = [*layout.levels.values()]
    shares = np.zeros((len(levels), *there.shape))
    for parts, share in zip(levels, shares, strict=True):
        share[parts] = there[parts] / np.maximum(there[parts].sum(axis=0), 1)
    if overall:
        levels.append(list(range(len(layout.parts))))
        n_levels = np.maximum(shares.any(axis=1).sum(axis=0), 1)
        shares = np.concatenate([shares, [shares.sum(axis=0) / n_levels]])
    found = []
    for parts, share in zip(levels, shares, strict=True):
        own = {d: of_part[d] for d in parts}
        shown = [image[block.trials] for blocks_ in own.values() for block in blocks_]
        n_humans = float(np.mean([layout.parts[d].n_humans for d in parts]))
        added = added_count(n_distinct_blocks(shown), n_humans)
        found.append(_level(layout, metric, own, share, person, image, unit, added))
    return found


def _level(
    layout: Layout,
    metric: Metric,
    of_part: dict[int, list[Block]],
    share: Floats,
    person: Sequence[NDArray[np.intp]],
    image: NDArray[np.intp],
    unit: NDArray[np.intp],
    added: float,
) -> xr.Dataset:
    """Decompose a weighted mean over some parts."""
    never = ~share.any(axis=0)
    size, n_humans = share.shape[1], 1 + max(int(own.max()) for own in person)
    shown = {
        d: np.unique(np.concatenate([unit[block.trials] for block in own]))
        for d, own in of_part.items()
    }
    used = np.unique(np.concatenate([*shown.values()]))
    column = np.full(unit.max() + 1, -1)
    column[used] = np.arange(len(used))
    n_images = len(used)
    clustered = unit is not image
    single = np.zeros((size, len(unit) if clustered else 0))
    score = np.where(never, np.nan, 0.0)
    images, invented, shared = np.zeros((size, n_images)), *np.zeros((2, size, size))
    moved = np.zeros((n_humans, size))
    crowds: list[list[tuple[NDArray[np.intp], float]]] = [[] for _ in range(size)]
    lost = np.zeros(size, dtype=bool)
    # Images that several parts share are summed before squaring.
    apart = n_images == sum(len(own) for own in shown.values())
    both = np.zeros((n_humans, size, 0 if apart else n_images))
    for d, own in of_part.items():
        part, weight = layout.parts[d], share[d]
        found = [block_influence(block, metric, added) for block in own]
        value = np.full(len(layout.part_of_entry), np.nan)
        for block, (values, _, _) in zip(own, found, strict=True):
            value[block.rows] = values
        full, left, unknown, takes_part = human_shifts(layout, part, np.isfinite(value))
        lost |= unknown & (weight > 0)
        full, left = weight[:, None] * full, weight[:, None] * left
        value = np.nan_to_num(value)
        score += full @ value
        moved[person[d]] += left @ value
        at = column[shown[d]]
        part_both = np.zeros((part.n_humans, size, len(at)))
        for block, (_, slopes, waves) in zip(own, found, strict=True):
            # An image that a block shows repeatedly counts once.
            own_images, number = np.unique(unit[block.trials], return_inverse=True)
            if clustered:
                of_image = block_clusters(block, metric, added, number)
                single[:, block.trials] += full[:, block.rows] @ slopes
            else:
                of_image = slopes @ indicator(number)[0]
            images[:, column[own_images]] += full[:, block.rows] @ of_image
            place = np.searchsorted(shown[d], own_images)
            part_both[:, :, place] += left[:, :, block.rows] @ of_image
            invented += invented_spread(full[:, block.rows], waves, block.a, block.b, added)
        if apart:
            shared += np.tensordot(part_both, part_both, axes=((0, 2), (0, 2)))
        else:
            both[np.ix_(person[d], np.arange(size), at)] += part_both
        for s in np.flatnonzero(weight > 0):
            crowds[s].append((person[d][takes_part[:, s]], weight[s]))
    if not apart:
        shared = np.tensordot(both, both, axes=((0, 2), (0, 2)))
    people = moved.T @ moved
    lost |= never
    people[lost] = np.nan
    people[:, lost] = np.nan
    df = [np.nan if lost[s] else degrees_of_people(crowds[s], n_humans) for s in range(size)]
    most_df = np.inf
    if clustered:
        # From the influence of trials on scores.
        met = single.any(axis=0)
        total = (single**2).sum(axis=1, keepdims=True)
        squares = np.divide(single**2, total, out=np.zeros_like(single), where=total > 0)
        each = np.bincount(unit[met], squares.sum(axis=0)[met])
        most_df = float(most_freedom(each.astype(np.float64)))
    parts = score, images, invented, people, shared, np.array(df)
    return decomposition(*parts, most_df=most_df)


def n_distinct_blocks(images: Sequence[NDArray[np.intp]]) -> float:
    """Number of blocks of trials with distinct images; fractional if some images are shared."""
    shown = [len(np.unique(block)) for block in images]
    return len(np.unique(np.concatenate(images))) / float(np.mean(shown))


def added_count(n_blocks: float, n_humans: float) -> float:
    """Pseudocount of each of the four cells of a pair."""
    return max(LEAST, MOST / float(np.sqrt(n_blocks * np.sqrt(n_humans))))


def block_influence(block: Block, metric: Metric, added: float) -> tuple[Floats, Floats, Floats]:
    """Values of the pairs of a block, and the influence of each trial and pseudo-trial."""
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
            generalize_to: Drawn = "pool" if block.generalize_to == "pool" else "images"
            slopes = deviations(slopes, block.inclusion, block.shown(), generalize_to)
        return value, slopes, psi @ WAVES.T
    ready = evaluator(block, metric)
    value = np.asarray(ready.values(np.ones((1, shares.shape[2])))[0], np.float64)
    if metric.distinct is not None:
        over = agreement_of_distinct(block, metric)
        value = np.where(np.isfinite(value) & np.isfinite(over), over, value)
    decisive = {"labels": shares[:, 3:], "ratings": shares}.get(metric.counts, shares[:, 1:])
    n = decisive.any(axis=1).sum(axis=1)
    scale = np.sqrt(n / np.maximum(n - 1, 1))
    slopes = np.where(np.isfinite(value), scale, 0.0)[:, None] * np.nan_to_num(ready.slopes())
    return value, slopes, np.zeros((len(value), 4))


def block_clusters(block: Block, metric: Metric, added: float, numbers: NDArray[np.intp]) -> Floats:
    """Change in the value of each pair if a cluster of images is left out: (pair, cluster)."""
    if metric.counts != "correctness":
        moved, _ = cluster_influence(evaluator(block, metric), numbers)
        return np.nan_to_num(moved)
    membership = indicator(numbers)[0]
    shares = block.shares().astype(np.float64)
    parted = (shares.reshape(-1, shares.shape[2]) @ membership).reshape(*shares.shape[:2], -1)
    cells = shares.sum(axis=2)
    # Rounding puts differences of counts slightly below 0.
    without = np.maximum(cells[..., None] - parted, 0.0).transpose(0, 2, 1)
    n = parted.any(axis=1).sum(axis=1, keepdims=True)
    moved = metric.value(cells + added)[:, None] - metric.value(without + added)
    left = np.where(without.sum(axis=2) > 0, moved, 0.0)
    return np.nan_to_num((n - 1) / np.maximum(n, 1) * left)


def invented_spread(
    weights: Floats, waves: Floats, a: NDArray[np.intp], b: NDArray[np.intp], added: float
) -> Floats:
    """Covariance that the pseudocounts of one block add to the scores."""
    n_observers = int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    first, second = (np.eye(n_observers)[side] for side in (a, b))
    features = [
        weights @ waves[:, :1],
        weights @ (waves[:, 1:2] * first + waves[:, 2:3] * second),
        # A pair in both orders has the same responses.
        weights @ (waves[:, 3:] * _pairs(a, b, n_observers)),
    ]
    # All correct or all incorrect: the product of two responses is 1.
    hard_for_all = [
        weights @ (waves[:, :1] + waves[:, 3:]),
        weights @ (waves[:, 1:2] + waves[:, 2:3]),
    ]
    together = np.concatenate(
        [*features, *(np.sqrt(ALIKE) * part for part in hard_for_all)], axis=1
    )
    return np.asarray(4 * added * together @ together.T)


def _pairs(a: NDArray[np.intp], b: NDArray[np.intp], n_observers: int) -> Floats:
    """Indicate the pair of observers of each entry, in either order: (entry, pair)."""
    code = np.minimum(a, b) * n_observers + np.maximum(a, b)
    found, number = np.unique(code, return_inverse=True)
    return np.eye(len(found))[number]


def spread(parts: xr.Dataset, contrasts: Floats, generalize_to: Population) -> pd.DataFrame:
    """Compute the variance of contrasts of scores for new images, new humans, or both.

    Columns: ``interval_center``, ``variance``, ``se``, ``df``, ``humans`` (variance that humans
    add), and ``alike`` (whether responses are identical).
    """
    score, images, people = (
        parts[name].values for name in ("interval_center", "influence", "humans")
    )
    involved = contrasts != 0
    influence = contrasts @ images
    n_images = influence.shape[1]
    square = (influence**2).sum(axis=1)
    # Influences at the size of rounding errors count as 0.
    alike = square <= ROUNDING * contrasts**2 @ (images**2).sum(axis=1)
    v_images = n_images / max(n_images - 1, 1) * square + _form(
        contrasts, parts["pseudocount_variance"].values
    )
    unknown = (involved & np.isnan(score)).any(axis=1)
    v_images[unknown] = np.nan
    df_images, most_df = degrees_of_images(influence), float(parts["most_df"])
    if np.isfinite(most_df):
        df_images = freedom_of_clusters(df_images, most_df)
    # The variance between humans is unknown if a system in the contrast has too few of them.
    none = (involved & np.isnan(np.diag(people))).any(axis=1) | unknown
    v_humans = _form(contrasts, np.nan_to_num(people))
    # Differences that are equal for all humans have no variance, except for rounding.
    size = contrasts**2 @ (np.nan_to_num(score) ** 2 + np.nan_to_num(np.diag(people)))
    v_humans = np.where(np.abs(v_humans) <= ROUNDING * size, 0.0, v_humans)
    v_humans = np.where(none, np.nan, v_humans)
    df_humans = np.where(involved, parts["df_humans"].values, np.inf).min(axis=1)
    if generalize_to == "images":
        variance, df, beyond = v_images, df_images, v_humans
    elif generalize_to == "observers":
        variance, df, beyond = v_humans, df_humans, v_humans
    else:
        v_both = _form(contrasts, parts["shared"].values)
        variance = v_images + np.maximum(v_humans - v_both, 0.0)
        df = crossed_degrees(v_images, v_humans, v_both, df_images, df_humans)
        beyond = np.maximum(v_humans - NOISE * v_both, 0.0)
    columns = {"interval_center": weighted_sums(score, contrasts), "variance": variance}
    columns |= {"se": np.sqrt(variance), "df": df, "humans": beyond, "alike": alike}
    return pd.DataFrame(columns)


def _form(contrasts: Floats, matrix: Floats) -> Floats:
    """Evaluate the quadratic form of each contrast."""
    return np.asarray(((contrasts @ matrix) * contrasts).sum(axis=1))


def joint_covariance(
    parts: xr.Dataset, generalize_to: Population, systems: Sequence[int] | None = None
) -> Floats:
    """Covariance of the scores of all or some systems, for simultaneous intervals."""
    some = np.arange(parts.sizes["system"]) if systems is None else np.asarray(systems)
    pairs = np.ix_(some, some)
    influence = parts["influence"].values[some]
    n_images = influence.shape[1]
    invented = parts["pseudocount_variance"].values[pairs]
    images = n_images / max(n_images - 1, 1) * influence @ influence.T + invented
    absent = np.isnan(parts["interval_center"].values[some])
    images[absent] = np.nan
    images[:, absent] = np.nan
    if generalize_to == "images":
        return np.asarray(images)
    people = np.where(np.isnan(images), np.nan, parts["humans"].values[pairs])
    if generalize_to == "observers":
        return people
    beyond = np.zeros_like(people)
    known = np.isfinite(np.diag(people))
    if known.any():
        both = np.ix_(known, known)
        values, vectors = np.linalg.eigh((people - parts["shared"].values[pairs])[both])
        beyond[both] = (vectors * np.maximum(values, 0)) @ vectors.T
    return np.where(np.isnan(people), np.nan, images + beyond)


def weighted_sums(values: NDArray[np.floating], weights: Floats) -> Floats:
    """Sum over the last axis; undefined values are ignored if their weight is 0."""
    hole = np.isnan(values)
    if not hole.any():
        return np.asarray(values @ weights.T)
    sums = np.where(hole, 0.0, values) @ weights.T
    return np.where(hole @ (weights != 0).T, np.nan, sums)


def student_bounds(
    center: Floats,
    variance: Floats,
    df: Floats,
    ci_prob: float,
    limits: tuple[float | Floats, float | Floats] = (-np.inf, np.inf),
) -> Floats:
    """Bounds of Student's t intervals: shape (..., 2)."""
    half = stats.t.ppf((1 + ci_prob) / 2, df) * np.sqrt(variance)
    # Clipping to the range of the score leaves coverage unchanged.
    return np.clip(np.stack([center - half, center + half], axis=-1), *limits)


def pooled_df(found: pd.DataFrame, df_humans: Floats, generalize_to: Population) -> Floats:
    """Pooled degrees of freedom for simultaneous inference on differences (from `spread`)."""
    people = found["humans"].to_numpy()
    known = np.isfinite(people) & (people > 0)
    df = found["df"].to_numpy()
    if generalize_to == "images" or not known.any():
        return df
    pool = np.nanmean(found["variance"]) ** 2 * np.nanmin(df_humans) / np.nanmean(people) ** 2
    return np.minimum(df, pool)


def largest_of_differences(df: Floats, n_systems: int, ci_prob: float) -> Floats:
    """Critical values for simultaneous intervals of all differences between systems."""
    range_ = stats.studentized_range.ppf(ci_prob, n_systems, np.inf)
    return np.asarray(stats.t.isf(special.ndtr(-range_ / np.sqrt(2)), df))


def normal_draws(covariance: Floats, n_draws: int, rng: RandomState) -> Floats:
    """Draw from a normal distribution with mean 0: (draw, system)."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    generator = np.random.default_rng(seed_sequence(rng))
    return np.asarray(generator.standard_normal((n_draws, len(root))) @ root.T)


def largest_difference(
    normal: Floats, j: NDArray[np.intp], k: NDArray[np.intp], sd: Floats
) -> Floats:
    """Compute the largest of some standardized differences in each draw; 0 if there are none."""
    largest = np.zeros(len(normal))
    step = max(1, CHUNK // max(len(j), 1))
    for start in range(0, len(normal) * bool(len(j)), step):
        part = normal[start : start + step]
        largest[start : start + step] = ((part[:, j] - part[:, k]) / sd).max(axis=1)
    return largest


def shares_of_ceiling(
    parts: xr.Dataset,
    systems: Sequence[int],
    ceiling: int,
    generalize_to: Population,
    ci_prob: float,
) -> pd.DataFrame:
    """Divide scores by their ceiling, without clipping or absolute values.

    Columns: ratio, its standard error, bounds, and whether Fieller's bounds are finite.
    """
    score, every = parts["interval_center"].values, np.eye(parts.sizes["system"])
    c = score[ceiling]
    out = pd.DataFrame(np.nan, index=systems, columns=["ratio", "se", "lower", "upper"])
    out["bounded"] = True
    if not c > 0 or not len(systems):
        return out
    r = score[systems]
    found = spread(parts, every[systems] - (r / c)[:, None] * every[ceiling], generalize_to)
    out["ratio"], out["se"] = r / c, np.sqrt(found["variance"].to_numpy()) / c
    df = found["df"].to_numpy()
    bounds = np.full((len(r), 2), np.nan)
    z2 = stats.t.ppf((1 + ci_prob) / 2, df) ** 2
    for i, s in enumerate(systems):
        (v, both), (_, w) = joint_covariance(parts, generalize_to, [s, ceiling])
        if np.isfinite([v, w, both]).all():
            a, b = c**2 - z2[i] * w, r[i] * c - z2[i] * both
            bounds[i] = fieller_set(a, b, r[i] ** 2 - z2[i] * v)
    bounded = ~np.isinf(bounds).any(axis=1)
    student = student_bounds(r / c, out["se"].to_numpy() ** 2, df, ci_prob)
    out["lower"], out["upper"] = np.where(bounded[:, None], bounds, student).T
    return out.assign(bounded=bounded)


def fieller_set(a: float, b: float, c: float) -> tuple[float, float]:
    """Solve ``a x**2 - 2 b x + c <= 0``; the whole line if the set is unbounded."""
    if a <= 0:
        return -np.inf, np.inf
    half = np.sqrt(max(b**2 - a * c, 0.0))
    return float((b - half) / a), float((b + half) / a)


def pair_contrasts(n_systems: int) -> Floats:
    """Weights of all pairwise differences: (pair, system), in the order of `np.triu_indices`."""
    j, k = np.triu_indices(n_systems, 1)
    return np.eye(n_systems)[j] - np.eye(n_systems)[k]


def compared_pairs(parts: xr.Dataset, generalize_to: Population, weights: Floats) -> pd.DataFrame:
    """Compare all pairs of weighted sums of scores: `spread`, ``t`` and pooled df."""
    found = spread(parts, pair_contrasts(len(weights)) @ weights, generalize_to)
    # Identical responses have no standard error, although their pseudocounts have one.
    found[["variance", "se"]] = found[["variance", "se"]].where(~found["alike"])
    used = parts["df_humans"].values[(weights != 0).any(axis=0)]
    pooled = pooled_df(found, used, generalize_to)
    return found.assign(pooled=pooled, t=found["interval_center"] / found["se"])


def deviates_of_pairs(t: Floats, df: Floats, n_systems: int) -> Floats:
    """Normal deviates with the tail probabilities of t statistics: (system, system)."""
    deviates = np.zeros((n_systems, n_systems))
    tail = stats.t.sf(np.abs(t), df)
    deviates[np.triu_indices(n_systems, 1)] = np.sign(t) * -special.ndtri(tail)
    return deviates - deviates.T


def degrees_of_people(crowds: Sequence[tuple[NDArray[np.intp], float]], n_humans: int) -> float:
    """Degrees of freedom of the variance between humans with several data sets [S46]_."""
    matrix = np.zeros((n_humans, n_humans))
    for people, weight in crowds:
        n = len(people)
        if n < 2:
            return np.nan
        center = np.eye(n) - 1 / n
        matrix[np.ix_(people, people)] += weight * center / np.sqrt(n * (n - 1))
    squared = matrix @ matrix.T
    total = np.trace(squared)
    return float(round(total**2 / (squared**2).sum(), 9)) if total > 0 else np.nan


def degrees_of_images(influence: Floats) -> Floats:
    """Degrees of freedom of a sum of squared influences of images [S46]_."""
    total, fourth = ((influence**power).sum(axis=-1) for power in (2, 4))
    df = freedom_of_sums(total, total, fourth, influence.shape[-1])
    return np.where(total > 0, df, np.nan)


def crossed_degrees(
    images: Floats, people: Floats, both: Floats, df_images: Floats, df_humans: Floats
) -> Floats:
    """Degrees of freedom of a variance over images and humans: the smaller of two estimates."""
    # If images have no influence, only humans count.
    known = np.nan_to_num(df_images, nan=np.inf)
    added = np.maximum(people - both, 0.0)
    # For equal humans, noise makes their variance uncertain, but it adds little to the total.
    counted = np.maximum(people - NOISE * both, 0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rest = np.maximum(images - both, 0.0) ** 2 / known
        df = (images + added) ** 2 / (counted**2 / df_humans + rest)
        limits = special.stdtrit(known, AT) ** 2 * images
        limits = limits + special.stdtrit(df_humans, AT) ** 2 * added
        half = np.sqrt(limits / (images + added))
    # Here the limit is normal, except for rounding, and has no inverse.
    normal = half < special.ndtri(AT) * (1 + 1e-9)
    howe = np.where(normal, np.inf, special.stdtridf(AT, np.where(normal, 2.0, half)))
    return np.maximum(np.minimum(df, howe), np.minimum(df_humans, known))
