"""Reader studies: readers on the same cases, with an AI or among themselves, by modality.

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

import itertools
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind
from alikely._base.intervals import bound_columns, check_interval
from alikely._base.names import listed, nearest
from alikely._base.notes import told
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.benchmark.degrees import degrees_of_images
from alikely.benchmark.layout import metric_of_trials, refuse_repeats_for
from alikely.data.blocks import Block, blocks, cluster_numbers
from alikely.data.inclusion import refuse_inclusion
from alikely.data.summaries import missing_note_of
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.estimates.remarks import few_clusters, require_clusters
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import cluster_influence, most_freedom
from alikely.inference.intervals import interval
from alikely.metrics import Metric

__all__ = ["ReaderStudy", "reader_study", "study_variance"]

# With fewer, coverage falls below the nominal one where a minority of readers differs strongly.
FEWEST_READERS = 6
# With more, coverage is .93 at least also where they form two groups that differ strongly.
MOST_READERS = 15
# Variance over readers, in multiples of that of single readings, that counts as strong.
STRONG = 3.0
# Numbers held at a time, about 32 MB.
CHUNK = 4_000_000
FEW = (
    "Only {} readers: the interval is approximate, and too narrow if a few readers differ strongly"
)
TWO_GROUPS = (
    "Readers differ strongly, in groups of {} and {}: the mean depends on how many of each took "
    "part; report `readers`"
)


class ReaderStudy(NamedTuple):
    """Means over readers with an AI, or over pairs of readers, by modality, and their differences.

    Attributes
    ----------
    modalities : pandas.DataFrame
        One row per modality: ``estimate``, the mean over readers of their agreement with the AI, or
        over pairs of readers; ``se`` for new readers and new cases, of which ``se_readers`` and
        ``se_cases`` are what either brings alone; ``df`` of Student's interval, its bounds;
        ``n_readers``, ``n_cases``; ``note``. ``of_readers, of_cases, of_both``: variance
        components, of one reader, one case, and one reading; ``df_cases``, degrees of freedom of
        ``se_cases``. With replicates their interval, as
        ``bootstrap_eti95_lb``, and ``undefined_share`` of them without a value.
    differences : pandas.DataFrame
        The same of each two modalities, with ``p_value``.
    readers : pandas.DataFrame
        One row per modality and reader: ``estimate``, with the AI or the mean with the other
        readers, and ``n_cases``.
    """

    modalities: pd.DataFrame
    differences: pd.DataFrame
    readers: pd.DataFrame


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
) -> ReaderStudy:
    """Mean agreement of readers with an AI or among themselves, by modality, and its differences.

    Readers and cases are both random: intervals speak for new readers and new cases. Modalities are
    conditions; the same label of a case, or of a reader, in several modalities is the same one, so
    that readers may read all cases in all modalities (fully crossed), or readers or cases may be of
    one modality only (split plot).

    Parameters
    ----------
    trials : Trials
        Of one data set.
    ai : str, optional
        Name of the observer that readers are compared with; readers with one another if not given.
    metric : str or Metric
        As in `alikely.compare`, of answers to trials; of readers among themselves a symmetric one.
    readers : str
        Kind of the readers.
    no_response : {"error", "drop"}
        Count missing readings as errors, or exclude them, as `alikely.agreement` does. Default
        ``"drop"``: a case that was not read says nothing about the reader.
    cluster : str, optional
        Column of cases whose readings are dependent, such as ``"patient"`` for lesions: new
        patients are drawn in place of new cases.
    n_resamples : int
        Replicates, of readers and cases drawn anew; 0 for none.
    ci_prob : float
        Of the intervals, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    ReaderStudy

    Raises
    ------
    TypeError
        If `trials` is none.
    ValueError
        If there are several data sets, no such observer, fewer than two readers (of readers among
        themselves three), the metric is one of margins, or directed without an AI.

    Notes
    -----
    The variance clusters by readers and by cases [CGM11]_: ``V_readers + V_cases - V_both``, where
    ``V_both`` is the variance of single readings, but at least ``V_cases``, the variance for fixed
    readers. ``V_readers`` is the jackknife over readers [ES81]_: the mean square of a mean over
    readers; for a mean over pairs each step leaves out all pairs of one reader. Degrees of freedom
    are Satterthwaite's [H07]_, from ``R - 1`` of readers and those of cases.

    A replicate draws readers and cases, each the same in all modalities, among those of the same
    modalities. It counts what single readings bring more than once [O07]_, and with few readers
    knows too little of how unlike these are: the analytic interval is the one to report.

    Examples
    --------
    >>> import alikely as al
    >>> trials, truth = al.simulate.reader_study(6, 150, rng=1)
    >>> found = al.benchmark.reader_study(trials, "AI")
    >>> found.differences[["modality", "other", "n_readers", "n_cases"]].values.tolist()
    [['A', 'B', 6, 150]]
    >>> among = al.benchmark.reader_study(trials)
    >>> bool(among.modalities["estimate"][0] > among.modalities["estimate"][1])
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials, got {type(trials).__name__}")
    check_interval(ci_prob, "eti")
    if n_resamples < 0:
        raise ValueError(f"n_resamples must be at least 0, got {n_resamples}")
    estimand = metric_of_trials(metric)
    refuse_repeats_for(trials, estimand)
    if ai is None and not estimand.symmetric:
        raise ValueError(
            f"{estimand.name} depends on the order of a pair, and readers among themselves have "
            "none; name an ai, or take a metric that does not"
        )
    pairs = _pairs(trials, ai, readers)
    table = joint_correctness(
        trials, pairs, "condition", no_response, labels=estimand.counts != "correctness",
        repeats="crossed",
    )  # fmt: skip
    refuse_inclusion(table, "a study of readers")
    if cluster is not None:
        require_clusters(table, cluster)
    found = _influences(table, estimand, cluster, alone=ai is not None)
    of_cases = _influences(table, estimand, None, alone=ai is not None) if cluster else found
    compared = list(itertools.chain(*pairs))
    missing = missing_note_of(trials.data, no_response, observers=compared)
    drawn = _replicates(table, estimand, found, cluster, n_resamples, rng)
    names = list(found)

    def row(weights: dict[str, float]) -> dict[str, Any]:
        told = _row(found, weights, ci_prob, drawn, missing)
        return _of_clusters(told, of_cases, weights, cluster) if cluster else told

    single = [row({name: 1.0}) for name in names]
    modalities = pd.DataFrame([{"modality": n, **r} for n, r in zip(names, single, strict=True)])
    rows = []
    for one, other in itertools.combinations(names, 2):
        told = row({one: 1.0, other: -1.0})
        t = told["estimate"] / told["se"] if told["se"] else np.nan
        p = 2 * special.stdtr(told["df"], -abs(t))
        rows.append({"modality": one, "other": other, **told, "p_value": float(p)})
    of_readers = [
        {"modality": name, "reader": reader, "estimate": value, "n_cases": n}
        for name, part in found.items()
        for reader, value, n in zip(part.readers, part.of_readers(), part.n_cases, strict=True)
    ]
    return ReaderStudy(modalities, pd.DataFrame(rows), pd.DataFrame(of_readers))


