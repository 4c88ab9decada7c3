"""Every seeded call of the golden tables, with the functions that it covers.

`covers` has names of functions as users call them (after `al.`), or `alikely SUBCOMMAND`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import golden_data as data
import numpy as np
import pandas as pd
from golden_tables import Call
from scipy import stats

import alikely as al
from alikely.benchmark.benchmark import Level, all_differences, one_difference
from alikely.benchmark.cohorts import cohort_check
from alikely.benchmark.ranking import spearman
from alikely.benchmark.trees import block_means, branches
from alikely.calibration.coverage import default_grid
from alikely.cli import main
from alikely.inference.cell_limits import option_limits
from alikely.margins import strengths
from alikely.models._priors import prior_texts
from alikely.papers.families import family_ranks, profile_tests
from generative.item_margins import item_margins
from studies import cards
from studies.items import ITEMS
from studies.margins import MARGINS
from studies.simulators.margins import MarginWorld

CALLS: list[Call] = []
# Calls that take seconds, which are compared with the slow tests.
SLOW: list[Call] = []

DRAWS: dict[str, Any] = {"n_resamples": 400, "n_draws": 800}
BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?(?:\d+(?:,\d{3})+|\d*\.\d+|\d+)(?:e-?\d+)?(?![\w])")


def golden(*covers: str, slow: bool = False) -> Callable[..., Any]:
    """Add a call with the name of the function."""

    def add(table: Callable[[int], pd.DataFrame]) -> Callable[[int], pd.DataFrame]:
        (SLOW if slow else CALLS).append(Call(table.__name__, covers, table))
        return table

    return add


def everything(result: Any, **options: Any) -> pd.DataFrame:
    """A summary with every valid method and column."""
    return result.summary(intervals="all", **options)


def frame(found: Any) -> pd.DataFrame:
    """A labeled array or data set, a dictionary or a tuple of numbers, as one table."""
    if isinstance(found, pd.DataFrame):
        return found.reset_index() if found.index.names[0] else found
    if isinstance(found, pd.Series):
        return found.rename("value").reset_index()
    if hasattr(found, "to_dataframe"):
        named = found if hasattr(found, "data_vars") else found.rename("value").to_dataset()
        return named.to_dataframe().reset_index()
    if isinstance(found, dict):
        return pd.DataFrame([{k: v for k, v in found.items() if np.isscalar(v)}])
    return pd.DataFrame(np.atleast_2d(np.asarray(found, dtype=float))).rename(columns="x{}".format)


def stacked(**tables: pd.DataFrame) -> pd.DataFrame:
    """Concatenate tables, each with the name of its part."""
    parts = [frame(table).assign(part=name) for name, table in tables.items()]
    together = pd.concat(parts, ignore_index=True)
    if "note" in together:
        together["note"] = together["note"].fillna("")
    return together


def numbers_in(text: str) -> pd.DataFrame:
    """Sorted unique numbers of a text, because words may change but numbers may not."""
    plain = text.replace("\u2212", "-").replace("{,}", ",")
    found = {float(number.replace(",", "")) for number in NUMBER.findall(plain)}
    return pd.DataFrame({"number": sorted(found)})


def drawn_points(axes: Any) -> pd.DataFrame:
    """Points of a plot's lines and markers: number, and smallest, mean and largest position."""
    rows = []
    for k, ax in enumerate(np.ravel(axes)):
        lines = [np.asarray(line.get_xydata(), dtype=float) for line in ax.lines]
        dots = [np.asarray(each.get_offsets(), dtype=float) for each in ax.collections]
        points = np.concatenate([part.reshape(-1, 2) for part in [*lines, *dots]] or [[[0, 0]]])
        points = points[np.isfinite(points).all(axis=1)]
        row = {"axes": k, "n_points": len(points), "n_labels": len(ax.get_yticklabels())}
        for name, column in zip("xy", points.T, strict=True):
            row |= {f"{name}_least": column.min(), f"{name}_mean": column.mean()}
            row[f"{name}_greatest"] = column.max()
        rows.append(row)
    return pd.DataFrame(rows)


def nulls(function: Callable[..., Any], *given: Any, n_null: int = 0, **options: Any) -> Any:
    """Compare pairs with a number of data sets for tests."""
    with al.options(n_null=n_null):
        return function(*given, **DRAWS | options)


ec = functools.partial(nulls, al.error_consistency)


# Results that several calls need, computed once per seed.


@functools.cache
def consistency(rng: int) -> al.Result:
    return ec(data.example(), "human-model", n_null=400, rng=rng)


@functools.cache
def consistency_in_noise(rng: int) -> al.Result:
    return ec(data.noise(), n_null=400, rng=rng)


@functools.cache
def agreement_of_labels(rng: int) -> al.Result:
    return al.misclassification_agreement(data.noise(), "human-model", rng=rng, **DRAWS)


@functools.cache
def scores(rng: int) -> al.Result:
    return al.benchmark_scores(data.study(), human_ids="shared", rng=rng, **DRAWS)


@functools.cache
def pairwise_matrix() -> Any:
    return al.pairwise_matrix(data.board())


@functools.cache
def margins(rng: int) -> al.Result:
    trials, model = data.margins()
    return al.decision_margin_consistency(trials, model, rng=rng, **DRAWS)


@functools.cache
def study_of_readers() -> Any:
    return al.benchmark.reader_study(data.reading(), "AI")


@functools.cache
def spectrum() -> Any:
    return al.difficulty_spectrum(data.study(), [f"{d}:easy" for d in DATASETS])


@functools.cache
def alignment(rng: int) -> Any:
    return al.condition_alignment(data.study(), n_resamples=200, rng=rng)


DATASETS = ("photos", "sketches", "sounds")
REGIMES = {f"{d}:{c}": f"{c} ones" for d in DATASETS for c in ("easy", "hard")}
FAMILIES = {"m1": "one", "m2": "one", "m3": "two", "m4": "two"}
FOUR = [("human_1", "model_4"), ("human_2", "model_4"), ("human_1", "model_1"),
        ("human_2", "model_2")]  # fmt: skip


# Data


@golden("Trials.read", "Trials.from_table", "load_example")
def trials_read(_: int) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.csv"
        data.study().to_table().to_csv(path, index=False)
        study = al.Trials.read(path, classes=list(data.CLASSES))
    return stacked(study=study.summary(), example=data.example().summary())


