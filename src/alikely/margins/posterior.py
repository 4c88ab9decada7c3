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
    fit_model,
    item_strengths,
    skew_check,
    strength_checks,
    strength_limits,
)
from alikely.margins.tables import answers_of_group, common_items
from alikely.metrics.margins import (
    CONSTANT,
    FEWEST_ITEMS,
    normal_scores,
)

__all__ = ["MarginModel", "entry_draws"]

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
        "p_law": "strengths of no single hump: model='moments' assumes none",
        "p_skew": "strengths are skewed: too high unless margins bend with them, see "
        "model='moments'",
        "p_within": "classes matter to shares",
    },
}
WITHIN = ("r_within_class", "r_within_class_lb", "r_within_class_ub", "r_between_class")
CHECKED = {
    "moments": (
        "share_consistency", *WITHIN, "p_nonlinearity", "p_within", "p_skew", "p_repeats",
        "p_classes",
    ),
    "strengths": ("inflation", *SAYS["strengths"], "p_repeats"),
}  # fmt: skip
OPPOSITE = "of opposite sign within classes: classes make the total"


class _Entry(NamedTuple):
    items: NDArray[np.intp]
    # Clusters of items; each item is a cluster if None.
    clusters: NDArray[np.intp] | None
    total: Moments
    checks: dict[str, float]
    within: Moments | None = None
    between: Moments | None = None
    # Noise-corrected correlation of raw margins; NaN for two models or two groups.
    raw: float = np.nan
    remark: str = ""


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
        entry = _entry(table, pair, n_alternatives, clusters, known, sampled)
        found, influences = dict(entry.checks), entry.total.slopes
        a, b, items = common_items(table, pair)
        groups = [system for system in (a, b) if not table["is_model"].values[system]]
        if model == "moments" or not groups:
            limits[:, pair] = moment_limits(entry.total, levels)
            found |= _shares(entry, tails)
            ends = interval(limits[:, [pair]].astype(np.float32), ci_prob, "eti")[0]
            notes[pair] = _remark(entry, ends, found)
        elif reason := _without_strengths(table, (a, b), groups, items):
            limits[:, pair], influences, notes[pair] = np.nan, np.zeros(len(items)), reason
        else:
            assert n_alternatives is not None
            group = known_strengths(table, groups[0], items, n_alternatives, known)
            margins = table["margins"].values[b if groups == [a] else a, items]
            fit = fit_model(group, margins, entry.clusters, rng=own)
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
) -> _Entry:
    """Moments overall, within classes and between classes, and the checks."""
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
        checks = pair_checks(table, (a, b), items, sides, n_alternatives, known, classes)
    if within is not None and not (within.reason or total.reason):
        pair_of = (total.rho, within.rho), (total.slopes, within.slopes)
        checks["p_within"] = same_correlation(*pair_of, own)
    told = ["few classes: errors are those of single items" if few and clusters is None else ""]
    if n_lists := int(strata.max()):
        told.append(f"{n_lists + 1} lists that no observer ties: compared within them")
    if classes is not None:
        told.append(_about_classes(within, classes))
    raw = np.nan
    evaluated = table["is_model"].values[[a, b]]
    if evaluated[0] != evaluated[1] and not total.reason:
        margins = table["margins"].values[(a, b)[int(evaluated[1])], items]
        raw = raw_consistency(sides[int(evaluated[0])], margins, strata)
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
    """Moments over items, or within classes; clusters by leave-one-out."""

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
    """Why there is no correlation within classes, or what is excluded from it."""
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


def _shares(entry: _Entry, tails: list[float]) -> dict[str, float]:
    """Correlations of proportions correct overall, within and between classes."""
    found = {"share_consistency": entry.total.rho}
    if entry.within is not None:
        ends = moment_limits(entry.within, tails).tolist()
        found |= dict(zip(WITHIN, (entry.within.rho, *ends), strict=False))
    if entry.between is not None:
        found["r_between_class"] = entry.between.rho
    return found


def _said(model: str, entry: _Entry, checks: dict[str, float]) -> dict[str, str]:
    """Notes of the checks of an entry, by name."""
    level = LEVEL / len(SAYS[model])
    said = {name: text for name, text in SAYS[model].items() if checks.get(name, 1.0) < level}
    if "p_within" in said and entry.within is not None:
        numbers = f"({entry.total.rho:.2f} in all, {entry.within.rho:.2f} within)"
        said["p_within"] += f" {numbers}"
    return said


def _remark(entry: _Entry, bounds: Floats, found: dict[str, float]) -> str:
    """Notes on moments."""
    if entry.total.reason:
        return entry.total.reason
    rho = entry.total.rho
    told = [entry.remark]
    if abs(rho) > 1:
        told.append(f"corrected for noise the estimate is {rho:.2f}")
    told.append(_without_bound(rho, bounds))
    said = _said("moments", entry, found)
    if "p_nonlinearity" in said:
        if is_moved(entry.raw, bounds):
            said["p_nonlinearity"] += (
                f" (corrected for noise raw {entry.raw:.2f}, by order {rho:.2f})"
            )
        else:
            # Nonlinearity that does not change the correlation is irrelevant.
            del said["p_nonlinearity"]
    told += said.values()
    sure = found.get("r_within_class_lb", np.nan) * found.get("r_within_class_ub", np.nan) > 0
    if sure and rho * found["r_within_class"] < 0:
        told.append(OPPOSITE)
    return "; ".join(filter(None, told))


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
