"""Families of observers: tests of their profiles, ranks within regimes, several metrics.

References
----------
.. [A01] Anderson (2001). A new method for non-parametric multivariate analysis of variance.
   doi:10.1111/j.1442-9993.2001.01070.pp.x
.. [C88] Cohen (1988). Statistical power analysis for the behavioral sciences.
   doi:10.4324/9780203771587
.. [M67] Mantel (1967). The detection of disease clustering and a generalized regression approach.
   Cancer Research 27(2), 209-220.
.. [MBJ76] Mielke, Berry, Johnson (1976). Multi-response permutation procedures for a priori
   classifications. doi:10.1080/03610927608827451
.. [MW47] Mann, Whitney (1947). On a test of whether one of two random variables is stochastically
   larger than the other. doi:10.1214/aoms/1177730491
.. [PS10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from alikely._base.arrays import Floats
from alikely._base.frames import Groups, group_mapping
from alikely._base.intervals import bound_columns
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely.data.repeats import nested_labels
from alikely.estimates.analysis import check_numbers
from alikely.estimates.correlations import Values, matched
from alikely.inference.intervals import adjusted_p_values, bounds
from alikely.spectrum.alignment import condition_groups, models_of
from alikely.spectrum.regime_scores import note_of_part, regime_parts

__all__ = ["compare_groupings", "family_scores", "family_tests", "regime_family_contrasts"]

type Distances = xr.DataArray | pd.DataFrame
FAMILY, GIVEN, SUPER = "H1", "H1 within super-families", "H2"
CI_PROB = 0.95
TEST = ["statistic", "null_mean", "null_sd", "effect_size", "p_value"]
CHUNK = 1_000_000  # distances in memory at a time


def family_tests(
    alignment: xr.Dataset,
    families: Groups,
    super_families: Groups,
    regimes: Groups | None = None,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Test whether models of one family have more similar profiles than by chance [A01]_.

    The profile of a model is its agreement with humans, by every metric of the alignment, in the
    conditions of a regime.

    Parameters
    ----------
    alignment : xarray.Dataset
        Alignment as returned by `alikely.condition_alignment`.
    families, super_families : mapping, pandas.Series or xarray.DataArray
        Family and super-family of each model, such as
        ``trials.select(kind="model").data["family"]``.
    regimes : mapping, pandas.Series or xarray.DataArray, optional
        Label of each condition, as returned by `alikely.regimes`. Default: all conditions together.
    n_permutations : int
        Number of permutations of each test, at least 2.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per regime and hypothesis, with columns

        - ``regime`` (if given), ``n_conditions`` (tested) and ``n_undefined`` (excluded because the
          agreement of a model is undefined by some metric)
        - ``hypothesis``: ``H1`` (families), ``H1 within super-families`` (families, with labels
          shuffled within super-families), ``H2`` (super-families), and ``H1 in NAME`` (families of
          one super-family, among its models)
        - ``statistic``: mean distance of pairs within families, in the units of the agreement
        - ``null_mean``, ``null_sd``: mean and standard deviation of the permutations
        - ``effect_size``: standardized difference, below 0 if members are closer than by chance
        - ``p_value``: one-sided, at least ``1 / (1 + n_permutations)``
        - ``n_groups``, ``n_systems``
        - ``note``: why there is no test if the numbers are NaN

    Raises
    ------
    TypeError, ValueError
        If a condition has no label, a model has no family, or a family is in two super-families.
        If there are fewer than two families, or none with two models.

    Notes
    -----
    ``H1`` can also hold if families share only what their super-family shares, and ``H2`` if only
    families are homogeneous. The test within super-families excludes differences between
    super-families.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=0)
    >>> regime = {"all:clean": "near", "all:blur": "near", "all:noise": "far"}
    >>> family = {f"model_{i}": "abcdef"[i // 2] for i in range(1, 7)}
    >>> kind = {f"model_{i}": "early" if i < 4 else "late" for i in range(1, 7)}
    >>> table = family_tests(alignment, family, kind, regime, n_permutations=99, rng=1)
    >>> table[["regime", "hypothesis", "n_conditions", "n_undefined"]].values.tolist()[::5]
    [['near', 'H1', 1, 1], ['far', 'H1', 1, 0]]
    """
    models = models_of(alignment)
    conditions = alignment["condition"].values.tolist()
    whole = dict.fromkeys(conditions, "all conditions")
    label = whole if regimes is None else condition_groups(conditions, regimes)
    estimate = alignment["estimate"].sel(system=models)
    defined = estimate.notnull().all(["metric", "system"])
    names, seed = list(dict.fromkeys(label.values())), seed_sequence(rng)
    seeds = [seed] if regimes is None else seed.spawn(len(names))
    tables = []
    for name, own_seed in zip(names, seeds, strict=True):
        of_it = [condition for condition, regime in label.items() if regime == name]
        tested = [condition for condition in of_it if defined.sel(condition=condition)]
        values = estimate.sel(condition=tested).transpose("system", "metric", "condition")
        profiles = pd.DataFrame(values.values.reshape(len(models), -1), models)
        table = profile_tests(
            profiles, families, super_families, each=True, n_permutations=n_permutations,
            rng=own_seed,
        )  # fmt: skip
        head: dict[str, Any] = {} if regimes is None else {"regime": name}
        head |= {"n_conditions": len(tested), "n_undefined": len(of_it) - len(tested)}
        tables.append(table.assign(**head)[[*head, *table]])
    return pd.concat(tables, ignore_index=True)


