"""Bad input to functions of `estimates` raises one line with the expectation and the fix."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.estimates import (
    agreement,
    confusion_matrices,
    nearest_observers,
)
from alikely.metrics import get_metric

NONE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
LABELS = np.array(["no", "yes"])[np.arange(20) % 2]


@functools.cache
def trials() -> al.Trials:
    return al.load_example()


@functools.cache
def result() -> al.Result:
    one = trials().select(condition="noise")
    return al.error_consistency(one, "human-model", n_resamples=20, n_draws=40, rng=1)


@functools.cache
def pairwise_matrix() -> Any:
    return al.pairwise_matrix(trials())


@functools.cache
def margins() -> tuple[al.Trials, pd.DataFrame]:
    return al.simulate.detection_experiment(4, 20, rho={"near": 0.9}, rng=1)


@functools.cache
def correctness() -> al.Trials:
    return al.Trials.from_correct([[1, 0, 1, 1], [0, 0, 1, 1]])


def again() -> al.Trials:
    return al.Trials.from_correct(
        [[1, 0, 1, 1], [0, 0, 1, 1]], item=list("xxyz"), repeat=[0, 1, 0, 0]
    )


def options(response: list[Any], truth: str, **columns: Any) -> al.Trials:
    other = list("AABA"[: len(truth)])
    return al.Trials.from_arrays([response, other], list(truth), **columns).with_options(2)


TWICE = options(list("ABAB"), "ABAB", item=["x", "y"] * 2, repeat=[0, 0, 1, 1])
SILENT = options(["A", "B", None], "ABB")


def readings(second: Any = LABELS, classes: Any = None) -> al.Trials:
    return al.Trials.from_arrays([LABELS, second], LABELS, classes=classes)


def clustered(**columns: Any) -> al.Trials:
    frame = pd.DataFrame({"observer": list("aaaabbbb"), "item": list("wxyz") * 2, "correct": 1})
    frame["template"] = "p"
    return al.Trials.from_table(frame.assign(**columns), item_columns=["template"])


def dmc(**options: Any) -> Any:
    given, table = margins()
    return al.decision_margin_consistency(given, options.pop("margins", table), **NONE | options)


def ec(*pairs: Any, **options: Any) -> Any:
    return al.error_consistency(trials(), *(pairs or ("human-human",)), **options)


CASES: list[tuple[Callable[[], Any], str]] = [
    # Options of all functions for pairs.
    (lambda: ec(ci_prob=95), "ci_prob must lie strictly between 0 and 1, got 95; try 0.95"),
    (lambda: ec(n_draws=-1), "n_draws must be at least 1, or 0 for none; got -1"),
    (lambda: ec(sampler="hmc"), "sampler must be 'auto', 'exact' or 'nuts', got 'hmc'"),
    (lambda: ec("human-robot"), "the kinds here are 'human', 'model'; got 'human-robot'"),
    (lambda: ec(cluster="image"), "cluster must name a trial coordinate (item, trial_dataset,"),
    (lambda: al.compare(trials(), "kappa"), "metric must be one of 'error_consist"),
    (lambda: get_metric("EC", mixture="mean"), "has no option 'mixture'"),
    (lambda: al.error_consistency([1]), "expected Trials or a count table, got list; make one"),
    (
        lambda: al.error_consistency(clustered(), cluster="template"),
        "cluster='template' needs at least two clusters, but all trials belong to 'p'",
    ),
    (lambda: clustered(template=list("ppqqpqqq")), "item 'x' has template 'p' (row 1) and 'q'"),
    # Repeated items.
    (lambda: al.error_consistency(again(), sampler="nuts"), "items are repeated"),
    (lambda: al.error_consistency(again(), prior={"u": (2, 2)}), "items are repeated"),
    (lambda: al.pairwise_matrix(again()), "items are repeated"),
    (lambda: al.compare(TWICE, "kappa_p_discrete"), "items are repeated"),
    (lambda: al.compare(SILENT, "kappa_p_discrete"), "have no response; leave"),
    # Labels, rows and ratings.
    (lambda: al.misclassification_agreement(correctness()), "or use error_consistency, which"),
    (lambda: al.error_similarity(readings()), "with 2 classes an incorrect response can only be"),
    (lambda: al.compare(trials(), "CLES", sampler="nuts"), "sampler must be 'auto' for error_s"),
    (lambda: al.compare(trials(), "MA", sampler="exact"), "sampler must be 'auto' for misclass"),
    (lambda: get_metric("CLES", alpha=0), "alpha must be above 0 and finite, got 0"),
    (lambda: get_metric("CLES", mixture="max"), "must be 'mean' or 'pooled', got 'max'"),
    (lambda: al.error_similarity(trials(), metric="EC"), "must compare error rows, got 'EC'"),
    (
        lambda: al.compare(trials(), "CLES", prior={"u": (1, 1)}),
        "the posterior of error_similarity has no such cells; leave it out",
    ),
    (lambda: agreement(readings(), readers="both"), "readers must be one of 'pairs', 'all'"),  # type: ignore[arg-type]
    (lambda: al.compare(readings(), "gwet_ac1", sampler="nuts"), "exact draws only"),
    (
        lambda: agreement(readings(np.array(["0", "1"] * 10), ["no", "yes", "0", "1"])),
        "(no, yes) and 'observer_1' (0, 1) have no code in common",
    ),
    # Margins.
    (lambda: dmc(group="lab"), "group must name a label of observers"),
    (lambda: dmc(n_alternatives=1), "n_alternatives must be a whole number of at least 2, got 1"),
    (lambda: al.compare(*margins()[:1], "DMC", sampler="nuts"), "sampler='nuts' has no effect on"),
    (lambda: dmc(margins=margins()[1].iloc[:4]), "in common; a correlation over items needs"),
    (lambda: dmc(cluster="templates"), "cluster must name a trial coordinate"),
    # Functions of results.
    (lambda: al.difference(result(), "a x b", "c x d"), "no comparison is labeled 'a x b'; labels"),
    (lambda: al.mean(result(), {"model": "model_1"}), "selected by dataset, condition, observer_a"),
    (lambda: al.mean(result(), []), "no comparison is labeled '(empty list)'"),
    (lambda: al.mean(result(), rope=(0.1, -0.1)), "rope must be (lower, upper) with lower below"),
    (lambda: al.mean(result(), intervals=["bayes"]), "intervals must be among"),
    (
        lambda: al.difference(result(), *[{"observer_b": "model_1"}] * 2),
        "select the same comparisons",
    ),
    (lambda: al.contrast(result(), [1, 2]), "one per comparison, not all 0; got shape (2,)"),
    (lambda: al.contrast(result(), {"a": 1}), "one per comparison, not all 0; got dict"),  # type: ignore[arg-type]
    (lambda: result().summary(intervals="posterior"), "'all' or a list of"),  # type: ignore[arg-type]
    (lambda: result().summary(columns=["kappa_maxi"]), "columns must name columns"),
    (lambda: result().sentence(interval="wald"), "interval must be one that this result has"),
    (lambda: result().to_latex(digits=-1), "digits must be a whole number from 0 to 10, got -1"),
    (lambda: al.metric_correlations([result()] * 2), "two of the results have the metric"),
    (lambda: confusion_matrices(trials(), "age"), "by must be a label of the observers, or a map"),
    (lambda: confusion_matrices(trials(), {}), "by must name at least one observer"),
    # Matrices.
    (lambda: al.pairwise_matrix([[1, 0]]), "expected Trials or"),  # type: ignore[arg-type]
    (lambda: al.pairwise_matrix(trials(), "error_similarity"), "must count correctness"),
    (lambda: al.pairwise_matrix(trials(), "copying"), "depends on the order of a pair; use"),
    (lambda: al.pairwise_matrix(trials(), intervals=["posterio"]), "did you mean 'posterior'"),  # type: ignore[list-item]
    (lambda: al.pairwise_matrix(trials(), cluster="item"), "cluster must be "),
    (
        lambda: al.pairwise_matrix(clustered(template=list("ppqq") * 2), cluster="template",
                          intervals=["posterior"]),
        "posterior limits treat items as independent",
    ),
    (lambda: pairwise_matrix().summary(intervals=["bootstrap"]), "among analytic, posterior"),
    (lambda: nearest_observers(pairwise_matrix(), "human_11"), "did you mean 'human_1'"),
    (lambda: al.mean(pairwise_matrix(), ["human_1"]), "no comparison matches"),
    (lambda: al.mean(pairwise_matrix(), rope=(-0.1, 0.1)), "only analytic intervals, got rope="),
    (lambda: pairwise_matrix().sel(observer=["human_1"] * 2), "at least two different"),
    (lambda: pairwise_matrix().sel(condition="nois"), "did you mean 'noise'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), CASES, ids=[text[:30] for _, text in CASES])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_advice_of_messages_on_options_works() -> None:
    compared = functools.partial(al.compare, metric="kappa_p_discrete", **NONE)
    assert compared(TWICE, cluster="trial").summary()["n_trials"].tolist() == [4]
    assert compared(SILENT, no_response="drop").summary()["n_trials"].tolist() == [2]