@golden("Trials.from_wide", "Trials.from_arrays")
def trials_wide(_: int) -> pd.DataFrame:
    wide = pd.DataFrame(
        {"item": list("wxyz"), "truth": ["cat", "dog"] * 2, "anna": ["cat", None, "dog", "dog"],
         "net": ["cat", "dog", "dog", "cat"]}
    )  # fmt: skip
    trials = al.Trials.from_wide(wide, kind={"anna": "human", "net": "model"})
    return stacked(wide=trials.summary(), arrays=data.options().summary())


@golden("exclude_conditions")
def excluded(_: int) -> pd.DataFrame:
    return al.exclude_conditions(data.study(), {"photos": ["easy"]}).summary()


@golden("data.joint_correctness", "data.cohort_counts", "data.from_counts")
def counts(_: int) -> pd.DataFrame:
    cells = al.data.joint_correctness(data.study(), "human-model")["cells"]
    cohort = al.data.cohort_counts(data.study())
    parts = {name: frame(cohort[name]) for name in cohort.data_vars}
    return stacked(cells=frame(cells), **parts)


# Pairs


@golden("error_consistency", "compare")
def error_consistency(rng: int) -> pd.DataFrame:
    return everything(consistency(rng))


@golden("error_consistency")
def error_consistency_of_three_data_sets(rng: int) -> pd.DataFrame:
    result = ec(data.study(), by="dataset", n_null=400, rng=rng)
    return everything(result, ci_kind="hdi", ci_prob=0.9)


@golden("error_consistency")
def error_consistency_without_missing_responses(rng: int) -> pd.DataFrame:
    result = ec(data.study(), "human-human", no_response="drop", n_null=400, rng=rng)
    return everything(result)


@golden("error_consistency")
def error_consistency_of_repeated_items(rng: int) -> pd.DataFrame:
    return everything(ec(data.repeated(), n_null=400, rng=rng))


@golden("error_consistency")
def error_consistency_with_a_prior(rng: int) -> pd.DataFrame:
    cells = ec(data.noise(), FOUR, prior=[1, 1, 1, 1], rng=rng)
    given = {"p_a": (2, 1), "u": (1, 1), "v": (1, 1)}
    beta = ec(data.noise(), FOUR, prior=given, rng=rng)
    return stacked(cells=everything(cells), beta=everything(beta))


@golden("error_consistency")
def error_consistency_without_draws(_: int) -> pd.DataFrame:
    return everything(ec(data.example(), **BARE))


@golden("compare")
def copy_probability(rng: int) -> pd.DataFrame:
    result = nulls(al.compare, data.example(), "copy_probability", FOUR, rng=rng)
    return everything(result)


@golden("compare")
def normalized_consistency(rng: int) -> pd.DataFrame:
    result = nulls(al.compare, data.noise(), "normalized_error_consistency", FOUR, rng=rng)
    return everything(result)


@golden("compare")
def kappa_p(rng: int) -> pd.DataFrame:
    return everything(al.compare(data.options(), "kappa_p", rng=rng, **DRAWS))


@golden("compare")
def kappa_p_discrete(rng: int) -> pd.DataFrame:
    return everything(al.compare(data.options(), "kappa_p_discrete", rng=rng, **DRAWS))


@golden("metrics.get_metric")
def registered_metrics(_: int) -> pd.DataFrame:
    rows = [
        {"metric": name, "counts": metric.counts, "lowest": metric.bounds[0],
         "greatest": metric.bounds[1], "scale": metric.scale, "symmetric": metric.symmetric}
        for name, metric in sorted(al.metrics.metric.metrics().items())
        if metric.module.startswith("alikely.")
    ]  # fmt: skip
    return pd.DataFrame(rows)


@golden("misclassification_agreement")
def misclassification_agreement(rng: int) -> pd.DataFrame:
    return everything(agreement_of_labels(rng))


@golden("error_similarity")
def error_similarity(rng: int) -> pd.DataFrame:
    pairs = [("h1", "m1"), ("h1", "h2")]
    result = nulls(
        al.error_similarity, data.study(), pairs, by=None, n_draws=400, n_resamples=0, n_null=199,
        rng=rng,
    )  # fmt: skip
    return everything(result)


@golden("agreement")
def agreement_of_pairs(rng: int) -> pd.DataFrame:
    people = data.study().select(kind="human", dataset="photos")
    return everything(al.agreement(people, "gwet_ac1", rng=rng, **DRAWS))


@golden("agreement", "difference")
def agreement_of_all(rng: int) -> pd.DataFrame:
    people = data.study().select(kind="human")
    result = al.agreement(people, "krippendorff_alpha", readers="all", rng=rng, **DRAWS)
    first, second = {"condition": "easy"}, {"condition": "hard"}
    return stacked(
        summary=everything(result), difference=frame(al.difference(result, first, second))
    )


@golden("agreement")
def agreement_table(rng: int) -> pd.DataFrame:
    people = data.study().select(kind="human", dataset="photos")
    names = [
        "cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha", "brennan_prediger",
        "raw_agreement",
    ]  # fmt: skip
    parts = [
        al.agreement(people, name, readers="all", rng=rng, **DRAWS).summary() for name in names
    ]
    table = pd.concat(parts, keys=names, names=["coefficient"])
    return table.reset_index(level=0).reset_index(drop=True)


@golden("decision_margin_consistency")
def decision_margin_consistency(rng: int) -> pd.DataFrame:
    return everything(margins(rng))


@golden("decision_margin_consistency", "margins.decision_margins")
def margins_of_options(rng: int) -> pd.DataFrame:
    result = al.decision_margin_consistency(data.options(), data.options(), rng=rng, **DRAWS)
    own = al.margins.decision_margins(data.options())
    return stacked(summary=everything(result), margins=own.head(12))


@golden(
    "estimates.consistency_table", "margins.self_consistency", "margins.spearman_brown",
    "margins.split_half_reliability",
)  # fmt: skip
def consistency_table(rng: int) -> pd.DataFrame:
    trials, _ = data.margins()
    correct = trials.data["correct"].values
    half = al.margins.split_half_reliability(correct, n_splits=200, n_resamples=200, rng=rng)
    return stacked(
        both=al.estimates.consistency_table(trials, margins(rng)),
        self=frame(al.margins.self_consistency(data.repeated())),
        half=frame(half._asdict() if hasattr(half, "_asdict") else half),
    )


