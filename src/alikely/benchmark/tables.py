"""Tables of a benchmark: scores with the intervals of every school, and their ceilings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.intervals import CiKind, bound_columns, bound_names
from alikely._base.names import listed, nearest
from alikely._base.notes import told
from alikely.benchmark.decomposition import (
    Decomposition,
    Population,
    share_of_ceiling,
    spread,
    student_bounds,
)
from alikely.benchmark.layout import CEILING, FEWEST_HUMANS, HUMANS, OVERALL
from alikely.benchmark.nesting import FEWEST_PEOPLE, POPULATIONS
from alikely.benchmark.spoken import in_kinds
from alikely.estimates.remarks import few_clusters
from alikely.inference.intervals import interval, two_factor_variance, variance_of_defined
from alikely.metrics.cell_priors import cell_prior
from alikely.metrics.consistency import ACCURACY_COLUMNS

if TYPE_CHECKING:
    from alikely.benchmark.benchmark import Benchmark
    from alikely.benchmark.drawn import DrawnScores

__all__ = [
    "ACCURACIES",
    "CONSENSUS",
    "SCHEMA",
    "Population",
    "School",
    "ceiling_table",
    "contrast_se",
    "few_notes",
    "human_notes",
    "level_table",
    "levels_met",
    "moved_notes",
    "one_of",
    "prior_shift",
    "schools_of",
    "too_few_humans",
    "weighted_draws",
]

School = Literal["bootstrap", "posterior", "cohort"]

CONSENSUS = ("lower", "lower_se", "upper", "upper_se")
# What stands behind every score, whatever its metric.
ACCURACIES = ("accuracy", "accuracy_humans", *ACCURACY_COLUMNS)
# What a file must hold to be read as a benchmark.
SCHEMA: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "estimates": {
            "estimate": ("level", "system"),
            "n_humans": ("level",),
            "n_humans_met": ("level",),
            "crowd": ("level",),
            "fewest_humans": ("level",),
            "n_images": ("level",),
            "undefined_entries": ("level", "system"),
            **dict.fromkeys(ACCURACIES, ("level", "system")),
            **dict.fromkeys(CONSENSUS, ("level",)),
        },
        "covariance": {"covariance": ("population", "level", "system", "system_other")},
        "decomposition": {
            "centre": ("level", "system"),
            "influence": ("system", "image"),
            "invented": ("level", "system", "system_other"),
            "people": ("level", "system", "system_other"),
            "shared": ("level", "system", "system_other"),
            "df_people": ("level", "system"),
            "image_level": ("image",),
        },
    }
)
# A score that accuracies bound below this says more of them than of errors.
NARROW = 0.5
# Measured (docs/benchmarks.md): beyond, joint posteriors of means hold the truth in .65 to .90, and
# bootstraps in .2 to .6.
MOVED = 0.5
# Up to this many the spread over humans is a rough guess.
FEW_HUMANS = 6


def one_of(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse a value that is none of those known."""
    if value not in known:
        raise ValueError(
            f"{name} must be one of {listed(known)}; got {value!r}{nearest(value, known)}"
        )


def schools_of(scores: Benchmark, population: Population) -> dict[School, str]:
    """Methods whose draws generalize to a population, and the variables that hold them."""
    found: dict[School, str] = {"bootstrap": population}
    if population == "images":
        found["posterior"] = "score"
    if population == "crossed":
        found["cohort"] = "score"
    return {school: name for school, name in found.items() if school in scores.data.children}


