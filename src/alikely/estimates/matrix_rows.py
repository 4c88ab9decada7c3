"""Entries of a matrix as rows of a table, and weighted sums of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse, stats

from alikely._base.arrays import Floats
from alikely._base.frames import known_columns
from alikely._base.intervals import Intervals, bound_names, chosen_methods
from alikely._base.notes import note, told
from alikely.estimates.matrix_answers import influences, said_by
from alikely.estimates.matrix_clusters import pairs_of
from alikely.estimates.remarks import cautions, few_clusters, joined, scarcity, wide
from alikely.estimates.weighted_sums import sum_interval
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import (
    cluster_influence,
    indicator,
    of_clusters,
    squares_by_cluster,
)
from alikely.inference.intervals import analytic_interval, within
from alikely.inference.pooled import left_out, pooled_sum
from alikely.inference.weighted import student_deviate
from alikely.metrics import Metric, consistency
from alikely.metrics.pair_sums import combined_influence

if TYPE_CHECKING:
    from alikely.estimates.matrix_result import MatrixResult

__all__ = ["POSTERIOR", "combined", "rows_of"]

POSTERIOR = ("posterior_lower", "posterior_upper")
# Cells of entries by cluster that are held at once; of more, first derivatives do.
MOST_CELLS = 5_000_000


def rows_of(
    result: MatrixResult,
    flat: NDArray[np.intp],
    intervals: Intervals = "all",
    columns: Sequence[str] | Literal["all"] | None = "all",
) -> pd.DataFrame:
    """Entries of a matrix as a table."""
    estimates, metric = result.estimates, result.metric
    array = estimates["estimate"]
    at = dict(zip(array.dims, np.unravel_index(flat, array.shape), strict=True))
    place, pair = at.get(result.place), at["pair"]
    first, second = result.ends()[:, pair]
    cells = estimates["cells"].values
    counts = (cells[place, pair] if result.place else cells[pair]).astype(np.float64)
    if "order" in at:
        back = at["order"] == 1
        first, second = np.where(back, second, first), np.where(back, first, second)
        counts[back] = counts[back][:, [0, 2, 1, 3]]
    names = np.array(result.observers, dtype=object)
    accuracy_a, accuracy_b = consistency.accuracies(counts)
    value, se = (estimates[name].values.ravel()[flat] for name in ("estimate", "se"))
    where = _where(result.estimates, place, len(flat))
    frame = pd.DataFrame(
        {
            **where,
            "observer_a": names[first],
            "observer_b": names[second],
            "n_trials": counts.sum(axis=1).astype(np.int64),
            "accuracy_a": accuracy_a,
            "accuracy_b": accuracy_b,
            "estimate": value,
            "se": se,
        }
    )
    for name in metric.beside:
        if name in estimates:
            frame[name] = estimates[name].values.ravel()[flat]
    prob = float(result.data.attrs["ci_prob"])
    df = estimates["df"].values.ravel()[flat] if "df" in estimates else np.full(len(flat), np.inf)
    limits = {"analytic": analytic_interval(metric, value, se, student_deviate(df, prob))}
    if POSTERIOR[0] in estimates:
        limits["posterior"] = np.stack(
            [estimates[name].values.ravel()[flat] for name in POSTERIOR], axis=1
        )
    valid = [name for name in limits if name not in metric.unreliable]
    first = next((name for name in metric.recommended if name in valid), "")
    methods = chosen_methods(intervals, ("analytic", "posterior"), valid, first)
    methods = tuple(name for name in methods if name in limits)
    for school in methods:
        bounds = limits[school]
        kind = "ci" if school == "analytic" else "eti"
        for name, bound in zip(bound_names(school, kind, prob), bounds.T, strict=True):
            frame[name] = bound
    for name in ("log10_p", "p_adjusted"):
        if name in estimates:
            # Independence does not ask for the order of a pair.
            grid = estimates[name].values
            frame[name] = grid[place, pair] if result.place else grid[pair]
    named = [] if columns is None or columns == "all" else list(columns)
    known_columns(frame, named, "columns")
    if intervals != "all" and columns != "all":
        hidden = {*metric.requested, *(("log10_p",) if "p_adjusted" in frame else ())}
        frame = frame.drop(columns=[name for name in hidden - {*named} if name in frame])
    defined, n_trials = np.isfinite(value), frame["n_trials"].to_numpy()
    bounds = limits.get("posterior", np.zeros((len(flat), 2)))
    stored = joined(
        [
            np.where(defined, "", _reasons(estimates, metric, counts, flat)),
            scarcity(metric, {"cells": counts, "n_trials": n_trials}, se, defined, methods),
            cautions(metric, counts, defined, methods),
            wide(bounds[:, 1] - bounds[:, 0]),
            _left_out(estimates, flat, n_trials),
            _few_clusters(result, flat),
            result.missing_notes(frame),
        ]
    )
    frame["note"] = [told(text) for text in stored]
    return frame


def _left_out(
    estimates: xr.Dataset, flat: NDArray[np.intp], n_trials: NDArray[np.int64]
) -> NDArray[Any]:
    """Which entries rest on fewer trials than both observers answered."""
    if "n_used" not in estimates:
        return np.full(len(flat), "", dtype=object)
    used = estimates["n_used"].values.ravel()[flat]
    texts = [
        note("trials-used", n=int(n), total=int(m)) for n, m in zip(used, n_trials, strict=True)
    ]
    return np.where(used < n_trials, np.array(texts, dtype=object), "")


def _few_clusters(result: MatrixResult, flat: NDArray[np.intp]) -> NDArray[Any]:
    """Which entries have too few clusters."""
    if not result.cluster:
        return np.full(len(flat), "", dtype=object)
    return few_clusters(result.cluster, result.estimates["n_clusters"].values.ravel()[flat])


def _reasons(
    estimates: xr.Dataset, metric: Metric, counts: Floats, flat: NDArray[np.intp]
) -> NDArray[Any]:
    """Why entries have no estimate."""
    if metric.all_pairs is None:
        return metric.reason(counts)
    texts = np.array(["", *metric.whys, "undefined"], dtype=object)
    why = estimates["why"].values.ravel()[flat] if "why" in estimates else -1
    return np.where(counts.sum(axis=1) == 0, "no common trials", texts[why])


def _where(estimates: xr.Dataset, place: NDArray[np.intp] | None, n_rows: int) -> dict[str, Any]:
    """Data set and condition of rows."""
    out: dict[str, Any] = {}
    for name in ("dataset", "condition"):
        if f"of_{name}" in estimates.coords and place is not None:
            out[name] = estimates[f"of_{name}"].values[place]
        else:
            out[name] = np.full(n_rows, "all", dtype=object)
    return out


def combined(
    result: MatrixResult,
    weights: Mapping[tuple[int, int], float],
    ci_prob: float | None = None,
    against: float | None = None,
) -> pd.Series:
    """Weighted sum of entries, averaged over places: estimate, error, interval."""
    metric = result.metric
    ends, weight = np.array(list(weights), dtype=np.intp), np.array(list(weights.values()))
    if metric.all_pairs is not None and (metric.all_influences is None or not metric.symmetric):
        raise ValueError(
            f"differences and means within a matrix need influences, which {metric.name} has not; "
            f"analyse these pairs with compare(trials, {metric.name!r}, pairs=[...]) instead"
        )
    prob = float(result.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
    if against is None:
        against = np.nan if metric.independent is None else metric.independent
    if metric.all_pairs is None:
        found = _of_tables(result, ends, weight, prob)
    else:
        found = _of_influences(result, ends, weight, prob)
    names = bound_names("analytic", "ci", prob)
    away = abs(found.center - against) / found.se if found.se > 0 else np.nan
    return pd.Series(
        {
            "estimate": found.value,
            "se": found.se,
            names[0]: found.lower,
            names[1]: found.upper,
            "p": 2 * float(stats.t.sf(away, found.df)),
            "n_pairs": found.n_pairs,
            "n_places": found.n_places,
        }
    )


def _counts(result: MatrixResult, ends: NDArray[np.intp]) -> Floats:
    """Cells of pairs as they are named, (place, pair, 4)."""
    n, (low, high) = len(result.observers), np.sort(ends, axis=1).T
    pair = low * n - low * (low + 1) // 2 + high - low - 1
    cells = result.estimates["cells"].values
    counts = cells.reshape(-1, cells.shape[-2], 4)[:, pair].astype(np.float64)
    back = ends[:, 0] > ends[:, 1]
    counts[:, back] = counts[:, back][..., [0, 2, 1, 3]]
    return np.asarray(counts)


class _Sum(NamedTuple):
    """A weighted sum of entries over places; of none where it is undefined."""

    value: float
    center: float
    se: float
    df: float
    lower: float
    upper: float
    n_pairs: int
    n_places: int


NOTHING = _Sum(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, 0, 0)


def _of_tables(result: MatrixResult, ends: NDArray[np.intp], weight: Floats, prob: float) -> _Sum:
    """Weighted sum over tables of correctness; a mean is over those that are defined."""
    metric, counts = result.metric, _counts(result, ends)
    value = metric.value(counts)
    kept = np.array([_of_defined(weight, np.isfinite(row)) for row in value])
    used = kept != 0
    there = used.any(axis=1)
    if not there.any():
        return NOTHING
    n_places, place = int(there.sum()), np.nonzero(used)[0]
    cells, w = counts[used], kept[used] / n_places
    total = float(w @ value[used])
    if len(w) > 1:
        sums = pooled_sum(metric, cells, w, place)
        slopes = sums.slopes
    else:
        slopes = np.where(cells > 0, metric.influence(cells), 0.0) / cells.sum(axis=1)[:, None] * w
    observers, local = np.unique(ends, return_inverse=True)
    local = local.reshape(ends.shape)
    parts = {}
    for k, packed in enumerate(result.answers()):
        first, second = local[used[k]].T
        if there[k]:
            answers = packed.unpacked(observers)
            parts[k] = combined_influence(answers, first, second, slopes[place == k])
    moved, squares = _by_cluster(result, parts)
    if squares is not None:
        parted = _cells_of_clusters(result, ends, used)
        if parted is not None:
            alone = len(w) == 1
            moved = (_left_out_of_one if alone else left_out)(metric, cells, parted, w, place)
    n_pairs = int(used.sum(axis=1)[there].min())
    if len(w) > 1:
        found = sum_interval(metric, w, total, sums, moved, prob, squares)
        ends_of = found.lower, found.upper
        return _Sum(total, found.center, found.se, found.df, *ends_of, n_pairs, n_places)
    se, df = _error(moved, squares)
    deviate = student_deviate(np.array(df), prob)
    bounds = analytic_interval(metric, np.array(total), np.array(se), deviate)
    lower, upper = map(float, bounds)
    return _Sum(total, total, se, df, lower, upper, n_pairs, n_places)


def _by_cluster(result: MatrixResult, moved: Mapping[int, Floats]) -> tuple[Floats, Floats | None]:
    """Influences of the trials of places, summed over clusters of items, and `squares`."""
    every = np.concatenate(list(moved.values()))
    if not result.cluster:
        return every, None
    numbers = result.cluster_numbers()
    of_trials = np.concatenate([numbers[place] for place in moved])
    membership, _ = indicator(of_trials)
    squares = squares_by_cluster(every[None], np.ones((1, len(every))), membership)
    return every @ membership, squares[0]


def _cells_of_clusters(
    result: MatrixResult, ends: NDArray[np.intp], used: NDArray[np.bool_]
) -> Floats | None:
    """Cells of the entries that are used, by cluster; None where memory would not hold them."""
    numbers, observers = result.cluster_numbers(), np.unique(ends)
    there = np.flatnonzero(used.any(axis=1))
    every = np.unique(np.concatenate([numbers[k] for k in there]))
    if used.sum() * len(every) > MOST_CELLS:
        return None
    local, answers = np.searchsorted(observers, ends), result.answers()
    out = []
    for k in there:
        said = {"correct": answers[k].unpacked(observers)}
        block = pairs_of(said, local[used[k]].T, 0)
        member = sparse.csr_array(
            (
                np.ones(len(numbers[k])),
                (np.arange(len(numbers[k])), np.searchsorted(every, numbers[k])),
            ),
            shape=(len(numbers[k]), len(every)),
        )
        shares = block.shares().reshape(-1, len(numbers[k])).astype(np.float64)
        out.append((shares @ member).reshape(-1, 4, len(every)))
    return np.concatenate(out)


def _left_out_of_one(
    metric: Metric, cells: Floats, of_clusters: Floats, weights: Floats, _: NDArray[np.intp]
) -> Floats:
    """What each cluster moves one entry by; first derivatives are too small."""
    n = of_clusters.shape[-1]
    without = np.maximum(cells[..., None] - of_clusters, 0.0)[0].T
    return (n - 1) / n * weights[0] * (metric.value(cells[0]) - metric.value(without))


def _error(moved: Floats, squares: Floats | None) -> tuple[float, float]:
    """Standard error of a sum, and its degrees of freedom."""
    if squares is None:
        return float(np.linalg.norm(moved)), np.inf
    square, df = of_clusters(moved[None], squares[None])
    return float(np.sqrt(square[0])), float(df[0])


def _of_influences(
    result: MatrixResult, ends: NDArray[np.intp], weight: Floats, prob: float
) -> _Sum:
    """Weighted sum of entries that are not of correctness, averaged over places."""
    n, (low, high) = len(result.observers), np.sort(ends, axis=1).T
    pair = low * n - low * (low + 1) // 2 + high - low - 1
    grid = result.estimates["estimate"].values
    values = grid.reshape(-1, grid.shape[-1])[:, pair]
    kept = np.array([_of_defined(weight, np.isfinite(row)) for row in values])
    there = (kept != 0).any(axis=1)
    if not there.any():
        return NOTHING
    full = np.zeros((len(kept), 1, grid.shape[-1]))
    full[:, 0, pair] = kept
    n_places, metric = int(there.sum()), result.metric
    value = float(np.where(kept != 0, kept * values, 0.0).sum()) / n_places
    if result.cluster:
        se, df = _error(*_jackknife(result, kept, low, high))
    else:
        moved = {k: psi.sum(axis=0) for k, psi in enumerate(influences(result, list(full)))}
        se, df = _error(*_by_cluster(result, moved))
    se /= n_places
    z = float(student_deviate(np.array(df), prob))
    if len(weight) == 1 == n_places:
        bounds = analytic_interval(metric, np.array(value), np.array(se), z)
    else:
        bounds = within(metric, value + np.array([-1, 1]) * z * se, weight)
    n_pairs = int((kept != 0).sum(axis=1)[there].min())
    lower, upper = map(float, bounds)
    return _Sum(value, value, se, df, lower, upper, n_pairs, n_places)


def _jackknife(
    result: MatrixResult, kept: Floats, low: NDArray[np.intp], high: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """What each cluster moves a weighted sum of entries by, over all places, and `squares`."""
    metric, numbers = result.metric, result.cluster_numbers()
    size = max(int(own.max(initial=-1)) for own in numbers) + 1
    moved, squares = np.zeros((2, size))
    said = said_by(result)
    for weight, own, of_place, packed in zip(kept, numbers, said, result.answers(), strict=True):
        used = np.flatnonzero(weight)
        observers, ends = np.unique(np.stack([low[used], high[used]]), return_inverse=True)
        answers = {
            name: np.asarray(v.isel(observer=observers) if "observer" in v.dims else v)
            for name, v in of_place.items()
        }
        answers["correct"] = packed.unpacked(observers)
        assert result.trials is not None
        n_classes = result.trials.data.sizes.get("class", 0) + 1
        block = pairs_of(answers, ends.reshape(2, -1), n_classes)
        ready = evaluator(block, metric)
        of_cluster, _ = cluster_influence(ready, own)
        membership, here = indicator(own)
        moved[here] += weight[used] @ of_cluster
        single, shown = weight[used] @ ready.slopes(), block.shown().any(axis=0)
        squares[here] += squares_by_cluster(single[None], shown[None], membership)[0]
    return moved[squares > 0], squares[squares > 0]


def _of_defined(weight: Floats, defined: NDArray[np.bool_]) -> Floats:
    """Weights of the entries that are defined: a mean is over these, a difference needs both."""
    if not defined.any() or ((weight < 0).any() and not defined.all()):
        return np.zeros(len(weight))
    kept = np.where(defined, weight, 0.0)
    return kept if defined.all() else kept * (weight.sum() / kept.sum())
