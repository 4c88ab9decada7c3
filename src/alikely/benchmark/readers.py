"""Reader studies: agreement of readers with an AI or with one another, by modality.

References
----------
.. [H07] Hillis (2007). A comparison of denominator degrees of freedom methods for multiple observer
   ROC analysis. doi:10.1002/sim.2532
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
.. [O07] Owen (2007). The pigeonhole bootstrap. doi:10.1214/07-AOAS122
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

import alikely
from alikely._base.arrays import Floats
from alikely._base.checks import known_kind, of_type
from alikely._base.frames import ROWS, Columns, with_columns
from alikely._base.intervals import (
    CiKind,
    Intervals,
    bound_columns,
    bound_names,
    check_interval,
    chosen_methods,
    percent,
)
from alikely._base.names import counted, listed, nearest, number, p_words, span
from alikely._base.notes import note, told
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely.benchmark.decomposition import degrees_of_images
from alikely.benchmark.layout import metric_of_trials, refuse_repeats_for
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.inclusion import refuse_inclusion
from alikely.data.summaries import missing_note_of
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.estimates.remarks import few_clusters, require_clusters
from alikely.estimates.result import Result, of_kind
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import cluster_influence, most_freedom
from alikely.inference.intervals import interval, mean_of_defined
from alikely.metrics import Metric

__all__ = [
    "describe",
    "differences",
    "draws",
    "method",
    "observers",
    "page_columns",
    "preview",
    "reader_means",
    "reader_study",
    "schema",
    "sentence",
    "study_variance",
    "summary",
]

# With fewer readers, coverage is below nominal if a minority of readers differs strongly.
FEWEST_READERS = 6
# With more readers, coverage is at least 0.93, also if they form two groups that differ strongly.
MOST_READERS = 15
# Ratio of the variance over readers to that of single ratings above which it counts as strong.
STRONG = 3.0
# Maximum number of differences in a sentence.
MOST_SENTENCES = 3
POPULATION = {
    "one": "The interval generalizes to new readers and new cases; it is not adjusted for multiple "
    "comparisons.",
    "several": "The intervals generalize to new readers and new cases; they are not adjusted for "
    "multiple comparisons.",
}
# Numbers in memory at a time, about 32 MB.
CHUNK = 4_000_000


def reader_study(
    trials: Trials,
    ai: str | None = None,
    metric: str | Metric = "error_consistency",
    *,
    readers: str = "human",
    no_response: Literal["error", "drop"] = "drop",
    cluster: str | None = None,
    n_resamples: int = 0,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Estimate mean agreement of readers with an AI or among themselves, by modality.

    Readers and cases are both random: intervals generalize to new readers and new cases. Modalities
    are conditions. A label identifies the same case, or reader, in all modalities. The design can
    be fully crossed (all readers read all cases in all modalities) or split-plot (readers or cases
    occur in one modality only).

    Parameters
    ----------
    trials : Trials
        Responses of one data set.
    ai : str, optional
        Name of the observer that readers are compared with. Default: readers are compared with one
        another.
    metric : str or Metric
        A metric of trials, as in `alikely.compare`. Without `ai` it must be symmetric.
    readers : str
        Kind of the readers.
    no_response : {"error", "drop"}
        Count missing ratings as errors, or exclude them, as `alikely.agreement` does. Default
        ``"drop"``: a case that was not read contains no information about the reader.
    cluster : str, optional
        Column that defines clusters of dependent cases, such as ``"patient"`` for lesions. Clusters
        are then the sampling units instead of cases.
    n_resamples : int
        Number of bootstrap replicates, with readers and cases resampled. 0 disables them.
    ci_prob : float
        Probability of the intervals, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Result
        ``summary()`` has one row per modality, with columns

        - ``estimate``: mean over readers of their agreement with the AI, or mean over pairs of
          readers
        - ``se``: standard error for new readers and new cases
        - ``se_readers``, ``se_cases``: standard errors for new readers or new cases alone
        - ``df``, ``df_cases``: degrees of freedom of ``se`` and ``se_cases``
        - limits of the Student t interval, and of the bootstrap interval with replicates
        - ``frac_undefined``: fraction of replicates without a value
        - ``var_reader``, ``var_case``, ``var_residual``: variance components of one reader, one
          case and one rating
        - ``n_readers``, ``n_cases``, ``note``

        `alikely.benchmark.differences` returns the differences between modalities, with
        ``p_value``, and `alikely.benchmark.reader_means` the mean and the number of cases of each
        reader.

    Raises
    ------
    TypeError
        If `trials` is not a `Trials`.
    ValueError
        If there are several data sets, or no observer named `ai`.
        If there are fewer than two readers (three without `ai`).
        If the metric is one of margins, or directed without `ai`.

    Notes
    -----
    The variance accounts for clustering by readers and by cases [CGM11]_:
    ``V_readers + V_cases - V_both``, where ``V_both`` is the variance of single ratings. It is at
    least ``V_cases``, the variance for fixed readers. ``V_readers`` is the jackknife over readers
    [ES81]_. For a mean over pairs, each step leaves out all pairs with one reader. Degrees of
    freedom are Satterthwaite's [H07]_, from ``R - 1`` for R readers and from those of cases.

    Each replicate resamples readers and cases, the same ones in all modalities, within groups that
    occur in the same modalities. It counts the variance of single ratings more than once [O07]_,
    and it underestimates differences between few readers. Report the analytic interval.

    Examples
    --------
    >>> import alikely as al
    >>> trials, truth = al.simulate.reader_study(6, 150, rng=1)
    >>> found = al.benchmark.reader_study(trials, "AI")
    >>> apart = al.benchmark.differences(found)
    >>> apart[["modality", "other", "n_readers", "n_cases"]].values.tolist()
    [['A', 'B', 6, 150]]
    >>> among = al.benchmark.reader_study(trials).summary()
    >>> bool(among["estimate"][0] > among["estimate"][1])
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    of_type(trials, Trials, "make them with Trials.from_table")
    check_interval(ci_prob, "eti")
    if n_resamples < 0:
        raise ValueError(f"n_resamples must be at least 0, got {n_resamples}")
    estimand = metric_of_trials(metric)
    refuse_repeats_for(trials, estimand)
    if ai is None and not estimand.symmetric:
        raise ValueError(
            f"{estimand.name} is directed, but readers among themselves have no reference; "
            "name an ai, or use a symmetric metric, such as error_consistency"
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
    drawn = _replicates(table, estimand, means, n_resamples, rng)
    groups = {"estimates": means}
    if drawn:
        values = np.stack(list(drawn.values()), axis=1)
        groups["bootstrap"] = xr.Dataset(
            {"estimate": (("resample", "modality"), values)}, {"modality": means["modality"].values}
        )
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        "kind": "reader",
        "metric": estimand.name,
        "metric_module": estimand.module,
        "ci_prob": ci_prob,
        "ci_kind": options.ci_kind,
        "no_response": no_response,
        "missing_note": missing,
        "cluster": cluster or "",
        "alikely_version": alikely.__version__,
        **estimand.options,
    }
    return Result(tree)


# Functions that every kind of result has


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    return {"estimates": {"estimate": ("modality",), "member": ("reader", "pair")}}


def observers(result: Result) -> list[str]:
    """Names of the readers."""
    return [str(name) for name in result.estimates["reader"].values]


def draws(result: Result, method: str) -> Floats:
    """Replicates of the means: (resample, modality)."""
    if method not in result.data.children:
        raise ValueError(f"this reader study has no {method} draws; pass n_resamples=10_000")
    return np.asarray(result.data[method]["estimate"].values)


def summary(
    result: Result, *, ci_prob: float, ci_kind: CiKind, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """Tabulate the mean of each modality."""
    names = result.estimates["modality"].values.tolist()
    row = _rows(result, ci_prob, ci_kind, intervals)
    frame = pd.DataFrame([{"modality": name, **row({name: 1.0})} for name in names])
    return with_columns(frame, list(frame), columns)


def differences(
    result: Result, *, ci_prob: float, ci_kind: CiKind, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """Tabulate the differences between all pairs of modalities."""
    rows, row = [], _rows(result, ci_prob, ci_kind, intervals)
    for one, other in itertools.combinations(result.estimates["modality"].values.tolist(), 2):
        told = row({one: 1.0, other: -1.0})
        t = told["estimate"] / told["se"] if told["se"] else np.nan
        p = 2 * special.stdtr(told["df"], -abs(t))
        rows.append({"modality": one, "other": other, **told, "p_value": float(p)})
    frame = pd.DataFrame(rows)
    return with_columns(frame, list(frame), columns)


def _rows(result: Result, ci_prob: float, ci_kind: CiKind, intervals: Intervals) -> Any:
    """Return the function that computes a row from weights of modalities."""
    there = [name for name in ("analytic", "bootstrap") if name in ("analytic", *result.data)]
    known = ("analytic", "bootstrap")
    shown = there if intervals is None else chosen_methods(intervals, known, there, "analytic")
    if "bootstrap" in shown and "bootstrap" not in there:
        draws(result, "bootstrap")
    means, drawn = result.estimates, {}
    if "bootstrap" in shown:
        names = means["modality"].values.tolist()
        drawn = dict(zip(names, draws(result, "bootstrap").T, strict=True))
    return functools.partial(
        _row, means, ci_prob=ci_prob, ci_kind=ci_kind, drawn=drawn, missing=result.missing_note
    )


def reader_means(result: Result) -> pd.DataFrame:
    """Tabulate the mean of each reader in each modality.

    Parameters
    ----------
    result : Result
        As returned by `reader_study`.

    Returns
    -------
    pandas.DataFrame
        One row per modality and reader: ``estimate`` (agreement with the AI, or mean agreement with
        the other readers) and ``n_cases``.

    Raises
    ------
    TypeError
        If the result is of another kind.
    """
    means = of_kind(result, "reader").estimates
    frame = means[["own", "read"]].to_dataframe().dropna().reset_index()
    frame = frame.rename(columns={"own": "estimate", "read": "n_cases"})
    return frame.astype({"n_cases": int})


def sentence(result: Result, *, ci_prob: float, ci_kind: CiKind, digits: int) -> str:
    """Write the differences between modalities, or the mean of a single one, as a sentence."""
    table = result.summary(ci_prob=ci_prob, ci_kind=ci_kind, intervals=["analytic"])
    if len(table) > 1:
        table = differences(
            result, ci_prob=ci_prob, ci_kind=ci_kind, intervals=["analytic"], columns=None
        ).sort_values("p_value", kind="stable")
    label = result.metric.label
    said = [_said(label, row, ci_prob, digits) for _, row in table.head(MOST_SENTENCES).iterrows()]
    if len(table) > MOST_SENTENCES:
        said.append(f"The table has all {len(table)} differences.")
    return " ".join([*said, POPULATION["one" if len(table) == 1 else "several"]])


def _said(label: str, row: pd.Series, ci_prob: float, digits: int) -> str:
    lower, upper = bound_names("analytic", "ci", ci_prob)
    what, p = f"in {row['modality']}", ""
    if "other" in row:
        what += f" minus that in {row['other']}"
        p = f", {p_words('p', row['p_value'])}"
    value = number(row["estimate"], digits)
    return (
        f"Mean {label} over readers {what} was {value}, {percent(ci_prob)} CI "
        f"{span(row[lower], row[upper], digits)}{p} (analytic; {row['n_readers']} readers, "
        f"{row['n_cases']} cases)."
    )


def method(_: Result, interval: str | None = None) -> str:
    """Choose the method whose interval a page shows."""
    return interval or "analytic"


def page_columns(_: Result, frame: pd.DataFrame, bounds: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a page shows."""
    return [
        "modality",
        "estimate",
        *(b for b in bounds if b in frame),
        "se",
        "n_readers",
        "n_cases",
    ]


