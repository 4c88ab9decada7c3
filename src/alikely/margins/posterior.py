"""Posterior of decision-margin consistency of each pair, with checks of its generative models.

References
----------
.. [DL89] Dean, Lawless (1989). Tests for detecting overdispersion in Poisson regression models.
   doi:10.1080/01621459.1989.10478792
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [W80] White (1980). A heteroskedasticity-consistent covariance matrix estimator and a direct test
   for heteroskedasticity. doi:10.2307/1912934
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from alikely._base.arrays import Floats, normal_nodes, within
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import cluster_numbers
from alikely.inference.influence import of_items
from alikely.inference.intervals import interval
from alikely.margins.moments import (
    FEWEST_CLASSES,
    Moments,
    Side,
    centred,
    group_side,
    lists_of_items,
    model_side,
    moment_consistency,
    moment_limits,
    same_correlation,
    tied_ranks,
    unknown_moments,
)
from alikely.margins.strengths import (
    MOST_INFLATED,
    GroupStrengths,
    fit_model,
    group_strengths,
    skew_check,
    strength_checks,
    strength_limits,
)
from alikely.margins.tables import answers_of_group, common_items
from alikely.metrics.margins import (
    CONSTANT,
    FEWEST_ITEMS,
    distractor_nodes,
    normal_scores,
    repeated,
)

# Grid of standard deviations of strengths around the line, in units of the noise.
SPREADS = np.linspace(0, 4, 17)
NODES = 15
# Items with less variance than this lie on the line up to rounding.
FREE = np.sqrt(np.finfo(np.float64).eps)
# Fewest items of a class.
FEWEST_OF_CLASS = 2
# If all assumptions are met, a note in fewer than 10% of data sets: the checks share this level.
LEVEL = 0.08
# Margins of networks have tails up to some tens of these spreads; saturated or invalid ones are
# orders of magnitude larger.
FAR = 1_000

# Strengths of a group on the items of an entry.
Known = dict[tuple[int, bytes], GroupStrengths]


class Line(NamedTuple):
    """Strengths as a linear function of margins."""

    level: float
    slope: float
    spread: float
    expected: Floats
    gradient: Floats


def strength_line(share: ArrayLike, margins: ArrayLike, noise: float, n_alternatives: int) -> Line:
    """Fit a line to strengths, by least squares on proportions correct [GS66]_."""
    s, y = np.asarray(share, dtype=np.float64), np.asarray(margins, dtype=np.float64)
    design = np.stack([np.ones(len(y)), (y - y.mean()) / y.std()], axis=1)
    below, most = 0.0, np.nan
    for spread in SPREADS.tolist():
        line = _fitted(s, design, spread, n_alternatives)
        strength = design @ [line.level, line.slope]
        around = float(((s - line.expected) ** 2).mean()) - noise
        excess = around - _around(strength, spread, n_alternatives)
        if excess <= 0:
            break
        below, most = spread, excess
    if excess > 0 or spread == 0:
        return line
    return _fitted(s, design, below + most / (most - excess) * (spread - below), n_alternatives)


def bend_check(side: Side, share: ArrayLike, margins: ArrayLike, n_alternatives: int) -> float:
    """Test for a quadratic effect of margins on item strengths [W80]_."""
    s, y = np.asarray(share, dtype=np.float64), np.asarray(margins, dtype=np.float64)
    if not np.isfinite(side.square).any() or y.std() == 0:
        return np.nan
    noise = float((side.ease**2).mean() - np.nanmean(side.square))
    line = strength_line(s, y, max(noise, 0.0), n_alternatives)
    left = s - line.expected
    bend = line.gradient[:, 0] * ((y - y.mean()) / y.std()) ** 2
    basis, _ = np.linalg.qr(line.gradient)
    bend = bend - basis @ (basis.T @ bend)
    # Leverage: outlying items pull the line.
    weight = 1 - (basis**2).sum(axis=1)
    if weight.min() < FREE:
        return np.nan
    error = np.sqrt(((left * bend) ** 2 / weight**2).sum())
    return float(2 * stats.t.sf(abs(bend @ left) / error, len(s) - 3)) if error > 0 else np.nan


def raw_consistency(side: Side, margins: Floats, strata: NDArray[np.intp]) -> float:
    """Compute the noise-corrected correlation of proportions correct with raw margins."""
    if not np.isfinite(side.square).any():
        return np.nan
    apart = centred(margins, strata)
    variance = np.nanmean(side.square) * (apart @ apart)
    if not variance > 0:
        return np.nan
    return float(side.ease @ apart / np.sqrt(variance * len(apart)))


def class_check(side: Side, other: Side, classes: NDArray[np.intp]) -> float:
    """Test whether any class is easier for one system than the other system predicts."""
    found, within_classes = class_residuals(side, other, classes)
    n, k = found["size"].sum(), len(found)
    if k < 2:
        return np.nan
    apart = found["mean"] - (found["size"] * found["mean"]).sum() / n
    between = (found["size"] * apart**2).sum() / (k - 1)
    return float(stats.f.sf(between / within_classes, k - 1, n - k))


def class_residuals(
    side: Side, other: Side, classes: NDArray[np.intp]
) -> tuple[pd.DataFrame, float]:
    """Compute residuals of item easiness by class, from a quadratic fit on the other system.

    Mean and size of each class, and the variance within classes.
    """
    own = (np.bincount(classes) >= FEWEST_OF_CLASS)[classes]
    design = np.vander(other.ease[own], 3, increasing=True)
    left = side.ease[own] - design @ np.linalg.lstsq(design, side.ease[own], rcond=None)[0]
    groups = pd.Series(left).groupby(classes[own])
    found, squares = groups.agg(["mean", "size"]), (left - groups.transform("mean")) ** 2
    return found, float(squares.sum() / max(len(left) - len(found), 1))


def repeat_check(right: ArrayLike, shown: ArrayLike) -> float:
    """Test whether repeated responses agree more than responses of different observers [DL89]_."""
    r, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    times = n.flat[0]
    if not repeated(n) or len(n) < 2 or (n != times).any():
        return np.nan
    x = r / times
    left = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    n_humans, n_items = x.shape
    free = (n_humans - 1) * (n_items - 1) / (n_humans * n_items)
    excess = (left**2 / free - x * (1 - x) / (times - 1)).mean(axis=0)
    spread = excess.std(ddof=1)
    if not spread > 0:
        return np.nan
    return float(stats.t.sf(excess.mean() * np.sqrt(n_items) / spread, n_items - 1))


def _fitted(share: Floats, design: Floats, spread: float, n_alternatives: int) -> Line:
    """Least squares of level and slope, given the spread of strengths around the line."""

    def curve(theta: Floats) -> tuple[Floats, Floats]:
        return _curve(design @ theta, spread, n_alternatives)

    theta = optimize.least_squares(
        lambda theta: curve(theta)[0] - share,
        [np.sqrt(1 + spread**2), 0.0],
        lambda theta: design * curve(theta)[1][:, None],
        method="lm",
        xtol=1e-12,
        ftol=1e-15,
        gtol=1e-15,
    ).x
    expected, slope = curve(theta)
    return Line(float(theta[0]), float(theta[1]), spread, expected, design * slope[:, None])


def _curve(strength: Floats, spread: float, n_alternatives: int) -> tuple[Floats, Floats]:
    """Probability correct for normally distributed strengths, and its slope."""
    nodes, weight = distractor_nodes(n_alternatives)
    root = np.sqrt(1 + spread**2)
    z = (strength[:, None] - nodes) / root
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / root
    return within(special.ndtr(z) @ weight), density @ weight


def _around(strength: Floats, spread: float, n_alternatives: int) -> float:
    """Mean variance of the probability correct for normally distributed strengths."""
    z, weight = normal_nodes(NODES)
    p = _curve((strength[:, None] + spread * z).ravel(), 0.0, n_alternatives)[0].reshape(-1, NODES)
    return float(((p - (p @ weight)[:, None]) ** 2 @ weight).mean())


# Checks of the entries of a table


def pair_checks(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    sides: tuple[Side, Side],
    n_alternatives: int | None,
    known: Known,
    classes: NDArray[np.intp] | None = None,
) -> dict[str, float]:
    """Test the assumptions of the comparison between a model and a group."""
    evaluated = table["is_model"].values[list(systems)]
    if evaluated[0] == evaluated[1]:
        return {}
    at = int(evaluated[0])
    group, net = systems[at], systems[1 - at]
    right, shown = answers_of_group(table, group, items)
    found = {"p_repeats": repeat_check(right, shown)}
    if n_alternatives is not None:
        share = right.sum(axis=0) / shown.sum(axis=0)
        margins = table["margins"].values[net, items]
        found["p_nonlinearity"] = bend_check(sides[at], share, margins, n_alternatives)
        found["p_skew"] = skew_check(known_strengths(table, group, items, n_alternatives, known))
    if classes is not None:
        found["p_classes"] = class_check(sides[at], sides[1 - at], classes)
    return found


def known_strengths(
    table: xr.Dataset, group: int, items: NDArray[np.intp], n_alternatives: int, known: Known
) -> GroupStrengths:
    """Compute strengths of a group once, for all comparisons."""
    key = group, items.tobytes()
    if key not in known:
        known[key] = group_strengths(*answers_of_group(table, group, items), n_alternatives)
    return known[key]


def pair_sides(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    classes: NDArray[np.intp] | None,
) -> tuple[tuple[Side, Side], NDArray[np.intp]]:
    """Prepare both systems of a pair, with items in the same strata."""
    evaluated = table["is_model"].values
    counts = {s: answers_of_group(table, s, items) for s in systems if not evaluated[s]}
    strata = np.zeros(len(items), np.intp) if classes is None else classes
    for _, shown in counts.values():
        own = lists_of_items(shown, classes)
        strata = np.unique(strata * (own.max() + 1) + own, return_inverse=True)[1]
    one, other = (
        group_side(*counts[s], strata)
        if s in counts
        else model_side(table["margins"].values[s, items], strata)
        for s in systems
    )
    return (one, other), strata


# Notes on the data of entries


def model_notes(table: xr.Dataset, system: int, group: int) -> list[str]:
    """List notes on unusual margins of a model in a group of trials."""
    name = table["observer"].values[system]
    margins = table["margins"].values[system]
    here = (table["trial_group"].values == group) & ~np.isnan(margins)
    own = pd.Series(margins[here])
    texts = []
    if note := table["source_note"].values[system]:
        texts.append(f"{name}: {note}")
    if own.nunique() == 1:
        texts.append(f"all margins of {name} are {own[0]:g}")
    else:
        off = (own - own.median()).abs()
        # If most margins are equal, only the others have a spread.
        far = off > FAR * (off.median() or off[off > 0].median())
        if far.any():
            few = ("a margin", "is") if far.sum() == 1 else (f"{far.sum()} margins", "lie up to")
            texts.append(
                f"{few[0]} of {name} {few[1]} {own[off.idxmax()]:g}, far from the others, and the "
                "raw estimate depends on it"
            )
        if tied := own.duplicated(keep=False).sum():
            texts.append(f"{tied} margins of {name} tie (mid-ranks)")
        kinds = pd.Series(table["true_class"].values[here])
        of_class = own.groupby(kinds[kinds >= 0]).agg(["nunique", "size"])
        if flat := ((of_class["nunique"] == 1) & (of_class["size"] > 1)).sum():
            texts.append(f"all margins of {name} are equal within {flat} of its classes")
    if against := int(table["n_contradictions"].values[system, here].sum()):
        texts.append(f"{against} answers of {name} against its margins")
    if lost := int(table["n_unmatched"].values[system]):
        texts.append(f"{lost} items of {name} in groups of trials that nobody answered")
    return texts


def group_notes(table: xr.Dataset, system: int, group: int) -> list[str]:
    """List notes on unequal numbers of responses to items by one group of observers."""
    shown = table["member_shown"].values[table["member_group"].values == system]
    shown = shown[:, (table["trial_group"].values == group) & shown.any(axis=0)]
    shown = shown[shown.any(axis=1)]
    if not shown.size:
        return []
    texts = []
    times = np.unique(shown[shown > 0])
    if len(times) > 1:
        texts.append(f"unbalanced repeats ({times[0]} to {times[-1]})")
    # Observers of one list have no responses to others.
    lists = lists_of_items(shown)
    seen = (shown > 0).astype(int) @ (lists[:, None] == np.arange(lists.max() + 1))
    if missing := int((np.bincount(lists) * (seen > 0)).sum() - seen.sum()):
        name = table["observer"].values[system]
        texts.append(f"{missing} answer{'s' * (missing > 1)} of {name} missing")
    return texts


def entry_notes(table: xr.Dataset) -> NDArray[np.object_]:
    """Return the notes on the data of each entry."""
    names, evaluated = table["observer"].values, table["is_model"].values
    ends = np.stack([table["first"].values, table["second"].values], axis=1).tolist()
    groups = table["pair_group"].values.tolist()
    known = {
        (s, group): (model_notes if evaluated[s] else group_notes)(table, s, group)
        for pair, group in zip(ends, groups, strict=True)
        for s in pair
    }
    found = []
    for p, (pair, group) in enumerate(zip(ends, groups, strict=True)):
        alone = [int(table[f"n_only_{side}"].values[p]) for side in "ab"]
        texts = [f"{n} items of {names[s]} only" for s, n in zip(pair, alone, strict=True) if n]
        found.append("; ".join([*texts, *known[pair[0], group], *known[pair[1], group]]))
    return np.array(found, dtype=object)


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
    return xr.Dataset(
        {
            "draws": (("sample", "pair"), np.take_along_axis(limits, ranks, axis=0)),
            "note": ("pair", notes),
            **{name: ("pair", values) for name, values in checks.items()},
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
