"""Reliability of groups, self-consistency of observers, and variance components of responses.

References
----------
.. [C51] Cronbach (1951). Coefficient alpha and the internal structure of tests.
   doi:10.1007/BF02310555
.. [F21] Fisher (1921). On the "probable error" of a coefficient of correlation deduced from a small
   sample. Metron 1, 3-32.
.. [GMS96] Gelman, Meng, Stern (1996). Posterior predictive assessment of model fitness via realized
   discrepancies. Statistica Sinica 6, 733-760.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely._base.checks import known_kind, of_type
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.blocks import LEFT_OUT
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import presented
from alikely.data.tables import correctness
from alikely.data.trials import Trials
from alikely.inference.chains import labeled, nuts, with_constants
from alikely.inference.intervals import interval, mean_of_defined
from alikely.margins.moments import group_side, lists_of_items
from alikely.margins.tables import alternatives_of
from alikely.metrics.consistency import error_consistency
from alikely.metrics.margins import FEWEST_ITEMS, m_afc_probability
from alikely.metrics.margins import spearman_brown as spearman_brown

if TYPE_CHECKING:
    from alikely.models._arguments import AskedModel
    from alikely.models._priors import Priors

ALL_SPLITS = 2_000
# Smaller variances are rounding error.
NOTHING = 1e-12
# Most numbers in memory, replicates times items.
CHUNK = 2_000_000


class Reliability(NamedTuple):
    """Reliability of a group's mean accuracy on each item."""

    split_half: float
    reliability: float
    lower: float
    upper: float
    n_observers: int
    n_items: int
    n_splits: int
    every_split: bool


