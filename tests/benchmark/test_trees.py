"""Families by average linkage, support of branches, and block means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.stats import pointbiserialr
from sklearn.metrics import adjusted_rand_score

import alikely as al
from alikely.benchmark.trees import _adjusted_rand, block_means, branches, members


@pytest.fixture(scope="module")
def board() -> al.Trials:
    return al.simulate.leaderboard(18, 3, 1_500, shared=0.6, rng=2)


@pytest.fixture(scope="module")
def matrix(board: al.Trials) -> al.Result:
    return al.pairwise_matrix(board)


@pytest.fixture(scope="module")
def tree(matrix: al.Result) -> al.Result:
    return al.benchmark.families(matrix, 3, n_resamples=60, rng=3)


def test_true_families_are_found(board: al.Trials, tree: al.Result) -> None:
    true = dict(zip(board.observers, board.data["family"].values.tolist(), strict=True))
    found = tree.summary()
    assert len(set(zip(found["family"], found["observer"].map(true), strict=True))) == 3
    assert (found["support"] > 0.95).all()
    assert found["family"].tolist() == sorted(found["family"])


def test_the_tree_agrees_with_scipy(matrix: al.Result) -> None:
    of_two = al.pairwise_matrix(al.load_example().select(condition=["noise", "blur"]))
    for each in (matrix, of_two):
        square = 1 - al.estimates.square_matrix(each, "estimate").values
        # Conditions are averaged.
        mean, n = square.reshape(-1, *square.shape[-2:]).mean(axis=0), len(each.observers)
        expected = hierarchy.linkage(mean[np.triu_indices(n, k=1)], "average")
        tree = al.benchmark.families(each, n_resamples=20, rng=3)
        np.testing.assert_allclose(tree.estimates["linkage"][:, 2], expected[:, 2])
        assert set(branches(tree)["size"]) == set(expected[:-1, 3])


@pytest.mark.slow
@pytest.mark.parametrize(("n_families", "shared"), [(1, 0.0), (60, 0.3)])
def test_without_families_no_cut_is_recommended(n_families: int, shared: float) -> None:
    board = al.simulate.leaderboard(60, n_families, 1_000, shared=shared, rng=4)
    tree = al.benchmark.families(al.pairwise_matrix(board, tests=False), n_resamples=8, rng=1)
    assert tree.data.attrs["reproducibility"] < 0.5
    assert tree.summary()["note"].str.startswith("no families that replicate").all()
    assert members(tree)["size"].tolist() == [60]


def test_support_does_not_depend_on_the_order_of_observers(matrix: al.Result) -> None:
    # Resampled trials do not depend on the order of observers.
    found = []
    for order in (1, -1):
        part = matrix.sel(observer=matrix.observers[::order])
        table = branches(al.benchmark.families(part, n_resamples=20, rng=5))
        found.append(dict(zip(table["members"].map(frozenset), table["support"], strict=True)))
    one, other = found
    assert one == other


def test_equal_observers_have_no_order() -> None:
    answers = np.random.default_rng(1).integers(0, 2, 400)
    same = np.stack([answers] * 3 + [1 - answers])
    tree = al.benchmark.families(
        al.pairwise_matrix(al.Trials.from_correct(same)), n_resamples=20, rng=1
    )
    top = branches(tree).iloc[0]
    assert (top["size"], top["support"]) == (3, 1.0)


def test_observers_with_few_errors_have_no_tree() -> None:
    correct = np.random.default_rng(1).integers(0, 2, (4, 300))
    correct[0] = correct[1] = 1
    correct[0, 0] = correct[1, 1] = 0
    matrix = al.pairwise_matrix(al.Trials.from_correct(correct))
    with pytest.raises(ValueError, match="almost no or only errors"):
        al.benchmark.families(matrix, n_resamples=100, rng=1)


def test_block_means_are_means_of_the_matrix(matrix: al.Result, board: al.Trials) -> None:
    family = dict(zip(board.observers, board.data["family"].values.tolist(), strict=True))
    table = block_means(matrix, family).set_index(["group_a", "group_b"])
    assert len(table) == 6
    square = al.estimates.square_matrix(matrix, "estimate")
    names = {f: [n for n in matrix.observers if family[n] == f] for f in set(family.values())}
    between = square.sel(observer=names["family01"], observer_other=names["family03"])
    assert table.loc[("family01", "family03"), "estimate"] == pytest.approx(between.mean().item())
    within = square.sel(observer=names["family02"], observer_other=names["family02"]).values
    expected = within[np.triu_indices(6, k=1)].mean()
    assert table.loc[("family02", "family02"), "estimate"] == pytest.approx(expected)
    assert table.loc[("family02", "family02"), "n_pairs"] == 15


def _rand(tree: al.Result, board: al.Trials) -> float:
    found = tree.summary().set_index("observer")["family"]
    true = board.data["family"].to_series()
    return float(adjusted_rand_score(true[found.index], found))


@pytest.mark.slow
def test_the_recommended_cut_finds_families() -> None:
    board = al.simulate.leaderboard(300, 10, 1_500, shared=0.2, rng=1)
    matrix = al.pairwise_matrix(board, tests=False)
    ten = al.benchmark.families(matrix, 10, n_resamples=0)
    # A cut at ten groups separates outliers and joins families in one group of 113 models.
    assert _rand(ten, board) < 0.6
    assert ten.summary()["size"].max() > 100
    tree = al.benchmark.families(matrix, n_resamples=3, rng=1)
    assert _rand(tree, board) > 0.85
    found = members(tree)
    assert found["size"].is_monotonic_decreasing
    assert (found["size"] >= 20).sum() == 10
    assert tree.data.attrs["n_groups"] > 10
    assert f"of {tree.data.attrs['n_groups']} groups of observers" in tree.sentence()


def test_the_recommended_number_has_the_largest_correlation(matrix: al.Result) -> None:
    matrix = matrix.sel(observer=matrix.observers[:13])
    tree = al.benchmark.families(matrix, n_resamples=0)
    upper = np.triu_indices(13, k=1)
    value = al.estimates.square_matrix(matrix, "estimate").values[upper]
    of_cut = []
    for n in range(2, 13):
        group = hierarchy.cut_tree(tree.estimates["linkage"].values, n_clusters=n)[:, 0]
        of_cut.append(pointbiserialr(group[upper[0]] == group[upper[1]], value).statistic)
    assert tree.data.attrs["n_groups"] == 2 + int(np.argmax(of_cut))


def test_outliers_do_not_form_a_family() -> None:
    rng = np.random.default_rng(1)
    alike = rng.integers(0, 2, 600)
    answers = np.stack([np.where(rng.random(600) < 0.1, 1 - alike, alike) for _ in range(6)])
    answers = np.vstack([answers, rng.integers(0, 2, 600)])
    tree = al.benchmark.families(
        al.pairwise_matrix(al.Trials.from_correct(answers)), n_resamples=20, rng=1
    )
    assert tree.data.attrs["n_groups"] == 1
    assert (tree.summary()["note"] == "no families: all groups but one have a single member").all()


def test_agreement_of_groupings_equals_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    for k in (1, 2, 4):
        a, b = rng.integers(0, k, (2, 30))
        assert _adjusted_rand(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
        assert _adjusted_rand(a, (a + 1) % k) == 1
