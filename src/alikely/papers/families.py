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
from alikely._base.checks import of_type
from alikely._base.frames import Groups, group_mapping, groups_of
from alikely._base.intervals import bound_columns
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely.data.repeats import nested_labels
from alikely.estimates.analysis import check_numbers
from alikely.estimates.correlations import Values, matched
from alikely.inference.intervals import adjusted_p_values, bounds
from alikely.spectrum.alignment import condition_groups, models_of, note_of_part, regime_parts

type Distances = xr.DataArray | pd.DataFrame
FAMILY, GIVEN, SUPER = "H1", "H1 within super-families", "H2"
CI_PROB = 0.95
TEST = ["statistic", "null_mean", "null_sd", "effect_size", "p_value"]


def family_tests(
    alignment: xr.Dataset,
    families: Groups,
    super_families: Groups,
    regimes: Groups | None = None,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Test whether models of a family have more similar profiles than expected by chance [A01]_.

    The profile of a model is its agreement with humans in each condition of a regime, measured by
    all metrics in `alignment`.

    Parameters
    ----------
    alignment : xarray.Dataset
        Alignment as returned by `alikely.condition_alignment`.
    families, super_families : mapping, pandas.Series or xarray.DataArray
        Mappings from models to families, and from models to super-families, for example
        ``trials.select(kind="model").data["family"]``.
    regimes : mapping, pandas.Series or xarray.DataArray, optional
        Regime of each condition, as returned by `alikely.regimes`. Default: all conditions
        together.
    n_permutations : int
        Number of permutations for each test, at least 2.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per regime and hypothesis, with columns

        - ``regime`` (if given), ``n_conditions`` (number of tested conditions) and ``n_undefined``
          (number of conditions excluded because a metric is undefined for a model)
        - ``hypothesis``: ``H1`` (families), ``H1 within super-families`` (families, with labels
          permuted within super-families), ``H2`` (super-families), or ``H1 in NAME`` (only the
          families and models of one super-family)
        - ``statistic``: mean distance between members of a family, in units of agreement
        - ``null_mean``, ``null_sd``: mean and standard deviation of the statistic over permutations
        - ``effect_size``: standardized difference, below 0 if members are closer than expected by
          chance
        - ``p_value``: one-sided p-value, at least ``1 / (1 + n_permutations)``
        - ``n_groups``, ``n_systems``
        - ``note``: the reason if the numbers are NaN

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a condition has no label, if a model has no family, or if a family is in two
        super-families.
    ValueError
        If there are fewer than two families, or no family has two models.

    Notes
    -----
    Homogeneous super-families alone can produce a small p-value for ``H1`` (families), and
    homogeneous families alone can do so for ``H2`` (super-families). The test within super-families
    is unaffected by differences between super-families.

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
            profiles, families, super_families, n_permutations=n_permutations, rng=own_seed
        )  # fmt: skip
        table.insert(0, "n_undefined", len(of_it) - len(tested))
        table.insert(0, "n_conditions", len(tested))
        if regimes is not None:
            table.insert(0, "regime", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def profile_tests(
    profiles: pd.DataFrame,
    families: Groups,
    super_families: Groups,
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Test families, families within super-families [A01]_, super-families and each of them."""
    names = unique_names(profiles.index, "profiles")
    family, over = (checked_groups(names, groups) for groups in (families, super_families))
    of, above = group_mapping(families), group_mapping(super_families)
    several = pd.Series(above).reindex(list(of)).groupby(of).nunique() > 1
    if several.any():
        raise ValueError(
            f"family {several.idxmax()!r} is in two super-families; give its parts different names"
        )
    # Shuffling needs a super-family with two families, one of which has at least two members.
    sizes = pd.Series(1, pd.MultiIndex.from_arrays([over, family])).groupby(level=[0, 1]).sum()
    divided = sizes.groupby(level=0).agg(lambda n: len(n) > 1 and n.max() > 1)
    none = "no super-family has a pair within one family and another family"
    first, second, third = seed_sequence(rng).spawn(3)
    asked: list[tuple[Any, ...]] = [
        (FAMILY, families, None, names, "", first),
        (GIVEN, families, super_families, names, "" if divided.any() else none, second),
        (SUPER, super_families, None, names, "", third),
    ]
    kinds = list(dict.fromkeys(above[name] for name in names))
    for code, (kind, own) in enumerate(
        zip(kinds, seed_sequence(rng).spawn(len(kinds)), strict=True)
    ):
        members = {name: of[name] for name in names if above[name] == kind}
        note = "" if divided[code] else "it has no pair within one family and another family"
        asked.append((f"{FAMILY} in {kind}", members, None, [*members], note, own))
    rows = []
    for hypothesis, groups, within, systems, note, own in asked:
        given = group_mapping(groups)
        row = {"hypothesis": hypothesis, **dict.fromkeys(TEST, np.nan)}
        row |= {"n_groups": len({given[name] for name in systems}), "n_systems": len(systems)}
        row["note"] = note
        if not profiles.shape[1]:
            row |= {"n_groups": 0, "n_systems": len(names)}
            row["note"] = "in each condition the agreement of a model is undefined"
        elif not note:
            distances = profile_distances(profiles.loc[systems])
            row |= permutation_test(
                distances, groups, within=within, n_permutations=n_permutations, rng=own
            )
        rows.append(row)
    return pd.DataFrame(rows)


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
        - ``difference``: difference between two families in `ratio_of_means`, averaged over the
          models of each family, with bounds (such as ``difference_eti95_lb``) computed from joint
          bootstrap replicates. The bounds generalize to new images and humans with these models,
          and are infinite if the human-human interval includes 0
        - ``estimate_difference``: difference between the mean estimates, not divided by a ceiling,
          with bounds
        - ``n``, ``n_other``, ``median_rank``, ``median_rank_other``
        - ``superiority``: probability that a member of ``family`` has a better rank than a member
          of ``other``, in [0, 1]; ties count half
        - ``p_value``, ``p_value_bh``: p-value of a two-sided Mann-Whitney test of ranks [MW47]_,
          unadjusted and adjusted within metric and regime. The test generalizes to new models, with
          the same images and humans
        - ``note``

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If there are fewer than two families. See also `alikely.spectrum.regime_alignment`.

    Notes
    -----
    The p-value is exact if all scores in both families are distinct. If scores are tied, the
    p-value uses a normal approximation with corrections for ties and continuity. With two families
    of three models each, the p-value is at least 0.1.

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
        head = {
            "metric": part.metric, "regime": part.regime, "n_conditions": part.n_conditions,
            "family": table.pop("family"), "other": table.pop("other"), "difference": share,
            **bound_columns("difference", "eti", CI_PROB, share_limits),
            "estimate_difference": difference,
            **bound_columns("estimate_difference", "eti", CI_PROB, limits),
        }  # fmt: skip
        note = note_of_part(part, reach, part.human.mean())
        frames.append(pd.DataFrame(head).join(table).assign(note=note))
    if not frames:
        raise ValueError("no regime has a condition in which every value is defined")
    return pd.concat(frames, ignore_index=True)


def family_ranks(scores: pd.Series, families: Groups) -> pd.DataFrame:
    """Compare the ranks of each pair of families by a Mann-Whitney test [MW47]_."""
    names, values = unique_names(scores.index, "scores"), scores.to_numpy(np.float64)
    codes, labels = group_codes(names, families, "family")
    if len(labels) < 2:
        raise ValueError(f"a comparison of families needs at least two, got {', '.join(labels)}")
    rows, ranks = [], pd.Series(values).rank(ascending=False)
    for one, other in itertools.combinations(range(len(labels)), 2):
        a, b = values[codes == one], values[codes == other]
        row = {"family": labels[one], "other": labels[other], "n": len(a), "n_other": len(b)}
        row["median_rank"] = ranks[codes == one].median()
        row["median_rank_other"] = ranks[codes == other].median()
        row["superiority"] = float((np.sign(a[:, None] - b).mean() + 1) / 2)
        # Exact without ties; p is 1 if all values are equal.
        kinds = len(np.unique([*a, *b]))
        method = "exact" if kinds == len(a) + len(b) else "asymptotic"
        p = stats.mannwhitneyu(a, b, method=method).pvalue if kinds > 1 else 1.0
        rows.append(row | {"p_value": float(p)})
    table = pd.DataFrame(rows)
    return table.assign(p_value_bh=adjusted_p_values(table["p_value"]))


def unique_names(index: Iterable[Any], what: str) -> list[str]:
    """Convert names to text, and raise an error if one occurs twice."""
    names = [str(name) for name in index]
    twice = pd.Index(names).duplicated()
    if twice.any():
        raise ValueError(f"{what} have {names[int(np.argmax(twice))]!r} twice; rename one")
    return names


def labelled_matrix(distances: Distances) -> tuple[list[str], Floats]:
    """Names and values of a symmetric matrix."""
    if isinstance(distances, xr.DataArray) and distances.ndim == 2:
        distances = distances.to_pandas()
    of_type(distances, pd.DataFrame, "give names along both sides")
    names = unique_names(distances.index, "distances")
    if names != [str(name) for name in distances.columns]:
        raise ValueError(
            "distances must have the same names in the same order along both sides; reindex them"
        )
    values = np.array(distances, dtype=np.float64)
    np.fill_diagonal(values, 0)
    bad = ~(np.abs(values - values.T) <= 1e-9 * np.nanmax(np.abs(values), initial=0))
    if bad.any():
        one, other = np.argwhere(bad)[0]
        raise ValueError(
            f"distances must be defined and symmetric, but {names[one]!r} to {names[other]!r} is "
            f"{values[one, other]:g} and the reverse {values[other, one]:g}"
        )
    return names, values


def group_codes(
    names: list[str], groups: Groups, what: str = "group"
) -> tuple[NDArray[np.intp], list[str]]:
    """Return each name's group number, and the groups; raise an error for invalid names."""
    given = group_mapping(groups)
    labels = groups_of(names, given, what)
    if unknown := [name for name in given if name not in set(names)]:
        raise ValueError(
            f"a {what} is given for unknown {unknown[0]!r}; known are {listed(names)}"
            f"{nearest(unknown[0], names)}"
        )
    codes, unique = pd.factorize(np.array(labels, dtype=object))
    return codes.astype(np.intp), unique.tolist()


def profile_distances(profiles: pd.DataFrame) -> pd.DataFrame:
    """Compute Euclidean distances between the profiles of systems (rows)."""
    return pd.DataFrame(squareform(pdist(profiles)), profiles.index, profiles.index)


def permutation_test(
    distances: Distances,
    groups: Groups,
    *,
    within: Groups | None = None,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> dict[str, float]:
    """Test mean distances within groups [MBJ76]_ by permutations in strata (`within`) [A01]_."""
    check_numbers(n_permutations=n_permutations)
    if n_permutations < 2:
        raise ValueError(f"n_permutations must be at least 2, got {n_permutations}")
    names, values = labelled_matrix(distances)
    codes = checked_groups(names, groups)
    strata = np.zeros_like(codes) if within is None else group_codes(names, within, "stratum")[0]
    generator = np.random.default_rng(seed_sequence(rng))
    one, other = np.triu_indices(len(codes), k=1)
    same = codes[one] == codes[other]
    one, other = one[same], other[same]
    # Sorted by stratum, in random order within: names are exchanged within their stratum.
    place, moved, null = np.argsort(strata, kind="stable"), codes.copy(), np.empty(n_permutations)
    for number in range(n_permutations):
        moved[place] = np.argsort(strata + generator.random(len(codes)))
        null[number] = values[moved[one], moved[other]].mean()
    # Labelings that differ only in names have the same mean, except for rounding.
    rounding = 1e-12 * np.abs(values).max()
    if np.ptp(null) <= rounding:
        raise ValueError(
            f"all {n_permutations} permutations have the same mean distance within groups, because "
            "distances, or labels within strata, are equal; use coarser strata, or none"
        )
    statistic = float(values[one, other].mean())
    mean, sd = float(null.mean()), float(null.std(ddof=1))
    p = float(1 + (null <= statistic + rounding).sum()) / (1 + n_permutations)
    return dict(zip(TEST, (statistic, mean, sd, (statistic - mean) / sd, p), strict=True))


def compare_groupings(
    distances: Distances,
    groupings: Mapping[str, Groups],
    *,
    n_permutations: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute Cohen's d for several groupings of systems, from the same distances [C88]_.

    The larger Cohen's d is, the better a grouping explains the distances.

    Parameters
    ----------
    distances : xarray.DataArray or pandas.DataFrame, shape (system, system)
        Symmetric matrix with the names of the systems as index and columns. The diagonal of the
        matrix is ignored.
    groupings : mapping of str to mapping, pandas.Series or xarray.DataArray
        Groupings by name; each maps all systems to groups. For example, conditions can be grouped
        by distortion and by regime.
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
          deviation of the distances
        - ``p_value``: p-value of a one-sided permutation test [MBJ76]_, at least
          ``1 / (1 + n_permutations)`` [PS10]_

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is missing, is unknown or occurs twice.
    ValueError
        If the matrix is not symmetric, or a distance is undefined.
    ValueError
        If there is no grouping, or a grouping has fewer than two groups or no group with two
        members.
    ValueError
        If all distances are equal.

    Notes
    -----
    Distances that share a system are dependent, so a t test of distances is not valid. Six
    systems can be split into two groups of three in only 10 ways, so the permutation p-value cannot
    be much smaller than 0.1.

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
    names, values = labelled_matrix(distances)
    one, other = np.triu_indices(len(names), k=1)
    rows = []
    seeds = seed_sequence(rng).spawn(len(groupings))
    for (grouping, groups), seed in zip(groupings.items(), seeds, strict=True):
        test = permutation_test(distances, groups, n_permutations=n_permutations, rng=seed)
        codes = checked_groups(names, groups)
        pairs = pd.Series(values[one, other]).groupby(codes[one] == codes[other])
        means, squares = pairs.mean(), pairs.var(ddof=0) * pairs.size()
        sd = np.sqrt(squares.sum() / (len(one) - 2))
        if sd <= 1e-12 * np.abs(values).max():
            raise ValueError(
                "distances do not vary within groups or between groups, so Cohen's d is undefined; "
                "use other groups"
            )
        row = {"grouping": grouping, "n_groups": int(codes.max()) + 1}
        row |= {"cohens_d": (means[False] - means[True]) / sd}
        row |= {"mean_within": means[True], "mean_between": means[False]}
        rows.append(row | {"p_value": test["p_value"]})
    return pd.DataFrame(rows)


def checked_groups(names: list[str], groups: Groups) -> NDArray[np.intp]:
    """Return the group number of each name; raise an error if no test of groups is possible."""
    codes, labels = group_codes(names, groups)
    if not 2 <= len(labels) < len(names):
        raise ValueError(
            "a test of groups needs at least two, one of them with two members, got "
            f"{len(labels)} groups of {len(names)}"
        )
    return codes


def family_scores(
    results: Sequence[Values],
    families: Groups,
    *,
    within_domain: bool = True,
    n_permutations: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compare similarity within and between families, using several metrics on a common scale.

    Each metric is standardized over all pairs, so that metrics can be compared as in figures 6 and
    7 of [X25]_. Because pairs share observers, the standard deviation over pairs does not measure
    uncertainty. P-values are therefore computed from permutations of the family labels across
    observers [M67]_.

    Parameters
    ----------
    results : sequence of Result or pandas.DataFrame
        At least two results, as in `alikely.metric_correlations`.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each observer in the pairs.
    within_domain : bool
        Whether to standardize each metric within each data set and condition. [X25]_ standardize
        over all data sets and conditions together, so differences between data sets mask
        differences between families.
    n_permutations : int
        Number of permutations, at least 1.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per metric and pair of families (or single family), with columns

        - ``metric``, ``family``, ``other``
        - ``n_pairs``: number of pairs of observers
        - ``n_entries``: number of pairs, summed over data sets and conditions; ``n_undefined`` of
          these are excluded
        - ``z``, ``sd``: mean and standard deviation of the standardized values
        - ``p_value``: two-sided p-value: probability that ``z`` is at least as far from 0 for
          permuted family labels, in ``[1 / (n_permutations + 1), 1]``
        - ``p_value_bh``: p-value adjusted over all rows

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is invalid for `alikely.metric_correlations`.
    ValueError
        If an observer has no family, or a family is given for an unknown observer.
    ValueError
        If there is only one family, or `n_permutations` is below 1.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> both = [
    ...     al.error_consistency(trials, n_resamples=0, n_draws=0),
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
    codes, labels = group_codes(names, families, "family")
    size = len(labels)
    if size < 2:
        raise ValueError(f"a comparison of families needs at least two, got {listed(labels)}")
    position = {name: at for at, name in enumerate(names)}
    a, b = (frame[side].map(position).to_numpy() for side in ("observer_a", "observer_b"))
    domain = np.array(nested_labels(frame["dataset"], frame["condition"]))
    generator = np.random.default_rng(seed_sequence(rng))
    shuffled = [codes, *(generator.permutation(codes) for _ in range(n_permutations))]
    # The order of the two families does not matter.
    cells = np.stack([np.minimum(c[a], c[b]) * size + np.maximum(c[a], c[b]) for c in shuffled])
    rows = []
    for metric in metrics:
        groups = frame[metric].groupby(domain if within_domain else np.zeros(len(frame)))
        spread = groups.transform("std")
        z = ((frame[metric] - groups.transform("mean")) / spread.where(spread > 0)).to_numpy()
        means = _cell_means(z, cells, size**2)
        for i, j in itertools.combinations_with_replacement(range(size), 2):
            here = cells[0] == i * size + j
            if not here.any():
                continue
            own, mean = pd.Series(z[here]), means[:, i * size + j]
            as_far = (np.abs(mean[1:]) >= abs(mean[0]) - 1e-12).sum()
            known = int(own.count())
            rows.append({
                "metric": metric, "family": labels[i], "other": labels[j],
                "n_pairs": pd.MultiIndex.from_arrays([a[here], b[here]]).nunique(),
                "n_entries": len(own), "n_undefined": len(own) - known,
                "z": mean[0], "sd": own.std(),
                "p_value": (1 + as_far) / len(mean) if known else np.nan,
            })  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(p_value_bh=adjusted_p_values(table["p_value"]))


def _cell_means(values: Floats, cells: NDArray[np.intp], size: int) -> Floats:
    """Mean of the defined values of each cell, by row; NaN for empty cells."""
    known = np.isfinite(values)
    counts = np.stack([np.bincount(row[known], minlength=size) for row in cells])
    sums = np.stack([np.bincount(row[known], values[known], minlength=size) for row in cells])
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)
