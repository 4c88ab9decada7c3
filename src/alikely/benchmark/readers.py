"""Reader studies: agreement of readers with an AI or with one another, by modality.

References
----------
.. [H07] Hillis (2007). A comparison of denominator degrees of freedom methods for multiple observer
   ROC analysis. doi:10.1002/sim.2532
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind, of_type
from alikely._base.frames import Columns, with_columns
from alikely._base.intervals import Intervals, bound_columns, check_interval, chosen_methods
from alikely._base.names import counted, listed, nearest
from alikely._base.notes import note, told
from alikely._base.settings import resolve
from alikely.benchmark.decomposition import degrees_of_images, pair_contrasts, student_bounds
from alikely.benchmark.layout import attributes, metric_of_trials, refuse_repeats_for
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.inclusion import refuse_inclusion
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.estimates.notes import few_clusters, require_clusters
from alikely.estimates.result import Result
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import cluster_influence, freedom_of_clusters, most_freedom
from alikely.metrics import Metric

# With fewer readers, coverage is below nominal if a minority of readers differs strongly.
FEWEST_READERS = 6
# With more readers, coverage is at least 0.93, also if they form two groups that differ strongly.
MOST_READERS = 15
# Ratio of the variance over readers to that of single ratings above which it counts as strong.
STRONG = 3.0


def reader_study(
    trials: Trials,
    ai: str | None = None,
    metric: str | Metric = "error_consistency",
    *,
    readers: str = "human",
    no_response: Literal["error", "drop"] = "drop",
    cluster: str | None = None,
    ci_prob: float | None = None,
) -> Result:
    """Estimate the mean agreement of readers with an AI or with one another in each modality.

    Readers and cases are both treated as random, so intervals generalize to new readers and new
    cases. Conditions are the modalities (such as two imaging methods) to be compared. The same
    label identifies the same case or reader in all modalities. The design can be fully crossed (all
    readers read all cases in all modalities) or split-plot (each reader or case occurs in only one
    modality).

    Parameters
    ----------
    trials : Trials
        Responses from a single data set.
    ai : str, optional
        Name of the observer with which readers are compared. By default, readers are compared with
        one another.
    metric : str or Metric
        A metric computed from trials, as in `alikely.compare`. Without `ai`, the metric must be
        symmetric.
    readers : str
        Observer kind to treat as readers.
    no_response : {"error", "drop"}
        Whether to count missing ratings as errors or to exclude them. The default is ``"drop"``, as
        in `alikely.agreement`, because a case that was not read provides no information about the
        reader.
    cluster : str, optional
        Column that defines clusters of dependent cases, such as ``"patient"`` for lesions. If you
        pass `cluster`, the sampling units are clusters instead of cases.
    ci_prob : float
        Probability level of the intervals, in (0, 1).

    Returns
    -------
    Result
        ``summary()`` has one row per modality, with columns

        - ``estimate``: mean agreement of readers with the AI, or mean agreement over pairs of
          readers
        - ``se``: standard error for new readers and new cases
        - ``se_readers``, ``se_cases``: standard errors for new readers only and for new cases only
        - ``df``, ``df_cases``: degrees of freedom of ``se`` and ``se_cases``
        - limits of the Student t interval
        - ``var_reader``, ``var_case``, ``var_residual``: variance components for a single reader,
          case and rating
        - ``n_readers``, ``n_cases``, ``note``

        `alikely.benchmark.differences` returns the differences between modalities, with
        ``p_value``. For each reader, ``estimates`` has ``reader_mean`` (agreement with the AI or,
        without `ai`, mean agreement with other readers) and ``reader_cases`` (number of cases).

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If there are several data sets, or no observer is named `ai`.
    ValueError
        If there are fewer than two readers (three without `ai`).
    ValueError
        If the metric is computed from margins, or if it is directed and `ai` is None.

    Notes
    -----
    The variance accounts for clustering by readers and by cases [CGM11]_:
    ``V_readers + V_cases - V_both``, where ``V_both`` is the variance assuming independent ratings.
    If ``V_readers + V_cases - V_both`` is below ``V_cases`` (the variance for fixed readers),
    ``V_cases`` is used instead.
    ``V_readers`` is the jackknife variance over readers [ES81]_. For a mean
    over pairs, each jackknife step leaves out all pairs
    with a given reader. Satterthwaite degrees of freedom [H07]_ combine ``R - 1`` for R readers
    with the degrees of freedom for cases.

    Examples
    --------
    >>> import alikely as al
    >>> trials, truth = al.simulate.reader_study(6, 150, rng=1)
    >>> found = al.benchmark.reader_study(trials, "AI")
    >>> apart = al.benchmark.differences(found)
    >>> apart[["modality", "modality_b", "n_readers", "n_cases"]].values.tolist()
    [['A', 'B', 6, 150]]
    >>> among = al.benchmark.reader_study(trials).summary()
    >>> bool(among["estimate"][0] > among["estimate"][1])
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    of_type(trials, Trials, "make them with Trials.from_table")
    check_interval(ci_prob, "eti")
    estimand = metric_of_trials(metric)
    refuse_repeats_for(trials, estimand)
    if ai is None and not estimand.symmetric:
        raise ValueError(
            f"{estimand.name} is directed and needs a reference, but no ai was given; name an ai, "
            "or use a symmetric metric, such as error_consistency"
        )
    pairs = _pairs(trials, ai, readers)
    table = joint_correctness(
        trials, pairs, "condition", no_response, labels=estimand.counts != "correctness",
        repeats="crossed",
    )  # fmt: skip
    refuse_inclusion(table, "a reader study")
    if cluster is not None:
        require_clusters(table, cluster)
    means = _means(table, estimand, cluster, ai)
    missing = missing_note_of(trials.data, no_response, observers=list(itertools.chain(*pairs)))
    tree = xr.DataTree.from_dict({"estimates": means, DATA_SUMMARY: data_summary(trials.data)})
    tree.attrs = attributes("reader", estimand, no_response, cluster)
    tree.attrs |= {"ci_prob": ci_prob, "missing_note": missing}
    return Result(tree)


