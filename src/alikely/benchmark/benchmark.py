"""Scores of models against humans: tables, differences, ranks, ceilings.

Each row of a table is a weighted sum of scores at a level (a data set, or all of them).

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

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import one_of, require_names
from alikely._base.frames import Columns, with_columns, with_notes
from alikely._base.intervals import CiKind, Intervals, bound_columns, bound_names, chosen_methods
from alikely._base.names import counted, listed
from alikely._base.notes import codes, note, told
from alikely._base.random import RandomState
from alikely.benchmark import ranking
from alikely.benchmark.decomposition import (
    COMPONENTS,
    ROUNDING,
    compared_pairs,
    deviates_of_pairs,
    joint_covariance,
    largest_of_differences,
    pair_contrasts,
    shares_of_ceiling,
    spread,
    student_bounds,
    weighted_sums,
)
from alikely.benchmark.layout import (
    CEILING,
    FEWEST_HUMANS,
    FEWEST_PEOPLE,
    HUMAN,
    HUMANS,
    OVERALL,
    POPULATIONS,
    Population,
    in_kinds,
)
from alikely.estimates.notes import few_clusters
from alikely.estimates.result import Result, of_kind
from alikely.inference.intervals import adjusted_p_values, describe_draws, interval
from alikely.inference.intervals import within as within_bounds
from alikely.metrics import Metric
from alikely.metrics.consistency import ACCURACY_COLUMNS, cell_prior

BY = ("level", "system")
# How to get the draws of a method.
SOURCES = {
    "bootstrap": "pass n_resamples=10_000 to benchmark_scores",
    "posterior": "pass n_draws=4_000 to benchmark_scores",
}
# Up to this many humans, the variance over humans is estimated poorly.
FEW_HUMANS = 6
METHODS = ("analytic", "posterior")
CONSENSUS = ("lower", "lower_se", "upper", "upper_se")
# Accuracy columns of every score, for any metric.
ACCURACIES = ("accuracy", "accuracy_humans", *ACCURACY_COLUMNS)
# Default columns of tables, in addition to bounds; others on request.
SCORE_COLUMNS = (
    "level", "system", "estimate", "ceiling", "posterior_median", "se",
    "ceiling_normalized", "accuracy", "prob_positive", "n_entries", "note",
)  # fmt: skip
DIFFERENCE_COLUMNS = ("system", "other", "difference", "se", "prob_positive", "note")
# Kinds of intervals of differences, and their tests.
TESTS = {"pointwise": "p_value", "simultaneous": "p_value_simultaneous"}
NO_METHOD = told(note("no-valid-interval"))
# If accuracies bound a score below this, it depends mainly on accuracies.
NARROW = 0.5
# Limit of the prior's shift, in posterior SDs. Beyond it (docs/validation), coverage of joint
# posteriors of means was 0.65 to 0.90.
MOVED = 0.5
# Probabilities above this value are interpreted as claims.
CLAIMED = 0.8
# Grid of scales of true differences, as multiples of the expected scale.
LEAST, MOST, STEPS = 0.04, 8.0, 60
# Deviates beyond this value count as certain.
CERTAIN = 30.0
type Schema = Mapping[str, Mapping[str, tuple[str, ...] | None]]

OF_LEVELS = ("n_humans", "n_humans_paired", "fewest_humans", "n_images", *CONSENSUS)
OF_TRIALS: Schema = {
    "estimates": {
        **dict.fromkeys(("estimate", "undefined_entries", *ACCURACIES), BY),
        **dict.fromkeys(OF_LEVELS, ("level",)),
    },
    "decomposition": {
        **{name: ("level", *dims) for name, dims in COMPONENTS.items()},
        "influence": COMPONENTS["influence"],
        "image_level": ("image",),
    },
}
OF_RESULT: Schema = {
    "estimates": dict.fromkeys(("estimate", "ceiling", "n_entries", "n_missing"), BY),
    "posterior": {"score": ("chain", "draw", *BY)},
}


# Functions that every kind of result has


def schema(tree: xr.DataTree) -> Schema:
    """Return the groups and variables that a file must have."""
    alone = "posterior" in tree.children and "decomposition" not in tree.children
    return OF_RESULT if alone else OF_TRIALS


def observers(scores: Result) -> list[str]:
    """Names of the models."""
    return model_names(scores)


def draws(scores: Result, method: str, level: str = OVERALL) -> Floats:
    """Bootstrap replicates or posterior draws, for new images: (draw, system)."""
    if method not in scores.data.children:
        reason = SOURCES.get(method, "method must be 'bootstrap' or 'posterior'")
        raise ValueError(f"these scores have no {method} draws; {reason}")
    one_of("level", level, (*dataset_names(scores), OVERALL))
    values = scores.data[method].to_dataset()["score"].sel(level=level)
    return np.asarray(values.values, np.float64).reshape(-1, values.sizes["system"])


def select(scores: Result, labels: Mapping[str, Any]) -> xr.DataTree:
    """Select some models; rows of humans are kept."""
    if unknown := [name for name in labels if name != "system"]:
        raise ValueError(f"scores can be selected only by system; got {unknown[0]!r}")
    given = labels["system"]
    names = [given] if isinstance(given, str) else list(given)
    known = model_names(scores)
    require_names("model", names, known)
    kept = [*names, *(name for name in system_names(scores) if name not in known)]
    dims = ("system", "system_other")
    tree: xr.DataTree = scores.data.map_over_datasets(
        lambda node: node.sel({dim: kept for dim in dims if dim in node.dims})
    )
    return tree


def summary(
    scores: Result,
    *,
    generalize_to: Population | None,
    level: str | None,
    ci_prob: float,
    ci_kind: CiKind,
    intervals: Intervals,
    columns: Columns,
) -> pd.DataFrame:
    """Tabulate scores of one or all levels, one row per level and system with a score."""
    at = Level(scores, generalize_to, OVERALL if level is None else level)
    methods, named = methods_shown(at, intervals), intervals not in (None, "all")
    make = score_rows if at.analytic else posterior_rows
    names = [*dataset_names(scores), OVERALL] if level is None else [level]
    levels = [Level(scores, generalize_to, name) for name in names]
    frames = [make(each, ci_prob, ci_kind, methods, named) for each in levels]
    table = pd.concat(frames, ignore_index=True)
    absent = "" if named or not at.analytic else absent_posterior(at)
    stored = ["; ".join(filter(None, [text, absent])) for text in table["note"]]
    table["note_codes"] = [" ".join(codes(text)) for text in stored]
    table["note"] = [in_kinds(told(text), human_kind(scores)) for text in stored]
    return with_columns(table, SCORE_COLUMNS, "all" if intervals == "all" else columns)


def method(
    scores: Result, interval: str | None = None, generalize_to: Population | None = None
) -> str:
    """Choose the method whose interval a page shows."""
    asked = None if interval is None else [interval]
    shown = methods_shown(Level(scores, generalize_to), asked)
    return (*shown, "")[0]


def page_columns(scores: Result, frame: pd.DataFrame, bounds: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a page shows."""
    posterior = any(b.startswith("posterior") for b in bounds)
    chosen = ["level"] * (frame["level"].nunique() > 1) + ["system", "estimate"]
    chosen += ["posterior_median"] * posterior + [*bounds]
    if "ceiling_normalized" in frame and frame["ceiling_normalized"].notna().any():
        chosen += ["ceiling_normalized", *frame.filter(regex="^ceiling_normalized_ci")]
    return [name for name in [*chosen, "accuracy", "n_entries"] if name in frame]


