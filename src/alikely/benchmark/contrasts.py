"""Differences between scores: all pairs, groups, weighted sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.frames import with_notes
from alikely._base.intervals import CiKind, Intervals, bound_columns, bound_names
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark.decomposition import (
    ROUNDING,
    Decomposition,
    Population,
    largest_of_differences,
    mapped,
    only,
    pair_contrasts,
    pooled_df,
    spread,
    student_bounds,
)
from alikely.benchmark.layout import OVERALL
from alikely.benchmark.nesting import POPULATIONS
from alikely.benchmark.probability import probability_positive, scales_of_differences
from alikely.benchmark.selection import NO_METHOD, methods_shown
from alikely.benchmark.tables import (
    bootstrap_notes,
    contrast_se,
    human_notes,
    moved_notes,
    one_of,
    prior_shift,
    schools_of,
    too_few_humans,
    weighted_draws,
)
from alikely.inference.intervals import adjusted_p_values, describe_draws

__all__ = ["group_means", "pairwise_differences"]

if TYPE_CHECKING:
    from alikely.benchmark.benchmark import Benchmark

# Probabilities from here on are read as claims.
CLAIMED = 0.8


def machine_scores(
    scores: Benchmark,
    population: Population,
    level: str,
    groups: str | Mapping[str, str] | None = None,
) -> tuple[list[str], NDArray[np.float64], Decomposition]:
    """Machines with a score and an error, or groups of them."""
    one_of("population", population, POPULATIONS)
    parts = scores.decomposition(level)
    systems = scores.estimates["system"].values.tolist()
    variance = spread(parts, np.eye(len(systems)), population).variance
    here = [systems.index(m) for m in scores.models if np.isfinite(variance[systems.index(m)])]
    known = [systems[s] for s in here]
    if len(known) < 2:
        raise ValueError(
            too_few_humans(scores, population, level)
            or f"differences need two machines with a score and its error, got {len(known)} at "
            f"level {level!r} for population {population!r}"
        )
    values = scores.estimates["estimate"].sel(level=level, system=known).values
    own = only(parts, here)
    if groups is None:
        return known, values, own
    labels, weights = group_weights(known, _groups_of(scores, groups, known))
    return labels, weights @ values, mapped(own, weights)


def machine_draws(
    scores: Benchmark, population: Population, level: str = OVERALL
) -> NDArray[np.float64]:
    """Bootstrap replicates of the scores of the machines."""
    systems = scores.estimates["system"].values.tolist()
    columns = [systems.index(name) for name in scores.models]
    return scores.draws("bootstrap", population, level)[:, columns]


def _groups_of(
    scores: Benchmark, groups: str | Mapping[str, str], names: Sequence[str]
) -> Mapping[str, str]:
    """Group of each machine, from a label of the observers if it is none that is given."""
    if not isinstance(groups, str):
        return groups
    labels = scores.estimates.coords
    known = [str(c) for c in labels if labels[c].dims == ("system",) and c != "system"]
    if groups not in known:
        raise ValueError(
            f"groups must be a mapping or a label of the observers "
            f"({', '.join(known) or 'they have none'}), got {groups!r}"
        )
    found = labels[groups].sel(system=list(names)).values.tolist()
    return dict(zip(names, found, strict=True))


def group_means(
    names: Sequence[str],
    estimates: NDArray[np.float64],
    matrix: NDArray[np.float64],
    groups: Mapping[str, str],
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Unweighted mean scores of groups of systems, with their covariance."""
    labels, weights = group_weights(names, groups)
    return labels, weights @ estimates, weights @ matrix @ weights.T


def group_weights(
    names: Sequence[str], groups: Mapping[str, str]
) -> tuple[list[str], NDArray[np.float64]]:
    """Weights of systems in the unweighted means of groups of them."""
    unknown = [name for name in groups if name not in names]
    if unknown:
        raise ValueError(
            f"no system is named {unknown[0]!r}; systems are {listed(names)}"
            f"{nearest(unknown[0], names)}"
        )
    labels = list(dict.fromkeys(groups.values()))
    if len(labels) < 2:
        raise ValueError(f"a comparison of groups needs at least two, got {', '.join(labels)}")
    member = np.array([[groups.get(name) == label for name in names] for label in labels])
    return labels, member / member.sum(axis=1, keepdims=True)