def _pairs(trials: Trials, ai: str | None, readers: str) -> list[tuple[str, str]]:
    datasets = list(dict.fromkeys(trials.data["dataset"].values.tolist()))
    if len(datasets) > 1:
        raise ValueError(
            f"a reader study has one data set, got {listed(datasets)}; choose one with "
            "trials.select(dataset=...), modalities are conditions"
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
        beside = "" if ai is None else f" beside {ai!r}"
        raise ValueError(
            f"there must be at least {fewest} readers of kind {readers!r}{beside}, got "
            f"{len(chosen)}; kinds are {listed(sorted(set(kinds.tolist())))}; name another kind "
            "with readers="
        )
    return list(itertools.combinations(chosen, 2)) if ai is None else [(n, ai) for n in chosen]


class _Modality(NamedTuple):
    """Entries of a modality, each of a reader with the AI or of two readers."""

    readers: list[str]
    member: NDArray[np.bool_]
    values: Floats
    n_cases: NDArray[np.int64]
    slopes: Floats  # (entry, case), or (entry, cluster)
    undefined: int
    squares: Floats  # squared influence of single cases on the mean, by cluster; else 0

    def of_readers(self) -> Floats:
        """Mean of the entries of each reader."""
        return np.asarray(self.values @ self.member / self.member.sum(axis=0))

    def jackknife(self) -> Floats:
        """What the mean loses with each reader, as weights (reader, entry)."""
        n_entries, n = self.member.shape
        left = ~self.member.T
        shift = 1 / n_entries - left / left.sum(axis=1, keepdims=True)
        return np.asarray(np.sqrt((n - 1) / n) * shift)


def _influences(
    table: Any, metric: Metric, cluster: str | None, *, alone: bool
) -> dict[str, _Modality]:
    """Each modality; `alone` if the second of a pair is no reader."""
    cases = cluster_numbers(table, "item")
    units = cases if cluster is None else cluster_numbers(table, cluster)
    width = int(units.max(initial=-1)) + 1
    out = {}
    for block in blocks(table):
        ready = evaluator(block, metric)
        value = np.asarray(ready.values(np.ones((1, len(block.trials))))[0], np.float64)
        slopes = np.zeros((len(value), width))
        own = units[block.trials]
        kept, single, squares = np.isfinite(value), ready.slopes(), np.zeros(width)
        if cluster is None:
            np.add.at(slopes.T, own, single.T)
        else:
            slopes[:, np.unique(own)] = cluster_influence(ready, own)[0]
            squares += np.bincount(own, single[kept].mean(axis=0) ** 2, width)
        readers = np.unique(block.a[kept] if alone else [block.a[kept], block.b[kept]])
        member = block.a[kept, None] == readers
        if not alone:
            member |= block.b[kept, None] == readers
        n_cases = _numbers_of_cases(block, cases[block.trials], kept, member)
        here = table.isel(pair=block.rows)
        names = dict(zip(block.a.tolist(), here["observer_a"].values.tolist(), strict=True))
        names |= dict(zip(block.b.tolist(), here["observer_b"].values.tolist(), strict=True))
        out[str(here["condition"].values[0])] = _Modality(
            [names[reader] for reader in readers.tolist()],
            member,
            value[kept],
            n_cases,
            slopes[kept],
            int((~kept).sum()),
            squares,
        )
    return out


def _numbers_of_cases(
    block: Block, cases: NDArray[np.intp], kept: NDArray[np.bool_], member: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Cases of each reader that are in any of its entries."""
    shown = block.shares().any(axis=1)[kept]
    return np.array([len(np.unique(cases[shown[own].any(axis=0)])) for own in member.T])


def _drawn(rng: np.random.Generator, there: NDArray[np.bool_], size: int) -> Floats:
    """How often each is drawn, (replicate, one), among those of the same modalities."""
    times = np.zeros((size, len(there)))
    _, stratum = np.unique(there, axis=0, return_inverse=True)
    for number in np.unique(stratum[there.any(axis=1)]):
        own = np.flatnonzero(stratum == number)
        times[:, own] = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size)
    return times


def _replicates(
    table: Any,
    metric: Metric,
    found: dict[str, _Modality],
    cluster: str | None,
    n_resamples: int,
    rng: RandomState,
) -> dict[str, Floats]:
    """Means of each modality (replicate,), readers and cases drawn anew; NaN without a value."""
    if not n_resamples:
        return {}
    generator = np.random.default_rng(seed_sequence(rng))
    cases, groups = cluster_numbers(table, cluster or "item"), list(blocks(table))
    people = list(dict.fromkeys(itertools.chain(*(part.readers for part in found.values()))))
    of_people = np.array([[name in part.readers for part in found.values()] for name in people])
    of_cases = np.zeros((int(cases.max(initial=-1)) + 1, len(groups)), dtype=bool)
    for at, block in enumerate(groups):
        of_cases[cases[block.trials], at] = True
    readers = _drawn(generator, of_people, n_resamples)
    shown = _drawn(generator, of_cases, n_resamples)
    out = {}
    for (name, part), block in zip(found.items(), groups, strict=True):
        ready = evaluator(block, metric)
        whole = np.isfinite(ready.values(np.ones((1, len(block.trials))))[0])
        times = readers[:, [people.index(reader) for reader in part.readers]]
        both = np.stack([times[:, own].prod(axis=1) for own in part.member], axis=1)
        values = np.full(both.shape, np.nan)
        step = max(1, CHUNK // max(1, ready.width + len(block.trials)))
        for start in range(0, n_resamples, step):
            of_trials = shown[start : start + step, cases[block.trials]]
            values[start : start + step] = ready.values(of_trials)[:, whole]
        weight = np.where(np.isfinite(values), both, 0.0)
        total = weight.sum(axis=1)
        mean = np.full(n_resamples, np.nan)
        np.divide((weight * np.nan_to_num(values)).sum(axis=1), total, out=mean, where=total > 0)
        out[name] = mean
    return out


def _of_clusters(
    row: dict[str, Any], of_cases: dict[str, _Modality], weights: dict[str, float], cluster: str
) -> dict[str, Any]:
    """A row over clusters of cases, with their number, and a note where they are too few."""
    alone = _row(of_cases, weights, 0.95, {}, "")
    number = row["n_cases"]
    effect = (row["se_cases"] / alone["se_cases"]) ** 2 if alone["se_cases"] > 0 else np.nan
    note = told(few_clusters(cluster, np.array([number]))[0])
    counted = {"n_cases": alone["n_cases"], "n_clusters": number, "design_effect": effect}
    return row | counted | {"note": "; ".join(filter(None, [note, row["note"]]))}


def study_variance(
    by_readers: ArrayLike,
    by_cases: ArrayLike,
    by_both: ArrayLike,
    n_readers: ArrayLike,
    df_cases: ArrayLike,
) -> tuple[Floats, Floats]:
    """Combine the variances over readers and over cases into that for new readers and new cases."""
    readers, cases = np.asarray(by_readers, float), np.asarray(by_cases, float)
    beyond = np.maximum(cases - by_both, 0.0)
    variance = np.maximum(readers + beyond, cases)
    known = np.nan_to_num(df_cases, nan=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (readers**2 / (np.asarray(n_readers) - 1) + beyond**2 / known)
    return variance, np.fmin(df, known)


def _group_notes(of_reader: Floats) -> list[str]:
    """Note if two groups explain more of the variance over readers than in 95 % of normal ones."""
    x, n = np.sort(of_reader), len(of_reader)
    sizes = np.arange(1, n)
    sums = x.cumsum()[:-1]
    between = (sums - sizes * x.mean()) ** 2 * n / (sizes * (n - sizes))
    within = 1 - between.max() / ((x - x.mean()) ** 2).sum()
    # Half of a normal distribution has 1 - 2 / pi of its variance; fitted to 6 to 30 readers.
    if within > 1 - 2 / np.pi - 0.72 / np.sqrt(n):
        return []
    size = int(sizes[between.argmax()])
    return [TWO_GROUPS.format(max(size, n - size), min(size, n - size))]


def _row(
    found: dict[str, _Modality],
    weights: dict[str, float],
    ci_prob: float,
    drawn: dict[str, Floats],
    missing: str,
) -> dict[str, Any]:
    """Weighted sum of means of modalities, for new readers and new cases."""
    people = list(dict.fromkeys(r for name in weights for r in found[name].readers))
    estimate, of_reader = 0.0, np.zeros(len(people))
    width = next(iter(found.values())).slopes.shape[1]
    readings, of_case = np.zeros((len(people), width)), np.zeros(width)
    used = np.zeros(width, dtype=bool)
    counts = []
    for name, weight in weights.items():
        part = found[name]
        n = len(part.readers)
        without = part.member.all(axis=0)
        if n < 2 or without.any():
            fewest = 3 if part.member.sum(axis=1).max(initial=1) > 1 else 2
            raise ValueError(
                f"fewer than {fewest} readers are defined in modality {name!r}: {part.undefined} "
                "entries are not"
            )
        at = [people.index(reader) for reader in part.readers]
        estimate += weight * float(part.values.mean())
        shift = weight * part.jackknife()
        of_reader[at] += shift @ (part.values - part.values.mean())
        readings[at] += shift @ part.slopes
        of_case += weight * part.slopes.mean(axis=0)
        used |= part.slopes.any(axis=0)
        counts.append(n)
    by_readers = float((of_reader**2).sum())
    squares = np.sum([w**2 * found[name].squares for name, w in weights.items()], axis=0)
    clustered = bool(squares.any())
    n_readers, n_cases = min(counts), int(used.sum())
    factor = n_cases / max(n_cases - 1, 1) if clustered else 1.0
    by_cases = factor * float((of_case**2).sum())
    by_both = factor * float((readings**2).sum())
    df_cases = degrees_of_images(of_case)
    if clustered:
        df_cases = np.minimum(df_cases, most_freedom(squares))
    variance, df = study_variance(by_readers, by_cases, by_both, n_readers, df_cases)
    se = float(np.sqrt(variance))
    half = float(special.stdtrit(df, (1 + ci_prob) / 2)) * se
    lost = sum(found[name].undefined for name in weights)
    notes = [FEW.format(n_readers)] if n_readers < FEWEST_READERS else []
    if FEWEST_READERS <= n_readers <= MOST_READERS and 0 < STRONG * by_both <= by_readers:
        notes += _group_notes(of_reader)
    notes += [f"{lost} entries of a modality undefined, left out"] if lost else []
    notes += [missing] if missing else []
    replicates: dict[str, Any] = {}
    if drawn:
        draws = sum(weight * drawn[name] for name, weight in weights.items())
        bounds = interval(np.asarray(draws)[:, None], ci_prob, "eti")[0]
        replicates |= bound_columns("bootstrap", "eti", ci_prob, bounds)
        replicates["undefined_share"] = np.isnan(draws).mean()
    return {
        "estimate": estimate,
        "se": se,
        "df": float(df),
        **{
            key: float(value)
            for key, value in bound_columns(
                "analytic", "ci", ci_prob, np.array([estimate - half, estimate + half])
            ).items()
        },
        **{key: float(value) for key, value in replicates.items()},
        "se_readers": float(np.sqrt(by_readers)),
        "se_cases": float(np.sqrt(by_cases)),
        "of_readers": n_readers * max(by_readers - by_both, 0.0),
        "of_cases": n_cases * max(by_cases - by_both, 0.0),
        "of_both": n_readers * n_cases * by_both,
        "df_cases": float(df_cases),
        "n_readers": n_readers,
        "n_cases": n_cases,
        "note": "; ".join(notes),
    }
