"""Tables of scores: each row is a weighted sum of scores, by every available method.

References
----------
.. [G06] Gelman (2006). Prior distributions for variance parameters in hierarchical models. Bayesian
   Analysis 1, 515-533. doi:10.1214/06-BA117A
.. [M83] Morris (1983). Parametric empirical Bayes inference: theory and applications.
   doi:10.1080/01621459.1983.10477920
.. [VRF11] Varin, Reid, Firth (2011). An overview of composite likelihood methods. Statistica Sinica
   21, 5-42.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import one_of
from alikely._base.frames import Columns, with_columns, with_notes
from alikely._base.intervals import CiKind, Intervals, bound_columns, bound_names, chosen_methods
from alikely._base.names import listed, nearest
from alikely._base.notes import note, told
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark.decomposition import (
    ROUNDING,
    largest_of_differences,
    pair_contrasts,
    pooled_df,
    shares_of_ceiling,
    spread,
    student_bounds,
    weighted_sums,
)
from alikely.benchmark.layout import (
    CEILING,
    FEWEST_HUMANS,
    FEWEST_PEOPLE,
    HUMANS,
    OVERALL,
    POPULATIONS,
    Population,
    in_kinds,
)
from alikely.benchmark.levels import (
    SOURCES,
    Method,
    dataset_names,
    human_kind,
    is_analytic,
    level_draws,
    level_parts,
    level_scores,
    model_names,
    system_names,
)
from alikely.estimates.remarks import few_clusters
from alikely.estimates.result import Result
from alikely.inference.intervals import (
    adjusted_p_values,
    describe_draws,
    interval,
    two_factor_variance,
    variance_of_defined,
)
from alikely.metrics import Metric
from alikely.metrics.cell_priors import cell_prior
from alikely.metrics.consistency import ACCURACY_COLUMNS

__all__ = [
    "ACCURACIES",
    "CONSENSUS",
    "METHODS",
    "NO_METHOD",
    "contrast_table",
    "difference_table",
    "differences_shown",
    "drawn_methods",
    "equality_test",
    "few_notes",
    "is_plug_in",
    "levels_met",
    "methods_shown",
    "not_valid",
    "one_difference",
    "pairwise_differences",
    "population_of",
    "too_few_humans",
]

METHODS = ("analytic", "bootstrap", "posterior")
CONSENSUS = ("lower", "lower_se", "upper", "upper_se")
# Accuracy columns of every score, for any metric.
ACCURACIES = ("accuracy", "accuracy_humans", *ACCURACY_COLUMNS)
# Default columns of tables, in addition to bounds; others on request.
SCORE_COLUMNS = (
    "level", "system", "estimate", "ceiling", "posterior_median", "se", "bootstrap_se",
    "ceiling_normalized", "accuracy", "prob_positive", "n_entries", "note",
)  # fmt: skip
DIFFERENCE_COLUMNS = ("system", "other", "difference", "se", "prob_positive", "note")
# Kinds of intervals of differences, and their tests.
TESTS = {"pointwise": "p_value", "simultaneous": "p_value_simultaneous"}
NO_METHOD = told(note("no-valid-interval"))
# If accuracies bound a score below this, it depends mainly on accuracies.
NARROW = 0.5
# Limit of the prior's shift, in posterior SDs. Beyond it (docs/validation), coverage of joint
# posteriors of means was 0.65 to 0.90, and that of bootstraps 0.2 to 0.6.
MOVED = 0.5
# Up to this many humans, the variance over humans is estimated poorly.
FEW_HUMANS = 6
# Probabilities above this value are interpreted as claims.
CLAIMED = 0.8
# Grid of scales of true differences, as multiples of the expected scale.
LEAST, MOST, STEPS = 0.04, 8.0, 60
# Deviates beyond this value count as certain.
CERTAIN = 30.0


# Methods


def is_plug_in(metric: Metric) -> bool:
    """Whether intervals of its mean scores never reach nominal coverage."""
    return bool(np.isinf(metric.trust.pooled[0]))


def not_valid(metric: Metric) -> str:
    """Reason why intervals, tests and ranks of its mean scores are not valid; empty if valid."""
    return NO_METHOD if is_plug_in(metric) else ""


def population_of(scores: Result, generalize_to: Population | None) -> Population:
    """Return the population that intervals generalize to. Default: new images and new humans."""
    if generalize_to is not None:
        one_of("generalize_to", generalize_to, POPULATIONS)
    if is_analytic(scores):
        return generalize_to or "both"
    if generalize_to is not None:
        raise ValueError(
            "generalize_to= cannot be set for scores made from a result, which determines what "
            "intervals generalize to; leave it out"
        )
    return "images"


def drawn_methods(scores: Result, generalize_to: Population) -> dict[Method, str]:
    """Methods whose draws generalize to a population, and the names of their variables."""
    found: dict[Method, str] = {"bootstrap": generalize_to}
    if generalize_to == "images":
        found["posterior"] = "score"
    return {method: name for method, name in found.items() if method in scores.data.children}


def methods_shown(
    scores: Result, generalize_to: Population, intervals: Intervals
) -> tuple[str, ...]:
    """Choose the methods whose intervals a table shows."""
    there: list[str] = [*drawn_methods(scores, generalize_to)]
    valid = [name for name in there if name != "bootstrap"]
    if is_analytic(scores):
        there.append("analytic")
        valid = ([] if is_plug_in(scores.metric) else ["analytic"]) + valid
    known = METHODS if is_analytic(scores) else ("posterior",)
    chosen = chosen_methods(intervals, known, valid, valid[0] if valid else "")
    for name in chosen:
        if name not in there:
            why = _why_absent(scores, name, generalize_to)
            raise ValueError(f"no {name} interval for generalize_to={generalize_to!r}: {why}")
    return chosen


def _why_absent(scores: Result, method: str, generalize_to: Population) -> str:
    if method == "posterior" and generalize_to != "images":
        return "it generalizes only to new images. Pass generalize_to='images'"
    if method == "posterior" and not scores.metric.draws:
        return f"{scores.metric.label} has no posterior"
    if method == "posterior" and (why := scores.data.attrs.get("posterior_reason")):
        return told(why)
    return SOURCES[method]


def absent_posterior(scores: Result, generalize_to: Population) -> str:
    """Note that a table has no posterior; empty if it has one or its rows have a note already."""
    there = drawn_methods(scores, generalize_to)
    if "posterior" in there or scores.data.attrs.get("posterior_reason"):
        return ""
    return note("no-posterior", why=_why_absent(scores, "posterior", generalize_to))


# Weighted sums of scores


def analytic_rows(
    scores: Result,
    weights: Floats,
    generalize_to: Population,
    level: str,
    parts: xr.Dataset | None = None,
) -> pd.DataFrame:
    """Estimates, centers and standard errors of weighted sums, with degrees of freedom."""
    parts = level_parts(scores, level) if parts is None else parts
    found = spread(parts, weights, generalize_to)
    return pd.DataFrame(
        {
            "estimate": weighted_sums(level_scores(scores, level), weights),
            "interval_center": weighted_sums(parts["interval_center"].values, weights),
            "se": np.sqrt(found["variance"]),
            "df": found["df"],
            "alike": found["alike"],
        }
    )


def _limits(metric: Metric, weights: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest possible value of weighted sums."""
    ends = np.zeros((2, *weights.shape))
    for end, bound in zip(ends, metric.bounds, strict=True):
        end[weights != 0] = bound * weights[weights != 0]
    return np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)