def level_table(
    scores: Benchmark,
    population: Population,
    level: str,
    ci_prob: float,
    ci_kind: CiKind,
    methods: Sequence[str],
    *,
    named: bool,
) -> pd.DataFrame:
    """Scores of one level, one row per system that took part."""
    one_of("population", population, POPULATIONS)
    parts = scores.decomposition(level)
    estimates = scores.estimates.sel(level=level)
    value, systems = estimates["estimate"].values, estimates["system"].values
    found = spread(parts, np.eye(len(systems)), population)
    columns = {
        "level": level,
        "system": systems,
        "estimate": value,
        "centre": parts.score,
        "se": np.sqrt(found.variance),
        "df": found.df,
    }
    bounds = student_bounds(parts.score, found.variance, found.df, ci_prob, scores.metric.bounds)
    frame = pd.DataFrame(columns)
    if "analytic" in methods:
        frame = frame.assign(**bound_columns("analytic", "ci", ci_prob, bounds))
    outside = (value < bounds[:, 0]) | (value > bounds[:, 1])
    if "bootstrap" in methods:
        frame["bootstrap_se"] = _bootstrap_se(scores, population, level)
    moved = prior_shift(scores, level) if "posterior" in methods else np.zeros(len(systems))
    for school, variable in schools_of(scores, population).items():
        if school not in methods:
            continue
        bounds = interval(scores.draws(school, variable, level), ci_prob, ci_kind)
        if school == "posterior" and not named:
            bounds[np.abs(moved) > MOVED] = np.nan
        frame = frame.assign(**bound_columns(school, ci_kind, ci_prob, bounds))
    ceiled, bounded = _ceiled(scores, parts, value, population, ci_prob)
    frame["ceiled"] = ceiled[:, 0]
    if "analytic" in methods:
        names = ("ceiled_se", *bound_names("ceiled", "ci", ci_prob))
        frame = frame.assign(**dict(zip(names, ceiled[:, 1:].T, strict=True)))
    undefined = estimates["undefined_entries"].values
    behind = [*ACCURACIES, *(name for name in scores.metric.derived if name not in ACCURACIES)]
    frame = frame.assign(**{name: estimates[name].values for name in behind})
    # Of metrics that the accuracies bound.
    bound = "kappa_max" in scores.metric.derived
    allowed = estimates["kappa_max"].values if bound else np.full(len(value), np.inf)
    notes = _notes(scores, population, level, ceiled, bounded, undefined, allowed, outside)
    away = (frame["centre"] - frame["estimate"]) / frame["se"]
    few = _few_counts(scores, level)
    frame["note"] = [
        "; ".join(
            filter(
                None,
                [
                    *moved_notes([shift], shown=named),
                    *(bootstrap_notes(far) if "bootstrap" in methods else ()),
                    little,
                    note,
                ],
            )
        )
        for shift, far, little, note in zip(moved.tolist(), away, few, notes, strict=True)
    ]
    return frame[np.isfinite(value) | (undefined > 0)]


def _few_counts(scores: Benchmark, level: str) -> list[str]:
    """Notes on scores that are based on too few counts a pair, by system; empty for others."""
    least, few = scores.metric.trust.pooled
    if "rarest" not in scores.estimates:
        return [""] * scores.estimates.sizes["system"]
    rarest = scores.estimates["rarest"].sel(level=level).values
    return [told(few) if own < least else "" for own in rarest.tolist()]


def bootstrap_notes(away: float) -> list[str]:
    """Explain why the bootstrap interval of a score is not recommended."""
    if abs(away) > MOVED:
        why = f"bootstrap centered {abs(away):.1f} standard errors off: its interval is too narrow"
        return [f"{why}, report the analytic interval"]
    return ["bootstrap coverage is 0.64 to 0.98 in simulations: report the analytic interval"]


def prior_shift(scores: Benchmark, level: str) -> Floats:
    """How far the prior of single entries moves the joint posterior of their means."""
    size = scores.estimates.sizes["system"]
    if "posterior" not in scores.data.children or scores.metric.draws != "cells":
        return np.zeros(size)
    if scores.prior != cell_prior(None):
        # The user chose it, and wants its effect.
        return np.zeros(size)
    drawn = scores.draws("posterior", "score", level)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = (drawn.mean(axis=0) - scores.decomposition(level).score) / drawn.std(axis=0)
    machines = slice(0, len(scores.models))
    known = shift[machines][np.isfinite(shift[machines])]
    if len(known):
        shift[machines] = known.mean()
    return np.nan_to_num(shift)


def moved_notes(shifts: Sequence[float], *, shown: bool) -> list[str]:
    """Explain a biased joint posterior of means, not reported or shown: nothing, or one note."""
    largest = max(shifts, key=abs, default=0.0)
    if abs(largest) <= MOVED:
        return []
    by = f"the prior of single pairs moves their mean by {abs(largest):.1f} posterior SDs"
    if shown:
        return [f"posterior biased: {by}, report the analytic interval"]
    return [f"posterior not reported: {by}"]


def _ceiled(
    scores: Benchmark, parts: Decomposition, value: Floats, population: Population, ci_prob: float
) -> tuple[Floats, bool]:
    """Shares of the ceiling with error and bounds: (system, 4), and whether Fieller's have ends."""
    out = np.full((len(value), 4), np.nan)
    systems = scores.estimates["system"].values.tolist()
    ceiling, bounded = systems.index(CEILING), True
    for s in (systems.index(name) for name in scores.models):
        if value[ceiling] > 0 and np.isfinite(value[s]):
            share = share_of_ceiling(parts, s, ceiling, population, ci_prob)
            out[s] = value[s] / value[ceiling], share.se, share.lower, share.upper
            bounded &= share.bounded
    return out, bounded


