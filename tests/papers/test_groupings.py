"""Grouping statistics: brute-force enumeration, symmetries, level, bad input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from alikely.papers.families import compare_groupings, permutation_test

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
    # The variance of a single pair is 0 / 0 and takes no part.
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
def test_null_equals_all_permutations(strata: str) -> None:
    """Mean, spread and p of the exact permutation distribution, to four Monte Carlo errors."""
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
    """Labellings that swap names of groups are as near as the data, in whatever order summed."""
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


UNEVEN = pairwise_matrix()
UNEVEN.loc["a", "c"] += 1


@pytest.mark.parametrize(
    ("distances", "groups", "more", "message"),
    [
        (pairwise_matrix(), dict(zip(NAMES, NAMES, strict=True)), {}, "got 6 groups of 6"),
        (pairwise_matrix(), GROUPS | {"b": None}, {}, "'b' has no group; give it one"),
        (pairwise_matrix(), GROUPS, {"within": {"a": "x"}}, r"'b' has no stratum \(5"),
        (pairwise_matrix(), GROUPS, {"n_permutations": 1}, "must be at least 2, got 1"),
        (UNEVEN, GROUPS, {}, "symmetric, but 'a' to 'c' is"),
        (pairwise_matrix()[NAMES[::-1]], GROUPS, {}, "same names in the same"),
    ],
)
def test_bad_input(distances: Any, groups: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        permutation_test(distances, groups, **more)
    with pytest.raises(ValueError, match="at least one grouping, got none"):
        compare_groupings(distances, {})