def split_half_reliability(
    correct: ArrayLike,
    shown: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    n_splits: int = ALL_SPLITS,
    n_resamples: int = 2_000,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Reliability:
    """Estimate the split-half reliability of a group's proportions correct.

    Parameters
    ----------
    correct : array_like, shape (observer, item)
        1 for a correct response, 0 for an incorrect response, or an observer's proportion correct
        over repeats; NaN if there is no response.
    shown : array_like of int, shape (observer, item), optional
        Number of responses on which each proportion is based, or 0 if there are none. Default:
        equal numbers.
    clusters : array_like, shape (item,), optional
        Cluster of each item, such as its template. The bootstrap resamples clusters. Default: each
        item is a separate cluster.
    n_splits : int
        Maximum number of splits into halves. If more than `n_splits` splits are possible, or the
        table is incomplete, `n_splits` random splits are used; otherwise, all possible splits are
        used.
    n_resamples : int
        Number of bootstrap replicates for the interval. Participants and items are resampled.
    ci_prob : float
        Probability level of the interval, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Reliability
        Split-half reliability with its interval.

    Raises
    ------
    TypeError
        If `correct` is not an array of numbers.
    ValueError
        If there are fewer than 2 observers, if fewer than 5 items have responses from at least two
        observers, or if an observer or an item has no response.
    ValueError
        If all items are equally difficult, either for all observers together or, in every split,
        for one half of the observers. If a number is out of range.

    Notes
    -----
    A participant who is resampled twice could be in both halves, which would inflate the agreement
    between halves. The bootstrap therefore uses coefficient alpha [C51]_, a mean over all splits
    that depends only on covariances between different participants. To obtain the interval, the
    difference between each replicate's alpha and the observed alpha is added to the estimated
    split-half reliability, on Fisher's z scale [F21]_.

    Tables are incomplete if participants saw different lists of items, responses are missing, or
    only some items are repeated. In incomplete tables, responses have equal weights, and
    differences between participants' means are removed by least squares. For incomplete tables, a
    single reliability is estimated for all items. The reliability is for deviations from the mean
    proportion correct of those items that are connected by common participants. Participants with
    the same list of items are split into halves, and participants and items are resampled within
    lists.

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
    of_item = np.arange(x.shape[1])
    if clusters is not None:
        of_item = np.unique(clusters, return_inverse=True)[1]
    if of_item.shape != (x.shape[1],):
        raise ValueError(
            f"clusters must be one for each of the {x.shape[1]} items, got shape {of_item.shape}"
        )
    generators = [np.random.default_rng(seed) for seed in seed_sequence(rng).spawn(2)]
    complete = bool((n == n[0, 0]).all())
    lists = lists_of_items(n)
    if not complete:
        x, estimate = _without_levels(x, n, lists)
    elif not np.ptp(x.sum(axis=0)) > NOTHING:
        raise ValueError("all items are equally hard: no reliability")
    kinds = (lists == np.arange(lists.max() + 1)[:, None]).astype(np.float64)
    # An observer has one list; otherwise lists would be connected.
    of_observer = (n @ kinds.T).argmax(axis=1)
    halves, every = _splits(of_observer, n_splits, generators[0], complete)
    r = _half_correlations(x, n, kinds, halves)
    r = r[np.isfinite(r)]
    if not len(r):
        raise ValueError("all items are equally hard for one half of every split: no reliability")
    people, items = np.ones((n_resamples + 1, len(x))), np.ones((n_resamples + 1, x.shape[1]))
    for k, kind in enumerate(kinds):
        for counts, own, unit in (
            (people, of_observer == k, np.arange(len(x))),
            (items, kind > 0, of_item),
        ):
            units, at = np.unique(unit[own], return_inverse=True)
            shares = np.full(len(units), 1 / len(units))
            counts[1:, own] = generators[1].multinomial(len(units), shares, n_resamples)[:, at]
    step = max(1, CHUNK // x.shape[1])
    alpha = np.concatenate([
        _alpha(x, n, kinds, people[i : i + step], items[i : i + step])
        for i in range(0, len(people), step)
    ])  # fmt: skip
    if complete:
        estimate = float(spearman_brown(r).mean())
    z = np.arctanh(np.clip([estimate, *alpha], -1 + 1e-9, 1 - 1e-9))
    tails = np.nanquantile(z[2:] - z[1], [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    lower, upper = np.tanh(z[0] + tails).tolist()
    return Reliability(float(r.mean()), estimate, lower, upper, len(x), x.shape[1], len(r), every)


def _answers_given(correct: ArrayLike, shown: ArrayLike | None) -> tuple[Floats, Floats]:
    """Responses and their numbers; checks that there are enough."""
    try:
        x = np.asarray(correct, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"correct must be an array of numbers, shape (observer, item), got "
            f"{type(correct).__name__}; for Trials, give trials.data['correct'] with NaN for codes "
            "below 0"
        ) from None
    n = (~np.isnan(x) if shown is None else np.asarray(shown)).astype(np.float64)
    if x.ndim != 2 or len(x) < 2 or n.shape != x.shape:
        raise ValueError(
            "correct and shown must have the same shape (observer, item), with at least 2 "
            f"observers; got {x.shape} and {n.shape}"
        )
    if x.shape[1] < FEWEST_ITEMS:
        raise ValueError(f"a reliability needs at least {FEWEST_ITEMS} items, got {x.shape[1]}")
    if not (np.isfinite(n) & (n >= 0) & (n == np.round(n))).all():
        raise ValueError("shown must be whole numbers of responses, 0 if there is none")
    if (lacking := np.isnan(x) & (n > 0)).any():
        observer, item = np.argwhere(lacking)[0]
        raise ValueError(
            f"observer {observer} has {n[observer, item]:g} responses to item {item}, but their "
            "proportion correct is NaN; give the proportion, or set shown to 0"
        )
    for axis, name in ((1, "observer"), (0, "item")):
        if (silent := ~n.any(axis=axis)).any():
            raise ValueError(f"{name} {int(np.argmax(silent))} has no response; leave it out")
    return np.where(n > 0, x, 0), n


def _without_levels(x: Floats, n: Floats, lists: NDArray[np.intp]) -> tuple[Floats, float]:
    """Responses minus levels of observers and list means, and alpha."""
    side = group_side(x * n, n, lists)
    if (by_two := np.isfinite(side.square).sum()) < FEWEST_ITEMS:
        raise ValueError(
            f"a reliability needs at least {FEWEST_ITEMS} items that two observers answered, got "
            f"{by_two}"
        )
    total = float((side.ease**2).mean())
    if not total > NOTHING**2:
        raise ValueError("all items are equally hard: no reliability")
    alpha = float(within(np.nanmean(side.square) / total, -np.inf))
    return _ratio(side.cells, side.weights), alpha


def _splits(
    of_observer: NDArray[np.intp], most: int, generator: np.random.Generator, complete: bool
) -> tuple[Floats, bool]:
    """Indicators of the first half (split, observer), and whether these are all splits.

    Halves are within lists. Complete tables use all splits, if they are not too many.
    """
    n = len(of_observer)
    # With an even number each split would occur twice, once from each half.
    number = math.comb(n, n // 2) // (2 if n % 2 == 0 else 1)
    if complete and number <= most:
        members = itertools.islice(itertools.combinations(range(n), n // 2), number)
        out = np.zeros((number, n))
        np.put_along_axis(out, np.array(list(members)), 1, axis=1)
        return out, True
    out = np.zeros((most, n))
    for k in range(int(of_observer.max()) + 1):
        people = np.flatnonzero(of_observer == k)
        order = np.argsort(generator.random((most, len(people))), axis=1)
        # With an odd number, either half may be the larger one.
        out[:, people] = order < (len(people) + k) // 2
    return out, False


def _half_correlations(x: Floats, n: Floats, kinds: Floats, halves: Floats) -> Floats:
    """Correlations of proportions of two halves, over items that both answered, within lists."""
    both = np.stack([halves, 1 - halves])
    answers = both @ n
    index = _ratio(both @ (n * x), answers)
    there = (answers > 0).all(axis=0).astype(np.float64)
    # Minus list means, over available items; 0 elsewhere.
    a, b = there * (index - _ratio((there * index) @ kinds.T, there @ kinds.T) @ kinds)
    spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    known = (spread > NOTHING) & (there.sum(axis=1) >= FEWEST_ITEMS)
    return within(np.where(known, _ratio((a * b).sum(axis=1), spread), np.nan), -1)


def _alpha(y: Floats, n: Floats, kinds: Floats, p: Floats, w: Floats) -> Floats:
    """Coefficient alpha with weights of observers (draw, observer) and items [C51]_.

    A repeated observer does not form a pair with itself. Levels are differences from the other
    observers on the resampled items.
    """
    sums, squares, answers = n * y, n**2, p @ n
    level = _ratio(w @ sums.T - (w * _ratio(p @ sums, answers)) @ n.T, w @ n.T)
    share = _ratio(p @ sums - (p * level) @ n, answers)
    there = w * (answers > 0)
    mean = _ratio((there * share) @ kinds.T, there @ kinds.T) @ kinds

    def spread(q: Floats) -> Floats:
        """Compute sums of squared deviations of responses, with observers weighted by `q`."""
        moved = q * level
        once = q @ (squares * y) - moved @ squares
        twice = q @ sums**2 - 2 * moved @ (squares * y) + (moved * level) @ squares
        return twice - 2 * mean * once + mean**2 * (q @ squares)

    # Products of different observers, over their number; of each one's own share of an item.
    pairs, n_pairs = (answers * (share - mean)) ** 2 - spread(p**2), answers**2 - p**2 @ squares
    several = w * (n_pairs > 0)
    known = several.any(axis=1)
    common = _ratio((several * _ratio(pairs, n_pairs)).sum(axis=1), several.sum(axis=1))
    weight = there / there.sum(axis=1, keepdims=True)
    alone = (weight * _ratio(spread(p), answers**2)).sum(axis=1)
    itself = (weight * _ratio(p @ squares, answers**2)).sum(axis=1)
    total = alone + (1 - itself) * common
    return np.where(known & (total > NOTHING), _ratio(common, total), np.nan)


def _ratio(a: Floats, b: Floats) -> Floats:
    """Quotient; 0 if the denominator is 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def repeated_answers(
    trials: Trials, kind: str | None = "human", no_response: Literal["error", "drop"] = "error"
) -> xr.Dataset:
    """Arrange responses of observers by item and repeat."""
    data = trials.data
    kinds = data["kind"].values
    if kind is not None:
        known_kind("kind", kind, kinds)
    chosen = np.flatnonzero(kinds == kind) if kind is not None else np.arange(len(kinds))
    refuse_inclusion(data, "models of items")
    correct = correctness(data["correct"].values[chosen], no_response)
    taken = (correct != LEFT_OUT).any(axis=0)
    data = data[["correct"]].isel(observer=chosen, trial=taken)
    items = presented(data)
    first = slice(None) if items is None else items.first
    correct = correct[:, taken]
    out = correct[:, :, None] if items is None else items.gathered(correct, LEFT_OUT)
    return xr.Dataset(
        {"correct": (("observer", "item", "repeat"), out)},
        coords={
            "observer": data["observer"].values.astype(object),
            "item_label": ("item", data["item"].values[first].astype(object)),
            "dataset": ("item", data["dataset"].values[first].astype(object)),
            "condition": ("item", data["condition"].values[first].astype(object)),
        },
    )


def self_consistency(
    answers: Trials | ArrayLike,
    *,
    no_response: Literal["error", "drop"] = "error",
) -> pd.DataFrame:
    """Estimate the self-consistency of observers on repeated items.

    Parameters
    ----------
    answers : Trials or array_like, shape (observer, item, repeat)
        Trials with items that are repeated for at least some observers, or an array of 1 (correct),
        0 (incorrect) and NaN (missing repeat).
    no_response : {"error", "drop"}
        Whether to count a missing response as an error or to exclude it, if `answers` contains
        trials.

    Returns
    -------
    pandas.DataFrame
        One row per observer. Values are NaN if an observer has no repeated item, or is always
        correct or always incorrect.

        - ``observer``: name or position of the observer
        - ``n_items``: number of items shown at least twice
        - ``kappa`` and ``r``: means over pairs of repeats, weighted by their numbers of items
        - ``noise_fraction``, ``noise_fraction_squared``: fractions ``1 - r`` and ``1 - r**2``
        - ``note``: number of repeated items, if not all items are repeated

    Raises
    ------
    ValueError
        If the array does not have three dimensions, or no item is repeated.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.detection_experiment(2, 500, rng=1)
    >>> self_consistency(trials)[["observer", "n_items"]].values.tolist()
    [['human_1', 500], ['human_2', 500]]
    """
    names, x = _observers(answers, no_response)
    given = ~np.isnan(x)
    cells = repeat_cells(x == 1, given).astype(np.float64)
    n11, n10, n01, n00 = np.moveaxis(cells, -1, 0)
    scale = np.sqrt((n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00))
    with np.errstate(invalid="ignore"):
        both = error_consistency(cells), (n11 * n00 - n10 * n01) / scale
    kappa, r = (mean_of_defined(values, cells.sum(axis=-1)) for values in both)
    again, shown = (given.sum(axis=2) > 1).sum(axis=1), given.any(axis=2).sum(axis=1)
    notes = [
        f"{some} of {every} items recur" if some < every else ""
        for some, every in zip(again, shown, strict=True)
    ]
    return pd.DataFrame(
        {
            "observer": names, "n_items": again, "kappa": kappa, "r": r, "noise_fraction": 1 - r,
            "noise_fraction_squared": 1 - r**2, "note": notes,
        }
    )  # fmt: skip


def repeat_cells(right: NDArray[np.bool_], shown: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Count cells n11, n10, n01, n00 between two repeats: shape (pair of repeats, observer, 4)."""
    n, _, n_repeats = right.shape
    one, other = np.triu_indices(n_repeats, k=1)
    parts = np.stack([right, shown & ~right], axis=1).astype(np.float32)
    flat = parts.transpose(0, 1, 3, 2).reshape(n, 2 * n_repeats, -1)
    counts = (flat @ flat.transpose(0, 2, 1)).reshape(n, 2, n_repeats, 2, n_repeats)
    return counts[:, :, one, :, other].reshape(len(one), n, 4)


def _observers(
    answers: Trials | ArrayLike, no_response: Literal["error", "drop"]
) -> tuple[list[object], Floats]:
    """Names of observers, and their responses by item and repeat."""
    if isinstance(answers, Trials):
        table = repeated_answers(answers, None, no_response)
        raw = table["correct"].values
        if not ((raw != LEFT_OUT).sum(axis=2) > 1).any():
            raise ValueError(
                "no observer saw an item twice; repeats are trials with the same data set, "
                "condition and item, and different numbers in the column repeat"
            )
        return list(table["observer"].values), np.where(raw == LEFT_OUT, np.nan, raw)
    x = np.asarray(answers, dtype=np.float64)
    if x.ndim != 3 or x.shape[2] < 2:
        raise ValueError(
            "correct must have shape (observer, item, repeat) with at least 2 repeats, got "
            f"{x.shape}; with one, an observer cannot be compared with itself"
        )
    return list(range(len(x))), x


TUNE = 500
# Thinning of draws: with hundreds of strengths, some r_hat would exceed its limit by chance in
# shorter chains.
THIN = 2
# With this many counts the posterior is nearly normal, and longer steps suffice. With 0.75, 7 of
# 100 simulated experiments had a divergence.
MANY = 4_000
# Variables of tables.
QUANTITIES = {
    "strength": ("item",),
    "strength_mean": (),
    "ability": ("observer",),
    "log_gain": ("observer",),
    "share": ("source",),
}


def fit_observers(
    trials: Trials,
    *,
    kind: str = "human",
    n_alternatives: int | None = None,
    no_response: Literal["error", "drop"] = "error",
    priors: Priors | None = None,
    model: AskedModel = "observer_margins",
    n_draws: int | None = None,
    rng: RandomState = None,
    include: Sequence[str] = (),
) -> xr.DataTree:
    """Fit item strengths (easiness) and observers' abilities and gains (slopes).

    Parameters
    ----------
    trials : Trials
        Responses from one data set; select it with `alikely.Trials.select`.
    kind : str
        Kind of observer to analyze.
    n_alternatives : int, optional
        Number of response alternatives in the task. Default: the number of classes.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error, or to drop it.
    priors : mapping, optional
        Priors for variables by name, as in `alikely.models.observer_margins`.
    model : "observer_margins" or pymc.Model
        Generative model: the default, or a custom model for the responses, such as an extended
        `alikely.models.observer_margins`. A custom model must define the following variables
        (dimensions in parentheses): ``strength_mean``, ``strength`` (item), ``ability`` (observer),
        ``log_gain`` (observer) and ``share`` (source). If each observer's deviations from the item
        strengths are stable over repeats in a custom model, the model must also define their
        standard deviation ``stable_sd``, a scalar.
    n_draws : int
        Total number of draws from 4 chains.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    include : "all" or sequence of str
        ArviZ groups to add to the result, as in `alikely.inference.nuts`. The log likelihood has
        one value per observer and item.

    Returns
    -------
    xarray.DataTree
        As returned by `alikely.inference.nuts`, with the names of the observers. ``constant_data``
        also contains ``correct`` (observer, item, repeat; 1 correct, 0 incorrect, -1 no response),
        and the ``dataset`` and ``condition`` of each item. The tree has the attributes
        ``components`` and
        ``n_alternatives``.

    Raises
    ------
    ValueError
        If there are no observers of the requested kind, or the number of alternatives is unknown.
        See also `alikely.models.observer_margins`.
    ValueError
        If a custom model lacks a variable or has a variable of the wrong shape, or if priors are
        also given.

    Warns
    -----
    SamplingWarning
        If the chains did not converge.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> tree = al.fit_observers(trials, rng=1)
    >>> tree.attrs["components"]
    'shared'
    """
    # The subpackage models imports PyMC: only when needed.
    n_draws = resolve("n_draws", n_draws)
    from alikely.models import observer_margins
    from alikely.models._arguments import asked_model, refuse_options
    from alikely.models._priors import check_priors

    check_priors(priors)
    refuse_options(model, {"priors": priors})
    of_type(trials, Trials, "make them with Trials.from_table")
    alternatives = alternatives_of(trials, n_alternatives)
    answers = repeated_answers(trials, kind, no_response)
    correct = answers["correct"].values
    right, shown = (correct == 1).sum(axis=2), (correct != LEFT_OUT).sum(axis=2)
    names = answers["observer"].values
    built = asked_model(
        model,
        {
            "observer_margins": lambda: observer_margins(
                right, shown, n_alternatives=alternatives, priors=priors
            )
        },
        QUANTITIES,
        {"observer": names, "item": answers["item_label"].values},
        [right],
    )
    stable = "stable_sd" in built.named_vars
    accept = 0.85 if right.size >= MANY else 0.9
    tree = nuts(built, n_draws, TUNE, rng, accept, thin=THIN, include=include)
    tree = labeled(tree, observer=names)
    with_constants(tree, answers)
    tree.attrs |= {
        "components": "all" if stable else "shared",
        "n_alternatives": alternatives,
        "n_repeats": correct.shape[2],
    }
    return tree


def variance_fractions(
    tree: xr.DataTree, ci_prob: float | None = None, ci_kind: CiKind | None = None
) -> pd.DataFrame:
    """Compute fractions of the variance in evidence due to items, interactions and noise.

    Parameters
    ----------
    tree : xarray.DataTree
        Fit as returned by `fit_observers`.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Kind of interval: equal-tailed or highest-density.

    Returns
    -------
    pandas.DataFrame
        One row per ``source`` of variance, with the posterior ``median`` and interval bounds of its
        fraction of the variance. The sources of variance are the item (shared by all observers),
        the interaction between observer and item (stable over repeats), and trial-by-trial noise.
        Without repeats, the observer-item interaction and the noise cannot be separated and are
        combined.

    Raises
    ------
    ValueError
        If `ci_prob` or `ci_kind` is invalid.
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    share = tree["posterior"].to_dataset()["share"]
    draws = share.values.reshape(-1, share.sizes["source"])
    return pd.DataFrame(
        {
            "source": share["source"].values.astype(object),
            "median": np.median(draws, axis=0),
            **bound_columns("", ci_kind, ci_prob, interval(draws, ci_prob, ci_kind)),
        }
    )


def explained_consistency(
    tree: xr.DataTree,
    n_replicates: int = 1_000,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compare observed error consistency with predictions from item strengths (easiness) [GMS96]_.

    Responses of the same observers to the same items are simulated from the fitted generative
    model. In each simulation, response noise is drawn for each response, and deviations from the
    common item strengths are drawn for each observer and item. If the observed consistency of a
    pair exceeds the predictions, the pair shares more than the difficulty that items have for all
    observers.

    Parameters
    ----------
    tree : xarray.DataTree
        Fit as returned by `fit_observers`.
    n_replicates : int
        Number of replicated experiments, each simulated from a posterior draw; at least 2.
    ci_prob : float
        Probability level of the predictive interval, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per pair of observers and, with repeated items, one per observer paired with itself:

        - ``observer_a, observer_b, n_trials``, and ``observed`` error consistency
        - ``predicted`` (median) and bounds
        - ``inside``: whether the observed value lies within the bounds
        - ``p_above``: proportion of replicates above the observed value (ties count half); NaN if
          the observed value is undefined

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Without repeated items, noise includes the stable deviations of observers from the common item
    strengths, and consistency within an observer is not predicted.
    """
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    if n_replicates < 2:
        raise ValueError(f"n_replicates must be at least 2, got {n_replicates}")
    generator = np.random.default_rng(seed_sequence(rng))
    answers = tree["constant_data"].to_dataset()
    correct = answers["correct"].values
    shown = correct != LEFT_OUT
    # Without repeats in the model, responses of one observer are not predicted to agree.
    own = tree.attrs["components"] == "all"
    cells = _cells((correct == 1) & shown, shown, own)
    observed = error_consistency(cells)
    draws = tree["posterior"].to_dataset().stack(at=("chain", "draw"))
    chosen = generator.choice(draws.sizes["at"], n_replicates, n_replicates > draws.sizes["at"])
    replicates = np.empty((n_replicates, len(observed)))
    for k, at in enumerate(chosen):
        p = _probabilities(draws.isel(at=at), int(tree.attrs["n_alternatives"]), generator)
        right = (generator.random(correct.shape) < p[:, :, None]) & shown
        replicates[k] = error_consistency(_cells(right, shown, own))
    lower, upper = np.nanquantile(replicates, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    ties = (replicates == observed).mean(axis=0)
    bounds = np.stack([lower, upper], axis=-1)
    # All pairs, then each observer with itself.
    alone = np.arange(len(correct) if own else 0)
    pairs = np.triu_indices(len(correct), k=1)
    first, second = (np.concatenate([part, alone]) for part in pairs)
    names = answers["observer"].values
    frame = pd.DataFrame(
        {
            "observer_a": names[first],
            "observer_b": names[second],
            "n_trials": cells.sum(axis=1),
            "observed": observed,
            "predicted": np.nanmedian(replicates, axis=0),
            **bound_columns("", "eti", ci_prob, bounds),
            "inside": (lower <= observed) & (observed <= upper),
            "p_above": (replicates > observed).mean(axis=0) + ties / 2,
        }
    )
    frame.loc[np.isnan(observed), "p_above"] = np.nan
    return frame


def _cells(right: NDArray[np.bool_], shown: NDArray[np.bool_], own: bool) -> NDArray[np.int64]:
    """Cells n11, n10, n01, n00: of pairs for the same repeat, of an observer between repeats."""
    first, second = np.triu_indices(len(right), k=1)
    parts = np.stack([right, shown & ~right]).astype(np.float32)
    both = np.tensordot(parts, parts, ([2, 3], [2, 3]))[:, first, :, second].reshape(-1, 4)
    itself = repeat_cells(right, shown).sum(axis=0)[: len(right) if own else 0]
    return np.concatenate([both, itself]).astype(np.int64)


def _probabilities(
    draw: xr.Dataset, n_alternatives: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Probability correct by observer and item, with new stable deviations."""
    mean, strength = float(draw["strength_mean"]), draw["strength"].values
    gain = np.exp(draw["log_gain"].values)
    d = mean + draw["ability"].values[:, None] + gain[:, None] * (strength - mean)
    if "stable_sd" in draw:
        d = d + float(draw["stable_sd"]) * generator.standard_normal(d.shape)
    return m_afc_probability(d, n_alternatives)
