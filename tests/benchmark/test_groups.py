"""Groups without a reference: means by hand, coverage, and undefined values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.benchmark import group_scores
from alikely.benchmark.groups import of_pairs
from studies.clusters import consistency

POINT: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
FAMILIES = np.repeat(["ant", "bee", "cat", "dog"], 3)


def families(rng: np.random.Generator, n_items: int = 160) -> al.Trials:
    """12 observers in 4 families; members of a family are more similar."""
    item, family = rng.standard_normal(n_items), rng.standard_normal((4, n_items))
    own = rng.standard_normal((12, n_items))
    evidence = 0.5 * item + 0.6 * np.repeat(family, 3, axis=0) + np.sqrt(0.39) * own
    return al.Trials.from_correct(evidence < 0.67, labels={"family": FAMILIES})


def test_means_by_hand() -> None:
    trials = families(np.random.default_rng(1))
    found = group_scores(trials, "family", **POINT)
    value = np.full((12, 12), np.nan)
    for (a, b), ec in zip(
        found.pairs[["observer_a", "observer_b"]].values,
        found.estimates["estimate"].values,
        strict=True,
    ):
        i, j = trials.observers.index(a), trials.observers.index(b)
        value[i, j] = value[j, i] = ec
    table = (
        found.summary().query("method == 'analytic'").set_index(["contrast", "group", "group_b"])
    )
    same = FAMILIES[:, None] == FAMILIES
    within = [np.nanmean(value[np.ix_(f == FAMILIES, f == FAMILIES)]) for f in ["ant", "bee"]]
    assert table.loc[("within", "ant", "ant"), "estimate"] == pytest.approx(within[0])
    between = value[np.ix_(FAMILIES == "ant", FAMILIES == "bee")].mean()
    assert table.loc[("between", "ant", "bee"), "estimate"] == pytest.approx(between)
    overall = np.nanmean(value[same]) - value[~same].mean()
    whole = table.loc[("within - between", "all groups", "all groups")]
    assert whole["estimate"] == pytest.approx(overall)
    assert whole["n_pairs"] == 66
    observers = al.benchmark.ranks(found).set_index("observer")
    np.testing.assert_allclose(
        observers.loc[trials.observers, "estimate"], np.nanmean(value, axis=1)
    )


@pytest.mark.slow
def test_coverage_of_within_minus_between(
    figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    """Coverage over all families by method; normal evidence, correlated within and between."""
    within, between = (consistency(0.67, 0.67, r) for r in (0.5**2 + 0.6**2, 0.5**2))
    n_sets, held = sets(100), []
    for seed in range(n_sets):
        trials = families(np.random.default_rng([1, seed]))
        with al.options(n_null=0):
            found = group_scores(trials, "family", n_resamples=200, n_draws=200, rng=seed)
        table = found.summary(intervals="all").set_index("method")
        ends = table[(table["contrast"] == "within - between") & (table["group"] == "all groups")]
        held.append((ends["eti95_lb"] <= within - between) & (within - between <= ends["eti95_ub"]))
    coverage = pd.concat(held, axis=1).mean(axis=1)
    figure(f"within minus between of 4 families: {coverage.to_dict()}")
    assert coverage.index.tolist() == ["analytic", "bootstrap", "posterior"]
    assert (coverage >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_sets)).all()


def test_groups_weigh_equally_and_single_observers_have_none() -> None:
    right = np.random.default_rng(2).random((6, 100)) < 0.7
    group = dict(zip([f"observer_{i}" for i in range(6)], "aaaabc", strict=True))
    found = group_scores(al.Trials.from_correct(right), group, **POINT)
    table = found.summary().set_index(["contrast", "group"])
    assert np.isnan(table.loc[("within", "b"), "estimate"])
    told = "the group has only one observer: agreement within the group is undefined"
    assert table.loc[("within", "b"), "note"] == told
    between = found.summary()[found.summary()["contrast"] == "between"]
    whole = between["group"] == "all groups"
    assert between.loc[whole, "estimate"].item() == pytest.approx(
        between.loc[~whole, "estimate"].mean()
    )


def on_two_lists(linked: bool, kinds: list[str]) -> al.Trials:
    """Two lists, each with one member of the first two groups; the third group is on both."""
    right = np.ma.array(np.random.default_rng(2).random((5, 80)) < 0.7, dtype=float)
    right[[0, 2], 40:] = right[[1, 3], :40] = np.ma.masked
    n = 5 if linked else 4
    return al.Trials.from_correct(right[:n], kind=kinds[:n], observers=list("pPqQr")[:n])


@pytest.mark.parametrize("kinds", [list("aabbc"), list("abcde")])
def test_groups_on_two_lists_do_not_depend_on_kinds(kinds: list[str]) -> None:
    """Observers on both lists show that labels match, so only pairs across lists are missing."""
    group = dict(zip("pPqQr", "aabbc", strict=True))
    found = al.benchmark.group_scores(on_two_lists(True, kinds), group, **POINT)
    table = (
        found.summary().query("method == 'analytic'").set_index(["contrast", "group", "group_b"])
    )
    between = table.loc[("between", "a", "b")]
    assert (between["n_pairs"], between["n_pairs_no_overlap"]) == (4, 2)
    pairs = of_pairs(found).summary()
    met = pairs[pairs["observer_a"].isin(list("pP")) & pairs["observer_b"].isin(list("qQ"))]
    assert between["estimate"] == pytest.approx(met["estimate"].dropna().mean())
    assert met["estimate"].isna().sum() == 2
    assert "2 of 4 pairs have no common trials" in between["note"]
    assert table.loc[("within", "a", "a"), "note"] == "no common trials"
    observers = al.benchmark.ranks(found).set_index("observer")
    assert observers.loc["r", ["n_pairs", "n_pairs_no_overlap"]].tolist() == [4, 0]
    assert observers.loc["p", ["n_pairs", "n_pairs_no_overlap"]].tolist() == [4, 2]


def of_templates(rng: np.random.Generator) -> al.Trials:
    """Binary responses of six observers to items of 12 templates of unequal size."""
    template = np.repeat(np.arange(12), [3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 25, 30])
    shared = rng.standard_normal(12)[template] + 0.5 * rng.standard_normal(len(template))
    yes = rng.standard_normal((6, len(template))) + shared > 0
    frame = pd.DataFrame({
        "observer": np.repeat(list("abcdef"), len(template)),
        "item": np.tile(np.arange(len(template)).astype(str), 6),
        "template": np.tile(template, 6),
        "truth": np.tile(np.where(shared > 0, "yes", "no"), 6),
        "response": np.where(yes, "yes", "no").ravel(),
        "kind": np.repeat(["one", "two"], 3 * len(template)),
    })  # fmt: skip
    return al.Trials.from_table(frame, item_columns=["template"])


@pytest.mark.slow
def test_errors_over_clusters_are_those_of_means() -> None:
    """Standard errors do not depend on ci_prob, which affects limits and tests only."""
    trials = of_templates(np.random.default_rng(1))
    options = {"n_resamples": 0, "n_draws": 0, "cluster": "template", "rng": 1}
    wide, found = (
        group_scores(trials, "kind", "cohen_kappa", ci_prob=prob, **options) for prob in (0.95, 0.5)
    )
    observers = al.benchmark.ranks(found).set_index("observer")
    pd.testing.assert_series_equal(
        al.benchmark.ranks(wide).set_index("observer")["se"], observers["se"]
    )
    assert (al.benchmark.ranks(wide)["note"] == "").all()
    for name in observers.index:
        mean = al.mean(of_pairs(found), {"observer": name}, intervals=["analytic"]).iloc[0]
        assert observers.loc[name, "estimate"] == pytest.approx(mean["estimate"])
        assert observers.loc[name, "se"] == pytest.approx(mean["se"], rel=1e-9)


@pytest.mark.slow
def test_observers_without_defined_values() -> None:
    """Observers without errors have no error consistency or rank, but a row in the table."""
    trials = of_templates(np.random.default_rng(1))
    table = trials.to_table()
    perfect = al.Trials.from_table(
        table.assign(response=table["truth"])[
            ["observer", "kind", "item", "template", "truth", "response"]
        ],
        item_columns=["template"],
    )
    found = group_scores(perfect, "kind", cluster="template", rng=1, **POINT)
    assert found.summary()["estimate"].isna().all()
    assert len(found.summary()) == 8
    assert al.benchmark.ranks(found)["observer"].tolist() == list("abcdef")
    assert al.benchmark.ranks(found)[["estimate", "se", "rank"]].isna().all(axis=None)
    undefined = "at least one pair has no estimate, so the mean is undefined"
    assert (al.benchmark.ranks(found)["note"] == undefined).all()
    assert al.benchmark.ranks(found)["n_pairs"].tolist() == [5] * 6


@pytest.mark.slow
def test_trees_and_regressions_are_results(tmp_path: Path) -> None:
    board = al.simulate.leaderboard(18, 3, 400, shared=0.6, rng=2)
    matrix = al.pairwise_matrix(board)
    family = dict(zip(board.observers, board.data["family"].values.tolist(), strict=True))
    tree = al.benchmark.families(matrix, 3, n_resamples=20, rng=3)
    regression = al.benchmark.agreement_regression(matrix, labels=family, n_draws=400, rng=1)
    for result in (tree, regression):
        result.save(tmp_path / "r.nc")
        again = al.Result.load(tmp_path / "r.nc")
        pd.testing.assert_frame_equal(again.summary(), result.summary())
        assert (repr(again), again.sentence()) == (repr(result), result.sentence())
        assert "\\toprule" in again.to_latex()
        assert again.report().failures == ()
    with pytest.raises(ValueError, match="no intervals"):
        tree.summary(intervals=["analytic"])
    with pytest.raises(ValueError, match="from 1 to 18"):
        al.benchmark.families(matrix, 0)


@pytest.mark.slow
def test_groups_and_reader_studies_are_results(tmp_path: Path) -> None:
    groups = al.benchmark.group_scores(al.load_example(), "family", n_resamples=0, n_draws=80)
    trials, _ = al.simulate.reader_study(4, 60, rng=1)
    study = al.benchmark.reader_study(trials, "AI")
    for result in (groups, study):
        result.save(tmp_path / "r.nc")
        again = al.Result.load(tmp_path / "r.nc")
        pd.testing.assert_frame_equal(again.summary(), result.summary())
        of_kind = al.benchmark.ranks if result is groups else al.benchmark.differences
        pd.testing.assert_frame_equal(of_kind(again), of_kind(result))
        assert again.sentence() == result.sentence()
        assert "\\toprule" in result.to_latex()
    assert len(az.summary(groups.data, group="posterior")) == 270
    assert al.report.make_report(groups, study).failures == ()
    with pytest.raises(TypeError, match=r"Result of scores .* or groups .*, got one of a reader"):
        al.benchmark.ranks(study)
    with pytest.raises(TypeError, match=r"expected a Result of pairs .*, got one of groups"):
        al.contrast(groups, [1])
    with pytest.raises(ValueError, match="groups has no option generalize_to=; leave it out"):
        al.benchmark.ranks(groups, "images")
