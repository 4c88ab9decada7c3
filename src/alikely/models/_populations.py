"""Response models of humans: exchangeable, or a random sample.

References
----------
.. [B68] Birnbaum (1968). Some latent trait models and their use in inferring an examinee's
   ability. In: Lord, Novick, Statistical theories of mental test scores.
.. [BA81] Bock, Aitkin (1981). Marginal maximum likelihood estimation of item parameters:
   application of an EM algorithm. doi:10.1007/BF02293801
.. [S48] Skellam (1948). A probability distribution derived from the binomial distribution by
   regarding the probability of success as variable between the sets of trials.
   doi:10.1111/j.2517-6161.1948.tb00014.x
.. [T82] Thissen (1982). Marginal maximum likelihood estimation for the one-parameter logistic
   model. doi:10.1007/BF02296273
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from scipy import linalg

from alikely._base.arrays import normal_nodes
from alikely.data.blocks import LEFT_OUT
from alikely.models._parts import TINY, averages, informed, log_odds, spread, sums, tensor_within

# A logistic curve is nearly a normal one of 1.7 times the width: 1 / 1.7**2.
FLATTENING = 0.346
# Logits of items spread by w have error consistency r with r / (1 - r) about w**2 / ICC.
ICC = 4.6
# Error consistency by moments may be anything; what shapes coordinates stays inside.
ALIKE = (0.05, 0.95)
# Steps of 0.4 of the spread of the images: narrow enough for the information of a dozen humans.
EASES = np.linspace(-4.8, 4.8, 25)
EASE_SHARES = np.exp(-(EASES**2) / 2) / np.exp(-(EASES**2) / 2).sum()
# People of the population, in ability and in loading: scores are off by .0003 where both spread
# by .5, and by .003 where by 1.3.
KINDS, WEIGHTS = normal_nodes(5)
KIND_SHARES = np.outer(WEIGHTS, WEIGHTS).ravel()
# What a trial tells of the logarithm of a loading, about; it shapes coordinates alone.
OF_LOADING = 0.1


class Population(NamedTuple):
    """Quantities of the human population on which the parameters of models depend."""

    accuracy: Any
    consistency: Any
    expected: Any
    share: Any


def _seen(counts: xr.Dataset) -> tuple[dict[int, tuple[NDArray[np.intp], Any]], tuple[Any, ...]]:
    """Add the counts of correct humans to the model, and estimate parameters by their moments."""
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
    return data, _moments(total[0], *(total[i] / total[0] for i in (1, 2, 3)))


def dispersion(n_trials: Any, share: Any, square: Any, one: Any) -> tuple[Any, Any, Any]:
    """Compute the proportion correct of humans, the variance of one response, and consistency."""
    mean = (share * n_trials + 0.5) / (n_trials + 1)
    even = mean * (1 - mean)
    # Shares of right humans spread from as much as by chance to as much as if all were one.
    alike = ((square - share**2) / even - one) / pt.maximum(1 - one, TINY)
    return mean, even, pt.clip(alike, *ALIKE)


def _moments(n_trials: Any, share: Any, square: Any, one: Any) -> tuple[Any, Any, Any, Any]:
    """Levels and consistencies by the numbers of correct humans, each with its information."""
    mean, even, alike = dispersion(n_trials, share, square, one)
    inflated = one + (1 - one) * alike
    # As of a normal variable, from so many trials as would say as much if half were right.
    variance = 2 * (1 - alike) ** 2 * inflated**2 / pt.maximum(one * (1 - one), TINY)
    return (
        log_odds(mean),
        n_trials * even / inflated,
        log_odds(alike),
        (alike * (1 - alike)) ** 2 * 4 * even * n_trials / variance,
    )


def _levels(seen: Any, information: Any, n: int) -> Any:
    """Log odds of a correct human response to a random trial, by condition."""
    mean = pm.Normal("human_level_mean", 0, 1.5)
    sd = spread("human_level_sd", 1, n)
    # Chains that start far off may stay there: a wide spread of items looks like any accuracy.
    return informed("human_level", mean, sd, seen, information, "condition")


def _by_dataset(
    name: str, center: tuple[float, float], counts: xr.Dataset, seen: Any, information: Any
) -> Any:
    """Parameter of each condition around that of its data set."""
    position, names = pd.factorize(counts["dataset"].values)
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


def exchangeable(counts: xr.Dataset) -> Population:
    """Exchangeable humans: the number of humans who are correct is beta-binomial [S48]_."""
    data, (level, level_information, *known) = _seen(counts)
    mu = pm.math.invlogit(_levels(level, level_information, counts.sizes["condition"]))
    alike = pm.math.invlogit(_by_dataset("human_consistency", (0, 1), counts, *known))
    pm.Deterministic("human_accuracy", mu, dims="condition")
    pm.Deterministic("human_error_consistency", alike, dims="condition")
    phi = 1 / alike - 1
    alpha, beta = mu * phi, (1 - mu) * phi
    for n, (conditions, observed) in data.items():
        betabinomial = pm.BetaBinomial.dist(alpha[conditions, None], beta[conditions, None], n)
        pm.Multinomial(
            f"human_counts_{n}",
            n=observed.sum(axis=-1),
            # Logarithms of a certainty may be rounded to more than 0.
            p=tensor_within(pt.exp(pm.logp(betabinomial, np.arange(n + 1)[None]))),
            observed=observed,
            dims=(f"condition_{n}", f"right_{n}"),
        )
    here, n_right, n_humans = (
        counts[name].values for name in ("stratum_condition", "n_right", "n_humans")
    )
    expected = (alpha[here] + n_right) / (phi[here] + n_humans)
    return Population(mu, alike, expected, n_right / np.maximum(n_humans, 1))


class _Layout(NamedTuple):
    """Which persons took part in which conditions."""

    seats: NDArray[np.intp]
    there: NDArray[np.bool_]
    right: NDArray[np.int64]
    group: NDArray[np.intp]
    present: NDArray[np.bool_]
    group_condition: NDArray[np.intp]
    place: NDArray[np.intp]
    slot: NDArray[np.intp]
    contrasts: NDArray[np.float64]
    dataset_of_person: NDArray[np.intp]
    dataset_of_condition: NDArray[np.intp]


class People(NamedTuple):
    """Quantities of a sample of humans on which the parameters of models depend."""

    layout: _Layout
    spread: Any
    posterior: Any
    p_anyone: Any
    p_mean: Any
    p_own: Any
    share: Any


def drawn(counts: xr.Dataset) -> People:
    """Humans as a random sample: a two-parameter logistic model [B68]_."""
    layout = _layout(counts)
    n_trials = pm.Data("human_data", counts["n_trials"].values, dims="stratum")
    right = pm.Data("human_right", layout.right, dims=("stratum", "seat"))
    seen = _seen_of_people(counts, layout, n_trials, right)
    wide = (seen[2] + np.log(ICC)) / 2, 4 * seen[3]
    spread = pt.exp(_by_dataset("human_spread", (np.log(2), 0.5), counts, *wide))
    level = _levels(seen[0], seen[1], counts.sizes["condition"])

    ability_sd = pm.HalfNormal("ability_sd", 0.5)
    loading_sd = pm.HalfNormal("loading_sd", 0.5)
    n_shown, n_own = _totals(counts, layout, n_trials, right)
    p = (n_own + 0.5) / (n_shown + 1)
    told = log_odds(p), n_shown * p * (1 - p)
    ability, of_level = _deviations("ability", ability_sd, layout, *told)
    follows, of_spread = _deviations("loading", loading_sd, layout, 0 * p, OF_LOADING * n_shown)
    here = layout.dataset_of_condition
    pm.Deterministic("ability", ability + of_level[layout.dataset_of_person], dims="person")
    pm.Deterministic(
        "loading", pt.exp(follows + of_spread[layout.dataset_of_person]), dims="person"
    )

    own = curve(
        level[:, None] + ability[layout.seats], spread[:, None] * pt.exp(follows[layout.seats])
    )
    # Levels and spreads are those of the people who answered, means of abilities and of logarithms
    # of loadings: of these the data tell, and chains mix.
    x, y = (axis.ravel() for axis in np.meshgrid(KINDS, KINDS, indexing="ij"))
    anyone = curve(
        (level - of_level[here])[:, None] + ability_sd * x,
        (spread * pt.exp(-of_spread[here]))[:, None] * pt.exp(loading_sd * y),
    )
    p_anyone = pm.math.invlogit(at_eases(anyone))
    p_mean = (KIND_SHARES[:, None] * p_anyone).sum(axis=1)
    log_joint = _log_joint(layout, own, right)
    log_total = pt.logsumexp(log_joint, axis=-1)
    _answers_together(counts, layout, n_trials, log_total)
    p_own = pm.math.invlogit(at_eases(own))
    _of_humans(layout, p_anyone, p_mean, p_own)
    return People(
        layout,
        spread,
        pt.exp(log_joint - log_total[:, None]),
        p_anyone,
        p_mean,
        p_own,
        _right_share(layout, right),
    )


def _right_share(layout: _Layout, right: Any) -> Any:
    """Proportion of the humans who responded that were correct."""
    return right.sum(axis=1) / np.maximum(layout.present.sum(axis=1), 1)[layout.group]


def curve(level: Any, slope: Any) -> tuple[Any, Any]:
    """Log-odds intercept and slope, approximately corrected for averaging over images."""
    return level * pt.sqrt(1 + FLATTENING * slope**2), slope


def at_eases(curve: tuple[Any, Any]) -> Any:
    """Log odds at all quadrature nodes of image easiness, on the last axis."""
    return curve[0][..., None] + curve[1][..., None] * EASES


def _deviations(
    name: str, sd: Any, layout: _Layout, seen: Any, information: Any
) -> tuple[Any, Any]:
    """Deviations of humans from the mean of their data set, and of that from the population."""
    basis = layout.contrasts
    known = (basis**2).T @ information
    free = informed(f"{name}_contrast", 0, sd, basis.T @ seen, known, "contrast")
    n_humans = np.bincount(layout.dataset_of_person)
    mean = pm.Normal(f"{name}_mean_deviate", 0, 1, dims="dataset")
    return pt.dot(basis, free), sd * mean / np.sqrt(n_humans)


def _log_joint(layout: _Layout, own: tuple[Any, Any], right: Any) -> Any:
    """Joint log probability of the responses of a stratum and the easiness of its image."""
    intercept, slope = ((right * part[layout.place]).sum(axis=1) for part in own)
    # All wrong, of those who were there.
    wrong = pt.softplus(at_eases(own))[layout.group_condition]
    nobody = -(wrong * layout.present[:, :, None]).sum(axis=1) + np.log(EASE_SHARES)
    return intercept[:, None] + slope[:, None] * EASES + nobody[layout.group]


def _of_humans(layout: _Layout, p_anyone: Any, p_mean: Any, p_own: Any) -> None:
    """Accuracy of a new human, error consistency of two new ones, and of pairs of these."""
    pm.Deterministic("human_accuracy", over_images(p_mean), dims="condition")
    new = np.outer(KIND_SHARES, KIND_SHARES)
    others = layout.there[:, :, None] & layout.there[:, None, :]
    others &= ~np.eye(others.shape[1], dtype=bool)
    these = others / others.sum(axis=(1, 2), keepdims=True)
    for end, p, weight in (("", p_anyone, new), ("_these", p_own, these)):
        kappa = kappas(p, p, pt.matmul(p * EASE_SHARES, p.swapaxes(1, 2)))
        pm.Deterministic(
            f"human_error_consistency{end}", (weight * kappa).sum(axis=(1, 2)), dims="condition"
        )


def over_images(p: Any) -> Any:
    """Average probabilities at the quadrature nodes over images."""
    return (p * EASE_SHARES).sum(axis=-1)


def kappas(first: Any, second: Any, both: Any) -> Any:
    """Compute error consistency of each first with each second observer: (..., first, second)."""
    a, b = over_images(first)[..., :, None], over_images(second)[..., None, :]
    return 2 * (both - a * b) / (a * (1 - b) + (1 - a) * b)


def _answers_together(counts: xr.Dataset, layout: _Layout, n_trials: Any, log_share: Any) -> None:
    """Frequency of each response pattern among humans who saw the same trials."""
    n_groups = len(layout.present)

    def logp(value: Any, log_share: Any, total: Any) -> Any:
        return pt.sum(value * log_share - pt.gammaln(value + 1)) + pt.sum(pt.gammaln(total + 1))

    def random(log_share: Any, total: Any, rng: np.random.Generator, size: Any = None) -> Any:
        shape = np.shape(log_share) if size is None else (*size, np.shape(log_share)[-1])
        share = np.broadcast_to(np.exp(log_share), shape)
        total = np.broadcast_to(np.asarray(total, dtype=np.int64), (*shape[:-1], n_groups))
        found = np.zeros(shape, dtype=np.int64)
        for k in range(n_groups):
            here = np.flatnonzero(layout.group == k)
            p = share[..., here]
            rest = np.maximum(1 - p.sum(axis=-1, keepdims=True), 0)
            p = np.concatenate([p, rest], axis=-1)
            found[..., here] = rng.multinomial(total[..., k], p / p.sum(-1, keepdims=True))[
                ..., :-1
            ]
        return found

    pm.CustomDist(
        "who_was_right",
        log_share,
        sums(n_trials, layout.group, n_groups),
        logp=logp,
        random=random,
        signature="(s),(g)->(s)",
        dtype="int64",
        class_name="WhoWasRight",
        observed=n_trials,
        dims="stratum",
    )


def _seen_of_people(
    counts: xr.Dataset, layout: _Layout, n_trials: Any, right: Any
) -> tuple[Any, ...]:
    """Moments of the numbers of correct humans, by condition."""
    n_humans = layout.present[layout.group].sum(axis=1)
    share = _right_share(layout, right)
    used = n_trials * (n_humans > 0)
    each = (used, used * share, used * share**2, used / np.maximum(n_humans, 1))
    total = [sums(part, layout.place, counts.sizes["condition"]) for part in each]
    return _moments(total[0], *(part / total[0] for part in total[1:]))


def _totals(counts: xr.Dataset, layout: _Layout, n_trials: Any, right: Any) -> tuple[Any, Any]:
    """Numbers of trials and of correct responses of each person."""
    person = layout.seats[layout.place]
    present = layout.present[layout.group]
    n = counts.sizes["person"]
    taken = np.flatnonzero(present.ravel())

    def by_person(values: Any) -> Any:
        return sums(values.ravel()[taken], person.ravel()[taken], n)

    return by_person(n_trials[:, None] * present), by_person(n_trials[:, None] * right)


def _layout(counts: xr.Dataset) -> _Layout:
    if "answers" not in counts:
        raise ValueError(
            "human_effects='drawn' needs counts by who was correct; make them with "
            "alikely.data.cohort_counts(trials, who_was_right=True)"
        )
    place = counts["stratum_condition"].values
    answers = counts["answers"].values
    shown = counts["human_shown"].values > 0
    people = [np.flatnonzero(shown[:, d]) for d in range(counts.sizes["condition"])]
    width = max(map(len, people))
    there = np.array([[h < len(rows) for h in range(width)] for rows in people])
    seats = np.array([[*rows, *[0] * (width - len(rows))] for rows in people])
    seated = np.where(there[place], np.take_along_axis(answers, seats[place], axis=1), LEFT_OUT)
    present = seated != LEFT_OUT
    groups, group = np.unique(
        np.concatenate([place[:, None], present], axis=1), axis=0, return_inverse=True
    )
    of_condition, datasets = pd.factorize(counts["dataset"].values)
    of_person = pd.Index(datasets).get_indexer(counts["person_dataset"].values)
    alone = np.flatnonzero(there.sum(axis=1) < 2)
    if len(alone):
        name = counts["condition"].values[alone[0]]
        raise ValueError(
            "human_effects='drawn' needs at least 2 humans in each condition, "
            f"{name!r} has {there[alone[0]].sum()}; use human_effects=False"
        )
    pm.modelcontext(None).add_coords(
        {
            "stratum": np.arange(len(place)),
            "seat": np.arange(width),
            "contrast": np.arange(len(of_person) - len(datasets)),
        }
    )
    return _Layout(
        seats,
        there,
        (seated == 1).astype(np.int64),
        group.ravel(),
        groups[:, 1:].astype(bool),
        groups[:, 0],
        place,
        pd.Series(place).groupby(place).cumcount().to_numpy(),
        _contrasts(of_person),
        of_person,
        of_condition,
    )


def _contrasts(group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Orthonormal columns that sum to zero within each group: (person, contrast)."""
    columns = np.zeros((len(group), len(group) - group.max() - 1))
    at = 0
    for k in range(group.max() + 1):
        rows = np.flatnonzero(group == k)
        columns[rows, at : at + len(rows) - 1] = linalg.helmert(len(rows)).T
        at += len(rows) - 1
    return columns
