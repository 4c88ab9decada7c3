"""Nested means over conditions, humans and data sets, and what new images and humans do to them.

References
----------
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats, within
from alikely.benchmark.decomposition import Population
from alikely.benchmark.layout import Layout, Part
from alikely.inference.intervals import mean_of_defined

__all__ = [
    "FEWEST_PEOPLE",
    "HUMAN_ROWS",
    "POPULATIONS",
    "HumanShifts",
    "by_level",
    "human_shifts",
    "nested_scores",
    "undefined_entries",
]

POPULATIONS: tuple[Population, ...] = ("images", "humans", "crossed")
# With fewer nothing can be said of new people: leaving one out leaves no pair.
FEWEST_PEOPLE = 3
# Last rows of all arrays of scores, after the machines, as in `Layout.systems`.
HUMAN_ROWS = HUMAN_ROW, CEILING_ROW = -2, -1


def _take(values: NDArray[np.floating], index: NDArray[np.intp]) -> NDArray[np.floating]:
    return np.where(index >= 0, values[:, index], np.nan)


def nested_scores(
    layout: Layout,
    values: NDArray[np.floating],
    people: Sequence[NDArray[np.floating]] | None = None,
) -> Floats:
    """Scores of every part from the values of all entries."""
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
        used = values[:, entries]
        means = used @ weights[there].T.astype(values.dtype)
        # A mean lies between what it is taken over, however its weights are rounded.
        out[:, d, there] = within(means, used.min(initial=np.inf), used.max(initial=-np.inf))
    return out


def by_level(layout: Layout, scores: Floats) -> Floats:
    """Scores of all levels: means over their parts, and at last over levels."""
    levels = [
        scores[:, own[0]] if len(own) == 1 else _mean(scores[:, own])
        for own in layout.levels.values()
    ]
    return np.stack([*levels, _mean(np.stack(levels, axis=1))], axis=1)


def _mean(scores: Floats) -> Floats:
    """Mean over parts, (draw, part, system) to (draw, system)."""
    # A part that a system never took part in is no hole; one undefined replicate is.
    absent = np.isnan(scores).all(axis=0)
    filled = np.where(absent, 0.0, scores)
    count = (~absent).sum(axis=0)
    mean = np.full((len(scores), scores.shape[2]), np.nan)
    np.divide(filled.sum(axis=1), count, out=mean, where=count > 0)
    return mean


def undefined_entries(layout: Layout, value: Floats) -> NDArray[np.int64]:
    """Number of undefined entries behind each score."""
    hole = np.isnan(value)
    counts = np.zeros((len(layout.parts), len(layout.systems)), dtype=np.int64)
    for d, part in enumerate(layout.parts):
        humans = int((hole[part.alike] & (part.alike >= 0)).sum())
        counts[d, HUMAN_ROW] = humans
        if len(part.machines):
            counts[d, CEILING_ROW] = humans
            counts[d, part.machines] = (hole[part.mixed] & (part.mixed >= 0)).sum(axis=(0, 1))
    levels = [counts[own].sum(axis=0) for own in layout.levels.values()]
    return np.stack([*levels, counts.sum(axis=0)])


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


class HumanShifts(NamedTuple):
    """Weights of the entries in the scores of one part, and how each of its humans changes them."""

    full: Floats
    left: Floats
    lost: NDArray[np.bool_]
    takes_part: NDArray[np.bool_]


def human_shifts(layout: Layout, part: Part, defined: NDArray[np.bool_]) -> HumanShifts:
    """Leave out each human of a part in turn."""
    full = _weights(layout, part, defined, np.ones(part.n_humans))
    others = 1.0 - np.eye(part.n_humans)
    left = np.stack([_weights(layout, part, defined, times) - full for times in others])
    lost = np.isnan(left).any(axis=(0, 2))
    if part.n_humans < FEWEST_PEOPLE:
        lost[:] = True
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
