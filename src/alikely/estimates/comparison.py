"""Differences, means and model comparison, on draws and covariances that belong together.

References
----------
.. [K18] Kruschke (2018). Rejecting or accepting parameter values in Bayesian estimation.
   doi:10.1177/2515245918771304
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.intervals import CiKind, Intervals, bound_names, chosen_methods
from alikely.data.inclusion import refuse_inclusion
from alikely.errors.limits import UNBOUNDED
from alikely.errors.means import mean_draws
from alikely.estimates.chosen import of_design
from alikely.estimates.result import SCHOOLS, Result
from alikely.estimates.selection import Which, entries_of
from alikely.inference.influence import covariance_of
from alikely.inference.null import log_bayes_factor
from alikely.inference.predictive import elpd, elpd_mid_p
from alikely.inference.weighted import holding, student_deviate
from alikely.metrics import Metric, consistency
from alikely.metrics.metric import analytic_interval
from alikely.stats.intervals import describe_draws

__all__ = [
    "compare_models",
    "contrast",
    "correctness_cells",
    "difference",
    "mean",
]

# Measured: 95 % intervals of differences at accuracies of .95 cover about 90 % at 160 trials, and
# what the statement says from 640 trials on.
NEAR_CEILING, ENOUGH_TRIALS = 0.9, 640
# Likewise of labels, by joint errors of each pair: means hold from so many on, differences.
FOR_MEANS, FOR_DIFFERENCES = 10, 40
# Share of independent observers for whom copying may seem to predict better.
CHANCE = 0.05
# A standard error below this is one of rounding: the entries have the same answers.
ROUNDING = 1e-12
PRIOR_ALONE = "the prior alone: no trial tells them apart"
# Group of a result whose entries have limits, from which those of means are made.
POPULATIONS = "populations"
TOGETHER = (
    "posterior drawn pair by pair: no joint draws of entries that share trials; use "
    "sampler='exact' with the default prior"
)


class Scores(Protocol):
    """Scores that know how to take differences, such as `alikely.Benchmark`."""

    @property
    def models(self) -> list[str]:
        """Names of the machines."""

    def contrast(self, first: Any, second: Any = None, **options: Any) -> pd.DataFrame:
        """Difference of two scores, or the mean of some."""


def difference(
    result: Result | Scores,
    first: Which,
    second: Which,
    *,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Difference of two entries of a result, or of the unweighted means of two sets of entries.

    Parameters
    ----------
    result : Result or Benchmark
        An analysis that holds both. Of a benchmark `first` and `second` are names of systems; see
        `alikely.Benchmark.contrast` for other populations and levels.
    first, second : str, sequence of str, or mapping
        Labels of entries, or a mapping from ``dataset, condition, observer_a, observer_b`` to the
        label(s) wanted, such as ``{"observer_b": "resnet50"}``: all entries that match;
        ``observer`` is either of the two. The order within a pair matters only where it does for
        the metric: ``"a x b"`` finds what is stored as ``"b x a"``, and both observers of a
        mapping may be named in either order.
    rope : (float, float), optional
        Region of practical equivalence of the difference.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        As in the analysis if not given.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Rows of the table: the recommended method, every valid one, or those that are named.

    Returns
    -------
    pandas.DataFrame
        As from `contrast`, of ``first - second``.

    Raises
    ------
    ValueError
        If a selection matches nothing, or both match the same entries.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-model", rng=1)
    >>> one, other = sorted(set(result.pairs["observer_b"]))[:2]
    >>> table = al.difference(result, {"observer_b": one}, {"observer_b": other})
    >>> list(table.index)
    ['analytic', 'bootstrap', 'posterior']
    """
    if not isinstance(result, Result):
        more = {} if intervals is None else {"intervals": intervals}
        return _scores(result).contrast(
            first, second, rope=rope, ci_prob=ci_prob, ci_kind=ci_kind, **more
        )
    plus, apart = _mean_weights(result, first)
    minus, other = _mean_weights(result, second)
    if np.array_equal(plus, minus):
        raise ValueError(
            f"first and second select the same entries ({first!r} and {second!r}); their "
            "difference is 0"
        )
    found = contrast(
        result, plus - minus, rope=rope, ci_prob=ci_prob, ci_kind=ci_kind, intervals=intervals
    )
    return _told(found, apart or other)


