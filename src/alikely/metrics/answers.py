"""Metrics of labels and of custom features, for all pairs of observers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.metrics.pair_sums import Given, Term, influences, pair_sums, squared_influences

# Most numbers of features in memory.
CHUNK = 20_000_000
# Sums of labels whose values are computed at a time.
ROWS = 100_000
LEFT_OUT = -1


class Answers(NamedTuple):
    """Responses of pairs of observers to the trials of a block, for custom features.

    Attributes
    ----------
    correct_a, correct_b : ndarray of bool, shape (pair, trial)
        Whether each observer is correct. Trials that only one observer of a pair was shown are
        excluded later.
    response_a, response_b : ndarray of int, shape (pair, trial), or None
        Codes of the chosen classes, with -1 for no response. None if the table has no classes.
    truth : ndarray of int, shape (pair, trial), or None
        Codes of the true classes.
    """

    correct_a: NDArray[np.bool_]
    correct_b: NDArray[np.bool_]
    response_a: NDArray[Any] | None = None
    response_b: NDArray[Any] | None = None
    truth: NDArray[Any] | None = None


def pair_features(
    metric: Any,
    correct: NDArray[Any],
    response: NDArray[Any] | None,
    truth: NDArray[Any] | None,
    a: NDArray[np.intp],
    b: NDArray[np.intp],
) -> Floats:
    """Compute features of pairs (pair, feature, trial), 0 for missing responses."""
    shown = (correct[a] != LEFT_OUT) & (correct[b] != LEFT_OUT)
    answers = Answers(correct[a] == 1, correct[b] == 1)
    if response is not None and truth is not None:
        every = np.broadcast_to(truth, shown.shape)
        answers = answers._replace(response_a=response[a], response_b=response[b], truth=every)
    found = np.asarray(metric.features(answers), dtype=np.float64)
    if found.ndim != 3 or found.shape[:2] != shown.shape:
        raise ValueError(
            f"features of {metric.name} must be an array (pair, trial, feature) that begins with "
            f"the shape {shown.shape}, got {found.shape}; stack them on a last axis"
        )
    found = np.where(shown[..., None], found, 0.0)
    if not np.isfinite(found).all():
        raise ValueError(
            f"features of {metric.name} must be finite where both observers answered, got "
            f"{found[~np.isfinite(found)][0]}"
        )
    return found.transpose(0, 2, 1)


def all_own_pairs(metric: Any, answers: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Compute estimates and standard errors of all pairs, as square matrices."""
    n = len(answers["correct"])
    estimate, se = np.full((2, n, n), np.nan)
    for i, j, each in _features(metric, answers, *np.indices((n, n)).reshape(2, -1)):
        value, slopes = _influence(metric, each)
        estimate[i, j] = value
        se[i, j] = np.where(np.isfinite(value), np.sqrt((slopes**2).sum(axis=1)), np.nan)
    return {"estimate": estimate, "se": se, "why": (~np.isfinite(estimate)).astype(np.int8)}


def all_own_influences(metric: Any, answers: Mapping[str, Any], weights: Floats) -> Floats:
    """Compute the influence of each trial on weighted sums of entries: (sum, trial)."""
    out = np.zeros((len(weights), np.shape(answers["correct"])[1]))
    for i, j, each in _features(metric, answers, *np.nonzero((weights != 0).any(axis=0))):
        out += weights[:, i, j] @ _influence(metric, each)[1]
    return out


def _influence(metric: Any, each: Floats) -> tuple[Floats, Floats]:
    """Values of pairs, and the influence of each trial on them."""
    sums = each.sum(axis=2)
    slopes = np.einsum("pk,pkt->pt", np.where(sums != 0, metric.derivative(sums), 0.0), each)
    return np.asarray(metric.value(sums)), slopes


def _features(
    metric: Any, answers: Mapping[str, Any], i: NDArray[np.intp], j: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """Features of some pairs at a time."""
    correct = np.asarray(answers["correct"])
    response, truth = (
        None if answers.get(name) is None else np.asarray(answers[name])
        for name in ("response", "truth")
    )
    step = max(1, CHUNK // max(8 * correct.shape[1], 1))
    for start in range(0, len(i), step):
        a, b = i[start : start + step], j[start : start + step]
        yield a, b, pair_features(metric, correct, response, truth, a, b)


def all_label_pairs(metric: Any, answers: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Compute estimates and standard errors from labels of joint errors, as square matrices."""
    given, features = _given_labels(answers)
    sums = pair_sums(given, features)
    estimate, slopes = _of_labels(metric, sums)
    square = squared_influences(given, features, sums, [slopes], _joint_of_labels)[0]
    n_joint = sums[1 : 1 + len(features) // 2].sum(axis=0)
    why = np.where(np.isfinite(estimate), 0, np.where(n_joint > 0, 2, 1))
    return {
        "estimate": estimate,
        "se": np.where(np.isfinite(estimate), np.sqrt(square), np.nan),
        "n_joint_errors": n_joint.astype(np.int64),
        "why": why.astype(np.int8),
    }


def all_label_influences(metric: Any, answers: Mapping[str, Any], weights: Floats) -> Floats:
    """Compute the influence of each trial on weighted sums of entries: (sum, trial)."""
    given, features = _given_labels(answers)
    slopes = np.nan_to_num(_of_labels(metric, pair_sums(given, features))[1], copy=False)
    return influences(given, features, [square * slopes for square in weights])


def _given_labels(answers: Mapping[str, Any]) -> tuple[Given, list[list[Term]]]:
    """Incorrect responses by label, and label statistics of joint errors as products of these."""
    response, truth = np.asarray(answers["response"]), np.asarray(answers["truth"])
    wrong = (response >= 0) & (response != truth)
    labels = np.unique(response[wrong]).tolist()
    # Counts are integers, which are exact in single precision.
    by = {k: (wrong & (response == k)).astype(np.float32) for k in labels}
    same: list[Term] = [((k,), (k,), 0) for k in labels]
    first: list[list[Term]] = [[((k,), (), 0)] for k in labels]
    second: list[list[Term]] = [[((), (k,), 0)] for k in labels]
    given = Given(by, wrong.astype(np.float32), np.ones(len(truth)))
    return given, [same, *first, *second]


def _joint_of_labels(one: Term, other: Term) -> Term | None:
    """Product of two terms; an error has one label."""
    first, second = {*one[0], *other[0]}, {*one[1], *other[1]}
    return (tuple(first), tuple(second), 0) if max(len(first), len(second)) < 2 else None


def _of_labels(metric: Any, sums: Floats) -> tuple[Floats, Floats]:
    """Values of all pairs, and their slopes by each sum: (sum, observer, observer)."""
    values, slopes = np.empty(sums.shape[1:]), np.empty(sums.shape)
    step = max(1, ROWS // sums[:, 0].size)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        own = np.ascontiguousarray(np.moveaxis(sums[:, rows], 0, -1))
        values[rows] = metric.value(own)
        by_sum = np.where(own != 0, metric.derivative(own), 0.0)
        slopes[:, rows] = np.moveaxis(by_sum, -1, 0)
    return values, slopes
