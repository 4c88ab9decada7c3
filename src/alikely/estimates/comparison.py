"""Differences, means and model comparison, on draws and covariances that belong together.

References
----------
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.checks import of_type
from alikely._base.intervals import CiKind, Intervals
from alikely.data.inclusion import refuse_inclusion
from alikely.estimates.result import Result
from alikely.estimates.selection import Which, entries_of
from alikely.estimates.weighted_sums import contrast, joined
from alikely.inference.null import bayes_factor_prior, log_bayes_factor
from alikely.inference.predictive import elpd, elpd_mid_p

__all__ = [
    "compare_models",
    "correctness_cells",
    "difference",
    "mean",
]

# Share of independent observers for whom copying may seem to predict better.
CHANCE = 0.05


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
    """Compute the difference of two entries of a result, or of the means of two sets of entries.

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
    ['analytic']
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
    """Compute the unweighted mean of entries of a result, with the dependence between them.

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
    (`alikely.errors.limits.mean_draws`).

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


def compare_models(result: Result) -> pd.DataFrame:
    """Copy model against independent observers, by leave-one-trial-out cross-validation.

    The difference of the expected log predictive densities [VGG17]_ is judged by how often
    independent observers with the same numbers of right answers reach it: exactly, since the
    difference hangs on their overlap alone. Two of its standard errors are no such measure.

    Parameters
    ----------
    result : Result
        Result whose count tables and prior are used. The prior must be a Dirichlet distribution;
        its margins are the prior of independent observers.

    Returns
    -------
    pandas.DataFrame
        One row per entry: its labels, ``elpd_copying`` and ``elpd_independence`` (sums of log
        predictive densities over the trials, in nats), ``elpd_difference`` (positive: copying
        predicts better), its standard error ``se_difference``; ``mid_p`` (see
        `elpd_mid_p`); ``favours``: ``"copying"`` or, of fewer common errors than
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
    prior = result.prior
    copying, independence, se = elpd(cells, prior)
    p = elpd_mid_p(cells, prior)
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
        log_bf10=log_bayes_factor(cells, prior=bayes_factor_prior(prior)),
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


def _told(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    if not text:
        return frame
    return frame.assign(note=[joined(text, note) for note in frame["note"]])
