"""Families of models: closed forms, level and power of the tests, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import alikely as al
from alikely.inference.intervals import adjusted_p_values
from alikely.papers import family_tests
from alikely.papers.families import family_ranks, permutation_test, profile_distances, profile_tests

# 22 systems: 8 families of 1 to 4 in 3 super-families, of which one is a single family.
SIZES = {"a1": 4, "a2": 4, "a3": 4, "b1": 4, "b2": 2, "b3": 1, "b4": 1, "c1": 2}
SYSTEMS = [f"s{i}" for i in range(22)]
FAMILY = dict(zip(SYSTEMS, np.repeat(list(SIZES), list(SIZES.values())).tolist(), strict=True))
SUPER = {name: family[0] for name, family in FAMILY.items()}
HYPOTHESES = ["H1", "H1 within super-families", "H2"]


def profiles(rng: np.random.Generator, family: float = 0, over: float = 0) -> pd.DataFrame:
    """Twenty entries of 22 systems, with spread of families and of super-families."""
    values = rng.normal(size=(22, 20))
    for labels, spread in ((FAMILY, family), (SUPER, over)):
        effect = {label: rng.normal(size=20) * spread for label in dict.fromkeys(labels.values())}
        values += np.array([effect[labels[name]] for name in SYSTEMS])
    return pd.DataFrame(values, SYSTEMS)


def test_rows_are_permutation_tests() -> None:
    table = profiles(np.random.default_rng(1), 1, 1)
    found = profile_tests(table, FAMILY, SUPER, n_permutations=199, rng=2)
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


def test_each_regime_is_tested_where_all_is_defined(alignment: xr.Dataset) -> None:
    options: dict[str, Any] = {"n_permutations": 199}
    found = family_tests(alignment, SMALL, KIND, REGIME, rng=3, **options)
    assert found["regime"].tolist() == ["near"] * 5 + ["far"] * 5
    assert found["hypothesis"].tolist()[3:5] == ["H1 in early", "H1 in late"]
    # Nobody errs in clean images as another does: one of the models has no agreement there.
    assert found["n_conditions"].tolist() == [1] * 10
    assert found["n_undefined"].tolist() == [1] * 5 + [0] * 5
    estimate = alignment["estimate"].sel(system=list(SMALL)).transpose("system", ...)
    for regime, condition, seed in zip(
        ("near", "far"), ("all:blur", "all:noise"), np.random.SeedSequence(3).spawn(2), strict=True
    ):
        own = estimate.sel(condition=condition).to_pandas()
        expected = profile_tests(own, SMALL, KIND, each=True, rng=seed, **options)
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
    # No of 6 comparisons won is as rare as either end: 1 of 10 and of 20 ways to divide the values.
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


@pytest.mark.parametrize(
    ("families", "above", "message"),
    [
        (FAMILY, SUPER | {"s1": "b"}, "family 'a1' is in two"),
        (FAMILY | {"anna": "h"}, SUPER, "unknown 'anna'; known"),
        ({"s0": "a"}, SUPER, r"'s1' has no group \(21 without\)"),
    ],
)
def test_bad_input(families: dict[str, str], above: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        profile_tests(profiles(np.random.default_rng(1)), families, above)
    with pytest.raises(ValueError, match="scores have 'a' twice"):
        family_ranks(pd.Series([1.0, 2.0], ["a", "a"]), {"a": "x"})