def drawn_sums(
    scores: Result, method: Method, weights: Floats, generalize_to: Population, level: str
) -> Floats:
    """Weighted sums of scores in each replicate or draw: (draw, sum)."""
    variable = generalize_to if method == "bootstrap" else "score"
    return weighted_sums(level_draws(scores, method, variable, level), weights)


def _bootstrap_se(scores: Result, generalize_to: Population, level: str, weights: Floats) -> Floats:
    """Standard errors of weighted sums from replicates, corrected for small samples."""
    if level == OVERALL and scores.data.attrs.get("drawn") != "together":
        present = np.stack(
            [np.isfinite(level_scores(scores, name)) for name in dataset_names(scores)]
        )
        # Weight of each data set in the mean over data sets.
        own = weights / np.maximum(present.sum(axis=0), 1)
        total = np.zeros(len(weights))
        for name, there in zip(dataset_names(scores), present, strict=True):
            part = np.where(there, own, 0.0)
            some = part.any(axis=1)
            total[some] += _bootstrap_se(scores, generalize_to, name, part[some]) ** 2
        return np.sqrt(total)
    estimates = scores.estimates.sel(level=level)
    n_humans, n_images = int(estimates["min_resampled_humans"]), max(int(estimates["n_images"]), 2)
    if generalize_to != "images" and n_humans < FEWEST_HUMANS:
        return np.full(len(weights), np.nan)
    v = {
        name: variance_of_defined(drawn_sums(scores, "bootstrap", weights, name, level), ddof=0)
        for name in POPULATIONS
    }
    if generalize_to == "both":
        return np.sqrt(
            two_factor_variance(v["both"], v["observers"], v["images"], n_humans, n_images)
        )
    n = n_images if generalize_to == "images" else n_humans
    return np.asarray(np.sqrt(v[generalize_to] * n / (n - 1)))


# Scores


