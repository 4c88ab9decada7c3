"""Scores of models against humans: tables, differences, ranks, ceilings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import require_names
from alikely._base.frames import ROWS, Columns, with_columns
from alikely._base.intervals import CiKind, Intervals
from alikely._base.names import counted, listed
from alikely._base.notes import codes, told
from alikely._base.random import RandomState
from alikely.benchmark import ranking, tables
from alikely.benchmark.decomposition import (
    joint_covariance,
    normal_deviates,
    pair_contrasts,
    spread,
)
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population, in_kinds
from alikely.benchmark.tables import (
    BY,
    Level,
    dataset_names,
    human_kind,
    is_analytic,
    level_draws,
    model_names,
    require_analytic,
    system_names,
)
from alikely.estimates.result import Result, of_kind

BOTH = (*BY, "system_other")
type Schema = Mapping[str, Mapping[str, tuple[str, ...] | None]]

OF_LEVELS = (
    "n_humans", "n_humans_paired", "fewest_humans", "n_images",
    *tables.CONSENSUS,
)  # fmt: skip
OF_TRIALS: Schema = {
    "estimates": {
        **dict.fromkeys(("estimate", "undefined_entries", *tables.ACCURACIES), BY),
        **dict.fromkeys(OF_LEVELS, ("level",)),
    },
    "decomposition": {
        **dict.fromkeys(("interval_center", "df_humans"), BY),
        **dict.fromkeys(("pseudocount_variance", "humans", "shared"), BOTH),
        "influence": ("system", "image"),
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


def draws(
    scores: Result, method: str, generalize_to: Population | None = None, level: str = OVERALL
) -> NDArray[np.floating]:
    """Bootstrap replicates for a population, or posterior draws: (draw, system)."""
    Level(scores, generalize_to, level)
    if method == "posterior" and generalize_to not in (None, "images"):
        raise ValueError(
            f"the posterior generalizes only to new images, got generalize_to={generalize_to!r}; "
            "leave it out"
        )
    variable = "score" if method == "posterior" else generalize_to or "both"
    return level_draws(scores, method, variable, level)


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
    methods, named = tables.methods_shown(at, intervals), intervals not in (None, "all")
    make = tables.score_rows if at.analytic else tables.posterior_rows
    names = [*dataset_names(scores), OVERALL] if level is None else [level]
    levels = [Level(scores, generalize_to, name) for name in names]
    frames = [make(each, ci_prob, ci_kind, methods, named) for each in levels]
    table = pd.concat(frames, ignore_index=True)
    absent = "" if named or not at.analytic else tables.absent_posterior(at)
    stored = ["; ".join(filter(None, [text, absent])) for text in table["note"]]
    table["note_codes"] = [" ".join(codes(text)) for text in stored]
    table["note"] = [in_kinds(told(text), human_kind(scores)) for text in stored]
    return with_columns(table, tables.SCORE_COLUMNS, "all" if intervals == "all" else columns)


def method(
    scores: Result, interval: str | None = None, generalize_to: Population | None = None
) -> str:
    """Choose the method whose interval a page shows."""
    asked = None if interval is None else [interval]
    shown = tables.methods_shown(Level(scores, generalize_to), asked)
    return (*shown, "")[0]


def page_columns(scores: Result, frame: pd.DataFrame, bounds: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a page shows."""
    posterior = any(b.startswith("posterior") for b in bounds)
    chosen = ["level"] * (frame["level"].nunique() > 1) + ["system", "estimate"]
    chosen += ["posterior_median"] * posterior + [*bounds]
    if "ceiling_normalized" in frame and frame["ceiling_normalized"].notna().any():
        chosen += ["ceiling_normalized", *frame.filter(regex="^ceiling_normalized_ci")]
    return [name for name in [*chosen, "accuracy", "n_entries"] if name in frame]


