"""Agreement of wrong labels of all pairs of many observers, by matrix products.

References
----------
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.metrics.cells import divide

__all__ = ["LabelMatrices", "all_label_influences", "all_label_pairs", "label_matrices"]


class LabelMatrices(NamedTuple):
    """Misclassification agreement of all pairs, the first observer by row."""

    estimate: Floats
    se: Floats
    n_joint_errors: NDArray[np.int64]


def label_matrices(response: NDArray[Any], truth: NDArray[Any]) -> LabelMatrices:
    """Misclassification agreement of all pairs: Cohen's kappa of the labels of joint errors."""
    wrong = (response >= 0) & (response != truth)
    labels = [k for k in np.unique(response).tolist() if k >= 0]
    masks = {k: wrong & (response == k) for k in labels}
    everyone = wrong.astype(np.float32)
    joint = _product(everyone, everyone)
    # Joint errors that the row's observer calls k, by label; transposed, those of the column's.
    own = {k: _product(masks[k].astype(np.float32), everyone) for k in labels}
    share = {k: divide(own[k], joint) for k in labels}
    expected = sum((share[k] * share[k].T for k in labels), np.zeros_like(joint))
    same = np.zeros_like(joint)
    # What an error adds is 1 where labels agree, less `rest` times what its labels have in common
    # with the other's: sums of these, of their squares and their products, over joint errors.
    agreeing, crossed = np.zeros_like(joint), np.zeros_like(joint)
    for at, k in enumerate(labels):
        of_k = masks[k].astype(np.float32)
        both = _product(of_k, of_k)
        same += both
        agreeing += both * (share[k] + share[k].T)
        crossed += both * share[k].T * share[k]
        for m in labels[at + 1 :]:
            # The other way round it is the same count with observers exchanged.
            both = _product(of_k, masks[m].astype(np.float32))
            crossed += both * share[k].T * share[m] + both.T * share[m].T * share[k]
    observed = divide(same, joint)
    estimate = divide(observed - expected, np.where(joint > 0, 1 - expected, 0.0))
    rest = 1 - estimate
    constant = observed - 2 * rest * expected
    linear = 2 * joint * expected
    squares = sum(
        (own[k] * share[k].T ** 2 + own[k].T * share[k] ** 2 for k in labels), np.zeros_like(joint)
    )
    total = same * (1 - 2 * constant) + joint * constant**2 - 2 * rest * agreeing
    total += 2 * constant * rest * linear + rest**2 * (squares + 2 * crossed)
    variance = divide(np.maximum(total, 0.0), (joint * (1 - expected)) ** 2)
    se = np.where(np.isfinite(estimate), np.sqrt(variance), np.nan)
    return LabelMatrices(estimate, se, joint.astype(np.int64))


def all_label_pairs(answers: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
    """The same from ``response`` and ``truth``, as registries of metrics want it."""
    found = label_matrices(np.asarray(answers["response"]), np.asarray(answers["truth"]))
    why = np.where(np.isfinite(found.estimate), 0, np.where(found.n_joint_errors > 0, 2, 1))
    return found._asdict() | {"why": why.astype(np.int8)}


def all_label_influences(answers: Mapping[str, Any], weights: Floats) -> Floats:
    """Influence of every trial on weighted sums of entries of `label_matrices`."""
    response, truth = np.asarray(answers["response"]), np.asarray(answers["truth"])
    wrong = (response >= 0) & (response != truth)
    labels = [k for k in np.unique(response).tolist() if k >= 0]
    masks = {k: (wrong & (response == k)).astype(np.float32) for k in labels}
    everyone = wrong.astype(np.float32)
    joint = _product(everyone, everyone)
    share = {k: divide(_product(masks[k], everyone), joint) for k in labels}
    expected = sum((share[k] * share[k].T for k in labels), np.zeros_like(joint))
    observed = divide(sum(_product(masks[k], masks[k]) for k in labels), joint)
    rest = divide(1 - observed, 1 - expected)
    rest, expected, observed = (np.nan_to_num(part) for part in (rest, expected, observed))
    out = []
    for square in weights:
        scaled = np.where(square != 0, divide(square, joint * (1 - expected)), 0.0)
        psi = _form(everyone, scaled * (2 * rest * expected - observed), everyone)
        for k in labels:
            of_row, of_column = (np.nan_to_num(part) for part in (share[k], share[k].T))
            psi += _form(masks[k], scaled, masks[k])
            psi -= _form(masks[k], scaled * rest * of_column, everyone)
            psi -= _form(everyone, scaled * rest * of_row, masks[k])
        out.append(psi)
    return np.stack(out)


def _form(one: Any, weights: Floats, other: Any) -> Floats:
    """Sum over pairs of products of what both gave, weighted, for each trial."""
    return np.asarray(np.einsum("nq,nq->q", one, weights @ other))


def _product(one: NDArray[np.float32], other: NDArray[np.float32]) -> Floats:
    """Counts of trials that both have; whole numbers, exact up to 2**24 trials at a time."""
    step = 2**24
    out = np.zeros((len(one), len(other)))
    for start in range(0, one.shape[1], step):
        out += one[:, start : start + step] @ other[:, start : start + step].T
    return out
