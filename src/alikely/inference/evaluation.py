"""Features of trials, their sums over weighted trials, and metrics as functions of these sums.

Each block of trials is prepared once for all evaluations. It then gives values and influences of
all its pairs for any weights of the trials, for resampling, exact draws and standard errors.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.data.blocks import LEFT_OUT, Block
from alikely.inference.weighting import (
    TOSSED,
    Population,
    deviations,
    second_order_bias,
    spread_of_images,
)
from alikely.metrics import Metric
from alikely.metrics.answers import Names, pair_features
from alikely.metrics.gradients import central_differences
from alikely.metrics.margins import margin_moments
from alikely.metrics.options import FEATURES, OptionSums, given_answers, given_probabilities
from alikely.metrics.ratings import Readings


def features(block: Block, metric: Metric, weight: Floats | None = None) -> Features:
    """Prepare the features of a metric, with inclusion weights of the trials if there are any."""
    if metric.counts == "correctness":
        return _dense(block.shares() if weight is None else block.shares() * weight)
    if metric.counts == "margins":
        return _dense(margin_moments(block.margins[block.a], block.margins[block.b]))
    if metric.counts in ("options", "probabilities"):
        return option_features(block, metric.counts == "probabilities")
    if metric.counts == "trials":
        return _dense(_own_features(block, metric, weight))
    if not block.n_classes:
        raise ValueError(
            f"{metric.name} needs class labels, but this table has none; make the table with "
            "joint_correctness(..., labels=True)"
        )
    if metric.counts == "labels":
        return label_features(block, weight)
    return reading_features(block) if metric.counts == "ratings" else _Rows(block)


def weighted_cells(
    weights: NDArray[np.floating], shares: NDArray[np.int8 | np.floating]
) -> NDArray[np.floating]:
    """Compute weighted sums over trials for all pairs, by one matrix product."""
    flat = shares.reshape(math.prod(shares.shape[:-1]), shares.shape[-1]).astype(weights.dtype)
    return (weights @ flat.T).reshape(len(weights), *shares.shape[:-1])


@dataclasses.dataclass(frozen=True)
class _Summed:
    """Features that are summed over trials; rows are entries times features of each."""

    design: NDArray[Any] | sparse.csr_array  # (entry times feature, trial)
    size: int
    # What values take if not an array (..., feature); its first field is then the number of trials.
    named: Callable[[Floats], tuple[Any, ...]] | None = None

    @property
    def width(self) -> int:
        return int(self.design.shape[0]) * (1 if self.named is None else 2)

    @property
    def each(self) -> NDArray[Any]:
        """Contribution of each trial to each feature: (entry, feature, trial)."""
        return np.asarray(self.design).reshape(self._n, self.size, self.design.shape[1])

    @property
    def _n(self) -> int:
        return int(self.design.shape[0]) // self.size

    def sums(self, weights: NDArray[np.floating]) -> Any:
        """Return sums over weighted trials, the input of functions that compute values."""
        if isinstance(self.design, np.ndarray):
            whole = self.design.dtype.kind in "iu"
            used = weights if whole else weights.astype(np.float64, copy=False)
            total = weighted_cells(used, self.design)
        else:
            total = (self.design @ weights.T.astype(np.float64)).T
        found: Any = total.reshape(len(weights), self._n, self.size)
        return found if self.named is None else self.named(found)

    def _totals(self) -> Floats:
        return np.asarray(self.design.sum(axis=1), dtype=np.float64).reshape(self._n, self.size)

    def known(self) -> NDArray[np.bool_]:
        """Whether each entry has at least one trial."""
        totals = self._totals()
        return np.asarray(totals.any(axis=1) if self.named is None else totals[:, 0] > 0)

    def apply(self, function: Callable[..., Any], weights: NDArray[np.floating]) -> NDArray[Any]:
        return np.asarray(function(self.sums(weights)))

    def of_trials(self, metric: Metric) -> Floats:
        totals = self._totals()
        if self.named is None:
            by = metric.derivative(totals)
        else:
            parts = [
                np.reshape(p, (len(totals), -1)) for p in metric.derivative(self.named(totals))
            ]
            by = np.concatenate(parts, axis=1)[:, : self.size]
        # An empty cell has no say, even where its derivative is undefined.
        by = np.where((totals != 0) | np.isfinite(by), by, 0.0)
        if isinstance(self.design, np.ndarray):
            return np.einsum("pk,pkt->pt", by, self.each)
        rows = np.arange(by.size)
        at = by.ravel(), (rows // self.size, rows)
        gather = sparse.csr_array(at, shape=(len(by), by.size))
        return np.asarray((gather @ self.design).toarray())


def _dense(shares: NDArray[Any]) -> _Summed:
    """Features (entry, feature, trial)."""
    n, size, n_trials = shares.shape
    return _Summed(shares.reshape(n * size, n_trials), size)


def _own_features(block: Block, metric: Metric, weight: Floats | None) -> Floats:
    """Features of a custom metric: (pair, feature, trial), 0 where a pair has no trial."""
    if block.crossed:
        raise ValueError(
            f"items are repeated, but {metric.name} needs one response to each; select one repeat, "
            "or pass cluster='trial' to treat all responses as independent"
        )
    response, truth = (block.response, block.truth) if block.response.size else (None, None)
    found = pair_features(metric, block.correct, response, truth, block.a, block.b)
    return found if weight is None else found * weight


def wrong_answers(block: Block) -> NDArray[np.bool_]:
    """Errors of a block."""
    if not block.crossed:
        return np.asarray(block.correct == 0)
    return np.asarray((block.response != LEFT_OUT) & (block.response != block.truth[:, None]))


class JointErrors(NamedTuple):
    """Joint errors, and the fraction of a trial's response pairs that each joint error makes up."""

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


