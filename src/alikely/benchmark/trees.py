"""Hierarchical clustering of observers by agreement, with bootstrap support of each branch.

References
----------
.. [F85] Felsenstein (1985). Confidence limits on phylogenies: an approach using the bootstrap.
   doi:10.1111/j.1558-5646.1985.tb00420.x
.. [HA85] Hubert, Arabie (1985). Comparing partitions. doi:10.1007/BF01908075
.. [M81] Milligan (1981). A Monte Carlo study of thirty internal criterion measures for cluster
   analysis. doi:10.1007/BF02293899
.. [SM58] Sokal, Michener (1958). A statistical method for evaluating systematic relationships.
   University of Kansas Science Bulletin 38, 1409-1438.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from scipy.special import comb

from alikely._base.arrays import Floats
from alikely._base.frames import Columns, groups_of, with_columns
from alikely._base.intervals import Intervals, bound_names
from alikely._base.names import counted, listed, number
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_total
from alikely._base.steps import step
from alikely.data.summaries import DATA_SUMMARY
from alikely.data.tables import Packed, all_cells, pack
from alikely.estimates.contrasts import mean
from alikely.estimates.matrices import (
    cluster_column,
    cluster_numbers,
    packed_answers,
    responses_by,
)
from alikely.estimates.result import Result, of_kind
from alikely.metrics import Metric

# Replicates per job.
REPLICATES = 10
# Maximum number of leaves in optimal order, which is slow to compute for more.
MOST_ORDERED = 1_000
# Maximum fraction of replicates without a tree, because pairs are undefined.
MOST_LOST = 0.05
# Groups whose replicates have a lower mean adjusted Rand index are not advised: it was at most 0.37
# for 300 models without families, and at least 0.82 with ten families.
REPRODUCED = 0.5


def families(
    matrix: Result,
    n_groups: int | None = None,
    *,
    n_resamples: int = 1_000,
    rng: RandomState = None,
) -> Result:
    """Cluster observers by agreement, with bootstrap support for each branch.

    Observers are clustered by average linkage [SM58]_. The bootstrap resamples trials within
    each condition, recomputes the tree, and counts how often each branch recurs with the same
    members [F85]_.

    Parameters
    ----------
    matrix : Result
        As returned by `alikely.pairwise_matrix`. Estimates are averaged over conditions.
    n_groups : int, optional
        Number of groups. Default: the number that maximizes the point-biserial correlation between
        estimates and membership in the same group [M81]_, or 1 if bootstrap replicates do not
        reproduce the groups.
    n_resamples : int
        Number of bootstrap replicates. 0 disables branch support.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Result
        ``summary()`` has one row per observer, in the order of leaves, with columns

        - ``observer``
        - ``family``: number of the family, from 1 in the order of leaves
        - ``size``, ``support``: size and support of the family's branch; support is NaN for a
          family with one member
        - ``note``

        ``sentence()`` reports how well groups found in bootstrap replicates match the groups found
        in the data. The data set ``estimates`` has the dim ``branch`` and the following variables:

        - ``linkage``: as returned by `scipy.cluster.hierarchy.linkage`; the height of a
          branch is the maximum possible value minus ``estimate``
        - ``estimate``: mean estimate between the two parts of the branch
        - ``support``: proportion of bootstrap replicates in which the same observers form a branch

        ``data.attrs`` has ``n_groups``, ``n_resamples`` and ``reproducibility``.
        ``reproducibility`` is the mean adjusted Rand index [HA85]_ between the groups in the data
        and those in each bootstrap replicate, each with its recommended number of groups. The
        adjusted Rand index is at most 1, about 0 by chance, and NaN if there are no bootstrap
        replicates.

    Raises
    ------
    ValueError
        If the metric is directed, or if its value is undefined for some pairs.
    ValueError
        If `n_groups` is not between 1 and the number of observers.
    ValueError
        If estimates for some pairs are undefined in more than 5% of replicates.
    ValueError
        If a matrix computed from labels or probabilities was loaded without its trials (see
        `alikely.Result.load`).

    Notes
    -----
    Bootstrap support is not the probability that a branch is correct, but it is close to this
    probability. In simulated trees of 10 to 30 observers (`docs/validation`), branches with support
    above 0.95 were correct in nearly all cases. If all pairs of observers agree equally well,
    branches are arbitrary and have little support. Support counts only replicates in which a branch
    has exactly the same members, so large families have low support even if most of their members
    stay together. Each observer that resembles no other observer forms a separate group, so the
    tree usually has more groups than there are families.

    Examples
    --------
    >>> import alikely as al
    >>> matrix = al.pairwise_matrix(al.load_example(), by=None)
    >>> tree = al.benchmark.families(matrix, n_resamples=200, rng=1)
    >>> tree
    <Result error_consistency: tree of 10 observers, 4 groups, 200 bootstrap replicates>
    >>> tree.summary()["family"].value_counts(sort=False).tolist()
    [4, 1, 4, 1]
    """
    if n_resamples < 0:
        raise ValueError(f"n_resamples must be 0 or more, got {n_resamples}")
    check_total({"n_resamples": n_resamples})
    value = complete_estimates(matrix, "a tree").mean(axis=0)
    metric, names = matrix.metric, matrix.observers
    if n_groups is not None and not 1 <= n_groups <= len(names):
        raise ValueError(f"n_groups must be from 1 to {len(names)} observers, got {n_groups}")
    ordered = len(names) <= MOST_ORDERED
    linkage = hierarchy.linkage(metric.bounds[1] - value, "average", optimal_ordering=ordered)
    support, reproducibility, n_kept = np.full(len(linkage), np.nan), np.nan, 0
    if n_resamples:
        support, reproducibility, n_kept = _replicated(matrix, linkage, n_resamples, rng)
    advised = _advised(linkage)
    n_families = int((np.bincount(_cut(linkage, advised)) > 1).sum())
    replicate = n_families > 1 and not reproducibility < REPRODUCED
    estimates = xr.Dataset(
        {
            "linkage": (("branch", "column"), linkage),
            "estimate": ("branch", metric.bounds[1] - linkage[:, 2]),
            "support": ("branch", support),
        },
        coords={"observer": np.array(names, dtype=object)},
    )
    return of_matrix(
        matrix, "tree", {"estimates": estimates}, n_advised=advised, n_families=n_families,
        n_groups=n_groups or (advised if replicate else 1), n_resamples=n_kept,
        reproducibility=reproducibility,
    )  # fmt: skip


def of_matrix(
    matrix: Result, kind: str, parts: Mapping[str, xr.Dataset], **attrs: object
) -> Result:
    """Make a result of another kind with the attributes and the data summary of a matrix."""
    kept = [name for name in (DATA_SUMMARY,) if name in matrix.data.children]
    tree = xr.DataTree.from_dict(
        {**parts, **{name: matrix.data[name].to_dataset() for name in kept}}
    )
    tree.attrs = {**matrix.data.attrs, "kind": kind, **attrs}
    return Result(tree)


# Functions that every kind of result has


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    branch = ("branch",)
    known = {"linkage": ("branch", "column"), "estimate": branch, "support": branch}
    return {"estimates": known}


def observers(tree: Result) -> list[str]:
    """Names of the observers, in the order of the matrix."""
    return [str(name) for name in tree.estimates["observer"].values]


def summary(tree: Result, *, intervals: Intervals, columns: Columns) -> pd.DataFrame:
    """Tabulate the group of each observer."""
    if intervals and intervals != "all":
        raise ValueError(f"a tree has no intervals, got intervals={intervals!r}; leave it out")
    linkage, names = tree.estimates["linkage"].values, np.array(tree.observers, dtype=object)
    leaves = hierarchy.leaves_list(linkage)
    family = pd.factorize(_cut(linkage, int(tree.data.attrs["n_groups"]))[leaves])[0] + 1
    support = tree.estimates["support"].values
    known = dict(zip(map(frozenset, branch_members(linkage)), support, strict=True))
    parts = {f: frozenset(leaves[family == f].tolist()) for f in np.unique(family)}
    frame = pd.DataFrame(
        {
            "observer": names[leaves],
            "family": family,
            "size": [len(parts[f]) for f in family],
            "support": [known.get(parts[f], np.nan) for f in family],
            "note": _note(tree),
        }
    )
    return with_columns(frame, list(frame), columns)


def method(_: Result, interval: str | None = None) -> str:
    """Return the method whose interval a report shows; by default, none."""
    return interval or ""


def page_columns(_: Result, __: pd.DataFrame, ___: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a page shows."""
    return ["observer", "family", "size", "support"]


