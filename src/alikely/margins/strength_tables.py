"""Posteriors of the correlations of strengths of all entries of a margin table, tied together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import cluster_numbers
from alikely.margins.assumptions import LEVEL
from alikely.margins.checks import repeat_check
from alikely.margins.moments import FEWEST_CLASSES, moment_limits
from alikely.margins.remarks import LISTS_AS_ONE
from alikely.margins.residuals import (
    class_residuals,
    law_check,
    line_check,
    residuals,
    skew_check,
)
from alikely.margins.shares import (
    FEWEST_OF_STRATUM,
    OPPOSITE,
    classes_matter,
    pair_moments,
    without_bound,
)
from alikely.margins.sides import lists_of_items
from alikely.margins.strengths import (
    MOST_INFLATED,
    GroupStrengths,
    StrengthFit,
    fit_groups,
    fit_machine,
    group_strengths,
    item_strengths,
    strength_limits,
)
from alikely.margins.tables import answers_of_group
from alikely.margins.ties import Influence, tied_ranks
from alikely.margins.within import classes_differ, varied_within, within_classes
from alikely.metrics.alternatives import Link
from alikely.metrics.margins import CONSTANT

__all__ = ["StrengthDraws", "strength_draws"]

# Of 512 points, the share below which fewer than 50 count.
SETTLED = 0.1
SAYS = {
    "p_line": "margins are a line in skewed strengths: too high, model='moments' assumes neither",
    "p_law": "strengths of no single hump: model='moments' assumes none",
    "p_within": "classes matter",
    "p_skew": "strengths are skewed: too high unless margins bend with them, see model='moments'",
}
REMARKED = LEVEL / len(SAYS)
WITHIN = ("strength_within", "strength_within_lb", "strength_within_ub", "strength_between")

# A group, and the items that it is compared on.
Key = tuple[int, bytes]


class StrengthDraws(NamedTuple):
    """Noise-free consistencies on the scale of strengths."""

    values: NDArray[np.float32]
    strength: NDArray[np.float64]
    spread: NDArray[np.float64]
    beside: dict[str, Floats]
    reasons: NDArray[np.object_]


def strength_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    m: int,
    link: Link = "m_afc",
    ci_prob: float = 0.95,
    cluster: str | None = None,
    rng: RandomState = None,
) -> StrengthDraws:
    """Correlation of strengths of each pair, by quadrature: a tenth of a second each."""
    n_pairs, n_trials = table.sizes["pair"], table.sizes["trial"]
    clusters = None if cluster is None else cluster_numbers(table, cluster)
    names = ("inflation", *WITHIN, "p_residuals", *SAYS, "p_repeats")
    beside = {name: np.full(n_pairs, np.nan) for name in names}
    strength, spread = np.full((2, n_pairs, n_trials), np.nan)
    reasons = np.full(n_pairs, "", dtype=object)
    levels = (np.arange(n_draws) + 0.5) / n_draws
    limits = np.full((n_draws, n_pairs), np.nan)
    parts = []
    known: dict[Key, GroupStrengths] = {}
    told: dict[Key, dict[str, float]] = {}
    *seeds, tie_seed = seed_sequence(rng).spawn(n_pairs + 1)
    for pair in range(n_pairs):
        job = _job(table, pair, clusters)
        if job.reason:
            reasons[pair] = job.reason
            parts.append(Influence(job.items, np.zeros(len(job.items)), job.clusters))
            continue
        if not job.groups:
            found, influence = pair_moments(table, pair, clusters)
            limits[:, pair] = moment_limits(found, levels)
            reasons[pair] = found.reason
            parts.append(influence)
            continue
        groups = [_group(table, system, job.items, m, link, known) for system in job.groups]
        checks: dict[str, float] = {}
        if job.margins is None:
            fit = fit_groups(groups[0], groups[1], job.clusters, rng=seeds[pair])
        else:
            fit = fit_machine(groups[0], job.margins, job.clusters, rng=seeds[pair])
            mean, sd = item_strengths(groups[0], fit, job.margins)
            strength[pair, job.items], spread[pair, job.items] = mean, sd
            key = (job.groups[0], job.items.tobytes())
            if key not in told:
                told[key] = _checks_of_group(table, job, groups[0])
            checks = (
                told[key] | _checks(job, groups[0], fit) | _within(job, groups[0], fit, ci_prob)
            )
        limits[:, pair] = strength_limits(fit, levels)
        checks["inflation"] = fit.inflation
        for name, value in checks.items():
            beside[name][pair] = value
        checks["total"] = float(np.tanh(fit.mode.at[-1]))
        ends = strength_limits(fit, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
        told_of = _remark(table, job, checks, fit.draws.efficiency)
        reasons[pair] = "; ".join(filter(None, (without_bound(checks["total"], ends), told_of)))
        parts.append(Influence(job.items, fit.slopes, job.clusters))
    ranks = tied_ranks(n_trials, parts, n_draws, tie_seed)
    values = np.take_along_axis(limits, ranks, axis=0).astype(np.float32)
    return StrengthDraws(values, strength, spread, beside, reasons)


class _Job(NamedTuple):
    items: NDArray[np.intp]
    groups: list[int]
    margins: Floats | None
    classes: NDArray[np.intp] | None
    clusters: NDArray[np.intp] | None
    reason: str


def _job(table: xr.Dataset, pair: int, clusters: NDArray[np.intp] | None) -> _Job:
    """Items and systems of an entry, or why it has no posterior."""
    systems = [int(table[name].values[pair]) for name in ("first", "second")]
    index = table["margins"].values
    here = table["trial_group"].values == table["pair_group"].values[pair]
    items = np.flatnonzero(here & ~np.isnan(index[systems]).any(axis=0))
    machine = table["is_machine"].values
    groups = [s for s in systems if not machine[s]]
    nets = [s for s in systems if machine[s]]
    kinds = table["true_class"].values[items]
    classes = np.unique(kinds, return_inverse=True)[1] if (kinds >= 0).all() else None
    own = None if classes is None or classes.max() + 1 < FEWEST_CLASSES else classes
    if clusters is not None:
        own = np.unique(clusters[items], return_inverse=True)[1]
    seen = index[systems][:, items]
    reason = ""
    if (np.ptp(seen, axis=1) == 0).any():
        reason = CONSTANT
    elif any(np.isin(index[s, items], (0, 1)).all() for s in groups):
        reason = "each item is always or never answered right: too few answers an item"
    margins = index[nets[0], items] if nets and groups else None
    return _Job(items, groups, margins, classes, own, reason)


def _group(
    table: xr.Dataset,
    system: int,
    items: NDArray[np.intp],
    m: int,
    link: Link,
    known: dict[Key, GroupStrengths],
) -> GroupStrengths:
    key = (system, items.tobytes())
    if key not in known:
        known[key] = group_strengths(*answers_of_group(table, system, items), m, link)
    return known[key]


def _checks_of_group(table: xr.Dataset, job: _Job, group: GroupStrengths) -> dict[str, float]:
    """What is the same whatever machine the group is compared with."""
    counts = answers_of_group(table, job.groups[0], job.items)
    return {"p_skew": skew_check(group), "p_repeats": repeat_check(*counts)}


def _checks(job: _Job, group: GroupStrengths, fit: StrengthFit) -> dict[str, float]:
    assert job.margins is not None
    left = residuals(group, fit, job.margins)
    found = {"p_line": line_check(left), "p_law": law_check(left)}
    if job.classes is not None:
        found["p_residuals"] = class_residuals(left, job.classes)
    return found


def _within(job: _Job, group: GroupStrengths, fit: StrengthFit, ci_prob: float) -> dict[str, float]:
    """Correlation within classes, between them, and whether that in all is another one."""
    assert job.margins is not None
    if job.classes is None or len(job.items) < FEWEST_OF_STRATUM * (job.classes.max() + 1):
        return {}
    if job.classes.max() == 0 or not varied_within(job.margins, job.classes):
        return {}
    found = within_classes(group, fit, job.margins, job.classes, ci_prob)
    values = dict(zip(WITHIN, (found.rho, found.lower, found.upper, found.between), strict=True))
    values["p_within"] = classes_differ(fit, found, job.classes)
    return values


def _remark(table: xr.Dataset, job: _Job, checks: dict[str, float], efficiency: float) -> str:
    said = {name: text for name, text in SAYS.items() if checks.get(name, 1.0) < REMARKED}
    values = checks["total"], checks.get("strength_within", np.nan)
    if "p_within" in said:
        said["p_within"] = classes_matter(*values)
    told = [*said.values()]
    ends = checks.get("strength_within_lb", np.nan) * checks.get("strength_within_ub", np.nan)
    if ends > 0 and values[0] * values[1] < 0:
        told.append(OPPOSITE)
    if checks["inflation"] >= MOST_INFLATED:
        told.append("items err far more than the model says: model='moments' assumes less")
    if efficiency < SETTLED:
        told.append("the quadrature did not settle: model='items' has chains")
    for system in job.groups:
        _, shown = answers_of_group(table, system, job.items)
        if lists_of_items(shown).max() > 0:
            told.append(LISTS_AS_ONE)
    return "; ".join(told)
