"""Nested means over conditions, humans and data sets, and what new images and humans do to them.

References
----------
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely.evaluation import evaluator
from alikely.influence import estimate
from alikely.metrics import Metric
from alikely.tables import blocks

__all__ = [
    "CEILING",
    "FEWEST_HUMANS",
    "HUMANS",
    "POPULATIONS",
    "Part",
    "covariances",
    "nested_scores",
    "parts_of",
    "require_balance",
    "undefined_entries",
    "with_overall",
]

POPULATIONS = ("images", "humans", "crossed")
HUMANS, CEILING = "human-human", "ceiling"
# With fewer the spread over humans cannot be estimated at all well.
FEWEST_HUMANS = 4


class Part(NamedTuple):
    """Where the entries of one data set stand: positions on the ``pair`` dim, -1 for none."""

    name: str
    models: list[str]
    n_humans: int
    mixed: NDArray[np.intp]  # (condition, human, model)
    alike: NDArray[np.intp]  # (condition, pair of humans)
    i: NDArray[np.intp]  # (pair of humans,): its humans
    j: NDArray[np.intp]


def parts_of(table: xr.Dataset, kind: Mapping[str, str], humans: str) -> list[Part]:
    """Find the entries of each data set.

    Parameters
    ----------
    table : xarray.Dataset
        Pairs of humans, and of humans with machines, by condition.
    kind : mapping of str to str
        Kind of each observer.
    humans : str
        The kind that machines are scored against.

    Returns
    -------
    list of Part

    Raises
    ------
    ValueError
        If a data set has fewer than two humans.
    """
    frame = pd.DataFrame(
        {name: table[name].values for name in ("dataset", "condition", "observer_a", "observer_b")}
    )
    frame["alike"] = [kind[name] == humans for name in frame["observer_b"]]
    parts = []
    for dataset, part in frame.groupby("dataset", sort=False):
        condition = pd.factorize(part["condition"])[0]
        people = pd.unique(
            pd.concat([part["observer_a"], part.loc[part["alike"], "observer_b"]])
        ).tolist()
        if len(people) < 2:
            raise ValueError(
                f"a benchmark needs at least 2 humans in each data set, {dataset!r} has "
                f"{len(people)}; leave it out with trials.select(dataset=[...])"
            )
        machines = pd.unique(part.loc[~part["alike"], "observer_b"]).tolist()
        first = part["observer_a"].map(people.index).to_numpy(dtype=np.intp)
        i, j = np.triu_indices(len(people), k=1)
        number = {pair: q for q, pair in enumerate(zip(i.tolist(), j.tolist(), strict=True))}
        n_conditions = condition.max() + 1
        mixed = np.full((n_conditions, len(people), len(machines)), -1)
        alike = np.full((n_conditions, len(i)), -1)
        both = part["alike"].to_numpy()
        position = part.index.to_numpy()
        column = part.loc[~part["alike"], "observer_b"].map(machines.index).to_numpy(dtype=np.intp)
        mixed[condition[~both], first[~both], column] = position[~both]
        second = part.loc[part["alike"], "observer_b"].map(people.index).to_numpy(dtype=np.intp)
        ordered = np.sort(np.stack([first[both], second]), axis=0)
        pair = [number[a, b] for a, b in ordered.T.tolist()]
        alike[condition[both], pair] = position[both]
        parts.append(Part(str(dataset), machines, len(people), mixed, alike, i, j))
    return parts


def require_balance(parts: list[Part], systems: list[str], missing: str) -> None:
    """Refuse machines that lack some data sets, unless what is available is wanted.

    Raises
    ------
    ValueError
        If there is no machine at all, or (with ``missing="error"``) one lacks a data set that
        others have.
    """
    with_models = [part for part in parts if part.models]
    if not with_models:
        raise ValueError("no data set has a machine to score; check the kinds of the observers")
    for part in with_models:
        absent = [name for name in systems[:-2] if name not in part.models]
        if absent and missing == "error":
            raise ValueError(
                f"machine {absent[0]!r} is missing in data set {part.name!r}; its mean would be "
                "over other data sets than that of others: leave out one of them, or accept it "
                "with missing='available'"
            )


def _mean(
    values: NDArray[np.floating], weights: NDArray[np.floating] | float, axis: int
) -> NDArray[np.float64]:
    """Weighted mean of the defined values; NaN where there is none."""
    defined = ~np.isnan(values)
    weight = np.where(defined, weights, 0.0)
    total = weight.sum(axis=axis)
    out = np.full(total.shape, np.nan)
    np.divide(
        (weight * np.where(defined, values, 0.0)).sum(axis=axis), total, out=out, where=total > 0
    )
    return out


def _take(values: NDArray[np.floating], index: NDArray[np.intp]) -> NDArray[np.floating]:
    return np.where(index >= 0, values[:, index], np.nan)


def nested_scores(
    parts: list[Part],
    systems: list[str],
    values: NDArray[np.floating],
    people: Sequence[NDArray[np.floating]] | None = None,
) -> NDArray[np.float64]:
    """Scores by data set from the values of all entries: shape (draw, data set, system).

    ``values`` is (draw, pair), ``people`` how often each human is drawn, (draw, human) per data
    set; a pair of a human with its own duplicate is no pair.
    """
    if people is None and not np.isnan(values).any():
        return _plain_scores(parts, systems, values)
    n_draws = max(len(values), 1 if people is None else len(people[0]))
    out = np.full((n_draws, len(parts), len(systems)), np.nan)
    for d, part in enumerate(parts):
        times = np.ones((1, part.n_humans)) if people is None else people[d]
        per_pair = _mean(_take(values, part.alike), 1.0, axis=1)
        human_row = _mean(per_pair, times[:, part.i] * times[:, part.j], axis=1)
        out[:, d, systems.index(HUMANS)] = human_row
        if part.models:
            out[:, d, systems.index(CEILING)] = human_row
            columns = [systems.index(name) for name in part.models]
            per_human = _mean(_take(values, part.mixed), 1.0, axis=1)
            out[:, d, columns] = _mean(per_human, times[:, :, None], axis=1)
    return out


def _plain_scores(
    parts: list[Part], systems: list[str], values: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Scores where nothing is undefined: the same weights in every draw, one matrix product."""
    out = np.full((len(values), len(parts), len(systems)), np.nan)
    for d, part in enumerate(parts):
        entries = np.union1d(part.alike, part.mixed)
        entries = entries[entries >= 0]
        defined = np.ones(values.shape[1], dtype=bool)
        weights = _weights(part, systems, defined, np.ones(part.n_humans))[:, entries]
        there = weights.any(axis=1)
        out[:, d, there] = values[:, entries] @ weights[there].T.astype(values.dtype)
    return out