def describe(tree: Result) -> str:
    """Describe the size of the result in one line."""
    n, attrs = len(tree.observers), tree.data.attrs
    groups = counted(int(attrs["n_groups"]), "group")
    return f"tree of {n} observers, {groups}, {attrs['n_resamples']} bootstrap replicates"


def branches(tree: Result) -> pd.DataFrame:
    """Tabulate all branches below the root, the best supported first.

    Columns ``size``, ``estimate``, ``support`` and ``members`` (names, in the order of leaves).
    """
    at, names = tree.estimates, tree.observers
    rank = np.argsort(hierarchy.leaves_list(at["linkage"].values))
    members = branch_members(at["linkage"].values)
    frame = at[["estimate", "support"]].to_dataframe()
    frame.insert(0, "size", [len(own) for own in members])
    frame["members"] = [
        tuple(names[k] for k in sorted(own, key=rank.__getitem__)) for own in members
    ]
    return frame[:-1].sort_values(
        ["support", "size"], ascending=False, kind="stable", ignore_index=True
    )


def members(tree: Result) -> pd.DataFrame:
    """Tabulate the groups with at least two members, largest first.

    Columns ``family``, ``size``, ``support`` and ``members`` (names).
    """
    found = tree.summary().query("size > 1")
    table = found.groupby(["family", "size", "support"], dropna=False)["observer"].agg(tuple)
    table = table.rename("members").reset_index()
    return table.sort_values("size", ascending=False, kind="stable", ignore_index=True)


