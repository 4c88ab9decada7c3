"""Agreement within and between groups of observers, and of each observer with all others.

References
----------
.. [MRSW24] Mogstad, Romano, Shaikh, Wilhelm (2024). Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries.
   doi:10.1093/restud/rdad006
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base import notes
from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.frames import Columns, groups_of, with_columns
from alikely._base.intervals import CiKind, Intervals
from alikely._base.names import counted, listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.benchmark.decomposition import deviates_of_pairs, pair_contrasts
from alikely.benchmark.ranking import rank_sets
from alikely.data.trials import Trials
from alikely.estimates import pair_result
from alikely.estimates.contrasts import weighted_sum
from alikely.estimates.notes import apart as without_trials
from alikely.estimates.pair_result import draws as draws
from alikely.estimates.pairs import compare
from alikely.estimates.result import Result
from alikely.inference.influence import TINY, covariance_of, of_items, of_sums
from alikely.metrics import Metric

type Key = tuple[str, str]

ALL = "all groups"
WITHIN, BETWEEN, EXCESS = "within", "between", "within - between"
ALONE, APART = notes.told(notes.note("one-observer")), notes.told(notes.note("no-common-trials"))
UNDEFINED, FEW_MEANS = notes.told(notes.note("undefined-pair")), notes.told(notes.note("few-means"))
ONE_CLUSTER = notes.told(notes.note("one-cluster-mean"))
RANKS = (
    "system", "estimate", "se", "rank", "rank_lb", "rank_ub", "marginal_lb", "marginal_ub", "tier",
    "tied_with_top",
)  # fmt: skip


def group_scores(
    trials: Trials,
    between: str | Mapping[str, str] = "kind",
    metric: str | Metric = "error_consistency",
    *,
    ci_prob: float | None = None,
    rng: RandomState = None,
    **options: Any,
) -> Result:
    """Compare agreement within and between groups of observers without a reference group.

    Parameters
    ----------
    trials : Trials
        Aligned responses of all observers.
    between : str or mapping of str to str
        Name of an observer label that defines groups, such as ``"family"``, or a mapping from each
        observer's name to its group.
    metric : str or Metric
        A symmetric metric, as in `alikely.compare`.
    ci_prob : float
        Nominal coverage of each interval, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **options
        Options of `alikely.compare`, such as ``by="dataset"`` or ``n_resamples=0``.

    Returns
    -------
    Result
        ``summary()`` has one row per ``contrast`` (``"within"``, ``"between"``, ``"within -
        between"``), ``group``, ``group_b`` and ``method``, with columns

        - ``n_pairs``: number of pairs
        - ``n_pairs_no_overlap``: number of pairs without common trials in at least one condition;
          such pairs are excluded from these conditions
        - the columns of `alikely.contrast`

        `alikely.benchmark.ranks` returns one row per observer, with columns

        - ``group``, ``n_pairs``, ``n_pairs_no_overlap``
        - ``estimate``, ``se``: mean agreement with all other observers
        - ranks and rank sets [MRSW24]_, as returned by `alikely.benchmark.ranking.rank_sets`
        - ``note``: the reason if a mean or its rank is missing

        The attributes ``table``, ``pairs`` and ``undefined`` describe all pairs of observers.

    Raises
    ------
    TypeError
        If `trials` or `between` has the wrong type.
    ValueError
        If the label is unknown or an observer has no group.
    ValueError
        If there are fewer than two groups, or no group has two observers.
    ValueError
        If the metric is directed. See also `alikely.compare`.

    Notes
    -----
    Within a group, and between two groups, all pairs have equal weights. All conditions have equal
    weights. In means over all groups, all groups have equal weights, regardless of their number of
    observers. Intervals generalize to new items with the same observers.

    Examples
    --------
    >>> import alikely as al
    >>> found = al.benchmark.group_scores(al.load_example(), "family", n_resamples=0, rng=1)
    >>> table = found.summary(intervals=["analytic"])
    >>> table[["contrast", "group", "n_pairs"]].values.tolist()[:2]
    [['within', 'human', 6], ['within', 'convnet', 3]]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    of_type(trials, Trials, "make them with Trials.from_table")
    group = _groups(trials, between)
    result = compare(trials, metric, "all", ci_prob=ci_prob, rng=rng, **options)
    if not result.metric.symmetric:
        raise ValueError(
            f"{result.metric.name} is directed; group_scores needs a symmetric metric, such as "
            "error_consistency"
        )
    tree = result.data.copy()
    labels = xr.Dataset({"group": ("observer", list(group.values()))}, {"observer": list(group)})
    tree["groups"] = xr.DataTree(labels)
    tree.attrs = {**tree.attrs, "kind": "group"}
    return Result(tree)


# Functions that every kind of result has


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    return {**pair_result.SCHEMA, "groups": {"group": ("observer",)}}


def of_pairs(result: Result) -> Result:
    """Return the result of all pairs."""
    tree = result.data.copy()
    tree.attrs = {**tree.attrs, "kind": "pair"}
    return Result(tree)


def _members(result: Result) -> dict[str, str]:
    """The group of each observer."""
    groups = result.data["groups"].to_dataset()
    return dict(
        zip(groups["observer"].values.tolist(), groups["group"].values.tolist(), strict=True)
    )


def observers(result: Result) -> list[str]:
    """Names of all observers."""
    return list(_members(result))


def summary(
    result: Result, *, ci_prob: float, ci_kind: CiKind, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """Tabulate means within and between groups, and their differences."""
    group, pairs = _members(result), of_pairs(result)
    ends = pairs.pairs[["observer_a", "observer_b"]]
    names = list(dict.fromkeys(group.values()))
    place = np.sort(ends.map(lambda name: names.index(group[name])).to_numpy(), axis=1)
    members = {
        (names[i], names[j]): (place == (i, j)).all(axis=1)
        for i, j in itertools.combinations_with_replacement(range(len(names)), 2)
    }
    weights = {
        key: mean for key, own in members.items() if (mean := _mean_over(pairs, own)) is not None
    }
    rows = []
    for statement, one, other, inside, outside in _statements(names, weights):
        own = np.zeros(len(ends), bool) | np.any([members[k] for k in inside + outside], axis=0)
        n_pairs, n_pairs_no_overlap = (
            len(ends[chosen].drop_duplicates()) for chosen in (own, own & without_trials(pairs))
        )
        known = [[weights[k] for k in keys if k in weights] for keys in (inside, outside)]
        means = [np.mean(each, axis=0) for each in known if each]
        row: dict[str, Any] = {"contrast": statement, "group": one, "group_b": other}
        row |= {"n_pairs": n_pairs, "n_pairs_no_overlap": n_pairs_no_overlap}
        if len(means) < (2 if statement == EXCESS else 1):
            note = APART if n_pairs else ALONE
            rows.append(row | {"method": "analytic", "estimate": np.nan, "note": note})
            continue
        sign = means[0] if len(means) == 1 else means[0] - means[1]
        apart = f"{n_pairs_no_overlap:,} of {n_pairs:,} pairs have no common trials in a condition"
        found = weighted_sum(pairs, sign, ci_prob=ci_prob, ci_kind=ci_kind, intervals=intervals)
        for method, told in found.iterrows():
            note = "; ".join(filter(None, [apart if n_pairs_no_overlap else "", told["note"]]))
            rows.append(row | {"method": str(method)} | told.to_dict() | {"note": note})
    frame = pd.DataFrame(rows)
    return with_columns(frame, list(frame), columns)


def method(result: Result, interval: str | None = None) -> str:
    """Choose the method whose interval a page shows."""
    if interval is not None:
        return interval
    pairs = of_pairs(result)
    weights = _mean_over(pairs, np.ones(pairs.table.sizes["pair"], bool))
    found = [] if weights is None else weighted_sum(pairs, weights).index.tolist()
    return str((*found, "analytic")[0])


def page_columns(_: Result, frame: pd.DataFrame, __: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a page shows."""
    bounds = [str(name) for name in frame if str(name).endswith(("_lb", "_ub"))]
    return ["contrast", "group", "group_b", "n_pairs", "estimate", *bounds]


def describe(result: Result) -> str:
    """Describe the size of the result in one line."""
    n = len(set(_members(result).values()))
    return f"{counted(n, 'group')}, {pair_result.describe(of_pairs(result))}"


def ranks(result: Result, *, ci_prob: float, rng: RandomState = None) -> pd.DataFrame:
    """Rank observers by their mean agreement with all others, undefined means last."""
    seed = int(result.data.attrs["seed"]) if rng is None else rng
    group, result = _members(result), of_pairs(result)
    table, metric, value = result.table, result.metric, result.estimates["estimate"].values
    ends = result.pairs[["observer_a", "observer_b"]]
    means = {name: _mean_over(result, (ends == name).any(axis=1).to_numpy()) for name in group}
    weights = {k: w for k, w in means.items() if w is not None and not np.isnan(value[w > 0]).any()}
    told, w = list(weights), np.reshape(list(weights.values()), (-1, len(value)))
    estimate, contrasts = w @ np.nan_to_num(value), pair_contrasts(len(told))
    cluster = result.data.attrs["cluster"] or None
    spread = covariance_of(table, metric, cluster, w)
    deviates = None
    if cluster is not None and of_items(table, cluster):
        sums = of_sums(table, metric, cluster, np.concatenate([w, contrasts @ w]))
        variances, df, *_ = sums[:, len(told) :]
        # The variance of each mean uses its number of clusters.
        factor = np.sqrt(sums[0, : len(told)] / np.maximum(np.diag(spread), TINY))
        spread *= np.outer(factor, factor)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = contrasts @ estimate / np.sqrt(variances)
        deviates = deviates_of_pairs(t, df, len(told))
    (ranking,) = seed_sequence(seed).spawn(1)
    why = ONE_CLUSTER if not np.isfinite(spread).all() else FEW_MEANS if len(told) < 2 else ""
    if why:
        rows = {"system": told, "estimate": estimate, "se": np.sqrt(np.diag(spread)), "note": why}
        found = pd.DataFrame(rows).reindex(columns=[*RANKS, "note"])
    else:
        found = rank_sets(
            estimate, spread, told, ci_prob=ci_prob, deviates=deviates, rng=ranking
        ).assign(note="")
    lost = {name: APART if means[name] is None else UNDEFINED for name in group}
    rest = pd.DataFrame({"system": lost.keys(), "note": lost.values()}).query("system not in @told")
    parts = [part for part in (found, rest.reindex(columns=found.columns)) if len(part)]
    observers = pd.concat(parts, ignore_index=True).rename(columns={"system": "observer"})
    observers.insert(1, "group", observers["observer"].map(group))
    for at, (name, rows) in enumerate(
        {"n_pairs": ends, "n_pairs_no_overlap": ends[without_trials(result)]}.items()
    ):
        number_of = rows.drop_duplicates().stack().value_counts()
        observers.insert(2 + at, name, observers["observer"].map(number_of).fillna(0).astype(int))
    return observers


def _groups(trials: Trials, between: str | Mapping[str, str]) -> dict[str, str]:
    names = trials.observers
    if isinstance(between, str):
        labels = [str(k) for k in trials.data.coords if trials.data[k].dims == ("observer",)]
        known = [label for label in labels if label != "observer"]
        if between not in known:
            raise ValueError(
                f"between must be a label of the observers ({listed(known)}), got {between!r}"
                f"{nearest(between, known)}; or give a mapping of names to groups"
            )
        between = dict(zip(names, trials.data[between].values.astype(str).tolist(), strict=True))
    group = dict(zip(names, groups_of(names, between, "group"), strict=True))
    sizes = pd.Series(group).value_counts()
    if len(sizes) < 2 or sizes.max() < 2:
        raise ValueError(
            "between must give at least two groups, one with at least two observers, got "
            f"{listed(sizes.index)}; choose another label, or al.compare for single pairs"
        )
    return group


def _statements(
    names: Sequence[str], known: Container[Key]
) -> Iterator[tuple[str, str, str, list[Key], list[Key]]]:
    """Contrasts, their groups, and the pairs of groups within and between that they average."""
    within: list[Key] = [(name, name) for name in names]
    between: list[Key] = list(itertools.combinations(names, 2))
    for key in within:
        yield WITHIN, *key, [key], []
    for key in between:
        yield BETWEEN, *key, [], [key]
    for name in [*names, ALL]:
        inside, outside = (
            [key for key in keys if name in (*key, ALL) and key in known]
            for keys in (within, between)
        )
        if name == ALL:
            yield WITHIN, ALL, ALL, inside, []
            yield BETWEEN, ALL, ALL, [], outside
        yield EXCESS, name, ALL if name == ALL else "others", inside, outside


def _mean_over(result: Result, which: NDArray[np.bool_]) -> Floats | None:
    """Weights of a mean over conditions and over the pairs with common trials in each."""
    used = which & ~without_trials(result)
    if not used.any():
        return None
    place = result.pairs[["dataset", "condition"]][used]
    size = place.groupby(["dataset", "condition"])["dataset"].transform("size").to_numpy()
    weights = np.zeros(len(which))
    weights[used] = 1 / size
    return weights / weights.sum()
