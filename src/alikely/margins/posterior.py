"""Posterior of decision-margin consistency, pair by pair: by moments, quadrature, or chains.

References
----------
.. [BS08] Berger, Sun (2008). Objective priors for the bivariate normal model.
   doi:10.1214/07-AOS501
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import cluster_numbers
from alikely.inference.chains import CHAINS, nuts_many
from alikely.inference.influence import of_items
from alikely.inference.intervals import interval
from alikely.margins.checks import (
    LEVEL,
    LISTS_AS_ONE,
    Known,
    is_moved,
    known_strengths,
    pair_checks,
    pair_sides,
    raw_consistency,
)
from alikely.margins.moments import (
    FEWEST_CLASSES,
    Moments,
    Side,
    group_side,
    lists_of_items,
    moment_consistency,
    moment_limits,
    same_correlation,
    tied_ranks,
    unknown_moments,
)
from alikely.margins.strengths import (
    MOST_INFLATED,
    fit_machine,
    item_strengths,
    skew_check,
    strength_checks,
    strength_limits,
)
from alikely.margins.tables import MarginModel, answers_of_group, common_items
from alikely.metrics.alternatives import Link
from alikely.metrics.margins import (
    CONSTANT,
    FEWEST_ITEMS,
    margin_consistency,
    normal_scores,
    repeated,
)

if TYPE_CHECKING:
    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

__all__ = [
    "MarginDraws",
    "MarginModel",
    "correlation_draws",
    "entry_draws",
    "margin_draws",
    "target_accept",
]

TUNE = 500
# Of so many draws one is kept: among hundreds of strengths the r_hat of some would exceed its limit
# by chance in shorter chains.
THIN = 2
# With so many counts of observers and items behind it the posterior is nearly normal, and longer
# steps do; of .75 too few came near a corner: 7 of 100 simulated experiments had a divergence.
MANY = 4_000


class MarginDraws(NamedTuple):
    """Posterior draws of a margin table, strengths of items, notes, chains, and checks."""

    values: NDArray[np.float32]
    strength: NDArray[np.float64]
    spread: NDArray[np.float64]
    reasons: NDArray[np.object_]
    fits: Mapping[str, xr.DataTree] = MappingProxyType({})
    checks: Mapping[str, NDArray[np.float64]] = MappingProxyType({})


def correlation_draws(
    r: float, n_items: int, n_draws: int = 4_000, rng: RandomState = None
) -> NDArray[np.float64]:
    """Exact posterior draws of the correlation of two normal variables [BS08]_."""
    if not -1 <= r <= 1 or n_items < 3:
        raise ValueError(f"r must be in [-1, 1] and n_items at least 3, got {r} and {n_items}")
    if abs(r) == 1:
        return np.full(n_draws, float(r))
    generator = np.random.default_rng(seed_sequence(rng))
    z = generator.standard_normal(n_draws)
    chi_all = np.sqrt(generator.chisquare(n_items - 1, n_draws))
    chi_less = np.sqrt(generator.chisquare(n_items - 2, n_draws))
    ratio = (chi_less * r / np.sqrt(1 - r**2) - z) / chi_all
    return np.asarray(ratio / np.sqrt(1 + ratio**2))


def margin_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    m: int,
    link: Link = "m_afc",
    model: MarginModel | AskedModel = "items",
    priors: Priors | None = None,
    rng: RandomState = None,
    include: Sequence[str] = (),
) -> MarginDraws:
    """Posterior of each pair's consistency, freed of the noise of single answers."""
    # The models' room imports PyMC: only when needed.
    from alikely.models._asked import is_named, refuse_options

    named = is_named(model, get_args(MarginModel))
    refuse_options(model, {"priors": priors})
    shape: MarginModel = "items"
    if isinstance(model, str):
        shape = cast(MarginModel, model)
    if shape == "criteria":
        _check_criteria(table, m, link)
    per_chain = -(-n_draws // CHAINS)
    n_pairs, n_trials = table.sizes["pair"], table.sizes["trial"]
    values = np.full((CHAINS * per_chain, n_pairs), np.nan, dtype=np.float32)
    strength, spread = np.full((2, n_pairs, n_trials), np.nan)
    reasons = np.full(n_pairs, "", dtype=object)
    machine = table["is_machine"].values
    *seeds, chain_seed = seed_sequence(rng).spawn(n_pairs + 1)
    jobs: dict[tuple[Any, ...], list[_Job]] = {}
    for pair in range(n_pairs):
        a, b, items = common_items(table, pair)
        index = table["margins"].values[:, items]
        groups = [system for system in (a, b) if not machine[system]]
        if reason := _undefined(index, (a, b), groups):
            reasons[pair] = reason
        elif not groups:
            r = float(margin_consistency(index[a], index[b]))
            values[:, pair] = correlation_draws(r, len(items), len(values), seeds[pair])
        elif shape == "criteria" and len(groups) == 2:
            reasons[pair] = "criteria are estimated for a machine and a group: use model='items'"
        else:
            job = _job(table, pair, a, b, items, shape)
            jobs.setdefault(_shape(job), []).append(job)
    n_jobs = sum(map(len, jobs.values()))
    if not named and n_jobs > 1:
        raise ValueError(
            f"a model of your own is of one entry, and {n_jobs} need a model; select one, such as "
            "trials.select(condition=...) with pairs=[...]"
        )
    if priors:
        # Before the first is sampled: a prior that one of the models does not have is told at once.
        for alike in jobs.values():
            _model(alike[0], model, m, link, priors)
    fits: dict[str, xr.DataTree] = {}
    for alike, seed in zip(jobs.values(), chain_seed.spawn(len(jobs)), strict=True):
        trees = nuts_many(
            _model(alike[0], model, m, link, priors),
            # A model of another make need not have its data under our names.
            [job.data for job in alike] if named else [{}],
            CHAINS * per_chain,
            TUNE,
            seed,
            target_accept(_counts(alike[0]).size),
            THIN,
            include,
        )
        for job, tree in zip(alike, trees, strict=True):
            drawn = tree["posterior"].to_dataset()
            values[:, job.pair] = drawn["rho"].values.ravel()
            if job.kind != "groups":
                own = drawn["strength"].values.reshape(len(values), -1)
                strength[job.pair, job.items] = own.mean(axis=0)
                spread[job.pair, job.items] = own.std(axis=0)
            fits[str(table["pair"].values[job.pair])] = tree
    return MarginDraws(values, strength, spread, reasons, fits)


def target_accept(n_counts: int) -> float:
    """Mean acceptance to aim at when sampling strengths."""
    return 0.85 if n_counts >= MANY else 0.9


class _Job(NamedTuple):
    """One fit: which model, of which entry, on which items, with which data."""

    kind: Literal["items", "groups", "observers", "repeats", "criteria"]
    pair: int
    items: NDArray[np.intp]
    data: dict[str, Any]


def _shape(job: _Job) -> tuple[Any, ...]:
    """What jobs that share a compiled model have in common."""
    own = job.kind in ("observers", "repeats")
    # The models of observers choose their nodes and coordinates by how many answers there are.
    answers = job.data["shown"].tobytes() if own else b""
    return job.kind, _counts(job).shape, answers


def _counts(job: _Job) -> NDArray[np.int64]:
    """What the likelihood is of."""
    return np.asarray(job.data["answers" if job.kind == "criteria" else "right"])


def _check_criteria(table: xr.Dataset, m: int, link: Link) -> None:
    """Refuse what a model of answers by class cannot take."""
    if "answers" not in table:
        raise ValueError(
            "model='criteria' needs how often each class was answered; make the table with "
            "class_answers(trials, table)"
        )
    n_classes = table.sizes["class"]
    if m != n_classes or link != "m_afc":
        raise ValueError(
            f"model='criteria' has the {n_classes} classes of the trials as alternatives, and link "
            f"'m_afc'; got m={m} and link {link!r}: leave them out"
        )


def _job(
    table: xr.Dataset, pair: int, a: int, b: int, items: NDArray[np.intp], model: MarginModel
) -> _Job:
    right, shown = (table[name].values[:, items] for name in ("right", "shown"))
    machine = table["is_machine"].values
    if not (machine[a] or machine[b]):
        return _Job("groups", pair, items, {"right": right[[a, b]], "shown": shown[[a, b]]})
    group, net = (b, a) if machine[a] else (a, b)
    data = {"margins": table["margins"].values[net, items]}
    if model == "criteria":
        answers, truth = table["answers"].values[group, items], table["true_class"].values[items]
        return _Job("criteria", pair, items, data | {"answers": answers, "truth": truth})
    if model == "items":
        return _Job("items", pair, items, data | {"right": right[group], "shown": shown[group]})
    own_right, own_shown = answers_of_group(table, group, items)
    kind: Literal["observers", "repeats"] = "repeats" if repeated(own_shown) else "observers"
    return _Job(kind, pair, items, data | {"right": own_right, "shown": own_shown})


def _model(
    job: _Job, model: MarginModel | AskedModel, m: int, link: Link, priors: Priors | None
) -> Any:
    # The models' room imports PyMC: only when needed.
    from alikely.models import item_margins, observer_margins
    from alikely.models._asked import asked_model
    from alikely.models.margins import class_criteria

    made: Callable[[], Any]
    if job.kind == "criteria":
        made = functools.partial(class_criteria, **job.data, priors=priors)
    else:
        build = observer_margins if job.kind in ("observers", "repeats") else item_margins
        made = functools.partial(build, **job.data, m=m, link=link, priors=priors)
    quantities: dict[str, tuple[str, ...]] = {"rho": ()}
    if job.kind != "groups":
        quantities["strength"] = ("item",)
    items = {"item": np.arange(len(job.items))}
    made_by_name = dict.fromkeys(get_args(MarginModel), made)
    return asked_model(model, made_by_name, quantities, items, [_counts(job)])


# With fewer items a class on the average, intervals within classes say next to nothing.
FEWEST_OF_STRATUM = 2
# Of 512 points, the share below which fewer than 50 count.
SETTLED = 0.1
# Checks of which a note speaks, by model. Moments assume nothing of the others.
SAYS = {
    "moments": {
        "p_bend": "strengths bend along the margins",
        "p_within": "classes matter",
    },
    "strengths": {
        "p_line": "margins are a line in skewed strengths: too high, model='moments' assumes "
        "neither",
        "p_law": "strengths of no single hump: model='moments' assumes none",
        "p_skew": "strengths are skewed: too high unless margins bend with them, see "
        "model='moments'",
        "p_within": "classes matter to shares",
    },
}
WITHIN = ("share_within", "share_within_lb", "share_within_ub", "share_between")
CHECKED = {
    "moments": (
        "share_consistency", *WITHIN, "p_bend", "p_within", "p_skew", "p_repeats", "p_classes"
    ),
    "strengths": ("inflation", *SAYS["strengths"], "p_repeats"),
}  # fmt: skip
OPPOSITE = "of opposite sign within classes: classes make the total"


class _Entry(NamedTuple):
    items: NDArray[np.intp]
    # Clusters of the errors; each item alone if none.
    clusters: NDArray[np.intp] | None
    total: Moments
    checks: dict[str, float]
    within: Moments | None = None
    between: Moments | None = None
    # Of raw margins, corrected for noise; NaN of two machines or two groups.
    raw: float = np.nan
    remark: str = ""


def entry_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    model: Literal["moments", "strengths"] = "moments",
    m: int | None = None,
    link: Link = "m_afc",
    ci_prob: float = 0.95,
    cluster: str | None = None,
    rng: RandomState = None,
) -> MarginDraws:
    """Consistency of each pair with the noise of single answers taken off."""
    n_pairs, n_trials = table.sizes["pair"], table.sizes["trial"]
    clusters = None if cluster is None else cluster_numbers(table, cluster)
    sampled = of_items(table, cluster)
    checks = {name: np.full(n_pairs, np.nan) for name in CHECKED[model]}
    strength, spread = np.full((2, n_pairs, n_trials), np.nan)
    reasons = np.full(n_pairs, "", dtype=object)
    levels, tails = (np.arange(n_draws) + 0.5) / n_draws, [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    limits = np.empty((n_draws, n_pairs))
    known: Known = {}
    seed = seed_sequence(rng)
    parts = []
    for pair, own in enumerate(seed.spawn(n_pairs)):
        entry = _entry(table, pair, m, link, clusters, known, sampled)
        found, influences = dict(entry.checks), entry.total.slopes
        a, b, items = common_items(table, pair)
        groups = [system for system in (a, b) if not table["is_machine"].values[system]]
        if model == "moments" or not groups:
            limits[:, pair] = moment_limits(entry.total, levels)
            found |= _shares(entry, tails)
            ends = interval(limits[:, [pair]].astype(np.float32), ci_prob, "eti")[0]
            reasons[pair] = _remark(entry, ends, found)
        elif reason := _without_strengths(table, (a, b), groups, items):
            limits[:, pair], influences, reasons[pair] = np.nan, np.zeros(len(items)), reason
        else:
            assert m is not None
            group = known_strengths(table, groups[0], items, m, link, known)
            margins = table["margins"].values[b if groups == [a] else a, items]
            fit = fit_machine(group, margins, entry.clusters, rng=own)
            limits[:, pair], influences = strength_limits(fit, levels), fit.slopes
            found |= strength_checks(group, fit, margins) | {"inflation": fit.inflation}
            if "p_skew" not in found:
                found["p_skew"] = skew_check(group)
            strength[pair, items], spread[pair, items] = item_strengths(group, fit, margins)
            told = [
                _without_bound(float(np.tanh(fit.mode.at[-1])), strength_limits(fit, tails)),
                *_said("strengths", entry, found).values(),
            ]
            if fit.inflation >= MOST_INFLATED:
                told.append("items err far more than the model says: model='moments' assumes less")
            if fit.draws.efficiency < SETTLED:
                told.append("the quadrature did not settle: model='items' has chains")
            if lists_of_items(answers_of_group(table, groups[0], items)[1]).max() > 0:
                told.append(LISTS_AS_ONE)
            reasons[pair] = "; ".join(filter(None, told))
        for name in checks.keys() & found.keys():
            checks[name][pair] = found[name]
        parts.append((entry.items, influences, entry.clusters))
    ranks = tied_ranks(n_trials, parts, n_draws, seed)
    values = np.take_along_axis(limits, ranks, axis=0).astype(np.float32)
    return MarginDraws(values, strength, spread, reasons, checks=checks)


def _undefined(index: Floats, systems: tuple[int, int], groups: list[int]) -> str:
    """Why a pair has no posterior of strengths by any model, or nothing."""
    if (np.ptp(index[list(systems)], axis=1) == 0).any():
        return CONSTANT
    if any(np.isin(index[system], (0, 1)).all() for system in groups):
        return "each item is always or never answered right: too few answers an item"
    return ""


def _without_strengths(
    table: xr.Dataset, systems: tuple[int, int], groups: list[int], items: NDArray[np.intp]
) -> str:
    """Why an entry has no posterior of strengths by quadrature."""
    if reason := _undefined(table["margins"].values[:, items], systems, groups):
        return reason
    if len(groups) == 2:
        return "two groups of observers: use model='moments' or model='items'"
    return ""


def _entry(
    table: xr.Dataset,
    pair: int,
    m: int | None,
    link: Link,
    clusters: NDArray[np.intp] | None,
    known: Known,
    sampled: bool,
) -> _Entry:
    """Moments in all, within classes and between them, and the checks."""
    a, b, items = common_items(table, pair)
    kinds = table["true_class"].values[items]
    classes = np.unique(kinds, return_inverse=True)[1] if (kinds >= 0).all() else None
    if classes is not None and classes.max() == 0:
        classes = None
    few = classes is not None and classes.max() + 1 < FEWEST_CLASSES
    own = None if few else classes
    if clusters is not None:
        own = np.unique(clusters[items], return_inverse=True)[1]
    sides, strata = pair_sides(table, (a, b), items, None)
    total = _moments(table, (a, b), items, None, own, sampled)
    within = between = None
    if classes is not None:
        _, of_class = pair_sides(table, (a, b), items, classes)
        if len(items) >= FEWEST_OF_STRATUM * (int(of_class.max()) + 1):
            within = _moments(table, (a, b), items, classes, own, sampled)
        if not few:
            between = _between(table, (a, b), items, classes)
    checks: dict[str, float] = {}
    if not total.reason:
        checks = pair_checks(table, (a, b), items, sides, m, known, link, classes)
    if within is not None and not (within.reason or total.reason):
        pair_of = (total.rho, within.rho), (total.slopes, within.slopes)
        checks["p_within"] = same_correlation(*pair_of, own)
    told = ["few classes: errors are those of single items" if few and clusters is None else ""]
    if n_lists := int(strata.max()):
        told.append(f"{n_lists + 1} lists that no observer ties: compared within them")
    if classes is not None:
        told.append(_about_classes(within, classes))
    raw = np.nan
    machine = table["is_machine"].values[[a, b]]
    if machine[0] != machine[1] and not total.reason:
        margins = table["margins"].values[(a, b)[int(machine[1])], items]
        raw = raw_consistency(sides[int(machine[0])], margins, strata)
    remark = "; ".join(filter(None, told))
    return _Entry(items, own, total, checks, within, between, raw, remark)


def _moments(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    classes: NDArray[np.intp] | None,
    clusters: NDArray[np.intp] | None,
    sampled: bool,
) -> Moments:
    """Moments over items, or within their classes; sampled clusters are left out one by one."""

    def again(keep: NDArray[np.bool_]) -> Moments:
        kinds = None if classes is None else np.unique(classes[keep], return_inverse=True)[1]
        return _moments(table, systems, items[keep], kinds, None, False)

    sides, strata = pair_sides(table, systems, items, classes)
    n, n_strata = len(items), int(strata.max()) + 1
    if n < max(n_strata + 3, FEWEST_ITEMS):
        kind = "lists that no one ties" if classes is None else "lists and classes"
        return unknown_moments(f"{n} items in {n_strata} {kind}", n)
    return moment_consistency(*sides, strata, clusters, again if sampled else None)


def _about_classes(within: Moments | None, classes: NDArray[np.intp]) -> str:
    """Why there is no correlation within classes, or what has no part in it."""
    if within is None:
        return f"fewer than {FEWEST_OF_STRATUM} items a class: no correlation within"
    if within.reason:
        return f"within classes {within.reason}"
    alone = int((np.bincount(classes) == 1).sum())
    return f"classes of a single item, which say nothing within: {alone}" if alone else ""


def _between(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    classes: NDArray[np.intp],
) -> Moments:
    """Correlation of the means of classes, corrected for noise."""
    n_classes = int(classes.max()) + 1
    alike = np.zeros(n_classes, np.intp)
    sides = []
    for system in systems:
        if table["is_machine"].values[system]:
            scores = normal_scores(table["margins"].values[system, items])
            mean = np.bincount(classes, scores) / np.bincount(classes)
            ease = mean - mean.mean()
            none = np.zeros((0, n_classes))
            sides.append(Side(ease, ease**2, none, none, none, None, mean))
        else:
            right, shown = answers_of_group(table, system, items)
            kinds = classes == np.arange(n_classes)[:, None]
            sides.append(group_side(right @ kinds.T, shown @ kinds.T, alike))
    return moment_consistency(sides[0], sides[1], alike)


def _shares(entry: _Entry, tails: list[float]) -> dict[str, float]:
    """Correlations of shares in all, within classes and between them."""
    found = {"share_consistency": entry.total.rho}
    if entry.within is not None:
        ends = moment_limits(entry.within, tails).tolist()
        found |= dict(zip(WITHIN, (entry.within.rho, *ends), strict=False))
    if entry.between is not None:
        found["share_between"] = entry.between.rho
    return found


def _said(model: str, entry: _Entry, checks: dict[str, float]) -> dict[str, str]:
    """What the checks of an entry found, by their names."""
    level = LEVEL / len(SAYS[model])
    said = {name: text for name, text in SAYS[model].items() if checks.get(name, 1.0) < level}
    if "p_within" in said and entry.within is not None:
        numbers = f"({entry.total.rho:.2f} in all, {entry.within.rho:.2f} within)"
        said["p_within"] += f" {numbers}"
    return said


def _remark(entry: _Entry, bounds: Floats, found: dict[str, float]) -> str:
    """What a reader should know of moments."""
    if entry.total.reason:
        return entry.total.reason
    rho = entry.total.rho
    told = [entry.remark]
    if abs(rho) > 1:
        told.append(f"freed of noise the estimate is {rho:.2f}")
    told.append(_without_bound(rho, bounds))
    said = _said("moments", entry, found)
    if "p_bend" in said:
        if is_moved(entry.raw, bounds):
            said["p_bend"] += f" (freed of noise raw {entry.raw:.2f}, by order {rho:.2f})"
        else:
            # A bend that leaves the correlation where it is matters to nobody.
            del said["p_bend"]
    told += said.values()
    sure = found.get("share_within_lb", np.nan) * found.get("share_within_ub", np.nan) > 0
    if sure and rho * found["share_within"] < 0:
        told.append(OPPOSITE)
    return "; ".join(filter(None, told))


def _without_bound(rho: float, bounds: Floats) -> str:
    """Note for limits at the end of the range of correlations, on one side or both."""
    below, above = bounds[0] <= -1 and rho > 0, bounds[1] >= 1 and rho < 0
    if bounds[0] <= -1 and bounds[1] >= 1:
        side = ""
    elif below or above:
        side = "lower " if below else "upper "
    else:
        return ""
    return f"no {side}bound: the group's reliability may be 0"
