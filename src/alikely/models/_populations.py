"""How a population of humans answers: exchangeable, or with accuracies of their own.

References
----------
.. [R60] Rasch (1960). Probabilistic models for some intelligence and attainment tests.
.. [S48] Skellam (1948). A probability distribution derived from the binomial distribution by
   regarding the probability of success as variable between the sets of trials.
   doi:10.1111/j.2517-6161.1948.tb00014.x
.. [T82] Thissen (1982). Marginal maximum likelihood estimation for the one-parameter logistic
   model. doi:10.1007/BF02296273
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import within
from alikely.models._placed import informed
from alikely.models._ranges import tensor_within

__all__ = [
    "FLATTENING",
    "ICC",
    "TINY",
    "Population",
    "averages",
    "by_dataset",
    "exchangeable",
    "individual",
    "levels",
    "log_odds",
    "moments",
    "spread",
    "sums",
]

# An even grid, exact for smooth curves: steps of a sixth of the items' spread, out to five of it.
NODES = np.linspace(-5, 5, 61)
# A logistic curve is nearly a normal one of 1.7 times the width: 1 / 1.7**2.
FLATTENING = 0.346
# Logits of items spread by w have error consistency r with r / (1 - r) about w**2 / ICC.
ICC = 4.6
# Error consistency by moments may be anything; what shapes coordinates stays inside.
ALIKE, TINY = (0.05, 0.95), 1e-9


class Population(NamedTuple):
    """What machines need to know of the humans."""

    accuracy: Any
    expected: Any
    consistency: Callable[[NDArray[np.intp], Any, Any], Any]
    share: Any


def spread(name: str, mean: float, n_groups: int) -> Any:
    """Standard deviation of effects, kept off zero, where effects and spread form a funnel."""
    return pm.Gamma(name, 2, 2 / mean) if n_groups > 2 else mean


class _Humans(NamedTuple):
    """What counts of right humans show of each condition, (condition,), and how surely."""

    data: dict[int, tuple[NDArray[np.intp], Any]]
    level: Any
    level_information: Any
    consistency: Any
    consistency_information: Any


def _seen(counts: xr.Dataset) -> _Humans:
    """Put the counts of right humans into the model, and see what they show by their moments."""
    model = pm.modelcontext(None)
    place, n_humans = counts["stratum_condition"].values, counts["n_humans"].values
    data = {}
    # Trials, and sums over them of the share of right humans, its square, and one over humans.
    total = pt.zeros((4, counts.sizes["condition"]))
    for n in np.unique(n_humans[n_humans > 0]).tolist():
        strata = np.flatnonzero(n_humans == n)
        conditions = place[strata].reshape(-1, n + 1)[:, 0]
        dims = (f"condition_{n}", f"right_{n}")
        model.add_coords(
            {dims[0]: counts["condition"].values[conditions], dims[1]: np.arange(n + 1)}
        )
        trials = counts["n_trials"].values[strata].reshape(-1, n + 1)
        data[n] = conditions, pm.Data(f"human_data_{n}", trials, dims=dims)
        share = np.arange(n + 1) / n
        each = np.stack([np.ones(n + 1), share, share**2, np.full(n + 1, 1 / n)])
        total = pt.inc_subtensor(total[:, conditions], pt.dot(each, data[n][1].T))
    shares = (total[i] / total[0] for i in (1, 2, 3))
    return _Humans(data, *moments(total[0], *shares))


def moments(n_trials: Any, share: Any, square: Any, one: Any) -> tuple[Any, Any, Any, Any]:
    """What the numbers of right humans show, as the last four of `_Humans`."""
    mean = (share * n_trials + 0.5) / (n_trials + 1)
    even = mean * (1 - mean)
    # Shares of right humans spread from as much as by chance to as much as if all were one.
    alike = ((square - share**2) / even - one) / pt.maximum(1 - one, TINY)
    alike = pt.clip(alike, *ALIKE)
    inflated = one + (1 - one) * alike
    # As of a normal variable, from so many trials as would say as much if half were right.
    variance = 2 * (1 - alike) ** 2 * inflated**2 / pt.maximum(one * (1 - one), TINY)
    return (
        log_odds(mean),
        n_trials * even / inflated,
        log_odds(alike),
        (alike * (1 - alike)) ** 2 * 4 * even * n_trials / variance,
    )


def log_odds(probability: Any) -> Any:
    """Log odds of a probability."""
    return pt.log(probability) - pt.log1p(-probability)


def levels(seen: Any, information: Any, n: int) -> Any:
    """Log odds of a human to be right on a random trial, by condition."""
    mean = pm.Normal("human_level_mean", 0, 1.5)
    sd = spread("human_level_sd", 1, n)
    # Chains that start far off may stay there: a wide spread of items looks like any accuracy.
    return informed("human_level", mean, sd, seen, information, "condition")


def by_dataset(
    name: str, center: tuple[float, float], counts: xr.Dataset, seen: Any, information: Any
) -> Any:
    """Parameter of each condition around that of its data set."""
    datasets = counts["dataset"].values.tolist()
    names = list(dict.fromkeys(datasets))
    position = np.array([names.index(name) for name in datasets])
    # Few conditions a data set say little about whose spread it is: a total and a share mix better.
    total = pm.HalfNormal(f"{name}_sd", 0.5)
    share = pm.Beta(f"{name}_dataset_share", 1, 1)
    mean = pm.Normal(f"{name}_mean", *center)
    of_dataset, of_condition = total * pt.sqrt(share), total * pt.sqrt(1 - share)
    together = averages(seen, 1 / (of_condition**2 + 1 / information), position, len(names))
    shared = informed(f"{name}_dataset", mean, of_dataset, *together, "dataset")
    return informed(
        f"{name}_condition", shared[position], of_condition, seen, information, "condition"
    )


def averages(seen: Any, information: Any, group: NDArray[np.intp], n: int) -> tuple[Any, Any]:
    """Means by group of what is seen, weighted by how surely; and how surely they are together."""
    total = sums(information + pt.zeros_like(seen), group, n) + TINY
    return sums(information * seen, group, n) / total, total


def sums(values: Any, group: NDArray[np.intp], n: int) -> Any:
    """Sums of values by group, shape (n,)."""
    return pt.inc_subtensor(pt.zeros(n)[group], values)


def _count_likelihood(
    counts: xr.Dataset, seen: _Humans, log_share: Callable[[NDArray[np.intp], int], Any]
) -> Any:
    """Multinomial number of right humans, one variable for each number of humans."""
    together = pt.zeros((counts.sizes["condition"], max(seen.data) + 1), dtype="int64")
    for n, (conditions, observed) in seen.data.items():
        found = pm.Multinomial(
            f"human_counts_{n}",
            n=observed.sum(axis=-1),
            # Logarithms of a certainty may be rounded to more than 0.
            p=tensor_within(pt.exp(log_share(conditions, n))),
            observed=observed,
            dims=(f"condition_{n}", f"right_{n}"),
        )
        together = together[conditions, : n + 1].inc(found)
    return together


def _shares(counts: xr.Dataset) -> NDArray[np.float64]:
    n_humans = np.maximum(counts["n_humans"].values, 1)
    return np.asarray(counts["n_right"].values / n_humans, dtype=np.float64)


def exchangeable(counts: xr.Dataset) -> Population:
    """Humans alike: the number of right ones is beta-binomial [S48]_."""
    seen = _seen(counts)
    mu = pm.math.invlogit(levels(seen.level, seen.level_information, counts.sizes["condition"]))
    known = seen.consistency, seen.consistency_information
    alike = pm.math.invlogit(by_dataset("human_consistency", (0, 1), counts, *known))
    pm.Deterministic("human_accuracy", mu, dims="condition")
    pm.Deterministic("human_error_consistency", alike, dims="condition")
    phi = 1 / alike - 1
    alpha, beta = mu * phi, (1 - mu) * phi

    def log_share(conditions: NDArray[np.intp], n: int) -> Any:
        betabinomial = pm.BetaBinomial.dist(alpha[conditions, None], beta[conditions, None], n)
        return pm.logp(betabinomial, np.arange(n + 1)[None])

    def consistency(at: NDArray[np.intp], copying: Any, accuracy: Any) -> Any:
        variance = mu[at] * (1 - mu[at])
        chance = mu[at] * (1 - accuracy) + (1 - mu[at]) * accuracy
        return 2 * copying * alike[at] * variance / chance

    _count_likelihood(counts, seen, log_share)
    here = counts["stratum_condition"].values
    expected = (alpha[here] + counts["n_right"].values) / (phi[here] + counts["n_humans"].values)
    return Population(mu, expected, consistency, _shares(counts))


def individual(counts: xr.Dataset, known: Sequence[Any] = ()) -> Population:
    """Humans with accuracies of their own: a Rasch model of humans and items [R60]_."""
    people = _people(counts)
    shares = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
    n_conditions = counts.sizes["condition"]
    seen = _seen(counts)
    # Of a normal ease in logits: its share of the variance, the rest being logistic.
    wide = (seen.consistency + np.log(ICC)) / 2, 4 * seen.consistency_information
    width_of_items = pt.exp(by_dataset("human_spread", (np.log(2), 0.5), counts, *wide))
    # Averaging over items flattens a logistic curve about so much; accuracy and spread then part.
    level = levels(seen.level, seen.level_information, n_conditions) * pt.sqrt(
        1 + FLATTENING * width_of_items**2
    )
    deviate = pm.Normal("human_deviate", 0, 1, dims="person")
    sd = pm.HalfNormal("human_effect_sd", 0.5)
    dataset = np.unique(counts["person_dataset"].values, return_inverse=True)[1]
    same = (dataset[:, None] == dataset).astype(float)
    of_dataset = same / same.sum(axis=1, keepdims=True)
    centred = deviate - of_dataset @ deviate
    told = (shift - of_dataset @ shift for shift in known)
    effect = pm.Deterministic("human_effect", sum(told, sd * centred), dims="person")

    # By condition: answers of its humans at every node, all in one frame of at most H humans.
    width = max(len(rows) for rows in people)
    there = np.array([[h < len(rows) for h in range(width)] for rows in people])
    who = np.array([list(rows) + [0] * (width - len(rows)) for rows in people])
    log_odds = (
        level[:, None, None] + effect[who][:, :, None] + width_of_items[:, None, None] * NODES
    )
    right = pm.math.invlogit(log_odds)
    size = there.sum(axis=1)
    mean_right = (right * there[:, :, None]).sum(axis=1) / size[:, None]
    all_wrong = -(pt.softplus(log_odds) * there[:, :, None]).sum(axis=1)
    own = (right * shares).sum(axis=-1)
    mu = pm.Deterministic("human_accuracy", (mean_right * shares).sum(axis=-1), dims="condition")

    pairs = np.array(
        [(d, i, j) for d in range(n_conditions) for i in range(size[d]) for j in range(i)]
    )
    d, i, j = pairs.T
    covariance = ((right[d, i] * right[d, j]) * shares).sum(axis=-1) - own[d, i] * own[d, j]
    kappa = 2 * covariance / (own[d, i] * (1 - own[d, j]) + own[d, j] * (1 - own[d, i]))
    mean_of = (d == np.arange(n_conditions)[:, None]) / np.bincount(d)[:, None]
    pm.Deterministic("human_error_consistency", mean_of @ kappa, dims="condition")

    log_symmetric = _log_symmetric(effect[who], there, width)

    # Log weight of node z when s are right; constant in z where it cancels.
    s_all = np.arange(width + 1)
    log_joint = (
        s_all[None, :, None] * (level[:, None, None] + width_of_items[:, None, None] * NODES)
        + all_wrong[:, None, :]
        + np.log(shares)
    )
    log_total = pt.logsumexp(log_joint, axis=-1)

    def log_share(conditions: NDArray[np.intp], n: int) -> Any:
        return (log_symmetric + log_total)[conditions, : n + 1]

    n_by_right = _count_likelihood(counts, seen, log_share)
    _who_was_right(counts, effect, np.where(there, who, -1), n_by_right)
    place, n_right = counts["stratum_condition"].values, counts["n_right"].values
    posterior = pt.exp(log_joint - log_total[:, :, None])
    expected = (posterior * mean_right[:, None, :]).sum(axis=-1)[place, n_right]

    def consistency(at: NDArray[np.intp], copying: Any, accuracy: Any) -> Any:
        shared = ((mean_right[:, None, :] * right) * shares).sum(axis=-1) - mu[:, None] * own
        q = accuracy[:, None]
        chance = own[at] * (1 - q) + (1 - own[at]) * q
        kappa = 2 * copying[:, None] * shared[at] / chance
        return (kappa * there[at]).sum(axis=1) / size[at]

    return Population(mu, expected, consistency, _shares(counts))


def _log_symmetric(log_odds: Any, there: Any, width: int) -> Any:
    """Log of the sum, over which s humans are right, of the product of their odds."""
    odds = pt.exp(log_odds) * there
    nobody = pt.zeros_like(odds[..., :1])
    symmetric = pt.concatenate([nobody + 1, pt.zeros_like(odds)], axis=-1)
    for h in range(width):
        symmetric += odds[..., h : h + 1] * pt.concatenate([nobody, symmetric[..., :-1]], axis=-1)
    return pt.log(symmetric + (np.arange(width + 1) > there.sum(axis=-1)[..., None]))


def _who_was_right(
    counts: xr.Dataset, effect: Any, seats: NDArray[np.int64], n_by_right: Any
) -> None:
    """Which humans were right, given how many: the conditional likelihood of their effects."""
    width = seats.shape[-1]

    def logp(value: Any, effect: Any, seats: Any, n_by_right: Any) -> Any:
        everywhere = effect + pt.zeros((seats.shape[0], 1))
        seated = pt.take_along_axis(everywhere, pt.maximum(seats, 0), axis=-1)
        ways = _log_symmetric(seated, seats >= 0, width)
        found = (value * effect).sum(axis=-1) - (n_by_right * ways).sum(axis=-1)
        n_right = (n_by_right * pt.arange(n_by_right.shape[-1])).sum(axis=-1)
        return pt.switch(pt.eq(value.sum(axis=-1), n_right), found, -np.inf)

    dims = ("condition", "person")
    pm.CustomDist(
        "who_was_right",
        effect,
        seats,
        n_by_right,
        logp=logp,
        random=drawn_totals,
        signature="(person),(seat),(right)->(person)",
        dtype="int64",
        class_name="WhoWasRight",
        observed=pm.Data("human_totals", counts["human_right"].values.T, dims=dims),
        dims=dims,
    )


def drawn_totals(
    effect: NDArray[np.floating],
    seats: NDArray[np.integer],
    n_by_right: NDArray[np.integer],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.int64]:
    """How often each human is right, drawn jointly given on how many trials how many are."""
    batch = np.broadcast_shapes(effect.shape[:-1], seats.shape[:-1], n_by_right.shape[:-1])
    shape = batch if size is None else tuple(size)
    effect, seats, left = (
        np.broadcast_to(part, shape + part.shape[-1:]) for part in (effect, seats, n_by_right)
    )
    there, at = seats >= 0, np.maximum(seats, 0)
    odds = np.exp(np.take_along_axis(effect, at, axis=-1)) * there
    symmetric = [np.eye(1, left.shape[-1])[0] + np.zeros(left.shape)]
    for h in range(seats.shape[-1]):
        above = symmetric[-1].copy()
        above[..., 1:] += odds[..., h, None] * symmetric[-1][..., :-1]
        symmetric.append(above)
    totals = np.zeros(effect.shape, dtype=np.int64)
    for h in reversed(range(seats.shape[-1])):
        with_h = odds[..., h, None] * symmetric[h][..., :-1]
        share = np.zeros(left.shape)
        np.divide(with_h, symmetric[h + 1][..., 1:], out=share[..., 1:], where=with_h > 0)
        right = rng.binomial(left, within(share))
        person = at[..., h, None]
        own = np.take_along_axis(totals, person, axis=-1) + right.sum(axis=-1, keepdims=True)
        np.put_along_axis(totals, person, own, axis=-1)
        left = left - right
        left[..., :-1] += right[..., 1:]
    return totals


def _people(counts: xr.Dataset) -> list[NDArray[np.intp]]:
    """Persons of each condition; all must have answered every trial of it."""
    shown = counts["human_shown"].values
    trials = np.zeros(counts.sizes["condition"], dtype=np.int64)
    np.add.at(trials, counts["stratum_condition"].values, counts["n_trials"].values)
    out = []
    for d, name in enumerate(counts["condition"].values.tolist()):
        rows = np.flatnonzero(shown[:, d])
        lacking = rows[shown[rows, d] != trials[d]]
        if len(lacking):
            person = counts["person"].values[lacking[0]]
            raise ValueError(
                f"human effects need every human on every trial; {person!r} answered "
                f"{shown[lacking[0], d]} of {trials[d]} trials of {name!r}: count missing "
                "responses as errors, or use human_effects=False"
            )
        if len(rows) < 2:
            raise ValueError(
                f"human effects need at least 2 humans in each condition, {name!r} has {len(rows)}"
            )
        out.append(rows)
    return out