def preview(scores: Result, methods: Sequence[str]) -> tuple[pd.DataFrame, int, dict[str, Any]]:
    """Return the rows of the humans, then the first models."""
    frame = scores.summary(intervals=methods)
    own = frame["system"].isin([HUMANS, CEILING])
    return pd.concat([frame[own], frame[~own]], ignore_index=True).head(ROWS), len(frame), {}


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
    weights, at = (
        tables.contrast_weights(scores, first, second),
        Level(scores, generalize_to, level),
    )
    return tables.contrast_table(at, weights, rope, ci_prob, ci_kind, intervals)


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
    """Compare the scores of all pairs of models, or of groups of models.

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores` or `alikely.benchmark.scores_from_result`. Results
        of `alikely.benchmark.group_scores` (mean agreement of each observer with all others) and
        `alikely.benchmark.reader_study` (modalities) are also accepted; for these, only the option
        `ci_prob` is available.
    generalize_to : {"images", "observers", "both"}, optional
        Population to which intervals generalize: new images, new humans, or both. Default: both.
        Not available for `alikely.benchmark.scores_from_result`.
    level : str
        A data set, or ``"overall"``, the unweighted mean of all data sets.
    groups : str or mapping of str to str, optional
        Groups of models whose mean scores are compared: a label of the observers, such as
        ``"family"``, or a mapping from the name of each model to its group.
    intervals : None, "all" or sequence of {"pointwise", "simultaneous"}
        Intervals to show. None shows simultaneous intervals, adjusted for all differences, and
        their p-values. ``"all"`` shows both kinds and every column.
    columns : "all" or sequence of str, optional
        Further columns to show: ``interval_center, df, p_value_bh``.
    ci_prob : float, optional
        Probability level of the intervals, in (0, 1). Default: as in the analysis.
    ci_kind : {"eti", "hdi"}, optional
        Kind of the pointwise interval computed from posterior draws. Default: as in the analysis.

    Returns
    -------
    pandas.DataFrame
        One row per pair, with columns

        - ``system``, ``other``, ``difference``, ``se``
        - ``interval_center``, ``df``: center and degrees of freedom of the interval
        - limits of the ``pointwise`` interval, and ``p_value``
        - limits of the ``simultaneous`` interval, and ``p_value_simultaneous``. The limits and the
          p-value use the studentized range. With posterior draws, the limits use the largest
          standardized difference instead, and there is no p-value
        - ``p_value_bh``: p-value adjusted by the Benjamini-Hochberg method
        - ``prob_positive``: probability that the difference is above 0
        - ``note``

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If an option, a label or a model is unknown, or `ci_prob` is not in (0, 1).
        If fewer than two models or groups have a score.
        If the posterior draws of different systems are independent.

    Examples
    --------
    >>> import alikely as al
    >>> scores = al.benchmark_scores(al.load_example(), n_resamples=0, n_draws=0)
    >>> al.benchmark.differences(scores).shape
    (15, 9)
    """
    prob, kind = of_kind(scores, "model", "group", "reader").interval_options(ci_prob, ci_kind)
    if scores.kind != "model":
        found: pd.DataFrame = scores._call(
            "differences", generalize_to=generalize_to, level=level, groups=groups,
            intervals=intervals, columns=columns, ci_prob=prob, ci_kind=kind,
        )  # fmt: skip
        return found
    at = Level(scores, generalize_to, level)
    table = tables.all_differences(at, groups, prob, kind)
    valid = not (at.analytic and tables.not_valid(scores.metric))
    return tables.differences_shown(table, intervals, columns, valid=valid)


def score_correlations(scores: Result, *, ci_prob: float | None = None) -> pd.DataFrame:
    """Correlate scores between all pairs of data sets.

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores`, with bootstrap replicates.
    ci_prob : float, optional
        Probability level of the intervals, in (0, 1). Default: as in the analysis.

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
          new models. NaN if there is no reliable variance. See
          `alikely.benchmark.ranking.latent_correlation`
        - ``note``

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If there are no bootstrap replicates, or no two data sets share 4 models.
    """
    prob, _ = of_kind(scores, "model").interval_options(ci_prob, None)
    names, models = dataset_names(scores), model_names(scores)
    estimates = scores.estimates["estimate"].sel(level=names, system=models).values
    at = [system_names(scores).index(name) for name in models]
    drawn = [level_draws(scores, "bootstrap", "images", name)[:, at] for name in names]
    table = ranking.rank_correlations(names, estimates, np.stack(drawn, axis=1), prob)
    return table.join(ranking.latent_columns(scores, table, prob))


def ceilings(
    scores: Result, generalize_to: Population | None = None, *, columns: Columns = None
) -> pd.DataFrame:
    """Tabulate the noise ceiling and the human-human score of each level, with a test against 0.

    Parameters
    ----------
    scores : Result
        As returned by `alikely.benchmark_scores`.
    generalize_to : {"images", "observers", "both"}, optional
        As in `differences`.
    columns : "all" or sequence of str, optional
        Further columns to show: the degrees of freedom ``df``.

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
        If `generalize_to` or a column is unknown.
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
            "df": rows["df"].to_numpy(),
            "p_human_human": stats.t.sf(rows["interval_center"] / rows["se"], rows["df"]),
        }
    )
    table = frame.assign(
        **{f"noise_ceiling_{name}": estimates[name].values for name in tables.CONSENSUS}
    )
    return with_columns(table, [name for name in table if name != "df"], columns)


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
        with all others.
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
          others in it
        - ``tied_with_top``: whether the model does not differ significantly from the best model
        - ``note``: the reason if the sets are not valid (otherwise omitted)

        Scores from posterior draws are ranked by the median of the draws.

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If there are fewer than two models. Also as in `alikely.benchmark.ranking.rank_sets`.
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
    names, weights = tables.compared(at)
    if not at.analytic:
        drawn = at.draws(weights)
        center = np.median(drawn, axis=0)
        return ranking.rank_sets(
            center, np.cov(drawn.T), names, ci_prob=prob, deviations=drawn - center
        )
    own, target = list(range(len(models))), at.population
    alike = spread(at.parts, pair_contrasts(len(names)) @ weights, target)["alike"].to_numpy()
    if alike.any():
        j, k = (side[alike][0] for side in np.triu_indices(len(names), 1))
        raise ValueError(
            f"{names[j]!r} and {names[k]!r} have a difference without variance: their "
            "responses are identical; leave one of them out"
        )
    found = ranking.rank_sets(
        at.estimate[own],
        joint_covariance(at.parts, target, own),
        models,
        ci_prob=prob,
        rng=rng,
        deviates=normal_deviates(at.parts, own, target),
    )
    reason = tables.not_valid(scores.metric)
    return found.assign(note=reason) if reason else found
