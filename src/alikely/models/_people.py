"""Humans drawn from a population of people, who differ in accuracy and in what they find hard.

References
----------
.. [B68] Birnbaum (1968). Some latent trait models and their use in inferring an examinee's
   ability. In: Lord, Novick, Statistical theories of mental test scores.
.. [BA81] Bock, Aitkin (1981). Marginal maximum likelihood estimation of item parameters:
   application of an EM algorithm. doi:10.1007/BF02293801
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import normal_nodes
from alikely.data.blocks import LEFT_OUT
from alikely.models._entries import Seen, shared_of_entries
from alikely.models._placed import informed
from alikely.models._populations import (
    FLATTENING,
    ICC,
    by_dataset,
    levels,
    log_odds,
    moments,
    sums,
)

__all__ = ["People", "drawn", "followers"]

# Steps of .4 of the spread of the images: narrow enough for what a dozen people tell of one.
NODES = np.linspace(-4.8, 4.8, 25)
SHARES = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
# People of the population, in ability and in loading: scores are off by .0003 where both spread
# by .5, and by .003 where by 1.3.
KINDS, WEIGHTS = normal_nodes(5)
KIND_SHARES = np.outer(WEIGHTS, WEIGHTS).ravel()
# What a trial tells of the logarithm of a loading, about; it shapes coordinates alone.
OF_LOADING = 0.1


class _Layout(NamedTuple):
    """Who sat where."""

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
    """What machines need to know of people drawn from a population."""

    layout: _Layout
    spread: Any
    posterior: Any
    p_anyone: Any
    p_mean: Any
    p_own: Any
    share: Any


def drawn(counts: xr.Dataset) -> People:
    """Humans drawn from a population: a two-parameter logistic model [B68]_ of random people."""
    layout = _layout(counts)
    n_trials = pm.Data("human_data", counts["n_trials"].values, dims="stratum")
    right = pm.Data("human_right", layout.right, dims=("stratum", "seat"))
    seen = _seen(counts, layout, n_trials, right)
    wide = (seen[2] + np.log(ICC)) / 2, 4 * seen[3]
    spread = pt.exp(by_dataset("human_spread", (np.log(2), 0.5), counts, *wide))
    level = levels(seen[0], seen[1], counts.sizes["condition"])

    ability_sd = pm.HalfNormal("ability_sd", 0.5)
    loading_sd = pm.HalfNormal("loading_sd", 0.5)
    n_shown, n_own = _totals(counts, layout, n_trials, right)
    p = (n_own + 0.5) / (n_shown + 1)
    told = log_odds(p), n_shown * p * (1 - p)
    ability, of_level = _people("ability", ability_sd, layout, *told)
    follows, of_spread = _people("loading", loading_sd, layout, 0 * p, OF_LOADING * n_shown)
    here = layout.dataset_of_condition
    pm.Deterministic("ability", ability + of_level[layout.dataset_of_person], dims="person")
    pm.Deterministic(
        "loading", pt.exp(follows + of_spread[layout.dataset_of_person]), dims="person"
    )

    own = _curve(
        level[:, None] + ability[layout.seats], spread[:, None] * pt.exp(follows[layout.seats])
    )
    # Levels and spreads are those of the people who answered, means of abilities and of logarithms
    # of loadings: of these the data tell, and chains mix.
    x, y = (axis.ravel() for axis in np.meshgrid(KINDS, KINDS, indexing="ij"))
    anyone = _curve(
        (level - of_level[here])[:, None] + ability_sd * x,
        (spread * pt.exp(-of_spread[here]))[:, None] * pt.exp(loading_sd * y),
    )
    p_anyone = pm.math.invlogit(_at_nodes(anyone))
    p_mean = (KIND_SHARES[:, None] * p_anyone).sum(axis=1)
    log_joint = _log_joint(layout, own, right)
    log_total = pt.logsumexp(log_joint, axis=-1)
    _who_was_right(counts, layout, n_trials, log_total)
    p_own = pm.math.invlogit(_at_nodes(own))
    _of_humans(layout, p_anyone, p_mean, p_own)
    return People(
        layout,
        spread,
        pt.exp(log_joint - log_total[:, None]),
        p_anyone,
        p_mean,
        p_own,
        _shares(layout, right),
    )


def _shares(layout: _Layout, right: Any) -> Any:
    """Of the humans who answered, those who were right."""
    return right.sum(axis=1) / np.maximum(layout.present.sum(axis=1), 1)[layout.group]


def _curve(level: Any, slope: Any) -> tuple[Any, Any]:
    """Intercept and slope in log odds; averaging over images flattens a curve about so much."""
    return level * pt.sqrt(1 + FLATTENING * slope**2), slope


def _at_nodes(curve: tuple[Any, Any]) -> Any:
    """Log odds at all nodes, on the last axis."""
    return curve[0][..., None] + curve[1][..., None] * NODES


def _people(name: str, sd: Any, layout: _Layout, seen: Any, information: Any) -> tuple[Any, Any]:
    """Deviations of people from the mean of their data set, and that mean from the population's."""
    basis = layout.contrasts
    known = (basis**2).T @ information
    free = informed(f"{name}_contrast", 0, sd, basis.T @ seen, known, "contrast")
    n_people = np.bincount(layout.dataset_of_person)
    mean = pm.Normal(f"{name}_mean_deviate", 0, 1, dims="dataset")
    return pt.dot(basis, free), sd * mean / np.sqrt(n_people)


def _log_joint(layout: _Layout, own: tuple[Any, Any], right: Any) -> Any:
    """Log probability of the answers of a stratum together with the ease of its image."""
    intercept, slope = ((right * part[layout.place]).sum(axis=1) for part in own)
    # All wrong, of those who were there.
    wrong = pt.softplus(_at_nodes(own))[layout.group_condition]
    nobody = -(wrong * layout.present[:, :, None]).sum(axis=1) + np.log(SHARES)
    return intercept[:, None] + slope[:, None] * NODES + nobody[layout.group]


