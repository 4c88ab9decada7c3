"""Repeated items in all functions: three equal responses count as one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import alikely as al
from alikely.benchmark import cohorts
from alikely.benchmark.scores import noise_ceilings
from alikely.errors.tables import equality
from alikely.metrics.errors import ERROR_SIMILARITY

N_ITEMS, REPEATS = 30, 3
PEOPLE, NETS = [f"h{i}" for i in range(4)], ["m0", "m1"]
FEW: dict[str, Any] = {"n_resamples": 0, "n_draws": 40, "rng": 1}
NONE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0, "rng": 1}


def study(n_repeats: int, rate: float = 0) -> al.Trials:
    """Four humans and two models in two conditions; a fraction `rate` of repeats is resampled."""
    rng = np.random.default_rng(4)
    n = 2 * N_ITEMS
    truth = np.arange(n) % 3
    given = np.where(
        rng.standard_normal(n) + rng.standard_normal((6, n)) > -0.7,
        truth,
        (truth + rng.integers(1, 3, (6, n))) % 3,
    )
    again = np.tile(given, n_repeats)
    other = rng.random(again.shape) < rate
    other[:, :n] = False
    again[other] = rng.integers(0, 3, other.sum())
    names = np.array(["x", "y", "z"])
    return al.Trials.from_arrays(
        names[again],
        truth=names[np.tile(truth, n_repeats)],
        classes=["x", "y", "z"],
        item=np.tile(np.arange(n), n_repeats),
        condition=np.tile(np.repeat(["easy", "hard"], N_ITEMS), n_repeats),
        repeat=np.repeat(np.arange(n_repeats), n),
        kind=["human"] * 4 + ["model"] * 2,
        observers=[*PEOPLE, *NETS],
        labels={"family": ["p", "p", "q", "q", "r", "r"]},
    )


def margins() -> pd.DataFrame:
    n = 2 * N_ITEMS
    return pd.DataFrame(
        {
            "observer": np.repeat(NETS, n),
            "item": np.tile(np.arange(n).astype(str), 2),
            "condition": np.tile(np.repeat(["easy", "hard"], N_ITEMS), 2),
            "margin": np.random.default_rng(1).standard_normal(2 * n),
        }
    )


def numbers(frame: pd.DataFrame, columns: str = "") -> NDArray[Any]:
    """Some columns of a table, or all that are numeric."""
    chosen = frame[columns.split()] if columns else frame.select_dtypes("number")
    return chosen.to_numpy(dtype=float)


def of(result: al.Result) -> NDArray[Any]:
    return numbers(result.summary(intervals="all"), "n_trials estimate se analytic_ci95_lb")


def scored(metric: str) -> Callable[[al.Trials], NDArray[Any]]:
    return lambda trials: numbers(
        al.benchmark_scores(trials, metric=metric, **NONE).summary(intervals="all"),
        "estimate se df",
    )


def grouped(trials: al.Trials, metric: str) -> NDArray[Any]:
    table = al.benchmark.group_scores(trials, "family", metric, **NONE).summary()
    return numbers(table, "n_pairs estimate se")


def in_margins(trials: al.Trials) -> al.Result:
    return al.decision_margin_consistency(trials, margins(), "human-model", **NONE)


def flat(found: Any, names: str) -> NDArray[Any]:
    return np.concatenate([found[name].values.ravel() for name in names.split()])


def aligned(trials: al.Trials, metric: str) -> NDArray[Any]:
    found = al.condition_alignment(trials, metrics=metric, n_resamples=0, rng=1)
    return flat(found, "estimate se n_images")


def spectrum(trials: al.Trials) -> Any:
    return al.difficulty_spectrum(trials, "easy", correction=0.5)


SIMILARITY, AGREEMENT = "error_similarity", "misclassification_agreement"
# Functions with the same estimates and errors for three equal responses as for one.
SAME: dict[str, Callable[[al.Trials], Any]] = {
    "error_consistency": lambda t: of(al.error_consistency(t, **NONE)),
    "compare": lambda t: of(al.compare(t, AGREEMENT, **NONE)),
    "misclassification_agreement": lambda t: of(al.misclassification_agreement(t, **NONE)),
    "error_similarity": lambda t: numbers(
        al.error_similarity(t, **NONE).summary(intervals="all"), "n_trials estimate se"
    ),
    "decision_margin_consistency": lambda t: of(in_margins(t)),
    "consistency_table": lambda t: numbers(al.estimates.consistency_table(t, in_margins(t))),
    "benchmark_scores": scored("error_consistency"),
    "benchmark_scores of labels": scored(AGREEMENT),
    "benchmark_scores of rows": scored(SIMILARITY),
    "noise_ceilings": lambda t: numbers(
        noise_ceilings(t, al.metrics.ERROR_CONSISTENCY),
        "lower lower_se upper upper_se",
    ),
    "reader_study": lambda t: numbers(
        al.benchmark.differences(al.benchmark.reader_study(t, "m0")), "estimate se df n_cases"
    ),
    "group_scores": lambda t: grouped(t, "error_consistency"),
    "test_equal_accuracy": lambda t: numbers(cohorts.test_equal_accuracy(t)),
    "condition_alignment": lambda t: aligned(t, "error_consistency"),
    "difficulty_spectrum": lambda t: flat(
        spectrum(t), "right shown delta mann_whitney_p binomial_p"
    ),
    "variance_components": lambda t: numbers(
        al.planning.variance_components(t), "mean observers images observer_images"
    ),
}  # fmt: skip
# Functions that raise a one-line error with a fix.
REFUSED: dict[str, Callable[[al.Trials], Any]] = {
    "pairwise_matrix": al.pairwise_matrix,
    "agreement": al.agreement,
    "benchmark_scores of readings": scored("cohen_kappa"),
    "group_scores of readings": lambda t: grouped(t, "cohen_kappa"),
    "reader_study of readings": lambda t: al.benchmark.reader_study(t, "m0", "cohen_kappa"),
    "condition_alignment of readings": lambda t: aligned(t, "cohen_kappa"),
    "cohort_counts": al.data.cohort_counts,
    "fit_cohort": lambda t: al.fit_cohort(t, n_draws=4, rng=1),
    "fit_spectrum": lambda t: al.fit_spectrum(spectrum(t), n_draws=4, rng=1),
    "test_copy_model": lambda t: al.test_copy_model(
        al.error_consistency(t, sampler="nuts", **FEW)
    ),
    "independent_observers": lambda t: al.estimates.independent_observers(
        al.error_consistency(t, **NONE), n_draws=40, rng=1
    ),
    "equality": lambda t: equality(
        al.data.joint_correctness(t, labels=True, repeats="crossed"),
        ERROR_SIMILARITY, 20,
    ),
    "condition_divergences": al.errors.condition_divergences,
    "cue_bias": al.papers.cue_bias,
    "item_contrast": al.papers.item_contrast,
    "choose_conditions": lambda t: al.planning.choose_conditions(t, n_splits=2, rng=1),
    "choose_images": lambda t: al.planning.choose_images(t, 10, rng=1),
}  # fmt: skip


# Takes about a second.
SLOW = {"group_scores", "decision_margin_consistency", "consistency_table", "error_similarity"}


@pytest.mark.parametrize(
    "func", [pytest.param(func, marks=pytest.mark.slow if func in SLOW else ()) for func in SAME]
)
def test_three_equal_responses_count_as_one(func: str) -> None:
    np.testing.assert_allclose(SAME[func](study(REPEATS)), SAME[func](study(1)), atol=1e-8)


@pytest.mark.parametrize("func", REFUSED)
def test_functions_for_single_responses_raise_an_error(func: str) -> None:
    with pytest.raises(ValueError, match=r"came back|recur|repeated|one answer to each") as told:
        REFUSED[func](study(REPEATS))
    assert "\n" not in str(told.value)
    assert any(way in str(told.value) for way in ("select(repeat", "cluster='trial'", "repeats="))


def test_pairs_without_repeats_have_independence_tests() -> None:
    """Two data sets, one with repeats of one observer; tests of other pairs do not change."""
    rng = np.random.default_rng(2)
    once = np.ma.masked_all((3, 100))
    once[:, :80] = rng.random((3, 80)) < 0.7
    # Second responses of the last observer to 20 items of data set b.
    once[2, 80:] = rng.random(20) < 0.7
    columns: dict[str, Any] = {
        "item": [*range(40), *range(40), *range(20)],
        "dataset": ["a"] * 40 + ["b"] * 60,
        "repeat": [0] * 80 + [1] * 20,
    }
    trials = al.Trials.from_correct(once, **columns)
    with al.options(n_null=100):
        table = al.error_consistency(trials, **NONE).summary(columns="all")
        alone = al.error_consistency(trials.select(repeat=0), **NONE).summary(columns="all")
    whole = (table["dataset"] == "a") | (table["observer_b"] == "observer_1")
    assert whole.sum() == 4
    for name in ("p_fisher", "log_bf10"):
        np.testing.assert_array_equal(table.loc[whole, name], alone.loc[whole, name])
        assert table.loc[~whole, name].isna().all()
    assert (
        table.loc[~whole, "note"].str.contains("Fisher's test and the Bayes factor are not").all()
    )
    assert (
        not table.loc[whole, "note"]
        .str.contains("Fisher's test and the Bayes factor are not")
        .any()
    )
    assert table["p_null"].notna().all()