def describe(scores: Result) -> str:
    """Describe the size of the result in one line."""
    parts = [
        counted(len(model_names(scores)), "model"),
        counted(len(dataset_names(scores)), "data set"),
    ]
    if is_analytic(scores):
        n_humans = int(scores.estimates["n_humans"].sel(level=OVERALL))
        parts.insert(1, counted(n_humans, "human"))
    else:
        parts.append(counted(len(scores.draws("posterior")), "posterior draw"))
    return in_kinds(", ".join(parts), human_kind(scores))


def contrast(
    scores: Result,
    first: str | Sequence[str],
    second: str | Sequence[str] | None,
    *,
    generalize_to: Population | None,
    level: str,
    rope: tuple[float, float] | None,
    ci_prob: float,
    ci_kind: CiKind,
    intervals: Intervals,
) -> pd.DataFrame:
    """Tabulate the difference of two scores, or the mean of several, one row per method."""
    if rope is not None and not (len(rope) == 2 and rope[0] < rope[1]):
        raise ValueError(f"rope must be (lower, upper) with lower below upper, got {rope!r}")
    weights, at = contrast_weights(scores, first, second), Level(scores, generalize_to, level)
    methods, named = methods_shown(at, intervals), intervals not in (None, "all")
    found: dict[str, dict[str, Any]] = {}
    if at.analytic and (not methods or "analytic" in methods):
        row = at.sums(weights).iloc[0]
        found = {"estimate": {"estimate": row["estimate"], "note": NO_METHOD}}
        if methods:
            found = {"analytic": _student_row(at, weights[0], row, ci_prob, ci_kind)}
    if "posterior" in methods:
        why = _moved_note(at.prior_shift()[weights[0] != 0], shown=named)
        own = describe_draws(at.draws(weights)[:, 0], ci_prob, ci_kind, rope)
        found["posterior"] = (own if named or not why else {}) | ({"note": why} if why else {})
    frame = pd.DataFrame.from_dict(found, orient="index")
    columns = ["estimate", "se", *bound_names("", ci_kind, ci_prob), "p_value", "prob_positive"]
    frame = frame.reindex(columns=[*columns, "rope_mass", "frac_undefined", "note"])
    shared = at.human_notes() if at.analytic else []
    notes = [
        "; ".join(filter(None, [*shared, own])) for own in frame["note"].astype(object).fillna("")
    ]
    frame["note"] = [in_kinds(told(text), human_kind(scores)) for text in notes]
    return with_notes(frame, scores.missing_note)


# Functions of scores


