"""Difficulty of conditions for humans, and regimes of difficulty.

References
----------
.. [G76] Glass (1976). Primary, secondary, and meta-analysis of research.
   doi:10.3102/0013189X005010003
.. [RG97] Richardson, Green (1997). On Bayesian analysis of mixtures with an unknown number of
   components. doi:10.1111/1467-9868.00095
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike

from alikely.models._mixtures import regime_names, tightest_groups
from alikely.models._parts import (
    DIMS,
    TINY,
    Informed,
    Placed,
    averages,
    effects,
    informed,
    log_odds,
    sums,
    tables_for,
)
from alikely.models._priors import Priors, building

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates

# From guessing among 16 to 90% correct is 5 logits, the range that regimes divide.
RANGE = 5.0


def spectrum(
    right: ArrayLike,
    shown: ArrayLike,
    condition: ArrayLike,
    person: ArrayLike,
    is_reference: ArrayLike,
    k: int = 4,
    *,
    covariates: Covariates | None = None,
    priors: Priors | None = None,
) -> pm.Model:
    """Build a model of human accuracy in conditions that belong to regimes of difficulty.

    Responses are binomial. The logit of a person's accuracy in a condition is the sum of the
    condition's ``logit_accuracy`` for an average person, the person's ability, and the person's
    deviation in the condition. The standard deviation of abilities has one value in reference
    conditions, and another value in all other conditions. ``logit_accuracy`` follows a mixture of
    ``k`` normal distributions (regimes) with increasing means. The likelihood is summed over the
    possible regimes of each condition.

    Parameters
    ----------
    right, shown : array_like of int, shape (entry,)
        Numbers of correct and total responses, one value per person and condition.
    condition, person : array_like of int, shape (entry,)
        Indices of conditions and people, numbered from 0 without gaps.
    is_reference : array_like of bool, shape (condition,)
        Whether a condition is a reference condition (without distortion).
    k : int
        Number of regimes, at least 1.
    covariates : mapping of str to table, optional
        Covariates of conditions (key ``"condition"``) or humans (key ``"human"``). The row index of
        a table contains the values of `condition` or `person`. Column and variable names are as in
        `alikely.models.cohort`. Condition covariates affect ``logit_accuracy``, with coefficients
        such as ``logit_accuracy_contrast``; regimes then describe the residual difficulty. Human
        covariates affect ability on the logit scale, with coefficients such as ``ability_age``.
    priors : mapping, optional
        Priors by name, such as ``{"regime_sd": pm.LogNormal.dist(-1, 0.3)}`` or
        ``{"regime_sd": (-1.0, 0.3)}``; see `alikely.models.copying`.

    Returns
    -------
    pymc.Model
        Dims ``condition, person, entry``, ``regime`` (hardest first), ``boundary`` (between two
        regimes, for ``gap``) and ``population`` (reference, distorted, for ``ability_sd``), and

        - data ``right, shown, condition_of_entry, person_of_entry`` (entry) and ``is_reference``
          (condition)
        - ``regime_mean`` (regime)
        - ``reference_mean``, ``reference_sd``: mean and standard deviation of the observed logit
          accuracies in the reference
        - ``latent_reference_sd``: the standard deviation without binomial noise
        - ``delta`` (condition), ``regime_delta`` (regime): Glass's delta [G76]_ of a condition for
          an average person, and of a regime mean
        - ``logit_accuracy_explained`` (condition), ``ability_explained`` (person): contributions of
          covariates
        - likelihood ``observed_right`` (entry)

    Raises
    ------
    ValueError
        If shapes do not match, if counts are invalid, or if `k` is out of range.
    ValueError
        If there are fewer than 3 combinations of a person and a reference condition.
    ValueError
        If a prior is invalid (see `alikely.models.copying`), or a covariate is invalid (see
        `alikely.models.cohort`).

    Notes
    -----
    The prior density of gaps between regime means vanishes at 0, and that of regime widths vanishes
    at 0 and infinity. With priors that allow gaps of 0 between regimes, or regime widths of 0 or
    infinity, a regime could collapse onto a single condition, or two regimes could coincide
    [RG97]_. The model allows accuracies of 0 and 1 without correction.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.spectrum(
    ...     [90, 80, 95, 40, 50, 30], [100] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2],
    ...     [True, False], k=2, priors={"regime_sd": pm.LogNormal.dist(-1, 0.3)},
    ... )
    >>> [variable.name for variable in model.observed_RVs]
    ['observed_right']
    """
    y, n, at, who = (np.asarray(v) for v in (right, shown, condition, person))
    reference = np.asarray(is_reference, dtype=bool)
    _check(y, n, at, who, reference, k)
    # How often each condition stands among the reference values.
    values = np.flatnonzero(reference[at])
    coords = {
        "condition": np.arange(len(reference)),
        "person": np.arange(who.max() + 1),
        "entry": np.arange(len(y)),
        "regime": regime_names(k),
        "population": ["reference", "distorted"],
    }
    start = _starts(y, n, at, k)
    plain = functools.partial(spectrum, y, n, at, who, reference, k)
    told = _covariates(covariates, coords["condition"], coords["person"], plain)
    with building(priors, coords) as model:
        right_data = pm.Data("right", y.astype(np.int64), dims="entry")
        shown_data = pm.Data("shown", n.astype(np.int64), dims="entry")
        # Identifies entries: not part of the density, but of tables made from draws.
        pm.Data("condition_of_entry", at.astype(np.int64), dims="entry")
        pm.Data("person_of_entry", who.astype(np.int64), dims="entry")
        pm.Data("is_reference", reference, dims="condition")
        weight, mean, width = _regimes(k, start)
        # Glass measures in the spread of the reference because distortions may change spreads.
        ability_sd = pm.HalfNormal("ability_sd", 0.5, dims="population")
        spread = ability_sd[np.where(reference[at], 0, 1)]
        own_sd = pm.HalfNormal("interaction_sd", 0.5)
        # What answers show of a logit, and how surely: without, then with what is one's own.
        seen, alone = _shown(right_data, shown_data)
        known = 1 / (own_sd**2 + 1 / alone)
        ability = informed(
            "ability_deviate", 0, 1, *_of_people(seen, known, spread, at, who), "person"
        )
        there = averages(seen - spread * ability[who], known, at, len(reference))
        means = told("logit_accuracy", mean, (slice(None), None))
        ease = _mixture("logit_accuracy", weight, means, width, *there)
        rest = seen - ease[at] - spread * ability[who]
        own = informed("interaction_deviate", 0, 1, rest / own_sd, own_sd**2 * alone, "entry")
        logit = told("ability", ease[at] + spread * ability[who] + own_sd * own, who)
        pm.Binomial(
            "observed_right", n=shown_data, logit_p=logit, observed=right_data, dims="entry"
        )
        _in_reference_units(logit[values], shown_data[values], ease, at[values], mean)
    return model


def _regimes(k: int, start: _Start) -> tuple[Any, Any, Any]:
    """Weights, increasing means and widths of the regimes, in the model of the context."""
    # Sure whatever regimes there are, unlike the mean of any of them.
    center = pm.Normal("ease_mean", 0.5, 1.5, transform=Placed(start.center, start.center_error))
    if k > 1:
        names = regime_names(k)
        pm.modelcontext(None).add_coord("boundary", [f"{a} | {b}" for a, b in pairwise(names)])
        gap_start = np.diff(start.mean)
        gap = pm.Gamma(
            "gap",
            4,
            4 * k / RANGE,
            dims="boundary",
            transform=Placed(np.log(gap_start), start.mean_error[1:] / gap_start),
        )
        weight = pm.Dirichlet("regime_weight", np.full(k, 4.0), dims="regime")
        above = pt.concatenate([[0.0], pt.cumsum(gap)])
        means = center - pt.sum(weight * above) + above
    else:
        weight = pm.Deterministic("regime_weight", pt.ones(1), dims="regime")
        means = center[None]
    mean = pm.Deterministic("regime_mean", means, dims="regime")
    width = pm.LogNormal(
        "regime_sd",
        np.log(RANGE / (4 * k)),
        0.4,
        dims="regime",
        transform=Placed(np.log(start.width), start.width_error),
    )
    return weight, mean, width


def _shown(right: Any, shown: Any) -> tuple[Any, Any]:
    """Empirical logits of accuracies, and their information."""
    share = (right + 0.5) / (shown + 1)
    return log_odds(share), shown * share * (1 - share)


def _of_people(
    seen: Any, known: Any, spread: Any, at: np.ndarray, who: np.ndarray
) -> tuple[Any, Any]:
    """Empirical deviations of persons from others in the same conditions."""
    n_conditions, n_humans = at.max() + 1, who.max() + 1
    mean, total = averages(seen, known, at, n_conditions)
    # How hard a condition is has to be told from the same answers.
    known = known * (1 - known / total[at])
    information = sums(known * spread**2, who, n_humans) + TINY
    return sums(known * spread * (seen - mean[at]), who, n_humans) / information, information


def _mixture(name: str, weight: Any, mean: Any, width: Any, seen: Any, information: Any) -> Any:
    """Normal mixture in coordinates informed by its mean and spread and by the counts."""
    center = (weight * mean).sum(axis=-1)
    away = mean - pt.shape_padright(center)
    spread = pt.sqrt((weight * (width**2 + away**2)).sum(axis=-1))

    def logp(value: Any, weight: Any, mean: Any, width: Any, *_: Any) -> Any:
        distance = (pt.shape_padright(value) - mean) / width
        each = pt.log(weight) - pt.log(width) - distance**2 / 2 - math.log(2 * math.pi) / 2
        return pt.logsumexp(each, axis=-1)

    return pm.CustomDist(
        name,
        weight,
        mean,
        width,
        center,
        spread,
        seen,
        information,
        logp=logp,
        random=_drawn_of_mixture,
        support_point=lambda rv, size, weight, mean, width, center, *_: pt.zeros_like(rv) + center,
        signature="(k),(k),(k),(),(),(),()->()",
        class_name="NormalMixture",
        transform=Informed(),
        dims="condition",
    )


def _drawn_of_mixture(
    weight: np.ndarray,
    mean: np.ndarray,
    width: np.ndarray,
    center: np.ndarray,
    spread: np.ndarray,
    seen: np.ndarray,
    information: np.ndarray,
    rng: np.random.Generator,
    size: Any = None,
) -> np.ndarray:
    shape = np.broadcast_shapes(seen.shape, mean.shape[:-1]) if size is None else tuple(size)
    regime = (rng.random((*shape, 1)) > np.cumsum(weight, axis=-1)[..., :-1]).sum(axis=-1)[
        ..., None
    ]
    wide = (*shape, mean.shape[-1])
    of_regime = [
        np.take_along_axis(np.broadcast_to(part, wide), regime, -1)[..., 0]
        for part in (mean, width)
    ]
    return rng.normal(*of_regime)


def _covariates(
    covariates: Covariates | None, condition: Any, person: Any, plain: Callable[[], pm.Model]
) -> Callable[[str, Any, Any], Any]:
    """A function that adds effects of covariates to a quantity, at some of their rows."""
    acts = {"logit_accuracy": ("condition", condition, 1.0), "ability": ("human", person, 0.5)}
    known = {kind: numbers for kind, numbers, _ in acts.values()}
    tables = tables_for(covariates, known, {acts[n][0]: (n,) for n in acts}, plain)

    def told(name: str, value: Any, rows: Any) -> Any:
        kind, numbers, scale = acts[name]
        shifts = effects(name, tables, {kind: numbers}, scale)
        if not shifts:
            return value
        whole = pm.Deterministic(f"{name}_explained", sum(shifts[1:], shifts[0]), dims=DIMS[kind])
        return value + whole[rows]

    return told


def _in_reference_units(logit: Any, shown: Any, ease: Any, at: np.ndarray, mean: Any) -> None:
    """Glass's deltas of conditions and regimes from logits and the reference's counts."""
    latent = pt.sum((logit - logit.mean()) ** 2) / (len(at) - 1)
    chance_of_right = pm.math.invlogit(logit)
    # Variance of a logit of an observed share: what the values have beyond their own.
    noise = 1 / (shown * chance_of_right * (1 - chance_of_right))
    center = pm.Deterministic("reference_mean", ease[at].mean())
    pm.Deterministic("latent_reference_sd", pt.sqrt(latent))
    scale = pm.Deterministic("reference_sd", pt.sqrt(latent + noise.mean()))
    pm.Deterministic("delta", (ease - center) / scale, dims="condition")
    pm.Deterministic("regime_delta", (mean - center) / scale, dims="regime")


class _Start(NamedTuple):
    """Empirical estimates of parameters and their information, by regime except the center."""

    center: float
    center_error: float
    mean: np.ndarray
    mean_error: np.ndarray
    width: np.ndarray
    width_error: np.ndarray  # of its logarithm


def _starts(right: np.ndarray, shown: np.ndarray, condition: np.ndarray, k: int) -> _Start:
    """Logits of the conditions, and their tightest groups."""
    n_right, n_shown = np.bincount(condition, right), np.bincount(condition, shown)
    ease = np.log((n_right + 0.5) / (n_shown - n_right + 0.5))
    groups = tightest_groups(ease, k)
    means = np.array([group.mean() for group in groups])
    size = np.array([len(group) for group in groups])
    square = np.array([group.var() * len(group) for group in groups])
    # As much as the priors would have it, too, for groups of a few.
    usual = RANGE / (4 * k)
    width = np.sqrt((square + 4 * usual**2) / (size + 4))
    # Conditions alike would leave no gap to begin with.
    gaps = np.maximum(np.diff(means), 0.05)
    return _Start(
        ease.mean(),
        np.sqrt((ease.var() + usual**2) / len(ease)),
        means[0] + np.concatenate([[0.0], np.cumsum(gaps)]),
        width / np.sqrt(size + 1),
        width,
        1 / np.sqrt(2 * (size + 4)),
    )


def _check(
    right: np.ndarray,
    shown: np.ndarray,
    condition: np.ndarray,
    person: np.ndarray,
    reference: np.ndarray,
    k: int,
) -> None:
    if not right.shape == shown.shape == condition.shape == person.shape or right.ndim != 1:
        raise ValueError(
            "right, shown, condition and person must have one entry per person and condition; "
            f"got shapes {right.shape}, {shown.shape}, {condition.shape}, {person.shape}"
        )
    if (right < 0).any() or (right > shown).any() or (shown < 1).any():
        raise ValueError("expected 0 <= right <= shown and at least one response in each entry")
    for name, numbers in (("condition", condition), ("person", person)):
        if set(np.unique(numbers)) != set(range(int(numbers.max()) + 1)):
            raise ValueError(f"{name} must be numbered from 0 without gaps")
    if reference.shape != (condition.max() + 1,):
        raise ValueError(
            f"is_reference must have one value for each of {condition.max() + 1} conditions, "
            f"got shape {reference.shape}"
        )
    if reference[condition].sum() < 3:
        raise ValueError(
            "the reference needs at least 3 entries (one per condition and person), got "
            f"{int(reference[condition].sum())}; name more reference conditions"
        )
    if not 1 <= k <= len(reference):
        raise ValueError(
            f"k must lie between 1 and the number of conditions, {len(reference)}; got {k}"
        )