def require_differences(names: Sequence[str], parts: Decomposition, population: Population) -> None:
    """Refuse systems that gave the same answers."""
    found = spread(parts, pair_contrasts(len(names)), population)
    if found.alike.any():
        j, k = (side[found.alike][0] for side in np.triu_indices(len(names), 1))
        raise ValueError(
            f"{names[j]!r} and {names[k]!r} have a difference without variance: they gave the same "
            "answers; leave one of them out"
        )


def difference_table(
    names: Sequence[str],
    estimates: NDArray[np.float64],
    parts: Decomposition,
    population: Population,
    expected: float,
    ci_prob: float = 0.95,
    limit: float = np.inf,
) -> pd.DataFrame:
    """All differences of scores, with intervals one by one and intervals that hold at once."""
    n = len(names)
    j, k = np.triu_indices(n, k=1)
    contrasts = pair_contrasts(n)
    found = spread(parts, contrasts, population)
    # Identical answers have no difference to speak of; what was added to their cells has.
    se = np.where(found.alike, np.nan, np.sqrt(found.variance))
    centre = contrasts @ parts.score
    df = pooled_df(found._replace(variance=se**2), parts, population)
    wide = largest_of_differences(df, n, ci_prob) * se
    t = np.abs(centre / se)
    p = 2 * stats.t.sf(t, found.df)
    deviate = -special.ndtri(stats.t.sf(t, df))
    together = stats.studentized_range.sf(np.sqrt(2) * deviate, n, np.inf)
    limits = (-limit, limit)
    bounds = np.clip(np.stack([centre - wide, centre + wide], axis=-1), *limits)
    alone = student_bounds(centre, se**2, found.df, ci_prob, limits)
    scales = scales_of_differences(centre, se**2, found.df, n, expected)
    p_positive = probability_positive(centre, se**2, found.df, scales)
    notes = _difference_notes(found.alike, p, together, p_positive, 1 - ci_prob)
    return pd.DataFrame(
        {
            "system": np.array(names, dtype=object)[j],
            "other": np.array(names, dtype=object)[k],
            "difference": estimates[j] - estimates[k],
            "centre": centre,
            "se": se,
            "df": found.df,
            **bound_columns("pointwise", "ci", ci_prob, alone),
            "p_value": p,
            **bound_columns("simultaneous", "ci", ci_prob, bounds),
            "p_value_simultaneous": together,
            "p_value_bh": adjusted_p_values(p),
            "p_positive": p_positive,
            "note": notes,
        }
    )


def _difference_notes(
    alike: NDArray[np.bool_], p: Floats, together: Floats, p_positive: Floats, level: float
) -> list[str]:
    """What to know of each difference."""
    undecided = not (together <= level).any()
    notes = []
    for same, one, among, above in zip(alike, p, together, p_positive, strict=True):
        own = []
        if same:
            own.append("identical answers: the difference has no variance")
        if one <= level < among:
            own.append(f"told apart alone, not among all {len(p)} differences")
        if undecided and max(above, 1 - above) >= CLAIMED:
            own.append("p_positive leans on its prior: no two are told apart among all")
        notes.append("; ".join(own))
    return notes


