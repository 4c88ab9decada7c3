"""Do intervals of decision-margin consistency keep their promise, and do their checks.

References
----------
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely._base.intervals import check_interval
from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.margins import entries
from alikely.margins.checks import (
    LEVEL as SHARED_LEVEL,
)
from alikely.margins.checks import (
    bend_check,
    class_check,
    is_moved,
    raw_consistency,
    repeat_check,
)
from alikely.margins.moments import (
    Moments,
    group_side,
    lists_of_items,
    machine_side,
    moment_consistency,
    moment_limits,
    same_correlation,
    tied_ranks,
)
from alikely.margins.strengths import (
    fit_machine,
    group_strengths,
    skew_check,
    strength_checks,
    strength_limits,
)
from studies.simulators.margins import (
    MARGIN_WORLDS,
    MarginData,
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
    true_strength_consistency,
)

__all__ = ["margin_coverage"]

LEVEL = 0.05
# Scopes of which no check speaks.
OTHERS = ("difference", "groups")
# Of a difference: its limits are then right to a twentieth of its standard error.
N_DRAWS = 4_000
# Checks of which a note speaks, and from which level on. Classes have one by either estimator.
SPEAK = {
    scope: (
        [{"p_bend": "p_bend_told"}.get(name, name) for name in entries.SAYS[model]],
        SHARED_LEVEL / len(entries.SAYS[model]),
    )
    for scope, model in (("total", "moments"), ("strengths", "strengths"))
}


def margin_coverage(
    worlds: Mapping[str, MarginWorld] | None = None,
    *,
    n_datasets: int = 400,
    strengths: bool = False,
    ci_prob: float = 0.95,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Coverage of intervals of machines and groups, and what the checks say."""
    check_interval(ci_prob, "eti")
    if n_datasets < 10:
        raise ValueError(f"n_datasets must be at least 10, got {n_datasets}")
    chosen = MARGIN_WORLDS if worlds is None else worlds
    cells = [
        {
            "world": name,
            **dataclasses.asdict(world),
            "n_datasets": n_datasets,
            "ci_prob": ci_prob,
            "strengths": strengths,
        }
        for name, world in chosen.items()
    ]
    table = run_study(_study, cells, folder, rng=rng)
    return table.drop(columns=[name for name in cells[0] if name not in ("world", "n_datasets")])


def _study(
    world: str, n_datasets: int, ci_prob: float, strengths: bool, seed: Any, **features: Any
) -> list[dict[str, Any]]:
    """All data sets of one world."""
    made = MarginWorld(**features)
    truth_seed, data_seed = seed.spawn(2)
    truths = _truths(made, truth_seed)
    if strengths:
        truths["strengths"] = true_strength_consistency(made, truth_seed.spawn(1)[0])
    generator = np.random.default_rng(data_seed)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    found = [_analysed(made, generator, tails, strengths) for _ in range(n_datasets)]
    fired = {}
    for name in found[0][1]:
        p = np.array([checks[name] for _, checks in found])
        fired[name] = float((p[~np.isnan(p)] < LEVEL).mean()) if (~np.isnan(p)).any() else np.nan
    # Checks are of the first machine and the first group.
    unchecked = dict.fromkeys(fired, np.nan)
    deviate = float(special.ndtri(tails[1]))
    rows = []
    for scope, truth in truths.items():
        value, low, high = np.array([limits[scope] for limits, _ in found]).T
        widest = 2 if scope == "difference" else 1
        undefined = np.isnan(low)
        low, high = np.where(undefined, -widest, low), np.where(undefined, widest, high)
        coverage = float(((low <= truth) & (truth <= high)).mean())
        open_ended = (low == -widest) & (high == widest)
        spread = value[~open_ended].std() if (~open_ended).any() else np.nan
        width = float(np.median((high - low)[~open_ended])) if (~open_ended).any() else np.nan
        row = {
            "scope": scope,
            "truth": truth,
            "coverage": coverage,
            "coverage_mcse": float(np.sqrt(coverage * (1 - coverage) / n_datasets)),
            "below": float((high < truth).mean()),
            "above": float((low > truth).mean()),
            "width_ratio": width / (2 * deviate * spread),
            "unbounded": float((open_ended & ~undefined).mean()),
            "undefined": float(undefined.mean()),
            "bias": float(np.nanmedian(value) - truth),
        }
        rows.append(row | (unchecked if scope in OTHERS else fired))
    for row in rows:
        if row["scope"] in SPEAK:
            names, level = SPEAK[row["scope"]]
            told = [any(checks[name] < level for name in names) for _, checks in found]
            row["noted"] = float(np.mean(told))
    return rows