def _bootstrap_se(scores: Benchmark, population: Population, level: str) -> Floats:
    """Standard errors of all systems from the replicates."""
    if level != OVERALL or scores.data.attrs.get("drawn") == "together":
        draws = {name: scores.draws("bootstrap", name, level) for name in POPULATIONS}
        return _corrected_se(scores, population, level, draws)
    square = np.stack([_bootstrap_se(scores, population, name) ** 2 for name in scores.datasets])
    total = np.where(_present(scores), square, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(total) / np.maximum(_present(scores).sum(axis=0), 1))


def contrast_se(
    scores: Benchmark, population: Population, level: str, weights: Mapping[str, float]
) -> float:
    """Standard error of a weighted sum of scores from the replicates."""
    if level != OVERALL or scores.data.attrs.get("drawn") == "together":
        draws = {
            name: weighted_draws(scores, "bootstrap", name, level, weights)[:, None]
            for name in POPULATIONS
        }
        return float(_corrected_se(scores, population, level, draws)[0])
    present = pd.DataFrame(
        _present(scores), scores.datasets, scores.estimates["system"].values.tolist()
    )
    count = present.sum()
    total = 0.0
    for name in scores.datasets:
        # The part that this data set has in the mean over data sets.
        part = {s: w / count[s] for s, w in weights.items() if present.loc[name, s]}
        total += contrast_se(scores, population, name, part) ** 2 if part else 0.0
    return float(np.sqrt(total))


def weighted_draws(
    scores: Benchmark, school: School, variable: str, level: str, weights: Mapping[str, float]
) -> Floats:
    """Weighted sum of scores in each replicate or draw."""
    systems = scores.estimates["system"].values.tolist()
    columns = [systems.index(name) for name in weights]
    return scores.draws(school, variable, level)[:, columns] @ np.array([*weights.values()])


def _present(scores: Benchmark) -> NDArray[np.bool_]:
    """Whether each system has a score in each data set: (data set, system)."""
    return np.isfinite(scores.estimates["estimate"].sel(level=scores.datasets).values)


def _corrected_se(
    scores: Benchmark, population: Population, level: str, draws: Mapping[Population, Floats]
) -> Floats:
    """Standard errors from replicates of each population, for the smallness of the samples."""
    estimates = scores.estimates.sel(level=level)
    n_humans, n_images = int(estimates["crowd"]), max(int(estimates["n_images"]), 2)
    v = {name: variance_of_defined(own, ddof=0) for name, own in draws.items()}
    if population != "images" and n_humans < FEWEST_HUMANS:
        return np.full(len(v["images"]), np.nan)
    if population == "crossed":
        return np.sqrt(
            two_factor_variance(v["crossed"], v["humans"], v["images"], n_humans, n_images)
        )
    n = n_images if population == "images" else n_humans
    return np.asarray(np.sqrt(v[population] * n / (n - 1)))


def _notes(
    scores: Benchmark,
    population: Population,
    level: str,
    ceiled: Floats,
    bounded: bool,
    undefined: NDArray[np.int64],
    allowed: Floats,
    outside: NDArray[np.bool_],
) -> list[str]:
    """What to know about the score of each system; `ceiled`, `bounded` as from `_ceiled`."""
    ceiling = float(scores.estimates["estimate"].sel(level=level, system=CEILING))
    crowd = [human_notes(scores, population, level, alone=alone) for alone in (False, True)]
    shared: list[str] = []
    if ceiling <= 0:
        shared.append("the ceiling is not above 0: no share of it")
    if not bounded:
        shared.append("the ceiling can hardly be told from 0: shares of it are rough")
    if (
        "posterior" in scores.data.children
        and population == "images"
        and (scores.data.attrs.get("posterior_images") == "apart")
    ):
        shared.append("posterior takes an image of several conditions for several")
    if withheld := scores.data.attrs.get("posterior_withheld"):
        shared.append(withheld)
    if scores.missing_note:
        shared.append(scores.missing_note)
    clusters = _cluster_notes(scores, population, level)
    systems = scores.estimates["system"].values.tolist()
    notes = []
    columns = (ceiled[:, 0], undefined, allowed, outside, clusters)
    for name, share, holes, most, apart, few in zip(
        systems, *(column.tolist() for column in columns), strict=True
    ):
        own = [*crowd[name == HUMANS], *filter(None, [few]), *shared]
        if apart:
            own.append(
                "the estimate lies outside its interval, which is about the score with a little "
                "added to the counts (centre): too few errors for this metric"
            )
        if most < NARROW:
            own.append(f"the accuracies allow at most {most:.2f}: see al.benchmark.rank_by_metric")
        if holes:
            own.append(f"{holes} undefined entries left out of the estimate")
        if share > 1 and bounded:
            own.append("above the ceiling: closer to the humans than they are to each other")
        notes.append("; ".join(own))
    return notes