def pairwise_differences(
    names: Sequence[str],
    estimates: NDArray[np.float64],
    matrix: NDArray[np.float64],
    ci_prob: float = 0.95,
    rng: RandomState = None,
    *,
    limit: float = np.inf,
) -> pd.DataFrame:
    """All differences of scores, with intervals that hold at once."""
    j, k = np.triu_indices(len(names), k=1)
    difference = estimates[j] - estimates[k]
    diagonal = np.diag(matrix)
    variance = diagonal[j] + diagonal[k] - 2 * matrix[j, k]
    # Identical systems: what rounding leaves is no spread.
    variance = np.where(variance > 1e-12 * (diagonal[j] + diagonal[k]), variance, np.nan)
    se = np.sqrt(variance)
    z = difference / se
    values, vectors = np.linalg.eigh(matrix)
    generator = np.random.default_rng(seed_sequence(rng))
    normal = generator.standard_normal((20_000, len(names)))
    normal = normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
    known = np.isfinite(se)
    largest = np.zeros(len(normal))
    for pair in np.flatnonzero(known):
        np.maximum(largest, np.abs(normal[:, j[pair]] - normal[:, k[pair]]) / se[pair], out=largest)
    wide = np.quantile(largest, ci_prob)
    p = 2 * special.ndtr(-np.abs(z))
    bounds = np.stack([difference - wide * se, difference + wide * se], axis=-1)
    bounds = np.clip(bounds, -limit, limit)
    return pd.DataFrame(
        {
            "system": np.array(names, dtype=object)[j],
            "other": np.array(names, dtype=object)[k],
            "difference": difference,
            "se": se,
            **bound_columns("simultaneous", "ci", ci_prob, bounds),
            "p_value": p,
            "p_value_bh": adjusted_p_values(p),
            "note": np.where(known, "", "identical answers: the difference has no variance"),
        }
    )


def contrast_weights(
    scores: Benchmark, first: str | Sequence[str], second: str | Sequence[str] | None
) -> dict[str, float]:
    """Weights of a mean of scores, or of the difference between two."""
    known = scores.estimates["system"].values.tolist()
    weights: dict[str, float] = {}
    for sign, given in ((1.0, first), (-1.0, second)):
        if given is None:
            continue
        names = [given] if isinstance(given, str) else list(given)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(
                f"no system is named {unknown[0]!r}; systems are {listed(known)}"
                f"{nearest(unknown[0], known)}"
            )
        if not names or len(set(names)) < len(names):
            raise ValueError(f"each side of a contrast must name systems, each once; got {names}")
        for name in names:
            weights[name] = weights.get(name, 0.0) + sign / len(names)
    weights = {name: weight for name, weight in weights.items() if weight}
    if not weights:
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    return weights


def score_contrast(
    scores: Benchmark,
    weights: Mapping[str, float],
    population: Population,
    level: str,
    rope: tuple[float, float] | None,
    ci_prob: float,
    ci_kind: CiKind,
    intervals: Intervals,
) -> pd.DataFrame:
    """Weighted sum of scores, by the recommended method or others."""
    if rope is not None and not (len(rope) == 2 and rope[0] < rope[1]):
        raise ValueError(f"rope must be (lower, upper) with lower below upper, got {rope!r}")
    methods = methods_shown(scores, population, intervals)
    named = intervals not in (None, "all")
    rows: dict[str, dict[str, object]] = {}
    one_of("level", level, [*scores.datasets, OVERALL])
    value = scores.estimates["estimate"].sel(level=level, system=list(weights)).values
    estimate = float(value @ np.array([*weights.values()]))
    if "analytic" in methods:
        rows["analytic"] = _analytic_row(scores, weights, population, level, ci_prob, ci_kind)
    elif not methods:
        rows["estimate"] = {"estimate": estimate, "note": NO_METHOD}
    for method, variable in schools_of(scores, population).items():
        if method not in methods:
            continue
        drawn = weighted_draws(scores, method, variable, level, weights)
        if method == "bootstrap":
            rows[method] = describe_draws(drawn, ci_prob, ci_kind, rope, estimate)
            rows[method]["se"] = contrast_se(scores, population, level, weights)
            away = _away(scores, weights, population, level)
            rows[method].setdefault("note", bootstrap_notes(away)[0])
        else:
            rows[method] = describe_draws(drawn, ci_prob, ci_kind, rope)
            if method == "posterior" and (why := _biased(scores, weights, level, named)):
                rows[method] = {**(rows[method] if named else {}), "note": why}
    frame = pd.DataFrame.from_dict(rows, orient="index")
    columns = ["estimate", "se", *bound_names("", ci_kind, ci_prob), "p_value", "p_positive"]
    frame = frame.reindex(columns=[*columns, "rope_mass", "undefined_share", "note"])
    shared = human_notes(scores, population, level)
    notes = ["; ".join(filter(None, [*shared, own])) for own in frame["note"].fillna("")]
    return with_notes(frame.assign(note=notes), scores.missing_note)