# Functions that every kind of result has


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    return {"estimates": {"estimate": ("modality",), "reader_mean": ("modality", "reader")}}


def observers(result: Result) -> list[str]:
    """Names of the readers."""
    return [str(name) for name in result.estimates["reader"].values]


def summary(
    result: Result, *, ci_prob: float, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """Tabulate the mean of each modality."""
    names = result.estimates["modality"].values
    frame = _table(result, np.eye(len(names)), ci_prob, intervals, modality=names)
    return with_columns(frame, list(frame), columns)


def differences(
    result: Result, *, ci_prob: float, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """Tabulate the differences between all pairs of modalities."""
    names = result.estimates["modality"].values
    one, other = names[np.stack(np.triu_indices(len(names), 1))]
    labels = {"modality": one, "modality_b": other}
    frame = _table(result, pair_contrasts(len(names)), ci_prob, intervals, **labels)
    t = frame["estimate"] / frame["se"].where(frame["se"] > 0)
    frame["p_value"] = 2 * special.stdtr(frame["df"], -t.abs())
    return with_columns(frame, list(frame), columns)


def method(_: Result, interval: str | None = None) -> str:
    """Choose the method whose interval a page shows."""
    return interval or "analytic"


def page_columns(_: Result, __: pd.DataFrame, bounds: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a page shows."""
    return ["modality", "estimate", *bounds, "se", "n_readers", "n_cases"]


def describe(result: Result) -> str:
    """Describe the size of the result in one line."""
    sizes = result.estimates.sizes
    modalities = counted(sizes["modality"], "modality", "modalities")
    return f"{modalities}, {counted(sizes['reader'], 'reader')}, {counted(sizes['case'], 'case')}"


def _pairs(trials: Trials, ai: str | None, readers: str) -> list[tuple[str, str]]:
    datasets = list(dict.fromkeys(trials.data["dataset"].values.tolist()))
    if len(datasets) > 1:
        raise ValueError(
            f"a reader study needs one data set, got {listed(datasets)}; choose one with "
            "trials.select(dataset=...); modalities are conditions"
        )
    names = trials.observers
    if ai is not None and ai not in names:
        raise ValueError(
            f"ai must be an observer ({listed(names)}), got {ai!r}{nearest(ai, names)}"
        )
    kinds = trials.data["kind"].values
    known_kind("readers", readers, kinds)
    chosen = [n for n, kind in zip(names, kinds, strict=True) if kind == readers and n != ai]
    fewest = 3 if ai is None else 2
    if len(chosen) < fewest:
        alongside = "" if ai is None else f" other than {ai!r}"
        raise ValueError(
            f"a reader study needs at least {fewest} readers of kind {readers!r}{alongside}, got "
            f"{len(chosen)}; kinds are {listed(sorted(set(kinds.tolist())))}; name another kind "
            "with readers="
        )
    return list(itertools.combinations(chosen, 2)) if ai is None else [(n, ai) for n in chosen]


def _means(table: xr.Dataset, metric: Metric, cluster: str | None, ai: str | None) -> xr.Dataset:
    """Compute the mean of each modality over readers with the AI, or over pairs of readers.

    Variables are the influence of each reader (``of_reader``), case (``of_case``), unit (a case or
    a cluster of cases, ``of_unit``) and unit of a reader (``readings``), and means and cases of
    readers.
    """
    cases = cluster_numbers(table, "item")
    units = cases if cluster is None else cluster_numbers(table, cluster)
    n_cases, n_units = (int(each.max(initial=-1)) + 1 for each in (cases, units))
    first, second = table["first"].values, table["second"].values
    readers = np.unique(first if ai else [first, second])
    member = (readers[:, None] == first) | (readers[:, None] == second)
    parts = []
    for block in blocks(table):
        ready, case, unit = evaluator(block, metric), cases[block.trials], units[block.trials]
        value = ready.values(np.ones((1, len(case))))[0]
        known = np.isfinite(value)
        own = member[:, block.rows][:, known]
        there = own.any(axis=1)
        left, n = ~own[there], int(there.sum())
        name = str(table["condition"].values[block.rows.start])
        if n < 2 or not left.any(axis=1).all():
            raise ValueError(
                f"modality {name!r} has fewer than {2 if ai else 3} readers with a defined "
                f"agreement ({(~known).sum()} pairs are undefined); leave it out with trials.select"
            )
        shift = np.zeros(own.shape)
        shift[there] = 1 / own.shape[1] - left / left.sum(axis=1, keepdims=True)
        shift *= np.sqrt((n - 1) / n)
        of_case = np.zeros((len(value), n_cases))
        of_case[:, case] = ready.slopes()
        of_unit, squares = of_case, np.zeros(n_units)
        if cluster is not None:
            of_unit = np.zeros((len(value), n_units))
            of_unit[:, np.unique(unit)] = cluster_influence(ready, unit)[0]
            # Contribution of each cluster to the variance if its cases were independent.
            squares += np.bincount(unit, of_case[known][:, case].mean(axis=0) ** 2, n_units)
        value, of_case, of_unit = value[known], of_case[known], of_unit[known]
        shown = own.astype(np.int64) @ block.shares().any(axis=1)[known]
        of_reader = np.divide(
            own @ value, own.sum(axis=1), out=np.full(len(own), np.nan), where=there
        )
        found = {
            "estimate": ((), value.mean()),
            "n_readers": ((), n),
            "n_undefined": ((), int((~known).sum())),
            "reader_mean": ("reader", of_reader),
            "reader_cases": ("reader", (shown > 0).sum(axis=1)),
            "of_reader": ("reader", shift @ (value - value.mean())),
            "of_case": ("case", of_case.mean(axis=0)),
            "used_case": ("case", of_case.any(axis=0)),
            "of_unit": ("unit", of_unit.mean(axis=0)),
            "used_unit": ("unit", of_unit.any(axis=0)),
            "squares": ("unit", squares),
            "readings": (("reader", "unit"), shift @ of_unit),
        }
        parts.append(xr.Dataset(found, coords={"modality": name}))
    means = xr.concat(parts, "modality")
    return means.assign_coords(reader=table["observer"].values[readers])


def study_variance(
    readers: Any, cases: Any, both: Any, n_readers: Any, df_cases: Any
) -> tuple[Floats, Floats]:
    """Combine variances over readers and over cases into one for new readers and new cases."""
    beyond = np.maximum(cases - both, 0.0)
    variance, known = np.maximum(readers + beyond, cases), np.nan_to_num(df_cases, nan=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (readers**2 / (n_readers - 1) + beyond**2 / known)
    return variance, np.fmin(df, known)


def _group_notes(of_reader: Floats) -> list[str]:
    """Return a note if two groups explain more reader variance than in 95% of normal samples."""
    x, n = np.sort(of_reader), len(of_reader)
    sizes = np.arange(1, n)
    sums = x.cumsum()[:-1]
    between = (sums - sizes * x.mean()) ** 2 * n / (sizes * (n - sizes))
    within = 1 - between.max() / ((x - x.mean()) ** 2).sum()
    # Each half of a normal distribution has 1 - 2 / pi of its variance; fitted to 6 to 30 readers.
    if within > 1 - 2 / np.pi - 0.72 / np.sqrt(n):
        return []
    size = int(sizes[between.argmax()])
    return [note("reader-groups", most=max(size, n - size), least=min(size, n - size))]


def _table(
    result: Result, weights: Floats, ci_prob: float, intervals: Intervals, **labels: Any
) -> pd.DataFrame:
    """Tabulate weighted sums of means of modalities, for new readers and new cases."""
    chosen_methods(intervals, ("analytic",), ("analytic",), "analytic")
    means, cluster, used = result.estimates, result.data.attrs["cluster"], weights != 0

    def total(name: str, weights: Any = weights) -> Any:
        return np.tensordot(weights, means[name].values, 1)

    of_reader, of_unit = total("of_reader"), total("of_unit")
    n_readers = np.where(used, means["n_readers"], np.iinfo(int).max).min(axis=1)
    n_cases, n_units = ((total(f"used_{x}", used) > 0).sum(axis=1) for x in ("case", "unit"))
    df_cases, factor, by_readers = degrees_of_images(of_unit), 1.0, (of_reader**2).sum(axis=1)
    if cluster:
        factor = n_units / np.maximum(n_units - 1, 1)
        df_cases = freedom_of_clusters(df_cases, most_freedom(total("squares", weights**2)))
    by_cases, by_both = factor * (of_unit**2).sum(1), factor * (total("readings") ** 2).sum((1, 2))
    variance, df = study_variance(by_readers, by_cases, by_both, n_readers, df_cases)
    estimate, se = total("estimate"), np.sqrt(variance)
    bounds = student_bounds(estimate, variance, df, ci_prob)
    frame = pd.DataFrame(
        {
            **labels,
            "estimate": estimate,
            "se": se,
            "df": df,
            **bound_columns("analytic", "ci", ci_prob, bounds),
            "se_readers": np.sqrt(by_readers),
            "se_cases": np.sqrt(by_cases),
            "var_reader": n_readers * np.maximum(by_readers - by_both, 0.0),
            "var_case": n_units * np.maximum(by_cases - by_both, 0.0),
            "var_residual": n_readers * n_units * by_both,
            "df_cases": df_cases,
            "n_readers": n_readers,
            "n_cases": n_cases,
        }
    )
    clusters = [""] * len(frame)
    if cluster:
        independent = (total("of_case") ** 2).sum(axis=1)
        effect = np.divide(by_cases, independent, where=independent > 0, out=independent * np.nan)
        frame = frame.assign(n_clusters=n_units, design_effect=effect)
        clusters = few_clusters(cluster, n_units).tolist()
    lost, there = total("n_undefined", used), used @ np.isfinite(means["reader_mean"].values) > 0
    strong = (by_both > 0) & (STRONG * by_both <= by_readers)
    notes = []
    for k, n in enumerate(n_readers.tolist()):
        own = [clusters[k], note("few-readers", n=n) if n < FEWEST_READERS else ""]
        if strong[k] and FEWEST_READERS <= n <= MOST_READERS:
            own += _group_notes(of_reader[k, there[k]])
        own.append(note("entries-excluded", n=int(lost[k])) if lost[k] else "")
        notes.append("; ".join(told(text) for text in [*own, result.missing_note] if text))
    return frame.assign(note=notes)