def _note(tree: Result) -> str:
    """Why the recommended groups are no families, or empty."""
    rand = tree.data.attrs["reproducibility"]
    if tree.data.attrs["n_families"] < 2:
        return "no families: all groups but one have a single member"
    if np.isnan(rand):
        return "no bootstrap replicates: these groups may be due to chance"
    if rand < REPRODUCED:
        return (
            "no families that replicate: the adjusted Rand index between bootstrap replicates is "
            f"{number(rand, 2)} (below {REPRODUCED:.2f}); more trials may show some"
        )
    return ""


def branch_members(linkage: Floats) -> list[list[int]]:
    """Return the positions of the observers in every branch."""
    found: list[list[int]] = [[k] for k in range(len(linkage) + 1)]
    for a, b in linkage[:, :2].astype(int):
        found.append(found[a] + found[b])
    return found[len(linkage) + 1 :]


def _replicated(
    matrix: Result, linkage: Floats, n_resamples: int, rng: RandomState
) -> tuple[Floats, float, int]:
    """Support of branches, reproducibility of groups, and number of replicates with a tree."""
    metric, n = matrix.metric, len(matrix.observers)
    answers: Sequence[Any] = (
        packed_answers(matrix) if metric.all_pairs is None else responses_by(matrix)
    )
    seed = seed_sequence(rng)
    keys = np.random.default_rng(seed.spawn(1)[0]).integers(
        0, np.iinfo(np.int64).max, n, dtype=np.uint64
    )
    own = _marks(linkage, keys), _cut(linkage, _advised(linkage))
    starts = range(0, n_resamples, REPLICATES)
    clusters = cluster_numbers(matrix) if cluster_column(matrix) else None
    jobs = [
        (answers, metric, keys, own, min(REPLICATES, n_resamples - start), child, clusters)
        for start, child in zip(starts, seed.spawn(len(starts)), strict=True)
    ]
    with step(f"{n_resamples:,} bootstrap replicates of the tree"):
        found = np.sum(list(in_parallel(_found, jobs)), axis=0)
    n_lost = int(found[-1])
    if n_lost > MOST_LOST * n_resamples:
        raise ValueError(
            f"{n_lost} of {n_resamples} replicates have undefined pairs, because some observers "
            "make almost no or only errors; leave these observers out with sel"
        )
    n_kept = n_resamples - n_lost
    return found[:-2] / n_kept, float(found[-2] / n_kept), n_kept


def complete_estimates(matrix: Result, what: str) -> Floats:
    """Estimates of a matrix, (condition, pair); an error if some are undefined."""
    names = of_kind(matrix, "matrix").observers
    estimates = matrix.estimates["estimate"].values
    value = estimates.reshape(-1, estimates.shape[-1])
    if (undefined := np.isnan(value).any(axis=0)).any():
        i, j = np.triu_indices(len(names), k=1)
        lost = [f"{names[i[k]]} x {names[j[k]]}" for k in np.flatnonzero(undefined)]
        raise ValueError(
            f"{what} needs all pairs, and estimates of {counted(len(lost), 'pair')} are undefined "
            f"in some condition: {listed(lost, 3)}; leave these observers or conditions out with "
            "sel"
        )
    return np.asarray(value)


def block_means(
    matrix: Result, by: Mapping[str, str], *, ci_prob: float | None = None
) -> pd.DataFrame:
    """Compute mean estimates within and between groups of observers, for new trials."""
    names = of_kind(matrix, "matrix").observers
    members: dict[str, list[str]] = {}
    for name, group in zip(names, groups_of(names, by, "group"), strict=True):
        members.setdefault(group, []).append(name)
    if len(members) < 2:
        raise ValueError(f"by must have at least two groups, got {listed(members)}")
    prob, kind = matrix.interval_options(ci_prob, None)
    shown = zip(bound_names("", kind, prob), bound_names("analytic", "ci", prob), strict=True)
    columns = {"estimate": "estimate", "se": "se", **dict(shown)}
    columns |= {name: name for name in ("p_value", "n_pairs", "n_places")}
    labels, rows = list(members), []
    for k, a in enumerate(labels):
        for b in labels[k:]:
            if a != b or len(members[a]) > 1:
                block = {"observer_a": members[a], "observer_b": members[b]}
                row = mean(matrix, block, ci_prob=ci_prob).loc["analytic"]
                rows.append({"group_a": a, "group_b": b, **row[list(columns)].rename(columns)})
    return pd.DataFrame(rows).astype({"n_pairs": int, "n_places": int})