def label_features(block: Block, weight: Floats | None) -> _Summed:
    """Compute label features of joint errors: agreement, and the label counts of both observers."""
    k = block.n_classes
    pair, trial, first, second, share = joint_errors_of(block)
    share = share if weight is None else share * weight[trial]
    size, same = 1 + 2 * k, first == second
    at = [pair * size + 1 + first, pair * size + 1 + k + second, pair[same] * size]
    column = np.concatenate([trial, trial, trial[same]])
    shares = np.concatenate([share, share, share[same]])
    shape = (len(block.a) * size, block.correct.shape[1])
    return _Summed(sparse.csr_array((shares, (np.concatenate(at), column)), shape=shape), size)


def reading_features(block: Block) -> _Summed:
    """Prepare the ratings in a block of trials."""
    groups = block.readers.size > 0
    if groups:
        members = np.stack([np.flatnonzero(row) for row in block.readers])
    else:
        members = np.stack([block.a, block.b], axis=1)
    codes = block.response[members]
    n_pairs, n_readers, n_trials = codes.shape
    k, seen = block.n_classes, codes >= 0
    if not groups:
        seen &= seen.all(axis=1, keepdims=True)
    number = seen.sum(axis=1)
    many = number > 1
    equal = equal_readings(codes, seen, k) / np.maximum(number * (number - 1), 1)
    pair, reader, trial = np.nonzero(seen)
    code, of_item = codes[pair, reader, trial], number[pair, trial]
    size = 3 + k * (2 + n_readers)
    some, item = np.nonzero(many)
    double = of_item > 1
    rows = [
        some * size,
        some * size + 1,
        some * size + 2,
        pair * size + 3 + code,
        (pair * size + 3 + k + code)[double],
        pair * size + 3 + k * (2 + reader) + code,
    ]
    values = [
        np.ones(len(some)),
        equal[some, item],
        equal[some, item] * number[some, item],
        1 / of_item,
        np.ones(double.sum()),
        np.ones(len(pair)),
    ]
    columns = [item, item, item, trial, trial[double], trial]
    at = np.concatenate(rows), np.concatenate(columns)
    design = sparse.csr_array((np.concatenate(values), at), shape=(n_pairs * size, n_trials))

    def named(sums: Floats) -> Readings:
        shares, paired = sums[..., 3 : 3 + k], sums[..., 3 + k : 3 + 2 * k]
        given = sums[..., 3 + 2 * k :].reshape(*sums.shape[:-1], n_readers, k)
        items, agreement, coincident = np.moveaxis(sums[..., :3], -1, 0)
        n_classes = np.asarray(block.n_possible)
        return Readings(items, agreement, coincident, shares, paired, given, n_classes)

    return _Summed(design, size, named)


