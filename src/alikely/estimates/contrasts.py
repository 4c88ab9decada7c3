"""Means, differences and other weighted sums of the entries of a result.

References
----------
.. [K18] Kruschke (2018). Rejecting or accepting parameter values in Bayesian estimation.
   doi:10.1177/2515245918771304
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.frames import with_notes
from alikely._base.intervals import (
    CiKind,
    Intervals,
    bound_columns,
    bound_names,
    chosen_methods,
)
from alikely._base.names import nearest
from alikely._base.notes import note, told
from alikely.errors.draws import UNBOUNDED, mean_draws
from alikely.estimates.matrices import (
    cluster_column,
    entries,
    entry_labels,
    influences,
    place_dim,
    place_names,
    square_matrix,
)
from alikely.estimates.notes import (
    ROUNDING,
    apart,
    cluster_note,
    few_clusters,
    joined_notes,
    of_design,
    repeats_note,
    several_people,
)
from alikely.estimates.pair_result import LABELS, METHODS, chosen_interval, matching
from alikely.estimates.result import Population, Result, of_kind
from alikely.inference.influence import (
    cells_of_clusters,
    covariance_of,
    freedom_of_clusters,
    influence_of,
    most_freedom,
    of_items,
    of_sums,
)
from alikely.inference.intervals import (
    adjusted_p_values,
    analytic_interval,
    describe_draws,
    within,
)
from alikely.inference.pooling import left_out, pooled_sum
from alikely.inference.weighting import freedom_of_sums, holding, student_deviate
from alikely.metrics import Metric
from alikely.metrics.cells import divide

Which = str | Sequence[str] | Mapping[str, str | Sequence[str]]
# Label metrics: fewest joint errors of each pair for valid intervals of means and of differences.
FOR_MEANS, FOR_DIFFERENCES = 10, 40
PRIOR_ALONE = note("prior-alone")
# Group of a result whose entries have limits, from which those of means are made.
POPULATIONS = "populations"
TOGETHER = note("pair-by-pair")
# Measured: coverage of the bootstrap is below 0.92 if the prior would contribute more than this
# fraction of the entries (fewer than 17 disagreements expected by chance in each).
LARGEST_PART = 1 / 18
# Most cells of entries by cluster in memory; above, first derivatives are used.
MOST_CELLS = 5_000_000


def difference(
    result: Result,
    first: Which,
    second: Which,
    *,
    generalize_to: Population | None = None,
    level: str = "overall",
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Compute the difference between two estimates of a result, or between two means of estimates.

    Parameters
    ----------
    result : Result
        Result of a function that compares pairs (including `alikely.pairwise_matrix`), or benchmark
        scores.
    first, second : str, sequence of str, or mapping
        Entries to select:

        - Labels of entries.
        - A mapping from ``dataset``, ``condition``, ``observer_a``, ``observer_b`` or ``observer``
          (either observer of a pair) to labels, such as ``{"observer_b": "resnet50"}``, which
          selects all comparisons with these labels.
        - For a matrix: a tuple of two observers selects one pair, and a list of observers selects
          all of their pairs. Pairs of a matrix cannot be selected by labels of entries.
        - For benchmark scores: names of systems to select.

        If the metric is symmetric, the order within a pair does not matter: ``"a x b"`` also
        selects ``"b x a"``.
    generalize_to : {"images", "observers", "both"}, optional
        For scores: population to which intervals generalize, as in `alikely.Result.summary`.
    level : str
        For scores: name of a data set, or ``"overall"`` for the mean of all data sets.
    rope : (float, float), optional
        Region of practical equivalence [K18]_, whose posterior probability is added as the column
        ``rope_mass``.
    ci_prob : float, optional
        Probability level of the intervals. Default: as in `result`.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Methods to show, one per row. The default shows the method recommended for the metric;
        ``"all"`` shows all valid methods.

    Returns
    -------
    pandas.DataFrame
        Table as returned by `contrast`, for the contrast ``first - second``. For a matrix, the
        table has only the analytic row, whose estimate is the unweighted mean over the ``n_places``
        conditions or data sets in which all selected pairs have estimates.

    Raises
    ------
    TypeError
        If `result` has the wrong type.
    ValueError
        If a selection does not match any comparison, or both selections match the same comparisons.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-model", rng=1)
    >>> one, other = sorted(set(result.pairs["observer_b"]))[:2]
    >>> table = al.difference(result, {"observer_b": one}, {"observer_b": other})
    >>> list(table.index)
    ['analytic']
    """
    return _combined(
        result, first, second, generalize_to, level, ci_prob, rope=rope, intervals=intervals
    )