@golden("decision_margin_consistency")
def fit_machine(rng: int) -> pd.DataFrame:
    trials, model = data.margins()
    right = (trials.data["correct"].values > 0).astype(int)
    group = strengths.group_strengths(right, np.ones_like(right), 5)
    near = model.loc[model["observer"] == "near", "margin"].to_numpy()
    levels = [0.025, 0.5, 0.975]
    limits = strengths.strength_limits(strengths.fit_model(group, near, rng=rng), levels)
    return pd.DataFrame({"level": levels, "limit": limits})


# From results


@golden("difference", "mean", "contrast")
def contrasts(rng: int) -> pd.DataFrame:
    result = consistency_in_noise(rng)
    one, two = {"observer_b": "model_1"}, {"observer_b": "model_2"}
    weights = np.zeros(len(result.pairs))
    weights[:3] = 1.0, -0.5, -0.5
    return stacked(
        difference=frame(al.difference(result, one, two, rope=(-0.1, 0.1))),
        mean=frame(al.mean(result, one)),
        all=frame(al.mean(result)),
        contrast=frame(al.contrast(result, weights)),
    )


@golden("mean")
def mean_over_data_sets(rng: int) -> pd.DataFrame:
    result = ec(data.study(), "human-model", rng=rng)
    parts = {m: frame(al.mean(result, {"observer_b": m})) for m in ("m1", "m2", "m3")}
    return stacked(**parts)


@golden("test_copy_model")
def compare_models(rng: int) -> pd.DataFrame:
    return frame(al.test_copy_model(consistency_in_noise(rng)))


@golden("metric_correlations")
def metric_correlations(rng: int) -> pd.DataFrame:
    results = [
        agreement_of_labels(rng), al.error_consistency(data.noise(), "human-model", **BARE)
    ]  # fmt: skip
    return frame(al.metric_correlations(results, n_resamples=200, rng=rng))


@golden("estimates.independent_observers")
def independent_observers(rng: int) -> pd.DataFrame:
    result = ec(data.noise(), FOUR, n_null=400, rng=rng)
    exact = al.estimates.independent_observers(result, n_draws=800, n_resamples=400, rng=rng)
    return frame(exact["null"].to_dataset()).drop(columns="pair")


@golden("estimates.response_noise", "planning.plan_repeats")
def repeats(rng: int) -> pd.DataFrame:
    observers, pairs = al.estimates.response_noise(data.repeated(), "human-human")
    result = ec(data.repeated(), rng=rng, **BARE)
    return stacked(
        observers=observers, pairs=pairs, plan=al.planning.plan_repeats(result, 1, [1, 2, 5])
    )


@golden("estimates.confusion_matrices", "papers.item_contrast")
def counts_of_labels(_: int) -> pd.DataFrame:
    items, counts = al.papers.item_contrast(data.study())
    return stacked(
        confusions=frame(al.estimates.confusion_matrices(data.study(), by="kind")),
        items=frame(items).head(10),
        counts=frame(counts),
    )


@golden("papers.cue_bias")
def cue_bias(rng: int) -> pd.DataFrame:
    return frame(al.papers.cue_bias(data.cues(), n_resamples=400, rng=rng))


@golden("papers.family_scores")
def family_scores(rng: int) -> pd.DataFrame:
    results = [
        ec(data.study(), **BARE),
        al.misclassification_agreement(data.study(), **BARE),
    ]
    families = {**FAMILIES, "h1": "humans", "h2": "humans", "h3": "humans"}
    found = al.papers.family_scores(results, families, n_permutations=200, rng=rng)
    # Scores and an external variable, by SciPy.
    size, random = np.array([1.0, 2.0, 3.0, 5.0]), np.random.default_rng(rng)
    given = scores(rng).summary().set_index("system")["estimate"].loc[list(FAMILIES)].to_numpy()
    test = stats.permutation_test(
        (given,), lambda x: stats.spearmanr(x, size).statistic, permutation_type="pairings"
    )
    drawn = random.integers(0, 4, (200, 4))
    lower, upper = np.nanquantile(spearman(given[drawn], size[drawn]), [0.025, 0.975])
    row = {
        "variable": "size", "n": 4, "n_missing": 0, "correlation": test.statistic,
        "bootstrap_eti95_lb": lower, "bootstrap_eti95_ub": upper, "p_value": test.pvalue,
        "p_value_bh": test.pvalue, "note": "",
    }  # fmt: skip
    return stacked(families=frame(found), outside=frame(pd.DataFrame([row])))


@golden("papers.representation_similarity")
def representation_similarity(rng: int) -> pd.DataFrame:
    random = data.stream(3)
    arrays = {name: random.normal(size=(30, k)) for name, k in (("a", 5), ("b", 8), ("c", 4))}
    arrays["b"][:, :5] += arrays["a"]
    found = al.papers.representation_similarity(arrays, n_resamples=200, rng=rng)
    return frame(found)


@golden("Result.load", "estimates.latex_table")
def sentences(_: int) -> pd.DataFrame:
    result = ec(data.noise(), FOUR, **BARE)
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "result.nc")
        result = al.Result.load(Path(folder) / "result.nc")
    first, second = {"observer_b": "model_4"}, {"observer_b": "model_1"}
    plain = al.benchmark_scores(data.study(), human_ids="shared", **BARE)
    return stacked(
        result=numbers_in(result.sentence(interval="analytic")),
        latex=numbers_in(result.to_latex(interval="analytic")),
        contrast=numbers_in(result.sentence(difference=(first, second))),
        scores=numbers_in(plain.sentence()),
        table=numbers_in(al.estimates.latex_table(al.benchmark.differences(plain, "images"))),
    )


@golden("report.make_report")
def report(_: int) -> pd.DataFrame:
    result = ec(data.noise(), FOUR, **BARE)
    page = al.report.make_report(result, title="Four pairs")
    return pd.DataFrame({"n_failures": [len(page.failures)]})


# Matrices


@golden("pairwise_matrix")
def matrix_of_consistency(_: int) -> pd.DataFrame:
    return frame(pairwise_matrix().summary(top=20))


