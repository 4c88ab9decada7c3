"""Metrics at weighted trials: what resampling, exact draws and influence functions all work with.

Whatever a metric is a function of (the four cells of a pair, the labels of its joint errors, the
error rows of both observers), that is a sum over trials. A block of trials is therefore prepared
once, and then gives the values of all its pairs for any weights of the trials, and how they change
with each trial.

References
----------
.. [E82] Efron (1982). The jackknife, the bootstrap and other resampling plans. Chapter 6.
   doi:10.1137/1.9781611970319
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.data.blocks import LEFT_OUT, Block
from alikely.inference.readings import counted
from alikely.metrics import Metric
from alikely.metrics.readings import Readings

__all__ = ["Evaluator", "evaluator", "weighted_cells"]


class Evaluator(NamedTuple):
    """A metric on one block of trials.

    Attributes
    ----------
    values : callable
        Weights (draw, trial) to values (draw, pair); NaN where undefined.
    slopes : callable
        No argument; change of each pair's value with the weight of each trial, (pair, trial), at
        weights of 1, their mean subtracted: their squares sum to the variance that resampling
        trials has [E82]_. Zero for trials without influence, NaN where the value is undefined.
    reasons : callable
        No argument; why the value of each pair is undefined, empty where it is not.
    width : int
        Numbers held for each draw while `values` works.
    """

    values: Callable[[NDArray[np.floating]], NDArray[np.floating]]
    slopes: Callable[[], Floats]
    reasons: Callable[[], NDArray[np.object_]]
    width: int


def evaluator(block: Block, metric: Metric) -> Evaluator:
    """Prepare a metric for a block of trials.

    Parameters
    ----------
    block : Block
        One group of a table; with labels, for a metric of wrong labels.
    metric : Metric
        Estimand.

    Returns
    -------
    Evaluator

    Raises
    ------
    ValueError
        If the metric needs labels and the table has none.

    Examples
    --------
    >>> import alikely as al
    >>> from alikely.data.blocks import blocks
    >>> (block,) = blocks(al.data.from_counts([100, 20, 20, 20]))
    >>> ready = evaluator(block, al.metrics.ERROR_CONSISTENCY)
    >>> ready.values(np.ones((1, 160))).round(4)
    array([[0.3333]])
    """
    if metric.counts == "correctness":
        return _correctness(block, metric)
    if metric.counts == "margins":
        return _margins(block, metric)
    if not block.n_classes:
        raise ValueError(
            f"{metric.name} needs class labels and this table has none; count it with labels=True"
        )
    by_counts = {"labels": _labels, "readings": _readings, "rows": _rows}
    return by_counts[metric.counts](block, metric)


def weighted_cells(
    weights: NDArray[np.floating], codes: NDArray[np.int8], n_cells: int = 4
) -> NDArray[np.floating]:
    """Cells of all pairs under weights of the trials, by one matrix product.

    Parameters
    ----------
    weights : ndarray, shape (resample, trial)
        Weight of each trial in each replicate.
    codes : ndarray of int, shape (pair, trial)
        Cell of each trial, -1 for a trial that is left out.
    n_cells : int
        Number of cells of the table.

    Returns
    -------
    ndarray, shape (resample, pair, cell)
        In the dtype of the weights.

    Examples
    --------
    >>> weighted_cells(np.array([[2.0, 0.0, 1.0]]), np.array([[0, 3, 1]], dtype=np.int8)).tolist()
    [[[2.0, 1.0, 0.0, 0.0]]]
    """
    indicator = codes[:, None, :] == np.arange(n_cells, dtype=codes.dtype)[:, None]
    flat = indicator.reshape(n_cells * len(codes), codes.shape[1]).astype(weights.dtype)
    return (weights @ flat.T).reshape(len(weights), len(codes), n_cells)


def _correctness(block: Block, metric: Metric) -> Evaluator:
    codes = block.codes()
    cells = weighted_cells(np.ones((1, codes.shape[1])), codes)[0]

    def slopes() -> Floats:
        psi, n = metric.influence(cells), cells.sum(axis=1)[:, None]
        at = np.take_along_axis(psi / np.where(n > 0, n, 1), np.maximum(codes, 0), axis=1)
        out = np.where(codes == LEFT_OUT, 0.0, at)
        out[~np.isfinite(metric.value(cells))] = np.nan
        return out

    return Evaluator(
        lambda weights: metric.value(weighted_cells(weights, codes)),
        slopes,
        lambda: metric.reason(cells),
        4 * len(codes),
    )


def _wrong(block: Block) -> NDArray[np.bool_]:
    return np.asarray(block.correct == 0)


def _labels(block: Block, metric: Metric) -> Evaluator:
    """Labels of joint errors: how often they agree, and both margins, by a sparse product."""
    wrong, n_pairs, k = _wrong(block), len(block.a), block.n_classes
    pair, trial = np.nonzero(wrong[block.a] & wrong[block.b])
    first, second = block.response[block.a[pair], trial], block.response[block.b[pair], trial]
    size = 1 + 2 * k
    same = first == second
    at = [pair * size + 1 + first, pair * size + 1 + k + second, pair[same] * size]
    column = np.concatenate([trial, trial, trial[same]])
    shape = (n_pairs * size, wrong.shape[1])
    ones = np.ones(len(column))
    design = sparse.csr_array((ones, (np.concatenate(at), column)), shape=shape)

    def statistics(weights: NDArray[np.floating]) -> Floats:
        total = design @ weights.T.astype(np.float64)
        return np.asarray(total.reshape(n_pairs, size, -1).transpose(2, 0, 1))

    def slopes() -> Floats:
        counts = statistics(np.ones((1, wrong.shape[1])))[0]
        psi, n = metric.influence(counts), counts[:, 1 : 1 + k].sum(axis=1)
        out = np.zeros((n_pairs, wrong.shape[1]))
        moved = psi[pair, 1 + first] + psi[pair, 1 + k + second] + np.where(same, psi[pair, 0], 0)
        out[pair, trial] = moved / n[pair]
        out[~np.isfinite(metric.value(counts))] = np.nan
        return out

    return Evaluator(
        lambda weights: metric.value(statistics(weights)),
        slopes,
        lambda: metric.reason(statistics(np.ones((1, wrong.shape[1])))[0]),
        n_pairs * size,
    )


def _readings(block: Block, metric: Metric) -> Evaluator:
    """All that readers said, right or wrong."""
    ready, every = counted(block), np.ones((1, block.response.shape[1]))

    def of_entries() -> Readings:
        sums = ready.readings(every)
        return Readings._make([*(part[0] for part in sums[:-1]), ready.n_classes])

    def slopes() -> Floats:
        sums = of_entries()
        out = ready.slopes(metric.influence(sums))
        out[~np.isfinite(metric.value(sums))] = np.nan
        return out

    return Evaluator(
        lambda weights: metric.value(ready.readings(weights)),
        slopes,
        lambda: metric.reason(of_entries()).astype(object),
        2 * len(ready.members) * ready.size,
    )


def _margins(block: Block, metric: Metric) -> Evaluator:
    """Margins of both systems of each pair, on the items that both have."""
    x, y = block.margins[block.a], block.margins[block.b]
    common = [np.flatnonzero(both) for both in np.isfinite(x) & np.isfinite(y)]
    pairs = [(x[p, items], y[p, items], items) for p, items in enumerate(common)]

    def values(weights: NDArray[np.floating]) -> Floats:
        w = np.asarray(weights, dtype=np.float64)
        own = (w if len(items) == w.shape[1] else w[:, items] for _, _, items in pairs)
        each = [metric.value(a, b, part) for (a, b, _), part in zip(pairs, own, strict=True)]
        return np.stack(each, axis=1)

    def slopes() -> Floats:
        out = np.zeros(x.shape)
        for row, (a, b, items) in zip(out, pairs, strict=True):
            row[items] = metric.influence(a, b) / len(items)
            # An undefined value has no slope anywhere.
            row[:] = row if np.isfinite(row).all() else np.nan
        return out

    return Evaluator(
        values,
        slopes,
        lambda: np.array([str(metric.reason(a, b)) for a, b, _ in pairs], dtype=object),
        8 * x.shape[1] + len(pairs),
    )


class _Errors(NamedTuple):
    """Errors of one observer: which occur (true class times classes plus response), and when."""

    kinds: NDArray[np.intp]
    trials: NDArray[np.intp]
    kind_of_trial: NDArray[np.intp]
    design: sparse.csr_array  # (kind, trial)


def _errors(block: Block, observer: int) -> _Errors:
    trials = np.flatnonzero(_wrong(block)[observer])
    code = block.truth[trials].astype(np.intp) * block.n_classes + block.response[observer, trials]
    kinds, kind = np.unique(code, return_inverse=True)
    shape = (len(kinds), len(block.truth))
    design = sparse.csr_array((np.ones(len(trials)), (kind, trials)), shape=shape)
    return _Errors(kinds, trials, kind, design)


def _rows(block: Block, metric: Metric) -> Evaluator:
    """Error rows of every observer once, then pair by pair over the errors that either made."""
    errors = [_errors(block, observer) for observer in range(len(block.correct))]
    pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))
    n_trials = len(block.truth)

    def listed(counts: list[Floats], pair: int) -> tuple[Floats, Floats, NDArray[np.intp], int]:
        a, b = pairs[pair]
        kinds = np.union1d(errors[a].kinds, errors[b].kinds)
        rows = []
        for observer in (a, b):
            row = np.zeros((len(counts[observer]), len(kinds)))
            row[:, np.searchsorted(kinds, errors[observer].kinds)] = counts[observer]
            rows.append(row)
        return rows[0], rows[1], kinds // block.n_classes, int(block.n_possible[pair])

    def values(weights: NDArray[np.floating]) -> Floats:
        transposed = weights.T.astype(np.float64)
        counts = [(observer.design @ transposed).T for observer in errors]
        out = np.empty((len(weights), len(pairs)))
        for p in range(len(pairs)):
            out[:, p] = metric.value(*listed(counts, p))
        return out

    def slopes() -> Floats:
        counts = [observer.design.sum(axis=1)[None] for observer in errors]
        out = np.zeros((len(pairs), n_trials))
        for p, (a, b) in enumerate(pairs):
            rows = listed(counts, p)
            if not rows[0].size:
                out[p] = np.nan
                continue
            kinds = np.union1d(errors[a].kinds, errors[b].kinds)
            for observer, slope in zip((a, b), metric.influence(*rows), strict=True):
                mine = np.searchsorted(kinds, errors[observer].kinds)
                out[p, errors[observer].trials] += slope[0, mine][errors[observer].kind_of_trial]
        # The smoothing keeps these from summing to zero; a resampled set has as many trials.
        return out - out.mean(axis=1, keepdims=True)

    def reasons() -> NDArray[np.object_]:
        counts = [observer.design.sum(axis=1)[None] for observer in errors]
        found = [metric.reason(*listed(counts, p))[0] for p in range(len(pairs))]
        return np.array(found, dtype=object)

    width = 6 * max((len(e.kinds) for e in errors), default=1) + sum(len(e.kinds) for e in errors)
    return Evaluator(values, slopes, reasons, width + len(pairs))
