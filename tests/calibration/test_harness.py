"""The study harness: every scenario runs, true values are correct, pages match tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from alikely.metrics import error_consistency
from alikely.metrics.consistency import accuracies
from alikely.metrics.copying import copy_probability
from studies import benchmarks, error_patterns, families
from studies.__main__ import STUDIES, main
from studies.benchmarks import BENCHMARKS, BenchmarkDesign
from studies.error_patterns import DESIGNS, ErrorDesign, answers, population
from studies.harness import Study, checked
from studies.sharing import copying_recovery, sharing_cells

# The smallest number of draws that each study accepts.
FEW: dict[str, dict[str, Any]] = {
    "agreement": {"n_draws": 100},
    "branches": {"n_resamples": 10},
    "cohorts": {"n_draws": 40},
    "families": {"n_draws": 100},
    "items": {"n_draws": 100},
    "similarity": {"n_draws": 100},
    "statements": {"n_draws": 100},
}
# Studies whose scenarios all take long and run with the slow tests.
LONG = ("benchmarks", "cluster notes", "clusters", "cohorts", "copying_families", "families",
        "items", "judges", "margin_scores", "margins", "orders", "similarity",
        "statements")  # fmt: skip
# Approximate number of scenarios tested in each study.
MOST = 2
# Slow scenarios of studies whose other scenarios are fast.
LARGE = ("classes", "250 errors", "300 errors", "20 models", "5 x 4 blocks", "random trees")


def scenarios() -> list[Any]:
    """The first scenario of each study; others run with the slow tests."""
    return [
        pytest.param(
            study.name,
            name,
            marks=[pytest.mark.slow]
            * (k > 0 or study.name in LONG or any(x in name for x in LARGE)),
        )
        for study in STUDIES.values()
        for k, name in enumerate(study.scenarios)
        if k % -(-len(study.scenarios) // MOST) == 0 and not (k and study.name == "cohorts")
    ]


@pytest.mark.parametrize(("study", "name"), scenarios())
@pytest.mark.usefixtures("few_sweeps", "prior_chains")
def test_every_scenario_runs(study: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.simulators.margins.CLASSES", 400)
    monkeypatch.setattr(families, "N_TRUE", 50)
    one = STUDIES[study]
    # One call for all data sets, except in studies with one call for each.
    few = one._replace(size=min(one.size, 1))
    rows = few.run(2, [name], rng=1, **FEW.get(study, {}))
    assert (rows["scenario"] == name).all()
    table = few.summary(rows)
    for share in {"coverage", "rejected", "right"} & {*table}:
        assert table[share].dropna().between(0, 1).all()


def _block(setting: Any, numbers: range, seed: Any, half: float) -> list[dict[str, Any]]:
    """Intervals of half width `half` around a normal draw."""
    draws = setting + np.random.default_rng(seed).standard_normal(len(numbers))
    return [checked(setting, x - half, x + half, x) for x in draws]


NORMAL = Study("normal", _block, {"zero": 0.0, "one": 1.0}, size=100, options={"half": 1.96})


def test_coverage_is_counted(tmp_path: Path) -> None:
    """Compare the coverage of normal means with theory by scenario, also for a resumed study."""
    table = NORMAL.summary(NORMAL.run(2_000, rng=1, cache_dir=tmp_path))
    assert table["scenario"].tolist() == ["zero", "one"]
    assert (table["n_datasets"] == 2_000).all()
    error = np.sqrt(0.95 * 0.05 / 2_000)
    np.testing.assert_allclose(table["coverage"], 0.95, atol=4 * error)
    np.testing.assert_allclose(table["coverage_mcse"], error, rtol=0.2)
    np.testing.assert_allclose(table["width"], 3.92)
    again = NORMAL.summary(NORMAL.run(2_000, rng=1, cache_dir=tmp_path))
    pd.testing.assert_frame_equal(table, again)
    short = NORMAL.summary(NORMAL.run(2_000, {"two": 2.0}, rng=1, half=1.0))
    covered = 2 * stats.norm.cdf(1) - 1
    assert short.loc[0, "coverage"] == pytest.approx(
        covered, abs=4 * np.sqrt(covered * (1 - covered) / 2_000)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_datasets": 30}, "n_datasets must be a multiple of 100, got 30"),
        ({"n_datasets": 0}, "n_datasets must be a multiple of 100, got 0"),
        ({"scenarios": ["two"]}, "scenarios of normal are zero, one; got 'two'"),
        ({"width": 2}, "options of normal are half; got 'width'"),
    ],
)
def test_bad_studies(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NORMAL.run(**options)


@pytest.mark.parametrize("family", ["probit", "guessing"])
@pytest.mark.parametrize("accuracy", [0.75, 0.95])
def test_true_values_are_those_of_large_benchmarks(family: Any, accuracy: float) -> None:
    n_images = 20_000
    design = BenchmarkDesign(family, 40, 1, 1, n_images, accuracy=accuracy)
    rng = np.random.default_rng(1)
    people = benchmarks.people_of(design, *rng.standard_normal((2, 40)))
    these = benchmarks.scores_from_result(design, people)
    hardness = benchmarks.hardness_at(design, rng.random(n_images))
    models = benchmarks._scaled(design, benchmarks.FOUR_MACHINES)
    p = np.vstack([benchmarks.right_answers(design, who, hardness) for who in (people, models)])
    right = (rng.random(p.shape) < p).astype(float)
    # The average human has the accuracy of the design.
    middle = benchmarks.people_of(design, np.zeros(1), np.zeros(1))
    average = benchmarks.right_answers(design, middle, hardness)
    assert average.mean() == pytest.approx(accuracy, abs=4 * average.std() / np.sqrt(n_images))
    both, a = right @ right.T / n_images, right.mean(axis=1)
    cells = np.stack(
        [both, a[:, None] - both, a[None] - both, 1 - a[:, None] - a[None] + both], axis=-1
    )
    found = error_consistency(np.maximum(cells, 0))
    # Kappa of 20,000 trials has an SD of at most 0.5 / sqrt(N p (1 - p)), and a mean less.
    error = 4 * 0.5 / np.sqrt(n_images * accuracy * (1 - accuracy))
    np.testing.assert_allclose(found[:40, 40:].mean(axis=0), these.models, atol=error)
    assert found[:40, :40][np.triu_indices(40, 1)].mean() == pytest.approx(these.human, abs=error)


@pytest.mark.parametrize(
    ("design", "sizes", "total"),
    [
        (BenchmarkDesign(n_humans=3, n_datasets=4), [3] * 4, 12),
        (BenchmarkDesign(n_humans=3, n_datasets=4, more_humans=7), [3, 10, 3, 10], 26),
        (BenchmarkDesign(n_humans=5, n_datasets=4, pool=5), [5] * 4, 5),
        (BenchmarkDesign(n_humans=5, n_datasets=40, pool=8), [5] * 40, 8),
    ],
)
def test_humans_of_data_sets_are_separate_equal_or_from_a_pool(
    design: BenchmarkDesign, sizes: list[int], total: int
) -> None:
    crowds = benchmarks._crowds(design, np.random.default_rng(4))
    assert [len(np.unique(own)) for own in crowds] == sizes
    assert np.unique(np.concatenate(crowds)).tolist() == list(range(total))


@pytest.mark.parametrize("name", DESIGNS)
def test_populations_of_errors_match_their_names(name: str) -> None:
    design, rng = DESIGNS[name], np.random.default_rng(1)
    of = population(design, rng)
    labels, truth = answers(design, of, rng)
    k = design.n_classes
    assert of.rows.sum(axis=-1) == pytest.approx(1)
    assert not of.rows.diagonal(0, 1, 2).any()
    expected = k * max(1, round(2 * design.n_errors)) / 2
    for system, share in enumerate((1, design.fewer)):
        n = np.ma.filled(labels[system] != truth, fill_value=False).sum()
        assert abs(n - share * expected) < 5 * np.sqrt(share * expected) + 1
    value = error_patterns.true_similarity(of, labels, truth)[0, 1]
    assert (value == pytest.approx(1)) == name.startswith("equal")
    both = (~np.ma.getmaskarray(labels)).all(axis=0)
    assert both.all() if design.shared else not both.any()


def test_copying_has_the_rate_of_the_design() -> None:
    """On joint errors, systems agree by copying at the stated rate, and otherwise by chance."""
    design, rng = ErrorDesign(4, 20_000, 0.6), np.random.default_rng(2)
    of = population(design, rng)
    (a, b), truth = answers(design, of, rng)
    s, (p, q) = of.suggested[0], of.own[:, 0]
    u = np.sqrt(0.6)
    chance = u * (1 - u) * (s * (p + q)).sum(-1) + (1 - u) ** 2 * (p * q).sum(-1)
    joint = (a != truth) & (b != truth)
    for true in range(4):
        here, wanted = joint & (truth == true), 0.6 + chance[true]
        room = 4 * np.sqrt(wanted * (1 - wanted) / here.sum())
        assert (a == b)[here].mean() == pytest.approx(wanted, abs=room)


@pytest.mark.slow
@pytest.mark.usefixtures("few_sweeps")
def test_statements_are_compared_with_their_true_values() -> None:
    design, seed = ErrorDesign(4, 10, 0.5), np.random.SeedSequence(1)
    study = error_patterns.STATEMENTS._replace(size=0, scenarios={"few": design})
    rows = study.run(10, n_draws=100, rng=seed)
    truth = rows[rows["method"] == "posterior"].pivot(
        index="dataset", columns="statement", values="truth"
    )
    data = np.random.SeedSequence(1).spawn(1)[0].spawn(2)[0]
    rng, follows = np.random.default_rng(data), error_patterns.FOLLOWS
    _, values = error_patterns.data_sets(design, 10, rng, 6, follows)
    np.testing.assert_allclose(truth["difference of two pairs"], values[:, 0, 2] - values[:, 1, 2])
    np.testing.assert_allclose(truth["mean over humans"], values[:, 0, 2:].mean(axis=1))
    pairs = values[:, 2:, 2:][:, *np.triu_indices(4, 1)]
    np.testing.assert_allclose(truth["mean of human pairs"], pairs.mean(axis=1))
    over = truth["mean over conditions"].dropna()
    np.testing.assert_allclose(over, values[:, 0, 2].reshape(2, 5).mean(axis=1))


@pytest.mark.slow(first=True)
def test_intervals_of_scores_have_nominal_coverage(sets: Callable[..., int]) -> None:
    """Accuracy is 0.75; docs/validation/benchmarks.md has other populations."""
    n = sets(200, 60)
    table = BENCHMARKS.summary(BENCHMARKS.run(n, ["probit, 6 humans"], rng=1))
    assert len(table) == 7
    # Four Monte Carlo errors below 0.93; 60 sets detect a coverage of 0.75.
    assert (table["coverage"] > 0.93 - 4 * np.sqrt(0.93 * 0.07 / n)).all()


@pytest.mark.slow
def test_low_coverage_is_tested_over_scenarios() -> None:
    """Holm's procedure multiplies the smallest p-value by the number of scenarios, and so on."""
    n, inside = 200, {"a": 170, "b": 176, "c": 190}
    given = {"squared_error": 0.0, "width": 1.0, "unbounded": False, "noted": False}
    given |= {"at_end": False, "rejected": False}
    rows = pd.concat(
        pd.DataFrame({"scenario": name, "method": m, "covered": np.arange(n) < k, **given})
        for name, k in inside.items()
        for m in ("auto", "model")
    ).astype({"covered": float})
    table = error_patterns.SIMILARITY.summary(rows)
    alone = stats.binom.cdf([*inside.values()], n, 0.93)
    steps = np.minimum(np.maximum.accumulate(alone * [3, 2, 1]), 1)
    for _, part in table.groupby("method"):
        np.testing.assert_allclose(part["p_short"], steps)
    # Proportions of several intervals are tested by their standard deviation.
    shares = np.random.default_rng(1).binomial(4, 0.9, 600) / 4
    given = {"statement": "score", "method": "analytic", "width": 1.0, "squared_error": 1.0}
    rows = pd.concat(
        pd.DataFrame({"scenario": name, "covered": covered, **given})
        for name, covered in (("shares", shares), ("all", np.ones(600)))
    )
    found = BENCHMARKS.summary(rows).set_index("scenario")["p_short"]
    p = stats.ttest_1samp(shares, 0.93, alternative="less").pvalue
    assert found.tolist() == pytest.approx([2 * p, 1])


