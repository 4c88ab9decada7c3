"""How reliable a group's item difficulties are: split halves, repeats, and correction for noise.

References
----------
.. [C51] Cronbach (1951). Coefficient alpha and the internal structure of tests.
   doi:10.1007/BF02310555
.. [F21] Fisher (1921). On the "probable error" of a coefficient of correlation deduced from a small
   sample. Metron 1, 3-32.
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.intervals import bound_names, check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.ranges import within
from alikely._base.settings import resolve
from alikely.margins.incomplete import (
    Incomplete,
    incomplete_alpha,
    incomplete_deviations,
    incomplete_splits,
)
from alikely.metrics.alternatives import empirical_d_prime
from alikely.metrics.margins import FEWEST_ITEMS, margin_consistency
from alikely.metrics.reliability import spearman_brown

__all__ = [
    "Reliability",
    "disattenuation",
    "spearman_brown",
    "split_half_reliability",
]

ALL_SPLITS = 2_000


class Reliability(NamedTuple):
    """Reliability of a group's mean accuracies of items."""

    split_half: float
    reliability: float
    lower: float
    upper: float
    n_observers: int
    n_items: int
    n_splits: int
    every_split: bool
    as_published: tuple[float, float]
    of_lists: tuple[float, ...]


def split_half_reliability(
    correct: ArrayLike,
    shown: ArrayLike | None = None,
    *,
    n_splits: int = ALL_SPLITS,
    n_resamples: int = 2_000,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Reliability:
    """Reliability of the shares of correct answers of a group, from splits of its members.

    Parameters
    ----------
    correct : array_like, shape (observer, item)
        1 right, 0 wrong, or the share of right answers of an observer over repeats; NaN where
        there is no answer.
    shown : array_like of int, shape (observer, item), optional
        Answers behind each share, 0 where there is none; alike if not given.
    n_splits : int
        All splits into halves are taken if there are no more, else so many at random; of an
        incomplete table always so many at random.
    n_resamples : int
        Bootstrap replicates of participants and items for the interval.
    ci_prob : float
        In (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Reliability

    Raises
    ------
    ValueError
        If there are fewer than 2 observers, or fewer than 5 items, or items that two observers
        answered; an observer or an item has no answer; all items are equally hard for every half;
        or a number is out of range.

    Notes
    -----
    A participant drawn twice would sit in both halves and agree with itself. The bootstrap
    therefore resamples coefficient alpha [C51]_, the mean over all splits in terms of covariances
    between different participants, on Fisher's z scale [F21]_ about its estimate, and puts these
    deviations around the reliability.

    Where not all answered all items alike (lists that different people saw, missing answers, some
    items repeated), answers weigh alike, levels of observers are taken off by least squares, and
    items are compared within lists: the reliability is that of deviations from the lists' means.
    Halves are of the observers of each list. People and items of each list are resampled.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ease = rng.normal(size=200)
    >>> correct = ease + rng.normal(size=(10, 200)) > 0
    >>> round(split_half_reliability(correct, rng=2).reliability, 2)
    0.8
    """
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    if n_splits < 1 or n_resamples < 2:
        raise ValueError(
            f"n_splits must be at least 1 and n_resamples at least 2, got {n_splits} and "
            f"{n_resamples}"
        )
    x, n = _answers_given(correct, shown)
    generators = [np.random.default_rng(seed) for seed in seed_sequence(rng).spawn(2)]
    if (n == n[0, 0]).all():
        r, every = _half_correlations(x, n_splits, generators[0])
        deviations = _alpha_deviations(x, n_resamples, generators[1])
        ones = np.ones(len(x)), np.ones(x.shape[1])
        estimate = np.nan
        of_lists: tuple[float, ...] = (_alpha(x, *ones),)
    else:
        found = incomplete_alpha(x, n)
        r, every = incomplete_splits(found, n_splits, generators[0])
        deviations = _incomplete_z(found, n_resamples, generators[1])
        estimate, of_lists = found.alpha, found.of_lists
    r = r[np.isfinite(r)]
    if not len(r):
        raise ValueError("all items are equally hard for one half of every split: no reliability")
    stepped = spearman_brown(r)
    half_width = (
        stats.t.ppf((1 + ci_prob) / 2, len(r) - 1) * stepped.std(ddof=1) / np.sqrt(len(r))
        if len(r) > 1
        else np.nan
    )
    middle = float(stepped.mean())
    estimate = middle if np.isnan(estimate) else estimate
    tails = np.nanquantile(deviations, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    lower, upper = np.tanh(_z(estimate) + tails)
    return Reliability(
        float(r.mean()),
        estimate,
        float(lower),
        float(upper),
        len(x),
        x.shape[1],
        len(r),
        every,
        (middle - half_width, middle + half_width),
        of_lists,
    )


def _half_correlations(
    x: Floats, n_splits: int, generator: np.random.Generator
) -> tuple[Floats, bool]:
    """Correlations of the shares of two halves of a complete table; whether of all splits."""
    halves, every = _splits(len(x), n_splits, generator)
    sizes = halves.sum(axis=1, keepdims=True)
    first = halves @ x / sizes
    second = (1 - halves) @ x / (len(x) - sizes)
    return margin_consistency(first, second), every


def _incomplete_z(found: Incomplete, n_resamples: int, generator: np.random.Generator) -> Floats:
    drawn, of_data = incomplete_deviations(found, n_resamples, generator)
    return np.array([_z(value) for value in drawn]) - _z(of_data)


def _answers_given(correct: ArrayLike, shown: ArrayLike | None) -> tuple[Floats, Floats]:
    """Answers and their numbers; refuses what is too little."""
    x = np.asarray(correct, dtype=np.float64)
    if shown is None and not np.isnan(x).any():
        x = _answers(x)
        return x, np.ones_like(x)
    n = np.where(np.isnan(x), 0.0, 1.0) if shown is None else np.asarray(shown, dtype=np.float64)
    if n.shape != x.shape:
        raise ValueError(f"shown must have the shape of correct, {x.shape}, got {n.shape}")
    if not (np.isfinite(n) & (n >= 0) & (n == np.round(n))).all():
        raise ValueError("shown must be whole numbers of answers, 0 where there is none")
    if (lacking := np.isnan(x) & (n > 0)).any():
        observer, item = np.argwhere(lacking)[0]
        raise ValueError(
            f"observer {observer} has {n[observer, item]:g} answers to item {item} but no share "
            "of right ones; give one, or 0 answers"
        )
    x = _answers(np.where(n > 0, x, 0))
    for axis, name in ((1, "observer"), (0, "item")):
        if (silent := ~(n > 0).any(axis=axis)).any():
            raise ValueError(f"{name} {int(np.argmax(silent))} has no answer; leave it out")
    return x, n


def _answers(correct: ArrayLike) -> Floats:
    x = np.asarray(correct, dtype=np.float64)
    if x.ndim != 2 or len(x) < 2:
        raise ValueError(
            f"correct must be of at least 2 observers, shape (observer, item), got {x.shape}"
        )
    if x.shape[1] < FEWEST_ITEMS:
        raise ValueError(f"a reliability needs at least {FEWEST_ITEMS} items, got {x.shape[1]}")
    if np.isnan(x).any():
        observer, item = np.argwhere(np.isnan(x))[0]
        raise ValueError(
            f"observer {observer} has no answer to item {item}; leave the item out, or count a "
            "missing response as an error"
        )
    return x


def _splits(n: int, most: int, generator: np.random.Generator) -> tuple[Floats, bool]:
    """Indicator of the first half, shape (split, observer); whether these are all."""
    size = n // 2
    # With an even number each split would come twice, once from either half.
    number = math.comb(n, size) // (2 if n % 2 == 0 else 1)
    if number <= most:
        members = list(itertools.islice(itertools.combinations(range(n), size), number))
        out = np.zeros((number, n))
        for row, chosen in zip(out, members, strict=True):
            row[list(chosen)] = 1
        return out, True
    order = np.argsort(generator.random((most, n)), axis=1)
    return (order < size).astype(np.float64), False


def _alpha_deviations(x: Floats, n_resamples: int, generator: np.random.Generator) -> Floats:
    """Fisher's z of coefficient alpha less that of the data, with participants and items anew."""
    n, n_items = x.shape
    people = generator.multinomial(n, np.full(n, 1 / n), n_resamples)
    items = generator.multinomial(n_items, np.full(n_items, 1 / n_items), n_resamples)
    out = np.empty(n_resamples)
    for k in range(n_resamples):
        out[k] = _z(_alpha(x, people[k], items[k]))
    return out - _z(_alpha(x, np.ones(n), np.ones(n_items)))


def _alpha(x: Floats, people: NDArray[np.number], items: NDArray[np.number]) -> float:
    """Coefficient alpha; a participant drawn twice is no pair with itself."""
    share = items / items.sum()
    centred = x - (x @ share)[:, None]
    covariance = (centred * share) @ centred.T
    pairs = np.outer(people, people).astype(np.float64)
    np.fill_diagonal(pairs, 0)
    if not pairs.any():
        return np.nan
    between = (pairs * covariance).sum() / pairs.sum()
    own = people @ np.diag(covariance) / people.sum()
    total = own + (len(x) - 1) * between
    # Items that were drawn may all be alike.
    return float(within(len(x) * between / total, -np.inf)) if total else np.nan


def _z(r: float) -> float:
    return float(np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)))


