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

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from alikely._base.arrays import Floats, normal_nodes, within
from alikely.margins.moments import Side, centred, group_side, lists_of_items, model_side
from alikely.margins.strengths import GroupStrengths, group_strengths, skew_check
from alikely.margins.tables import answers_of_group
from alikely.metrics.alternatives import distractor_nodes
from alikely.metrics.margins import repeated

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
    """Test a quadratic term of margins in strengths [W80]_."""
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
    """Test for classes that are easier for one system than predicted by the other."""
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
    """Residuals of item easiness from a quadratic fit of the other system's, by class.

    Mean and size of each class, and the variance within classes.
    """
    own = (np.bincount(classes) >= FEWEST_OF_CLASS)[classes]
    design = np.vander(other.ease[own], 3, increasing=True)
    left = side.ease[own] - design @ np.linalg.lstsq(design, side.ease[own], rcond=None)[0]
    groups = pd.Series(left).groupby(classes[own])
    found, squares = groups.agg(["mean", "size"]), (left - groups.transform("mean")) ** 2
    return found, float(squares.sum() / max(len(left) - len(found), 1))


def repeat_check(right: ArrayLike, shown: ArrayLike) -> float:
    """Test overdispersion: repeated responses more similar than those of observers [DL89]_."""
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