def posterior_rows(
    scores: Result, generalize_to: Population, level: str, ci_prob: float, ci_kind: CiKind,
    methods: Sequence[str], _named: bool,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate scores that have only joint posterior draws."""
    draws, known = level_draws(scores, "posterior", level=level), scores.estimates.sel(level=level)
    bounds = interval(draws, ci_prob, ci_kind)
    defined = ~np.isnan(draws).all(axis=0)
    frame = pd.DataFrame(
        {
            "level": level,
            "system": known["system"].values,
            "estimate": known["estimate"].values,
            "ceiling": known["ceiling"].values,
            "posterior_median": np.median(draws, axis=0),
            "se": draws.std(axis=0, ddof=1),
            **(bound_columns("posterior", ci_kind, ci_prob, bounds) if methods else {}),
            "prob_positive": np.where(defined, (draws > 0).mean(axis=0), np.nan),
            "n_entries": known["n_entries"].values,
            "note": [reason or scores.missing_note for reason in known["reason"].values],
        }
    )
    return frame[(frame["n_entries"] > 0) | (frame["note"] != "")]


def score_rows(
    scores: Result, generalize_to: Population, level: str, ci_prob: float, ci_kind: CiKind,
    methods: Sequence[str], named: bool,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate scores with intervals, their ratio to the ceiling, and notes."""
    estimates = scores.estimates.sel(level=level)
    value, systems = estimates["estimate"].values, estimates["system"].values
    weights = np.eye(len(systems))
    parts = level_parts(scores, level)
    rows = analytic_rows(scores, weights, generalize_to, level, parts)
    bounds = student_bounds(*_student(rows), ci_prob, scores.metric.bounds)
    outside = (value < bounds[:, 0]) | (value > bounds[:, 1])
    frame = rows[["estimate", "interval_center", "se", "df"]]
    frame.insert(0, "level", level)
    frame.insert(1, "system", systems)
    if "analytic" in methods:
        frame = frame.assign(**bound_columns("analytic", "ci", ci_prob, bounds))
    if "bootstrap" in methods:
        frame["bootstrap_se"] = _bootstrap_se(scores, generalize_to, level, weights)
    moved = _prior_shift(scores, level) if "posterior" in methods else np.zeros(len(systems))
    for method in drawn_methods(scores, generalize_to):
        if method not in methods:
            continue
        bounds = interval(
            drawn_sums(scores, method, weights, generalize_to, level), ci_prob, ci_kind
        )
        if method == "posterior" and not named:
            bounds[np.abs(moved) > MOVED] = np.nan
        frame = frame.assign(**bound_columns(method, ci_kind, ci_prob, bounds))
    ceiling = int(np.flatnonzero(systems == CEILING)[0])
    scored = np.isfinite(value) & ~np.isin(systems, [HUMANS, CEILING]) & (value[ceiling] > 0)
    models = np.flatnonzero(scored).tolist()
    shares = shares_of_ceiling(parts, models, ceiling, generalize_to, ci_prob)
    shares["ratio"] = value[models] / value[ceiling]
    bounded = bool(shares["bounded"].all())
    shares = shares.reindex(range(len(systems)))
    frame["ceiling_normalized"] = shares["ratio"]
    if "analytic" in methods:
        names = ("ceiling_normalized_se", *bound_names("ceiling_normalized", "ci", ci_prob))
        frame[list(names)] = shares[["se", "lower", "upper"]]
    behind = [*ACCURACIES, *(name for name in scores.metric.derived if name not in ACCURACIES)]
    frame = frame.assign(**{name: estimates[name].values for name in behind})
    undefined = estimates["undefined_entries"].values
    # For metrics that accuracies bound.
    bound = "kappa_max" in scores.metric.derived
    most = estimates["kappa_max"].values if bound else np.full(len(value), np.inf)
    away = (rows["interval_center"] - rows["estimate"]) / rows["se"]
    shared = _shared_notes(scores, generalize_to, level, value[ceiling], bounded=bounded)
    clusters, few = _cluster_notes(scores, generalize_to, level), _few_counts(scores, level)
    notes = []
    for s, name in enumerate(systems):
        own = [
            *_moved_notes([moved[s]], shown=named),
            *([_bootstrap_note(away[s])] if "bootstrap" in methods else []),
            few[s],
            *_human_notes(scores, generalize_to, level, alone=name == HUMANS),
            clusters[s],
            *shared,
            note("estimate-outside") if outside[s] else "",
            note("accuracies-bound", most=f"{most[s]:.2f}") if most[s] < NARROW else "",
            note("entries-excluded", n=int(undefined[s])) if undefined[s] else "",
            note("above-ceiling") if bounded and frame["ceiling_normalized"][s] > 1 else "",
        ]
        notes.append("; ".join(filter(None, own)))
    frame["note"] = notes
    return frame[np.isfinite(value) | (undefined > 0)]


def _student(rows: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Center, variance and degrees of freedom of each row."""
    return rows["interval_center"].to_numpy(), rows["se"].to_numpy() ** 2, rows["df"].to_numpy()


# Differences and contrasts


def contrast_weights(
    scores: Result, first: str | Sequence[str], second: str | Sequence[str] | None
) -> Floats:
    """Weights of a mean of scores, or of the difference between two: (1, system)."""
    known = system_names(scores)
    weights = np.zeros(len(known))
    for sign, given in ((1.0, first), (-1.0, second)):
        if given is None:
            continue
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if name not in known:
                raise ValueError(
                    f"no system is named {name!r}; systems are {listed(known)}"
                    f"{nearest(name, known)}"
                )
        if not names or len(set(names)) < len(names):
            raise ValueError(f"each side of a contrast must name systems, each once; got {names}")
        weights[[known.index(name) for name in names]] += sign / len(names)
    if not weights.any():
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    if (weights != 0).sum() > 1:
        _require_joint(scores)
    return weights[None]


def _require_joint(scores: Result) -> None:
    if not int(scores.data.attrs.get("joint", 1)):
        raise ValueError(
            "posterior drawn pair by pair, so that differences and ranks have no joint draws; "
            "use model='moments' or 'strengths' for margins, else sampler='exact'"
        )


def contrast_table(
    scores: Result,
    weights: Floats,
    generalize_to: Population | None,
    level: str,
    rope: tuple[float, float] | None,
    ci_prob: float,
    ci_kind: CiKind,
    intervals: Intervals,
) -> pd.DataFrame:
    """Tabulate a weighted sum of scores, one row per method."""
    if rope is not None and not (len(rope) == 2 and rope[0] < rope[1]):
        raise ValueError(f"rope must be (lower, upper) with lower below upper, got {rope!r}")
    generalize_to = population_of(scores, generalize_to)
    methods = methods_shown(scores, generalize_to, intervals)
    named = intervals not in (None, "all")
    one_of("level", level, (*dataset_names(scores), OVERALL))
    found: dict[str, dict[str, Any]] = {}
    if is_analytic(scores):
        row = analytic_rows(scores, weights, generalize_to, level).iloc[0]
        away = (row["interval_center"] - row["estimate"]) / row["se"] if row["se"] > 0 else np.nan
        if "analytic" in methods:
            found["analytic"] = _student_row(
                scores, weights, row, generalize_to, level, ci_prob, ci_kind
            )
        elif not methods:
            found["estimate"] = {"estimate": row["estimate"], "note": NO_METHOD}
    for method in drawn_methods(scores, generalize_to):
        if method not in methods:
            continue
        drawn = drawn_sums(scores, method, weights, generalize_to, level)[:, 0]
        if method == "bootstrap":
            found[method] = describe_draws(drawn, ci_prob, ci_kind, rope, float(row["estimate"]))
            found[method]["se"] = _bootstrap_se(scores, generalize_to, level, weights)[0]
            found[method].setdefault("note", _bootstrap_note(away))
        else:
            found[method] = describe_draws(drawn, ci_prob, ci_kind, rope)
            shifts = _prior_shift(scores, level)[weights[0] != 0]
            if why := "".join(_moved_notes(shifts, shown=named)):
                found[method] = {**(found[method] if named else {}), "note": why}
    frame = pd.DataFrame.from_dict(found, orient="index")
    columns = ["estimate", "se", *bound_names("", ci_kind, ci_prob), "p_value", "prob_positive"]
    frame = frame.reindex(columns=[*columns, "rope_mass", "frac_undefined", "note"])
    shared = _human_notes(scores, generalize_to, level) if is_analytic(scores) else []
    notes = [
        "; ".join(filter(None, [*shared, own])) for own in frame["note"].astype(object).fillna("")
    ]
    frame["note"] = [in_kinds(told(text), human_kind(scores)) for text in notes]
    return with_notes(frame, scores.missing_note)


def _student_row(
    scores: Result,
    weights: Floats,
    row: pd.Series,
    generalize_to: Population,
    level: str,
    ci_prob: float,
    ci_kind: CiKind,
) -> dict[str, Any]:
    """Return the analytic row of a contrast."""
    w, text = weights[0], ""
    is_difference = abs(w.sum()) <= ROUNDING
    if row["alike"]:
        # Pseudocounts contain no information about them.
        row["se"], text = np.nan, note("identical-responses")
    elif row["se"] == 0 and is_difference:
        row["se"], text = np.nan, note("equal-differences")
    lacking = np.flatnonzero((w != 0) & np.isnan(level_scores(scores, level)))
    if len(lacking):
        text = note("no-score", system=system_names(scores)[lacking[0]])
    one = pd.DataFrame([row[["interval_center", "se", "df"]].astype(float)])
    bounds = student_bounds(*_student(one), ci_prob, _limits(scores.metric, weights))
    return {
        "estimate": row["estimate"],
        "se": row["se"],
        # Student's t interval uses the columns of the other methods, as in `alikely.contrast`.
        **bound_columns("", ci_kind, ci_prob, bounds[0]),
        "p_value": float(2 * stats.t.sf(abs(row["interval_center"]) / row["se"], row["df"])),
        "prob_positive": _p_positive(scores, one, w, generalize_to, level)
        if is_difference
        else np.nan,
        "note": text,
    }


def _p_positive(
    scores: Result, one: pd.DataFrame, w: Floats, generalize_to: Population, level: str
) -> float:
    """Probability that a difference is above 0, as in the table of all differences; else NaN."""
    center, variance, df = _student(one)
    if np.isnan(variance[0]):
        return np.nan
    every, n = one, 2
    if set(np.flatnonzero(w)) <= set(range(len(model_names(scores)))):
        names, own = compared(scores, generalize_to, level)
        every = analytic_rows(scores, pair_contrasts(len(names)) @ own, generalize_to, level)
        every.loc[every["alike"], "se"] = np.nan
        n = len(names)
    scales = scales_of_differences(*_student(every), n, scores.metric.differences)
    return float(probability_positive(center, variance, df, *scales)[0])


def compared(
    scores: Result,
    generalize_to: Population,
    level: str,
    groups: str | Mapping[str, str] | None = None,
) -> tuple[list[str], Floats]:
    """Models with a score and a standard error, or groups of them, and their weights."""
    one_of("level", level, (*dataset_names(scores), OVERALL))
    systems = system_names(scores)
    every = np.eye(len(systems))
    if is_analytic(scores):
        known = np.isfinite(analytic_rows(scores, every, generalize_to, level)["se"].to_numpy())
    else:
        _require_joint(scores)
        known = ~np.isnan(level_draws(scores, "posterior", level=level)).any(axis=0)
    names = [name for name in model_names(scores) if known[systems.index(name)]]
    if len(names) < 2:
        few = too_few_humans(scores, generalize_to, level) if is_analytic(scores) else ""
        raise ValueError(
            few
            or f"differences need two models with a score and a standard error, got {len(names)} "
            f"at level {level!r} for generalize_to={generalize_to!r}"
        )
    weights = every[[systems.index(name) for name in names]]
    if groups is None:
        return names, weights
    labels, own = group_weights(names, _groups_of(scores, groups, names))
    return labels, own @ weights


def _groups_of(
    scores: Result, groups: str | Mapping[str, str], names: Sequence[str]
) -> Mapping[str, str]:
    """Group of each model, from a mapping or a label of the observers."""
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


def group_weights(names: Sequence[str], groups: Mapping[str, str]) -> tuple[list[str], Floats]:
    """Weights of systems in the unweighted means of their groups."""
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


def all_differences(
    scores: Result,
    groups: str | Mapping[str, str] | None,
    generalize_to: Population | None,
    level: str,
    ci_prob: float,
    ci_kind: CiKind,
) -> pd.DataFrame:
    """Tabulate all differences of models, or of groups of them, with every column."""
    generalize_to = population_of(scores, generalize_to)
    names, weights = compared(scores, generalize_to, level, groups)
    least, most = scores.metric.bounds
    limit = most - least
    if is_analytic(scores):
        table = difference_table(
            names, weighted_sums(level_scores(scores, level), weights), level_parts(scores, level),
            generalize_to, scores.metric.differences, ci_prob, limit, weights,
        )  # fmt: skip
        return with_notes(table, scores.missing_note)
    draws = drawn_sums(scores, "posterior", weights, generalize_to, level)
    return _drawn_differences(names, draws, ci_prob, ci_kind, limit)


def difference_table(
    names: Sequence[str],
    estimates: Floats,
    parts: xr.Dataset,
    generalize_to: Population,
    expected: float,
    ci_prob: float = 0.95,
    limit: float = np.inf,
    weights: Floats | None = None,
) -> pd.DataFrame:
    """Tabulate all differences of scores, with pointwise and simultaneous intervals."""
    n = len(names)
    weights = np.eye(n) if weights is None else weights
    contrasts = pair_contrasts(n) @ weights
    found = spread(parts, contrasts, generalize_to)
    alike, df = (found[name].to_numpy() for name in ("alike", "df"))
    # Identical responses have no standard error, although their pseudocounts have one.
    se = np.where(alike, np.nan, np.sqrt(found["variance"]))
    center = weighted_sums(parts["interval_center"].values, contrasts)
    used = parts["df_humans"].values[(weights != 0).any(axis=0)]
    pooled = pooled_df(found.assign(variance=se**2), used, generalize_to)
    wide = largest_of_differences(pooled, n, ci_prob) * se
    t = np.abs(center / se)
    p = 2 * stats.t.sf(t, df)
    deviate = -special.ndtri(stats.t.sf(t, pooled))
    together = stats.studentized_range.sf(np.sqrt(2) * deviate, n, np.inf)
    limits = (-limit, limit)
    scales = scales_of_differences(center, se**2, df, n, expected)
    prob_positive = probability_positive(center, se**2, df, *scales)
    adjusted = np.clip(np.stack([center - wide, center + wide], axis=-1), *limits)
    return _pairs(
        names,
        {
            "difference": pair_contrasts(n) @ estimates,
            "interval_center": center,
            "se": se,
            "df": df,
            **bound_columns(
                "pointwise", "ci", ci_prob, student_bounds(center, se**2, df, ci_prob, limits)
            ),
            "p_value": p,
            **bound_columns("simultaneous", "ci", ci_prob, adjusted),
            "p_value_simultaneous": together,
            "p_value_bh": adjusted_p_values(p),
            "prob_positive": prob_positive,
            "note": _difference_notes(alike, p, together, prob_positive, 1 - ci_prob),
        },
    )


def _pairs(names: Sequence[str], columns: dict[str, Any]) -> pd.DataFrame:
    """Return a table with one row per pair of systems."""
    j, k = np.triu_indices(len(names), k=1)
    label = np.array(names, dtype=object)
    return pd.DataFrame({"system": label[j], "other": label[k], **columns})


def _difference_notes(
    alike: NDArray[np.bool_], p: Floats, together: Floats, prob_positive: Floats, level: float
) -> list[str]:
    """Return the note of each difference."""
    undecided = not (together <= level).any()
    notes = []
    for same, one, among, above in zip(alike, p, together, prob_positive, strict=True):
        own = [
            note("identical-responses") if same else "",
            note("significant-alone", n=len(p)) if one <= level < among else "",
            note("prior-dominated") if undecided and max(above, 1 - above) >= CLAIMED else "",
        ]
        notes.append("; ".join(told(text) for text in own if text))
    return notes


def _drawn_differences(
    names: Sequence[str], draws: Floats, ci_prob: float, ci_kind: CiKind, limit: float
) -> pd.DataFrame:
    """Tabulate differences from joint draws; simultaneous intervals use the largest one."""
    apart = draws @ pair_contrasts(len(names)).T
    center, sd = np.median(apart, axis=0), apart.std(axis=0, ddof=1)
    varies = sd > 0
    wide = np.full(len(sd), np.nan)
    if varies.any():
        largest = np.abs((apart[:, varies] - center[varies]) / sd[varies]).max(axis=1)
        wide[varies] = np.quantile(largest, ci_prob) * sd[varies]
    alone = interval(apart, ci_prob, ci_kind)
    alone[~varies] = np.nan
    together = np.clip(np.stack([center - wide, center + wide], axis=-1), -limit, limit)
    single, joint = (np.prod(np.sign(b), axis=1) > 0 for b in (alone, together))
    few = told(note("significant-alone", n=len(sd)))
    return _pairs(
        names,
        {
            "difference": center,
            "se": np.where(varies, sd, np.nan),
            **bound_columns("pointwise", ci_kind, ci_prob, alone),
            **bound_columns("simultaneous", "ci", ci_prob, together),
            "prob_positive": (apart > 0).mean(axis=0),
            "note": np.where(~varies, told(note("same-draws")), np.where(single & ~joint, few, "")),
        },
    )


def pairwise_differences(
    names: Sequence[str],
    estimates: Floats,
    matrix: Floats,
    ci_prob: float = 0.95,
    rng: RandomState = None,
    *,
    variances: Floats | None = None,
    df: Floats | float = np.inf,
) -> pd.DataFrame:
    """Tabulate differences of estimates with known covariance, with simultaneous intervals.

    Differences may have separate variances, with degrees of freedom of Student's t.
    """
    contrasts = pair_contrasts(len(names))
    difference = contrasts @ estimates
    variance = ((contrasts @ matrix) * contrasts).sum(axis=1)
    # Differences of identical systems have only rounding errors.
    size = np.abs(contrasts) @ np.diag(matrix)
    se = sd = np.sqrt(np.where(variance > 1e-12 * size, variance, np.nan))
    if variances is not None:
        se = np.where(np.isfinite(sd), np.sqrt(variances), np.nan)
    values, vectors = np.linalg.eigh(matrix)
    generator = np.random.default_rng(seed_sequence(rng))
    normal = generator.standard_normal((20_000, len(names)))
    normal = normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
    known = np.isfinite(se)
    largest = np.zeros(len(normal))
    j, k = np.triu_indices(len(names), k=1)
    for pair in np.flatnonzero(known):
        np.maximum(largest, np.abs(normal[:, j[pair]] - normal[:, k[pair]]) / sd[pair], out=largest)
    wide = stats.t.isf(special.ndtr(-np.quantile(largest, ci_prob)), df) * se
    p = 2 * stats.t.sf(np.abs(difference / se), df)
    bounds = np.stack([difference - wide, difference + wide], axis=-1)
    return _pairs(
        names,
        {
            "difference": difference,
            "se": se,
            **bound_columns("simultaneous", "ci", ci_prob, bounds),
            "p_value": p,
            "p_value_bh": adjusted_p_values(p),
            "note": np.where(known, "", told(note("identical-responses"))),
        },
    )


def differences_shown(
    table: pd.DataFrame, intervals: Intervals, columns: Columns, *, valid: bool = True
) -> pd.DataFrame:
    """Choose the intervals, tests and further columns of a table of differences."""
    every = tuple(TESTS)
    chosen = chosen_methods(
        intervals, every, every if valid else (), "simultaneous" if valid else ""
    )
    tested = [TESTS[name] for name in chosen if TESTS[name] in table]
    hidden = {TESTS[name] for name in TESTS if name not in chosen}
    hidden |= {c for c in table if c.partition("_")[0] in {*TESTS} - {*chosen}}
    if not valid:
        # These columns use the same invalid variance.
        hidden |= set() if chosen else {"p_value_bh", "prob_positive"}
        table = table.assign(note=NO_METHOD)
    table = table[[name for name in table if name not in hidden]]
    plain = (*DIFFERENCE_COLUMNS, *tested)
    return with_columns(table, plain, "all" if intervals == "all" else columns)


def one_difference(differences: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Return the row of a difference, with the sign of first minus second."""
    names = list(dict.fromkeys([*differences["system"], *differences["other"]]))
    for name in (first, second):
        if name not in names:
            raise ValueError(
                f"no model with a score is named {name!r}; models are {listed(names)}"
                f"{nearest(name, names)}; for other rows, see alikely.difference"
            )
    if first == second:
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    ends = differences["system"], differences["other"]
    here = (ends[0] == first) & (ends[1] == second)
    if here.any():
        return differences[here].iloc[0].copy()
    row = differences[(ends[0] == second) & (ends[1] == first)].iloc[0].copy()
    row["system"], row["other"], row["prob_positive"] = first, second, 1 - row["prob_positive"]
    row[["difference", "interval_center"]] *= -1
    lower = [str(name) for name in row.index if str(name).endswith("_lb")]
    for name in lower:
        upper = f"{name.removesuffix('lb')}ub"
        row[name], row[upper] = -row[upper], -row[name]
    return row


def equality_test(differences: pd.DataFrame, reason: str = "") -> pd.Series:
    """Test whether all scores are equal, by the largest of all differences."""
    p = differences["p_value_simultaneous"]
    if p.isna().all():
        raise ValueError("no difference has variance: all responses are identical")
    row = differences.loc[p.idxmin()]
    n = len(set(differences["system"]) | set(differences["other"]))
    columns = {"p_value": float(row["p_value_simultaneous"]), "system": row["system"]}
    columns |= {"other": row["other"], "difference": float(row["difference"])}
    return pd.Series({**columns, "n_systems": n, "note": reason}, dtype=object)


# Probabilities of differences


def scales_of_differences(
    center: Floats, variance: Floats, df: Floats, n_systems: int, expected: float
) -> tuple[Floats, Floats]:
    """Estimate the SD of true differences from all of them [M83]_: grid values and weights."""
    multiple = np.geomspace(LEAST, MOST, STEPS)
    sd = expected * multiple
    # Half-Cauchy prior [G06]_ on a grid whose steps grow with the scale.
    log_prior = np.log(multiple) - np.log1p(multiple**2)
    known = np.isfinite(variance)
    v = variance[known]
    d = _deviates(center[known], v, df[known]) * np.sqrt(v)
    total = sd**2 + v[:, None]
    # Differences share systems, so this is a composite likelihood [VRF11]_.
    log_likelihood = -(d[:, None] ** 2 / total + np.log(total)).sum(axis=0) / n_systems
    return sd, special.softmax(log_prior + log_likelihood)


def probability_positive(
    center: Floats, variance: Floats, df: Floats, sd: Floats, weight: Floats
) -> Floats:
    """Posterior probability that a difference is above 0, under normal priors with mean 0."""
    shrunk = np.sqrt(sd**2 / (sd**2 + np.asarray(variance)[..., None]))
    likely = special.ndtr(_deviates(center, variance, df)[..., None] * shrunk)
    return within(likely @ weight)


def _deviates(center: Floats, variance: Floats, df: Floats) -> Floats:
    """Normal deviates with the tail probabilities of Student's t."""
    t = center / np.sqrt(variance)
    deviate = -special.ndtri(stats.t.sf(np.abs(t), df))
    return np.asarray(np.sign(t) * np.minimum(deviate, CERTAIN))


# Notes


def _bootstrap_note(away: float) -> str:
    """Explain why the bootstrap interval of a score is not recommended."""
    if abs(away) > MOVED:
        return note("bootstrap-off", away=f"{abs(away):.1f}")
    return note("bootstrap-scores")


def _prior_shift(scores: Result, level: str) -> Floats:
    """Shift of joint posterior means by the prior of single pairs, in posterior SDs."""
    size = len(system_names(scores))
    drawn = "posterior" in scores.data.children and scores.metric.draws == "cells"
    # Priors set by the user are meant to have an effect.
    if not drawn or not is_analytic(scores) or scores.prior != cell_prior(None):
        return np.zeros(size)
    draws = level_draws(scores, "posterior", level=level)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = draws.mean(axis=0) - level_parts(scores, level)["interval_center"].values
        shift = shift / draws.std(axis=0)
    models = slice(0, len(model_names(scores)))
    known = shift[models][np.isfinite(shift[models])]
    if len(known):
        shift[models] = known.mean()
    return np.nan_to_num(shift)


def _moved_notes(shifts: Sequence[float] | Floats, *, shown: bool) -> list[str]:
    """Note on a biased joint posterior of means, reported or not; empty if unbiased."""
    largest = max(shifts, key=abs, default=0.0)
    if abs(largest) <= MOVED:
        return []
    by = f"{abs(largest):.1f}"
    return [note("posterior-biased", by=by) if shown else note("posterior-not-reported", by=by)]


def _few_counts(scores: Result, level: str) -> list[str]:
    """Notes on scores based on too few counts per pair, by system; empty for others."""
    least, few = scores.metric.trust.pooled
    if "rarest" not in scores.estimates:
        return [""] * len(system_names(scores))
    rarest = scores.estimates["rarest"].sel(level=level).values
    return [few if own < least else "" for own in rarest.tolist()]


def _shared_notes(
    scores: Result, generalize_to: Population, level: str, ceiling: float, *, bounded: bool
) -> list[str]:
    """Notes that apply to every score of a level."""
    attrs = scores.data.attrs
    apart = attrs.get("posterior_images") == "apart" and generalize_to == "images"
    found = [
        note("ceiling-zero") if ceiling <= 0 else "",
        "" if bounded else note("ceiling-unclear"),
        note("posterior-images") if apart and "posterior" in scores.data.children else "",
        attrs.get("posterior_reason", ""),
        scores.missing_note,
    ]
    return [text for text in found if text]


def _cluster_notes(scores: Result, generalize_to: Population, level: str) -> NDArray[np.object_]:
    """Note on each score that is based on too few clusters of images."""
    group = scores.data["decomposition"].to_dataset().sel(level=level)
    size = len(system_names(scores))
    if "n_clusters" not in group or generalize_to == "observers":
        return np.full(size, "", dtype=object)
    number = np.full(size, int(group["n_clusters"]))
    return few_clusters(scores.data.attrs["cluster"], number)


def levels_met(scores: Result) -> list[str]:
    """Levels with models; others have only humans."""
    known = scores.estimates["estimate"].sel(
        level=dataset_names(scores), system=model_names(scores)
    )
    met = known.notnull().any("system").values
    return [name for name, there in zip(dataset_names(scores), met, strict=True) if there]


def _human_notes(
    scores: Result, generalize_to: Population, level: str, *, alone: bool = False
) -> list[str]:
    """Note if there are too few humans to generalize to other humans."""
    if generalize_to == "images":
        return []
    own = [] if alone or level != OVERALL else levels_met(scores)
    n_humans = int(scores.estimates["n_humans_paired" if own else "n_humans"].sel(level=level))
    return few_notes(_fewest_humans(scores, own or [level]), n_humans)


def _fewest_humans(scores: Result, levels: Sequence[str]) -> int:
    """Fewest humans of any level: every one needs enough for a mean over levels."""
    return int(scores.estimates["fewest_humans"].sel(level=list(levels)).min())


def too_few_humans(scores: Result, generalize_to: Population, level: str) -> str:
    """Reason why scores have no variance for new humans, and the fix; empty if they have one."""
    levels = levels_met(scores) if level == OVERALL else []
    fewest = _fewest_humans(scores, levels or [level])
    if generalize_to == "images" or fewest >= FEWEST_PEOPLE:
        return ""
    return in_kinds(
        f"only {fewest} humans: results for new humans need at least {FEWEST_PEOPLE} humans in "
        "each data set; pass generalize_to='images' to treat these humans as fixed",
        human_kind(scores),
    )


def few_notes(fewest: int, n_humans: int) -> list[str]:
    """Note on the effect of few humans; empty if there are enough."""
    if fewest < FEWEST_PEOPLE:
        return [note("too-few-humans", n=fewest)]
    if fewest < FEWEST_HUMANS:
        return [note("few-humans-bootstrap", n=fewest)]
    return [note("few-humans", n=n_humans)] if n_humans <= FEW_HUMANS else []
