"""Are machines of one family alike? Tests of profiles and of ranks by family.

References
----------
.. [A01] Anderson (2001). A new method for non-parametric multivariate analysis of variance.
   doi:10.1111/j.1442-9993.2001.01070.pp.x
.. [MW47] Mann, Whitney (1947). On a test of whether one of two random variables is stochastically
   larger than the other. doi:10.1214/aoms/1177730491
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from alikely._base.random import RandomState, seed_sequence
from alikely.spectrum.alignment_tables import alignment_profiles, condition_groups, machines_of
from alikely.stats.distances import (
    Groups,
    checked_groups,
    group_codes,
    group_mapping,
    unique_names,
)
from alikely.stats.groupings import permutation_test, profile_distances
from alikely.stats.multiplicity import adjusted_p_values

__all__ = ["family_ranks", "family_tests", "regime_family_tests"]

FAMILY, GIVEN, SUPER = "H1", "H1 within super-families", "H2"
TEST = ["statistic", "null_mean", "null_sd", "effect_size", "p_value"]


def family_tests(
    profiles: pd.DataFrame,
    families: Groups,
    super_families: Groups,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Test whether the profiles of a family are nearer to each other than chance makes them.

    Parameters
    ----------
    profiles : pandas.DataFrame, shape (system, entry)
        As in `alikely.stats.profile_distances`.
    families, super_families : mapping, pandas.Series or xarray.DataArray
        Both of each system: a mapping, or observer labels of the data such as
        ``trials.select(kind="model").data["family"]``.
    n_permutations : int
        Permutations of each test.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        Rows ``H1`` (families), ``H1 within super-families`` (families, with labels shuffled within
        super-families: does a family add anything to its super-family? [A01]_) and ``H2``
        (super-families). Columns ``hypothesis, statistic, null_mean, null_sd, effect_size,
        p_value`` as in `alikely.stats.GroupTest`, in the units of the profiles; ``n_groups,
        n_systems``; ``note``: why there is no test where the numbers are NaN.

    Raises
    ------
    TypeError, ValueError
        As in `alikely.stats.profile_distances` and `alikely.stats.permutation_test`, or if
        a family is in two super-families.

    Notes
    -----
    ``H1`` is also true of families that share no more than their super-family, and ``H2`` of
    super-families whose families are alike each for themselves, since members of one family are
    members of one super-family. The test within super-families is freed of the former.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> family = dict(zip("abcdefgh", ["vit", "vit", "swin", "swin", "vgg", "vgg", "rn", "rn"]))
    >>> kind = dict(zip("abcdefgh", ["transformer"] * 4 + ["convolution"] * 4))
    >>> profiles = pd.DataFrame(np.arange(8)[:, None] + rng.normal(size=(8, 9)), list("abcdefgh"))
    >>> table = family_tests(profiles, family, kind, n_permutations=999, rng=2)
    >>> table[["hypothesis", "p_value"]].round(2).values.tolist()
    [['H1', 0.04], ['H1 within super-families', 0.12], ['H2', 0.06]]
    """
    distances = profile_distances(profiles)
    names = unique_names(profiles.index, "profiles")
    family = checked_groups(names, families)
    over = checked_groups(names, super_families)
    _refuse_split(group_mapping(families), group_mapping(super_families))
    # A shuffle changes something where a super-family holds two families, one of them with a pair.
    sizes = pd.Series(1, pd.MultiIndex.from_arrays([over, family])).groupby(level=[0, 1]).sum()
    divided = sizes.groupby(level=0).agg(lambda n: len(n) > 1 and n.max() > 1).any()
    rows = []
    for hypothesis, seed in zip((FAMILY, GIVEN, SUPER), seed_sequence(rng).spawn(3), strict=True):
        groups, codes = (super_families, over) if hypothesis == SUPER else (families, family)
        row = {"hypothesis": hypothesis, **dict.fromkeys(TEST, np.nan)}
        row |= {"n_groups": int(codes.max()) + 1, "n_systems": len(names), "note": ""}
        if hypothesis == GIVEN and not divided:
            row["note"] = "no super-family holds a pair of one family and another family"
        else:
            within = super_families if hypothesis == GIVEN else None
            test = permutation_test(
                distances, groups, within=within, n_permutations=n_permutations, rng=seed
            )
            row |= {name: getattr(test, name) for name in TEST}
        rows.append(row)
    return pd.DataFrame(rows)


