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

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.data.blocks import LEFT_OUT, Block
from alikely.inference.options import chosen
from alikely.inference.readings import counted
from alikely.inference.weighted import (
    TOSSED,
    Population,
    deviations,
    second_order_bias,
    spread_of_images,
)
from alikely.metrics import Metric
from alikely.metrics.option_sums import OptionSums
from alikely.metrics.readings import Readings

# Why errors by class have no weights: measured on the pools of `docs/choosing.md`.
SPARSE = ", since of 80 chosen images a person errs on 18, about one for each row of 16 classes"
# Inclusion of the images of a stratum, but for rounding.
EQUAL = 1e-9

__all__ = [
    "Evaluator",
    "JointErrors",
    "agreement_of_distinct",
    "evaluator",
    "joint_errors_of",
    "weighted_cells",
    "wrong_answers",
]


class Evaluator(NamedTuple):
    """A metric on one block of trials."""

    values: Callable[[NDArray[np.floating]], NDArray[np.floating]]
    slopes: Callable[[], Floats]
    reasons: Callable[[], NDArray[np.object_]]
    width: int
    bias: Callable[[], Floats] | None = None
    tossed: Callable[[], Iterator[tuple[NDArray[np.intp], Floats]]] | None = None


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
    if block.chosen:
        return _chosen(block, metric)
    if metric.counts == "correctness":
        return _correctness(block, metric)
    if metric.counts == "margins":
        return _margins(block, metric)
    if metric.counts in ("options", "probabilities"):
        return _options(block, metric)
    if not block.n_classes:
        raise ValueError(
            f"{metric.name} needs class labels and this table has none; count it with labels=True"
        )
    by_counts = {"labels": _labels, "readings": _readings, "rows": _rows}
    return by_counts[metric.counts](block, metric)


def weighted_cells(
    weights: NDArray[np.floating], shares: NDArray[np.int8 | np.float64]
) -> NDArray[np.floating]:
    """Cells of all pairs under weights of the trials, by one matrix product."""
    flat = shares.reshape(-1, shares.shape[-1]).astype(weights.dtype)
    return (weights @ flat.T).reshape(len(weights), *shares.shape[:-1])


def _chosen(block: Block, metric: Metric) -> Evaluator:
    """Of images that a plan chose: weighted, and slopes whose squares are the design's variance."""
    by_counts = {"correctness": _correctness, "labels": _labels}
    if metric.counts not in by_counts:
        raise ValueError(
            f"these images were chosen by a plan, and {metric.name} has no weights"
            f"{SPARSE if metric.counts == 'rows' else ' yet'}; use "
            "error consistency, misclassification agreement or a metric of your own of right and "
            "wrong answers, or a plan of all images"
        )
    if metric.counts == "labels" and not block.n_classes:
        raise ValueError(f"{metric.name} needs class labels; count the table with labels=True")
    weights = 1 / block.inclusion
    ready = by_counts[metric.counts](block, metric, weights)
    population: Population = "pool" if block.population == "pool" else "images"

    def slopes() -> Floats:
        return deviations(ready.slopes(), block.inclusion, block.shown(), population)

    if metric.counts == "labels":
        return ready._replace(slopes=slopes)
    return ready._replace(
        slopes=slopes,
        bias=partial(_bias, block, metric, population),
        tossed=partial(_tossed, block, metric, population),
    )


def _bias(block: Block, metric: Metric, population: Population) -> Floats:
    """Bias of the values of chosen images, by the curvature of the metric."""
    weights = block.scaled_weights() / np.maximum(block.shown().sum(axis=1, keepdims=True), 1)
    groups = [block.stratum == g for g in range(block.stratum.max(initial=-1) + 1)]
    if not groups or any(np.ptp(block.inclusion[own]) > EQUAL for own in groups):
        groups = [np.ones(len(block.inclusion), dtype=bool)]
    shares = block.shares()
    found = second_order_bias(
        metric.influence, shares, weights, block.inclusion, groups, population
    )
    if metric.caution is not None:
        # Near a kink there is no curvature to go by.
        n = block.shown().sum(axis=1)[:, None]
        found[metric.caution(n * np.einsum("pct,pt->pc", shares, weights)) != ""] = 0.0
    return found


