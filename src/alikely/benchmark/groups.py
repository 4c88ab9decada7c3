"""Groups of observers without a reference: alike within, alike between, and each with the rest.

References
----------
.. [MRSW24] Mogstad, Romano, Shaikh, Wilhelm (2024). Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries.
   doi:10.1093/restud/rdad006
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import Intervals
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.benchmark.contrasts import pairwise_differences
from alikely.benchmark.ranking import rank_sets
from alikely.data.trials import Trials
from alikely.estimates.pairs import compare
from alikely.estimates.result import Result
from alikely.estimates.weighted_sums import contrast
from alikely.inference.influence import covariance_of, of_items, of_sum
from alikely.inference.weighted import student_deviate
from alikely.metrics import Metric

__all__ = ["GroupScores", "group_scores"]

ALL = "all groups"
WITHIN, BETWEEN, EXCESS = "within", "between", "within - between"
ALONE = "one observer: nothing within"


class GroupScores(NamedTuple):
    """How alike observers are within groups and between them.

    Attributes
    ----------
    groups : pandas.DataFrame
        One row per ``statement`` (``"within"``, ``"between"``, ``"within - between"``), ``group``,
        ``other`` and ``school``: ``n_pairs``, of which ``n_apart`` share no trial in a condition
        and take no part there, and what `alikely.contrast` says: ``estimate, se``, bounds,
        ``p_value``, ``p_positive``, ``note``.
    observers : pandas.DataFrame
        One row per observer: ``group``, ``n_pairs`` and ``n_apart`` as there, the mean with all
        others (``estimate, se``), and ranks with the sets that admit ties [MRSW24]_, as from
        `alikely.benchmark.ranking.rank_sets`.
    differences : pandas.DataFrame
        Of these means, two by two, as from `alikely.benchmark.contrasts.pairwise_differences`.
    result : Result
        All pairs that they are made of.
    """

    groups: pd.DataFrame
    observers: pd.DataFrame
    differences: pd.DataFrame
    result: Result


def group_scores(
    trials: Trials,
    between: str | Mapping[str, str] = "kind",
    metric: str | Metric = "error_consistency",
    *,
    ci_prob: float | None = None,
    intervals: Intervals = None,
    rng: RandomState = None,
    **options: Any,
) -> GroupScores:
    """Agreement within and between groups of observers of any label, without a reference.

    Parameters
    ----------
    trials : Trials
        Aligned responses of all observers.
    between : str or mapping of str to str
        Label of the observers, such as ``"family"``, or the group of each observer by name.
    metric : str or Metric
        As in `alikely.compare`; a symmetric one.
    ci_prob : float
        Of all intervals, in (0, 1).
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Rows of ``groups``: the recommended method, every valid one, or those that are named.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **options
        Of `alikely.compare`, such as ``by="dataset"`` or ``n_resamples=0``.

    Returns
    -------
    GroupScores

    Raises
    ------
    TypeError
        If `trials` is none, or `between` neither.
    ValueError
        If there are no such labels, an observer has none, there are fewer than two groups or no
        group of two, the metric is directed, or as in `alikely.compare`.

    Notes
    -----
    Pairs of a group, or of two groups, weigh alike, as do conditions; groups weigh alike in the
    means over all of them, however many observers they have. Intervals are of these observers and
    new items.

    Examples
    --------
    >>> import alikely as al
    >>> found = al.benchmark.group_scores(al.load_example(), "family", n_resamples=0, rng=1)
    >>> table = found.groups.query("school == 'analytic'")
    >>> table[["statement", "group", "n_pairs"]].values.tolist()[:2]
    [['within', 'human', 6], ['within', 'convnet', 3]]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials, got {type(trials).__name__}")
    group = _groups(trials, between)
    result = compare(trials, metric, "all", ci_prob=ci_prob, rng=rng, **options)
    if not result.metric.symmetric:
        raise ValueError(
            f"{result.metric.name} depends on the order of a pair; groups need a metric that does "
            "not"
        )
    rows = [
        row | {"school": str(school)} | told.to_dict()
        for row, weights in _statements(result, group)
        for school, told in _contrast(result, weights, ci_prob, intervals, row).iterrows()
    ]
    order = ["statement", "group", "other", "n_pairs", "n_apart", "school"]
    groups = pd.DataFrame(rows)
    observers, differences = _observers(result, group, ci_prob, rng)
    return GroupScores(
        groups[[*order, *groups.columns.drop(order)]], observers, differences, result
    )


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
        group = dict(zip(names, trials.data[between].values.astype(str).tolist(), strict=True))
    else:
        if not isinstance(between, Mapping):
            raise TypeError(
                f"between must be a label of the observers, or the group of each by name; got "
                f"{type(between).__name__}"
            )
        missing = [name for name in names if name not in between]
        if missing:
            raise ValueError(f"observer {missing[0]!r} has no group; give one for every observer")
        group = {name: str(between[name]) for name in names}
    sizes = pd.Series(group).value_counts()
    if len(sizes) < 2 or sizes.max() < 2:
        raise ValueError(
            f"there must be two groups, one of them with two observers, got {listed(sizes.index)}; "
            "choose another label, or al.compare for single pairs"
        )
    return group