def _advised(linkage: Floats) -> int:
    """Number of groups with the largest point-biserial correlation."""
    n = len(linkage) + 1
    size = np.concatenate([np.ones(n), linkage[:, 3]])
    a, b = linkage[:, :2].astype(int).T
    pairs = size[a] * size[b]
    # Heights in average linkage are means over the pairs that a merge puts into one group.
    within, distance = np.cumsum(pairs)[:-1], np.cumsum(pairs * linkage[:, 2])
    if n < 3:
        return 1
    total = n * (n - 1) / 2
    between = total - within
    gap = (distance[-1] - distance[:-1]) / between - distance[:-1] / within
    return n - 1 - int(np.argmax(gap * np.sqrt(within * between)))


def _cut(linkage: Floats, n: int) -> NDArray[np.intp]:
    """Groups of observers, numbered from 0."""
    return np.asarray(hierarchy.cut_tree(linkage, n_clusters=n)[:, 0], dtype=np.intp)


def _marks(linkage: Floats, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Number of each branch that depends only on its members."""
    n = len(keys)
    marks = np.concatenate([keys, np.zeros(len(linkage), dtype=np.uint64)])
    for k, (a, b) in enumerate(linkage[:, :2].astype(int)):
        marks[n + k] = marks[a] ^ marks[b]
    return marks[n:]


def _adjusted_rand(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """Adjusted Rand index of two groupings [HA85]_."""
    both, one, other = (
        comb(np.unique(labels, axis=-1, return_counts=True)[1], 2).sum()
        for labels in (np.stack([a, b]), a, b)
    )
    chance, most = one * other / comb(len(a), 2), (one + other) / 2
    return 1.0 if most == chance else float((both - chance) / (most - chance))


def _found(
    places: Sequence[Any],
    metric: Metric,
    keys: NDArray[np.uint64],
    own: tuple[NDArray[np.uint64], NDArray[np.intp]],
    n_replicates: int,
    seed: np.random.SeedSequence,
    clusters: Sequence[NDArray[np.intp]] | None,
) -> Floats:
    """Count replicates with each branch; sum the agreement of groups; count lost replicates."""
    rng = np.random.default_rng(seed)
    marks, groups = own
    found = np.zeros(len(marks) + 2)
    given = [_replicate(of_place, metric, len(keys)) for of_place in places]
    chosen = _trials_drawn(rng, [n_trials for n_trials, _ in given], clusters)
    for _ in range(n_replicates):
        parts = zip(given, next(chosen), strict=True)
        value = np.mean([of_trials(drawn) for (_, of_trials), drawn in parts], axis=0)
        if np.isnan(value).any():
            found[-1] += 1
            continue
        tree = hierarchy.linkage(metric.bounds[1] - value, "average")
        found[:-2] += np.isin(marks, _marks(tree, keys))
        found[-2] += _adjusted_rand(groups, _cut(tree, _advised(tree)))
    return found


def _trials_drawn(
    rng: np.random.Generator, sizes: Sequence[int], clusters: Sequence[NDArray[np.intp]] | None
) -> Iterator[list[NDArray[np.intp]]]:
    """Resample the trials of each condition, or whole clusters, without end."""
    while clusters is None:
        yield [rng.integers(0, size, size) for size in sizes]
    every = np.unique(np.concatenate(clusters))
    members = [{g: np.flatnonzero(own == g) for g in every.tolist()} for own in clusters]
    while True:
        drawn = rng.choice(every, len(every)).tolist()
        yield [np.concatenate([of_place[g] for g in drawn]) for of_place in members]


def _replicate(
    place: Packed | Mapping[str, xr.Variable], metric: Metric, n: int
) -> tuple[int, Callable[[NDArray[np.intp]], Floats]]:
    """Number of trials, and a function that estimates all pairs from some of them."""
    if isinstance(place, Packed):
        answers = place.unpacked(np.arange(n))
        return place.n_trials, lambda chosen: metric.value(
            all_cells(pack(answers[:, chosen])).astype(np.float64)
        )
    assert metric.all_pairs is not None
    all_pairs, above = metric.all_pairs, np.triu_indices(n, k=1)

    def of_answers(chosen: NDArray[np.intp]) -> Floats:
        found = all_pairs({name: v.isel(trial=chosen).data for name, v in place.items()})
        return np.asarray(found["estimate"][above])

    return int(next(v.sizes["trial"] for v in place.values() if "trial" in v.dims)), of_answers