def differences(
    scores: Result,
    generalize_to: Population | None = None,
    level: str = OVERALL,
    *,
    groups: str | Mapping[str, str] | None = None,
    intervals: Intervals = None,
    columns: Columns = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Estimate the difference in scores for each pair of models, or of groups of models.

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores` or `alikely.benchmark.scores_from_result`. To
        compare modalities, pass the result of `alikely.benchmark.reader_study`; only `intervals`,
        `columns` and `ci_prob` are then available.
    generalize_to : {"images", "observers", "both"}, optional
        Population to which intervals generalize: new images, new humans, or both (default).
        `generalize_to` is not available for scores from `alikely.benchmark.scores_from_result`.
    level : str
        A data set, or ``"overall"``, the unweighted mean of all data sets.
    groups : str or mapping of str to str, optional
        Groups of models whose mean scores are compared: a label of the observers, such as
        ``"family"``, or a mapping from the name of each model to its group.
    intervals : None, "all" or sequence of {"pointwise", "simultaneous"}
        Intervals to show. The default shows simultaneous intervals, which are adjusted for multiple
        comparisons, and their p-values. ``"all"`` shows pointwise and simultaneous intervals and
        every column.
    columns : "all" or sequence of str, optional
        Additional columns to show: ``interval_center``, ``df`` or ``p_value_bh``.
    ci_prob : float, optional
        Probability level of the intervals, in (0, 1). Default: the probability level in `scores`.
    ci_kind : {"eti", "hdi"}, optional
        Kind of pointwise interval computed from posterior draws. Default: the kind in `scores`.

    Returns
    -------
    pandas.DataFrame
        One row per pair, with columns

        - ``system``, ``other``, ``difference``, ``se``
        - ``interval_center``, ``df``: center and degrees of freedom of the interval
        - limits of the ``pointwise`` interval, and ``p_value``
        - limits of the ``simultaneous`` interval, and ``p_value_simultaneous``, both computed from
          the studentized range. With posterior draws, the simultaneous limits are computed from the
          largest standardized difference instead, and there is no p-value
        - ``p_value_bh``: p-value adjusted by the Benjamini-Hochberg method
        - ``prob_positive``: probability that the difference is above 0
        - ``note``

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If an option, a label or a model is unknown, or if `ci_prob` is not in (0, 1).
    ValueError
        If fewer than two models or groups have a score.

    Examples
    --------
    >>> import alikely as al
    >>> scores = al.benchmark_scores(al.load_example(), n_resamples=0, n_draws=0)
    >>> al.benchmark.differences(scores).shape
    (15, 9)
    """
    prob, kind = of_kind(scores, "model", "reader").interval_options(ci_prob, ci_kind)
    if scores.kind != "model":
        found: pd.DataFrame = scores._call(
            "differences", generalize_to=generalize_to, level=level, groups=groups,
            intervals=intervals, columns=columns, ci_prob=prob, ci_kind=kind,
        )  # fmt: skip
        return found
    at = Level(scores, generalize_to, level)
    table = all_differences(at, groups, prob, kind)
    valid = not (at.analytic and not_valid(scores.metric))
    return differences_shown(table, intervals, columns, valid=valid)


def score_correlations(scores: Result, *, ci_prob: float | None = None) -> pd.DataFrame:
    """Correlate scores between all pairs of data sets.

    Parameters
    ----------
    scores : Result
        Scores as returned by `alikely.benchmark_scores`, with bootstrap replicates.
    ci_prob : float, optional
        Probability level of the intervals, in (0, 1). Default: the probability level in `scores`.

    Returns
    -------
    pandas.DataFrame
        One row per pair of data sets that share at least 4 models, with columns

        - ``level``, ``other``, ``n_systems``
        - ``correlation``: Spearman correlation, with its bootstrap interval for new images
        - ``pearson``: Pearson correlation of the interval centers of the scores
        - ``reliability``, ``reliability_other``: fraction of the variance between models that is
          not due to the sampling of images and humans
        - ``latent``: disattenuated correlation, not clipped, with an interval that generalizes to
          new models. NaN if noise explains all variance between models in one of the data sets. See
          `alikely.benchmark.ranking.latent_correlation`
        - ``note``

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If there are no bootstrap replicates, or no two data sets share at least 4 models.
    """
    prob, _ = of_kind(scores, "model").interval_options(ci_prob, None)
    names, models = dataset_names(scores), model_names(scores)
    estimates = scores.estimates["estimate"].sel(level=names, system=models).values
    at = [system_names(scores).index(name) for name in models]
    drawn = [draws(scores, "bootstrap", name)[:, at] for name in names]
    table = ranking.rank_correlations(names, estimates, np.stack(drawn, axis=1), prob)
    return table.join(latent_columns(scores, table, prob))


def ceilings(scores: Result, generalize_to: Population | None = None) -> pd.DataFrame:
    """Tabulate noise ceilings, and human-human scores with tests against 0, for each data set.

    Parameters
    ----------
    scores : Result
        Result of `alikely.benchmark_scores`.
    generalize_to : {"images", "observers", "both"}, optional
        As in `differences`.

    Returns
    -------
    pandas.DataFrame
        One row per level, with columns

        - ``level``, ``n_humans``
        - ``human_human``, ``human_human_se``, ``p_human_human``: mean over pairs of humans, its
          standard error and one-sided p-value
        - ``noise_ceiling_lower``, ``noise_ceiling_upper``: bounds with standard errors

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If `generalize_to` is unknown.
    """
    require_analytic(of_kind(scores, "model"), "ceilings")
    estimates, systems = scores.estimates, system_names(scores)
    weights = np.eye(len(systems))[[systems.index(HUMANS)]]
    levels = estimates["level"].values.tolist()
    rows = pd.concat([Level(scores, generalize_to, name).sums(weights) for name in levels])
    frame = pd.DataFrame(
        {
            "level": levels,
            "n_humans": estimates["n_humans"].values,
            "human_human": rows["estimate"].to_numpy(),
            "human_human_se": rows["se"].to_numpy(),
            "p_human_human": stats.t.sf(rows["interval_center"] / rows["se"], rows["df"]),
        }
    )
    return frame.assign(**{f"noise_ceiling_{name}": estimates[name].values for name in CONSENSUS})


def ranks(
    scores: Result,
    generalize_to: Population | None = None,
    level: str = OVERALL,
    *,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Rank the models, with confidence sets that allow for ties.

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores` or `alikely.benchmark.scores_from_result`. For
        results of `alikely.benchmark.group_scores`, observers are ranked by their mean agreement
        with all other observers.
    generalize_to, level, ci_prob
        As in `differences`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per model, the highest score first, with columns

        - ``system``, ``estimate``, ``se``
        - ``rank``: 1 for the highest score; tied models share the better rank
        - ``rank_lb``, ``rank_ub``: limits of the simultaneous confidence sets for all ranks
        - ``marginal_lb``, ``marginal_ub``: limits of a separate confidence set for each rank
        - ``tier``: group of models; the best model of a tier is not significantly better than the
          other models of the tier
        - ``tied_with_top``: whether the model does not differ significantly from the best model
        - ``note``: the reason if the rank sets are not valid (otherwise omitted)

        Scores from posterior draws are ranked by the median of the draws.

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If there are fewer than two models. See also `alikely.benchmark.ranking.rank_sets`.
    """
    prob, _ = of_kind(scores, "model", "group").interval_options(ci_prob, None)
    if scores.kind == "group":
        of_groups: pd.DataFrame = scores._call(
            "ranks", generalize_to=generalize_to, level=level, ci_prob=prob, rng=rng
        )
        return of_groups
    at = Level(scores, generalize_to, level)
    if len(models := at.models) < 2:
        raise ValueError(f"ranks need at least two models, got {listed(models) or 'none'}")
    names, weights = compared(at)
    if not at.analytic:
        drawn = at.draws(weights)
        center = np.median(drawn, axis=0)
        return ranking.rank_sets(
            center, np.cov(drawn.T), names, ci_prob=prob, deviations=drawn - center
        )
    own = list(range(len(models)))
    apart = compared_pairs(at.parts, at.population, np.eye(len(at.systems))[own])
    if (alike := apart["alike"] & apart["interval_center"].notna()).any():
        j, k = (side[alike][0] for side in np.triu_indices(len(models), 1))
        raise ValueError(
            f"the difference between {models[j]!r} and {models[k]!r} has no variance, because "
            "their responses are identical; leave out one of these models"
        )
    found = ranking.rank_sets(
        at.estimate[own], joint_covariance(at.parts, at.population, own), models, ci_prob=prob,
        rng=rng, deviates=deviates_of_pairs(apart["t"], apart["pooled"], len(models)),
    )  # fmt: skip
    reason = not_valid(scores.metric)
    return found.assign(note=reason) if reason else found


def latent_columns(scores: Result, pairs: pd.DataFrame, ci_prob: float) -> pd.DataFrame:
    """Tabulate latent correlations for pairs of data sets."""
    parts = {name: level_parts(scores, name) for name in dataset_names(scores)}
    n = len(model_names(scores))
    score = {name: parts[name]["interval_center"].values[:n] for name in parts}
    shared, rows = _shared(scores), []
    for two in zip(pairs["level"], pairs["other"], strict=True):
        known = np.flatnonzero(np.isfinite([score[name] for name in two]).all(axis=0))
        x, y = (score[name][known] for name in two)
        v, w = (
            ranking.score_noise(parts[name].isel(system=known, system_other=known)) for name in two
        )
        row = ranking.latent_correlation(x, y, v, w, ci_prob)
        rows.append(row | {"note": told("; ".join(filter(None, (row["note"], shared))))})
    lower, upper = bound_names("latent", "ci", ci_prob)
    return pd.DataFrame(rows, index=pairs.index).rename(columns={"lower": lower, "upper": upper})


def _shared(scores: Result) -> str:
    """Note that data sets share images or humans, so that their noise is correlated."""
    df = scores.data["decomposition"].to_dataset()["df_humans"].sel(system=model_names(scores))
    each = df.sel(level=dataset_names(scores)).sum("level", skipna=False)
    # Shared humans have the degrees of freedom of one data set.
    humans = bool((df.sel(level=OVERALL) < each - 0.5).any())
    images = scores.data.attrs.get("item_scope") == "label"
    what = " and ".join(["humans"] * humans + ["images"] * images)
    return note("shared-noise", what=what) if what else ""


# Levels: a data set, or all of them, for one population


def is_analytic(scores: Result) -> bool:
    """Return whether scores have analytic intervals, as scores computed from trials do."""
    return "decomposition" in scores.data.children


def require_analytic(scores: Result, what: str) -> None:
    """Raise an error for scores that consist only of posterior draws of a result."""
    if not is_analytic(scores):
        raise ValueError(
            f"{what} need scores of trials, got posterior draws of a result; score trials with "
            "alikely.benchmark_scores"
        )


def system_names(scores: Result) -> list[str]:
    """Names of all rows of scores."""
    return [str(name) for name in scores.estimates["system"].values]


def model_names(scores: Result) -> list[str]:
    """Names of the models."""
    return [name for name in system_names(scores) if name not in (HUMANS, CEILING)]


def human_kind(scores: Result) -> str:
    """Kind of observer that models are scored against."""
    return str(scores.data.attrs.get("humans", HUMAN))


def dataset_names(scores: Result) -> list[str]:
    """Names of the data sets."""
    return [str(name) for name in scores.estimates["level"].values if name != OVERALL]


def levels_met(scores: Result) -> list[str]:
    """Return the levels with models; the other levels have only humans."""
    names = dataset_names(scores)
    known = scores.estimates["estimate"].sel(level=names, system=model_names(scores))
    met = known.notnull().any("system").values
    return [name for name, there in zip(names, met, strict=True) if there]


def level_scores(scores: Result, level: str = OVERALL) -> Floats:
    """Scores of all systems for one data set (or other level), shape (system,)."""
    one_of("level", level, (*dataset_names(scores), OVERALL))
    return np.asarray(scores.estimates["estimate"].sel(level=level).values, dtype=np.float64)


def level_parts(scores: Result, level: str = OVERALL) -> xr.Dataset:
    """Variance components of the analytic intervals for one level, such as a data set."""
    one_of("level", level, (*dataset_names(scores), OVERALL))
    require_analytic(scores, "analytic intervals")
    group = scores.data["decomposition"].to_dataset()
    here = group["image_level"].values == group["level"].values.tolist().index(level)
    group = group if "most_df" in group else group.assign(most_df=np.inf)
    return group.sel(level=level).isel(image=here)


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


class Level:
    """Weighted sums of the scores at one level, by every method, for one population."""

    def __init__(
        self, scores: Result, generalize_to: Population | None = None, level: str = OVERALL
    ) -> None:
        self.population = population_of(scores, generalize_to)
        self.estimate = level_scores(scores, level)
        self.scores, self.level, self.analytic = scores, level, is_analytic(scores)
        self.at = scores.estimates.sel(level=level)
        self.systems, self.models = system_names(scores), model_names(scores)

    @functools.cached_property
    def parts(self) -> xr.Dataset:
        """Variance components of the analytic intervals."""
        return level_parts(self.scores, self.level)

    @property
    def has_posterior(self) -> bool:
        """Whether there are posterior draws for the population to which intervals generalize."""
        return self.population == "images" and "posterior" in self.scores.data.children

    def sums(self, weights: Floats) -> pd.DataFrame:
        """Estimates, centers and standard errors of weighted sums, with degrees of freedom."""
        found = spread(self.parts, weights, self.population)
        return found.assign(estimate=weighted_sums(self.estimate, weights))

    def draws(self, weights: Floats) -> Floats:
        """Weighted sums of scores in each posterior draw: (draw, sum)."""
        return weighted_sums(draws(self.scores, "posterior", self.level), weights)

    def prior_shift(self) -> Floats:
        """Compute how far each pair's prior shifts joint posterior means, in posterior SDs."""
        scores, zero = self.scores, np.zeros(len(self.systems))
        biased = "posterior" in scores.data.children and scores.metric.draws == "cells"
        # Priors set by the user are meant to have an effect.
        if not biased or not self.analytic or scores.prior != cell_prior(None):
            return zero
        drawn = draws(scores, "posterior", self.level)
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = drawn.mean(axis=0) - self.parts["interval_center"].values
            shift = shift / drawn.std(axis=0)
        models = shift[: len(self.models)]
        if np.isfinite(models).any():
            models[:] = models[np.isfinite(models)].mean()
        return np.nan_to_num(shift)

    def fewest_humans(self, alone: bool = False) -> int:
        """Smallest number of humans at any level, because every level needs enough humans."""
        met = [] if alone or self.level != OVERALL else levels_met(self.scores)
        return int(self.scores.estimates["fewest_humans"].sel(level=met or [self.level]).min())

    def human_notes(self, *, alone: bool = False) -> list[str]:
        """Note if there are too few humans to generalize to other humans."""
        if self.population == "images":
            return []
        paired = not alone and self.level == OVERALL and levels_met(self.scores)
        n_humans = int(self.at["n_humans_paired" if paired else "n_humans"])
        return few_notes(self.fewest_humans(alone), n_humans)

    def too_few_humans(self) -> str:
        """Return why scores have no variance for new humans, with the fix, or an empty string."""
        if not self.analytic or self.population == "images":
            return ""
        if (fewest := self.fewest_humans()) >= FEWEST_PEOPLE:
            return ""
        return in_kinds(
            f"only {fewest} humans: results for new humans need at least {FEWEST_PEOPLE} humans in "
            "each data set; pass generalize_to='images' to treat these humans as fixed",
            human_kind(self.scores),
        )


def few_notes(fewest: int, n_humans: int) -> list[str]:
    """Note on the effect of few humans; empty if there are enough."""
    if fewest < FEWEST_PEOPLE:
        return [note("too-few-humans", n=fewest)]
    n = fewest if fewest < FEWEST_HUMANS else n_humans
    return [note("few-humans", n=n)] if n <= FEW_HUMANS else []


# Methods


def is_plug_in(metric: Metric) -> bool:
    """Whether intervals of the metric's mean scores never reach nominal coverage."""
    return bool(np.isinf(metric.trust.pooled[0]))


def not_valid(metric: Metric) -> str:
    """Reason why intervals, tests and ranks of mean scores are not valid; empty if valid."""
    return NO_METHOD if is_plug_in(metric) else ""


def methods_shown(at: Level, intervals: Intervals) -> tuple[str, ...]:
    """Choose the methods whose intervals a table shows."""
    valid = ["analytic"] * (at.analytic and not is_plug_in(at.scores.metric))
    valid += ["posterior"] * at.has_posterior
    known = METHODS if at.analytic else ("posterior",)
    chosen = chosen_methods(intervals, known, valid, valid[0] if valid else "")
    if "posterior" in chosen and not at.has_posterior:
        why = _why_absent(at)
        raise ValueError(f"no posterior interval for generalize_to={at.population!r}: {why}")
    return chosen


def _why_absent(at: Level) -> str:
    if at.population != "images":
        return "it generalizes only to new images. Pass generalize_to='images'"
    if not at.scores.metric.draws:
        return f"{at.scores.metric.label} has no posterior"
    return told(at.scores.data.attrs.get("posterior_reason") or SOURCES["posterior"])


def absent_posterior(at: Level) -> str:
    """Return a note if a table has no posterior and its rows have no note on this; else empty."""
    if at.has_posterior or at.scores.data.attrs.get("posterior_reason"):
        return ""
    return note("no-posterior", why=_why_absent(at))


# Scores


def posterior_rows(
    at: Level, ci_prob: float, ci_kind: CiKind, methods: Sequence[str], _named: bool
) -> pd.DataFrame:
    """Tabulate scores that have only joint posterior draws."""
    drawn, known = draws(at.scores, "posterior", at.level), at.at
    bounds = interval(drawn, ci_prob, ci_kind)
    defined = ~np.isnan(drawn).all(axis=0)
    frame = pd.DataFrame(
        {
            "level": at.level,
            "system": at.systems,
            "estimate": at.estimate,
            "ceiling": known["ceiling"].values,
            "posterior_median": np.median(drawn, axis=0),
            "se": drawn.std(axis=0, ddof=1),
            **(bound_columns("posterior", ci_kind, ci_prob, bounds) if methods else {}),
            "prob_positive": np.where(defined, (drawn > 0).mean(axis=0), np.nan),
            "n_entries": known["n_entries"].values,
            "note": [reason or at.scores.missing_note for reason in known["reason"].values],
        }
    )
    return frame[(frame["n_entries"] > 0) | (frame["note"] != "")]


def score_rows(
    at: Level, ci_prob: float, ci_kind: CiKind, methods: Sequence[str], named: bool
) -> pd.DataFrame:
    """Tabulate scores with intervals, their ratio to the ceiling, and notes."""
    metric, value, n = at.scores.metric, at.estimate, len(at.systems)
    weights = np.eye(n)
    rows = at.sums(weights)
    bounds = student_bounds(*_student(rows), ci_prob, metric.bounds)
    outside = (value < bounds[:, 0]) | (value > bounds[:, 1])
    frame = rows[["estimate", "interval_center", "se", "df"]]
    frame.insert(0, "level", at.level)
    frame.insert(1, "system", np.array(at.systems, dtype=object))
    if "analytic" in methods:
        frame = frame.assign(**bound_columns("analytic", "ci", ci_prob, bounds))
    moved = np.zeros(n)
    if "posterior" in methods:
        moved, bounds = at.prior_shift(), interval(at.draws(weights), ci_prob, ci_kind)
        if not named:
            bounds[np.abs(moved) > MOVED] = np.nan
        frame = frame.assign(**bound_columns("posterior", ci_kind, ci_prob, bounds))
    top = value[ceiling := at.systems.index(CEILING)]
    scored = [m for m in range(len(at.models)) if np.isfinite(value[m]) and top > 0]
    shares = shares_of_ceiling(at.parts, scored, ceiling, at.population, ci_prob)
    shares["ratio"] = value[scored] / top
    bounded = bool(shares["bounded"].all())
    shares = shares.reindex(range(n))
    frame["ceiling_normalized"] = shares["ratio"]
    if "analytic" in methods:
        names = ("ceiling_normalized_se", *bound_names("ceiling_normalized", "ci", ci_prob))
        frame[list(names)] = shares[["se", "lower", "upper"]]
    behind = dict.fromkeys([*ACCURACIES, *metric.derived])
    frame = frame.assign(**{name: at.at[name].values for name in behind})
    undefined = at.at["undefined_entries"].values
    # For metrics that accuracies bound.
    most = frame["kappa_max"] if "kappa_max" in metric.derived else np.full(n, np.inf)
    least, few = metric.trust.pooled
    rarest = at.at["rarest"].values if "rarest" in at.at else np.full(n, np.inf)
    shared, clusters = _shared_notes(at, top, bounded=bounded), _cluster_notes(at)
    notes = []
    for s, name in enumerate(at.systems):
        own = [
            _moved_note([moved[s]], shown=named),
            few if rarest[s] < least else "",
            *at.human_notes(alone=name == HUMANS),
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
    """Weights of a mean of scores, or of the difference between two means: (1, system)."""
    known = Level(scores).systems
    weights = np.zeros(len(known))
    for sign, given in ((1.0, first), (-1.0, second)):
        names = [] if given is None else [given] if isinstance(given, str) else list(given)
        require_names("system", names, known)
        if given is not None and not 0 < len(names) == len(set(names)):
            raise ValueError(f"each side of a contrast must name systems, each once; got {names}")
        weights[[known.index(name) for name in names]] += sign / max(len(names), 1)
    if not weights.any():
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    return weights[None]


def _student_row(
    at: Level, w: Floats, row: pd.Series, ci_prob: float, ci_kind: CiKind
) -> dict[str, Any]:
    """Return the analytic row of a contrast."""
    text, is_difference = "", abs(w.sum()) <= ROUNDING
    if row["alike"]:
        # Pseudocounts contain no information about them.
        row["se"], text = np.nan, note("identical-responses")
    elif row["se"] == 0 and is_difference:
        row["se"], text = np.nan, note("equal-differences")
    if len(lacking := np.flatnonzero((w != 0) & np.isnan(at.estimate))):
        text = note("no-score", system=at.systems[lacking[0]])
    one = pd.DataFrame([row[["interval_center", "se", "df"]].astype(float)])
    bounds = within_bounds(at.scores.metric, student_bounds(*_student(one), ci_prob), w[w != 0])
    return {
        "estimate": row["estimate"],
        "se": row["se"],
        # Student's t interval uses the columns of the other methods, as in `alikely.contrast`.
        **bound_columns("", ci_kind, ci_prob, bounds[0]),
        "p_value": float(2 * stats.t.sf(abs(row["interval_center"]) / row["se"], row["df"])),
        "prob_positive": _p_positive(at, one, w) if is_difference else np.nan,
        "note": text,
    }


def _p_positive(at: Level, one: pd.DataFrame, w: Floats) -> float:
    """Probability that a difference is above 0, as in the table of all differences; else NaN."""
    center, variance, df = _student(one)
    if np.isnan(variance[0]):
        return np.nan
    every, n = one, 2
    if not w[len(at.models) :].any():
        names, own = compared(at)
        every, n = compared_pairs(at.parts, at.population, own), len(names)
    scales = scales_of_differences(*_student(every), n, at.scores.metric.differences)
    return float(probability_positive(center, variance, df, *scales)[0])


def compared(at: Level, groups: str | Mapping[str, str] | None = None) -> tuple[list[str], Floats]:
    """Return the models (or groups) with a score and a standard error, and their weights."""
    every = np.eye(len(at.systems))
    if at.analytic:
        known = np.isfinite(at.sums(every)["se"].to_numpy())
    else:
        known = ~np.isnan(draws(at.scores, "posterior", at.level)).any(axis=0)
    names = [name for name in at.models if known[at.systems.index(name)]]
    if len(names) < 2:
        raise ValueError(
            at.too_few_humans()
            or f"differences need two models with a score and a standard error, got {len(names)} "
            f"at level {at.level!r} for generalize_to={at.population!r}"
        )
    weights = every[[at.systems.index(name) for name in names]]
    if groups is None:
        return names, weights
    if isinstance(groups, str):
        labels = at.scores.estimates.coords
        label_names = [c for c in labels if labels[c].dims == ("system",) and c != "system"]
        if groups not in label_names:
            raise ValueError(
                f"groups must be a mapping or a label of the observers "
                f"({listed(label_names)}), got {groups!r}"
            )
        groups = dict(zip(names, labels[groups].sel(system=names).values.tolist(), strict=True))
    require_names("system", groups, names)
    labels_ = list(dict.fromkeys(groups.values()))
    if len(labels_) < 2:
        raise ValueError(f"a comparison of groups needs at least two, got {listed(labels_)}")
    member = np.array([[groups.get(name) == label for name in names] for label in labels_])
    return labels_, member / member.sum(axis=1, keepdims=True) @ weights


def all_differences(
    at: Level,
    groups: str | Mapping[str, str] | None,
    ci_prob: float,
    ci_kind: CiKind,
    first: str = "",
) -> pd.DataFrame:
    """Tabulate all differences of models, or of groups of them, with every column."""
    names, weights = compared(at, groups)
    order = sorted(range(len(names)), key=lambda k: names[k] != first)
    names, weights = [names[k] for k in order], weights[order]
    metric = at.scores.metric
    limit = metric.bounds[1] - metric.bounds[0]
    if at.analytic:
        table = difference_table(
            names, weighted_sums(at.estimate, weights), at.parts, at.population,
            metric.differences, ci_prob, limit, weights,
        )  # fmt: skip
        return with_notes(table, at.scores.missing_note)
    return _drawn_differences(names, at.draws(weights), ci_prob, ci_kind, limit)


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
    found = compared_pairs(parts, generalize_to, np.eye(n) if weights is None else weights)
    center, se, df, pooled, t = (
        found[name].to_numpy() for name in ("interval_center", "se", "df", "pooled", "t")
    )
    wide, t = largest_of_differences(pooled, n, ci_prob) * se, np.abs(t)
    p = 2 * stats.t.sf(t, df)
    deviate = -special.ndtri(stats.t.sf(t, pooled))
    together = stats.studentized_range.sf(np.sqrt(2) * deviate, n, np.inf)
    limits = (-limit, limit)
    scales = scales_of_differences(center, se**2, df, n, expected)
    prob_positive = probability_positive(center, se**2, df, *scales)
    level, certain = 1 - ci_prob, np.maximum(prob_positive, 1 - prob_positive) >= CLAIMED
    marks = {
        note("identical-responses"): found["alike"],
        note("significant-alone", n=len(p)): (p <= level) & (level < together),
        note("prior-dominated"): certain & ~(together <= level).any(),
    }
    return _pairs(
        names,
        marks,
        {
            "difference": pair_contrasts(n) @ estimates,
            "interval_center": center,
            "se": se,
            "df": df,
            **bound_columns(
                "pointwise", "ci", ci_prob, student_bounds(center, se**2, df, ci_prob, limits)
            ),
            "p_value": p,
            **_simultaneous(center, wide, ci_prob, limit),
            "p_value_simultaneous": together,
            "p_value_bh": adjusted_p_values(p),
            "prob_positive": prob_positive,
        },
    )


def _pairs(names: Sequence[str], marks: Mapping[str, Any], columns: dict[str, Any]) -> pd.DataFrame:
    """Return a table with one row per pair of systems; notes where their conditions hold."""
    one, other = np.array(names, dtype=object)[np.stack(np.triu_indices(len(names), k=1))]
    frame = pd.DataFrame({"system": one, "other": other, **columns, "note": ""})
    for text, here in marks.items():
        frame.loc[here, "note"] += f"; {told(text)}"
    return frame.assign(note=frame["note"].str.removeprefix("; "))


def _simultaneous(center: Floats, wide: Floats, ci_prob: float, limit: float = np.inf) -> Any:
    """Columns of intervals with given half widths, within the range of differences."""
    bounds = np.clip(np.stack([center - wide, center + wide], axis=-1), -limit, limit)
    return bound_columns("simultaneous", "ci", ci_prob, bounds)


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
    together = _simultaneous(center, wide, ci_prob, limit)
    single, joint = (np.prod(np.sign(ends), axis=0) > 0 for ends in (alone.T, [*together.values()]))
    marks = {note("same-draws"): ~varies, note("significant-alone", n=len(sd)): single & ~joint}
    return _pairs(
        names,
        marks,
        {
            "difference": center,
            "se": np.where(varies, sd, np.nan),
            **bound_columns("pointwise", ci_kind, ci_prob, alone),
            **together,
            "prob_positive": (apart > 0).mean(axis=0),
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
    """Return the row of the difference between two systems from a table of differences."""
    names = list(dict.fromkeys([*differences["system"], *differences["other"]]))
    require_names("model with a score", (first, second), names)
    if first == second:
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    here = (differences["system"] == first) & (differences["other"] == second)
    return differences[here].iloc[0].copy()


# Probabilities of differences


def scales_of_differences(
    center: Floats, variance: Floats, df: Floats, n_systems: int, expected: float
) -> tuple[Floats, Floats]:
    """Estimate the SD of true differences from all differences [M83]_: grid values and weights."""
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


def _moved_note(shifts: Sequence[float] | Floats, *, shown: bool) -> str:
    """Note on a biased joint posterior of means, reported or not; empty if unbiased."""
    largest = max(map(abs, shifts), default=0.0)
    if largest <= MOVED:
        return ""
    return note("posterior-biased" if shown else "posterior-not-reported", by=f"{largest:.1f}")


def _shared_notes(at: Level, ceiling: float, *, bounded: bool) -> list[str]:
    """Notes that apply to every score of a level."""
    attrs = at.scores.data.attrs
    apart = attrs.get("posterior_images") == "apart" and at.has_posterior
    return [
        note("ceiling-zero") if ceiling <= 0 else "",
        "" if bounded else note("ceiling-unclear"),
        note("posterior-images") if apart else "",
        attrs.get("posterior_reason", ""),
        at.scores.missing_note,
    ]


def _cluster_notes(at: Level) -> Sequence[str]:
    """Note on each score that is based on too few clusters of images."""
    size = len(at.systems)
    if "n_clusters" not in at.parts or at.population == "observers":
        return [""] * size
    number = np.full(size, int(at.parts["n_clusters"]))
    return few_clusters(at.scores.data.attrs["cluster"], number).tolist()