def mean(
    result: Result | Scores,
    which: Which | None = None,
    *,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Unweighted mean of entries of a result, with the dependence between them.

    Parameters
    ----------
    result : Result or Benchmark
        An analysis; of a benchmark `which` are names of systems.
    which : str, sequence of str, or mapping, optional
        As in `difference`; all entries if not given, of a benchmark all machines.
    rope : (float, float), optional
        Region of practical equivalence of the mean.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        As in the analysis if not given.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Rows of the table: the recommended method, every valid one, or those that are named.

    Returns
    -------
    pandas.DataFrame
        As from `contrast`.

    Raises
    ------
    ValueError
        If the selection matches nothing.

    Notes
    -----
    The analytic interval of a mean is taken on the scale of the metric, as in `Result.summary`. The
    posterior of error similarity has limits of the mean itself, since those of pairs do not average
    (`alikely.errors.mean_draws`).

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> table = al.mean(result, {"condition": "noise"})
    >>> bool(table.loc["analytic", "estimate"] > 0)
    True
    """
    if not isinstance(result, Result):
        scores = _scores(result)
        machines = scores.models if which is None else which
        more = {} if intervals is None else {"intervals": intervals}
        return scores.contrast(machines, rope=rope, ci_prob=ci_prob, ci_kind=ci_kind, **more)
    weights, apart = _mean_weights(result, {} if which is None else which)
    found = contrast(
        result, weights, rope=rope, ci_prob=ci_prob, ci_kind=ci_kind, intervals=intervals
    )
    return _told(found, apart)


def contrast(
    result: Result,
    weights: ArrayLike,
    *,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    intervals: Intervals = None,
) -> pd.DataFrame:
    """Weighted sum of the entries of a result, by every school of inference.

    Parameters
    ----------
    result : Result
        An analysis.
    weights : array_like, shape (pair,)
        Weight of each entry; entries of weight 0 take no part.
    rope : (float, float), optional
        Region of practical equivalence; its posterior mass is given [K18]_.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        As in the analysis if not given.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Rows of the table: the recommended method, every valid one, or those that are named.

    Returns
    -------
    pandas.DataFrame
        Rows ``analytic`` (influence functions, with the covariance over shared trials),
        ``bootstrap`` (the same resampled trials for all entries), ``posterior`` (joint draws), as
        far as the result has them. Columns ``estimate`` (for the posterior its median), ``se``,
        the interval, ``p_value`` (analytic, two-sided, of 0), ``p_positive`` (share of draws
        above 0), ``rope_mass``, ``undefined_share`` and ``note``.

    Raises
    ------
    TypeError
        If `result` is no `Result`.
    ValueError
        If there is not one finite weight per entry, all are 0, or the region or the interval is
        not valid.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> weights = np.zeros(18)
    >>> weights[:2] = 1, -1
    >>> al.contrast(result, weights).shape
    (3, 9)
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

    estimate = float(w @ result.estimates["estimate"].values[chosen])
    cluster = result.data.attrs["cluster"] or None
    se = float(np.sqrt(covariance_of(part, result.metric, cluster, w[None])[0, 0]))
    # Of chosen images about the weighted value, with the degrees of freedom that the design leaves.
    centre, df, told = of_design(part, result.estimates.isel(pair=chosen), result.metric, w)
    limits = np.array(_analytic_bounds(result.metric, w, centre, se, ci_prob, df))
    lower, upper = holding(limits[0], limits[1], np.array(estimate))
    rows: dict[str, dict[str, object]] = {
        "analytic": {
            "estimate": estimate,
            "se": se,
            bounds[0]: lower,
            bounds[1]: upper,
            "p_value": 2 * stats.t.sf(abs(centre) / se, df) if se > 0 else np.nan,
            "note": _joined(
                told["analytic"], _undefined_note(result, chosen), result.repeats_note()
            ),
        }
    }
    for school in ("bootstrap", "posterior"):
        if school not in result.data.children:
            continue
        if school == "posterior" and not _draws_belong_together(result, part):
            rows[school] = {"note": TOGETHER}
            continue
        if school == "posterior" and POPULATIONS in result.data.children:
            draws, unbounded = _of_populations(result, chosen, w, (1 + ci_prob) / 2)
        else:
            draws, unbounded = result.draws(school)[:, chosen].astype(np.float64) @ w, ""
        center = None if school == "posterior" else estimate
        rows[school] = describe_draws(draws, ci_prob, ci_kind, rope, center)
        known = str(rows[school].get("note", ""))
        if school == "posterior":
            known = (
                result.cluster_note()
                or (PRIOR_ALONE if se < ROUNDING else "")
                or _ceiling_note(part)
                or _few_note(part, w, result.metric)
                or unbounded
                or _scale_note(result, chosen)
            )
        rows[school]["note"] = _joined(told[school], result.repeats_note(), known)
    columns = ["estimate", "se", *bounds, "p_value", "p_positive", "rope_mass"]
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame = frame.reindex(columns=[*columns, "undefined_share", "note"])
    methods = chosen_methods("all" if intervals is None else intervals, SCHOOLS, [*rows], "")
    frame = frame.loc[[name for name in methods if name in rows]]
    return frame.assign(note=frame["note"].fillna(""))


def compare_models(result: Result) -> pd.DataFrame:
    """Copy model against independent observers, by leave-one-trial-out cross-validation.

    The difference of the expected log predictive densities [VGG17]_ is judged by how often
    independent observers with the same numbers of right answers reach it: exactly, since the
    difference hangs on their overlap alone. Two of its standard errors are no such measure.

    Parameters
    ----------
    result : Result
        An analysis; its count tables are used.

    Returns
    -------
    pandas.DataFrame
        One row per entry: its labels, ``elpd_copying`` and ``elpd_independence`` (sums of log
        predictive densities over the trials, in nats), ``elpd_difference`` (positive: copying
        predicts better), its standard error ``se_difference``; ``mid_p`` (see
        `alikely.inference.elpd_mid_p`); ``favours``: ``"copying"`` or, of fewer common errors than
        chance has, ``"inverting"`` where the difference is positive and ``mid_p`` at most .05,
        else ``"neither"``; ``log_bf10``, of association against independence. Where an observer
        is always right or always wrong difference and ``mid_p`` are NaN, ``favours`` is empty,
        and ``note`` says why.

    See Also
    --------
    alikely.estimates.independent_observers : the null model as a DataTree, for `arviz.compare`.

    Notes
    -----
    How often "copying" is found, by exact enumeration, by two standard errors of the difference
    (in either direction) and by this rule, of two observers of the same accuracy:

    ====== ======== ============= ================= =========
    trials accuracy copying       2 standard errors this rule
    ====== ======== ============= ================= =========
    40     .99      0 (false)     .448              .004
    160    .90      0 (false)     .177              .018
    1,280  .97      0 (false)     .315              .027
    160    .75      .2 (power)    .021              .676
    ====== ======== ============= ================= =========

    Near the ceiling often no error is a common one. Then no trial is left out that copying
    predicts badly, each adds next to nothing to the difference, and nothing to its standard error.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> al.compare_models(result)["favours"].value_counts().to_dict()
    {'copying': 13, 'neither': 5}
    """
    cells = correctness_cells(result)
    copying, independence, se = elpd(cells)
    p = elpd_mid_p(cells)
    open_ = np.isfinite(p)
    total = np.where(open_, copying - independence, np.nan)
    n11, n10, n01, n00 = cells.T.astype(np.float64)
    sign = np.sign(n11 * n00 - n10 * n01)
    found = np.array(["inverting", "neither", "copying"])[sign.astype(int) + 1]
    found = np.where((total > 0) & (p <= CHANCE), found, "neither")
    return result.pairs.assign(
        elpd_copying=copying,
        elpd_independence=independence,
        elpd_difference=total,
        se_difference=np.where(open_, se, np.nan),
        mid_p=p,
        favours=np.where(open_, found, ""),
        log_bf10=log_bayes_factor(cells),
        note=[_one_overlap(table) for table in cells],
    )


def _one_overlap(cells: NDArray[np.int64]) -> str:
    """Why the overlap of right answers tells nothing; empty where it does."""
    n11, n10, n01, n00 = cells
    if not cells.any():
        return "no common trials"
    for name, right, wrong in (("a", n11 + n10, n01 + n00), ("b", n11 + n01, n10 + n00)):
        if not (right and wrong):
            which = "right" if right else "wrong"
            return f"observer_{name} always {which}: copying cannot be told from independence"
    return ""


def _scores(result: Any) -> Scores:
    if not hasattr(result, "contrast"):
        raise TypeError(
            f"expected a Result or a Benchmark, got {type(result).__name__}; make one with "
            "alikely.compare or alikely.benchmark_scores"
        )
    return result


def correctness_cells(result: Result) -> NDArray[np.int64]:
    """Count tables of a result; refuse those of other metrics (`ValueError`)."""
    of_type(result, Result, "make one with al.error_consistency")
    if "cells" not in result.table:
        raise ValueError(
            f"this compares models of right and wrong answers, and a result of "
            f"{result.metric.name} has none: it is one of {result.metric.counts}; use a result of "
            "error_consistency"
        )
    refuse_inclusion(result.table, "comparing models of counts")
    if result.table.attrs.get("repeats") == "crossed":
        raise ValueError(
            "items came back, and this takes every trial for independent; ask for that with "
            "cluster='trial', or choose one with trials.select(repeat=...)"
        )
    return np.asarray(result.table["cells"].values)


def _mean_weights(result: Result, which: Which) -> tuple[NDArray[np.float64], str]:
    """Weights of a mean over the entries that have common trials, and how many have none."""
    weights = np.zeros(result.table.sizes["pair"])
    chosen = entries_of(result, which)
    met = ~result.apart()[chosen]
    # Of none at all the mean is undefined, for the reason that each entry has.
    used = chosen[met] if met.any() else chosen
    weights[used] = 1 / len(used)
    lost = len(chosen) - len(used)
    return weights, f"{lost} of {len(chosen)} entries have no common trial" if lost else ""


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _told(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    if not text:
        return frame
    return frame.assign(note=[_joined(text, note) for note in frame["note"]])


def _analytic_bounds(
    metric: Metric,
    weights: NDArray[np.float64],
    estimate: float,
    se: float,
    ci_prob: float,
    df: float,
) -> tuple[float, float]:
    """Interval on the metric's own scale for a mean of entries; plain for a difference.

    A mean lies in the range of the metric, as each entry does: that of one entry is the interval of
    the summary. A difference does not.
    """
    deviate = float(student_deviate(np.array(df), ci_prob))
    if (weights > 0).all() and np.isclose(weights.sum(), 1):
        lower, upper = analytic_interval(metric, np.array(estimate), np.array(se), deviate)
        return float(lower), float(upper)
    return estimate - deviate * se, estimate + deviate * se


def _draws_belong_together(result: Result, part: xr.Dataset) -> bool:
    if int(result.data["posterior"].attrs["joint"]):
        return True
    groups = part["pair_group"].values
    return len(np.unique(groups)) == len(groups)


def _undefined_note(result: Result, chosen: NDArray[np.intp]) -> str:
    reasons = result.estimates["undefined"].values[chosen]
    return next((f"an entry is undefined: {reason}" for reason in reasons if reason), "")


def _scale_note(result: Result, chosen: NDArray[np.intp]) -> str:
    """Whether entries that are freed of noise on different scales are put together."""
    if "scale" not in result.estimates:
        return ""
    scales = sorted(set(result.estimates["scale"].values[chosen].tolist()))
    return f"entries on different scales: {', '.join(scales)}" if len(scales) > 1 else ""


def _ceiling_note(part: xr.Dataset) -> str:
    if "cells" not in part:
        return ""
    cells = part["cells"].values
    accuracy = np.maximum(*consistency.accuracies(cells))
    near = (accuracy > NEAR_CEILING) & (cells.sum(axis=1) < ENOUGH_TRIALS)
    if part.sizes["pair"] > 1 and near.any():
        return "near the ceiling with few trials: intervals may be too narrow"
    return ""


def _of_populations(
    result: Result, chosen: NDArray[np.intp], weights: Floats, sure: float
) -> tuple[Floats, str]:
    """Draws of a weighted sum whose entries have limits rather than draws of their own.

    Entries of positive weight have a mean with limits, those of negative weight another; a single
    entry has its draws. Also a note, where an interval is not bounded.
    """
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
        found = mean_draws(here, functools.partial(np.dot, b=share))
        draws += side * part.sum() * found.values
        if found.bounded < sure:
            note = UNBOUNDED
    return draws, note


def _few_note(part: xr.Dataset, weights: NDArray[np.float64], metric: Metric) -> str:
    if metric.counts != "labels" or len(weights) == 1:
        return ""
    enough = FOR_MEANS if (weights > 0).all() else FOR_DIFFERENCES
    few = part["cells"].values[:, 3].min() < enough
    return "few joint errors in a pair: intervals may be too narrow" if few else ""