def with_overall(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the unweighted mean over the data sets a system took part in."""
    # A data set that a system never took part in is no hole; one undefined replicate is.
    absent = np.isnan(scores).all(axis=0)
    filled = np.where(absent, 0.0, scores)
    count = (~absent).sum(axis=0)
    overall = np.full((len(scores), scores.shape[2]), np.nan)
    np.divide(filled.sum(axis=1), count, out=overall, where=count > 0)
    return np.concatenate([scores, overall[:, None]], axis=1)


def undefined_entries(
    parts: list[Part], systems: list[str], value: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Number of undefined entries behind each score: shape (data set and overall, system)."""
    counts = np.zeros((len(parts) + 1, len(systems)), dtype=np.int64)
    for d, part in enumerate(parts):
        hole = np.isnan(value)
        humans = int((hole[part.alike] & (part.alike >= 0)).sum())
        counts[d, systems.index(HUMANS)] = humans
        if part.models:
            counts[d, systems.index(CEILING)] = humans
            mixed = (hole[part.mixed] & (part.mixed >= 0)).sum(axis=(0, 1))
            counts[d, [systems.index(name) for name in part.models]] = mixed
    counts[-1] = counts[:-1].sum(axis=0)
    return counts


def _weights(
    part: Part, systems: list[str], defined: NDArray[np.bool_], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weight of every entry in the scores of one data set: shape (system, pair)."""
    weights = np.zeros((len(systems), len(defined)))
    for index, people, rows in (
        (part.alike[:, :, None], times[part.i] * times[part.j], [HUMANS]),
        (part.mixed, times, part.models),
    ):
        there = (index >= 0) & defined[index]
        conditions = there.sum(axis=0)
        share = np.where(conditions > 0, people[:, None], 0.0)
        total = share.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = np.where(there, share / total / conditions, 0.0)
        for column, name in enumerate(rows):
            here = there[:, :, column]
            weights[systems.index(name), index[:, :, column][here]] = weight[:, :, column][here]
    if part.models:
        weights[systems.index(CEILING)] = weights[systems.index(HUMANS)]
    return weights


def covariances(
    table: xr.Dataset, parts: list[Part], systems: list[str], metric: Metric
) -> NDArray[np.float64]:
    """Covariances of the scores: shape (population, level, system, system)."""
    value = estimate(table, metric)["estimate"].values
    defined = np.isfinite(value)
    known = np.where(defined, value, 0.0)
    present = nested_scores(parts, systems, value[None])[0]
    shape = (len(parts), len(systems), len(systems))
    images, people, both = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    dataset_of = {part.name: d for d, part in enumerate(parts)}
    shifts, losses = [], []
    for d, part in enumerate(parts):
        full = _weights(part, systems, defined, np.ones(part.n_humans))
        others = 1.0 - np.eye(part.n_humans)
        leave = [_weights(part, systems, defined, times) - full for times in others]
        factor = (part.n_humans - 1) / part.n_humans
        # Without the one human who gives a system its score there is none: no jackknife.
        left = np.stack(leave)
        lost = np.isnan(left).any(axis=(0, 2))
        left[:, lost] = 0.0
        losses.append(lost)
        shifts.append((full, left, factor))
        change = left @ known
        people[d] = factor * change.T @ change
    for block in blocks(table):
        d = dataset_of[str(table["dataset"].values[block.rows.start])]
        full, left, factor = shifts[d]
        # An undefined entry has no weight; NaN times 0 would be NaN.
        influence = np.nan_to_num(evaluator(block, metric).slopes())
        moved = full[:, block.rows] @ influence
        images[d] += moved @ moved.T
        for change in left[:, :, block.rows]:
            shift = change @ influence
            both[d] += factor * shift @ shift.T
    crossed = np.full(shape, np.nan)
    for d, part in enumerate(parts):
        if part.n_humans >= FEWEST_HUMANS:
            crossed[d] = _crossed(images[d], people[d], both[d])
        else:
            people[d] = np.nan
        for matrix in (people[d], crossed[d]):
            matrix[losses[d]] = np.nan
            matrix[:, losses[d]] = np.nan
    by_dataset = np.stack([images, people, crossed])
    absent = np.isnan(present)
    hole = absent[:, :, None] | absent[:, None, :]
    by_dataset = np.where(hole, np.nan, by_dataset)
    count = np.maximum((~absent).sum(axis=0), 1)
    overall = np.where(hole, 0.0, by_dataset).sum(axis=1) / np.outer(count, count)
    never = absent.all(axis=0)
    overall[:, never] = np.nan
    overall[:, :, never] = np.nan
    return np.concatenate([by_dataset, overall[:, None]], axis=1)


def _crossed(
    images: NDArray[np.float64], people: NDArray[np.float64], both: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Two-way covariance, made a covariance where the subtraction went too far."""
    values, vectors = np.linalg.eigh(images + people - both)
    matrix = (vectors * np.maximum(values, 0)) @ vectors.T
    variance = np.diag(matrix)
    floor = np.maximum(variance, np.maximum(np.diag(images), np.diag(people)))
    # Raising variances on the diagonal keeps the matrix a covariance.
    return matrix + np.diag(floor - variance)
