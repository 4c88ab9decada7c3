"""Weighted sums of the entries of a result: means, differences, contrasts.

References
----------
.. [K18] Kruschke (2018). Rejecting or accepting parameter values in Bayesian estimation.
   doi:10.1177/2515245918771304
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.frames import with_notes
from alikely._base.intervals import CiKind, Intervals, bound_names, chosen_methods
from alikely._base.notes import note, told
from alikely.errors.limits import UNBOUNDED, mean_draws
from alikely.estimates.remarks import few_clusters, of_design, several_people
from alikely.estimates.result import Result
from alikely.estimates.sentences import METHODS, chosen_interval
from alikely.inference.influence import (
    cells_of_clusters,
    covariance_of,
    influence_of,
    most_freedom,
    of_items,
    of_sum,
)
from alikely.inference.intervals import analytic_interval, describe_draws, within
from alikely.inference.pooled import Pooled, left_out, pooled_sum
from alikely.inference.weighted import freedom_of_sums, holding, student_deviate
from alikely.metrics import Metric

__all__ = ["contrast", "is_pooled", "joined", "sum_interval"]

# Of labels, by joint errors of each pair: means hold from so many on, differences.
FOR_MEANS, FOR_DIFFERENCES = 10, 40
# A standard error below this is one of rounding: the entries have the same answers.
ROUNDING = 1e-12
PRIOR_ALONE = note("prior-alone")
# Group of a result whose entries have limits, from which those of means are made.
POPULATIONS = "populations"
COPYING = note("prior-copying")
TOGETHER = note("pair-by-pair")
# Measured: the bootstrap covers less than .92 where the prior would have a larger part of the
# entries than this (fewer than 17 disagreements expected by chance in each).
LARGEST_PART = 1 / 18


def contrast(
    result: Result,
    weights: ArrayLike,
    *,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Compute a weighted sum of the entries of a result, with its interval.

    Parameters
    ----------
    result : Result
        An analysis.
    weights : array_like, shape (pair,)
        Weight of each entry; entries of weight 0 take no part.
    rope : (float, float), optional
        Region of practical equivalence; its posterior mass is given [K18]_.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        Default: as in the analysis.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Rows of the table: the recommended method, every valid one, or those that are named.

    Returns
    -------
    pandas.DataFrame
        A row for each method: ``analytic`` (influence functions, with the covariance over shared
        trials), ``bootstrap`` (the same resampled trials for all entries), ``posterior`` (joint
        draws). The recommended one is the analytic one for several tables of correctness, otherwise
        that of `Result.summary`. With `rope` the posterior is included. Columns

        - ``estimate``, for the posterior its median; ``se``; the interval
        - ``p_value``, analytic, two-sided, of 0
        - ``p_positive``, share of draws above 0; ``rope_mass``; ``undefined_share`` of draws
        - with ``"all"``, ``center`` of the analytic interval and its degrees of freedom ``df``
        - ``note``

    Raises
    ------
    TypeError
        If `result` is no `Result`.
    ValueError
        If there is not one finite weight per entry, all are 0, or the region, the interval or a
        method is not valid.

    Notes
    -----
    Near the ceiling an estimate of few errors is biased and its standard error too small. The
    analytic interval of several tables of correctness is centered on a sum with pseudo-trials in
    each entry. These have the accuracies of the entry and the error consistency of all entries with
    weights of the same sign. The interval includes the sum of the estimates. If entries have few
    errors, the posterior is biased, because its prior expects independence in each entry, and the
    bootstrap is too narrow. These rows are then omitted unless they are named in `intervals`.

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
    if not isinstance(result, Result):
        raise TypeError(
            f"expected a Result, got {type(result).__name__}; for a Benchmark use its own "
            "contrast, with names of systems"
        )
    if result.data.attrs.get("pairing") == "lost":
        raise ValueError(
            "these are confusion matrices of systems that answered the same items, which do not "
            "tell how sure a difference or mean is; compare trials"
        )
    ci_prob, ci_kind = result.interval_options(ci_prob, ci_kind)
    table = result.table
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (table.sizes["pair"],) or not np.isfinite(w).all() or not w.any():
        raise ValueError(
            f"weights must be {table.sizes['pair']} finite numbers, one per entry and not all 0; "
            f"got shape {w.shape}"
        )
    if rope is not None and not (len(rope) == 2 and rope[0] < rope[1]):
        raise ValueError(f"rope must be (lower, upper) with lower below upper, got {rope!r}")
    chosen = np.flatnonzero(w)
    part, w = table.isel(pair=chosen), w[chosen]
    bounds = bound_names("", ci_kind, ci_prob)

    found = _analytic(result, part, chosen, w, ci_prob)
    _, _, of_plan = of_design(part, result.estimates.isel(pair=chosen), result.metric, w)
    estimate = float(w @ result.estimates["estimate"].values[chosen])
    remarks = [
        of_plan["analytic"],
        _few_clusters(result, part, w),
        _undefined_note(result, chosen),
        result.repeats_note(),
    ]
    if found.disagreements is not None and found.sampled < ROUNDING:
        remarks.append(PRIOR_ALONE)
    rows: dict[str, dict[str, object]] = {
        "analytic": {
            "estimate": estimate,
            "se": found.se,
            "center": found.center,
            "df": found.df,
            bounds[0]: found.lower,
            bounds[1]: found.upper,
            "p_value": found.p_value if np.isfinite(estimate) else np.nan,
            "note": joined(*remarks),
        }
    }
    wrong = _wrong(result, part, w, found)
    # Of chosen images the posterior of several people may be too narrow.
    several = "inclusion" in part and bool(several_people(part))
    methods = _methods(result, intervals, found, wrong, several)
    if intervals is None and rope is not None and "posterior" in result.data.children:
        # The region is judged by posterior mass.
        methods = tuple(dict.fromkeys((*methods, "posterior")))
    for method in ("bootstrap", "posterior"):
        if method in methods and wrong.get(method) == TOGETHER:
            rows[method] = {"note": ""}
        elif method in methods:
            row, note = _of_draws(result, method, chosen, w, ci_prob, ci_kind, rope)
            if method == "posterior":
                note = result.cluster_note() or (PRIOR_ALONE if found.sampled < ROUNDING else note)
            rows[method] = row
            rows[method]["note"] = joined(of_plan[method], result.repeats_note(), note)
    for method, reason in wrong.items():
        if method in rows:
            rows[method]["note"] = joined(reason, str(rows[method]["note"]))
    columns = ["estimate", "se", *bounds, "p_value", "p_positive", "rope_mass"]
    more = ["center", "df"] if intervals == "all" else []
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame = frame.reindex(columns=[*columns, "undefined_share", *more, "note"])
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
    """Row of a method by its draws, and what there is to say of them."""
    if method == "posterior" and POPULATIONS in result.data.children:
        draws, note = _of_populations(result, chosen, weights, (1 + ci_prob) / 2)
    else:
        draws, note = result.draws(method)[:, chosen].astype(np.float64) @ weights, ""
    estimate = None
    if method == "bootstrap":
        estimate = float(weights @ result.estimates["estimate"].values[chosen])
    row = describe_draws(draws, ci_prob, ci_kind, rope, estimate)
    if method == "posterior":
        part = result.table.isel(pair=chosen)
        few = _few_note(part, weights, result.metric)
        note = few or note or _scale_note(result, chosen)
    return row, str(row.get("note", "")) or note


class _Analytic(NamedTuple):
    """The analytic row: Student's quantiles about the center."""

    center: float
    se: float
    df: float
    lower: float
    upper: float
    # Standard error by trials alone, and disagreements expected by chance in pooled entries.
    sampled: float
    disagreements: Floats | None = None

    @property
    def p_value(self) -> float:
        """Two-sided, of 0."""
        return float(2 * stats.t.sf(abs(self.center) / self.se, self.df)) if self.se > 0 else np.nan


