"""Families and groups: closed forms, enumeration, level and power of tests."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import alikely as al
from alikely.inference.intervals import adjusted_p_values
from alikely.papers import family_scores, family_tests
from alikely.papers.families import (
    compare_groupings,
    family_ranks,
    permutation_test,
    profile_distances,
    profile_tests,
)

# 22 systems: 8 families of 1 to 4 in 3 super-families, one of which is a single family.
SIZES = {"a1": 4, "a2": 4, "a3": 4, "b1": 4, "b2": 2, "b3": 1, "b4": 1, "c1": 2}
SYSTEMS = [f"s{i}" for i in range(22)]
FAMILY = dict(zip(SYSTEMS, np.repeat(list(SIZES), list(SIZES.values())).tolist(), strict=True))
SUPER = {name: family[0] for name, family in FAMILY.items()}
HYPOTHESES = ["H1", "H1 within super-families", "H2"]


def profiles(rng: np.random.Generator, family: float = 0, over: float = 0) -> pd.DataFrame:
    """Twenty comparisons of 22 systems, with variance of families and super-families."""
    values = rng.normal(size=(22, 20))
    for labels, spread in ((FAMILY, family), (SUPER, over)):
        effect = {label: rng.normal(size=20) * spread for label in dict.fromkeys(labels.values())}
        values += np.array([effect[labels[name]] for name in SYSTEMS])
    return pd.DataFrame(values, SYSTEMS)


def test_rows_are_permutation_tests() -> None:
    table = profiles(np.random.default_rng(1), 1, 1)
    found = profile_tests(table, FAMILY, SUPER, n_permutations=199, rng=2).head(3)
    assert found["hypothesis"].tolist() == HYPOTHESES
    assert found["n_groups"].tolist() == [8, 8, 3]
    assert found["n_systems"].tolist() == [22, 22, 22]
    assert found["note"].tolist() == ["", "", ""]
    distances = profile_distances(table)
    seeds = np.random.SeedSequence(2).spawn(3)
    expected = [
        permutation_test(distances, FAMILY, n_permutations=199, rng=seeds[0]),
        permutation_test(distances, FAMILY, within=SUPER, n_permutations=199, rng=seeds[1]),
        permutation_test(distances, SUPER, n_permutations=199, rng=seeds[2]),
    ]
    columns = ["statistic", "null_mean", "null_sd", "effect_size", "p_value"]
    np.testing.assert_array_equal(found[columns], [list(test.values()) for test in expected])


@pytest.fixture(scope="module")
def alignment() -> xr.Dataset:
    return al.condition_alignment(al.load_example(), n_resamples=0)


REGIME = {"all:clean": "near", "all:blur": "near", "all:noise": "far"}
SMALL = {f"model_{i}": "abcdef"[i // 2] for i in range(1, 7)}
KIND = {f"model_{i}": "early" if i < 4 else "late" for i in range(1, 7)}


def test_each_regime_is_tested_on_defined_values(alignment: xr.Dataset) -> None:
    options: dict[str, Any] = {"n_permutations": 199}
    found = family_tests(alignment, SMALL, KIND, REGIME, rng=3, **options)
    assert found["regime"].tolist() == ["near"] * 5 + ["far"] * 5
    assert found["hypothesis"].tolist()[3:5] == ["H1 in early", "H1 in late"]
    # No errors are shared in clean images, so one of the models has no agreement there.
    assert found["n_conditions"].tolist() == [1] * 10
    assert found["n_undefined"].tolist() == [1] * 5 + [0] * 5
    estimate = alignment["estimate"].sel(system=list(SMALL)).transpose("system", ...)
    for regime, condition, seed in zip(
        ("near", "far"), ("all:blur", "all:noise"), np.random.SeedSequence(3).spawn(2), strict=True
    ):
        own = estimate.sel(condition=condition).to_pandas()
        expected = profile_tests(own, SMALL, KIND, rng=seed, **options)
        here = found.loc[found["regime"] == regime, expected.columns]
        pd.testing.assert_frame_equal(here.reset_index(drop=True), expected)
        assert (expected["p_value"].isna() == (expected["note"] != "")).all()
        rows, seeds = expected[3:].itertuples(), seed.spawn(2)
        for row, kind, left in zip(rows, ("early", "late"), seeds, strict=True):
            members = {name: SMALL[name] for name in SMALL if KIND[name] == kind}
            assert (row.n_systems, row.n_groups) == (len(members), len(set(members.values())))
            if not row.note:
                distances = profile_distances(own.loc[list(members)])
                test = permutation_test(distances, members, rng=left, **options)
                assert (row.statistic, row.p_value) == (test["statistic"], test["p_value"])


def test_ranks_by_hand() -> None:
    scores = pd.Series([0.9, 0.5, 0.8, 0.7, 0.6, 0.1, 0.2, 0.3], list("abcdefgh"))
    families = dict(zip("abcdefgh", ["x", "x", "y", "y", "y", "z", "z", "z"], strict=True))
    table = family_ranks(scores, families)
    assert table[["family", "other"]].values.tolist() == [["x", "y"], ["x", "z"], ["y", "z"]]
    assert table[["n", "n_other"]].values.tolist() == [[2, 3], [2, 3], [3, 3]]
    assert table["median_rank"].tolist() == [3, 3, 3]
    assert table["median_rank_other"].tolist() == [3, 7, 7]
    assert table["superiority"].tolist() == [0.5, 1, 1]
    # Winning none of 6 comparisons is as rare as either extreme: 1 of 10 and 1 of 20 partitions.
    p = [1, 2 / 10, 2 / 20]
    np.testing.assert_allclose(table["p_value"], p)
    np.testing.assert_allclose(table["p_value_bh"], adjusted_p_values(p))


def test_ties() -> None:
    scores = pd.Series([0.9, 0.5, 0.5, 0.5, 0.1, 0.3], list("abcdef"))
    families = dict(zip("abcdef", "xxyyzz", strict=True))
    table = family_ranks(scores, families)
    assert table["superiority"].tolist() == [0.75, 1, 1]
    assert table["median_rank"].tolist() == [2, 2, 3]
    expected = stats.mannwhitneyu([0.9, 0.5], [0.5, 0.5], method="asymptotic").pvalue
    assert table["p_value"][0] == pytest.approx(expected)
    equal = family_ranks(scores * 0, families)
    assert equal["superiority"].tolist() == [0.5] * 3
    assert equal["p_value"].tolist() == [1] * 3


NAMES = list("abcdef")
GROUPS = dict(zip(NAMES, "xxxyyz", strict=True))


def pairwise_matrix(seed: int = 1, names: list[str] = NAMES) -> pd.DataFrame:
    at = np.random.default_rng(seed).normal(size=(len(names), 3))
    return pd.DataFrame(np.linalg.norm(at[:, None] - at, axis=-1), names, names)


def mean_within(values: np.ndarray, labels: list[str]) -> float:
    n = len(labels)
    pairs = [values[i, j] for i in range(n) for j in range(i) if labels[i] == labels[j]]
    return float(np.mean(pairs))


def grouping_effect(distances: Any, groups: Any, **options: Any) -> dict[str, float]:
    return compare_groupings(distances, {"one": groups}, **options).iloc[0].to_dict()


def cohen(values: np.ndarray, labels: list[str]) -> float:
    n = len(labels)
    both = [(values[i, j], labels[i] == labels[j]) for i in range(n) for j in range(i)]
    within, between = (np.array([d for d, same in both if same == kind]) for kind in (True, False))
    free = len(within) - 1, len(between) - 1
    # The variance of a single pair is 0 / 0 and excluded.
    variances = [part.var(ddof=1) if len(part) > 1 else 0.0 for part in (within, between)]
    pooled = (free[0] * variances[0] + free[1] * variances[1]) / sum(free)
    return float((between.mean() - within.mean()) / np.sqrt(pooled))


def all_labellings(labels: list[str], strata: list[str]) -> list[list[str]]:
    kept = []
    for order in itertools.permutations(range(len(labels))):
        if all(strata[i] == strata[j] for i, j in enumerate(order)):
            kept.append([labels[j] for j in order])
    return kept


@pytest.mark.parametrize("strata", ["ssssss", "ssttst"])
def test_null_distribution_agrees_with_all_permutations(strata: str) -> None:
    """Compare mean, SD and p with the exact permutation distribution, up to four errors."""
    distances, labels, n = pairwise_matrix(), list(GROUPS.values()), 20_000
    exact = np.array(
        [mean_within(distances.values, each) for each in all_labellings(labels, list(strata))]
    )
    test = permutation_test(
        distances, GROUPS, within=dict(zip(NAMES, strata, strict=True)), n_permutations=n, rng=1
    )
    assert test["statistic"] == pytest.approx(mean_within(distances.values, labels))
    assert test["null_mean"] == pytest.approx(exact.mean(), abs=4 * exact.std() / np.sqrt(n))
    fourth = ((exact - exact.mean()) ** 4).mean() / exact.var() ** 2
    assert test["null_sd"] == pytest.approx(exact.std(), rel=4 * np.sqrt((fourth - 1) / 4 / n))
    p = (exact <= test["statistic"] + 1e-12).mean()
    assert test["p_value"] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n) + 1 / n)
    assert test["effect_size"] == pytest.approx(
        (test["statistic"] - test["null_mean"]) / test["null_sd"]
    )


def test_rounding_does_not_break_ties() -> None:
    """Labelings with exchanged group names have equal distances, whatever the order of sums."""
    at = np.random.default_rng(5).normal(size=4) * 1e3
    names = list("abcd")
    distances = pd.DataFrame(np.abs(at[:, None] - at) / 3, names, names)
    nearest = dict(zip(np.array(names)[np.argsort(at)], "xxyy", strict=True))
    n = 9_999
    p = permutation_test(distances, nearest, n_permutations=n, rng=2)["p_value"]
    assert p == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / n))


@pytest.mark.parametrize("labels", ["xxxyyz", "xxxyyy", "xxyyzz", "xxyzwv"])
def test_cohens_d_by_hand_and_its_p_by_enumeration(labels: str) -> None:
    distances, groups = pairwise_matrix(3), dict(zip(NAMES, labels, strict=True))
    effect = grouping_effect(distances, groups, rng=4)
    assert effect["cohens_d"] == pytest.approx(cohen(distances.values, list(labels)))
    assert effect["mean_within"] == pytest.approx(mean_within(distances.values, list(labels)))
    every = [cohen(distances.values, list(each)) for each in itertools.permutations(labels)]
    p = (np.array(every) >= effect["cohens_d"] - 1e-9).mean()
    assert effect["p_value"] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 10_000) + 1e-4)


@given(seed=st.integers(0, 10**6), order=st.permutations(range(6)))
@settings(max_examples=25, deadline=None)
def test_names_of_groups_and_order_of_systems_change_nothing(seed: int, order: list[int]) -> None:
    distances, options = pairwise_matrix(seed), {"n_permutations": 99, "rng": 1}
    renamed = {name: {"x": "q", "y": "p", "z": "x"}[group] for name, group in GROUPS.items()}
    test = permutation_test(distances, GROUPS, **options)
    for same in (renamed, dict(reversed(GROUPS.items()))):
        assert permutation_test(distances, same, **options) == test
    effect = grouping_effect(distances, GROUPS, **options)
    for other in (distances.iloc[order, order], 2 * distances):
        found = grouping_effect(other, GROUPS, **options)
        assert found["cohens_d"] == pytest.approx(effect["cohens_d"])
    (own,) = np.random.SeedSequence(1).spawn(1)
    alone = permutation_test(distances, GROUPS, n_permutations=99, rng=own)
    assert effect["p_value"] == found["p_value"] == alone["p_value"]


def test_the_diagonal_is_ignored_and_kinds_of_input_agree() -> None:
    distances = pairwise_matrix()
    array = xr.DataArray(distances.values, {"one": NAMES, "two": NAMES}, ("one", "two"))
    holed = array.copy()
    holed.values[np.diag_indices(6)] = np.nan
    labels = xr.DataArray(list(GROUPS.values()), {"one": NAMES}, ("one",))
    tests = [
        permutation_test(d, g, n_permutations=99, rng=1)
        for d in (distances, array, holed)
        for g in (GROUPS, pd.Series(GROUPS), labels)
    ]
    assert all(test == tests[0] for test in tests)


BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}


@pytest.fixture(scope="module")
def ec() -> al.Result:
    return al.error_consistency(al.load_example(), **BARE)


def table_of(result: al.Result, name: str = "other") -> pd.DataFrame:
    return result.pairs.assign(**{name: result.estimates["estimate"].values})


def test_tables_and_results_give_equal_tests(ec: al.Result) -> None:
    ma = al.misclassification_agreement(al.load_example(), **BARE)
    name = "misclassification_agreement"
    expected = al.metric_correlations([ec, ma], n_resamples=20, rng=1)
    table = table_of(ma, name).sample(frac=1, random_state=1)
    turned = table.rename(columns={"observer_a": "observer_b", "observer_b": "observer_a"})
    for other in (table, turned):
        found = al.metric_correlations([ec, other], n_resamples=20, rng=1)
        pd.testing.assert_frame_equal(found, expected)


def test_a_table_without_domains_applies_to_all(ec: al.Result) -> None:
    pairs = ec.pairs[["observer_a", "observer_b"]].drop_duplicates()
    values = np.random.default_rng(1).random(len(pairs))
    found = al.metric_correlations([pairs.assign(cka=values), ec], n_resamples=20, rng=1)
    assert (found["metric"] == "cka").all()
    noise = (ec.pairs["condition"] == "noise").to_numpy()
    own = ec.estimates["estimate"].values[noise]
    expected = stats.spearmanr(own, values).statistic
    row = found.set_index("domain").loc["all | noise"]
    assert row["correlation"] == pytest.approx(expected)


def test_families_by_hand(ec: al.Result) -> None:
    trials = al.load_example()
    ma = al.misclassification_agreement(trials, **BARE)
    family = trials.data["family"].to_series().to_dict()
    found = family_scores([ec, ma], family, n_permutations=50, rng=1)
    table = table_of(ec, "value")
    z = table.groupby("condition")["value"].transform(lambda v: (v - v.mean()) / v.std())
    both = [
        tuple(sorted((family[a], family[b]))) for a, b in table[["observer_a", "observer_b"]].values
    ]
    means = z.groupby(pd.Series(both, index=z.index)).mean()
    rows = found[found["metric"] == "error_consistency"]
    for row in rows.to_dict("records"):
        assert row["z"] == pytest.approx(means[tuple(sorted((row["family"], row["other"])))])
    assert len(rows) == 6
    pooled = family_scores([ec, ma], family, within_domain=False, n_permutations=50, rng=1)
    assert not np.allclose(pooled["z"], found["z"])