def analytic(table: pd.DataFrame) -> pd.Series:
    """The analytic row of a mean or difference of a matrix, with its stored name."""
    bounds = {name: f"analytic_{name.replace('eti', 'ci')}" for name in table if "eti" in name}
    row = table.rename(columns=bounds | {"p_value": "p"}).loc["analytic"]
    return row[["estimate", "se", *bounds.values(), "p", "n_pairs", "n_places"]].astype(float)


@golden(
    "pairwise_matrix",
    "difference",
    "mean",
    "estimates.nearest_observers",
    "estimates.square_matrix",
)
def matrix_of_consistency_read(_: int) -> pd.DataFrame:
    names = data.board().observers
    found = pairwise_matrix()
    difference = al.difference(found, (names[0], names[1]), (names[0], names[12]))
    return stacked(
        nearest=al.estimates.nearest_observers(found, names[0]),
        difference=frame(analytic(difference).drop("n_pairs")),
        mean=frame(analytic(al.mean(found, names[:6]))),
        estimates=frame(al.estimates.square_matrix(found, "estimate")).iloc[:60:7],
    )


@golden("pairwise_matrix")
def matrix_of_kappa_p(_: int) -> pd.DataFrame:
    return frame(al.pairwise_matrix(data.options(), "kappa_p").summary())


@golden("pairwise_matrix")
def matrix_of_labels(_: int) -> pd.DataFrame:
    return frame(al.pairwise_matrix(data.board(), "misclassification_agreement").summary(top=15))


@golden("benchmark.families")
def families(rng: int) -> pd.DataFrame:
    tree = al.benchmark.families(pairwise_matrix(), 4, n_resamples=100, rng=rng)
    # Sort by columns that are not random, because supports determine the order of the table.
    found = branches(tree).sort_values(["size", "estimate"], ignore_index=True)
    groups = tree.summary()[["observer", "family", "size", "support"]]
    return stacked(
        groups=groups.sort_values("observer", ignore_index=True),
        branches=found[["size", "estimate", "support"]],
        blocks=frame(block_means(pairwise_matrix(), data.families_of_board())),
    )


@golden("benchmark.judge_agreement")
def judge_agreement(_: int) -> pd.DataFrame:
    judge, *candidates = data.board().observers[:12]
    accuracy = data.board().data["correct"].mean("trial").to_series()
    given = {judge: {name: accuracy[name] for name in candidates}}
    return frame(al.benchmark.judge_agreement(pairwise_matrix(), given))


@golden("benchmark.agreement_regression")
def agreement_regression(rng: int) -> pd.DataFrame:
    labels = data.families_of_board()
    found = al.benchmark.agreement_regression(
        pairwise_matrix(), labels=labels, n_draws=800, rng=rng
    )
    return stacked(
        coefficients=found.summary(),
        table=found.estimates.to_dataframe().head(12).reset_index(drop=True),
    )


@golden("inference.option_limits")
def options_of_matrices(_: int) -> pd.DataFrame:
    p = data.options().data["probability"].values
    truth = data.options().data["truth"].values.astype(int)
    codes = p.argmax(axis=-1)
    soft = al.metrics.options.capa_matrices(p, truth)
    hard = al.metrics.options.capa_matrices(codes, truth, n_options=4)
    limits = option_limits(hard.cells_of(*np.indices(hard.estimate.shape)), n_options=4)
    return stacked(
        estimate=frame(soft.estimate), se=frame(soft.se), r_p=frame(soft.r_p),
        limits=frame(np.asarray(limits).reshape(-1, 3)), same=frame(hard.same_wrong),
    )  # fmt: skip


# Benchmarks


@golden("benchmark_scores")
def benchmark_scores(rng: int) -> pd.DataFrame:
    return everything(scores(rng), generalize_to="both")


@golden("benchmark_scores")
def benchmark_scores_of_images(rng: int) -> pd.DataFrame:
    return everything(scores(rng), generalize_to="images")


@golden("benchmark.differences")
def benchmark_tests(_: int) -> pd.DataFrame:
    found = al.benchmark_scores(data.study(), human_ids="shared", **BARE)
    of_first = one_difference(all_differences(Level(found), None, 0.95, "eti", "m3"), "m3", "m1")
    table = al.benchmark.differences(found)
    largest = table.loc[table["p_value_simultaneous"].idxmin()]
    of_all = {"p_value": largest["p_value_simultaneous"], "n_systems": len(found.observers)}
    of_all |= dict(largest[["system", "other", "difference"]]) | {"note": ""}
    tests = {
        "difference": pd.concat([of_first, pd.Series({"n_differences": len(table)})]),
        "equality": pd.Series(of_all, dtype=object),
    }
    return stacked(**{name: row.to_frame().T.infer_objects() for name, row in tests.items()})


@golden(
    "benchmark_scores", "benchmark.ceilings", "benchmark.differences", "benchmark.ranks",
    "benchmark.score_correlations",
)  # fmt: skip
def benchmark_tables(rng: int) -> pd.DataFrame:
    found = scores(rng)
    return stacked(
        differences=al.benchmark.differences(found),
        ceilings=frame(al.benchmark.ceilings(found)),
        ranks=frame(al.benchmark.ranks(found, rng=rng)),
        correlations=frame(al.benchmark.score_correlations(found)),
        difference=frame(al.difference(found, "m1", "m3")),
    )


@golden("benchmark_scores")
def benchmark_of_the_example(rng: int) -> pd.DataFrame:
    found = al.benchmark_scores(data.example(), rng=rng, **DRAWS)
    return stacked(summary=everything(found), ranks=frame(al.benchmark.ranks(found, rng=rng)))


@golden("benchmark_scores")
def benchmark_of_labels(rng: int) -> pd.DataFrame:
    found = al.benchmark_scores(
        data.study(), metric="misclassification_agreement", human_ids="shared", rng=rng, **DRAWS
    )
    return everything(found)


@golden("benchmark_scores")
def benchmark_by_regime(_: int) -> pd.DataFrame:
    found = al.benchmark_scores(data.study().with_levels(REGIMES), human_ids="shared", **BARE)
    return stacked(
        hard=everything(found, level="hard ones"), easy=everything(found, level="easy ones")
    )


@golden("benchmark.rank_by_metric")
def rank_by_metric(rng: int) -> pd.DataFrame:
    return frame(al.benchmark.rank_by_metric(data.study(), human_ids="shared", rng=rng))


