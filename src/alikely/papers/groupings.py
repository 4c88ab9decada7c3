"""Permutation tests and effect sizes of distances within and between groups.

References
----------
.. [A01] Anderson (2001). A new method for non-parametric multivariate analysis of variance.
   doi:10.1111/j.1442-9993.2001.01070.pp.x
.. [C88] Cohen (1988). Statistical power analysis for the behavioral sciences.
   doi:10.4324/9780203771587
.. [MBJ76] Mielke, Berry, Johnson (1976). Multi-response permutation procedures for a priori
   classifications. doi:10.1080/03610927608827451
.. [PS10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from alikely._base.arrays import Floats
from alikely._base.frames import Groups, group_mapping
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence

__all__ = ["compare_groupings"]

type Distances = xr.DataArray | pd.DataFrame
CHUNK = 1_000_000  # distances looked up at once


class GroupTest(NamedTuple):
    """Test that members of a group are nearer to each other than chance makes them."""

    statistic: float
    null_mean: float
    null_sd: float
    effect_size: float
    p_value: float


class GroupingEffect(NamedTuple):
    """Cohen's d between distances of two groups and of one, with its one-sided p-value."""

    d: float
    mean_within: float
    mean_between: float
    p_value: float


def unique_names(index: Iterable[Any], what: str) -> list[str]:
    """Names as text, each of which stands there once (`ValueError`)."""
    names = [str(name) for name in index]
    twice = pd.Index(names).duplicated()
    if twice.any():
        raise ValueError(f"{what} have {names[int(np.argmax(twice))]!r} twice; rename one")
    return names


def labelled_matrix(distances: Distances) -> tuple[list[str], Floats]:
    """Names and values of a symmetric matrix."""
    if isinstance(distances, pd.DataFrame):
        sides = [list(distances.index), list(distances.columns)]
    elif isinstance(distances, xr.DataArray):
        bare = [dim for dim in distances.dims if dim not in distances.coords]
        if bare:
            raise TypeError(f"distances have no names along {bare[0]!r}; assign coords to it")
        sides = [distances[dim].values.tolist() for dim in distances.dims]
    else:
        raise TypeError(
            "distances must be a DataFrame or DataArray with names along both sides, got "
            f"{type(distances).__name__}; use pandas.DataFrame(values, names, names)"
        )
    if len(sides) != 2 or len(sides[0]) != len(sides[1]):
        raise ValueError(f"distances must be a square matrix, got shape {distances.shape}")
    names = unique_names(sides[0], "distances")
    if names != [str(name) for name in sides[1]]:
        raise ValueError(
            "distances must have the same names in the same order along both sides; reindex them"
        )
    values = np.array(distances, dtype=np.float64)
    np.fill_diagonal(values, 0)
    unknown = np.argwhere(~np.isfinite(values))
    if len(unknown):
        one, other = unknown[0]
        raise ValueError(
            f"the distance of {names[one]!r} and {names[other]!r} is {values[one, other]:g}; leave "
            "one of them out"
        )
    uneven = np.abs(values - values.T) > 1e-9 * np.abs(values).max(initial=0)
    if uneven.any():
        one, other = np.argwhere(uneven)[0]
        raise ValueError(
            f"distances must be symmetric, but {names[one]!r} to {names[other]!r} is "
            f"{values[one, other]:g} and back {values[other, one]:g}; average both"
        )
    return names, values


def group_codes(names: list[str], groups: Groups, what: str = "group") -> NDArray[np.intp]:
    """Number of the group of each of several names; all of them, and no other."""
    given, known = group_mapping(groups), set(names)
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"{missing[0]!r} has no {what} ({len(missing)} without); give it one, or leave it out"
        )
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"{what} of an unknown {unknown[0]!r}; known are {listed(names)}"
            f"{nearest(unknown[0], names)}"
        )
    labels = np.array([given[name] for name in names], dtype=object)
    return np.asarray(pd.factorize(labels)[0], dtype=np.intp)


def profile_distances(profiles: pd.DataFrame) -> xr.DataArray:
    """Euclidean distances between the profiles of systems (rows)."""
    if len(profiles) < 2 or not profiles.shape[1]:
        raise ValueError(f"profiles need at least two systems and one entry, got {profiles.shape}")
    names = unique_names(profiles.index, "profiles")
    values = profiles.to_numpy(dtype=np.float64, na_value=np.nan)
    undefined = np.argwhere(~np.isfinite(values))
    if len(undefined):
        row, column = undefined[0]
        entry = profiles.columns[column]
        raise ValueError(
            f"entry {entry!r} of {names[row]!r} is {values[row, column]:g} ({len(undefined)} such "
            f"entries); leave the column out: profiles.drop(columns=[{entry!r}])"
        )
    sides = {"system": names, "system_other": names}
    return xr.DataArray(squareform(pdist(values)), sides, list(sides), name="distance")


