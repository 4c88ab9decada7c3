"""Tests of families of machines: of their profiles, and of their ranks within regimes.

References
----------
.. [A01] Anderson (2001). A new method for non-parametric multivariate analysis of variance.
   doi:10.1111/j.1442-9993.2001.01070.pp.x
.. [MW47] Mann, Whitney (1947). On a test of whether one of two random variables is stochastically
   larger than the other. doi:10.1214/aoms/1177730491
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.frames import Groups, group_mapping
from alikely._base.intervals import bound_columns
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely.inference.intervals import adjusted_p_values, bounds, share_bounds, shares
from alikely.papers.groupings import (
    checked_groups,
    group_codes,
    permutation_test,
    profile_distances,
    unique_names,
)
from alikely.spectrum.alignment import condition_groups, machines_of
from alikely.spectrum.regime_scores import mean_draws, note_of_part, regime_parts

__all__ = ["family_tests", "regime_family_contrasts"]

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
    """Test whether profiles of models of one family are nearer to each other than chance [A01]_.

    The profile of a model is its agreement with humans by every metric of the alignment, in the
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
        One row per regime and hypothesis.

        - ``regime`` (if given), ``n_conditions`` (tested) and ``n_undefined`` (left out because the
          agreement of a model is undefined by some metric).
        - ``hypothesis``: ``H1`` (families), ``H1 within super-families`` (families, with labels
          shuffled within super-families), ``H2`` (super-families), and ``H1 in NAME`` (families of
          one super-family, among its own models).
        - ``statistic``: mean distance of pairs of one family, in the units of the agreement;
          ``null_mean, null_sd``: of the permutations; ``effect_size``: the difference in standard
          deviations, below 0 if members are nearer than chance makes them.
        - ``p_value``: one-sided, at least ``1 / (1 + n_permutations)``.
        - ``n_groups, n_systems``; ``note``: why there is no test if the numbers are NaN.

    Raises
    ------
    TypeError, ValueError
        If a condition has no label, a model no family, a family is in two super-families, or there
        are fewer than two families or none of two models.

    Notes
    -----
    ``H1`` is also true of families that share no more than their super-family, and ``H2`` of
    super-families with homogeneous families. The test within super-families excludes differences
    between super-families.

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
    machines = machines_of(alignment)
    conditions = alignment["condition"].values.tolist()
    whole = dict.fromkeys(conditions, "all conditions")
    label = whole if regimes is None else condition_groups(conditions, regimes)
    estimate = alignment["estimate"].sel(system=machines)
    defined = estimate.notnull().all(["metric", "system"])
    names, seed = list(dict.fromkeys(label.values())), seed_sequence(rng)
    seeds = [seed] if regimes is None else seed.spawn(len(names))
    tables = []
    for name, own_seed in zip(names, seeds, strict=True):
        of_it = [condition for condition, regime in label.items() if regime == name]
        tested = [condition for condition in of_it if defined.sel(condition=condition)]
        if tested:
            values = estimate.sel(condition=tested).transpose("system", "metric", "condition")
            profiles = pd.DataFrame(values.values.reshape(len(machines), -1), machines)
            table = profile_tests(
                profiles, families, super_families, n_permutations=n_permutations, rng=own_seed
            )
            of_each = _of_each_super_family(
                profiles,
                group_mapping(families),
                group_mapping(super_families),
                n_permutations,
                own_seed,
            )
            table = pd.concat([table, of_each], ignore_index=True)
        else:
            kinds = dict.fromkeys(group_mapping(super_families)[name] for name in machines)
            asked = [FAMILY, GIVEN, SUPER, *(f"{FAMILY} in {kind}" for kind in kinds)]
            table = pd.DataFrame({"hypothesis": asked}).assign(
                **dict.fromkeys(TEST, np.nan),
                n_groups=0,
                n_systems=len(machines),
                note="in each condition the agreement of a machine is undefined",
            )
        head: dict[str, Any] = {} if regimes is None else {"regime": name}
        head |= {"n_conditions": len(tested), "n_undefined": len(of_it) - len(tested)}
        for place, (column, value) in enumerate(head.items()):
            table.insert(place, column, value)
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
    """Tests of families, of families within super-families [A01]_, and of super-families."""
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


