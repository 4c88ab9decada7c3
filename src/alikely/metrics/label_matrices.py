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

__all__ = ["LabelMatrices", "all_label_pairs", "label_matrices"]


class LabelMatrices(NamedTuple):
    """Misclassification agreement of all pairs, the first observer by row.

    Attributes
    ----------
    estimate, se : ndarray, shape (observer, observer)
        Agreement in [-1, 1] and its standard error; NaN where undefined.
    n_joint_errors : ndarray of int, shape (observer, observer)
        Trials on which both are wrong.
    """

    estimate: Floats
    se: Floats
    n_joint_errors: NDArray[np.int64]


def label_matrices(response: NDArray[Any], truth: NDArray[Any]) -> LabelMatrices:
    """Misclassification agreement of all pairs: Cohen's kappa of the labels of joint errors.

    Products of the observers' errors of one label with those of another count joint errors; the
    standard error is the sum of squared influences [FCE69]_, expanded so that tables of labels are
    never held for all pairs at once.

    Parameters
    ----------
    response : ndarray of int, shape (observer, trial)
        Numbers of labels, negative where left out.
    truth : ndarray of int, shape (trial,)
        Numbers of the true labels.

    Returns
    -------
    LabelMatrices

    Examples
    --------
    >>> response = np.array([[1, 2, 1, 0, 2], [1, 2, 0, 0, 1], [2, 2, 1, 0, 1]])
    >>> label_matrices(response, np.array([0, 0, 2, 1, 0])).estimate.round(2)[0].tolist()
    [1.0, 0.41, 0.37]
    """
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
    return found._asdict()


def _product(one: NDArray[np.float32], other: NDArray[np.float32]) -> Floats:
    """Counts of trials that both have; whole numbers, exact up to 2**24 trials at a time."""
    step = 2**24
    out = np.zeros((len(one), len(other)))
    for start in range(0, one.shape[1], step):
        out += one[:, start : start + step] @ other[:, start : start + step].T
    return out
