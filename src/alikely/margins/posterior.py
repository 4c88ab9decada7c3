"""Posterior of decision-margin consistency of each pair, by moments or quadrature."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import cluster_numbers
from alikely.inference.influence import of_items
from alikely.inference.intervals import interval
from alikely.margins.checks import (
    LEVEL,
    Known,
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
    fit_model,
    item_strengths,
    skew_check,
    strength_checks,
    strength_limits,
)
from alikely.margins.tables import answers_of_group, common_items
from alikely.metrics.margins import CONSTANT, FEWEST_ITEMS, normal_scores

MarginModel = Literal["moments", "strengths"]
# With fewer items per class on average, intervals within classes are uninformative.
FEWEST_OF_STRATUM = 2
# Lowest effective fraction of 512 points: fewer than 50 below.
SETTLED = 0.1
# Checks that notes report, by model; the moments model does not make the other assumptions.
SAYS = {
    "moments": {
        "p_nonlinearity": "strengths bend along the margins",
        "p_within": "classes matter",
    },
    "strengths": {
        "p_linearity": "margins are a line in skewed strengths: too high, model='moments' assumes "
        "neither",
        "p_modes": "strengths of no single hump: model='moments' assumes none",
        "p_skew": "strengths are skewed: too high unless margins bend with them, see "
        "model='moments'",
        "p_within": "classes matter to shares",
    },
}
WITHIN = ("r_within_class", "r_within_class_lb", "r_within_class_ub")
CHECKED = {
    "moments": (
        "share_consistency", *WITHIN, "r_between_class", "p_nonlinearity", "p_within", "p_skew",
        "p_repeats", "p_classes",
    ),
    "strengths": ("inflation", *SAYS["strengths"], "p_repeats"),
}  # fmt: skip
OPPOSITE = "of opposite sign within classes: classes make the total"


class _Entry(NamedTuple):
    items: NDArray[np.intp]
    # Clusters of items; each item is a cluster if None.
    clusters: NDArray[np.intp] | None
    total: Moments
    # Checks, and correlations of proportions correct overall, within and between classes.
    found: dict[str, float]
    told: list[str]


def entry_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    model: MarginModel = "moments",
    n_alternatives: int | None = None,
    ci_prob: float = 0.95,
    cluster: str | None = None,
    rng: RandomState = None,
) -> xr.Dataset:
    """Compute draws, notes and checks of the noise-corrected consistency of each pair."""
    n_pairs, n_trials = table.sizes["pair"], table.sizes["trial"]
    clusters = None if cluster is None else cluster_numbers(table, cluster)
    sampled = of_items(table, cluster)
    checks = {name: np.full(n_pairs, np.nan) for name in CHECKED[model]}
    strength, spread = np.full((2, n_pairs, n_trials), np.nan)
    notes = np.full(n_pairs, "", dtype=object)
    levels, tails = (np.arange(n_draws) + 0.5) / n_draws, [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    limits = np.empty((n_draws, n_pairs))
    known: Known = {}
    seed = seed_sequence(rng)
    parts = []
    for pair, own in enumerate(seed.spawn(n_pairs)):
        entry = _entry(table, pair, n_alternatives, clusters, known, sampled, tails)
        items, total, found, influences = entry.items, entry.total, entry.found, entry.total.slopes
        systems = int(table["first"].values[pair]), int(table["second"].values[pair])
        groups = [system for system in systems if not table["is_model"].values[system]]
        if model == "moments" or not groups:
            limits[:, pair] = moment_limits(total, levels)
            ends = interval(limits[:, [pair]].astype(np.float32), ci_prob, "eti")[0]
            told = [total.reason] if total.reason else _notes(entry, ends)
        elif reason := _without_strengths(table, systems, groups, items):
            limits[:, pair], influences, told = np.nan, np.zeros(len(items)), [reason]
        else:
            assert n_alternatives is not None
            group = known_strengths(table, groups[0], items, n_alternatives, known)
            margins = table["margins"].values[sum(systems) - groups[0], items]
            fit = fit_model(group, margins, entry.clusters, rng=own)
            limits[:, pair], influences = strength_limits(fit, levels), fit.slopes
            found |= strength_checks(group, fit, margins) | {"inflation": fit.inflation}
            if "p_skew" not in found:
                found["p_skew"] = skew_check(group)
            strength[pair, items], spread[pair, items] = item_strengths(group, fit, margins)
            told = [
                _without_bound(float(np.tanh(fit.mode.at[-1])), strength_limits(fit, tails)),
                *_said("strengths", found).values(),
            ]
            if fit.inflation >= MOST_INFLATED:
                told.append("items err far more than the model says: model='moments' assumes less")
            if fit.draws.efficiency < SETTLED:
                told.append("the quadrature did not settle: use model='moments'")
            if lists_of_items(answers_of_group(table, groups[0], items)[1]).max() > 0:
                told.append("lists that different people saw are taken for one")
        notes[pair] = "; ".join(filter(None, told))
        for name in checks.keys() & found.keys():
            checks[name][pair] = found[name]
        parts.append((entry.items, influences, entry.clusters))
    ranks = tied_ranks(n_trials, parts, n_draws, seed)
    of_strength = {"mean": strength, "sd": spread} if model == "strengths" else {}
    return xr.Dataset(
        {
            "draws": (("sample", "pair"), np.take_along_axis(limits, ranks, axis=0)),
            "note": ("pair", notes),
            **{name: ("pair", values) for name, values in checks.items()},
            **{name: (("pair", "trial"), values) for name, values in of_strength.items()},
        },
        coords={"pair": table["pair"].values},
    )


def _without_strengths(
    table: xr.Dataset, systems: tuple[int, int], groups: list[int], items: NDArray[np.intp]
) -> str:
    """Why an entry has no posterior of strengths, or empty."""
    index = table["margins"].values[:, items]
    if (np.ptp(index[list(systems)], axis=1) == 0).any():
        return CONSTANT
    if any(np.isin(index[system], (0, 1)).all() for system in groups):
        return "each item is always or never answered right: too few answers an item"
    if len(groups) == 2:
        return "two groups of observers: use model='moments'"
    return ""


def _entry(
    table: xr.Dataset,
    pair: int,
    n_alternatives: int | None,
    clusters: NDArray[np.intp] | None,
    known: Known,
    sampled: bool,
    tails: list[float],
) -> _Entry:
    """Moments overall, within classes and between classes, and the checks."""
    a, b, items = common_items(table, pair)
    kinds = table["true_class"].values[items]
    classes = np.unique(kinds, return_inverse=True)[1]
    n_classes = int(classes.max()) + 1 if kinds.min() >= 0 else 1
    own = classes if n_classes >= FEWEST_CLASSES else None
    if clusters is not None:
        own = np.unique(clusters[items], return_inverse=True)[1]
    total, sides, strata = _moments(table, (a, b), items, None, own, sampled)
    found = {"share_consistency": total.rho}
    told = []
    if 1 < n_classes < FEWEST_CLASSES and clusters is None:
        told.append("few classes: errors are those of single items")
    if n_lists := int(strata.max()):
        told.append(f"{n_lists + 1} lists that no observer ties: compared within them")
    if not total.reason:
        given = classes if n_classes > 1 else None
        found |= pair_checks(table, (a, b), items, sides, n_alternatives, known, given)
        evaluated = table["is_model"].values[[a, b]]
        if evaluated[0] != evaluated[1]:
            margins = table["margins"].values[b if evaluated[1] else a, items]
            found["raw"] = raw_consistency(sides[int(evaluated[0])], margins, strata)
    if n_classes > 1:
        within, _, strata = _moments(table, (a, b), items, classes, own, sampled)
        if len(items) < FEWEST_OF_STRATUM * (strata.max() + 1):
            told.append(f"fewer than {FEWEST_OF_STRATUM} items a class: no correlation within")
        else:
            limits = moment_limits(within, tails).tolist()
            found |= dict(zip(WITHIN, (within.rho, *limits), strict=True))
            if within.reason:
                told.append(f"within classes {within.reason}")
            elif alone := int((np.bincount(classes) == 1).sum()):
                told.append(f"classes of a single item, which say nothing within: {alone}")
            if not (within.reason or total.reason):
                both = (total.rho, within.rho), (total.slopes, within.slopes)
                found["p_within"] = same_correlation(*both, own)
    if n_classes >= FEWEST_CLASSES:
        found["r_between_class"] = _between(table, (a, b), items, classes).rho
    return _Entry(items, own, total, found, told)


def _moments(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    classes: NDArray[np.intp] | None,
    clusters: NDArray[np.intp] | None,
    sampled: bool,
) -> tuple[Moments, tuple[Side, Side], NDArray[np.intp]]:
    """Moments over items, or within classes (clusters by leave-one-out), sides and strata."""

    def again(keep: NDArray[np.bool_]) -> Moments:
        kinds = None if classes is None else np.unique(classes[keep], return_inverse=True)[1]
        return _moments(table, systems, items[keep], kinds, None, False)[0]

    sides, strata = pair_sides(table, systems, items, classes)
    n, n_strata = len(items), int(strata.max()) + 1
    if n < max(n_strata + 3, FEWEST_ITEMS):
        kind = "lists that no one ties" if classes is None else "lists and classes"
        found = unknown_moments(f"{n} items in {n_strata} {kind}", n)
    else:
        found = moment_consistency(*sides, strata, clusters, again if sampled else None)
    return found, sides, strata


def _between(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    classes: NDArray[np.intp],
) -> Moments:
    """Noise-corrected correlation of class means."""
    n_classes = int(classes.max()) + 1
    alike = np.zeros(n_classes, np.intp)
    sides = []
    for system in systems:
        if table["is_model"].values[system]:
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


def _said(model: str, found: dict[str, float]) -> dict[str, str]:
    """Notes of the checks of an entry, by name."""
    level = LEVEL / len(SAYS[model])
    said = {name: text for name, text in SAYS[model].items() if found.get(name, 1.0) < level}
    if "p_within" in said:
        numbers = f"{found['share_consistency']:.2f} in all, {found[WITHIN[0]]:.2f} within"
        said["p_within"] += f" ({numbers})"
    return said


def _notes(entry: _Entry, bounds: Floats) -> list[str]:
    """Notes on moments."""
    rho, found = entry.total.rho, entry.found
    said = _said("moments", found)
    if "p_nonlinearity" in said:
        held = np.clip(found["raw"], -1, 1)
        if held < bounds[0] or held > bounds[1]:
            numbers = f"raw {found['raw']:.2f}, by order {rho:.2f}"
            said["p_nonlinearity"] += f" (corrected for noise {numbers})"
        else:
            # Nonlinearity that does not change the correlation is irrelevant.
            del said["p_nonlinearity"]
    far = f"corrected for noise the estimate is {rho:.2f}" if abs(rho) > 1 else ""
    within, *ends = (found.get(name, np.nan) for name in WITHIN)
    opposite = OPPOSITE if np.prod(ends) > 0 and rho * within < 0 else ""
    return [*entry.told, far, _without_bound(rho, bounds), *said.values(), opposite]


def _without_bound(rho: float, bounds: Floats) -> str:
    """Note on limits at -1 or 1."""
    below, above = bounds[0] <= -1 and rho > 0, bounds[1] >= 1 and rho < 0
    if bounds[0] <= -1 and bounds[1] >= 1:
        side = ""
    elif below or above:
        side = "lower " if below else "upper "
    else:
        return ""
    return f"no {side}bound: the group's reliability may be 0"
