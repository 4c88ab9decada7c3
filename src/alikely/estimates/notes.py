"""Notes on estimates.

References
----------
.. [K65] Kish (1965). Survey sampling. Wiley.
.. [PB10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.notes import note
from alikely.data.blocks import LEFT_OUT, Block, blocks, cluster_numbers
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.inclusion import SPEAKS
from alikely.data.repeats import ONE_ANSWER
from alikely.data.summaries import DATA_SUMMARY
from alikely.data.tables import SEPARATOR
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import freedom_of, indicator, of_items
from alikely.inference.weighting import FEWEST_EFFECTIVE
from alikely.metrics import Metric

if TYPE_CHECKING:
    from alikely.estimates.result import Result

# A posterior interval wider than this is uninformative.
WIDE = 0.5
# A standard error below this is rounding error.
ROUNDING = 1e-12
# With fewer clusters an interval is approximate even if they are similar.
FEWEST = 5
# A column is examined if it has this many values, with this many items on average.
VALUES, SIZE = 10, 1.2
N_PERMUTATIONS, LEVEL = 199, 0.01
# What observers give, if it is not correct or incorrect responses.
GIVEN = {"margins": "margins", "ratings": "ratings"}
# Most numbers permuted at a time; with more, a part of the pairs is examined.
MOST = 20_000_000
# Measured (`docs/validation`): coverage of means over four humans, for similar models.
SEVERAL = note("strata-several-humans")
# Note on clusters by sampler: full support, only dependence between pairs, or none (default).
CLUSTERS = {"moments": "", "strengths": "", "gibbs": note("clusters-pairs")}
IGNORED = note("clusters-ignored")
# With fewer effective clusters, posterior intervals are too narrow.
FEW_CLUSTERS = 50
# How repeated items within a condition are treated.
AS_TRIALS = note("repeats-as-trials")
# A center further away than this is printed as a different number.
APART = 5e-4


def joined_notes(*notes: str) -> str:
    """Join notes, leaving out duplicates and empty notes."""
    return "; ".join(dict.fromkeys(filter(None, notes)))


def joined(notes: Iterable[NDArray[Any]]) -> list[str]:
    """Join the notes of each entry."""
    every = [np.asarray(own, dtype=object) for own in notes]
    said = [own for own in every if (own != "").any()]
    # Millions of rows share a few texts.
    join = functools.cache(joined_notes)
    return [join(*parts) for parts in zip(*said, strict=True)] if said else [""] * len(every[0])


def wide(width: Floats) -> NDArray[Any]:
    """Note on wide posterior intervals, (pair,)."""
    return np.where(width > WIDE, note("wide", width=WIDE), "")


def scarcity(
    metric: Metric,
    known: Mapping[str, NDArray[Any]],
    se: Floats,
    defined: NDArray[np.bool_],
    methods: Sequence[str],
) -> NDArray[Any]:
    """Notes on entries with too few errors for analytic and bootstrap intervals."""
    trust = metric.trust
    if _posterior_alone(metric, methods) and not trust.biased:
        return np.full(len(defined), "", dtype=object)
    few = defined & (trust.rarest(known) < trust.least)
    flat = defined & (se < ROUNDING)
    if callable(trust.alone):
        return np.where(flat, trust.alone(known), np.where(few, trust.seldom, ""))
    return np.where(few & flat, trust.alone, np.where(few, trust.seldom, ""))


def cautions(
    metric: Metric, cells: NDArray[Any], defined: NDArray[np.bool_], methods: Sequence[str]
) -> NDArray[Any]:
    """Notes on entries whose analytic interval is unreliable according to the metric."""
    if metric.caution is None or _posterior_alone(metric, methods):
        return np.full(len(defined), "", dtype=object)
    return np.where(defined, metric.caution(cells), "")


def _posterior_alone(metric: Metric, methods: Sequence[str]) -> bool:
    """Check if a table shows only the posterior interval of the metric itself."""
    return {*methods} == {"posterior"} and metric.posterior_label == "posterior"


def cluster_notes(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, cluster: str | None
) -> NDArray[np.object_]:
    """Return a note for each entry on its clusters, or on clusters that should be passed."""
    if not of_items(table, cluster):
        advice = "; ".join(_advice(table, metric))
        return np.full(table.sizes["pair"], advice, dtype=object)
    return few_clusters(str(cluster), estimates["n_clusters"].values)


def unmatched_notes(table: xr.Dataset, metric: Metric) -> NDArray[np.object_]:
    """Return a note for each pair with trials to which only one of its observers responded."""
    notes = np.full(table.sizes["pair"], "", dtype=object)
    if metric.counts in ("ratings", "rows", "margins") or "inclusion" in table:
        return notes
    for block in blocks(table):
        known = (block.correct != LEFT_OUT).astype(np.float32)
        both, own = (known @ known.T)[block.a, block.b], known.sum(axis=1)
        total = own[block.a] + own[block.b] - both
        notes[block.rows] = [
            note("unmatched", n=f"{all_ - common:,.0f}", total=f"{all_:,.0f}")
            if all_ > common
            else ""
            for all_, common in zip(total.tolist(), both.tolist(), strict=True)
        ]
    return notes


def require_clusters(table: xr.Dataset, cluster: str) -> None:
    """Raise `ValueError` unless clusters consist of items and there are at least two."""
    numbers = cluster_numbers(table, cluster)
    if not of_items(table, cluster):
        raise ValueError(
            f"cluster must be a column that describes items, got {cluster!r}; "
            "to keep such a column, give item_columns= when you read the data"
        )
    if len(np.unique(numbers)) < 2:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters, but all trials belong to "
            f"{str(table[cluster].values[0])!r}; leave cluster out"
        )


def few_clusters(cluster: str, number: NDArray[Any]) -> NDArray[np.object_]:
    """Note of each entry that is based on fewer than `FEWEST` clusters."""
    notes = {n: note("few-clusters", n=n, column=repr(cluster)) for n in range(2, FEWEST)}
    notes[1] = note("one-cluster", column=repr(cluster))
    return np.array([notes.get(int(n), "") for n in number], dtype=object)


def _advice(table: xr.Dataset, metric: Metric) -> Iterator[str]:
    """Note on columns that should be the cluster."""
    if "inclusion" in table:
        return
    for column in filter(None, table.attrs.get(ITEM_COLUMNS, "").split(SEPARATOR)):
        found = design_effect(table, metric, column)
        if found is not None and found.p_value < LEVEL:
            given = GIVEN.get(metric.counts, "accuracy")
            effects = f"{found.responses:.2f} for {given}, {found.metric:.2f} for this metric"
            yield note("clusters", column=repr(column), effects=effects)


class DesignEffect(NamedTuple):
    """Design effects of a column for a metric and for responses, with p-value of correlation."""

    metric: float
    responses: float
    p_value: float


def design_effect(table: xr.Dataset, metric: Metric, column: str) -> DesignEffect | None:
    """Design effects of a column, pooled over pairs, with a permutation test [K65]_ [PB10]_.

    Labels are permuted within groups of trials. The result is None if the column has too few
    values.
    """
    numbers = cluster_numbers(table, column)
    if len(np.unique(numbers)) < VALUES or len(numbers) < SIZE * len(np.unique(numbers)):
        return None
    generator = np.random.default_rng(0)
    found, expected, total = 0.0, 0.0, np.zeros(1 + N_PERMUTATIONS)
    for block in blocks(table):
        own = numbers[block.trials]
        size, n = np.bincount(own), max(len(own), 2)
        most = max(1, MOST // n)
        slopes = _unit(evaluator(block, metric).slopes())[:most]
        found += _square_of_sums(slopes, own)
        # Expected for slopes that sum to 0 in random order.
        expected += float((slopes**2).sum()) * (n - (size**2).sum() / n) / (n - 1)
        tested = _unit(_residuals(block, metric)[:most])
        total[0] += _square_of_sums(tested, own)
        for k in range(1, len(total)):
            total[k] += _square_of_sums(tested, generator.permutation(own))
    if not expected > 0:
        return None
    return DesignEffect(
        found / expected,
        float(total[0] / total[1:].mean()),
        float((1 + (total[1:] >= total[0]).sum()) / len(total)),
    )


def _residuals(block: Block, metric: Metric) -> Floats:
    """Responses of each observer minus their mean, 0 where it did not respond.

    Margins, indicators of each rating, or correctness: their correlation is easier to detect than
    that of influences on a pair's estimate.
    """
    if metric.counts == "margins":
        values, known = block.margins, np.isfinite(block.margins)
    elif metric.counts == "ratings":
        known = np.repeat(block.response >= 0, block.n_classes, axis=0)
        one_hot = block.response[:, None] == np.arange(block.n_classes)[:, None]
        values = one_hot.reshape(known.shape).astype(np.float64)
    else:
        values, known = block.correct.astype(np.float64), block.correct != LEFT_OUT
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, values, 0).sum(axis=1, keepdims=True) / n
    return np.asarray(np.where(known, values - mean, 0.0))


def _unit(slopes: Floats) -> Floats:
    """Influence of trials, scaled to the same sum of squares for every pair."""
    size = np.sqrt((slopes**2).sum(axis=1, keepdims=True))
    return np.divide(slopes, size, out=np.zeros_like(slopes), where=size > 0)


def _square_of_sums(slopes: Floats, numbers: NDArray[np.intp]) -> float:
    return float(((slopes @ indicator(numbers)[0]) ** 2).sum())


def of_design(
    part: xr.Dataset, estimates: xr.Dataset, metric: Metric, weights: Floats
) -> tuple[float, float, dict[str, str]]:
    """Center, degrees of freedom and notes of a weighted sum, for images sampled by a plan."""
    value = float(weights @ estimates["estimate"].values)
    if "inclusion" not in part:
        return value, np.inf, dict.fromkeys(("analytic", "bootstrap", "posterior"), "")
    center = float(weights @ estimates["interval_center"].values)
    df, effective = (float(found[0]) for found in freedom_of(part, metric, weights[None]))
    speaks = SPEAKS[part.attrs["generalize_to"]]
    few = few_images(effective)
    weighted = note("weighted-images", generalize_to=speaks)
    moved = abs(center - value) > APART
    about = note("weighted-center", center=f"{center:.3f}") if moved else ""
    notes = {
        "analytic": joined_notes(weighted, few, about),
        "bootstrap": joined_notes(weighted, few),
        "posterior": joined_notes(
            note("strata-images", generalize_to=speaks), several_people(part)
        ),
    }
    return center, df, notes


def design_notes(table: xr.Dataset, estimates: xr.Dataset) -> NDArray[np.object_]:
    """Note of each comparison: weighting of items, target population, effective sample size."""
    how = note("weighted-images", generalize_to=SPEAKS[table.attrs["generalize_to"]])
    effective = estimates["effective_images"].values
    return np.array([joined_notes(how, few_images(n)) for n in effective], dtype=object)


def few_images(effective: float) -> str:
    """Return a note if a variance is based on few images, otherwise an empty text."""
    # No note without variance: only models, or all images shown.
    if not effective < FEWEST_EFFECTIVE:
        return ""
    return note("few-effective-images", n=f"{effective:.1f}")


def several_people(part: xr.Dataset) -> str:
    """Return a note if posterior strata involve more than one human, otherwise an empty string."""
    ends = np.concatenate([part["first"].values, part["second"].values])
    return SEVERAL if part["asked"].values[np.unique(ends)].sum() > 1 else ""


# Results of pairs


def apart(result: Result) -> NDArray[np.bool_]:
    """Entries that are undefined because their observers have no common trial."""
    undefined = np.isnan(result.estimates["estimate"].values)
    if "cells" not in result.table:
        return np.zeros(len(undefined), dtype=bool)
    return np.asarray(undefined & ~result.table["cells"].values.any(axis=1))


def recurring(result: Result) -> NDArray[np.bool_]:
    """Return whether the group of trials of each entry has several trials of one cluster."""
    table, trials = result.table, _trials_of_clusters(result)
    if trials is None:
        return np.ones(table.sizes["pair"], dtype=bool)
    again = trials.loc[trials.duplicated(), "trial_group"].unique()
    return np.asarray(np.isin(table["pair_group"].values, again))


def _trials_of_clusters(result: Result) -> pd.DataFrame | None:
    """Data set, group and cluster of each trial; None if they are unknown."""
    table, cluster = result.table, result.data.attrs["cluster"]
    if not {cluster, "trial_dataset", "trial_group"} <= {*table.coords, *table.data_vars}:
        return None
    keys = ("trial_dataset", "trial_group", cluster)
    return pd.DataFrame({name: table[name].values for name in keys})


def counts_items(result: Result) -> bool:
    """Return whether each trial of a result is an item that was presented only once."""
    return result.data.attrs["cluster"] == "item" and not recurring(result).any()


def fewest_clusters(result: Result) -> int:
    """Effective number of item clusters if too small for posterior intervals, otherwise 0."""
    if "n_clusters" not in result.estimates:
        return 0
    one = result.estimates["n_clusters"].values == 1
    df = np.where(one, 0.0, result.estimates["df"].values)
    fewest = 1 + round(float(np.nanmin(df, initial=FEW_CLUSTERS)))
    return fewest if fewest < FEW_CLUSTERS else 0


def cluster_note(result: Result) -> str:
    """Return a note on how the posterior treats clusters, or an empty text if none is needed."""
    if "posterior" not in result.data.children or not result.data.attrs["cluster"]:
        return ""
    # Limits by moments have separate degrees of freedom.
    if (n := fewest_clusters(result)) and result.data.attrs["sampler"] != "moments":
        return note("few-clusters-posterior", n=n)
    trials = _trials_of_clusters(result)
    # A cluster may also have several trials across groups.
    once = trials is not None and not trials.drop(columns="trial_group").duplicated().any()
    if result.data["posterior"].attrs.get("clustered") or once:
        return ""
    return CLUSTERS.get(result.data.attrs["sampler"], IGNORED)


def repeats_note(result: Result) -> str:
    """Return a note on how repeated items are treated, or an empty text if none is needed."""
    repeats = result.table.attrs.get("repeats", "")
    if repeats == "paired" and not result.data.attrs["cluster"]:
        return AS_TRIALS
    return ONE_ANSWER if repeats == "crossed" and result.metric.draws == "rows" else ""


def missing_notes(result: Result, pairs: pd.DataFrame) -> NDArray[np.object_]:
    """Notes on missing responses, for the affected pairs."""
    if not result.missing_note or DATA_SUMMARY not in result.data.children:
        return np.full(len(pairs), result.missing_note, dtype=object)
    missing = result.data[DATA_SUMMARY]["n_missing"].to_pandas() > 0
    # The last row and column are totals over data sets and observers.
    there = np.pad(missing.to_numpy(), ((0, 1), (0, 1)))
    there[-1], there[:, -1] = there.any(axis=0), there.any(axis=1)
    there[-1, -1] = True
    of = missing.index.get_indexer(pairs["dataset"])
    who = [missing.columns.get_indexer(pairs[f"observer_{side}"]) for side in "ab"]
    return np.where(there[of, who].any(axis=0), result.missing_note, "").astype(object)