def profile_tests(
    profiles: pd.DataFrame,
    families: Groups,
    super_families: Groups,
    *,
    each: bool = False,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Test families, families within super-families [A01]_, super-families and `each` of them."""
    names = unique_names(profiles.index, "profiles")
    known = profiles.shape[1] > 0 or not each
    family, over = (checked_groups(names, groups) for groups in (families, super_families))
    of, above = group_mapping(families), group_mapping(super_families)
    _refuse_split(of, above)
    # Shuffling needs a super-family with two families, one of which has at least two members.
    sizes = pd.Series(1, pd.MultiIndex.from_arrays([over, family])).groupby(level=[0, 1]).sum()
    divided = sizes.groupby(level=0).agg(lambda n: len(n) > 1 and n.max() > 1).any()
    lacks = "" if divided else "no super-family has a pair within one family and another family"
    number = int(family.max()) + 1
    first, second, third = seed_sequence(rng).spawn(3)
    asked: list[tuple[Any, ...]] = [
        (FAMILY, families, None, names, number, "", first),
        (GIVEN, families, super_families, names, number, lacks, second),
        (SUPER, super_families, None, names, int(over.max()) + 1, "", third),
    ]
    kinds = list(dict.fromkeys(above[name] for name in names)) if each else []
    for kind, own in zip(kinds, seed_sequence(rng).spawn(len(kinds)), strict=True):
        members = {name: of[name] for name in names if above[name] == kind}
        counts = pd.Series(members).value_counts()
        lone = len(counts) == 1 or counts.max() == 1
        note = "it has no pair within one family and another family" if lone else ""
        asked.append((f"{FAMILY} in {kind}", members, None, [*members], len(counts), note, own))
    rows = []
    for hypothesis, groups, within, systems, n_groups, note, own in asked:
        row = {"hypothesis": hypothesis, **dict.fromkeys(TEST, np.nan)}
        row |= {"n_groups": n_groups, "n_systems": len(systems), "note": note}
        if not known:
            row |= {"n_groups": 0, "n_systems": len(names)}
            row["note"] = "in each condition the agreement of a model is undefined"
        elif not note:
            distances = profile_distances(profiles.loc[systems])
            row |= permutation_test(
                distances, groups, within=within, n_permutations=n_permutations, rng=own
            )
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


def regime_family_contrasts(
    alignment: xr.Dataset, labels: Groups, families: Groups
) -> pd.DataFrame:
    """Compare families of models within regimes of difficulty.

    Parameters
    ----------
    alignment, labels
        As in `alikely.spectrum.regime_alignment`.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each model.

    Returns
    -------
    pandas.DataFrame
        One row per metric, regime and pair of families, with columns

        - ``metric``, ``regime``, ``n_conditions``, ``family``, ``other``
        - ``difference``: difference of the families' means of `ratio_of_means`, with bounds from
          joint replicates, such as ``difference_eti95_lb``. They generalize to new images and
          humans with these models, and are infinite if the human-human interval includes 0
        - ``estimate_difference``: difference of the mean estimates with bounds, without a ceiling
        - ``n``, ``n_other``, ``median_rank``, ``median_rank_other``
        - ``superiority``: probability that a member of `family` has a better rank than one of
          `other`, in [0, 1]; ties count half
        - ``p_value``, ``p_value_bh``: two-sided Mann-Whitney test of ranks [MW47]_, and adjusted
          within metric and regime. It generalizes to new models with these images and humans
        - ``note``

    Raises
    ------
    TypeError, ValueError
        As in `alikely.spectrum.regime_alignment`, or if there are fewer than two families.

    Notes
    -----
    p is exact if no two scores of a pair of families are equal. Otherwise, it is from the normal
    approximation with corrections for ties and continuity. With two families of three models, p
    is at least 0.1.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = dict.fromkeys(alignment["condition"].values, "all")
    >>> family = al.load_example().select(kind="model").data["family"]
    >>> table = regime_family_contrasts(alignment, regime, family)
    >>> table[["family", "other"]].values.tolist()[0]
    ['convnet', 'transformer']
    """
    frames = []
    for part in regime_parts(alignment, labels, "all", None):
        if not part.n_conditions:
            continue
        estimate = pd.Series(part.value.mean(axis=0), index=part.models)
        table = family_ranks(estimate, families)
        given = condition_groups(part.models, families)
        member = pd.get_dummies(pd.Series([given[name] for name in part.models]), dtype=float)
        mean = member / member.sum()
        weight = (mean[table["family"]].to_numpy() - mean[table["other"]].to_numpy()).T
        difference, draws = weight @ estimate.to_numpy(), part.means @ weight.T
        limits = bounds(draws, CI_PROB, "eti")
        # Ratio of the difference to the ceiling, in each replicate.
        share, share_limits, reach = part.over_humans(difference, draws, CI_PROB, "eti")
        head = pd.DataFrame(
            {
                "metric": part.metric,
                "regime": part.regime,
                "n_conditions": part.n_conditions,
                "family": table["family"],
                "other": table["other"],
                "difference": share,
                **bound_columns("difference", "eti", CI_PROB, share_limits),
                "estimate_difference": difference,
                **bound_columns("estimate_difference", "eti", CI_PROB, limits),
            }
        )
        frame = pd.concat([head, table.drop(columns=["family", "other"])], axis=1)
        frame["note"] = note_of_part(part, reach, part.human.mean())
        frames.append(frame)
    if not frames:
        raise ValueError("no regime has a condition in which every value is defined")
    return pd.concat(frames, ignore_index=True)


def family_ranks(scores: pd.Series, families: Groups) -> pd.DataFrame:
    """Compare the ranks of each pair of families by a Mann-Whitney test [MW47]_."""
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


def unique_names(index: Iterable[Any], what: str) -> list[str]:
    """Convert names to text, and raise an error if one occurs twice."""
    names = [str(name) for name in index]
    twice = pd.Index(names).duplicated()
    if twice.any():
        raise ValueError(f"{what} have {names[int(np.argmax(twice))]!r} twice; rename one")
    return names


def labelled_matrix(distances: Distances) -> tuple[list[str], Floats]:
    """Names and values of a symmetric matrix."""
    if isinstance(distances, xr.DataArray):
        bare = [dim for dim in distances.dims if dim not in distances.coords]
        if bare:
            raise TypeError(f"distances have no names along {bare[0]!r}; assign coords to it")
        sides = [distances[dim].values.tolist() for dim in distances.dims]
    elif isinstance(distances, pd.DataFrame):
        sides = [list(distances.index), list(distances.columns)]
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
            f"{values[one, other]:g} and the reverse {values[other, one]:g}; average both"
        )
    return names, values


def group_codes(names: list[str], groups: Groups, what: str = "group") -> NDArray[np.intp]:
    """Number of the group of each name; an error for missing or unknown names."""
    given, known = group_mapping(groups), set(names)
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"{missing[0]!r} has no {what} ({len(missing)} without); give it one, or leave it out"
        )
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"a {what} is given for unknown {unknown[0]!r}; known are {listed(names)}"
            f"{nearest(unknown[0], names)}"
        )
    labels = np.array([given[name] for name in names], dtype=object)
    return np.asarray(pd.factorize(labels)[0], dtype=np.intp)


def profile_distances(profiles: pd.DataFrame) -> xr.DataArray:
    """Compute Euclidean distances between the profiles of systems (rows)."""
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
) -> dict[str, float]:
    """Test the mean distance within groups [MBJ76]_ by permutations in strata `within` [A01]_."""
    check_numbers(n_permutations=n_permutations)
    if n_permutations < 2:
        raise ValueError(f"n_permutations must be at least 2, got {n_permutations}")
    names, values = labelled_matrix(distances)
    codes = checked_groups(names, groups)
    strata = np.zeros_like(codes) if within is None else group_codes(names, within, "stratum")
    generator = np.random.default_rng(seed_sequence(rng))
    null = shuffled_means(values, codes, strata, n_permutations, generator)
    # Labelings that differ only in names have the same mean, except for rounding.
    rounding = 1e-12 * np.abs(values).max()
    if np.ptp(null) <= rounding:
        raise ValueError(
            f"all {n_permutations} permutations have the same mean distance within groups, because "
            "distances, or labels within strata, are equal; use coarser strata, or none"
        )
    statistic = float(split_pairs(values, codes)[0].mean())
    mean, sd = float(null.mean()), float(null.std(ddof=1))
    nearer = int((null <= statistic + rounding).sum())
    p = (1 + nearer) / (1 + n_permutations)
    return dict(zip(TEST, (statistic, mean, sd, (statistic - mean) / sd, p), strict=True))


def compare_groupings(
    distances: Distances,
    groupings: Mapping[str, Groups],
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute Cohen's d of several groupings of the same distances [C88]_.

    Groupings with a larger d explain the distances better.

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
        One row per grouping, with columns

        - ``grouping``, ``n_groups``
        - ``cohens_d``: ``mean_between`` minus ``mean_within``, divided by the pooled standard
          deviation of distances
        - ``p_value``: one-sided permutation test [MBJ76]_, at least ``1 / (1 + n_permutations)``
          [PS10]_

    Raises
    ------
    TypeError, ValueError
        If a name is missing, unknown or given twice.
        If the matrix is not symmetric, or a distance is undefined.
        If there is no grouping, fewer than two groups, or no group with two members.
        If all distances are equal.

    Notes
    -----
    Distances that share a system are dependent, so d has no t distribution. Two groups of three
    systems allow only 10 groupings, so p is rarely below 0.1.
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
        names, values = labelled_matrix(distances)
        test = permutation_test(distances, groups, n_permutations=n_permutations, rng=seed)
        within, between = split_pairs(values, checked_groups(names, groups))
        squares = sum(float(((part - part.mean()) ** 2).sum()) for part in (within, between))
        sd = np.sqrt(squares / (len(within) + len(between) - 2))
        if sd <= 1e-12 * np.abs(values).max():
            raise ValueError(
                "distances do not vary within groups or between groups, so Cohen's d is undefined; "
                "use other groups"
            )
        row = {"grouping": name, "n_groups": len(set(group_mapping(groups).values()))}
        row |= {"cohens_d": float((between.mean() - within.mean()) / sd)}
        row |= {"mean_within": float(within.mean()), "mean_between": float(between.mean())}
        rows.append(row | {"p_value": test["p_value"]})
    return pd.DataFrame(rows)


def checked_groups(names: list[str], groups: Groups) -> NDArray[np.intp]:
    """Number of the group of each name; an error if no test of groups is possible."""
    codes = group_codes(names, groups)
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        raise ValueError(f"a test of groups needs at least two, got {len(sizes)}")
    if sizes.max() < 2:
        raise ValueError(
            f"no group has two members ({len(sizes)} groups of one), so there are no distances "
            "within groups; use coarser groups"
        )
    return codes


def split_pairs(values: Floats, codes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Split distances into pairs within groups and pairs between groups."""
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
    """Mean distances within groups if labels are shuffled within strata."""
    one, other = np.triu_indices(len(codes), k=1)
    same = codes[one] == codes[other]
    one, other = one[same], other[same]
    place = np.argsort(strata, kind="stable")
    step = max(1, CHUNK // len(one))
    out = np.empty(n_permutations)
    for start in range(0, n_permutations, step):
        part = out[start : start + step]
        # Sorted by stratum, in random order within: names are exchanged within their stratum.
        moved = np.empty((len(part), len(codes)), dtype=np.intp)
        moved[:, place] = np.argsort(strata + generator.random(moved.shape), axis=1)
        part[:] = values[moved[:, one], moved[:, other]].mean(axis=1)
    return out


def family_scores(
    results: Sequence[Values],
    families: Groups,
    *,
    within_domain: bool = True,
    n_permutations: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compare the similarity of members of two families, by several metrics on one scale.

    Every metric is standardized over its pairs, so that metrics can be compared as in [X25]_,
    figures 6 and 7. Pairs share observers, so the standard deviation of pairs is not informative.
    The test therefore shuffles the families of the observers [M67]_.

    Parameters
    ----------
    results : sequence of Result or pandas.DataFrame
        At least two results, as in `alikely.metric_correlations`.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each observer of the pairs.
    within_domain : bool
        Standardize within each data set and condition. [X25]_ standardize over all of them, where
        differences between data sets mask those between families.
    n_permutations : int
        Number of permutations, at least 1.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per metric and pair of families (or one family), with columns

        - ``metric``, ``family``, ``other``
        - ``n_pairs``: pairs of observers
        - ``n_entries``: pairs in all data sets and conditions, of which ``n_undefined`` are
          excluded
        - ``z``, ``sd``: mean and standard deviation of the standardized values
        - ``p_value``: two-sided probability that shuffled families are as far from 0, in
          ``[1 / (n_permutations + 1), 1]``
        - ``p_value_bh``: adjusted over all rows

    Raises
    ------
    TypeError, ValueError
        As in `alikely.metric_correlations`.
        If an observer has no family, or a family is given for an unknown observer.
        If there is only one family, or `n_permutations` is below 1.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> both = [
    ...     al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0),
    ...     al.misclassification_agreement(trials, n_resamples=0, n_draws=0),
    ... ]
    >>> table = al.papers.family_scores(both, trials.data["family"], rng=1)
    >>> table.loc[0, ["metric", "family", "other"]].tolist()
    ['error_consistency', 'human', 'human']
    """
    check_numbers(n_permutations=n_permutations)
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}")
    frame, metrics = matched(results)
    names = pd.unique(pd.concat([frame["observer_a"], frame["observer_b"]])).tolist()
    codes = group_codes(names, families, "family")
    given = group_mapping(families)
    labels = list(dict.fromkeys(given[name] for name in names))
    if len(labels) < 2:
        raise ValueError(f"a comparison of families needs at least two, got {listed(labels)}")
    position = {name: at for at, name in enumerate(names)}
    a, b = (frame[side].map(position).to_numpy() for side in ("observer_a", "observer_b"))
    domain = np.array(nested_labels(frame["dataset"], frame["condition"]))
    generator = np.random.default_rng(seed_sequence(rng))
    shuffled = [codes, *(generator.permutation(codes) for _ in range(n_permutations))]
    # The order of the two families does not matter.
    size = len(labels)
    cells = np.stack([np.minimum(c[a], c[b]) * size + np.maximum(c[a], c[b]) for c in shuffled])
    rows = []
    for metric in metrics:
        z = _standardised(frame[metric].to_numpy(), domain if within_domain else None)
        means = _cell_means(z, cells, size**2)
        for i, j in itertools.combinations_with_replacement(range(size), 2):
            here = cells[0] == i * size + j
            if not here.any():
                continue
            row = {"metric": metric, "family": labels[i], "other": labels[j]}
            row["n_pairs"] = pd.MultiIndex.from_arrays([a[here], b[here]]).nunique()
            rows.append(row | _family_row(z[here], means[:, i * size + j]))
    table = pd.DataFrame(rows)
    return table.assign(p_value_bh=adjusted_p_values(table["p_value"]))


def _cell_means(values: Floats, cells: NDArray[np.intp], size: int) -> Floats:
    """Mean of the defined values of each cell, by row; NaN for empty cells."""
    known = np.isfinite(values)
    counts = np.stack([np.bincount(row[known], minlength=size) for row in cells])
    sums = np.stack([np.bincount(row[known], values[known], minlength=size) for row in cells])
    out = np.full(counts.shape, np.nan)
    np.divide(sums, counts, out=out, where=counts > 0)
    return out


def _family_row(z: Floats, means: Floats) -> dict[str, object]:
    """Row of two families: mean and spread of their values, and the permutation p-value."""
    known = z[np.isfinite(z)]
    row: dict[str, object] = {"n_entries": len(z), "n_undefined": len(z) - len(known)}
    if not len(known):
        return row | {"z": np.nan, "sd": np.nan, "p_value": np.nan}
    as_far = np.abs(means[1:]) >= abs(means[0]) - 1e-12
    spread = float(known.std(ddof=1)) if len(known) > 1 else np.nan
    return row | {"z": means[0], "sd": spread, "p_value": (1 + as_far.sum()) / len(means)}


def _standardised(values: Floats, domain: NDArray[np.str_] | None) -> Floats:
    """Standardize values; NaN if all are equal."""
    series = pd.Series(values)
    groups = series.groupby(np.zeros(len(values), dtype=int) if domain is None else domain)
    spread = groups.transform("std")
    return ((series - groups.transform("mean")) / spread.where(spread > 0)).to_numpy()