def _away(
    scores: Benchmark, weights: Mapping[str, float], population: Population, level: str
) -> float:
    """Center of the analytic interval minus the estimate, in standard errors."""
    systems = scores.estimates["system"].values.tolist()
    w = np.array([*weights.values()])
    parts = only(scores.decomposition(level), [systems.index(s) for s in weights])
    value = scores.estimates["estimate"].sel(level=level, system=list(weights)).values
    variance = spread(parts, w[None], population).variance[0]
    return float(w @ (parts.score - value) / np.sqrt(variance)) if variance > 0 else np.nan


def _biased(scores: Benchmark, weights: Mapping[str, float], level: str, named: bool) -> str:
    """Why the posterior of these systems is biased, if it is."""
    systems = scores.estimates["system"].values.tolist()
    shift = prior_shift(scores, level)
    return "".join(moved_notes([float(shift[systems.index(s)]) for s in weights], shown=named))


def _analytic_row(
    scores: Benchmark,
    weights: Mapping[str, float],
    population: Population,
    level: str,
    ci_prob: float,
    ci_kind: CiKind,
) -> dict[str, object]:
    chosen, w = list(weights), np.array([*weights.values()])
    systems = scores.estimates["system"].values.tolist()
    parts = only(scores.decomposition(level), [systems.index(s) for s in chosen])
    value = scores.estimates["estimate"].sel(level=level, system=chosen).values
    found = spread(parts, w[None], population)
    variance, df = found.variance[0], found.df[0]
    note = ""
    if found.alike[0]:
        # What was added to the cells tells nothing of them.
        variance, note = np.nan, "identical answers: the difference has no variance"
    elif variance == 0 and abs(w.sum()) <= ROUNDING:
        variance, note = np.nan, "the difference is equal for all humans: it has no variance"
    if np.isnan(value).any():
        note = f"{chosen[int(np.argmax(np.isnan(value)))]} has no score here"
    centre = w @ parts.score
    ends = np.multiply.outer(scores.metric.bounds, w)
    limits = (float(np.minimum(*ends).sum()), float(np.maximum(*ends).sum()))
    bounds = student_bounds(np.array(centre), np.array(variance), np.array(df), ci_prob, limits)
    return {
        "estimate": float(w @ value),
        "se": float(np.sqrt(variance)),
        # Student's interval stands in the columns of the others, as in `alikely.contrast`.
        **bound_columns("", ci_kind, ci_prob, bounds),
        "p_value": float(2 * stats.t.sf(abs(centre) / np.sqrt(variance), df)),
        "p_positive": _p_positive(
            scores, weights, population, level, (float(centre), variance, df)
        ),
        "note": note,
    }


def _p_positive(
    scores: Benchmark,
    weights: Mapping[str, float],
    population: Population,
    level: str,
    found: tuple[float, float, float],
) -> float:
    """Probability that a difference is above 0, as in the table of all; else NaN."""
    if abs(sum(weights.values())) > ROUNDING or np.isnan(found[1]):
        return np.nan
    expected = scores.metric.differences
    centre, variance, df = (np.array(x) for x in found)
    if set(weights) <= set(scores.models):
        names, _, parts = machine_scores(scores, population, level)
        pairs = pair_contrasts(len(names))
        all_ = spread(parts, pairs, population)
        known = np.where(all_.alike, np.nan, all_.variance)
        scales = scales_of_differences(pairs @ parts.score, known, all_.df, len(names), expected)
    else:
        scales = scales_of_differences(centre[None], variance[None], df[None], 2, expected)
    return float(probability_positive(centre, variance, df, scales))
