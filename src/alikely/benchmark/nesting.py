"""Nested means over conditions, humans and data sets, and what new images and humans do to them.

References
----------
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.benchmark.layout import FEWEST_HUMANS, Layout, Part
from alikely.data.blocks import blocks
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import estimate
from alikely.metrics import Metric
from alikely.stats.variance import mean_of_defined

__all__ = [
    "POPULATIONS",
    "HumanShifts",
    "covariances",
    "human_shifts",
    "nested_scores",
    "undefined_entries",
    "with_overall",
]

POPULATIONS = ("images", "humans", "crossed")
# Last rows of all arrays of scores, after the machines, as in `Layout.systems`.
HUMAN_ROW, CEILING_ROW = -2, -1


def _take(values: NDArray[np.floating], index: NDArray[np.intp]) -> NDArray[np.floating]:
    return np.where(index >= 0, values[:, index], np.nan)


def nested_scores(
    layout: Layout,
    values: NDArray[np.floating],
    people: Sequence[NDArray[np.floating]] | None = None,
) -> Floats:
    """Scores of every part from the values of all entries.

    Parameters
    ----------
    layout : Layout
        Where the entries stand.
    values : ndarray, shape (draw, pair)
        Values of all entries; NaN where undefined.
    people : sequence of ndarray, shape (draw, human), optional
        How often each human is drawn, one array per part; a pair of a human with its own duplicate
        is no pair. Each once if not given.

    Returns
    -------
    ndarray, shape (draw, part, system)
        Means over conditions, then humans or pairs of humans. NaN where nothing is defined.
    """
    if people is None and not np.isnan(values).any():
        return _plain_scores(layout, values)
    n_draws = max(len(values), 1 if people is None else len(people[0]))
    out = np.full((n_draws, len(layout.parts), len(layout.systems)), np.nan)
    for d, part in enumerate(layout.parts):
        times = np.ones((1, part.n_humans)) if people is None else people[d]
        per_pair = mean_of_defined(_take(values, part.alike), 1.0, axis=1)
        human_row = mean_of_defined(per_pair, times[:, part.i] * times[:, part.j], axis=1)
        out[:, d, HUMAN_ROW] = human_row
        if len(part.machines):
            out[:, d, CEILING_ROW] = human_row
            per_human = mean_of_defined(_take(values, part.mixed), 1.0, axis=1)
            out[:, d, part.machines] = mean_of_defined(per_human, times[:, :, None], axis=1)
    return out


def _plain_scores(layout: Layout, values: NDArray[np.floating]) -> Floats:
    """Scores where nothing is undefined: the same weights in every draw, one matrix product."""
    out = np.full((len(values), len(layout.parts), len(layout.systems)), np.nan)
    for d, part in enumerate(layout.parts):
        entries = np.union1d(part.alike, part.mixed)
        entries = entries[entries >= 0]
        defined = np.ones(values.shape[1], dtype=bool)
        weights = _weights(layout, part, defined, np.ones(part.n_humans))[:, entries]
        there = weights.any(axis=1)
        out[:, d, there] = values[:, entries] @ weights[there].T.astype(values.dtype)
    return out


def with_overall(scores: Floats) -> Floats:
    """Append the unweighted mean over the parts that a system took part in.

    Parameters
    ----------
    scores : ndarray, shape (draw, part, system)

    Returns
    -------
    ndarray, shape (draw, part and overall, system)
    """
    # A part that a system never took part in is no hole; one undefined replicate is.
    absent = np.isnan(scores).all(axis=0)
    filled = np.where(absent, 0.0, scores)
    count = (~absent).sum(axis=0)
    overall = np.full((len(scores), scores.shape[2]), np.nan)
    np.divide(filled.sum(axis=1), count, out=overall, where=count > 0)
    return np.concatenate([scores, overall[:, None]], axis=1)


def undefined_entries(layout: Layout, value: Floats) -> NDArray[np.int64]:
    """Number of undefined entries behind each score.

    Parameters
    ----------
    layout : Layout
        Where the entries stand.
    value : ndarray, shape (pair,)
        Values of all entries.

    Returns
    -------
    ndarray of int, shape (part and overall, system)
    """
    hole = np.isnan(value)
    counts = np.zeros((len(layout.parts) + 1, len(layout.systems)), dtype=np.int64)
    for d, part in enumerate(layout.parts):
        humans = int((hole[part.alike] & (part.alike >= 0)).sum())
        counts[d, HUMAN_ROW] = humans
        if len(part.machines):
            counts[d, CEILING_ROW] = humans
            counts[d, part.machines] = (hole[part.mixed] & (part.mixed >= 0)).sum(axis=(0, 1))
    counts[-1] = counts[:-1].sum(axis=0)
    return counts


def _weights(layout: Layout, part: Part, defined: NDArray[np.bool_], times: Floats) -> Floats:
    """Weight of every entry in the scores of one part: shape (system, pair)."""
    weights = np.zeros((len(layout.systems), len(defined)))
    for index, people, rows in (
        (part.alike[:, :, None], times[part.i] * times[part.j], [HUMAN_ROW]),
        (part.mixed, times, part.machines.tolist()),
    ):
        there = (index >= 0) & defined[index]
        conditions = there.sum(axis=0)
        share = np.where(conditions > 0, people[:, None], 0.0)
        total = share.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = np.where(there, share / total / conditions, 0.0)
        for column, row in enumerate(rows):
            here = there[:, :, column]
            weights[row, index[:, :, column][here]] = weight[:, :, column][here]
    if len(part.machines):
        weights[CEILING_ROW] = weights[HUMAN_ROW]
    return weights


class _Shifts(NamedTuple):
    """How the weights of one part change when each of its humans is left out."""

    full: Floats  # (system, pair)
    left: Floats  # (human, system, pair)
    lost: NDArray[np.bool_]  # (system,): without one human there is no score
    factor: float


class HumanShifts(NamedTuple):
    """Weights of the entries in the scores of one part, and how each of its humans changes them.

    Attributes
    ----------
    full : ndarray, shape (system, pair)
        Weights of all entries.
    left : ndarray, shape (human, system, pair)
        Their change when a human is left out, times ``sqrt((H - 1) / H)`` of the `H` humans behind
        a score: squares of shifts of a score then sum to its jackknife variance.
    lost : ndarray of bool, shape (system,)
        Without one of the humans there is no score.
    takes_part : ndarray of bool, shape (human, system)
    """

    full: Floats
    left: Floats
    lost: NDArray[np.bool_]
    takes_part: NDArray[np.bool_]


def human_shifts(layout: Layout, part: Part, defined: NDArray[np.bool_]) -> HumanShifts:
    """Leave out each human of a part in turn.

    Parameters
    ----------
    layout : Layout
    part : Part
    defined : ndarray of bool, shape (pair,)
        Entries that have a value.

    Returns
    -------
    HumanShifts
    """
    full = _weights(layout, part, defined, np.ones(part.n_humans))
    others = 1.0 - np.eye(part.n_humans)
    left = np.stack([_weights(layout, part, defined, times) - full for times in others])
    lost = np.isnan(left).any(axis=(0, 2))
    left[:, lost] = 0.0
    takes_part = np.zeros(left.shape[:2], dtype=bool)
    mixed = ((part.mixed >= 0) & defined[part.mixed]).any(axis=0)
    takes_part[:, part.machines] = mixed
    alike = ((part.alike >= 0) & defined[part.alike]).any(axis=0)
    for side in (part.i, part.j):
        takes_part[side[alike], HUMAN_ROW] = True
    if len(part.machines):
        takes_part[:, CEILING_ROW] = takes_part[:, HUMAN_ROW]
    n_humans = np.maximum(takes_part.sum(axis=0), 1)
    left *= np.sqrt((n_humans - 1) / n_humans)[:, None]
    return HumanShifts(full, left, lost, takes_part)


def covariances(table: xr.Dataset, layout: Layout, metric: Metric) -> Floats:
    """Covariances of the scores over new images, new humans, and both.

    Images: sums of squared influences. Humans: the jackknife [ES81]_. Both: images plus humans
    minus the jackknife variance of the influences of each trial, which either counts [CGM11]_.

    Parameters
    ----------
    table : xarray.Dataset
        The counts.
    layout : Layout
        Where its entries stand.
    metric : Metric
        What the entries are.

    Returns
    -------
    ndarray, shape (population, part and overall, system, system)
        In the order of `POPULATIONS`. NaN where a system took no part; over humans also with
        fewer than 4 of them, or where a score hangs on one.
    """
    value = estimate(table, metric)["estimate"].values
    shifts = [_shifts(layout, part, np.isfinite(value)) for part in layout.parts]
    images, both = _trial_covariances(table, layout, metric, shifts)
    people, crossed = np.full(images.shape, np.nan), np.full(images.shape, np.nan)
    known = np.where(np.isfinite(value), value, 0.0)
    for d, (part, own) in enumerate(zip(layout.parts, shifts, strict=True)):
        if part.n_humans < FEWEST_HUMANS:
            continue
        change = own.left @ known
        people[d] = own.factor * change.T @ change
        crossed[d] = _crossed(images[d], people[d], both[d])
        for matrix in (people[d], crossed[d]):
            matrix[own.lost] = np.nan
            matrix[:, own.lost] = np.nan
    absent = np.isnan(nested_scores(layout, value[None])[0])
    return _with_overall_covariance(np.stack([images, people, crossed]), absent)


def _shifts(layout: Layout, part: Part, defined: NDArray[np.bool_]) -> _Shifts:
    full = _weights(layout, part, defined, np.ones(part.n_humans))
    others = 1.0 - np.eye(part.n_humans)
    left = np.stack([_weights(layout, part, defined, times) - full for times in others])
    # Without the one human who gives a system its score there is none: no jackknife.
    lost = np.isnan(left).any(axis=(0, 2))
    left[:, lost] = 0.0
    return _Shifts(full, left, lost, (part.n_humans - 1) / part.n_humans)


def _trial_covariances(
    table: xr.Dataset, layout: Layout, metric: Metric, shifts: Sequence[_Shifts]
) -> tuple[Floats, Floats]:
    """Covariances over trials, and the part of them that humans count too."""
    size = len(layout.systems)
    images, both = np.zeros((2, len(layout.parts), size, size))
    for block in blocks(table):
        d = layout.part_of_entry[block.rows.start]
        own = shifts[d]
        # An undefined entry has no weight; NaN times 0 would be NaN.
        influence = np.nan_to_num(evaluator(block, metric).slopes())
        moved = own.full[:, block.rows] @ influence
        images[d] += moved @ moved.T
        for change in own.left[:, :, block.rows]:
            shift = change @ influence
            both[d] += own.factor * shift @ shift.T
    return images, both


def _with_overall_covariance(by_part: Floats, absent: NDArray[np.bool_]) -> Floats:
    """Append the covariance of means over parts, which are independent.

    `by_part` is (population, part, system, system), `absent` (part, system).
    """
    hole = absent[:, :, None] | absent[:, None, :]
    by_part = np.where(hole, np.nan, by_part)
    count = np.maximum((~absent).sum(axis=0), 1)
    overall = np.where(hole, 0.0, by_part).sum(axis=1) / np.outer(count, count)
    never = absent.all(axis=0)
    overall[:, never] = np.nan
    overall[:, :, never] = np.nan
    return np.concatenate([by_part, overall[:, None]], axis=1)


def _crossed(images: Floats, people: Floats, both: Floats) -> Floats:
    """Two-way covariance, made a covariance where the subtraction went too far."""
    values, vectors = np.linalg.eigh(images + people - both)
    matrix = (vectors * np.maximum(values, 0)) @ vectors.T
    variance = np.diag(matrix)
    floor = np.maximum(variance, np.maximum(np.diag(images), np.diag(people)))
    # Raising variances on the diagonal keeps the matrix a covariance.
    return matrix + np.diag(floor - variance)
