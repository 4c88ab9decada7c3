"""Doors of Python with data, types and numbers that they may or may not take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import worlds as w
import xarray as xr
from cases import WORKS, Case, check, marked

import alikely as al

P, K, t, nan = w.table(), w.FEW, w.trials, float("nan")
A, C, TB = al.Trials.from_arrays, al.Trials.from_correct, al.Trials.from_table
R, TR = [["x", "y", "x"], ["x", "x", "y"]], ["x", "y", "x"]
# What doors say of a thing of another type.
TYPE = "expected |must be |is needed|is missing"
dup = pd.concat([P, P[["truth"]]], axis=1)
dupun = pd.concat([P, P.assign(z=1)[["z"]], P.assign(z=2)[["z"]]], axis=1)


def v(name: str, expect: Any, do: Callable[[], Any]) -> Case:
    return Case(name, expect, do)


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


def ec(**how: Any) -> Callable[[], pd.DataFrame]:
    return lambda: al.error_consistency(t(), "human-model", **({"n_null": 50} | K | how)).summary()


CASES = [
    v("from_arrays NaN", WORKS, lambda: A([["x", nan, "x"], ["x", "x", "y"]], TR)),
    v("from_arrays None", WORKS, lambda: A([["x", None, "x"], ["x", "x", "y"]], TR)),
    v("from_arrays pd.NA", WORKS, lambda: A([["x", pd.NA, "x"], ["x", "x", "y"]], TR)),
    v("from_arrays NaT", WORKS, lambda: A([["x", pd.NaT, "x"], ["x", "x", "y"]], TR)),
    no(r"'nan' \(observer 0, trial", lambda: A(np.array([["x", nan, "x"], ["x", "x", "y"]]), TR)),
    v("from_arrays floats with nan", WORKS, lambda: A([[1, nan, 1], [1, 2, 1]], [1, 2, 1])),
    v("from_arrays ints", WORKS, lambda: A([[1, 2, 1], [1, 2, 1]], [1, 2, 1])),
    v("from_arrays", WORKS, lambda: A(np.ma.masked_equal([[1, 2, 1], [1, 2, 0]], 0), [1, 2, 1])),
    no("rows of response have", lambda: A([["x"], ["x", "y"]], ["x", "y"])),
    no(r"response must have shape \(observer", lambda: A(R, ["x"])),
    no("truth has no value on trial 1", lambda: A(R, ["x", None, "x"])),
    no(r"response must have shape \(observer", lambda: A(["x", "y"], ["x", "y"])),
    no(r"response must have shape \(observer, trial\) and", lambda: A([R], TR)),
    no("no trials: got 2 observers and 0 trials", lambda: A([[], []], [])),
    no(r"response must have shape \(observer", lambda: A([], [])),
    no(r"'\{\}' \(observer 0, trial 0\) is not", lambda: A([[{}, "y", "x"], ["x", "x", "y"]], TR)),
    no(r'"b.x." \(observer 0, trial 0\)', lambda: A([[b"x", b"y", b"x"], [b"x", b"x", b"y"]], TR)),
    v(
        "from_arrays dates",
        WORKS,
        lambda: A(np.array([["2020-01-01"] * 3] * 2, "datetime64[D]"), ["2020-01-01"] * 3),
    ),
    v("from_arrays bool", WORKS, lambda: A([[True, False, True]] * 2, [True, True, False])),
    v("from_arrays bool", WORKS, lambda: A([[True, False, True]] * 2, ["True", "True", "False"])),
    no(r"'1j' \(observer 0, trial 0\) is not among", lambda: A([[1j, 2, 1], [1, 2, 1]], [1, 2, 1])),
    v("from_arrays 1 and 1.0", WORKS, lambda: A([[1.0, 2.0, 1.5], [1, 2, 1]], [1, 2, 1.5])),
    no("observers must be a list, such as", lambda: A(R, TR, observers="ab")),
    no(r"kind must be a list, such as \['a', 'b'\]", lambda: A(R, TR, kind="hm")),
    no("condition must be a list, such", lambda: A(R, TR, condition="abc")),
    no(r"item must be a list, such as \['a', 'b'\]", lambda: A(R, TR, item="abc")),
    no(r"dataset must be a list, such as \['a'", lambda: C([[1, 0, 1], [0, 1, 1]], dataset="abc")),
    no("lab must be a list, such as", lambda: A(R, TR, labels={"lab": "ab"})),
    no("labels must map names to one", lambda: A(R, TR, labels=["a", "b"])),
    no("a label of observers", lambda: A(R, TR, labels={"class": ["a", "b"]})),
    v("labels called data", WORKS, lambda: A(R, TR, labels={"trial_group": ["a", "b"]})),
    no("labels of observers are", lambda: A(R, TR, labels={3: ["a", "b"]})),
    no("labels of observers are", lambda: A(R, TR, labels={"": ["a", "b"]})),
    no("observers must have different", lambda: A(R, TR, observers=["a", "a"])),
    no("observers must have different", lambda: A(R, TR, observers=[1, "1"])),
    no("observers must have one entry per", lambda: A(R, TR, observers=["a"])),
    no("observers has no value at", lambda: A(R, TR, observers=["a", nan])),
    no("observers must be a list, such as", lambda: A(R, TR, observers=2)),
    no("a label must be text or a", lambda: A(R, TR, observers=["", "b"])),
    no("a label must be text or a", lambda: A(R, TR, observers=[" ", "b"])),
    no("a label must be text or a", lambda: A(R, TR, observers=[["a"], ["b"]])),
    v("observers generator", WORKS, lambda: A(R, TR, observers=(c for c in "ab"))),
    no("a label must be text or a", lambda: A(R, TR, observers=[b"a", b"b"])),
    no("classes has 'y' twice; list", lambda: A(R, TR, classes=["x", "y", "y"])),
    no("a label must be text", lambda: A(R, TR, classes=["x", "y", None])),
    no("a label must be text or", lambda: A(R, TR, classes=["x", "y", nan])),
    no("a label must be text or a", lambda: A(R, TR, classes=["x", "y", ""])),
    no(r"'x' \(observer 0, trial 0\) is not", lambda: A(R, TR, classes=[])),
    no(r"classes must be a list, such as \['cat'", lambda: A(R, TR, classes=2)),
    no("classes must be a list of labels or", lambda: A(R, TR, classes="xy")),
    no("classes has '1' twice", lambda: A([[1, 2, 1], [1, 2, 1]], [1, 2, 1], classes=[1, "1", 2])),
    v("classes numbers", WORKS, lambda: A([[1, 2, 1], [1, 2, 1]], [1, 2, 1], classes=[1, 2])),
    v("classes silence", WORKS, lambda: A(R, TR, classes=["x", "y", "(no response)"])),
    v("classes a set", WORKS, lambda: A(R, TR, classes={"x", "y"})),
    no("classes has 'dog' twice; list each", lambda: TB(P, classes=["bear", "car", "dog", "dog"])),
    no("a label must be text or a number", lambda: TB(P, classes=["bear", "car", "dog", None])),
    no(
        r"'\(no response\)' is a class here, and what missing answers are called;",
        lambda: al.misclassification_agreement(
            TB(
                w.renamed("response", dog="(no response)").assign(
                    truth=P.truth.replace("dog", "(no response)"),
                    response=lambda f: f.response.where(f.index % 7 > 0),
                )
            ),
            **K,
        ).summary(),
    ),
    no("repeat must be 3 whole", lambda: A(R, TR, repeat=[0.0, 1.0, 2.0])),
    no("repeat must be 3 whole numbers", lambda: A(R, TR, repeat=[-1, 0, 1])),
    v("repeat near", WORKS, lambda: A(R, TR, item=["a"] * 3, repeat=[2**60, 2**60 + 1, 2**61])),
    no("repeat must be 3 whole", lambda: A(R, TR, repeat=np.array([2**63 + 1, 0, 1], np.uint64))),
    no("repeat must be 3 whole", lambda: A(R, TR, repeat=[True, False, True])),
    no("repeat must be 3 whole numbers from 0 on", lambda: A(R, TR, repeat="012")),
    no("trial 1 repeats item 'a' in its", lambda: A(R, TR, item=["a", "a", "b"])),
    v("from_correct pd.NA", WORKS, lambda: C([[1, pd.NA, 0], [1, 1, 0]])),
    v("from_correct None", WORKS, lambda: C([[1, None, 0], [1, 1, 0]])),
    no("correct must be 0, 1 or NaN, got", lambda: C([[1 + 0j, 0], [1, 1]])),
    no("correct must be 0, 1 or NaN", lambda: C([[1 + 1j, 0], [1, 1]])),
    v("from_correct text", WORKS, lambda: C([["1", "0"], ["1", "1"]])),
    no("correct must be 0, 1 or", lambda: C([["yes", "no"], ["yes", "no"]])),
    v("from_correct bool", WORKS, lambda: C([[True, False], [True, True]])),
    no("correct must be 0, 1 or NaN, got 2 for", lambda: C([[2, 0], [1, 1]])),
    no("correct must be 0, 1 or NaN, got inf", lambda: C([[np.inf, 0], [1, 1]])),
    no("correct must be 0, 1 or NaN, got", lambda: C([[0.9999, 0], [1, 1]])),
    no(r"correct must have shape \(observer, trial\), got", lambda: C([1, 0])),
    no("rows of correct have different lengths", lambda: C([[1, 0], [1]])),
    no("no trials: got 1 observers and 0 trials", lambda: C([[]])),
    v("from_correct a frame", WORKS, lambda: C(pd.DataFrame({"a": [1, 0], "b": [0, 1]}).T)),
    v(
        "from_correct nullable frame",
        WORKS,
        lambda: C(pd.DataFrame({"a": [1, 0], "b": [pd.NA, 1]}, dtype="Int64").T),
    ),
    v("from_correct xarray", WORKS, lambda: C(xr.DataArray([[1, 0], [0, 1]]))),
    no("correct must be 0, 1 or NaN, got", lambda: C(np.array([["2020-01-01"]], "datetime64[D]"))),
    no(r"correct must have shape \(observer, trial\), got", lambda: C("10")),
    no(r"correct must have shape \(observer, trial\)", lambda: C(None)),
    no(r"correct must have shape \(observer", lambda: C(__import__("scipy.sparse").sparse.eye(3))),
    no(r"correct must have shape \(observer", lambda: C({"a": [1, 0]})),
    no("expected a pandas, polars or", lambda: TB({"observer": ["a"]})),
    no("expected a pandas, polars or pyarrow table", lambda: TB([1, 2])),
    no("expected a pandas, polars or pyarrow table, got", lambda: TB(None)),
    no("no table was given", lambda: TB()),
    no("expected a pandas, polars or pyarrow table", lambda: TB("t.csv")),
    no("expected a pandas, polars or pyarrow", lambda: TB(P.observer)),
    no("expected a pandas, polars", lambda: TB(pl.from_pandas(P).lazy())),
    v("from_table polars", WORKS, lambda: TB(pl.from_pandas(P))),
    v("from_table arrow", WORKS, lambda: TB(pa.Table.from_pandas(P))),
    no("column 'truth' stands twice in the table", lambda: TB(dup)),
    no("column 'z' stands twice in the table", lambda: TB(dupun)),
    no("no column 'observer'; the columns are kind", lambda: TB(P.set_index(["observer", "item"]))),
    no(r"no column 'observer'; the columns are \('a'", lambda: TB(pd.concat({"a": P}, axis=1))),
    v("from_table categorical", WORKS, lambda: TB(P.astype("category"))),
    v("from_table string dtype", WORKS, lambda: TB(P.astype("string"))),
    no(
        "column 'item' mixes text and numbers; make it one type, for instance",
        lambda: TB(P.assign(item=[1 if i % 2 else "a" for i in range(len(P))])),
    ),
    no("no column 0; the columns are 0", lambda: TB(P.rename(columns={"observer": 0}), observer=0)),
    no("the table is empty: it has no rows; expected", lambda: TB(P.iloc[:0])),
    no("observer 'anna' has two rows for", lambda: TB(P.assign(item=np.inf))),
    v("from_table float item", WORKS, lambda: TB(P.assign(item=P.index % 48 + 0.5))),
    v(
        "from_table datetime condition",
        WORKS,
        lambda: TB(P.assign(condition=pd.Timestamp("2020-01-01"), item=P.item + P.condition)),
    ),
    no("column 'item' has type list<item: int64>", lambda: TB(P.assign(item=[[1]] * len(P)))),
    v("from_table bytes", WORKS, lambda: TB(P.assign(observer=P.observer.str.encode("utf8")))),
    no("no column 'species'; the", lambda: TB(P, kind="species")),
    no(r"labels must be a list, such as \['a', 'b'\]", lambda: TB(P.assign(lab="x"), labels="lab")),
    no("no column 'lab'; the columns", lambda: TB(P, labels=["lab"])),
    no("a label of observers", lambda: TB(P, labels=["condition"])),
    no(
        r"observer 'anna' has lab 'img00' and 'img01' \(row 1\); it must be the",
        lambda: TB(P.assign(lab=P.item), labels=["lab"]),
    ),
    v(
        "from_table labels called pair",
        WORKS,
        lambda: al.error_consistency(
            TB(
                P.assign(pair="x", observer_a="y", cells="z"),
                labels=["pair", "observer_a", "cells"],
            ),
            **K | {"n_null": 50},
        ).summary(),
    ),
    no("no column None; the columns are", lambda: TB(P, observer=None)),
    no("column 'kind' is missing in", lambda: TB(P.iloc[:100], P.iloc[100:].drop(columns="kind"))),
    v(
        "decimal correct",
        WORKS,
        lambda: TB(
            pd.DataFrame({"observer": ["a", "b"], "item": [1, 1], "correct": ["1.00", "0"]})
        ),
    ),
    no(
        "observers must be a list of columns, got 'ab'",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x"], "a": ["x"], "b": ["x"]}), observers="ab"
        ),
    ),
    no(
        "observers must be a list of columns, got 'ab'",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x", "y"], "ab": ["x", "x"], "c": ["x", "y"]}), observers="ab"
        ),
    ),
    no("no column is left for an", lambda: al.Trials.from_wide(pd.DataFrame({"truth": ["x"]}))),
    no(
        "column 'a' stands twice in the table; give each a name of its own",
        lambda: al.Trials.from_wide(pd.DataFrame([["x", "x", "x"]], columns=["truth", "a", "a"])),
    ),
    no(
        "kind has no entry for observer 'a'; it has z",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x", "y"], "a": ["x", "y"], "b": ["x", "y"]}),
            kind={"z": "human"},
        ),
    ),
    no(
        "kind must map observers to kinds in a wide table, got 'human'",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x", "y"], "a": ["x", "y"], "b": ["x", "y"]}), kind="human"
        ),
    ),
    no("path must be a path, a pandas, polars or", lambda: al.Trials.read(3)),
    no("path must be a path, a pandas, polars or", lambda: al.Trials.read(None)),
    no("path must be a path, a pandas, polars or", lambda: al.Trials.read(b"t.csv")),
    no("no file was given", lambda: al.Trials.read([])),
    no("path is empty; give the name of a file", lambda: al.Trials.read("")),
    v("read a frame", WORKS, lambda: al.Trials.read(P)),
    no(
        r"no file 'https://example\.org/t\.csv'",
        lambda: al.Trials.read("https://example.org/t.csv"),
    ),
    no(r"no file 't\.csv'", lambda: al.Trials.read("t.csv", observr="x")),
    no("no condition 'none'; there are", lambda: t().select(condition="none")),
    no(r"Trials\.select\(\) got an", lambda: t().select(colour="red")),
    v("select nothing", WORKS, lambda: t().select()),
    v("select kind", WORKS, lambda: t().select(kind="human")),
    no("nothing is left: no selected", lambda: t().select(condition=[])),
    no("no condition '3'; there are: clean", lambda: t().select(condition=3)),
    no("question 0 has 0 options, and agreement needs", lambda: t().with_options(0)),
    no("n_options must be whole numbers, one for", lambda: t().with_options(nan)),
    no("n_options must be whole numbers, one for", lambda: t().with_options(3.5)),
    no("n_options must be 48 whole", lambda: t().with_options([3, 3])),
    no("n_options must be a number, one for each", lambda: t().with_options("many")),
    no("n_options must be whole numbers, one for", lambda: t().with_options(None)),
    no("probabilities of observer 0 for", lambda: t().with_probabilities(np.ones((5, 48, 3)))),
    no("probabilities must have shape", lambda: t().with_probabilities(np.ones((5, 48)))),
    no("probabilities of observer 0", lambda: t().with_probabilities(np.full((5, 48, 3), -1.0))),
    v("probabilities nan", WORKS, lambda: t().with_probabilities(np.full((5, 48, 3), nan))),
    no("probabilities must have", lambda: t().with_probabilities("high")),
    no("probabilities must be", lambda: t().with_probabilities(np.full((5, 48, 3), None, object))),
    no(
        "logits must be below infinity, got inf",
        lambda: t().with_probabilities(np.full((5, 48, 3), np.inf), scale="logits"),
    ),
    no("scale must be one of", lambda: t().with_probabilities(np.ones((5, 48, 3)), scale="odds")),
    # doors: wrong types
    *[
        v(f"{f.__name__} of {n}", TYPE, lambda f=f, x=x: f(x))
        for f in (
            al.error_consistency,
            al.compare,
            al.agreement,
            al.matrix,
            al.benchmark_scores,
            al.misclassification_agreement,
            al.error_similarity,
            al.condition_alignment,
            al.fit_cohort,
            al.fit_observers,
            al.benchmark.group_scores,
            al.benchmark.sensitivity,
            al.benchmark.rank_by_metric,
            al.estimates.answer_noise,
            al.planning.variance_components,
        )
        for n, x in (("a frame", P), ("a path", "t.csv"), ("None", None))
    ],
    *[
        v(f"{n} of trials", TYPE, lambda f=f: f(t()))
        for n, f in (
            ("mean", al.mean),
            ("compare_models", al.compare_models),
            ("further_repeats", al.planning.further_repeats),
            ("plan_from", al.planning.plan_from),
            ("regimes", al.regimes),
            ("fit_spectrum", al.fit_spectrum),
            ("families", al.benchmark.families),
            ("independent_observers", al.estimates.independent_observers),
            ("scores_of", al.benchmark.scores_of),
            (
                "difference",
                lambda x: al.difference(x, {"observer_b": "net_a"}, {"observer_b": "net_b"}),
            ),
            ("contrast", lambda x: al.contrast(x, [1, -1])),
            ("metric_correlations", lambda x: al.metric_correlations([x, x])),
            ("readers", lambda x: al.planning.readers(x, [5], [100])),
            ("expected_errors", lambda x: al.planning.expected_errors(x, 5, 100)),
            ("block_means", lambda x: al.benchmark.block_means(x, "kind")),
            ("judge_agreement", lambda x: al.benchmark.judge_agreement(x, {})),
            ("consistency_table", lambda x: al.estimates.consistency_table(x, x)),
        )
    ],
    *[
        v(f"{n} of a result", TYPE, lambda f=f: f(w.result()))
        for n, f in (
            ("error_consistency", al.error_consistency),
            ("matrix", al.matrix),
            ("benchmark_scores", al.benchmark_scores),
            ("regimes", al.regimes),
            ("difficulty_spectrum", lambda x: al.difficulty_spectrum(x, "clean")),
            ("margins", al.decision_margin_consistency),
            ("agreement", al.agreement),
            ("fit_cohort", al.fit_cohort),
        )
    ],
    # numbers
    no("n_resamples must be a whole number, 0 for none", ec(n_resamples=50.0)),
    v("n_resamples None", WORKS, ec(n_resamples=None)),
    no("n_resamples must be a whole number, 0 for none", ec(n_resamples=True)),
    no("n_resamples must be a whole number, 0 for none", ec(n_resamples="50")),
    v("n_draws numpy", WORKS, ec(n_draws=np.int64(50))),
    no("n_draws must be at least 1, or 0 for none; got -5", ec(n_draws=-5)),
    no(r"ci_prob must be a number between 0 and 1, got '0\.95'", ec(ci_prob="0.95")),
    v("ci_prob None", WORKS, ec(ci_prob=None)),
    no("ci_prob must be a number between 0 and 1, got", ec(ci_prob=[0.9, 0.95])),
    no("by must be one of 'condition', 'dataset', None; got 'block'", ec(by="block")),
    no("by must be one of 'condition', 'dataset', None; got", ec(by=["condition"])),
    no("no_response must be one of 'error'", ec(no_response="ignore")),
    no("sampler must be 'auto', 'exact' or 'nuts', got", ec(sampler="stan")),
    no("rng must be None, a whole number, a numpy Generator or a", ec(rng="one")),
    no("rng must be None, a whole number, a numpy Generator or a", ec(rng=1.5)),
    no("rng must not be negative, got -1", ec(rng=-1)),
    no("rng must be None, a whole number", ec(rng=np.random.RandomState(1))),
    v("rng generator", WORKS, ec(rng=np.random.default_rng(1))),
    no(r"cluster must name a trial coordinate \(item", ec(cluster=3)),
    no(r"prior must be four positive numbers \(n11, n10, n01", ec(prior="flat")),
    no("prior of u must be two positive Beta", ec(prior={"u": (1,)})),
    v("bayes_factor text", WORKS, ec(bayes_factor="no")),
    no(r"error_consistency\(\) got an unexpected keyword argument", ec(n_boot=5)),
    no("pairs must be a list, such as", lambda: al.error_consistency(t(), None, **K)),
    no("pairs must be a list, such as", lambda: al.error_consistency(t(), 3, **K)),
    no("pairs is an empty list", lambda: al.error_consistency(t(), [], **K)),
    no("each pair must be two", lambda: al.error_consistency(t(), [("anna", "ben", "carl")], **K)),
    no("unknown observer 0", lambda: al.error_consistency(t(), [(0, 1)], **K)),
    no(
        "each pair must be two different observers, got 'human-model'",
        lambda: al.error_consistency(t(), ["human-model", ("anna", "ben")], **K),
    ),
    no(
        "pairs is an empty list; name at least one pair, or pairs='all'",
        lambda: al.error_consistency(t(), (p for p in [("anna", "ben")]), **K, n_null=50).summary(),
    ),
    no(
        "pairs must be 'all', two kinds joined by a hyphen, or a list of",
        lambda: al.error_consistency(t(), pd.DataFrame({"a": ["anna"], "b": ["ben"]}), **K),
    ),
    no("pairs must be 'all', two kinds", lambda: al.error_consistency(t(), ("anna", "ben"), **K)),
    no("model must be 'copying', or a", ec(model="copy", sampler="nuts")),
    no("metric must be one of", lambda: al.compare(t(), "kapa")),
    no("metric must be the name of a metric or a", lambda: al.compare(t(), None)),
    no("metric must be the name of a metric or", lambda: al.compare(t(), len)),
    no("these trials hold correctness only, and wrong", lambda: al.compare(w.correct(), "ma")),
    no("these trials hold correctness only, and wrong", lambda: al.error_similarity(w.correct())),
    no("these trials have no", lambda: al.compare(t(), "kappa_p")),
    # results
    no("ci_prob must lie strictly", lambda: w.result().summary(ci_prob=2)),
    no("intervals must be among analytic", lambda: w.result().summary(intervals=["magic"])),
    no("'all' or a list of analytic, bootstrap", lambda: w.result().summary(intervals="posterior")),
    no(
        "no entry with observer_b 'net_z'; there are: net_a, net_b; did you",
        lambda: al.difference(w.result(), {"observer_b": "net_z"}, {"observer_b": "net_a"}),
    ),
    no(
        r"first and second select the same entries \(\{'observer_b': 'net_a'\} and",
        lambda: al.difference(w.result(), {"observer_b": "net_a"}, {"observer_b": "net_a"}),
    ),
    no("no entry is labelled 'net_a'; labels", lambda: al.difference(w.result(), "net_a", "net_b")),
    no("'NoneType' object is not", lambda: al.difference(w.result(), None, None)),
    no(
        r"rope must be \(lower, upper\) with lower below upper, got \(0\.1, -0\.1\)",
        lambda: al.difference(
            w.result(), {"observer_b": "net_a"}, {"observer_b": "net_b"}, rope=(0.1, -0.1)
        ),
    ),
    no(
        r"object of type 'float' has no len\(\)",
        lambda: al.difference(
            w.result(), {"observer_b": "net_a"}, {"observer_b": "net_b"}, rope=0.1
        ),
    ),
    no("weights must be 12", lambda: al.contrast(w.result(), [1, -1])),
    no("weights must be 12 finite", lambda: al.contrast(w.result(), [nan] * 12)),
    no("weights must be 12 finite", lambda: al.contrast(w.result(), np.zeros(12))),
    no("could not convert string to float", lambda: al.contrast(w.result(), "ab")),
    no("no entry with condition 'none'; there", lambda: al.mean(w.result(), {"condition": "none"})),
    no("entries can be selected by dataset", lambda: al.mean(w.result(), {"colour": "none"})),
    no("interval must be one that this", lambda: w.result().sentence("nobody")),
    v("latex", WORKS, lambda: w.result().to_latex()),
    v(
        "latex of odd names",
        WORKS,
        lambda: al.error_consistency(
            TB(w.renamed("observer", anna="$a_1$ & 50% #x", net_a="\\net{}~^")), n_null=50, **K
        ).to_latex(),
    ),
    v("compare_models", WORKS, lambda: al.compare_models(al.misclassification_agreement(t(), **K))),
    no("results must be at", lambda: al.metric_correlations([w.result()])),
    no("two of the results are of", lambda: al.metric_correlations([w.result(), w.result()])),
    no("no machine with a score is named 'nobody'", lambda: w.scores().verdict("net_a", "nobody")),
    no("level must be one of", lambda: w.scores().summary(level="nowhere")),
    no("population must be one of", lambda: w.scores().summary("cats")),
    no("no observer is of kind 'robot'", lambda: al.benchmark_scores(t(), models="robot", **K)),
    no("no data set has a machine to score", lambda: al.benchmark_scores(t(), models="human", **K)),
    no("exclude must be one of", lambda: al.benchmark_scores(t(), exclude="imagenet", **K)),
    no("condition 'all:clean' is in", lambda: al.benchmark_scores(t(), levels={"clean": "a"}, **K)),
    no("people must be one of label", lambda: al.benchmark_scores(t(), people="both", **K)),
    no("missing must be 'error' or", lambda: al.benchmark_scores(t(), missing="drop", **K)),
    no("ceiled must be finite", lambda: al.papers.reconstruct_score(nan, 0.4, [0.8, 0.8], 100)),
    no(
        "ceiled must be finite, got nan; leave such a condition out of all",
        lambda: al.papers.reconstruct_score([nan], [0.4], [[0.8, 0.8]], 100),
    ),
    v(
        "reconstruct fine",
        WORKS,
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 100, n_samples=100, rng=1),
    ),
    no("ceiling must lie in", lambda: al.papers.reconstruct_score([0.5], [nan], [[0.8, 0.8]], 100)),
    no("human_accuracy has", lambda: al.papers.reconstruct_score([0.5], [0.4], [[nan, nan]], 100)),
    no("n_trials must lie in", lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 0)),
    no("n_trials must be", lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 10.5)),
    no("n_trials must lie", lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], nan)),
    no(
        "ceiled, ceiling and human_accuracy must have one entry per condition,",
        lambda: al.papers.reconstruct_score([0.5, 0.6], [0.4], [[0.8, 0.8]], 100),
    ),
    no(
        r"n_samples must lie in \(99, inf\), got 0",
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 100, n_samples=0),
    ),
    no(
        "ceiled must be finite, got inf; leave such a condition out of all",
        lambda: al.papers.reconstruct_score([np.inf], [0.4], [[0.8, 0.8]], 100),
    ),
    v(
        "reconstruct 1 human",
        WORKS,
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8]], 100, n_samples=100),
    ),
    v(
        "reconstruct ceiled 3",
        WORKS,
        lambda: al.papers.reconstruct_score([3.0], [0.4], [[0.8, 0.8]], 100, n_samples=100),
    ),
    no("no condition 'none' to refer to; there are", lambda: al.difficulty_spectrum(t(), "none")),
    no("chance must lie strictly between", lambda: al.difficulty_spectrum(t(), "clean", chance=2)),
    no("chance must lie strictly", lambda: al.difficulty_spectrum(t(), "clean", chance=nan)),
    no("correction must be finite", lambda: al.difficulty_spectrum(t(), "clean", correction=-1)),
    no("no observer is of kind 'cat'", lambda: al.difficulty_spectrum(t(), "clean", kind="cat")),
    no("k must lie between 1 and", lambda: al.regimes(al.difficulty_spectrum(t(), "clean"), k=0)),
    no("k must lie between 1 and", lambda: al.regimes(al.difficulty_spectrum(t(), "clean"), k=100)),
    no(
        "the table is empty: it has no rows; expected one for each answer",
        lambda: al.decision_margin_consistency(t(), w.margins().iloc[:0], **K),
    ),
    no(
        "column 'observer' has no value in row 0; fill it in or drop the row",
        lambda: al.decision_margin_consistency(t(), w.margins().assign(observer=None), **K),
    ),
    no(
        "column 'margin' must hold finite numbers, got inf for observer",
        lambda: al.decision_margin_consistency(t(), w.margins().assign(margin=np.inf), **K),
    ),
    no(r"no file 'm\.csv'", lambda: al.decision_margin_consistency(t(), "m.csv", **K)),
    no("m must be a whole", lambda: al.decision_margin_consistency(t(), w.margins(), m=2.5, **K)),
    no("m must be a whole", lambda: al.decision_margin_consistency(t(), w.margins(), m=0, **K)),
    v(
        "margins tiny",
        WORKS,
        lambda: al.decision_margin_consistency(
            t(), w.margins().assign(margin=lambda f: f.margin * 1e-200), **K
        ).summary(),
    ),
    no(
        r"column 'margin' must hold numbers up to 1e\+100, got 3\.323e\+200 for",
        lambda: al.decision_margin_consistency(
            t(), w.margins().assign(margin=lambda f: f.margin * 1e200), **K
        ).summary(),
    ),
    no(
        "link must be 'm_afc' or 'probit', got 'logit'",
        lambda: al.compare(t(), "DMC", margins=w.margins(), link="logit", **K),
    ),
    no(
        "method must be 'pearson' or 'spearman', got 'kendall'",
        lambda: al.compare(t(), "DMC", margins=w.margins(), method="kendall", **K),
    ),
    no(
        "column 'margin' stands twice in the table; give each a name of its own",
        lambda: al.decision_margin_consistency(
            t(), pd.concat([w.margins(), w.margins()[["margin"]]], axis=1), **K
        ),
    ),
    no("exclude must be one of", lambda: al.exclude_conditions(t(), "none")),
    no(r"load_example\(\) takes 0", lambda: al.load_example(3)),
    no("counts must not be", lambda: al.data.from_counts([-1, 2, 3, 4])),
    no("counts must have the four", lambda: al.data.from_counts([1, 2, 3])),
    no("counts must be whole", lambda: al.data.from_counts([1.5, 2, 3, 4])),
    no("counts must be whole", lambda: al.data.from_counts([nan, 2, 3, 4])),
    v(
        "from_counts zeros",
        WORKS,
        lambda: al.error_consistency(al.data.from_counts([0, 0, 0, 0]), n_null=50, **K).summary(),
    ),
    no("trials: .* of memory", lambda: al.data.from_counts([10**15, 1, 1, 1])),
    no(r"counts must be whole numbers, got 1e\+25", lambda: al.data.from_counts([10**25, 1, 1, 1])),
    no("cells must have the four cells n11, n10", lambda: al.metrics.error_consistency([1, 2, 3])),
    no("'z' .truth of trial 1. is not among", lambda: A(R, ["x", "z", "x"], classes=["x", "y"])),
    no(
        "took part in no data set together",
        lambda: al.error_consistency(
            C(np.ma.masked_array(np.eye(2), np.eye(2)), dataset=["p", "q"]),
            [("observer_0", "observer_1")],
        ),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