def preview(result: Result, methods: Sequence[str]) -> tuple[pd.DataFrame, int, dict[str, Any]]:
    """Return the first rows, and the number of rows."""
    frame = result.summary(intervals=methods)
    return frame.head(ROWS), len(frame), {}


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
        beside = "" if ai is None else f" other than {ai!r}"
        raise ValueError(
            f"a reader study needs at least {fewest} readers of kind {readers!r}{beside}, got "
            f"{len(chosen)}; kinds are {listed(sorted(set(kinds.tolist())))}; name another kind "
            "with readers="
        )
    return list(itertools.combinations(chosen, 2)) if ai is None else [(n, ai) for n in chosen]


def _means(table: xr.Dataset, metric: Metric, cluster: str | None, ai: str | None) -> xr.Dataset:
    """Compute the mean of each modality over readers with the AI, or over pairs of readers.

    Variables are the influence of each reader (``of_reader``), case (``of_case``), unit (a case or
    a cluster of cases, ``of_unit``) and unit of a reader (``readings``), means and cases of
    readers, and ``member``, the readers of each defined pair.
    """
    cases = cluster_numbers(table, "item")
    units = cases if cluster is None else cluster_numbers(table, cluster)
    n_cases, n_units = (int(each.max(initial=-1)) + 1 for each in (cases, units))
    first, second = table["first"].values, table["second"].values
    readers = np.unique(first if ai else [first, second])
    names = dict(zip(first.tolist(), table["observer_a"].values.tolist(), strict=True))
    names |= dict(zip(second.tolist(), table["observer_b"].values.tolist(), strict=True))
    member = (readers[:, None] == first) | (readers[:, None] == second)
    parts = []
    for block in blocks(table):
        ready, case, unit = evaluator(block, metric), cases[block.trials], units[block.trials]
        value = ready.values(np.ones((1, len(case))))[0]
        known = np.isfinite(value)
        member[:, block.rows] &= known
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
            "there": ("reader", there),
            "own": ("reader", of_reader),
            "read": ("reader", (shown > 0).sum(axis=1)),
            "of_reader": ("reader", shift @ (value - value.mean())),
            "of_case": ("case", of_case.mean(axis=0)),
            "used_case": ("case", of_case.any(axis=0)),
            "of_unit": ("unit", of_unit.mean(axis=0)),
            "used_unit": ("unit", of_unit.any(axis=0)),
            "shown": ("unit", np.bincount(unit, minlength=n_units) > 0),
            "squares": ("unit", squares),
            "readings": (("reader", "unit"), shift @ of_unit),
        }
        parts.append(xr.Dataset(found, coords={"modality": name}))
    means = xr.concat(parts, "modality").assign(member=(("reader", "pair"), member))
    means.attrs["cluster"] = cluster or ""
    return means.assign_coords(reader=[names[reader] for reader in readers.tolist()])


