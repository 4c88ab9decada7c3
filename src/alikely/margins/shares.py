"""Moment intervals of all entries of a margin table, as draws that hang together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.data.blocks import cluster_numbers
from alikely.margins.assumptions import LEVEL, Known, pair_checks, pair_sides
from alikely.margins.checks import is_moved, raw_consistency
from alikely.margins.moments import (
    FEWEST_CLASSES,
    Moments,
    moment_consistency,
    moment_limits,
    same_correlation,
)
from alikely.margins.sides import Side, group_side, normal_scores
from alikely.margins.tables import answers_of_group, common_items
from alikely.margins.ties import Influence, tied_ranks
from alikely.stats.intervals import interval

__all__ = [
    "FEWEST_OF_STRATUM",
    "OPPOSITE",
    "ShareDraws",
    "classes_matter",
    "pair_moments",
    "share_draws",
    "tied_draws",
    "without_bound",
]

# With fewer items a class on the average, intervals within classes say next to nothing.
FEWEST_OF_STRATUM = 2
SAYS = {
    "p_bend": "strengths bend along the margins",
    "p_within": "classes matter",
}
REMARKED = LEVEL / len(SAYS)
# What moments do not assume: of them no note speaks.
OTHERS = ("p_skew", "p_repeats", "p_classes")
OPPOSITE = "of opposite sign within classes: classes make the total"


class ShareDraws(NamedTuple):
    """Noise-free consistencies on the scale of shares."""

    values: NDArray[np.float32]
    beside: dict[str, Floats]
    reasons: NDArray[np.object_]


class _Entry(NamedTuple):
    total: Moments
    # Of raw margins, freed of noise; NaN of two machines or two groups.
    raw: float
    within: Moments | None
    between: Moments | None
    checks: dict[str, float]
    items: NDArray[np.intp]
    # Clusters of the errors; each item alone if none.
    clusters: NDArray[np.intp] | None
    remark: str


def share_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    m: int | None = None,
    ci_prob: float = 0.95,
    cluster: str | None = None,
    rng: RandomState = None,
) -> ShareDraws:
    """Consistency of each pair with the noise of single answers taken off, by moments."""
    n_pairs = table.sizes["pair"]
    names = ("share_consistency", "share_within", "share_within_lb", "share_within_ub",
             "share_between", "p_bend", "p_within", *OTHERS)  # fmt: skip
    beside = {name: np.full(n_pairs, np.nan) for name in names}
    clusters = None if cluster is None else cluster_numbers(table, cluster)
    known: Known = {}
    entries = [_entry(table, pair, m, clusters, known) for pair in range(n_pairs)]
    ranks = tied_ranks(
        table.sizes["trial"],
        [Influence(entry.items, entry.total.slopes, entry.clusters) for entry in entries],
        n_draws,
        rng,
    )
    values = np.empty((n_draws, n_pairs), np.float32)
    levels = (np.arange(n_draws) + 0.5) / n_draws
    tails = (1 - ci_prob) / 2
    for pair, entry in enumerate(entries):
        values[:, pair] = moment_limits(entry.total, levels)[ranks[:, pair]]
        beside["share_consistency"][pair] = entry.total.rho
        if entry.within is not None:
            beside["share_within"][pair] = entry.within.rho
            ends = moment_limits(entry.within, [tails, 1 - tails])
            beside["share_within_lb"][pair], beside["share_within_ub"][pair] = ends
        if entry.between is not None:
            beside["share_between"][pair] = entry.between.rho
        for name, p in entry.checks.items():
            beside[name][pair] = p
    lost = interval(values, ci_prob, "eti")
    within = np.stack([beside["share_within_lb"], beside["share_within_ub"]], axis=1)
    remarks = [
        _remark(entry, bounds, bool(np.prod(np.sign(ends)) == 1))
        for entry, bounds, ends in zip(entries, lost, within, strict=True)
    ]
    return ShareDraws(values, beside, np.array(remarks, dtype=object))


def pair_moments(
    table: xr.Dataset, pair: int, clusters: NDArray[np.intp] | None
) -> tuple[Moments, Influence]:
    """Moments of one entry of a table, and its influences of items."""
    found = _entry(table, pair, None, clusters, None)
    return found.total, Influence(found.items, found.total.slopes, found.clusters)


def _entry(
    table: xr.Dataset,
    pair: int,
    m: int | None,
    clusters: NDArray[np.intp] | None,
    known: Known | None,
) -> _Entry:
    """Moments in all, within classes and between them, and the checks; without tables, in all."""
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
    if len(items) < int(strata.max()) + 3:
        text = f"{len(items)} items in {strata.max() + 1} lists that no one ties"
        empty = Moments(
            np.nan, np.nan, np.nan, np.nan, np.full(3, np.nan), 1, (np.nan, np.nan),
            np.zeros(len(items)), text,
        )  # fmt: skip
        return _Entry(empty, np.nan, None, None, {}, items, own, text)
    total = moment_consistency(*sides, strata, own)
    if known is None:
        return _Entry(total, np.nan, None, None, {}, items, own, "")
    within = between = None
    if classes is not None:
        parts, of_class = pair_sides(table, (a, b), items, classes)
        if len(items) >= FEWEST_OF_STRATUM * (int(of_class.max()) + 1):
            within = moment_consistency(*parts, of_class, own)
        if not few:
            between = _between(table, (a, b), items, classes)
    checks = (
        {} if total.reason else pair_checks(table, (a, b), items, sides, m, known, classes=classes)
    )
    if within is not None and not (within.reason or total.reason):
        pair_of = (total.rho, within.rho), (total.slopes, within.slopes)
        checks["p_within"] = same_correlation(*pair_of, own)
    told = ["few classes: errors are those of single items" if few and clusters is None else ""]
    if n_lists := int(strata.max()):
        told.append(f"{n_lists + 1} lists that no observer ties: compared within them")
    if classes is not None:
        told.append(_about_classes(within, classes))
    remark = "; ".join(filter(None, told))
    raw = np.nan
    machine = table["is_machine"].values[[a, b]]
    if machine[0] != machine[1] and not total.reason:
        margins = table["margins"].values[(a, b)[int(machine[1])], items]
        raw = raw_consistency(sides[int(machine[0])], margins, strata)
    return _Entry(total, raw, within, between, checks, items, own, remark)


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
    """Correlation of the means of classes, freed of noise."""
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


def _remark(entry: _Entry, bounds: Floats, sure_within: bool) -> str:
    """What a reader should know; `sure_within`: whether the interval within excludes 0."""
    if entry.total.reason:
        return entry.total.reason
    told = [entry.remark]
    if abs(entry.total.rho) > 1:
        told.append(f"freed of noise the estimate is {entry.total.rho:.2f}")
    told.append(without_bound(entry.total.rho, bounds))
    said = {name: text for name, text in SAYS.items() if entry.checks.get(name, 1.0) < REMARKED}
    if "p_bend" in said:
        if is_moved(entry.raw, bounds):
            numbers = f"raw {entry.raw:.2f}, by order {entry.total.rho:.2f}"
            said["p_bend"] += f" (freed of noise {numbers})"
        else:
            # A bend that leaves the correlation where it is matters to nobody.
            del said["p_bend"]
    if entry.within is not None and not entry.within.reason:
        values = entry.total.rho, entry.within.rho
        if "p_within" in said:
            said["p_within"] = classes_matter(*values)
        told += said.values()
        if sure_within and values[0] * values[1] < 0:
            told.append(OPPOSITE)
    else:
        told += said.values()
    return "; ".join(filter(None, told))


def without_bound(rho: float, bounds: Floats) -> str:
    """Note for limits at the end of the range of correlations, on one side or both."""
    below, above = bounds[0] <= -1 and rho > 0, bounds[1] >= 1 and rho < 0
    if bounds[0] <= -1 and bounds[1] >= 1:
        side = ""
    elif below or above:
        side = "lower " if below else "upper "
    else:
        return ""
    return f"no {side}bound: the group's reliability may be 0"


def classes_matter(total: float, within: float) -> str:
    """What classes make of a correlation, for a note."""
    return f"classes matter ({total:.2f} in all, {within:.2f} within)"


def tied_draws(
    found: Sequence[Moments],
    clusters: NDArray[np.intp] | None,
    n_draws: int,
    rng: RandomState = None,
) -> Floats:
    """Draws of correlations over the same items that have their limits and belong together."""
    items = np.arange(len(found[0].slopes))
    ranks = tied_ranks(
        len(items), [Influence(items, one.slopes, clusters) for one in found], n_draws, rng
    )
    levels = (np.arange(n_draws) + 0.5) / n_draws
    return np.stack([moment_limits(one, levels)[r] for one, r in zip(found, ranks.T, strict=True)],
                    axis=1)  # fmt: skip
