"""Reader studies: readers and an AI on the same cases, in one modality or several.

References
----------
.. [H07] Hillis (2007). A comparison of denominator degrees of freedom methods for multiple observer
   ROC analysis. doi:10.1002/sim.2532
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
"""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.names import listed, nearest
from alikely.benchmark.layout import metric_of_trials, refuse_repeats_for
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.inference.evaluation import evaluator
from alikely.metrics import Metric
from alikely.stats.intervals import bound_columns, check_interval

__all__ = ["ReaderStudy", "reader_study"]

# With fewer the spread over readers cannot be estimated at all well.
FEWEST_READERS = 4
FEW = f"fewer than {FEWEST_READERS} readers: rough"


class ReaderStudy(NamedTuple):
    """Means over readers with an AI, by modality, and their differences.

    Attributes
    ----------
    modalities : pandas.DataFrame
        One row per modality: ``estimate``, the mean over readers of their agreement with the AI;
        ``se`` for new readers and new cases, of which ``se_readers`` and ``se_cases`` are what
        either brings alone; ``df`` of Student's interval, its bounds; ``n_readers``, ``n_cases``;
        ``note``. ``of_readers, of_cases, of_both``: variance components, of one reader, one case,
        and one reading.
    differences : pandas.DataFrame
        The same of each two modalities, with ``p_value``.
    readers : pandas.DataFrame
        One row per modality and reader: ``estimate`` and ``n_cases``.
    """

    modalities: pd.DataFrame
    differences: pd.DataFrame
    readers: pd.DataFrame


def reader_study(
    trials: Trials,
    ai: str,
    metric: str | Metric = "error_consistency",
    *,
    readers: str = "human",
    no_response: Literal["error", "drop"] = "error",
    ci_prob: float = 0.95,
) -> ReaderStudy:
    """Mean agreement of readers with an AI, and its differences between modalities.

    Readers and cases are both random: intervals speak for new readers and new cases. Modalities are
    conditions; the same label of a case, or of a reader, in several modalities is the same one, so
    that readers may read all cases in all modalities (fully crossed), or readers or cases may be of
    one modality only (split plot).

    Parameters
    ----------
    trials : Trials
        Of one data set.
    ai : str
        Name of the observer that readers are compared with.
    metric : str or Metric
        As in `alikely.compare`, of answers to trials.
    readers : str
        Kind of the readers.
    no_response : {"error", "drop"}
        As in `alikely.compare`.
    ci_prob : float
        Of the intervals, in (0, 1).

    Returns
    -------
    ReaderStudy

    Raises
    ------
    TypeError
        If `trials` is none.
    ValueError
        If there are several data sets, no such observer, fewer than two readers, or the metric is
        one of margins.

    Notes
    -----
    The variance is that of clustering by readers and by cases [CGM11]_: what readers bring, plus
    what cases bring, less what single readings bring to both. Its degrees of freedom are those of
    readers, ``V**2 / (V_readers**2 / (R - 1))`` [H07]_.

    Examples
    --------
    >>> import alikely as al
    >>> trials, truth = al.simulate.reader_study(6, 150, rng=1)
    >>> found = al.benchmark.reader_study(trials, "AI")
    >>> found.differences[["modality", "other", "n_readers", "n_cases"]].values.tolist()
    [['A', 'B', 6, 150]]
    """
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials, got {type(trials).__name__}")
    check_interval(ci_prob, "eti")
    estimand = metric_of_trials(metric)
    refuse_repeats_for(trials, estimand)
    pairs = _pairs(trials, ai, readers)
    table = joint_correctness(
        trials, pairs, "condition", no_response, labels=estimand.counts != "correctness",
        repeats="crossed",
    )  # fmt: skip
    found = _influences(table, estimand)
    names = list(found)
    single = [_row(found, {name: 1.0}, ci_prob) for name in names]
    modalities = pd.DataFrame([{"modality": n, **r} for n, r in zip(names, single, strict=True)])
    rows = []
    for one, other in itertools.combinations(names, 2):
        row = _row(found, {one: 1.0, other: -1.0}, ci_prob)
        t = row["estimate"] / row["se"] if row["se"] else np.nan
        p = 2 * stats.t.sf(abs(t), row["df"])
        rows.append({"modality": one, "other": other, **row, "p_value": float(p)})
    of_readers = [
        {"modality": name, "reader": reader, "estimate": value, "n_cases": n}
        for name, part in found.items()
        for reader, value, n in zip(part.readers, part.values, part.n_cases, strict=True)
    ]
    return ReaderStudy(modalities, pd.DataFrame(rows), pd.DataFrame(of_readers))