@golden("benchmark.multiverse_analysis")
def sensitivity(_: int) -> pd.DataFrame:
    table = al.benchmark.multiverse_analysis(data.study())
    band = al.benchmark.multiverse_analysis(data.study(), summary=True)
    return stacked(choices=frame(table).head(24), band=frame(band))


@golden("benchmark.scores_from_result")
def scores_of_margins(rng: int) -> pd.DataFrame:
    trials, model = data.margins()
    result = al.decision_margin_consistency(trials, model, n_resamples=0, n_draws=800, rng=rng)
    found = al.benchmark.scores_from_result(result)
    return stacked(
        summary=everything(found),
        differences=al.benchmark.differences(found),
        ranks=frame(al.benchmark.ranks(found)),
    )


@golden("benchmark.group_scores")
def group_scores(rng: int) -> pd.DataFrame:
    found = al.benchmark.group_scores(data.study(), "kind", rng=rng, **DRAWS)
    return stacked(
        groups=found.summary(intervals="all"), observers=al.benchmark.ranks(found, rng=rng)
    )


@golden("benchmark.reader_study")
def reader_study(_: int) -> pd.DataFrame:
    found = study_of_readers()
    among = al.benchmark.reader_study(data.reading())
    return stacked(
        modalities=found.summary(),
        differences=al.benchmark.differences(found),
        among=al.benchmark.differences(among),
    )


@golden("planning.plan_reader_study")
def plan_of_readers(_: int) -> pd.DataFrame:
    plan = al.planning.plan_reader_study(study_of_readers(), [4, 8], [60, 120], difference=0.2)
    return frame(plan)


@golden("papers.reconstruct_score", "papers.reconstruct_leaderboard")
def reconstruction(rng: int) -> pd.DataFrame:
    found = al.papers.reconstruct_score(
        [0.5, 0.4], [0.45, 0.5], np.full((2, 3), 0.8), 80, n_samples=200, rng=rng
    )
    table = pd.DataFrame({"system": list("abc"), "dataset": "all", "score": [0.5, 0.7, 0.4]})
    board = al.papers.reconstruct_leaderboard(table, data.noise(), n_samples=200, rng=rng)
    one = {k: v for k, v in found._asdict().items() if np.ndim(v) == 0}
    return stacked(score=frame(one), board=board)


# Difficulty of conditions


@golden("difficulty_spectrum", "regimes")
def difficulty_spectrum(rng: int) -> pd.DataFrame:
    groups = al.regimes(spectrum(), k=2, n_starts=200, n_resamples=0, rng=rng)
    return stacked(spectrum=frame(spectrum()), regimes=frame(groups["label"]))


@golden("condition_alignment", "spectrum.alignment_table", "spectrum.regime_alignment")
def condition_alignment(rng: int) -> pd.DataFrame:
    return stacked(
        table=frame(al.spectrum.alignment_table(alignment(rng))),
        regimes=frame(al.spectrum.regime_alignment(alignment(rng), REGIMES, rng=rng)),
    )


@golden("papers.regime_family_contrasts")
def families_by_regime(rng: int) -> pd.DataFrame:
    return frame(al.papers.regime_family_contrasts(alignment(rng), REGIMES, FAMILIES))


@golden("papers.family_tests")
def family_tests(rng: int) -> pd.DataFrame:
    family = dict(zip("abcdefgh", ["p", "p", "q", "q", "r", "r", "s", "s"], strict=True))
    above = {name: "early" if name in "abcd" else "late" for name in family}
    found = profile_tests(data.profiles(), family, above, n_permutations=199, rng=rng).head(3)
    by_regime = al.papers.family_tests(
        alignment(1), FAMILIES, FAMILIES, REGIMES, n_permutations=199, rng=rng
    )
    ranks = family_ranks(data.profiles()[0], above)
    return stacked(tests=found, ranks=ranks, regimes=by_regime)


@golden("errors.condition_divergences")
def condition_divergences(_: int) -> pd.DataFrame:
    return frame(al.errors.condition_divergences(data.study()))


# Planning


@golden("trials_for_width", slow=True)
def trials_for_width(rng: int) -> pd.DataFrame:
    options = {"n_coverage": 200, "rng": rng}
    plan = al.trials_for_width(0.75, 0.75, 0.5, [0.4, 0.2], **options)
    assured = al.trials_for_width(0.9, 0.8, 0.3, 0.3, assurance=0.8, **options)
    return stacked(expected=frame(plan), assured=frame(assured))


@golden("trials_for_power", "planning.trials_for_difference")
def trials_for_power(rng: int) -> pd.DataFrame:
    plan = al.trials_for_power(0.75, 0.8, 0.2, n_coverage=200, rng=rng)
    other = al.planning.trials_for_difference(0.75, 0.7, 0.7, 0.5, 0.2, n_coverage=200, rng=rng)
    # Stored when a plan could have several humans.
    other = other.assign(n_humans=1, ec_humans=np.nan)
    return stacked(zero=frame(plan), difference=frame(other))


@golden("planning.plan_from")
def plan_from(rng: int) -> pd.DataFrame:
    result = ec(data.noise(), FOUR[:2], rng=rng)
    return frame(al.planning.plan_from(result, n_trials=[200, 400], n_datasets=200, rng=rng))


@golden("planning.variance_components", "planning.best_design")
def best_design(_: int) -> pd.DataFrame:
    components = al.planning.variance_components(data.example())
    designs = al.planning.best_design(components.tail(1), 2000, 0.1, 10)
    return stacked(components=frame(components), designs=frame(designs).head(8))


@golden("planning.items_for_margins", "planning.items_for_agreement")
def items(_: int) -> pd.DataFrame:
    return stacked(
        margins=frame(al.planning.items_for_margins(0.3)),
        kappa=frame(
            al.planning.items_for_agreement(
                0.6, [0.3, 0.2], class_frequencies=(0.8, 0.2), against=0.4
            )
        ),
        ac1=frame(
            al.planning.items_for_agreement(
                0.8, n_items=150, coefficient="gwet_ac1", n_readers=4,
                class_frequencies=(0.9, 0.1),
                missing=0.1,
            )
        ),
    )  # fmt: skip