def permutation_test(
    distances: Distances,
    groups: Groups,
    *,
    within: Groups | None = None,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> GroupTest:
    """Permutation test of the mean distance within groups [MBJ76]_, in strata `within` [A01]_."""
    if n_permutations != int(n_permutations):
        raise ValueError(f"n_permutations must be a whole number, got {n_permutations}")
    if n_permutations < 2:
        raise ValueError(f"n_permutations must be at least 2, got {n_permutations}")
    names, values = labelled_matrix(distances)
    codes = checked_groups(names, groups)
    strata = np.zeros_like(codes) if within is None else group_codes(names, within, "stratum")
    generator = np.random.default_rng(seed_sequence(rng))
    null = shuffled_means(values, codes, strata, n_permutations, generator)
    # Labellings that differ in name only have the same mean but for the order of summation.
    rounding = 1e-12 * np.abs(values).max()
    if np.ptp(null) <= rounding:
        raise ValueError(
            f"all {n_permutations} permutations have the same mean distance within groups: either "
            "distances are alike or labels within strata; use coarser strata, or none"
        )
    statistic = float(split_pairs(values, codes)[0].mean())
    mean, sd = float(null.mean()), float(null.std(ddof=1))
    nearer = int((null <= statistic + rounding).sum())
    p = (1 + nearer) / (1 + n_permutations)
    return GroupTest(statistic, mean, sd, (statistic - mean) / sd, p)


def grouping_effect(
    distances: Distances,
    groups: Groups,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> GroupingEffect:
    """Cohen's d between distances of two groups and of one [C88]_; p of `permutation_test`."""
    names, values = labelled_matrix(distances)
    test = permutation_test(distances, groups, n_permutations=n_permutations, rng=rng)
    within, between = split_pairs(values, checked_groups(names, groups))
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in (within, between))
    sd = np.sqrt(squares / (len(within) + len(between) - 2))
    if sd <= 1e-12 * np.abs(values).max():
        raise ValueError(
            "distances within groups are all alike, and so are those between: Cohen's d has no "
            "spread to divide by; use permutation_test"
        )
    means = float(within.mean()), float(between.mean())
    return GroupingEffect(float((means[1] - means[0]) / sd), *means, test.p_value)


def compare_groupings(
    distances: Distances,
    groupings: Mapping[str, Groups],
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute Cohen's d of several groupings of the same distances [C88]_.

    A grouping with a greater d explains the distances better.

    Parameters
    ----------
    distances : xarray.DataArray or pandas.DataFrame, shape (system, system)
        Symmetric, with the names of the systems along both sides. The diagonal is ignored.
    groupings : mapping of str to mapping, pandas.Series or xarray.DataArray
        Group of each system, such as conditions by distortion and by regime.
    n_permutations : int
        Number of random permutations of the labels, at least 2.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per grouping: ``grouping, n_groups``; ``cohens_d``, the difference of
        ``mean_between`` and ``mean_within`` over the pooled standard deviation of distances;
        ``p_value``, one-sided, of a permutation test [MBJ76]_, at least
        ``1 / (1 + n_permutations)`` [PS10]_.

    Raises
    ------
    TypeError, ValueError
        If a name is missing, unknown or there twice; if the matrix is not symmetric or not all
        known; if there is no grouping, fewer than two groups or none of two; or if all distances
        are equal.

    Notes
    -----
    Distances of one system are dependent, so that d has no t distribution. Two groups of three
    allow only 10 groupings, so that p hardly falls below 0.1.

    Examples
    --------
    >>> at = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 2.1, 2.2, 2.3])
    >>> names = list("abcdefgh")
    >>> distances = pd.DataFrame(np.abs(at[:, None] - at), names, names)
    >>> groupings = {"side": dict(zip(names, "xxxxyyyy")), "other": dict(zip(names, "xyxyxyxy"))}
    >>> compare_groupings(distances, groupings, rng=1)["cohens_d"].round(1).tolist()
    [13.7, -0.3]
    """
    if not groupings:
        raise ValueError("groupings must name at least one grouping, got none")
    rows = []
    seeds = seed_sequence(rng).spawn(len(groupings))
    for (name, groups), seed in zip(groupings.items(), seeds, strict=True):
        effect = grouping_effect(distances, groups, n_permutations=n_permutations, rng=seed)
        rows.append((name, len(set(group_mapping(groups).values())), *effect))
    columns = ["grouping", "n_groups", "cohens_d", "mean_within", "mean_between", "p_value"]
    return pd.DataFrame(rows, columns=columns)


def checked_groups(names: list[str], groups: Groups) -> NDArray[np.intp]:
    """Number of the group of each name, if pairs of one group can be told from others."""
    codes = group_codes(names, groups)
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        raise ValueError(f"a test of groups needs at least two, got {len(sizes)}")
    if sizes.max() < 2:
        raise ValueError(
            f"no group has two members ({len(sizes)} groups of one): there is no distance within a "
            "group; use coarser groups"
        )
    return codes


def split_pairs(values: Floats, codes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Distances of the pairs of one group, and of those of two."""
    one, other = np.triu_indices(len(codes), k=1)
    same = codes[one] == codes[other]
    return values[one[same], other[same]], values[one[~same], other[~same]]


def shuffled_means(
    values: Floats,
    codes: NDArray[np.intp],
    strata: NDArray[np.intp],
    n_permutations: int,
    generator: np.random.Generator,
) -> Floats:
    """Mean distance within groups when labels are shuffled within strata."""
    one, other = np.triu_indices(len(codes), k=1)
    same = codes[one] == codes[other]
    one, other = one[same], other[same]
    place = np.argsort(strata, kind="stable")
    step = max(1, CHUNK // len(one))
    out = np.empty(n_permutations)
    for start in range(0, n_permutations, step):
        part = out[start : start + step]
        # Sorted by stratum, and by chance within: a name takes the place of one of its stratum.
        moved = np.empty((len(part), len(codes)), dtype=np.intp)
        moved[:, place] = np.argsort(strata + generator.random(moved.shape), axis=1)
        part[:] = values[moved[:, one], moved[:, other]].mean(axis=1)
    return out