def _cluster_notes(scores: Benchmark, population: Population, level: str) -> NDArray[np.object_]:
    """Note on each score of too few clusters of images."""
    group = scores.data["decomposition"].to_dataset().sel(level=level)
    size = scores.estimates.sizes["system"]
    if "n_clusters" not in group or population == "humans":
        return np.full(size, "", dtype=object)
    number = np.full(size, int(group["n_clusters"]))
    found = few_clusters(scores.data.attrs["cluster"], number)
    return np.array([told(text) for text in found], dtype=object)


def levels_met(scores: Benchmark | DrawnScores) -> list[str]:
    """Levels in which there are machines; others have humans alone."""
    known = scores.estimates["estimate"].sel(level=scores.datasets, system=scores.models)
    met = known.notnull().any("system").values
    return [name for name, there in zip(scores.datasets, met, strict=True) if there]


def human_notes(
    scores: Benchmark, population: Population, level: str, *, alone: bool = False
) -> list[str]:
    """Note if there are too few humans to generalize to others."""
    own = [] if alone or level != OVERALL else levels_met(scores)
    n_humans = int(scores.estimates["n_humans_met" if own else "n_humans"].sel(level=level))
    fewest = _fewest_humans(scores, own or [level])
    return [] if population == "images" else few_notes(fewest, n_humans)


def _fewest_humans(scores: Benchmark, levels: Sequence[str]) -> int:
    """A mean over data sets has the humans of all of them, but each must have enough."""
    return int(scores.estimates["fewest_humans"].sel(level=list(levels)).min())


def too_few_humans(scores: Benchmark, population: Population, level: str) -> str:
    """Why scores have no variance for new humans, and what to do; empty if they have one."""
    levels = levels_met(scores) if level == OVERALL else []
    fewest = _fewest_humans(scores, levels or [level])
    if population == "images" or fewest >= FEWEST_PEOPLE:
        return ""
    return in_kinds(
        f"only {fewest} humans: results for new humans need at least {FEWEST_PEOPLE} humans in "
        "each data set; pass population='images' to treat these humans as fixed",
        scores.humans,
    )


def few_notes(fewest: int, n_humans: int) -> list[str]:
    """What few humans allow: nothing, or one note."""
    if fewest < FEWEST_PEOPLE:
        return [f"only {fewest} humans: no statement about new ones"]
    if fewest < FEWEST_HUMANS:
        return [f"only {fewest} humans: rough, and too few to draw from"]
    return [f"only {n_humans} humans: rough"] if n_humans <= FEW_HUMANS else []


def ceiling_table(scores: Benchmark, population: Population) -> pd.DataFrame:
    """Human-human scores and consensus bounds of every level, tested against 0."""
    one_of("population", population, POPULATIONS)
    estimates = scores.estimates
    levels = estimates["level"].values.tolist()
    value = estimates["estimate"].sel(system=HUMANS).values
    row = estimates["system"].values.tolist().index(HUMANS)
    contrast = np.eye(estimates.sizes["system"])[[row]]
    centre, se, df = np.empty((3, len(levels)))
    for i, name in enumerate(levels):
        parts = scores.decomposition(name)
        found = spread(parts, contrast, population)
        centre[i], se[i], df[i] = parts.score[row], np.sqrt(found.variance[0]), found.df[0]
    frame = pd.DataFrame(
        {
            "level": levels,
            "n_humans": estimates["n_humans"].values,
            "human_human": value,
            "human_human_se": se,
            "df": df,
            "p_human_human": stats.t.sf(centre / se, df),
        }
    )
    return frame.assign(**{f"consensus_{name}": estimates[name].values for name in CONSENSUS})
