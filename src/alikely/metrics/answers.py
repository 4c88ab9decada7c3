"""Metrics of labels and of custom features for all pairs of observers, by matrix products.

A feature of a pair is a sum of products of one term per observer and trial, and so is the product
of two features. Sums over trials of products of one term per observer are matrix products.

References
----------
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats

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


# Names of the terms of both observers, and the power of the trial's factor.
type Names = tuple[Any, ...]
type Term = tuple[Names, Names, int]
# Sums of squares below this fraction of their parts are rounding error.
NOTHING_LEFT = 1e-12
# Most responses in memory, as numbers: 64 MB.
SLICE = 8_000_000


class Given(NamedTuple):
    """Named terms of each observer for some trials; terms of missing responses are 0."""

    by: Mapping[Any, NDArray[Any]]  # (observer, trial) or (observer, trial, option)
    shown: NDArray[Any]
    factor: NDArray[Any]  # (trial,)


def _joint(given: Given, names: Names, power: int = 0) -> NDArray[Any]:
    """Product of two terms, for each option or each pair of options."""
    flat = [given.by[name] for name in names if given.by[name].ndim == 2]
    options = [given.by[name] for name in names if given.by[name].ndim == 3]
    if power:
        flat.append(given.factor**power)
    if not options:
        return math.prod(flat[1:], start=flat[0]) if names else math.prod(flat, start=given.shown)
    out = options[0]
    if len(options) == 2:
        rows, columns = np.triu_indices(out.shape[2])
        # Pairs of different options occur twice in a square.
        times = np.where(rows == columns, 1.0, np.sqrt(2.0))
        out = out[..., rows] * options[1][..., columns] * times
    if flat:
        out = out * math.prod(flat[1:], start=flat[0])[..., None]
    return out.reshape(len(out), -1)


def _product(given: Given, term: Term) -> Floats:
    """Sums over trials for all pairs (observer, observer)."""
    first, second, power = term
    equal = not np.ptp(given.factor)
    one = _joint(given, first, 0 if equal else power)
    other = one if first == second and (equal or not power) else _joint(given, second)
    out = (one @ other.T).astype(np.float64, copy=False)
    return out * given.factor[0] ** power if equal and power else out


def _turned(term: Term) -> Term:
    return term[1], term[0], term[2]


def _totals(given: Given | Iterable[Given], terms: Iterable[Term]) -> Iterator[tuple[Term, Floats]]:
    """Iterate over sums of terms."""
    if isinstance(given, Given):
        for term in terms:
            yield term, _product(given, term)
        return
    total: dict[Term, Floats] = {}
    for block in given:
        for term in terms:
            found = _product(block, term)
            total[term] = np.add(total[term], found, out=total[term]) if term in total else found
    yield from total.items()


def pair_sums(given: Given | Iterable[Given], features: Sequence[Sequence[Term]]) -> Floats:
    """Compute sums of features over trials: (feature, observer, observer)."""
    terms: list[Term] = []
    for term in itertools.chain(*features):
        if term not in terms and _turned(term) not in terms:
            terms.append(term)
    total = dict(_totals(given, terms))
    total |= {_turned(term): square.T for term, square in total.items()}
    return np.stack([np.sum([total[term] for term in feature], axis=0) for feature in features])


def squared_influences(
    given: Given | Iterable[Given],
    features: Sequence[Sequence[Term]],
    sums: Floats,
    slopes: Sequence[Any],
    joint: Callable[[Term, Term], Term | None],
) -> Floats:
    """Compute sums of squared influences [H74]_ of several values, given their slopes."""
    parts: dict[Term, list[tuple[int, int, bool]]] = {}
    for k, m in itertools.combinations_with_replacement(range(len(features)), 2):
        for one, other in itertools.product(features[k], features[m]):
            term = joint(one, other)
            if term is not None:
                known = _turned(term) in parts
                parts.setdefault(_turned(term) if known else term, []).append((k, m, known))
    moving = [[bool(np.any(part)) for part in own] for own in slopes]
    needed = {
        term: uses
        for term, uses in parts.items()
        if any(own[k] and own[m] for own in moving for k, m, _ in uses)
    }
    # Some sums are already known.
    single = {part[0]: square for part, square in zip(features, sums, strict=True) if not part[1:]}
    single |= {_turned(term): square.T for term, square in single.items()}
    found = [(term, single[term]) for term in needed if term in single]
    rest = _totals(given, [term for term in needed if term not in single])
    total, size = np.zeros((2, len(slopes), *sums.shape[1:]))
    part = np.empty(sums.shape[1:])
    for term, square in itertools.chain(found, rest):
        twice = 2 * square
        for at, (own, moved) in enumerate(zip(slopes, moving, strict=True)):
            for k, m, turned in needed[term]:
                if moved[k] and moved[m]:
                    np.multiply(own[k], own[m], out=part)
                    times = square if k == m else twice
                    part *= times.T if turned else times
                    total[at] += part
                    if k == m:
                        size[at] += part
    total[total < NOTHING_LEFT * size] = 0.0
    return total


def influences(
    blocks: Given | Iterable[Given], features: Sequence[Sequence[Term]], slopes: Sequence[Any]
) -> Floats:
    """Compute the influence of each trial on weighted sums of values: (sum, trial)."""
    out = []
    for given in [blocks] if isinstance(blocks, Given) else blocks:
        moved = np.zeros((len(slopes), given.shown.shape[1]))
        for psi, own in zip(moved, slopes, strict=True):
            for feature, square in zip(features, np.asarray(own), strict=True):
                for first, second, power in feature if square.any() else ():
                    one, other = _joint(given, first), _joint(given, second)
                    each = np.einsum("nq,nq->q", one, square @ other)
                    psi += each.reshape(len(psi), -1).sum(axis=1) * given.factor**power
        out.append(moved)
    return np.concatenate(out, axis=1)


def combined_influence(
    answers: NDArray[np.int8], first: NDArray[np.intp], second: NDArray[np.intp], slopes: Floats
) -> Floats:
    """Compute the influence of every trial on a weighted sum of correctness tables."""
    n = len(answers)
    by = [sparse.csr_array((column, (first, second)), shape=(n, n)) for column in slopes.T]
    out = np.zeros(answers.shape[1])
    step = max(1, SLICE // n)
    for start in range(0, answers.shape[1], step):
        part = answers[:, start : start + step]
        right, wrong = (part == 1).astype(np.float64), (part == 0).astype(np.float64)
        ends = itertools.product((right, wrong), repeat=2)
        moved = sum(one * (own @ other) for (one, other), own in zip(ends, by, strict=True))
        out[start : start + step] = np.sum(moved, axis=0)
    return out
