"""Study of decision-margin consistency: intervals of machines and groups, and checks of models."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely.margins import entries
from alikely.margins.checks import LEVEL as SHARED_LEVEL
from alikely.margins.checks import bend_check, class_check, is_moved, raw_consistency, repeat_check
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
from studies.harness import Rows, Study, checked, summarized
from studies.simulators.margins import (
    MARGIN_WORLDS,
    MarginData,
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
    true_strength_consistency,
)

__all__ = ["MARGINS"]

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


def _margins(
    world: MarginWorld, numbers: range, seed: Any, strengths: bool, ci_prob: float
) -> Rows:
    """Limits of each data set by scope, and p-values of the checks."""
    truth_seed, data_seed = seed.spawn(2)
    truths = _truths(world, truth_seed)
    if strengths:
        truths["strengths"] = true_strength_consistency(world, truth_seed.spawn(1)[0])
    generator = np.random.default_rng(data_seed)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    rows = []
    for number in numbers:
        limits, checks = _analysed(world, generator, tails, strengths)
        for scope, truth in truths.items():
            value, low, high = limits[scope]
            widest = 2 if scope == "difference" else 1
            undefined = np.isnan(low)
            low, high = (-widest, widest) if undefined else (low, high)
            # Checks are of the first machine and the first group.
            own = dict.fromkeys(checks, np.nan) if scope in OTHERS else checks
            names, level = SPEAK.get(scope, ((), 0.0))
            noted = any(checks[name] < level for name in names) if names else np.nan
            rows.append(
                {"set": number, "scope": scope, "truth": truth, "value": value, "noted": noted}
                | checked(truth, low, high)
                | {"below": high < truth, "above": low > truth, "undefined": undefined}
                | {"open_ended": low == -widest and high == widest, **own}
            )
    return rows


def _margin_table(rows: pd.DataFrame, ci_prob: float = 0.95) -> pd.DataFrame:
    """Summarize `MARGINS`: also relative widths, bias, and how often checks speak."""
    keys = ["scenario", "scope"]
    means = ("truth", "below", "above", "undefined", "noted")
    table = summarized(rows, keys, means).set_index(keys)
    by, bounded = rows.groupby(keys, sort=False), rows[~rows["open_ended"]].groupby(keys)
    deviate = float(special.ndtri((1 + ci_prob) / 2))
    ideal = 2 * deviate * bounded["value"].std(ddof=0)
    unbounded = (rows["open_ended"] & ~rows["undefined"]).groupby([rows[k] for k in keys])
    table["width_ratio"] = bounded["width"].median() / ideal
    table["unbounded"] = unbounded.mean()
    table["bias"] = by["value"].median() - table["truth"]
    for name in [name for name in rows if name.startswith("p_")]:
        p = rows[name].dropna()
        table[name] = (p < LEVEL).groupby([rows[k] for k in keys]).mean()
    return table.drop(columns="width").reset_index()


MARGINS = Study(
    "margins",
    _margins,
    MARGIN_WORLDS,
    ("scope",),
    size=0,
    n_datasets=400,
    options={"strengths": False, "ci_prob": 0.95},
    table=_margin_table,
)


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
