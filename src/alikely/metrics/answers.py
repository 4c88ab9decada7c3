"""Features of a metric's own, from the answers of pairs of observers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats

__all__ = ["Answers", "all_own_influences", "all_own_pairs", "pair_features"]

# Numbers of features held at a time.
CHUNK = 20_000_000
LEFT_OUT = -1


class Answers(NamedTuple):
    """Answers to the trials of a block, pair by pair: what features of your own are made of.

    Attributes
    ----------
    correct_a, correct_b : ndarray of bool, shape (pair, trial)
        Whether each observer is right. Trials that a pair does not share are left out later.
    response_a, response_b : ndarray of int, shape (pair, trial), or None
        Codes of the classes that they named, -1 for none; None in a table without classes.
    truth : ndarray of int, shape (pair, trial), or None
        Codes of the true classes.
    """

    correct_a: NDArray[np.bool_]
    correct_b: NDArray[np.bool_]
    response_a: NDArray[Any] | None = None
    response_b: NDArray[Any] | None = None
    truth: NDArray[Any] | None = None


class _Own(Protocol):
    """A metric, as far as it is needed here."""

    @property
    def name(self) -> str: ...
    @property
    def features(self) -> Any: ...
    @property
    def value(self) -> Callable[..., Any]: ...
    def derivative(self, sums: Any) -> Any: ...


def pair_features(
    metric: _Own,
    correct: NDArray[Any],
    response: NDArray[Any] | None,
    truth: NDArray[Any] | None,
    a: NDArray[np.intp],
    b: NDArray[np.intp],
) -> Floats:
    """Features of pairs (pair, feature, trial), 0 where an observer has no answer."""
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


def all_own_pairs(metric: _Own, answers: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Estimates and standard errors of all pairs of observers, as squares."""
    n = len(answers["correct"])
    estimate, se = np.full((2, n, n), np.nan)
    for i, j, each in _features(metric, answers, *np.indices((n, n)).reshape(2, -1)):
        value, slopes = _influence(metric, each)
        estimate[i, j] = value
        se[i, j] = np.where(np.isfinite(value), np.sqrt((slopes**2).sum(axis=1)), np.nan)
    return {"estimate": estimate, "se": se, "why": (~np.isfinite(estimate)).astype(np.int8)}


def all_own_influences(metric: _Own, answers: Mapping[str, Any], weights: Floats) -> Floats:
    """Influence of each trial on weighted sums of entries: (sum, trial)."""
    out = np.zeros((len(weights), np.shape(answers["correct"])[1]))
    for i, j, each in _features(metric, answers, *np.nonzero((weights != 0).any(axis=0))):
        out += weights[:, i, j] @ _influence(metric, each)[1]
    return out


def _influence(metric: _Own, each: Floats) -> tuple[Floats, Floats]:
    """Values of pairs, and the influence of each trial on them."""
    sums = each.sum(axis=2)
    slopes = np.einsum("pk,pkt->pt", np.where(sums != 0, metric.derivative(sums), 0.0), each)
    return np.asarray(metric.value(sums)), slopes


def _features(
    metric: _Own, answers: Mapping[str, Any], i: NDArray[np.intp], j: NDArray[np.intp]
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
