"""Do groups explain distances? Permutation tests and effect sizes of a matrix and group labels.

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

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.spatial.distance import pdist, squareform

from alikely._base.random import RandomState, seed_sequence
from alikely.stats.distances import (
    Distances,
    Groups,
    checked_groups,
    group_codes,
    group_mapping,
    labelled_matrix,
    shuffled_means,
    split_pairs,
    unique_names,
)

__all__ = [
    "GroupTest",
    "GroupingEffect",
    "compare_groupings",
    "grouping_effect",
    "permutation_test",
    "profile_distances",
]


class GroupTest(NamedTuple):
    """Test that members of a group are nearer to each other than chance makes them.

    Attributes
    ----------
    statistic : float
        Mean distance of all pairs of one group.
    null_mean, null_sd : float
        Of the statistic over permutations.
    effect_size : float
        ``(statistic - null_mean) / null_sd``: negative where members are nearer than chance.
    p_value : float
        One-sided, in ``[1 / (n_permutations + 1), 1]``.
    n_permutations : int
        Number of permutations drawn.
    """

    statistic: float
    null_mean: float
    null_sd: float
    effect_size: float
    p_value: float
    n_permutations: int


class GroupingEffect(NamedTuple):
    """How far apart groups are, against the spread of distances.

    Attributes
    ----------
    d : float
        Cohen's d, ``(mean_between - mean_within) / pooled sd``.
    mean_within, mean_between : float
        Mean distance of pairs of one group and of two.
    p_value : float
        One-sided, as in `GroupTest`.
    """

    d: float
    mean_within: float
    mean_between: float
    p_value: float


def profile_distances(profiles: pd.DataFrame) -> xr.DataArray:
    """Euclidean distances between the profiles of systems.

    Parameters
    ----------
    profiles : pandas.DataFrame, shape (system, entry)
        One row per system, such as its error consistency and misclassification agreement in every
        condition. Entries are taken as they are: a column that spreads more weighs more.

    Returns
    -------
    xarray.DataArray, dims (system, system_other)
        In the units of the entries, at least 0.

    Raises
    ------
    ValueError
        If there are fewer than two systems, no entry, two rows of one name, or an undefined entry.

    Examples
    --------
    >>> profiles = pd.DataFrame({"EC": [0.1, 0.4], "MA": [0.2, 0.6]}, index=["vit", "resnet"])
    >>> profile_distances(profiles).values.round(3).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
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
    """Test whether members of a group are nearer to each other than chance makes them [MBJ76]_.

    Parameters
    ----------
    distances : xarray.DataArray or pandas.DataFrame, shape (system, system)
        Symmetric, with the names of the systems along both sides; the diagonal is ignored.
    groups : mapping, pandas.Series or xarray.DataArray
        Group of each system. A group of one has no pairs.
    within : mapping, pandas.Series or xarray.DataArray, optional
        Stratum of each system: labels are shuffled within strata only, which asks whether groups
        add anything to what the strata explain [A01]_. Without it, among all systems.
    n_permutations : int
        Permutations drawn at random, with replacement; at least 2.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    GroupTest

    Raises
    ------
    TypeError, ValueError
        If a name is missing, unknown or there twice; the matrix is not symmetric or not all known;
        there are fewer than two groups or none of two; permutations are alike, or fewer than 2.

    Notes
    -----
    ``p = (1 + permutations at least as near) / (1 + n_permutations)`` [PS10]_: it cannot go below
    ``1 / (n_permutations + 1)``. Where few systems or small strata admit only M different
    groupings, chance draws the observed one again, and p hardly goes below ``1 / M`` either: two
    groups of three have 10.

    Examples
    --------
    >>> at = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 2.1, 2.2, 2.3])
    >>> names = list("abcdefgh")
    >>> distances = pd.DataFrame(np.abs(at[:, None] - at), names, names)
    >>> test = permutation_test(distances, dict(zip(names, "xxxxyyyy")), rng=1)
    >>> round(test.statistic, 3), round(test.effect_size, 1), round(test.p_value, 2)
    (0.167, -4.5, 0.03)
    """
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
    return GroupTest(statistic, mean, sd, (statistic - mean) / sd, p, n_permutations)


def grouping_effect(
    distances: Distances,
    groups: Groups,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> GroupingEffect:
    """Cohen's d between distances of two groups and of one [C88]_, with its permutation p-value.

    Parameters
    ----------
    distances, groups, n_permutations, rng
        As in `permutation_test`.

    Returns
    -------
    GroupingEffect

    Raises
    ------
    TypeError, ValueError
        As in `permutation_test`, or if distances neither differ within groups nor between.

    Notes
    -----
    Distances of one system hang together: d has no t distribution. All distances fixed, it grows as
    the mean distance within groups falls, so that its p-value is that of `permutation_test`.

    Examples
    --------
    >>> at = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 2.1, 2.2, 2.3])
    >>> names = list("abcdefgh")
    >>> distances = pd.DataFrame(np.abs(at[:, None] - at), names, names)
    >>> effect = grouping_effect(distances, dict(zip(names, "xxxxyyyy")), rng=1)
    >>> round(effect.d, 1), round(effect.p_value, 2)
    (13.7, 0.03)
    """
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
    """Cohen's d of several ways of grouping: which explains the distances better.

    Parameters
    ----------
    distances, n_permutations, rng
        As in `permutation_test`.
    groupings : mapping of str to groups
        Each as in `permutation_test`, such as conditions by distortion and by regime.

    Returns
    -------
    pandas.DataFrame
        One row per grouping: ``grouping, n_groups, cohens_d, mean_within, mean_between, p_value``.

    Raises
    ------
    TypeError, ValueError
        As in `grouping_effect`, or if there is no grouping.

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
