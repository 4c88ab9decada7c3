"""Metrics of weighted trials, for resampling, exact draws and influence functions.

A metric is a function of sums of features over trials. A block of trials is prepared once. It then
gives values and influences of all its pairs for any weights of the trials.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.data.blocks import Block
from alikely.inference.features import Features, features, joint_errors_of, label_features
from alikely.inference.weighting import (
    TOSSED,
    Population,
    deviations,
    second_order_bias,
    spread_of_images,
)
from alikely.metrics import Metric

# Why errors by class have no weights: measured on the pools of `docs/validation`.
SPARSE = ", since of 80 chosen images a person errs on 18, about one for each row of 16 classes"
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
        """Memory of a set of weights, in numbers."""
        return self.features.width

    def values(self, weights: NDArray[np.floating]) -> NDArray[np.floating]:
        """Evaluate the metric at weights of the trials: (draw, trial) to (draw, pair)."""
        return self.features.apply(self.metric.value, weights)

    def slopes(self) -> Floats:
        """Influence of each trial divided by their number; NaN where undefined: (pair, trial).

        For images of a plan, deviations whose squares sum to the design variance.
        """
        out = self.features.of_trials(self.metric)
        out[~np.isfinite(self.values(np.ones((1, out.shape[1])))[0])] = np.nan
        if not self.block.chosen:
            return out
        return deviations(out, self.block.inclusion, self.block.shown(), self.generalize_to)

    def reasons(self) -> NDArray[np.object_]:
        """Why values are undefined, empty where they are not: (pair,)."""
        every = np.ones((1, self.block.correct.shape[1]))
        return self.features.apply(self.metric.reason, every)[0].astype(object)

    @property
    def generalize_to(self) -> Population:
        """Target population of images chosen by a plan."""
        return "pool" if self.block.generalize_to == "pool" else "images"

    def bias(self) -> Floats:
        """Bias for images of a plan, by the curvature of the metric; else 0."""
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
        """Influences of pseudo-responses of each human on their pairs; see `TOSSED`."""
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
    """Values of a metric of labels over pairs of different joint errors, by its `distinct`."""
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