def disattenuation(
    margins: ArrayLike,
    correct: ArrayLike,
    *,
    m: int,
    n_resamples: int = 2_000,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Correlation of a machine's margins with a group's item difficulties, freed of noise.

    Shares of right answers of few observers are noisy, and a noisy index correlates less. Dividing
    by the root of its reliability [S04]_ gives what an endless group would show, if observers are
    alike but for noise.

    Parameters
    ----------
    margins : array_like, shape (item,)
        Decision margins of a machine.
    correct : array_like, shape (observer, item)
        As in `split_half_reliability`.
    m : int
        Number of alternatives, for the scale of item strengths.
    n_resamples : int
        Bootstrap replicates of participants and items.
    ci_prob : float
        In (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        Rows ``naive`` and ``corrected``, each with shares of right answers and with item strengths
        (``scale`` is ``"share"`` or ``"strength"``): ``estimate`` and an interval for new people
        and items. Corrected values above 1 are kept. ``n_edge`` counts items that all or none of
        the group got right, whose strength rests on half an answer.

    Raises
    ------
    ValueError
        If there is not one finite margin for each item, they are constant, or as in
        `split_half_reliability`.

    Notes
    -----
    The intervals are those of deviations of the replicates from their own median, on Fisher's z
    scale for naive values; resampled people agree with their duplicates, which would shift the
    replicates themselves.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ease = rng.normal(size=300)
    >>> correct = ease + rng.normal(size=(8, 300)) > 0
    >>> table = disattenuation(ease + rng.normal(size=300), correct, m=2, rng=2)
    >>> table["estimate"].round(1).tolist()
    [0.6, 0.7, 0.6, 0.7]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    x, y = _answers(correct), np.asarray(margins, dtype=np.float64)
    if y.shape != (x.shape[1],) or not np.isfinite(y).all() or np.ptp(y) == 0:
        raise ValueError(
            f"margins must be {x.shape[1]} finite numbers, not all the same; got shape {y.shape}"
        )
    generator = np.random.default_rng(seed_sequence(rng))
    n, n_items = x.shape
    people = generator.multinomial(n, np.full(n, 1 / n), n_resamples)
    items = generator.multinomial(n_items, np.full(n_items, 1 / n_items), n_resamples)
    # The data first, then the replicates.
    people = np.concatenate([np.ones((1, n), dtype=people.dtype), people])
    items = np.concatenate([np.ones((1, n_items), dtype=items.dtype), items])
    right = people @ x
    # Few different numbers of right answers, each inverted once.
    kinds, kind = np.unique(right, return_inverse=True)
    strength, edge = empirical_d_prime(kinds, n, m)
    indices = {"share": right / n, "strength": strength[kind].reshape(right.shape)}
    n_edge = int(edge[kind].reshape(right.shape)[0].sum())
    alpha = [_alpha(x, p, w) for p, w in zip(people, items, strict=True)]
    rows = []
    for scale, index in indices.items():
        naive = np.array([_correlation(y, i, w) for i, w in zip(index, items, strict=True)])
        positive = np.array(alpha) > 0
        corrected = naive / np.sqrt(np.where(positive, alpha, np.nan))
        for name, drawn in (("naive", naive), ("corrected", corrected)):
            forth, back = (_z, np.tanh) if name == "naive" else (float, float)
            values = np.array([forth(v) for v in drawn[1:] if np.isfinite(v)])
            tails = np.quantile(values - np.median(values), [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
            low, high = (float(back(forth(drawn[0]) + t)) for t in tails)
            rows.append((name, scale, drawn[0], low, high, n_edge))
    names = ["value", "scale", "estimate", *bound_names("", "ci", ci_prob), "n_edge"]
    return pd.DataFrame(rows, columns=names)


def _correlation(margins: Floats, index: Floats, items: NDArray[np.number]) -> float:
    """Correlation over weighted items; NaN where one side is constant."""
    share = items / items.sum()
    a, b = margins - share @ margins, index - share @ index
    spread = (share @ a**2) * (share @ b**2)
    return float(within(share @ (a * b) / np.sqrt(spread), -1)) if spread > 0 else np.nan