def equal_readings(
    codes: NDArray[np.integer], seen: NDArray[np.bool_], k: int
) -> NDArray[np.int64]:
    """Count ordered pairs of equal ratings of each item."""
    if codes.shape[1] == 2:
        return np.asarray(2 * ((codes[:, 0] == codes[:, 1]) & seen[:, 0] & seen[:, 1]))
    pair, reader, trial = np.nonzero(seen)
    n_trials = codes.shape[2]
    key = (pair * n_trials + trial) * k + codes[pair, reader, trial]
    kinds, times = np.unique(key, return_counts=True)
    shape = codes.shape[0], n_trials
    ways = np.bincount(kinds // k, times * (times - 1), minlength=shape[0] * shape[1])
    return np.asarray(ways.astype(np.int64).reshape(shape))


def option_features(block: Block, soft: bool) -> _Summed:
    """Prepare the responses of a block, or the probabilities of its options."""
    if soft and not block.probability.size:
        raise ValueError(
            "these trials have no probabilities of options; add them with "
            "trials.with_probabilities(...), or compare responses by 'kappa_p_discrete'"
        )
    if not block.n_options.size:
        raise ValueError(
            "the number of options of each question is unknown; give it with "
            "trials.with_options(4), or trials.with_options('classes') for all classes"
        )
    if soft:
        p, shown = shares_of_options(block)
        given = given_probabilities(p, shown, block.truth, block.n_options)
    else:
        given = given_answers(block.response, block.truth, block.n_options)
    pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))

    def each(first: Names, second: Names, power: int) -> Floats:
        one, other = (given.by[side[0]] if side else given.shown for side in (first, second))
        products = [one[i] * other[j] for i, j in pairs]
        summed = [x.sum(axis=1) for x in products] if one.ndim == 3 else products
        return np.asarray(np.stack(summed) * given.factor**power, dtype=np.float64)

    every = np.stack([each(*term) for term in FEATURES.values()], axis=1)

    def named(sums: Floats) -> OptionSums:
        return OptionSums(*np.moveaxis(sums, -1, 0))

    return dataclasses.replace(_dense(every), named=named)


def shares_of_options(block: Block) -> tuple[Floats, NDArray[np.bool_]]:
    """Normalized probabilities of options, and whether observers have them for each question."""
    p = block.probability.astype(np.float64)
    shown = ~np.isnan(p).all(axis=2)
    return np.where(shown[..., None], p / p.sum(axis=2, keepdims=True), 0.0), shown


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