def _pairs(trials: Trials, ai: str, readers: str) -> list[tuple[str, str]]:
    datasets = list(dict.fromkeys(trials.data["dataset"].values.tolist()))
    if len(datasets) > 1:
        raise ValueError(
            f"a reader study has one data set, got {listed(datasets)}; choose one with "
            "trials.select(dataset=...), modalities are conditions"
        )
    names = trials.observers
    if ai not in names:
        raise ValueError(
            f"ai must be an observer ({listed(names)}), got {ai!r}{nearest(ai, names)}"
        )
    kinds = trials.data["kind"].values
    chosen = [n for n, kind in zip(names, kinds, strict=True) if kind == readers and n != ai]
    if len(chosen) < 2:
        raise ValueError(
            f"there must be at least 2 readers of kind {readers!r} beside {ai!r}, got "
            f"{len(chosen)}; kinds are {listed(sorted(set(kinds.tolist())))}"
        )
    return [(name, ai) for name in chosen]


class _Modality(NamedTuple):
    """What each reader has with the AI, and what each case does to it: (reader, case)."""

    readers: list[str]
    values: Floats
    n_cases: NDArray[np.int64]
    slopes: Floats
    undefined: int


def _influences(table: Any, metric: Metric) -> dict[str, _Modality]:
    cases = cluster_numbers(table, "item")
    width = int(cases.max(initial=-1)) + 1
    out = {}
    for block in blocks(table):
        ready = evaluator(block, metric)
        value = np.asarray(ready.values(np.ones((1, len(block.trials))))[0], np.float64)
        slopes = np.zeros((len(value), width))
        np.add.at(slopes.T, cases[block.trials], ready.slopes().T)
        here = table.isel(pair=block.rows)
        shown = block.shares().any(axis=1)
        n_cases = np.array([len(np.unique(cases[block.trials][row])) for row in shown])
        kept = np.isfinite(value)
        out[str(here["condition"].values[0])] = _Modality(
            here["observer_a"].values[kept].tolist(),
            value[kept],
            n_cases[kept],
            slopes[kept],
            int((~kept).sum()),
        )
    return out


def _row(found: dict[str, _Modality], weights: dict[str, float], ci_prob: float) -> dict[str, Any]:
    """Weighted sum of means of modalities, for new readers and new cases."""
    people = list(dict.fromkeys(r for name in weights for r in found[name].readers))
    estimate, of_reader = 0.0, np.zeros(len(people))
    readings = np.zeros((len(people), next(iter(found.values())).slopes.shape[1]))
    counts = []
    for name, weight in weights.items():
        part = found[name]
        n = len(part.readers)
        if n < 2:
            raise ValueError(
                f"fewer than 2 readers are defined in modality {name!r}: {part.undefined} are not"
            )
        at = [people.index(reader) for reader in part.readers]
        estimate += weight * float(part.values.mean())
        # Of a sample of n the mean square is too small by (n - 1) / n.
        of_reader[at] += weight * (part.values - part.values.mean()) / np.sqrt(n * (n - 1))
        readings[at] += weight * part.slopes / n
        counts.append(n)
    by_readers = float((of_reader**2).sum())
    by_cases = float((readings.sum(axis=0) ** 2).sum())
    by_both = float((readings**2).sum())
    variance = by_readers + max(by_cases - by_both, 0.0)
    n_readers, n_cases = min(counts), int((readings != 0).any(axis=0).sum())
    df = variance**2 / (by_readers**2 / (n_readers - 1)) if by_readers else np.inf
    se = float(np.sqrt(variance))
    half = float(stats.t.ppf((1 + ci_prob) / 2, df)) * se
    lost = sum(found[name].undefined for name in weights)
    notes = [FEW] if n_readers < FEWEST_READERS else []
    notes += [f"{lost} readings of a modality undefined, left out"] if lost else []
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
        "se_readers": float(np.sqrt(by_readers)),
        "se_cases": float(np.sqrt(by_cases)),
        "of_readers": n_readers * max(by_readers - by_both, 0.0),
        "of_cases": n_cases * max(by_cases - by_both, 0.0),
        "of_both": n_readers * n_cases * by_both,
        "n_readers": n_readers,
        "n_cases": n_cases,
        "note": "; ".join(notes),
    }
