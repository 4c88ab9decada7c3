"""Checks of generative models of margins and responses: linearity, classes, repeats.

References
----------
.. [DL89] Dean, Lawless (1989). Tests for detecting overdispersion in Poisson regression models.
   doi:10.1080/01621459.1989.10478792
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [W80] White (1980). A heteroskedasticity-consistent covariance matrix estimator and a direct test
   for heteroskedasticity. doi:10.2307/1912934
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base.arrays import Floats, normal_nodes, within
from alikely.margins.moments import Side, group_side, lists_of_items, model_side
from alikely.margins.strengths import GroupStrengths, group_strengths, skew_check
from alikely.margins.tables import answers_of_group
from alikely.metrics.alternatives import distractor_nodes
from alikely.metrics.margins import repeated

__all__ = [
    "LEVEL",
    "Known",
    "bend_check",
    "class_check",
    "class_residuals",
    "entry_remarks",
    "is_moved",
    "known_strengths",
    "pair_checks",
    "pair_sides",
    "raw_consistency",
    "repeat_check",
    "strength_line",
]

# Grid of standard deviations of strengths around the line, in units of the noise.
SPREADS = np.linspace(0, 4, 17)
NODES = 15
STEPS = 12
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
    tried = []
    for spread in SPREADS:
        line = _fitted(s, design, float(spread), n_alternatives)
        around = float(((s - line.expected) ** 2).mean()) - noise
        tried.append(
            (
                around - _around(design @ [line.level, line.slope], float(spread), n_alternatives),
                line,
            )
        )
        if tried[-1][0] <= 0:
            break
    if len(tried) == 1 or tried[-1][0] > 0:
        return tried[-1][1]
    (before, one), (after, other) = tried[-2:]
    share_of_step = before / (before - after)
    between = one.spread + share_of_step * (other.spread - one.spread)
    return _fitted(s, design, float(between), n_alternatives)


def bend_check(side: Side, share: ArrayLike, margins: ArrayLike, n_alternatives: int) -> float:
    """Test a quadratic term of margins in strengths [W80]_."""
    s = np.asarray(share, dtype=np.float64)
    y = np.asarray(margins, dtype=np.float64)
    if not np.isfinite(side.square).any() or y.std() == 0:
        return np.nan
    noise = float((side.ease**2).mean() - np.nanmean(side.square))
    line = strength_line(s, y, max(noise, 0.0), n_alternatives)
    left = s - line.expected
    z = (y - y.mean()) / y.std()
    bend = line.gradient[:, 0] * z**2
    basis, _ = np.linalg.qr(line.gradient)
    bend = bend - basis @ (basis.T @ bend)
    # Leverage: outlying items pull the line.
    weight = 1 - (basis**2).sum(axis=1)
    if weight.min() < FREE:
        return np.nan
    error = np.sqrt(((left * bend) ** 2 / weight**2).sum())
    if not error > 0:
        return np.nan
    return float(2 * stats.t.sf(abs(bend @ left) / error, len(s) - 3))


def raw_consistency(side: Side, margins: ArrayLike, strata: NDArray[np.intp]) -> float:
    """Compute the noise-corrected correlation of proportions correct with raw margins."""
    if not np.isfinite(side.square).any():
        return np.nan
    values = np.asarray(margins, dtype=np.float64)
    apart = values - (np.bincount(strata, values) / np.bincount(strata))[strata]
    variance = np.nanmean(side.square) * (apart @ apart)
    if not variance > 0:
        return np.nan
    return float(side.ease @ apart / np.sqrt(variance * len(apart)))


def is_moved(raw: float, limits: Sequence[float] | Floats) -> bool:
    """Check if the raw correlation is outside the interval of the rank-based one."""
    held = min(max(raw, -1.0), 1.0)
    return held < limits[0] or held > limits[1]


def class_check(side: Side, other: Side, classes: NDArray[np.intp]) -> float:
    """Test for classes that are easier for one system than predicted by the other."""
    found = class_residuals(side, other, classes)
    if len(found.classes) < 2:
        return np.nan
    n, k = int(found.size.sum()), len(found.classes)
    centered = found.mean - (found.size * found.mean).sum() / n
    between = (found.size * centered**2).sum() / (k - 1)
    return float(stats.f.sf(between / found.within, k - 1, n - k))


class Residuals(NamedTuple):
    """Residuals of item easiness, by class."""

    classes: NDArray[np.intp]
    mean: Floats
    size: NDArray[np.intp]
    within: float


def class_residuals(side: Side, other: Side, classes: NDArray[np.intp]) -> Residuals:
    """Compute residuals of one system's item easiness from a quadratic fit of the other's."""
    count = np.bincount(classes)
    own = (count >= FEWEST_OF_CLASS)[classes]
    kinds, place = np.unique(classes[own], return_inverse=True)
    if not len(kinds):
        return Residuals(kinds, np.zeros(0), np.zeros(0, np.intp), np.nan)
    x = other.ease[own]
    design = np.stack([np.ones(len(x)), x, x**2], axis=1)
    left = side.ease[own] - design @ np.linalg.lstsq(design, side.ease[own], rcond=None)[0]
    size = np.bincount(place)
    means = np.bincount(place, left) / size
    within = ((left - means[place]) ** 2).sum() / (len(left) - len(kinds))
    return Residuals(kinds, means, size, float(within))


def repeat_check(right: ArrayLike, shown: ArrayLike) -> float:
    """Test overdispersion: repeated responses more similar than those of observers [DL89]_."""
    r, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    times = n.flat[0]
    if not repeated(n) or len(n) < 2 or (n != times).any():
        return np.nan
    x = r / times
    left = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    (n_humans, n_items) = x.shape
    free = (n_humans - 1) * (n_items - 1) / (n_humans * n_items)
    excess = (left**2 / free - x * (1 - x) / (times - 1)).mean(axis=0)
    spread = excess.std(ddof=1)
    if not spread > 0:
        return np.nan
    return float(stats.t.sf(excess.mean() * np.sqrt(n_items) / spread, n_items - 1))


def _fitted(share: Floats, design: Floats, spread: float, n_alternatives: int) -> Line:
    """Least squares, with step halving."""
    theta = np.array([1.0, 0.0])
    theta = theta * np.sqrt(1 + spread**2)
    expected, slope = _curve(design @ theta, spread, n_alternatives)
    loss = ((share - expected) ** 2).sum()
    for _ in range(STEPS):
        gradient = design * slope[:, None]
        # Lower bound for a flat curve.
        normal = gradient.T @ gradient + 1e-10 * np.eye(2)
        step = np.linalg.solve(normal, gradient.T @ (share - expected))
        for _ in range(8):
            new, new_slope = _curve(design @ (theta + step), spread, n_alternatives)
            new_loss = ((share - new) ** 2).sum()
            if new_loss <= loss:
                theta, expected, slope, loss = theta + step, new, new_slope, new_loss
                break
            step = step / 2
        if np.abs(step).max() < 1e-8:
            break
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
    if spread == 0:
        return 0.0
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
    """Test the assumptions about a model and a group."""
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
    """Prepare both systems on the same strata."""
    evaluated = table["is_model"].values
    counts = {s: answers_of_group(table, s, items) for s in systems if not evaluated[s]}
    nobody = np.zeros(len(items), np.intp) if classes is None else classes
    strata = nobody
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


def model_remarks(table: xr.Dataset, system: int, group: int) -> list[str]:
    """List notes on unusual margins of a model in a group of trials."""
    name = table["observer"].values[system]
    margins = table["margins"].values[system]
    here = (table["trial_group"].values == group) & ~np.isnan(margins)
    own, kinds = margins[here], table["true_class"].values[here]
    texts = []
    if note := table["source_note"].values[system]:
        texts.append(f"{name}: {note}")
    if constant := len(own) > 0 and np.ptp(own) == 0:
        texts.append(f"all margins of {name} are {own[0]:g}")
    else:
        texts += _odd(own, str(name))
    flat = 0 if constant else _flat_classes(own, kinds)
    if flat:
        texts.append(f"all margins of {name} are equal within {flat} of its classes")
    if against := int(table["n_contradictions"].values[system, here].sum()):
        texts.append(f"{against} answers of {name} against its margins")
    if lost := int(table["n_unmatched"].values[system]):
        texts.append(f"{lost} items of {name} in groups of trials that nobody answered")
    return texts


def group_remarks(table: xr.Dataset, system: int, group: int) -> list[str]:
    """List notes on unequal numbers of responses of a group in a group of trials."""
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


def entry_remarks(table: xr.Dataset) -> NDArray[np.object_]:
    """Return the notes on the data of each entry."""
    names, evaluated = table["observer"].values, table["is_model"].values
    known: dict[tuple[int, int], list[str]] = {}
    found = []
    for p in range(table.sizes["pair"]):
        texts = []
        for side, ends in (("a", "first"), ("b", "second")):
            if alone := int(table[f"n_only_{side}"].values[p]):
                texts.append(f"{alone} items of {names[table[ends].values[p]]} only")
        for system in (int(table["first"].values[p]), int(table["second"].values[p])):
            key = system, int(table["pair_group"].values[p])
            if key not in known:
                remarks = model_remarks if evaluated[system] else group_remarks
                known[key] = remarks(table, *key)
            texts += known[key]
        found.append("; ".join(texts))
    return np.array(found, dtype=object)


def _odd(own: Floats, name: str) -> list[str]:
    """Notes on outliers and ties of margins."""
    texts = []
    off = np.abs(own - np.median(own))
    # If most margins are equal, only the others have a spread.
    spread = np.median(off) or np.median(off[off > 0])
    if (far := off > FAR * spread).any():
        worst = own[np.argmax(off)]
        which = "a margin" if far.sum() == 1 else f"{far.sum()} margins"
        verb = "is" if far.sum() == 1 else "lie up to"
        texts.append(
            f"{which} of {name} {verb} {worst:g}, far from the others, and the raw estimate "
            "depends on it"
        )
    _, count = np.unique(own, return_counts=True)
    if tied := int(count[count > 1].sum()):
        texts.append(f"{tied} margins of {name} tie (mid-ranks)")
    return texts


def _flat_classes(own: Floats, kinds: np.ndarray) -> int:
    """Number of classes with at least two items whose margins are all equal."""
    found = 0
    for kind in np.unique(kinds[kinds >= 0]):
        part = own[kinds == kind]
        found += len(part) > 1 and bool(np.ptp(part) == 0)
    return found