class _Rows:
    """Error rows of every observer once, then pair by pair over the errors that either made."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.errors = [_errors(block, observer) for observer in range(len(block.correct))]
        self.pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))

    @property
    def width(self) -> int:
        sizes = [len(each.kinds) for each in self.errors]
        return 6 * max(sizes, default=1) + sum(sizes) + len(self.pairs)

    def _kinds(self, pair: int) -> NDArray[np.intp]:
        a, b = self.pairs[pair]
        return np.union1d(self.errors[a].kinds, self.errors[b].kinds)

    def _listed(self, counts: list[Floats], pair: int) -> tuple[Any, ...]:
        """Errors of both observers by kind, their true classes, and the number of classes."""
        kinds, rows = self._kinds(pair), []
        for observer in self.pairs[pair]:
            row = np.zeros((len(counts[observer]), len(kinds)))
            row[:, np.searchsorted(kinds, self.errors[observer].kinds)] = counts[observer]
            rows.append(row)
        return *rows, kinds // self.block.n_classes, int(self.block.n_possible[pair])

    def known(self) -> NDArray[np.bool_]:
        return np.array([len(self._kinds(pair)) > 0 for pair in range(len(self.pairs))], dtype=bool)

    def apply(self, function: Callable[..., Any], weights: NDArray[np.floating]) -> NDArray[Any]:
        transposed = weights.T.astype(np.float64)
        counts = [(observer.design @ transposed).T for observer in self.errors]
        each = [function(*self._listed(counts, pair)) for pair in range(len(self.pairs))]
        return np.stack(each, axis=1)

    def of_trials(self, metric: Metric) -> Floats:
        counts = [observer.design.sum(axis=1)[None] for observer in self.errors]
        out = np.zeros((len(self.pairs), len(self.block.truth)))
        for pair, ends in enumerate(self.pairs):
            rows = self._listed(counts, pair)
            if not rows[0].size:
                out[pair] = np.nan
                continue
            for observer, slope in zip(ends, _by_errors(metric, rows), strict=True):
                own = self.errors[observer]
                at = np.searchsorted(self._kinds(pair), own.kinds)
                np.add.at(out[pair], own.trials, own.shares * slope[0, at][own.kind_of_error])
        # The smoothing keeps these from summing to zero; a resampled set has as many trials.
        return out - out.mean(axis=1, keepdims=True)


def _by_errors(metric: Metric, rows: tuple[Any, ...]) -> tuple[Floats, Floats]:
    """Derivatives of a metric by the errors of both observers, kind by kind."""
    if metric.gradient is not None:
        by_a, by_b = metric.gradient(*rows)
        return by_a, by_b
    first, second, true, n_classes = rows
    k = first.shape[-1]

    def value(both: Floats) -> Floats:
        return np.asarray(metric.value(both[..., :k], both[..., k:], true, n_classes))

    by_both = central_differences(value, np.concatenate([first, second], axis=-1))
    return by_both[..., :k], by_both[..., k:]


Features = _Summed | _Rows


# Why errors by class have no weights: measured on the pools of `docs/validation`.
SPARSE = ", because a person errs on only 18 of 80 chosen images, about once for each of 16 classes"
# Inclusion of the images of a stratum, but for rounding.
EQUAL = 1e-9


@dataclasses.dataclass(frozen=True)
class Evaluator:
    """A metric on one block of trials."""

    block: Block
    metric: Metric
    features: Features

    @property
    def width(self) -> int:
        """Number of values in memory for one set of weights."""
        return self.features.width

    def values(self, weights: NDArray[np.floating]) -> NDArray[np.floating]:
        """Evaluate the metric at weights of the trials: (draw, trial) to (draw, pair)."""
        return self.features.apply(self.metric.value, weights)

    def slopes(self) -> Floats:
        """Influence of each trial divided by the number of trials; NaN if undefined: (pair, trial).

        For images of a plan, deviations whose squares sum to the design variance.
        """
        out = self.features.of_trials(self.metric)
        out[~np.isfinite(self.values(np.ones((1, out.shape[1])))[0])] = np.nan
        if not self.block.chosen:
            return out
        return deviations(out, self.block.inclusion, self.block.shown(), self.generalize_to)

    def reasons(self) -> NDArray[np.object_]:
        """Return the reason why each value is undefined, or an empty string: (pair,)."""
        every = np.ones((1, self.block.correct.shape[1]))
        return self.features.apply(self.metric.reason, every)[0].astype(object)

    @property
    def generalize_to(self) -> Population:
        """Target population of images chosen by a plan."""
        return "pool" if self.block.generalize_to == "pool" else "images"

    def bias(self) -> Floats:
        """Second-order bias of estimates if images were chosen by a plan; otherwise 0."""
        block, metric = self.block, self.metric
        if not block.chosen or metric.counts != "correctness":
            return np.zeros(len(block.a))
        weights = block.scaled_weights() / np.maximum(block.shown().sum(axis=1, keepdims=True), 1)
        groups = [block.stratum == g for g in range(block.stratum.max(initial=-1) + 1)]
        if not groups or any(np.ptp(block.inclusion[own]) > EQUAL for own in groups):
            groups = [np.ones(len(block.inclusion), dtype=bool)]
        shares = block.shares()
        found = second_order_bias(
            metric.influence, shares, weights, block.inclusion, groups, self.generalize_to
        )
        if metric.caution is not None:
            # Near a kink there is no curvature to go by.
            n = block.shown().sum(axis=1)[:, None]
            found[metric.caution(n * np.einsum("pct,pt->pc", shares, weights)) != ""] = 0.0
        return found

    def tossed(self) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """Yield the influences of each human's pseudo-responses (`TOSSED`) on the human's pairs."""
        block, metric = self.block, self.metric
        if not block.chosen or metric.counts != "correctness":
            return
        shown = block.shown()
        n = np.maximum(shown.sum(axis=1, keepdims=True), 1)
        weights = block.scaled_weights() / n
        psi = np.nan_to_num(metric.influence(np.einsum("pct,pt->pc", block.shares(), weights)))
        weights *= spread_of_images(block.inclusion, shown, self.generalize_to) * np.sqrt(
            TOSSED / n
        )
        n11, n10, n01, n00 = psi.T[:, :, None]
        for who in np.flatnonzero(block.asked):
            rows = np.flatnonzero((block.a == who) | (block.b == who))
            first = (block.a[rows] == who)[:, None]
            other = block.correct[np.where(first[:, 0], block.b[rows], block.a[rows])]
            right = np.where(first, n11[rows] - n01[rows], n11[rows] - n10[rows])
            wrong = np.where(first, n10[rows] - n00[rows], n01[rows] - n00[rows])
            # A coin flip is half of the difference away from its mean.
            yield rows, weights[rows] * np.where(other == 1, right, wrong) / 2


def evaluator(block: Block, metric: Metric) -> Evaluator:
    """Prepare a metric for a block of trials."""
    if block.chosen and metric.counts not in ("correctness", "labels", "trials"):
        raise ValueError(
            f"these images were chosen by a plan, but {metric.name} has no weights"
            f"{SPARSE if metric.counts == 'rows' else ' yet'}; use "
            "error consistency, misclassification agreement or a custom metric of "
            "correctness, or a plan of all images"
        )
    weight = 1 / block.inclusion if block.chosen else None
    return Evaluator(block, metric, features(block, metric, weight))


def agreement_of_distinct(block: Block, metric: Metric) -> Floats:
    """Compute agreement on labels, with chance agreement over pairs of different joint errors."""
    assert metric.distinct is not None
    n_pairs, k = len(block.a), block.n_classes
    weight = 1 / block.inclusion if block.chosen else None
    statistics = label_features(block, weight).sums(np.ones((1, block.correct.shape[1])))[0]
    pair, trial, first, second, share = joint_errors_of(block)
    share = share if weight is None else share * weight[trial]
    # What products of margins pair of one item with itself: also answers to repeated items.
    item, of = np.unique(pair * block.correct.shape[1] + trial, return_inverse=True)
    home = np.zeros(len(item), np.intp)
    home[of] = pair
    shape = (len(item), k)
    label_a, label_b = (sparse.csr_array((share, (of, side)), shape) for side in (first, second))
    equal, all_ = label_a.multiply(label_b).sum(axis=1), label_a.sum(axis=1)
    own = np.stack([np.bincount(home, part, n_pairs) for part in (equal, all_**2)], axis=1)
    return metric.distinct(statistics, own)