@golden("planning.choose_images")
def choose_images(rng: int) -> pd.DataFrame:
    models = data.noise().select(kind="model")
    plan = al.planning.choose_images(models, 60, ("model_1", "model_4"), rng=1)
    simulated = plan.simulate(accuracy=[0.7], difficulty_correlation=[0.5], n_designs=20, rng=rng)
    return stacked(
        table=frame(plan.table)[["item", "stratum", "inclusion"]].head(20),
        sizes=frame(plan.sizes()).head(12),
        precision=frame(plan.precision([40, 80])),
        simulated=frame(simulated).select_dtypes("number"),
    )


@golden("planning.choose_images", "compare", "difference")
def analysis_of_chosen_images(rng: int) -> pd.DataFrame:
    models = data.noise().select(kind="model")
    plan = al.planning.choose_images(models, 60, ("model_1", "model_4"), rng=1)
    table = data.noise().to_table()
    asked = (table["kind"] == "model") | table["item"].isin(plan.table["item"])
    trials = al.Trials.from_table(table[asked]).with_inclusion(plan, generalize_to="pool")
    result = ec(trials, "human-model", rng=rng)
    first, second = {"observer_b": "model_1"}, {"observer_b": "model_4"}
    return stacked(
        summary=everything(result), difference=frame(al.difference(result, first, second))
    )


@golden("planning.choose_conditions")
def choose_conditions(rng: int) -> pd.DataFrame:
    found = al.planning.choose_conditions(data.study(), rng=rng)
    order = ["n", "condition", "separation", "as_early"]
    return stacked(order=found[order], validation=found.drop(columns=order[1:]))


# Models and their evidence


def density(model: Any) -> pd.DataFrame:
    """Log density of a model at its initial point and one step away, by variable."""
    log_density = model.compile_logp(mode="FAST_COMPILE", sum=False)
    start = model.initial_point()
    rows = []
    for step in (0.0, 0.3):
        point = {name: value + step for name, value in start.items()}
        values = log_density(point)
        terms = [*model.basic_RVs, *model.potentials]
        rows += [
            {"term": term.name, "step": step, "log_density": float(np.sum(value))}
            for term, value in zip(terms, values, strict=True)
        ]
    return pd.DataFrame(rows)


@golden("models.copying")
def model_copying(_: int) -> pd.DataFrame:
    counted = al.data.joint_correctness(data.noise(), "human-model")["cells"].values
    plain = al.models.copying(counted)
    other = al.models.copying(counted, priors={"u": (2, 2)})
    texts = pd.DataFrame(
        {"variable": list(prior_texts(plain)),
         "prior": list(prior_texts(plain).values())}
    )  # fmt: skip
    return stacked(plain=density(plain), other=density(other), texts=texts)


@golden("models.cohort", slow=True)
def model_cohort(_: int) -> pd.DataFrame:
    return density(al.models.cohort(al.data.cohort_counts(data.study())))


@golden("models.item_margins")
def model_item_margins(_: int) -> pd.DataFrame:
    trials, model = data.margins()
    right = (trials.data["correct"].values > 0).sum(axis=0)
    near = model.loc[model["observer"] == "near", "margin"].to_numpy()
    return density(item_margins(right, np.full(50, 8), near, n_alternatives=5))


@golden("calibration.coverage_study")
def coverage_study(rng: int) -> pd.DataFrame:
    grid = default_grid().head(2)
    study = al.calibration.coverage_study(
        grid, ["posterior", "wald"], n_datasets=200, n_draws=200, rng=rng
    )
    table = frame(study.summary()).drop(columns="note", errors="ignore")
    return table.sort_values("method", kind="stable", ignore_index=True)


@golden("calibration.coverage_study")
def estimate_coverage(rng: int) -> pd.DataFrame:
    grid = pd.DataFrame(
        {"copy_probability": [0.3], "n_classes": [4], "n_joint_errors": [40], "peakedness": [0.5]}
    )
    found = al.calibration.coverage_study(
        grid, metric="misclassification_agreement", n_datasets=50, n_draws=200, rng=rng
    )
    table = frame(found.summary()).drop(columns="note", errors="ignore")
    return table.sort_values("method", ignore_index=True)


@golden()
def kept_ranks(_: int) -> pd.DataFrame:
    random = data.stream(19)
    arrays = {f"default/posterior/{name}": random.randint(65_534, size=50).astype(np.uint16)
              for name in ("p_a", "copy_probability")}  # fmt: skip
    arrays["default/divergent"] = np.zeros(50, dtype=np.uint16)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "ranks.npz", **arrays)
        ranks = cards.kept_ranks(Path(folder) / "ranks.npz")
    return ranks.groupby("quantity")["rank"].agg(["mean", "std"]).reset_index()


@golden()
def verdict(_: int) -> pd.DataFrame:
    random = data.stream(20)
    even = (np.arange(60) + random.uniform(size=60)) / 60
    ranks = {"even": random.permutation(even), "tilted": random.permutation(even) ** 2}
    made = pd.concat(
        pd.DataFrame(
            {"simulation": np.arange(60), "method": "posterior", "quantity": name, "rank": rank,
             "divergent": np.arange(60) % 5 == 0}
        )
        for name, rank in ranks.items()
    )  # fmt: skip
    found = cards.verdict(made)
    divergences = found.pop("divergences")
    rows = [found, divergences.pop("without"), divergences]
    return pd.DataFrame(
        [row | {"outside_alone": " ".join(row.get("outside_alone", []))} for row in rows]
    )


@golden("calibration.sbc", slow=True)
def sbc(rng: int) -> pd.DataFrame:
    model = al.models.copying([30, 10, 10, 10], independent=True)
    ranks = al.calibration.sbc(model, n=20, thin=2, rng=rng)
    ranks["error"] = ranks["mean"] - ranks["truth"]
    return ranks.groupby("quantity")[["rank", "truth", "error", "sd"]].mean().reset_index()


@golden(slow=True)
def margin_coverage(rng: int) -> pd.DataFrame:
    worlds = {"plain": MarginWorld(n_items=80)}
    study = MARGINS.summary(MARGINS.run(40, worlds, rng=rng)).rename(columns={"scenario": "world"})
    # Ratios to the variation of few data sets would have heavy tails.
    return study[["world", "scope", "truth", "coverage", "bias"]]