def _of_humans(layout: _Layout, p_anyone: Any, p_mean: Any, p_own: Any) -> None:
    """Accuracy of a new human, error consistency of two new ones, and of pairs of these."""
    pm.Deterministic("human_accuracy", _mean(p_mean), dims="condition")
    new = np.outer(KIND_SHARES, KIND_SHARES)
    others = layout.there[:, :, None] & layout.there[:, None, :]
    others &= ~np.eye(others.shape[1], dtype=bool)
    these = others / others.sum(axis=(1, 2), keepdims=True)
    for end, p, weight in (("", p_anyone, new), ("_these", p_own, these)):
        kappa = _kappa(p, p, pt.matmul(p * SHARES, p.swapaxes(1, 2)))
        pm.Deterministic(
            f"human_error_consistency{end}", (weight * kappa).sum(axis=(1, 2)), dims="condition"
        )


def _mean(p: Any) -> Any:
    """Over images, of probabilities at the nodes."""
    return (p * SHARES).sum(axis=-1)


def _kappa(first: Any, second: Any, both: Any) -> Any:
    """Error consistency of all of the first with all of the second: (..., first, second)."""
    a, b = _mean(first)[..., :, None], _mean(second)[..., None, :]
    return 2 * (both - a * b) / (a * (1 - b) + (1 - a) * b)


def followers(layout: dict[str, Any], seen: Seen, humans: People, level: Any) -> Any:
    """Machines that follow what people find easy, more or less steeply than they do."""
    at, machine = layout["condition_of_entry"], layout["machine_of_entry"]
    typical = 2 * (pt.log1p(seen.alike) - pt.log1p(-seen.alike))
    told = seen.ratio / typical, seen.ratio_information * typical**2
    following = shared_of_entries("following", 0.25, layout, told, {})
    p = pm.math.invlogit(_at_nodes(_curve(level, humans.spread[at] * following)))
    accuracy = pm.Deterministic("accuracy", _mean(p), dims="entry")
    # The line in the probability of a random human that is nearest to the curve.
    mu = _mean(humans.p_mean)[at]
    away = humans.p_mean[at] - mu[:, None]
    copying = _mean((p - accuracy[:, None]) * away) / _mean(away**2)
    pm.Deterministic("copy_probability", copying, dims="entry")
    pm.Deterministic("right_alone", accuracy - copying * mu, dims="entry")
    there = humans.layout.there
    weight = there / there.sum(axis=1, keepdims=True)
    everywhere = np.broadcast_to(KIND_SHARES, (len(there), len(KIND_SHARES)))
    known = (("", humans.p_anyone, everywhere), ("_these", humans.p_own, weight))
    for end, other, share in known:
        one, others = p[:, None, :], other[at]
        kappa = _kappa(one, others, _mean(one * others)[:, None, :])[:, 0, :]
        pm.Deterministic(f"error_consistency{end}", (share[at] * kappa).sum(axis=1), dims="entry")
    place, slot = humans.layout.place, humans.layout.slot
    stratum = np.zeros((len(there), slot.max() + 1), dtype=np.intp)
    stratum[place, slot] = np.arange(len(place))
    entry = np.zeros((len(there), machine.max() + 1), dtype=np.intp)
    entry[at, machine] = np.arange(len(at))
    found = pt.matmul(humans.posterior[stratum], p[entry].swapaxes(1, 2))
    row, of = layout["stratum_of_row"], layout["entry_of_row"]
    return found[place[row], slot[row], machine[of]]


def _who_was_right(counts: xr.Dataset, layout: _Layout, n_trials: Any, log_share: Any) -> None:
    """How often each pattern of answers occurred, of those who answered together."""
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


def _seen(counts: xr.Dataset, layout: _Layout, n_trials: Any, right: Any) -> tuple[Any, ...]:
    """Moments of the numbers of right humans, by condition."""
    n_humans = layout.present[layout.group].sum(axis=1)
    share = _shares(layout, right)
    used = n_trials * (n_humans > 0)
    each = (used, used * share, used * share**2, used / np.maximum(n_humans, 1))
    total = [sums(part, layout.place, counts.sizes["condition"]) for part in each]
    return moments(total[0], *(part / total[0] for part in total[1:]))


def _totals(counts: xr.Dataset, layout: _Layout, n_trials: Any, right: Any) -> tuple[Any, Any]:
    """Trials of each person, and right answers."""
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
            "people drawn from a population need counts by who was right; make them with "
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
    datasets = list(dict.fromkeys(counts["dataset"].values.tolist()))
    of_person = np.array([datasets.index(name) for name in counts["person_dataset"].values])
    alone = np.flatnonzero(there.sum(axis=1) < 2)
    if len(alone):
        name = counts["condition"].values[alone[0]]
        raise ValueError(
            "people drawn from a population need at least 2 humans in each condition, "
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
        np.array([np.sum(place[:s] == c) for s, c in enumerate(place)]),
        _contrasts(of_person),
        of_person,
        np.array([datasets.index(name) for name in counts["dataset"].values]),
    )


def _contrasts(group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Orthonormal columns that sum to zero within each group: (person, contrast)."""
    columns = []
    for k in range(group.max() + 1):
        rows = np.flatnonzero(group == k)
        for n in range(1, len(rows)):
            column = np.zeros(len(group))
            column[rows[:n]], column[rows[n]] = 1 / n, -1
            columns.append(column / np.sqrt(1 + 1 / n))
    return np.stack(columns, axis=1)