def _analytic(
    result: Result, part: xr.Dataset, chosen: NDArray[np.intp], w: Floats, ci_prob: float
) -> _Analytic:
    metric, cluster = result.metric, result.data.attrs["cluster"] or None
    estimates = result.estimates.isel(pair=chosen)
    value = float(w @ estimates["estimate"].values)
    if is_pooled(part, metric):
        sums = pooled_sum(
            metric, part["cells"].values.astype(np.float64), w, part["pair_group"].values
        )
        if cluster is None or not of_items(part, cluster):
            moved = influence_of(part, sums.slopes, cluster)
            return sum_interval(metric, w, value, sums, moved, ci_prob)
        cells, squares = cells_of_clusters(part, sums.slopes, cluster)
        moved = left_out(metric, cells.sum(axis=2), cells, w, part["pair_group"].values)
        return sum_interval(metric, w, value, sums, moved, ci_prob, squares)
    if cluster is not None and of_items(part, cluster):
        clusters = of_sum(part, metric, cluster, w)
        center, square, df = value, clusters.variance, clusters.df
    else:
        square = covariance_of(part, metric, cluster, w[None])[0, 0]
        # Of chosen images about the weighted value, with the freedom that the design leaves.
        center, df, _ = of_design(part, estimates, metric, w)
    se = float(np.sqrt(square))
    lower, upper = _bounds(metric, w, center, se, df, ci_prob)
    lower, upper = holding(lower, upper, np.array(value))
    return _Analytic(center, se, df, float(lower), float(upper), se)


def _few_clusters(result: Result, part: xr.Dataset, w: Floats) -> str:
    """Note on a sum over too few clusters of items; empty of others."""
    cluster = result.data.attrs["cluster"]
    if not cluster or not of_items(part, cluster):
        return ""
    found = of_sum(part, result.metric, cluster, w)
    return str(few_clusters(cluster, np.array([found.number]))[0])


def is_pooled(part: xr.Dataset, metric: Metric) -> bool:
    """Whether a sum is of several tables of correctness, of images that no plan chose."""
    several = part.sizes["pair"] > 1
    return several and metric.counts == "correctness" and "inclusion" not in part