def _truths(world: MarginWorld, seed: np.random.SeedSequence) -> dict[str, float]:
    first, second = (int(k) for k in seed.generate_state(2))
    total, within = true_margin_consistency(world, first)
    other, _ = true_margin_consistency(dataclasses.replace(world, rho=world.other_rho), first)
    return {
        "total": total,
        "within": within,
        "difference": total - other,
        "groups": true_group_consistency(world, second),
    }


def _analysed(
    world: MarginWorld, generator: np.random.Generator, tails: list[float], strengths: bool
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Estimate and limits by scope, and p-values of the checks."""
    data = margin_data(world, generator)
    # Who was shown an item can be nobody, where answers are missing.
    seen = data.shown.any(axis=0)
    right, shown = data.right[:, seen], data.shown[:, seen]
    margins, classes = data.margins[seen], data.classes[seen]
    limits, moments = {}, []
    for scope, of_class in (("total", None), ("within", classes)):
        strata = lists_of_items(shown, of_class)
        sides = group_side(right, shown, strata), machine_side(margins, strata)
        found = moment_consistency(*sides, strata, classes)
        limits[scope] = [found.rho, *moment_limits(found, tails).tolist()]
        moments.append(found)
    limits["difference"] = _difference(data, seen, tails, generator)
    limits["groups"] = _groups(data, seen, tails)
    strata = lists_of_items(shown)
    sides = group_side(right, shown, strata), machine_side(margins, strata)
    share = right.sum(axis=0) / shown.sum(axis=0)
    group = group_strengths(right, shown, world.m)
    checks = {
        "p_bend": bend_check(sides[0], share, margins, world.m),
        "p_skew": skew_check(group),
        "p_classes": class_check(*sides, classes),
        "p_repeats": repeat_check(right, shown),
        "p_within": _classes_matter(moments, classes),
    }
    # A note tells of a bend that moves the raw correlation out of the interval.
    told = is_moved(raw_consistency(sides[0], margins, strata), limits["total"][1:])
    checks["p_bend_told"] = checks["p_bend"] if told else 1.0
    if strengths:
        fit = fit_machine(group, margins, classes, rng=generator)
        middle, *ends = strength_limits(fit, [0.5, *tails]).tolist()
        limits["strengths"] = [middle, *ends]
        checks |= strength_checks(group, fit, margins)
    return limits, checks


def _classes_matter(moments: list[Moments], classes: NDArray[np.intp]) -> float:
    """Whether the correlation in all is that within classes, by moments."""
    if any(found.reason for found in moments):
        return np.nan
    total, within = moments
    return same_correlation((total.rho, within.rho), (total.slopes, within.slopes), classes)


def _difference(
    data: MarginData, seen: NDArray[np.bool_], tails: list[float], generator: np.random.Generator
) -> list[float]:
    """Two machines with one group: estimate and limits of the difference, from tied draws."""
    shown, classes = data.shown[:, seen], data.classes[seen]
    strata = lists_of_items(shown)
    group = group_side(data.right[:, seen], shown, strata)
    pair = [
        moment_consistency(group, machine_side(margins[seen], strata), strata, classes)
        for margins in (data.margins, data.other_margins)
    ]
    if any(found.reason for found in pair):
        return [np.nan] * 3
    n, levels = len(strata), (np.arange(N_DRAWS) + 0.5) / N_DRAWS
    ranks = tied_ranks(n, [(np.arange(n), one.slopes, classes) for one in pair], N_DRAWS, generator)
    first, second = (moment_limits(one, levels)[r] for one, r in zip(pair, ranks.T, strict=True))
    limits = np.quantile(first - second, tails)
    return [pair[0].rho - pair[1].rho, *limits.tolist()]


def _groups(data: MarginData, seen: NDArray[np.bool_], tails: list[float]) -> list[float]:
    """Two groups of people: estimate and limits."""
    both = seen & data.other_shown.any(axis=0)
    counts = [
        (right[:, both], shown[:, both])
        for right, shown in ((data.right, data.shown), (data.other_right, data.other_shown))
    ]
    one, other = (lists_of_items(shown) for _, shown in counts)
    strata = np.unique(one * (other.max() + 1) + other, return_inverse=True)[1]
    sides = [group_side(right, shown, strata) for right, shown in counts]
    found = moment_consistency(sides[0], sides[1], strata, data.classes[both])
    return [found.rho, *moment_limits(found, tails).tolist()]