def _statements(
    result: Result, group: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], Floats | None]]:
    """What is said, and the weights of the pairs in it; none where there are none."""
    names = list(dict.fromkeys(group.values()))
    of_a, of_b = (result.pairs[f"observer_{side}"].map(group).to_numpy() for side in "ab")
    chosen = {
        (one, other): ((of_a == one) & (of_b == other)) | ((of_a == other) & (of_b == one))
        for one, other in itertools.combinations_with_replacement(names, 2)
    }
    weights = {key: _mean_over(result, which) for key, which in chosen.items()}
    pairs = result.pairs[["observer_a", "observer_b"]]

    def told(statement: str, one: str, other: str, which: NDArray[np.bool_]) -> dict[str, Any]:
        numbers = (len(pairs[rows].drop_duplicates()) for rows in (which, which & result.apart()))
        names = ("statement", "group", "other", "n_pairs", "n_apart")
        return dict(zip(names, (statement, one, other, *numbers), strict=True))

    for name in names:
        yield told(WITHIN, name, name, chosen[name, name]), weights[name, name]
    apart = list(itertools.combinations(names, 2))
    for key in apart:
        yield told(BETWEEN, *key, chosen[key]), weights[key]
    for name in [*names, ALL]:
        inside = [(n, n) for n in names if name in (n, ALL) and weights[n, n] is not None]
        outside = [key for key in apart if name in (*key, ALL) and weights[key] is not None]
        everything = _any_of(chosen, [*inside, *outside])
        means = [_mean_of([weights[key] for key in keys]) for keys in (inside, outside)]
        excess = None if means[0] is None or means[1] is None else means[0] - means[1]
        if name == ALL:
            for statement, keys, mean in zip(
                (WITHIN, BETWEEN), (inside, outside), means, strict=True
            ):
                yield told(statement, ALL, ALL, _any_of(chosen, keys)), mean
        yield told(EXCESS, name, ALL if name == ALL else "others", everything), excess


def _any_of(
    chosen: Mapping[tuple[str, str], NDArray[np.bool_]], keys: list[tuple[str, str]]
) -> NDArray[np.bool_]:
    """Pairs of any of some groups; none of no groups."""
    none = np.zeros_like(next(iter(chosen.values())))
    return np.any([none, *(chosen[key] for key in keys)], axis=0)


def _mean_of(weights: list[Floats | None]) -> Floats | None:
    known = [each for each in weights if each is not None]
    return np.mean(known, axis=0) if known else None


def _mean_over(result: Result, which: NDArray[np.bool_]) -> Floats | None:
    """Weights of a mean over conditions of means over pairs that have common trials."""
    used = which & ~result.apart()
    if not used.any():
        return None
    place = result.pairs[["dataset", "condition"]][used]
    size = place.groupby(["dataset", "condition"])["dataset"].transform("size").to_numpy()
    weights = np.zeros(len(which))
    weights[used] = 1 / size
    return weights / weights.sum()


def _contrast(
    result: Result,
    weights: Floats | None,
    ci_prob: float,
    intervals: Intervals,
    told: Mapping[str, Any],
) -> pd.DataFrame:
    n_pairs, apart = told["n_pairs"], told["n_apart"]
    if weights is None:
        note = "no common trial" if n_pairs else ALONE
        return pd.DataFrame({"estimate": [np.nan], "note": [note]}, index=["analytic"])
    found = contrast(result, weights, ci_prob=ci_prob, intervals=intervals)
    if apart:
        # A pair may have common trials in some conditions only.
        text = f"{apart:,} of {n_pairs:,} pairs without a common trial somewhere"
        found["note"] = ["; ".join(filter(None, [text, note])) for note in found["note"]]
    return found


def _of_few_clusters(result: Result, cluster: str, weights: Floats, ci_prob: float) -> float:
    """Factor by which normal limits become those of so many clusters."""
    found = [of_sum(result.table, result.metric, cluster, each) for each in weights]
    number, df = min(each.number for each in found), min(each.df for each in found)
    student = float(student_deviate(np.array(df), ci_prob))
    normal = float(special.ndtri((1 + ci_prob) / 2))
    return number / max(number - 1, 1) * (student / normal) ** 2


def _observers(
    result: Result, group: Mapping[str, str], ci_prob: float, rng: RandomState
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means of each observer with all others; those without any stand at the end."""
    pairs = result.pairs
    found = {
        name: _mean_over(
            result, (pairs[["observer_a", "observer_b"]] == name).any(axis=1).to_numpy()
        )
        for name in group
    }
    means = {name: weights for name, weights in found.items() if weights is not None}
    names, w = list(means), np.stack(list(means.values()))
    estimate = w @ np.nan_to_num(result.estimates["estimate"].values)
    undefined = (w != 0) @ np.isnan(result.estimates["estimate"].values) > 0
    cluster = result.data.attrs["cluster"] or None
    kept = np.flatnonzero(~undefined)
    spread = covariance_of(result.table, result.metric, cluster, w[kept])
    if cluster is not None and of_items(result.table, cluster):
        spread *= _of_few_clusters(result, cluster, w[kept], ci_prob)
    told = [names[i] for i in kept]
    ranking, differing = seed_sequence(rng).spawn(2)
    ranks = rank_sets(estimate[kept], spread, told, ci_prob=ci_prob, rng=ranking)
    ranks.insert(1, "group", ranks["system"].map(group))
    lost = [name for name in group if name not in told]
    empty = pd.DataFrame({"system": lost, "group": [group[name] for name in lost]})
    observers = pd.concat([ranks, empty], ignore_index=True) if lost else ranks
    apart = pairs[result.apart()]
    for at, (name, rows) in enumerate({"n_pairs": pairs, "n_apart": apart}.items()):
        ends = rows[["observer_a", "observer_b"]].drop_duplicates().stack().value_counts()
        observers.insert(2 + at, name, observers["system"].map(ends).fillna(0).astype(int))
    differences = pairwise_differences(told, estimate[kept], spread, ci_prob, differing)
    return observers.rename(columns={"system": "observer"}), differences
