"""Sums of features of all pairs of observers, and influences of trials, by matrix products.

A feature of a pair is a sum of products of one term per observer and trial, and so is the product
of two features. Sums of such products over trials are matrix products.

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

# Names of the terms of both observers, and the power of the trial's factor.
type Names = tuple[Any, ...]
type Term = tuple[Names, Names, int]
# Sums of squares below this fraction of their parts are rounding error.
NOTHING_LEFT = 1e-12
# Most responses in memory, as numbers: 64 MB.
SLICE = 8_000_000


class Given(NamedTuple):
    """Terms of observers by name, for some trials; 0 for missing responses."""

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