@golden(slow=True)
def item_coverage(rng: int) -> pd.DataFrame:
    study = ITEMS.run(25, n_draws=100, rng=rng)
    study["covered"] = study["truth"].between(study["lower"], study["upper"]).astype(float)
    study["middle"] = (study["lower"] + study["upper"]) / 2
    study["width"] = study["upper"] - study["lower"]
    keys = ["design", "n_repeats", "within", "unit", "method"]
    # Proportions of 25 data sets would have heavy tails.
    return stacked(
        intervals=study.groupby(keys)[["truth", "middle", "width"]].mean().reset_index(),
        covered=study.groupby(["unit", "method"])[["covered"]].mean().reset_index(),
    )


@golden("inference.null_percentiles")
def null_percentiles(_: int) -> pd.DataFrame:
    return frame(al.inference.null_percentiles(40, n_grid=21)).iloc[::10]


# MCMC


@golden("error_consistency", "inference.nuts", slow=True)
def error_consistency_by_mcmc(rng: int) -> pd.DataFrame:
    result = ec(data.noise(), FOUR, sampler="nuts", n_resamples=0, n_draws=2000, rng=rng)
    return everything(result)


@golden("inference.nuts", slow=True)
def extended(rng: int) -> pd.DataFrame:
    model = al.models.copying([100, 20, 20, 20], independent=True)
    tree = al.inference.nuts(model, n_draws=1000, rng=rng, include=["log_likelihood"])
    means = {name: float(v.mean()) for name, v in tree["posterior"].data_vars.items()}
    sums = {name: float(v.mean()) for name, v in tree["log_likelihood"].data_vars.items()}
    return pd.DataFrame([means | sums])


@golden("fit_cohort", "benchmark.cohort_scores", "plot_cohort", slow=True)
def fit_cohort(rng: int) -> pd.DataFrame:
    table = data.noise().to_table()
    few = (table["kind"] == "human") | table["observer"].isin(["model_1", "model_2", "model_4"])
    tree = al.fit_cohort(al.Trials.from_table(table[few]), n_draws=1000, rng=rng)
    models = cohort_check(tree, "model", rng=rng)
    # Bounds are numbers of responses, so they rarely change, and then by much. Some p-values of
    # models are at their limit of 1.
    bounds = ["lower", "upper"]
    return stacked(
        scores=al.benchmark.cohort_scores(tree),
        all=cohort_check(tree, rng=rng).drop(columns=bounds),
        models=models.drop(columns=[*bounds, "p_value"]),
        bounds=models.groupby("group")[bounds].mean().reset_index(),
        plot=closing(lambda: al.plot_cohort(tree, rng=rng)),
    )


@golden(
    "fit_cohort", "benchmark.cohort_scores", "benchmark.cohort_contrasts", "plot_cohort",
    slow=True,
)  # fmt: skip
def fit_cohort_with_covariates(rng: int) -> pd.DataFrame:
    families = pd.DataFrame({"family": list("ababab")}, index=[f"model_{i}" for i in range(1, 7)])
    tree = al.fit_cohort(
        data.noise(), human_effects=False, covariates={"model": families}, n_draws=1000, rng=rng
    )
    return stacked(
        scores=al.benchmark.cohort_scores(tree),
        contrasts=al.benchmark.cohort_contrasts(tree, "family"),
        plot=closing(lambda: al.plot_cohort(tree, "groups", covariate="family")),
    )


@golden("fit_observers", "margins.explained_consistency", "margins.variance_fractions", slow=True)
def fit_observers(rng: int) -> pd.DataFrame:
    tree = al.fit_observers(data.noise(), n_draws=1000, rng=rng)
    explained = al.margins.explained_consistency(tree, n_replicates=400, rng=rng)
    # For single pairs, `p_above` is a count of few replicates, and `inside` is a step function.
    return stacked(
        shares=al.margins.variance_fractions(tree),
        explained=explained.drop(columns=["inside", "p_above"]),
        above=pd.DataFrame({"p_above": [explained["p_above"].mean()]}),
    )


@golden("fit_spectrum", slow=True)
def fit_spectrum(rng: int) -> pd.DataFrame:
    spectrum = al.difficulty_spectrum(data.example(), "clean", correction=0.5)
    tree = al.fit_spectrum(spectrum, k=2, n_draws=1000, rng=rng)
    found = al.regimes(tree)
    # The most probable regime follows from the probabilities.
    table = found.drop_dims("regime").drop_vars("label").to_dataframe()
    return frame(table.join(found["probability"].to_pandas().add_prefix("p_")).reset_index())


# Simulators that guides call


@golden("simulate.leaderboard", "simulate.detection_experiment", "simulate.repeated_answers",
        "simulate.reader_study")  # fmt: skip
def simulators(rng: int) -> pd.DataFrame:
    board = al.simulate.leaderboard(8, 2, 400, shared=0.5, rng=rng)
    trials, margin = al.simulate.detection_experiment(6, 60, rho={"net": 0.6}, rng=rng)
    repeated, _ = al.simulate.repeated_answers(150, (2, 3), within=0.5, rng=rng)
    readers, _ = al.simulate.reader_study(5, 150, rng=rng)
    parts = {"board": board, "margins": trials, "repeats": repeated, "readers": readers}
    means = {k: float(t.data["correct"].mean()) for k, t in parts.items()}
    means["margin"] = float(margin["margin"].std())
    return pd.DataFrame([means])


# Plots


def closing(draw: Callable[[], Any]) -> pd.DataFrame:
    import matplotlib.pyplot as plt

    try:
        axes = draw()
        return drawn_points(axes if axes is not None else plt.gcf().axes)
    finally:
        plt.close("all")


@golden("plot_intervals", "plot_agreement")
def plots_of_pairs(_: int) -> pd.DataFrame:
    result = ec(data.noise(), **BARE)
    return stacked(
        intervals=closing(lambda: al.plot_intervals(result, intervals=["analytic"])),
        bounds=closing(lambda: al.plot_agreement(result, "bounds")),
        agreement=closing(lambda: al.plot_agreement(result)),
        accuracy=closing(lambda: al.plot_agreement(result, "accuracy")),
    )