def _drawn(rng: np.random.Generator, there: NDArray[np.bool_], size: int) -> Floats:
    """Resample units within groups that occur in the same modalities: (replicate, unit)."""
    times = np.zeros((size, len(there)))
    _, stratum = np.unique(there, axis=0, return_inverse=True)
    for one in np.unique(stratum[there.any(axis=1)]):
        own = np.flatnonzero(stratum == one)
        times[:, own] = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size)
    return times


def _replicates(
    table: xr.Dataset, metric: Metric, means: xr.Dataset, n_resamples: int, rng: RandomState
) -> dict[str, Floats]:
    """Means of each modality with readers and cases resampled: (replicate,), NaN if undefined."""
    if not n_resamples:
        return {}
    generator = np.random.default_rng(seed_sequence(rng))
    units = cluster_numbers(table, means.attrs["cluster"] or "item")
    readers, drawn = (
        _drawn(generator, there.T, n_resamples)
        for there in (means["there"].values, means["shown"].values)
    )
    out = {}
    for name, block in zip(means["modality"].values.tolist(), blocks(table), strict=True):
        ready, own = evaluator(block, metric), means["member"].values[:, block.rows].T
        whole = own.any(axis=1)
        both = np.stack([readers[:, pair].prod(axis=1) for pair in own[whole]], axis=1)
        values = np.full(both.shape, np.nan)
        step = max(1, CHUNK // max(1, ready.width + len(block.trials)))
        for start in range(0, n_resamples, step):
            times = drawn[start : start + step, units[block.trials]]
            values[start : start + step] = ready.values(times)[:, whole]
        out[name] = mean_of_defined(values, both, axis=1)
    return out


def study_variance(
    by_readers: ArrayLike,
    by_cases: ArrayLike,
    by_both: ArrayLike,
    n_readers: ArrayLike,
    df_cases: ArrayLike,
) -> tuple[Floats, Floats]:
    """Combine variances over readers and over cases into that for new readers and new cases."""
    readers, cases = np.asarray(by_readers, float), np.asarray(by_cases, float)
    beyond = np.maximum(cases - by_both, 0.0)
    variance = np.maximum(readers + beyond, cases)
    known = np.nan_to_num(df_cases, nan=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (readers**2 / (np.asarray(n_readers) - 1) + beyond**2 / known)
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
    return [told(note("reader-groups", most=max(size, n - size), least=min(size, n - size)))]


def _row(
    means: xr.Dataset,
    weights: dict[str, float],
    ci_prob: float,
    ci_kind: CiKind,
    drawn: dict[str, Floats],
    missing: str,
) -> dict[str, Any]:
    """Tabulate a weighted sum of means of modalities, for new readers and new cases."""
    part, cluster = means.sel(modality=list(weights)), means.attrs["cluster"]

    def total(name: str) -> Any:
        return np.tensordot(list(weights.values()), part[name].values, 1)

    estimate, of_reader, of_unit = float(total("estimate")), total("of_reader"), total("of_unit")
    n_readers, lost = int(part["n_readers"].min()), int(part["n_undefined"].sum())
    n_cases, n_units = (int(part[f"used_{x}"].any("modality").sum()) for x in ("case", "unit"))
    squares = np.square(list(weights.values())) @ part["squares"].values
    df_cases, factor = float(degrees_of_images(of_unit)), 1.0
    if squares.any():
        factor = n_units / max(n_units - 1, 1)
        df_cases = float(np.minimum(df_cases, most_freedom(squares)))
    by_readers = float((of_reader**2).sum())
    by_cases, by_both = (factor * float((each**2).sum()) for each in (of_unit, total("readings")))
    variance, df = study_variance(by_readers, by_cases, by_both, n_readers, df_cases)
    se = float(np.sqrt(variance))
    half = float(special.stdtrit(df, (1 + ci_prob) / 2)) * se
    notes = [told(note("few-readers", n=n_readers))] if n_readers < FEWEST_READERS else []
    if FEWEST_READERS <= n_readers <= MOST_READERS and 0 < STRONG * by_both <= by_readers:
        notes += _group_notes(of_reader[part["there"].any("modality")])
    notes += [told(note("entries-excluded", n=lost))] if lost else []
    limits = bound_columns("analytic", "ci", ci_prob, np.array([estimate - half, estimate + half]))
    if drawn:
        drawn_sum = np.tensordot(list(weights.values()), [drawn[name] for name in weights], 1)
        bounds = interval(drawn_sum[:, None], ci_prob, ci_kind)[0]
        limits |= bound_columns("bootstrap", ci_kind, ci_prob, bounds)
        limits["frac_undefined"] = np.asarray(np.isnan(drawn_sum).mean())
    row = {
        "estimate": estimate,
        "se": se,
        "df": float(df),
        **{key: float(value) for key, value in limits.items()},
        "se_readers": float(np.sqrt(by_readers)),
        "se_cases": float(np.sqrt(by_cases)),
        "var_reader": n_readers * max(by_readers - by_both, 0.0),
        "var_case": n_units * max(by_cases - by_both, 0.0),
        "var_residual": n_readers * n_units * by_both,
        "df_cases": df_cases,
        "n_readers": n_readers,
        "n_cases": n_cases,
    }
    if cluster:
        independent = float((total("of_case") ** 2).sum())
        effect = by_cases / independent if independent > 0 else np.nan
        notes.insert(0, told(few_clusters(cluster, np.array([n_units]))[0]))
        row |= {"n_clusters": n_units, "design_effect": effect}
    return row | {"note": "; ".join(filter(None, [*notes, missing]))}