def _tossed(
    block: Block, metric: Metric, population: Population
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """What answers of each person move their pairs by, were they tossed; see `TOSSED`."""
    shown = block.shown()
    n = np.maximum(shown.sum(axis=1, keepdims=True), 1)
    weights = block.scaled_weights() / n
    psi = np.nan_to_num(metric.influence(np.einsum("pct,pt->pc", block.shares(), weights)))
    weights *= spread_of_images(block.inclusion, shown, population) * np.sqrt(TOSSED / n)
    n11, n10, n01, n00 = psi.T[:, :, None]
    for who in np.flatnonzero(block.asked):
        rows = np.flatnonzero((block.a == who) | (block.b == who))
        first = (block.a[rows] == who)[:, None]
        other = block.correct[np.where(first[:, 0], block.b[rows], block.a[rows])]
        right = np.where(first, n11[rows] - n01[rows], n11[rows] - n10[rows])
        wrong = np.where(first, n10[rows] - n00[rows], n01[rows] - n00[rows])
        # A toss is half of the difference away from its mean.
        yield rows, weights[rows] * np.where(other == 1, right, wrong) / 2


def _correctness(block: Block, metric: Metric, weight: Floats | None = None) -> Evaluator:
    shares = block.shares() if weight is None else block.shares() * weight
    cells = shares.sum(axis=2, dtype=np.float64)

    def slopes() -> Floats:
        psi, n = metric.influence(cells), cells.sum(axis=1)[:, None]
        # An empty cell has no say, even where its influence is undefined.
        psi = np.where(cells > 0, psi, 0.0) / np.where(n > 0, n, 1)
        out = np.einsum("pc,pct->pt", psi, shares)
        out[~np.isfinite(metric.value(cells))] = np.nan
        return np.asarray(out)

    return Evaluator(
        lambda weights: metric.value(weighted_cells(weights, shares)),
        slopes,
        lambda: metric.reason(cells),
        4 * len(shares),
    )


def wrong_answers(block: Block) -> NDArray[np.bool_]:
    """Which answers of a block are wrong."""
    if not block.crossed:
        return np.asarray(block.correct == 0)
    return np.asarray((block.response != LEFT_OUT) & (block.response != block.truth[:, None]))


class JointErrors(NamedTuple):
    """Wrong answers that meet, and the share of the meetings of their trial that each is."""

    pair: NDArray[np.intp]
    trial: NDArray[np.intp]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    share: Floats


def joint_errors_of(block: Block) -> JointErrors:
    """List the joint errors of all pairs of a block."""
    wrong, response = wrong_answers(block), block.response
    if not block.crossed:
        pair, trial = np.nonzero(wrong[block.a] & wrong[block.b])
        first, second = (response[side[pair], trial] for side in (block.a, block.b))
        return JointErrors(pair, trial, first, second, np.ones(len(pair)))
    number = np.maximum((response != LEFT_OUT).sum(axis=2), 1)
    found = []
    for k, m in itertools.product(range(response.shape[2]), repeat=2):
        pair, trial = np.nonzero(wrong[block.a, :, k] & wrong[block.b, :, m])
        a, b = block.a[pair], block.b[pair]
        share = 1 / (number[a, trial] * number[b, trial])
        found.append((pair, trial, response[a, trial, k], response[b, trial, m], share))
    return JointErrors(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _labels(block: Block, metric: Metric, weight: Floats | None = None) -> Evaluator:
    """Labels of joint errors: how often they agree, and both margins, by a sparse product."""
    n_pairs, n_trials, k = len(block.a), block.correct.shape[1], block.n_classes
    pair, trial, first, second, share = joint_errors_of(block)
    share = share if weight is None else share * weight[trial]
    size = 1 + 2 * k
    same = first == second
    at = [pair * size + 1 + first, pair * size + 1 + k + second, pair[same] * size]
    column = np.concatenate([trial, trial, trial[same]])
    shares = np.concatenate([share, share, share[same]])
    shape = (n_pairs * size, n_trials)
    design = sparse.csr_array((shares, (np.concatenate(at), column)), shape=shape)

    def statistics(weights: NDArray[np.floating]) -> Floats:
        total = design @ weights.T.astype(np.float64)
        return np.asarray(total.reshape(n_pairs, size, -1).transpose(2, 0, 1))

    def slopes() -> Floats:
        counts = statistics(np.ones((1, n_trials)))[0]
        psi, n = metric.influence(counts), counts[:, 1 : 1 + k].sum(axis=1)
        out = np.zeros((n_pairs, n_trials))
        moved = psi[pair, 1 + first] + psi[pair, 1 + k + second] + np.where(same, psi[pair, 0], 0)
        np.add.at(out, (pair, trial), share * moved / n[pair])
        out[~np.isfinite(metric.value(counts))] = np.nan
        return out

    return Evaluator(
        lambda weights: metric.value(statistics(weights)),
        slopes,
        lambda: metric.reason(statistics(np.ones((1, n_trials)))[0]),
        n_pairs * size,
    )


def agreement_of_distinct(block: Block, metric: Metric) -> Floats:
    """Values of a metric of labels over pairs of different joint errors, as its `distinct` says."""
    assert metric.distinct is not None
    n_pairs, k = len(block.a), block.n_classes
    pair, trial, first, second, share = joint_errors_of(block)
    if block.chosen:
        share = share / block.inclusion[trial]
    statistics = np.zeros((n_pairs, 1 + 2 * k))
    np.add.at(statistics, (pair, 1 + first), share)
    np.add.at(statistics, (pair, 1 + k + second), share)
    same = first == second
    np.add.at(statistics, (pair[same], 0), share[same])
    # What products of margins pair of one item with itself: also answers to repeated items.
    item, of = np.unique(pair * block.correct.shape[1] + trial, return_inverse=True)
    home = np.zeros(len(item), np.intp)
    home[of] = pair
    shape = (len(item), k)
    label_a, label_b = (sparse.csr_array((share, (of, side)), shape) for side in (first, second))
    equal, all_ = label_a.multiply(label_b).sum(axis=1), label_a.sum(axis=1)
    own = np.stack([np.bincount(home, part, n_pairs) for part in (equal, all_**2)], axis=1)
    return metric.distinct(statistics, own)


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


def _options(block: Block, metric: Metric) -> Evaluator:
    """Answers among options, or probabilities of these."""
    ready = chosen(block, metric.counts == "probabilities")
    every = np.ones((1, ready.each.shape[2]))

    def of_pairs() -> OptionSums:
        return OptionSums(*(part[0] for part in ready.sums(every)))

    def slopes() -> Floats:
        sums = of_pairs()
        out = ready.slopes(metric.influence(sums))
        out[~np.isfinite(metric.value(sums))] = np.nan
        return out

    return Evaluator(
        lambda weights: metric.value(ready.sums(weights)),
        slopes,
        lambda: metric.reason(of_pairs()).astype(object),
        len(ready.each) * ready.each.shape[1],
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
    kind_of_error: NDArray[np.intp]
    shares: Floats
    design: sparse.csr_array  # (kind, trial)


def _errors(block: Block, observer: int) -> _Errors:
    at = np.nonzero(wrong_answers(block)[observer])
    trials, given = at[0], block.response[observer][at]
    shares = np.ones(len(trials))
    if block.crossed:
        shares = 1 / (block.response[observer] != LEFT_OUT).sum(axis=1)[trials]
    code = block.truth[trials].astype(np.intp) * block.n_classes + given
    kinds, kind = np.unique(code, return_inverse=True)
    shape = (len(kinds), len(block.truth))
    design = sparse.csr_array((shares, (kind, trials)), shape=shape)
    return _Errors(kinds, trials, kind, shares, design)


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
                own = errors[observer]
                moved = slope[0, np.searchsorted(kinds, own.kinds)][own.kind_of_error]
                np.add.at(out[p], own.trials, own.shares * moved)
        # The smoothing keeps these from summing to zero; a resampled set has as many trials.
        return out - out.mean(axis=1, keepdims=True)

    def reasons() -> NDArray[np.object_]:
        counts = [observer.design.sum(axis=1)[None] for observer in errors]
        found = [metric.reason(*listed(counts, p))[0] for p in range(len(pairs))]
        return np.array(found, dtype=object)

    width = 6 * max((len(e.kinds) for e in errors), default=1) + sum(len(e.kinds) for e in errors)
    return Evaluator(values, slopes, reasons, width + len(pairs))