@golden("plot_errors", "plot_plan", "plot_margins")
def plots_of_items(_: int) -> pd.DataFrame:
    models = data.noise().select(kind="model")
    plan = al.planning.choose_images(models, 60, ("model_1", "model_4"), rng=1)
    confusions = al.estimates.confusion_matrices(data.study(), by="kind")
    trials, model = data.margins()
    options = {"n_alternatives": 5, **BARE}
    result = al.decision_margin_consistency(trials, model, [("human", "near")], **options)
    return stacked(
        confusions=closing(lambda: al.plot_errors(confusions, "confusions")),
        choice=closing(lambda: al.plot_plan(plan, "images")),
        checks=closing(lambda: al.plot_margins(result, "checks")),
    )


@golden("plot_benchmark", "plot_robustness", "plot_families", slow=True)
def plots_of_benchmarks(_: int) -> pd.DataFrame:
    plain = al.benchmark_scores(data.study(), human_ids="shared", **BARE)
    ranked = al.benchmark.rank_by_metric(data.study(), human_ids="shared", rng=1)
    tree = al.benchmark.families(pairwise_matrix(), n_resamples=50, rng=1)
    return stacked(
        benchmark=closing(lambda: al.plot_benchmark(plain)),
        ranks=closing(lambda: al.plot_robustness(ranked, "rank_by_metric")),
        families=closing(lambda: al.plot_families(tree, pairwise_matrix())),
        correlations=closing(
            lambda: al.plot_robustness(al.benchmark.score_correlations(scores(1)), "correlations")
        ),
    )


@golden("plot_alignment", "plot_calibration", "plots.column")
def plots_of_tables(_: int) -> pd.DataFrame:
    alignment = al.condition_alignment(data.example(), n_resamples=50, rng=1)
    regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    table = al.spectrum.alignment_table(alignment, regime)
    study = pd.DataFrame(
        {"n_trials": [50, 100], "method": "wald", "ci_prob": 0.95, "coverage": [0.91, 0.94]}
    )
    with al.plots.column():
        return stacked(
            distortions=closing(lambda: al.plot_alignment(table)),
            levels=closing(lambda: al.plot_alignment(table, "levels", dataset="all")),
            coverage=closing(lambda: al.plot_calibration(study, "coverage", methods=["wald"])),
        )


# Command line


def command(subcommand: str, *options: str, draws: bool = True) -> pd.DataFrame:
    """Every table (csv) that a subcommand writes; FILE represents the file of trials."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        given = [each.replace("OUT", str(out)) for each in options]
        if not any("OUT" in each for each in options):
            given += ["--out", str(out)]
        given += ["--quiet", "--jobs", "1"]
        said = io.StringIO()
        # Only tables are compared.
        undrawn = mock.patch("alikely.cli._output.save_plot")
        with contextlib.redirect_stdout(said), undrawn:
            status = main([subcommand, *given])
        assert status == 0, f"alikely {subcommand} ended with {status}"
        files = sorted(Path(folder).rglob("*.csv"))
        tables = {path.stem: pd.read_csv(path) for path in files}
        return stacked(**tables) if tables else numbers_in(said.getvalue())


@functools.cache
def file_of_trials() -> str:
    folder = tempfile.mkdtemp()
    for name in ("study", "noise", "board"):
        getattr(data, name)().to_table().to_csv(f"{folder}/{name}.csv", index=False)
    trials, model = data.margins()
    trials.to_table().to_csv(f"{folder}/answers.csv", index=False)
    model.to_csv(f"{folder}/margins.csv", index=False)
    return folder


def at(name: str) -> str:
    return f"{file_of_trials()}/{name}.csv"


FEW = ("--n-resamples", "200", "--n-draws", "400")


@golden("alikely demo", slow=True)
def cli_demo(rng: int) -> pd.DataFrame:
    return command("demo", "--seed", str(rng))


@golden("alikely describe")
def cli_describe(_: int) -> pd.DataFrame:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main(["describe", at("noise")])
    assert status == 0
    rows = [line.split() for line in said.getvalue().splitlines()]
    start = next(i for i, row in enumerate(rows) if row[:1] == ["observer"])
    table = pd.DataFrame(rows[start + 1 :][:10], columns=rows[start])
    return table.astype(dict.fromkeys(rows[start][2:], float))


@golden("alikely compare", slow=True)
def cli_compare(rng: int) -> pd.DataFrame:
    return command(
        "compare", at("noise"), "--pairs", "human-model", *FEW, "--null", "--n-null", "200",
        "--seed", str(rng),
    )  # fmt: skip


@golden("alikely matrix", slow=True)
def cli_matrix(rng: int) -> pd.DataFrame:
    table = command("matrix", at("board"), "--seed", str(rng))
    # Sort by columns that are not random, because supports determine the order of branches.
    return table.sort_values(["size", "estimate"], ignore_index=True)


@golden("alikely margins", slow=True)
def cli_margins(rng: int) -> pd.DataFrame:
    return command("margins", at("answers"), "--margins", at("margins"), *FEW, "--seed", str(rng))


@golden("alikely benchmark")
def cli_benchmark(rng: int) -> pd.DataFrame:
    return command("benchmark", at("study"), "--human-ids", "shared", *FEW, "--seed", str(rng))


@golden("alikely spectrum", slow=True)
def cli_spectrum(rng: int) -> pd.DataFrame:
    reference = ",".join(f"{d}:easy" for d in DATASETS)
    return command(
        "spectrum", at("study"), "--reference", reference, "--k", "2", *FEW[:2],
        "--seed", str(rng),
    )  # fmt: skip


@golden("alikely report", slow=True)
def cli_report(_: int) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        status = main(["report", at("noise"), *FEW, "--out", str(page), "--quiet", "--jobs", "1"])
        return pd.DataFrame({"status": [float(status)], "written": [float(page.exists())]})


@golden("alikely plan")
def cli_plan(rng: int) -> pd.DataFrame:
    return command(
        "plan", "--accuracy", "0.75", "0.8", "--ec", "0.4", "--width", "0.3", "--seed", str(rng)
    )


@golden("alikely choose")
def cli_choose(_: int) -> pd.DataFrame:
    return command(
        "choose", at("noise"), "--target", "model_1", "model_4", "--n", "40",
        "--out", "OUT.csv", "--seed", "1",
    )  # fmt: skip


@golden("alikely completion")
def cli_completion(_: int) -> pd.DataFrame:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main(["completion", "bash"])
    return pd.DataFrame({"status": [float(status)], "says": [float("alikely" in said.getvalue())]})