def regime_family_contrasts(
    alignment: xr.Dataset,
    labels: Groups,
    families: Groups | str,
) -> pd.DataFrame:
    """Compare families of machines within regimes of difficulty.

    Parameters
    ----------
    alignment, labels
        As in `alikely.spectrum.regime_alignment`.
    families : mapping, pandas.Series, xarray.DataArray or str
        Family of each machine, or the name of a label of the alignment that holds it.

    Returns
    -------
    pandas.DataFrame
        One row per metric, regime and pair of families: ``metric, regime, n_conditions, family,
        other``; ``difference`` of the families' means of `ratio_of_means`, with bounds from the
        joint replicates, as ``difference_eti95_lb`` (other images and humans, these machines),
        infinite where the humans' interval reaches 0; ``estimate_difference`` of the means of the
        estimates, and its bounds, which need no ceiling; the two-sided Mann-Whitney test of ranks
        [MW47]_ (other machines, these images and humans): ``n, n_other, median_rank,
        median_rank_other``, ``superiority``, the probability that a member of `family` ranks better
        than one of `other`, ties half, in [0, 1], ``p_value, p_value_bh`` (adjusted within metric
        and regime); ``note``.

    Raises
    ------
    TypeError, ValueError
        As in `alikely.spectrum.regime_alignment`; if the alignment has no such label; or if there
        are fewer than two families.

    Notes
    -----
    p is exact if no two scores of a pair of families are equal, otherwise from the normal
    approximation with corrections for ties and continuity. With two families of three models, p
    cannot fall below 0.1.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = dict.fromkeys(alignment["condition"].values, "all")
    >>> table = regime_family_contrasts(alignment, regime, "family")
    >>> table[["family", "other"]].values.tolist()[0]
    ['convnet', 'transformer']
    """
    if isinstance(families, str):
        families = _family_label(alignment, families)
    frames = []
    for part in regime_parts(alignment, labels, "all", None):
        if not part.n_conditions:
            continue
        estimate = pd.Series(part.value.mean(axis=0), index=part.machines)
        table = family_ranks(estimate, families)
        given = condition_groups(part.machines, families)
        means = mean_draws(part.draws, part.value)
        human_means = mean_draws(part.human_draws, part.human)
        ceiling = part.human.mean()
        reach = bool(bounds(human_means[:, None], CI_PROB, "eti")[0, 0] <= 0)
        weight = np.stack([_contrast(part.machines, given, *pair) for pair in _pairs(table)])
        difference, draws = weight @ estimate.to_numpy(), means @ weight.T
        limits = bounds(draws, CI_PROB, "eti")
        # Of a difference: its share of the ceiling, replicate by replicate.
        open_ended = np.full(len(weight), reach)
        share_limits = share_bounds(shares(draws, human_means[:, None]), open_ended, CI_PROB, "eti")
        share = part.shares_of_mean(difference)
        share_limits[np.isnan(share)] = np.nan
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
        frame["note"] = note_of_part(part, reach, ceiling)
        frames.append(frame)
    if not frames:
        raise ValueError("no regime has a condition in which every value is defined")
    return pd.concat(frames, ignore_index=True)


def _pairs(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(table["family"], table["other"], strict=True))


def _contrast(machines: list[str], family: dict[str, str], one: str, other: str) -> Floats:
    """Weights of the difference between the means of two families."""
    member = np.array([[family[name] == label for name in machines] for label in (one, other)])
    weight = member / member.sum(axis=1, keepdims=True)
    return np.asarray(weight[0] - weight[1])


def _family_label(alignment: xr.Dataset, name: str) -> dict[str, str]:
    known = [str(c) for c in alignment.coords if alignment[c].dims == ("system",) and c != "system"]
    if name not in known:
        raise ValueError(
            f"the alignment has no label {name!r} of its systems; it has "
            f"{listed(known)}: read it with the data, or give a mapping{nearest(name, known)}"
        )
    values = dict(zip(alignment["system"].values.tolist(), alignment[name].values, strict=True))
    machines = machines_of(alignment)
    empty = [machine for machine in machines if pd.isna(values[machine]) or values[machine] == ""]
    if empty:
        raise ValueError(f"label {name!r} of {empty[0]!r} is empty; give a mapping instead")
    return {machine: str(values[machine]) for machine in machines}


def family_ranks(scores: pd.Series, families: Groups) -> pd.DataFrame:
    """Ranks of every two families, with a Mann-Whitney test [MW47]_."""
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
