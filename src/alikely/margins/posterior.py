"""Posterior of decision-margin consistency, pair by pair: exact for machines, NUTS for groups.

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

from alikely._base.random import RandomState, seed_sequence
from alikely.inference.chains import CHAINS, nuts_many
from alikely.margins.tables import answers_of_group, common_items
from alikely.metrics.alternatives import Link
from alikely.metrics.margins import CONSTANT, margin_consistency, repeated

if TYPE_CHECKING:
    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

__all__ = ["MarginDraws", "MarginModel", "correlation_draws", "margin_draws", "target_accept"]

MarginModel = Literal["items", "observers", "criteria"]
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
        if np.ptp(index[a]) == 0 or np.ptp(index[b]) == 0:
            reasons[pair] = CONSTANT
        elif not groups:
            r = float(margin_consistency(index[a], index[b]))
            values[:, pair] = correlation_draws(r, len(items), len(values), seeds[pair])
        elif any(np.isin(index[system], (0, 1)).all() for system in groups):
            reasons[pair] = "each item is always or never answered right: too few answers an item"
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