def mean(
    result: Result,
    which: Which | None = None,
    *,
    generalize_to: Population | None = None,
    level: str = "overall",
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Compute the unweighted mean of estimates in a result, accounting for shared trials.

    Parameters
    ----------
    result : Result
        Result of a function that compares pairs (including `alikely.pairwise_matrix`), or benchmark
        scores.
    which : str, sequence of str, or mapping, optional
        As in `difference`. Default: all pairs or, for scores, all models.
    generalize_to, level, rope, ci_prob, intervals
        As in `difference`.

    Returns
    -------
    pandas.DataFrame
        Table with the columns that `contrast` returns. For results of `alikely.pairwise_matrix`,
        this table has only the row ``analytic``. Estimates that are not NaN are averaged within
        each condition or data set. ``estimate`` is the unweighted mean of these averages over the
        ``n_places`` conditions or data sets. ``n_pairs`` is the smallest number of pairs in any
        condition or data set.

    Raises
    ------
    TypeError
        If `result` has the wrong type.
    ValueError
        If `which` does not match any comparison or model.

    Notes
    -----
    The analytic interval for a mean is computed on the scale of the metric, as in
    `alikely.Result.summary`. For class-level error similarity, posterior limits are computed
    for the mean itself, because averaging the limits of pairs does not give the limits of the
    mean (`alikely.errors.draws.mean_draws`).

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> table = al.mean(result, {"condition": "noise"})
    >>> bool(table.loc["analytic", "estimate"] > 0)
    True
    """
    return _combined(
        result, which, None, generalize_to, level, ci_prob, rope=rope, intervals=intervals
    )


def _combined(
    result: Result,
    first: Which | None,
    second: Which | None,
    generalize_to: Population | None,
    level: str,
    ci_prob: float | None,
    **shown: Any,
) -> pd.DataFrame:
    """Mean of the entries that match (default: all), or the difference between two means."""
    if of_kind(result, "pair", "matrix", "model").kind == "model":
        prob, kind = result.interval_options(ci_prob, None)
        found: pd.DataFrame = result._call(
            "contrast", first=result.observers if first is None else first, second=second,
            generalize_to=generalize_to, level=level, ci_prob=prob, ci_kind=kind, **shown,
        )  # fmt: skip
        return found
    if generalize_to is not None or level != "overall":
        raise ValueError(
            "generalize_to= and level= are options of scores (alikely.benchmark_scores); leave "
            "them out"
        )
    first = {} if first is None else first
    if result.kind == "matrix":
        return _of_matrix(result, first, second, ci_prob, **shown)
    weights, lost = mean_weights(result, first)
    if second is not None:
        minus, other = mean_weights(result, second)
        _require_apart(weights, minus, first, second)
        weights, lost = weights - minus, lost or other
    found = contrast(result, weights, ci_prob=ci_prob, **shown)
    return found.assign(note=[joined_notes(lost, text) for text in found["note"]])


def _require_apart(plus: Floats, minus: Floats, first: Which, second: Which) -> None:
    if np.array_equal(plus, minus):
        raise ValueError(
            f"first and second select the same comparisons ({first!r} and {second!r}); their "
            "difference is 0"
        )


def nearest_observers(matrix: Result, observer: str, k: int = 10) -> pd.DataFrame:
    """Find the observers whose errors are most similar to the errors of a given observer.

    Parameters
    ----------
    matrix : Result
        Matrix of all pairs, as returned by `alikely.pairwise_matrix`.
    observer : str
        Name of the observer.
    k : int
        Number of observers to return. Default 10.

    Returns
    -------
    pandas.DataFrame
        One row for each of the `k` most similar observers (the index), in descending order of
        similarity. Columns:
        ``estimate``, ``se``, limits of the analytic interval as returned by `mean`, and
        ``n_places``, the number of conditions or data sets in which the estimate for the pair is
        defined.

    Raises
    ------
    TypeError
        If `matrix` is not a result of `alikely.pairwise_matrix`.
    ValueError
        If the observer is unknown.

    Examples
    --------
    >>> import alikely as al
    >>> matrix = al.pairwise_matrix(al.load_example(), by=None)
    >>> al.estimates.nearest_observers(matrix, "model_1", 2).index.tolist()
    ['model_2', 'model_3']
    """
    names = of_kind(matrix, "matrix").observers
    if observer not in names:
        raise ValueError(f"no observer {observer!r} in this matrix{nearest(observer, names)}")
    row = square_matrix(matrix, "estimate").sel(observer=observer).drop_sel(observer_other=observer)
    place = place_dim(matrix)
    means = row.mean(place) if place else row
    others = means.to_series().dropna().sort_values(ascending=False, kind="stable").index[:k]
    rows = [_of_matrix(matrix, (observer, other), None, None).loc["analytic"] for other in others]
    frame = pd.DataFrame(rows, index=pd.Index(others, name="other", dtype=object))
    prob, kind = matrix.interval_options(None, None)
    bounds = bound_names("", kind, prob), bound_names("analytic", "ci", prob)
    frame = frame.reindex(columns=["estimate", "se", *bounds[0], "n_places"])
    return frame.rename(columns=dict(zip(*bounds, strict=True)))


def _of_matrix(
    matrix: Result,
    first: Which,
    second: Which | None,
    ci_prob: float | None,
    **unused: object,
) -> pd.DataFrame:
    """Mean or difference of entries of a matrix, averaged over conditions or data sets."""
    if given := [name for name, value in unused.items() if value is not None]:
        raise ValueError(
            f"means and differences of a matrix have only analytic intervals, got {given[0]}=; "
            "leave it out, or use compare(trials, metric, pairs) for other methods"
        )
    metric, value = matrix.metric, matrix.estimates["estimate"].values.ravel()
    dim = place_dim(matrix)
    place = entry_labels(matrix)[dim][0] if dim else np.zeros(len(value), np.intp)
    sides = []
    for which in (first, *([] if second is None else [second])):
        chosen = np.bincount(entries_of(matrix, which), minlength=len(value)) > 0
        sides.append(chosen / np.maximum(np.bincount(place, chosen), 1)[place])
    weights = sides[0]
    if second is not None:
        _require_apart(sides[0], sides[1], first, second)
        weights = sides[0] - sides[1]
    if len({frozenset(place[side != 0].tolist()) for side in sides}) == 1:
        kept = _over_places(weights, place, value)
    else:
        # Different conditions or data sets: each side is averaged separately.
        one, other = (_over_places(side, place, value) for side in sides)
        kept = (one - other) * (one.any() and other.any())
    counts = np.bincount(place[kept != 0])
    counts = counts[counts > 0]
    weights = kept if kept.any() else weights
    flat = np.flatnonzero(weights)
    # Matrix products, without the responses of each pair.
    fast = metric.all_influences and not cluster_column(matrix)
    se = None
    if fast and len(counts):
        moved = influences(matrix, list(weights.reshape(len(place_names(matrix)), 1, -1)))
        se = float(np.linalg.norm(np.concatenate([psi.sum(axis=0) for psi in moved])))
    part = entries(matrix, flat, answers=se is None)
    frame = weighted_sum(part, weights[flat], ci_prob=ci_prob, intervals=["analytic"], se=se)
    return frame.assign(n_pairs=int(counts.min(initial=len(value) * bool(len(counts)))),
                        n_places=len(counts))  # fmt: skip


def _over_places(weights: Floats, place: NDArray[np.intp], value: Floats) -> Floats:
    """Weights of the defined entries, averaged over the conditions or data sets with any."""
    kept = np.where(np.isfinite(value), weights, 0.0)
    lost, minus = (np.bincount(place, own) > 0 for own in (kept != weights, weights < 0))
    scale = divide(np.bincount(place, weights), np.bincount(place, kept))
    # A difference needs both sides.
    scale = np.where(lost, np.where(minus | np.isnan(scale), 0.0, scale), 1.0)
    kept *= scale[place]
    return kept / max(len(np.unique(place[kept != 0])), 1)


def contrast(
    result: Result,
    weights: ArrayLike,
    *,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Compute a weighted sum of a result's estimates, and an interval for this sum.

    Parameters
    ----------
    result : Result
        Result of an analysis of pairs.
    weights : array_like, shape (pair,)
        Weight of each comparison. Comparisons with weight 0 are excluded.
    rope, ci_prob, intervals
        As in `difference`.

    Returns
    -------
    pandas.DataFrame
        One row per method: ``analytic`` (influence functions, with the covariance over shared
        trials), ``bootstrap`` (the same resampled trials for all comparisons), ``posterior`` (joint
        draws). If several correctness tables are combined, the analytic method is recommended;
        otherwise, the method that `alikely.Result.summary` reports is recommended. If `rope` is
        passed, the default table includes the row ``posterior``. Columns:

        - ``estimate`` (the median for the posterior), ``se`` and the limits of the interval
        - ``p_value``: two-sided test against 0 (analytic row)
        - ``prob_positive``: proportion of draws above 0
        - ``rope_mass``: proportion of draws in `rope`
        - ``frac_undefined``: fraction of undefined draws
        - with ``"all"``, the ``center`` of the analytic interval and its degrees of freedom ``df``
        - ``note``: the reason if a value is undefined or unreliable

    Raises
    ------
    TypeError
        If `result` is not a result for pairs of observers.
    ValueError
        If the weights are not one finite number per comparison, or are all 0.
    ValueError
        If `rope`, `ci_prob` or `intervals` is invalid.

    Notes
    -----
    If accuracies are near 1, estimates are biased and their standard errors are too small. If
    several correctness tables are combined, the analytic interval is therefore centered on the
    weighted sum of estimates from tables with pseudocounts. The pseudocounts of a comparison have
    approximately the same accuracies as its trials. The error consistency of the pseudocounts is
    pooled over all comparisons whose weights have the same sign. The analytic interval always
    includes ``estimate``, which is computed without pseudocounts. If comparisons are based on few
    errors, bootstrap intervals are too narrow, and the posterior is biased, because its prior is
    centered on independent errors. With few errors, the table omits bootstrap and posterior
    intervals unless you name them in `intervals`.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> weights = np.zeros(18)
    >>> weights[:2] = 1, -1
    >>> al.contrast(result, weights).index.tolist()
    ['analytic']
    >>> al.contrast(result, weights, intervals=["bootstrap", "posterior"]).shape
    (2, 9)
    """
    return weighted_sum(result, weights, rope=rope, ci_prob=ci_prob, intervals=intervals)


def weighted_sum(
    result: Result,
    weights: ArrayLike,
    *,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    intervals: Intervals = None,
    se: float | None = None,
) -> pd.DataFrame:
    """Weighted sum of entries, whose analytic standard error may be known."""
    of_kind(result, "pair")
    if result.data.attrs.get("pairing") == "lost":
        raise ValueError(
            "confusion matrices of systems that answered the same items give no interval of a mean "
            "or difference; compare trials instead"
        )
    ci_prob, ci_kind = result.interval_options(ci_prob, ci_kind)
    table, w = result.table, np.asarray(weights)
    plain = w.dtype.kind in "biuf"
    if not plain or w.shape != (table.sizes["pair"],) or not np.isfinite(w).all() or not w.any():
        got = f"shape {w.shape}" if plain else type(weights).__name__
        raise ValueError(
            f"weights must be {table.sizes['pair']} finite numbers, one per comparison, not "
            f"all 0; got {got}"
        )
    if rope is not None and not (len(rope) == 2 and rope[0] < rope[1]):
        raise ValueError(f"rope must be (lower, upper) with lower below upper, got {rope!r}")
    chosen = np.flatnonzero(w)
    part, w = table.isel(pair=chosen), w[chosen].astype(np.float64)
    found = _analytic(result, part, chosen, w, ci_prob, ci_kind, se)
    rows = {"analytic": found.row}
    wrong = _wrong(result, part, w, found)
    # For images sampled by a plan, the posterior of several humans may be too narrow.
    several = "inclusion" in part and bool(several_people(part))
    methods = _methods(result, intervals, found, wrong, several)
    if intervals is None and rope is not None and "posterior" in result.data.children:
        # The mass of the region is a posterior probability.
        methods = tuple(dict.fromkeys((*methods, "posterior")))
    for method in ("bootstrap", "posterior"):
        if method in methods and wrong.get(method) == TOGETHER:
            rows[method] = {"note": ""}
        elif method in methods:
            row, about = _of_draws(result, method, chosen, w, ci_prob, ci_kind, rope)
            if method == "posterior":
                about = cluster_note(result) or (PRIOR_ALONE if found.sampled < ROUNDING else about)
            notes = found.of_plan[method], repeats_note(result), about
            rows[method] = row | {"note": joined_notes(*notes)}
    for method in wrong.keys() & rows.keys():
        rows[method]["note"] = joined_notes(wrong[method], str(rows[method]["note"]))
    bounds = bound_names("", ci_kind, ci_prob)
    columns = ["estimate", "se", *bounds, "p_value", "prob_positive", "rope_mass"]
    more = ["center", "df"] if intervals == "all" else []
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame = frame.reindex(columns=[*columns, "frac_undefined", *more, "note"])
    frame = frame.assign(note=frame["note"].fillna("").map(told)).loc[list(methods)]
    return with_notes(frame, result.missing_note)


def _of_draws(
    result: Result,
    method: Literal["bootstrap", "posterior"],
    chosen: NDArray[np.intp],
    weights: Floats,
    ci_prob: float,
    ci_kind: CiKind,
    rope: tuple[float, float] | None,
) -> tuple[dict[str, object], str]:
    """Row of a method that has draws, and its note."""
    if method == "posterior" and POPULATIONS in result.data.children:
        draws, about = _of_populations(result, chosen, weights, (1 + ci_prob) / 2)
    else:
        draws, about = result.draws(method)[:, chosen].astype(np.float64) @ weights, ""
    estimate = None
    if method == "bootstrap":
        estimate = float(weights @ result.estimates["estimate"].values[chosen])
    row = describe_draws(draws, ci_prob, ci_kind, rope, estimate)
    if method == "posterior":
        least = FOR_MEANS if (weights > 0).all() else FOR_DIFFERENCES
        labels = result.metric.counts == "labels" and len(weights) > 1
        if labels and result.table["cells"].values[chosen, 3].min() < least:
            about = note("joint-errors-of-means", least=least)
        elif not about and "scale" in result.estimates:
            # Noise-corrected on different scales.
            scales = sorted(set(result.estimates["scale"].values[chosen].tolist()))
            about = note("scales", scales=", ".join(scales)) if len(scales) > 1 else ""
    return row, str(row.get("note", "")) or about


class _Analytic(NamedTuple):
    """The analytic row, and what the other methods depend on."""

    row: dict[str, Any]
    of_plan: dict[str, str]
    # Standard error by trials alone, and disagreements expected by chance in pooled entries.
    sampled: float
    disagreements: Floats | None


def _analytic(
    result: Result,
    part: xr.Dataset,
    chosen: NDArray[np.intp],
    w: Floats,
    ci_prob: float,
    ci_kind: CiKind,
    se: float | None,
) -> _Analytic:
    """An interval with Student's t quantiles around the center of the sum."""
    metric, cluster = result.metric, str(result.data.attrs["cluster"])
    estimates, disagreements = result.estimates.isel(pair=chosen), None
    value = held = float(w @ estimates["estimate"].values)
    clustered, n_clusters = bool(cluster) and of_items(part, cluster), 0
    # For images sampled by a plan: the weighted value, with the degrees of freedom of the plan.
    center, df, of_plan = of_design(part, estimates, metric, w)
    if len(w) > 1 and metric.counts == "correctness" and "inclusion" not in part:
        groups, counts = part["pair_group"].values, part["cells"].values.astype(np.float64)
        sums = pooled_sum(metric, counts, w, groups)
        moved, squares = influence_of(part, sums.slopes, cluster or None)
        n_clusters = len(squares)
        if clustered and len(w) * n_clusters <= MOST_CELLS:
            cells = cells_of_clusters(part, cluster)
            moved = left_out(metric, cells.sum(axis=2), cells, w, groups)
        n, square = len(moved), moved**2
        center, disagreements, within_trials = sums.value, sums.disagreements, square.sum()
        se = float(np.sqrt(n / max(n - 1, 1) * within_trials + sums.added))
        total, fourth = within_trials + sums.added, np.array((square**2).sum())
        df = float(freedom_of_sums(np.array(total), np.array(within_trials), fourth, n))
        df = float(freedom_of_clusters(df, most_freedom(squares))) if clustered else df
        # An undefined entry has pseudo-trials; without a standard error there is no interval.
        held = value if np.isfinite(value) else center
        sampled = float(np.sqrt(within_trials))
    else:
        if se is None:
            se, freedom, n_clusters = error_of_sum(part, metric, cluster, w)
            df = freedom if clustered else df
        sampled = se
    low, high = _bounds(metric, w, center, se, df, ci_prob)
    lower, upper = holding(low, high, np.array(held))
    p = float(2 * stats.t.sf(abs(center) / se, df)) if se > 0 and np.isfinite(value) else np.nan
    few = few_clusters(cluster, np.array([n_clusters]))[0] if clustered else ""
    reasons = estimates["undefined"].values
    undefined = next((note("undefined-entry", why=str(why)) for why in reasons if why), "")
    alone = PRIOR_ALONE if disagreements is not None and sampled < ROUNDING else ""
    row = {
        "estimate": value,
        "se": se,
        "center": center,
        "df": df,
        **bound_columns("", ci_kind, ci_prob, np.array([lower, upper])),
        "p_value": p,
        "note": joined_notes(of_plan["analytic"], few, undefined, repeats_note(result), alone),
    }
    return _Analytic(row, of_plan, sampled, disagreements)


def error_of_sum(
    table: xr.Dataset, metric: Metric, cluster: str, weights: Floats
) -> tuple[float, float, int]:
    """Standard error of a weighted sum of estimates, degrees of freedom, number of clusters."""
    if cluster and of_items(table, cluster):
        variance, df, n_clusters = of_sums(table, metric, cluster, weights[None])[:, 0].tolist()
        return float(np.sqrt(variance)), df, int(n_clusters)
    variance = covariance_of(table, metric, cluster or None, weights[None])[0, 0]
    return float(np.sqrt(variance)), np.inf, 0


def _bounds(
    metric: Metric, weights: Floats, center: float, se: float, df: float, ci_prob: float
) -> Floats:
    """Interval on the scale of the metric for a mean of entries, untransformed for a difference."""
    deviate = float(student_deviate(np.array(df), ci_prob))
    if (weights > 0).all() and np.isclose(weights.sum(), 1):
        return analytic_interval(metric, np.array(center), np.array(se), deviate)
    return within(metric, center + np.array([-1, 1]) * deviate * se, weights)


def _wrong(
    result: Result, entries: xr.Dataset, weights: Floats, found: _Analytic
) -> dict[str, str]:
    """Methods that are invalid for a sum, with reasons."""
    wrong, groups = dict(result.metric.unreliable), entries["pair_group"].values
    if "posterior" in result.data.children and not int(result.data["posterior"].attrs["joint"]):
        # Draws of one pair in each group of trials are independent.
        wrong |= {"posterior": TOGETHER} if len(np.unique(groups)) < len(groups) else {}
    if found.disagreements is None or np.isnan(found.disagreements).any():
        return wrong
    part, n = _part_of(1.0, found.disagreements, weights), len(weights)
    few = {"n": round(max(1 / part - 1, 0)), "entries": n}
    if part > LARGEST_PART:
        wrong["bootstrap"] = note("bootstrap-sums", **few)
    if "posterior" not in result.data.children:
        return wrong
    # A bias as large as the standard error lowers the coverage of 95% intervals to 0.83.
    if _part_of(result.prior.disagreements, found.disagreements, weights) > max(
        LARGEST_PART, found.row["se"]
    ):
        wrong["posterior"] = note("prior-biases", **few)
    return wrong


def _part_of(added: float, disagreements: Floats, weights: Floats) -> float:
    """Mean fraction of added disagreements, for the sign of weights where it is larger."""
    part = added / (added + disagreements)
    signs = (weights > 0, weights < 0)
    return float(max(np.average(part[s], weights=np.abs(weights[s])) for s in signs if s.any()))


def _methods(
    result: Result,
    intervals: Intervals,
    found: _Analytic,
    wrong: Mapping[str, str],
    several: bool,
) -> tuple[str, ...]:
    there = [name for name in METHODS if name == "analytic" or name in result.data.children]
    valid = [name for name in there if name not in wrong]
    # A sum needs draws; limits computed from counts have none.
    first: str
    pooled = found.disagreements is not None
    first = "analytic" if pooled or several else chosen_interval(result, None, "hdi")
    if first not in valid:
        first = valid[-1] if valid else ""
    shown = chosen_methods(intervals, METHODS, valid, first)
    if intervals is None and "posterior" in valid and result.metric.posterior_label != "posterior":
        # It describes another quantity, such as a noise-corrected correlation.
        shown = tuple(dict.fromkeys((*shown, "posterior")))
    return tuple(name for name in shown if name in there)


def _of_populations(
    result: Result, chosen: NDArray[np.intp], weights: Floats, sure: float
) -> tuple[Floats, str]:
    """Draws of a weighted sum of entries that have limits instead of draws."""
    one_by_one = result.draws("posterior")[:, chosen].astype(np.float64)
    populations = result.data[POPULATIONS].to_dataset().isel(pair=chosen)
    draws, about = np.zeros(len(one_by_one)), ""
    for side in (1, -1):
        there = np.flatnonzero(side * weights > 0)
        part = np.abs(weights[there])
        if len(there) < 2:
            draws += side * (one_by_one[:, there] @ part)
            continue
        share = part / part.sum()
        here = populations.isel(pair=there)
        values, bounded = mean_draws(here, functools.partial(np.dot, b=share))
        draws += side * part.sum() * values
        if bounded < sure:
            about = UNBOUNDED
    return draws, about


def mean_weights(result: Result, which: Which) -> tuple[NDArray[np.float64], str]:
    """Return weights of a mean over entries with common trials, and a text on other entries."""
    weights = np.zeros(result.table.sizes["pair"])
    chosen = entries_of(result, which)
    met = ~apart(result)[chosen]
    # If no entry has common trials, the mean is undefined for the reason of each entry.
    used = chosen[met] if met.any() else chosen
    weights[used] = 1 / len(used)
    lost = len(chosen) - len(used)
    return weights, f"{lost} of {len(chosen)} comparisons have no common trials" if lost else ""


def entries_of(result: Result, which: Which) -> NDArray[np.intp]:
    """Find the positions of the selected entries (`ValueError` if none match)."""
    if result.kind == "matrix":
        if isinstance(which, str):
            raise ValueError(
                f"entries of a matrix are selected by a mapping, a pair or a list of observers, "
                f"got {which!r}; give {{'observer': {which!r}}} or [{which!r}, ...]"
            )
        if not isinstance(which, Mapping):
            pair = isinstance(which, tuple) and len(which) == 2
            ends = ([which[0]], [which[1]]) if pair else (list(which), list(which))
            which = {"observer_a": ends[0], "observer_b": ends[1]}
        return matching(entry_labels(result), result.metric.symmetric, which)
    if isinstance(which, Mapping):
        columns = {name: pd.factorize(result.table[name].values) for name in LABELS}
        return matching(columns, result.metric.symmetric, which)
    labels = [which] if isinstance(which, str) else list(which)
    index = result.table["pair"].values.tolist()
    positions = {label: k for k, label in enumerate(index)}
    if result.metric.symmetric:
        # The order of a stored pair may differ from the requested one.
        both = (result.table[name].values for name in LABELS[2:])
        for k, (label, a, b) in enumerate(zip(index, *both, strict=True)):
            positions.setdefault(f"{b} x {a}{label.removeprefix(f'{a} x {b}')}", k)
    if not labels or any(label not in positions for label in labels):
        missing = next((label for label in labels if label not in positions), "(empty list)")
        raise ValueError(
            f"no comparison is labeled {missing!r}; labels look like {index[0]!r}"
            f"{nearest(missing, index)}"
        )
    return np.array([positions[label] for label in labels], dtype=np.intp)


def model_means(
    result: Result, kinds: Mapping[str, str], intervals: Intervals = None
) -> pd.DataFrame | None:
    """Compute the mean of each model over its pairs with observers of another kind."""
    entries: dict[str, list[int]] = {}
    for i, (a, b) in enumerate(result.pairs[["observer_a", "observer_b"]].to_numpy().tolist()):
        if kinds and kinds.get(a, a) != kinds.get(b, b):
            entries.setdefault(a if kinds.get(b, b) == "human" else b, []).append(i)
    if all(len(own) < 2 for own in entries.values()):
        return None
    notes = result.summary(intervals=[])["note"].str.split("; ")
    rows = []
    for model, own in entries.items():
        weights = np.bincount(own, minlength=len(notes)) / len(own)
        methods = contrast(result, weights, intervals=intervals)
        row: dict[str, object] = {"model": model, "n_pairs": len(own)}
        row["estimate"] = float(result.estimates["estimate"].values[own].mean())
        row["se"] = methods["se"].iloc[0] if len(methods) else np.nan
        lower, upper = (name for name in methods if str(name).endswith(("_lb", "_ub")))
        if intervals is None:
            row |= {"lb": np.nan, "ub": np.nan, "method": ""}
        for method, found in methods.iterrows():
            stem = f"{method}_" if intervals is not None else ""
            row |= {f"{stem}lb": found[lower], f"{stem}ub": found[upper]}
            row |= {"method": method} if intervals is None else {}
        # Notes that all its pairs share apply to their mean.
        common = [note for note in notes[own[0]] if all(note in notes[i] for i in own)]
        rows.append(row | {"note": joined_notes(*methods["note"], *common)})
    return pd.DataFrame(rows).sort_values("estimate", ascending=False, ignore_index=True)


def observer_differences(result: Result, most: int = 66) -> pd.DataFrame:
    """Compute differences between the means of observers over their entries."""
    pairs = result.pairs[["observer_a", "observer_b"]]
    first, second = pairs["observer_a"], pairs["observer_b"]
    counts = pd.concat([first, second]).value_counts(sort=False)
    alone = second[~second.isin(first)].unique()
    # Observers on one side of all pairs, or of several pairs; none if entries are of all readers.
    names = [str(name) for name in (alone if len(alone) > 1 else counts.index[counts > 1])]
    names = [] if (first == second).any() else names
    value = pd.Series(result.estimates["estimate"].values)
    means = {name: value[(pairs == name).any(axis=1)].mean() for name in names}
    # Observers without a defined entry come last.
    names.sort(key=lambda name: (np.isnan(means[name]), -means[name]))
    chosen = list(itertools.combinations(names, 2))
    if len(chosen) > most:
        chosen = [(names[0], name) for name in names[1:]]
    rows = []
    for one, other in chosen:
        both = {"observer": one}, {"observer": other}
        methods = difference(result, *both)
        found = difference(result, *both, intervals=["analytic"]).iloc[0]
        row = {"observer": one, "other": other, "difference": found["estimate"], "se": found["se"]}
        ends = [name for name in methods if str(name).endswith(("_lb", "_ub"))]
        row |= {f"{m}_{name}": methods.loc[m, name] for m in methods.index for name in ends}
        note = joined_notes(*methods["note"])
        rows.append(row | {"p_value": found["p_value"], "p_value_bh": np.nan, "note": note})
    frame = pd.DataFrame(rows)
    return frame.assign(p_value_bh=adjusted_p_values(frame["p_value"])) if rows else frame