def sum_interval(
    metric: Metric,
    weights: Floats,
    value: float,
    sums: Pooled,
    moved: Floats,
    ci_prob: float,
    squares: Floats | None = None,
) -> _Analytic:
    """Interval of a sum over tables of correctness; `squares_by_cluster` for clusters of items."""
    n, square = len(moved), moved**2
    sampled = float(square.sum())
    se = float(np.sqrt(n / max(n - 1, 1) * sampled + sums.added))
    total, fourth = np.array(sampled + sums.added), np.array((square**2).sum())
    df = float(freedom_of_sums(total, np.array(sampled), fourth, n))
    df = df if squares is None else min(df, float(most_freedom(squares)))
    lower, upper = _bounds(metric, weights, sums.value, se, df, ci_prob)
    lower, upper = np.fmin(lower, value), np.fmax(upper, value)
    return _Analytic(
        sums.value, se, df, float(lower), float(upper), float(np.sqrt(sampled)), sums.disagreements
    )


def _bounds(
    metric: Metric, weights: Floats, center: float, se: float, df: float, ci_prob: float
) -> Floats:
    """Interval on the metric's own scale for a mean of entries, plain for a difference."""
    deviate = float(student_deviate(np.array(df), ci_prob))
    if (weights > 0).all() and np.isclose(weights.sum(), 1):
        return analytic_interval(metric, np.array(center), np.array(se), deviate)
    return within(metric, center + np.array([-1, 1]) * deviate * se, weights)


def _wrong(
    result: Result, entries: xr.Dataset, weights: Floats, found: _Analytic
) -> dict[str, str]:
    """Methods that are known to be wrong for a sum, and why."""
    wrong = dict(result.metric.unreliable)
    if "posterior" in result.data.children and not _draws_belong_together(result, entries):
        wrong["posterior"] = TOGETHER
    if found.disagreements is None or np.isnan(found.disagreements).any():
        return wrong
    part, n = _part_of(1.0, found.disagreements, weights), len(weights)
    few = {"n": round(max(1 / part - 1, 0)), "entries": n}
    if part > LARGEST_PART:
        wrong["bootstrap"] = note("bootstrap-sums", **few)
    if "posterior" not in result.data.children:
        return wrong
    if "copy_probability" in result.data.attrs["prior"]:
        wrong["posterior"] = COPYING
    # As large as its standard error, a bias leaves .83 of intervals of 95 %.
    elif _part_of(result.prior.disagreements, found.disagreements, weights) > max(
        LARGEST_PART, found.se
    ):
        wrong["posterior"] = note("prior-biases", **few)
    return wrong


def _part_of(added: float, disagreements: Floats, weights: Floats) -> float:
    """Mean part of added disagreements in the entries of the sign where it is larger."""
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
    # Draws of a sum are needed, and limits without draws have none.
    first: str
    pooled = found.disagreements is not None
    first = "analytic" if pooled or several else chosen_interval(result, None, "hdi")
    if first not in valid:
        first = valid[-1] if valid else ""
    shown = chosen_methods(intervals, METHODS, valid, first)
    if intervals is None and "posterior" in valid and result.metric.posterior_label != "posterior":
        # Of another quantity, such as a correlation corrected for noise.
        shown = tuple(dict.fromkeys((*shown, "posterior")))
    return tuple(name for name in shown if name in there)


def joined(*notes: str) -> str:
    """Join notes, those that are empty left out."""
    return "; ".join(filter(None, notes))


def _draws_belong_together(result: Result, part: xr.Dataset) -> bool:
    if int(result.data["posterior"].attrs["joint"]):
        return True
    groups = part["pair_group"].values
    return len(np.unique(groups)) == len(groups)


def _undefined_note(result: Result, chosen: NDArray[np.intp]) -> str:
    reasons = result.estimates["undefined"].values[chosen]
    return next((note("undefined-entry", why=str(why)) for why in reasons if why), "")


def _scale_note(result: Result, chosen: NDArray[np.intp]) -> str:
    """Whether entries that are freed of noise on different scales are put together."""
    if "scale" not in result.estimates:
        return ""
    scales = sorted(set(result.estimates["scale"].values[chosen].tolist()))
    return note("scales", scales=", ".join(scales)) if len(scales) > 1 else ""


def _of_populations(
    result: Result, chosen: NDArray[np.intp], weights: Floats, sure: float
) -> tuple[Floats, str]:
    """Draws of a weighted sum whose entries have limits rather than draws of their own."""
    one_by_one = result.draws("posterior")[:, chosen].astype(np.float64)
    populations = result.data[POPULATIONS].to_dataset().isel(pair=chosen)
    draws, note = np.zeros(len(one_by_one)), ""
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
            note = UNBOUNDED
    return draws, note


def _few_note(part: xr.Dataset, weights: NDArray[np.float64], metric: Metric) -> str:
    if metric.counts != "labels" or len(weights) == 1:
        return ""
    enough = FOR_MEANS if (weights > 0).all() else FOR_DIFFERENCES
    few = part["cells"].values[:, 3].min() < enough
    return note("joint-errors-of-means", least=enough) if few else ""