@pytest.mark.parametrize("world", ["copying", "shared difficulty", "cohort"])
@pytest.mark.parametrize("human", [0.6, 0.9])
def test_models_have_the_requested_accuracy(world: str, human: float) -> None:
    made = sharing_cells(world, human)
    cells = np.stack(made["cells"].tolist())
    np.testing.assert_allclose(cells.sum(axis=1), 1)
    a, b = accuracies(np.maximum(cells, 0))
    # The grid of images ends at 1/800; the rest changes a mean by less.
    np.testing.assert_allclose(a, human, atol=2e-3)
    np.testing.assert_allclose(b, made["accuracy"], atol=2e-3)
    if world == "copying":
        # Proposition 2: the copy model gives the copied fraction.
        np.testing.assert_allclose(copy_probability(np.maximum(cells, 0)), made["shared"])


def test_no_metric_is_best_in_every_scenario() -> None:
    table = copying_recovery().set_index(["world", "metric"])
    copying = table.xs("copy_probability", level="metric")
    assert copying.loc[["copying", "cohort"], "tau"].tolist() == pytest.approx([1, 1])
    assert copying.loc[["copying", "cohort"], "tau_accuracy"].tolist() == [0, 0]
    # With shared difficulty, it decreases with accuracy.
    assert copying.loc["shared difficulty", "tau_accuracy"] < -0.9
    best = table["tau"].unstack("metric").idxmax(axis=1)["shared difficulty"]
    assert best in ("normalized_error_consistency", "min_mid_max_agreement")
    # Error consistency increases with accuracy, up to that of the human and beyond.
    assert table.loc[("copying", "error_consistency"), "tau_accuracy"] == 1


@pytest.mark.slow
def test_a_study_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    told = ["study", "equal_rows", "--scenario", "different, 12 errors", "--datasets", "50"]
    assert main(told) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "scenario,n_datasets,divergence,rejected,rejected_mcse"
    assert len(shown) == 2