def _of_each_super_family(
    profiles: pd.DataFrame,
    families: dict[str, str],
    super_families: dict[str, str],
    n_permutations: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Families of one super-family, among its own systems: a row for each, as `family_tests`."""
    names = [str(name) for name in profiles.index]
    kinds = list(dict.fromkeys(super_families[name] for name in names))
    rows = []
    for kind, own in zip(kinds, seed.spawn(len(kinds)), strict=True):
        members = {name: families[name] for name in names if super_families[name] == kind}
        sizes = pd.Series(members).value_counts()
        row = {"hypothesis": f"{FAMILY} in {kind}", **dict.fromkeys(TEST, np.nan)}
        row |= {"n_groups": len(sizes), "n_systems": len(members), "note": ""}
        if len(sizes) == 1 or sizes.max() == 1:
            row["note"] = "it holds no pair of one family and another family"
        else:
            distances = profile_distances(profiles.loc[list(members)])
            test = permutation_test(distances, members, n_permutations=n_permutations, rng=own)
            row |= {name: getattr(test, name) for name in TEST}
        rows.append(row)
    return pd.DataFrame(rows)


def _refuse_split(families: dict[str, str], super_families: dict[str, str]) -> None:
    over: dict[str, str] = {}
    for name, family in families.items():
        if over.setdefault(family, super_families[name]) != super_families[name]:
            raise ValueError(
                f"family {family!r} is in two super-families, {over[family]!r} and "
                f"{super_families[name]!r} (of {name!r}); give its parts different names"
            )


def regime_family_tests(
    alignment: xr.Dataset,
    regimes: Groups,
    families: Groups,
    super_families: Groups,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Test in each regime of difficulty whether machines of one family err alike [A01]_.

    Profiles are the machines' agreement with people by every metric of the alignment, in the
    conditions of a regime.

    Parameters
    ----------
    alignment : xarray.Dataset
        As from `condition_alignment`.
    regimes : mapping, pandas.Series or xarray.DataArray
        Label of each condition of the alignment, as from `regimes`.
    families, super_families : mapping, pandas.Series or xarray.DataArray
        Both of each machine, as in `family_tests`.
    n_permutations : int
        Permutations of each test.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        The rows of `family_tests` for each regime, in the order in which labels appear, and for
        each super-family ``H1 in NAME``: its families, among its own machines. An effect below 0:
        members are nearer than chance makes them. Before its columns ``regime, n_conditions``
        (tested) and ``n_undefined``: conditions in which the agreement of a machine is undefined
        by some metric, which are left out. Where all of them are, numbers are NaN and ``note``
        says so.

    Raises
    ------
    TypeError, ValueError
        As in `family_tests`, or if a condition has no label.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=0)
    >>> regime = {"all:clean": "near", "all:blur": "near", "all:noise": "far"}
    >>> family = {f"model_{i}": "abcdef"[i // 2] for i in range(1, 7)}
    >>> kind = {f"model_{i}": "early" if i < 4 else "late" for i in range(1, 7)}
    >>> table = regime_family_tests(alignment, regime, family, kind, n_permutations=99, rng=1)
    >>> table[["regime", "hypothesis", "n_conditions", "n_undefined"]].values.tolist()[::5]
    [['near', 'H1', 1, 1], ['far', 'H1', 1, 0]]
    """
    machines = machines_of(alignment)
    label = condition_groups(alignment["condition"].values.tolist(), regimes)
    defined = alignment["estimate"].sel(system=machines).notnull().all(["metric", "system"])
    names = list(dict.fromkeys(label.values()))
    tables = []
    for name, seed in zip(names, seed_sequence(rng).spawn(len(names)), strict=True):
        of_it = [condition for condition, regime in label.items() if regime == name]
        tested = [condition for condition in of_it if defined.sel(condition=condition)]
        if tested:
            profiles = alignment_profiles(alignment, tested)
            whole = family_tests(
                profiles, families, super_families, n_permutations=n_permutations, rng=seed
            )
            of_each = _of_each_super_family(
                profiles,
                group_mapping(families),
                group_mapping(super_families),
                n_permutations,
                seed,
            )
            table = pd.concat([whole, of_each], ignore_index=True)
        else:
            kinds = dict.fromkeys(group_mapping(super_families)[name] for name in machines)
            asked = [FAMILY, GIVEN, SUPER, *(f"{FAMILY} in {kind}" for kind in kinds)]
            table = pd.DataFrame({"hypothesis": asked}).assign(
                **dict.fromkeys(TEST, np.nan),
                n_groups=0,
                n_systems=len(machines),
                note="in each condition the agreement of a machine is undefined",
            )
        counts = {"n_conditions": len(tested), "n_undefined": len(of_it) - len(tested)}
        for place, (column, value) in enumerate(({"regime": name} | counts).items()):
            table.insert(place, column, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def family_ranks(scores: pd.Series, families: Groups) -> pd.DataFrame:
    """Compare the ranks of every two families [MW47]_.

    Parameters
    ----------
    scores : pandas.Series
        Score of each system; higher is better.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each system: a mapping, or an observer label of the data such as
        ``trials.select(kind="model").data["family"]``.

    Returns
    -------
    pandas.DataFrame
        One row per pair of families, in order of first occurrence in `scores`: ``family, other``;
        ``n, n_other`` systems; ``median_rank, median_rank_other`` among all systems, 1 the best,
        ties share their mean rank; ``superiority``: the probability that a member of `family`
        ranks better than one of `other`, ties half, in [0, 1]; ``p_value``: two-sided
        Mann-Whitney test; ``p_value_bh``: adjusted for all pairs (Benjamini-Hochberg).

    Raises
    ------
    TypeError, ValueError
        If a system has no score, no family, or is there twice; a family is of an unknown system;
        there are fewer than two families.

    Notes
    -----
    p is exact where no two scores of a pair of families are equal, else of the normal
    approximation with correction for ties and continuity; 1 if all are equal. It cannot go below 2
    over the number of ways to divide the systems: two families of three never show p < .1.

    Examples
    --------
    >>> scores = pd.Series([0.9, 0.8, 0.7, 0.4, 0.3, 0.2], list("abcdef"))
    >>> table = family_ranks(scores, dict(zip("abcdef", ["vit"] * 3 + ["vgg"] * 3)))
    >>> table[["family", "other", "superiority", "p_value"]].values.tolist()
    [['vit', 'vgg', 1.0, 0.1]]
    """
    names = unique_names(scores.index, "scores")
    values = scores.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"the score of {names[at]!r} is {values[at]:g}; leave the system out")
    codes, given = group_codes(names, families, "family"), group_mapping(families)
    labels = list(dict.fromkeys(given[name] for name in names))
    if len(labels) < 2:
        raise ValueError(f"a comparison of families needs at least two, got {', '.join(labels)}")
    ranks = stats.rankdata(-values)
    rows = []
    for one, other in itertools.combinations(range(len(labels)), 2):
        a, b = values[codes == one], values[codes == other]
        superiority = float((np.sign(a[:, None] - b).mean() + 1) / 2)
        medians = [float(np.median(ranks[codes == code])) for code in (one, other)]
        p = _mann_whitney(a, b)
        rows.append((labels[one], labels[other], len(a), len(b), *medians, superiority, p))
    columns = ["family", "other", "n", "n_other", "median_rank", "median_rank_other"]
    table = pd.DataFrame(rows, columns=[*columns, "superiority", "p_value"])
    table["p_value_bh"] = adjusted_p_values(table["p_value"])
    return table


def _mann_whitney(a: np.ndarray, b: np.ndarray) -> float:
    both = np.concatenate([a, b])
    kinds = len(np.unique(both))
    if kinds == 1:
        return 1.0
    method = "exact" if kinds == len(both) else "asymptotic"
    return float(stats.mannwhitneyu(a, b, method=method).pvalue)
