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


def v(name: str, expect: Any, do: Callable[[], Any], kind: str = "unusual") -> Case:
    return Case(name, kind, expect, do)


def ec(**how: Any) -> Callable[[], pd.DataFrame]:
    return lambda: al.error_consistency(t(), "human-model", **({"n_null": 50} | K | how)).summary()


CASES = [
    v("from_arrays NaN", WORKS, lambda: A([["x", nan, "x"], ["x", "x", "y"]], TR)),
    v("from_arrays None", WORKS, lambda: A([["x", None, "x"], ["x", "x", "y"]], TR)),
    v("from_arrays pd.NA", WORKS, lambda: A([["x", pd.NA, "x"], ["x", "x", "y"]], TR)),
    v("from_arrays NaT", WORKS, lambda: A([["x", pd.NaT, "x"], ["x", "x", "y"]], TR)),
    v(
        "from_arrays np array with nan text",
        r"'nan' \(observer 0, trial 1\) is not among the 2 classes x, y; if it is",
        lambda: A(np.array([["x", nan, "x"], ["x", "x", "y"]]), TR),
    ),
    v("from_arrays floats with nan", WORKS, lambda: A([[1, nan, 1], [1, 2, 1]], [1, 2, 1])),
    v("from_arrays ints", WORKS, lambda: A([[1, 2, 1], [1, 2, 1]], [1, 2, 1])),
    v(
        "from_arrays masked",
        WORKS,
        lambda: A(np.ma.masked_equal([[1, 2, 1], [1, 2, 0]], 0), [1, 2, 1]),
    ),
    v(
        "from_arrays ragged",
        "rows of response have different lengths; give each the same",
        lambda: A([["x"], ["x", "y"]], ["x", "y"]),
    ),
    v(
        "from_arrays ragged truth",
        r"response must have shape \(observer, trial\) and truth shape \(trial,\),",
        lambda: A(R, ["x"]),
    ),
    v("from_arrays truth missing", "truth has no value on trial 1", lambda: A(R, ["x", None, "x"])),
    v(
        "from_arrays 1d",
        r"response must have shape \(observer, trial\) and truth shape \(trial,\),",
        lambda: A(["x", "y"], ["x", "y"]),
    ),
    v(
        "from_arrays 3d",
        r"response must have shape \(observer, trial\) and truth shape \(trial,\),",
        lambda: A([R], TR),
    ),
    v("from_arrays empty", "no trials: got 2 observers and 0 trials", lambda: A([[], []], [])),
    v(
        "from_arrays empty lists",
        r"response must have shape \(observer, trial\) and truth shape \(trial,\),",
        lambda: A([], []),
    ),
    v(
        "from_arrays objects",
        r"'\{\}' \(observer 0, trial 0\) is not among the 2 classes x, y; if it is",
        lambda: A([[{}, "y", "x"], ["x", "x", "y"]], TR),
    ),
    v(
        "from_arrays bytes",
        r'"b.x." \(observer 0, trial 0\) is not among the 2 classes x, y; if it',
        lambda: A([[b"x", b"y", b"x"], [b"x", b"x", b"y"]], TR),
    ),
    v(
        "from_arrays dates",
        WORKS,
        lambda: A(np.array(R and [["2020-01-01"] * 3] * 2, "datetime64[D]"), ["2020-01-01"] * 3),
    ),
    v("from_arrays bool", WORKS, lambda: A([[True, False, True]] * 2, [True, True, False])),
    v(
        "from_arrays bool and text",
        WORKS,
        lambda: A([[True, False, True]] * 2, ["True", "True", "False"]),
    ),
    v(
        "from_arrays complex",
        r"'1j' \(observer 0, trial 0\) is not among the 2 classes 1, 2; if it is",
        lambda: A([[1j, 2, 1], [1, 2, 1]], [1, 2, 1]),
    ),
    v("from_arrays 1 and 1.0", WORKS, lambda: A([[1.0, 2.0, 1.5], [1, 2, 1]], [1, 2, 1.5])),
    v(
        "observers as a text",
        r"observers must be a list, such as \['a', 'b'\], got the text 'ab'",
        lambda: A(R, TR, observers="ab"),
    ),
    v(
        "kind as a text",
        r"kind must be a list, such as \['a', 'b'\], got the text 'hm'",
        lambda: A(R, TR, kind="hm"),
    ),
    v(
        "condition as a text",
        r"condition must be a list, such as \['a', 'b'\], got the text 'abc'",
        lambda: A(R, TR, condition="abc"),
    ),
    v(
        "item as a text",
        r"item must be a list, such as \['a', 'b'\], got the text 'abc'",
        lambda: A(R, TR, item="abc"),
    ),
    v(
        "dataset as a text",
        r"dataset must be a list, such as \['a', 'b'\], got the text 'abc'",
        lambda: C([[1, 0, 1], [0, 1, 1]], dataset="abc"),
    ),
    v(
        "labels as a text",
        r"lab must be a list, such as \['a', 'b'\], got the text 'ab'",
        lambda: A(R, TR, labels={"lab": "ab"}),
    ),
    v(
        "labels no mapping",
        r"labels must map names to one entry per observer, such as \{'lab':",
        lambda: A(R, TR, labels=["a", "b"]),
    ),
    v(
        "labels reserved",
        "a label of observers must not be called 'class', as trials use",
        lambda: A(R, TR, labels={"class": ["a", "b"]}),
    ),
    v("labels called data", WORKS, lambda: A(R, TR, labels={"trial_group": ["a", "b"]})),
    v(
        "labels not text",
        "labels of observers are called by text, got 3; rename it",
        lambda: A(R, TR, labels={3: ["a", "b"]}),
    ),
    v(
        "labels empty name",
        "labels of observers are called by text, got ''; rename it",
        lambda: A(R, TR, labels={"": ["a", "b"]}),
    ),
    v(
        "observers alike",
        "observers must have different names; two are called alike",
        lambda: A(R, TR, observers=["a", "a"]),
    ),
    v(
        "observers 1 and '1'",
        "observers must have different names; two are called alike",
        lambda: A(R, TR, observers=[1, "1"]),
    ),
    v(
        "observers too few",
        "observers must have one entry per observer: expected 2, got 1",
        lambda: A(R, TR, observers=["a"]),
    ),
    v(
        "observers NaN",
        "observers has no value at position 1",
        lambda: A(R, TR, observers=["a", nan]),
    ),
    v(
        "observers a number",
        r"observers must be a list, such as \['a', 'b'\], got int",
        lambda: A(R, TR, observers=2),
    ),
    v(
        "observers empty name",
        r"a label must be text or a number, got '' \(observers, position 0\);",
        lambda: A(R, TR, observers=["", "b"]),
    ),
    v(
        "observers blank name",
        r"a label must be text or a number, got ' ' \(observers, position 0\);",
        lambda: A(R, TR, observers=[" ", "b"]),
    ),
    v(
        "observers nested",
        r"a label must be text or a number, got \['a'\] \(observers, position 0\);",
        lambda: A(R, TR, observers=[["a"], ["b"]]),
    ),
    v("observers generator", WORKS, lambda: A(R, TR, observers=(c for c in "ab"))),
    v(
        "observers bytes",
        r"a label must be text or a number, got b'a' \(observers, position 0\);",
        lambda: A(R, TR, observers=[b"a", b"b"]),
    ),
    v(
        "classes twice",
        "classes has 'y' twice; list each class once",
        lambda: A(R, TR, classes=["x", "y", "y"]),
    ),
    v(
        "classes None in them",
        r"a label must be text or a number, got None \(classes\); name it or",
        lambda: A(R, TR, classes=["x", "y", None]),
    ),
    v(
        "classes NaN in them",
        r"a label must be text or a number, got nan \(classes\); name it or leave",
        lambda: A(R, TR, classes=["x", "y", nan]),
    ),
    v(
        "classes empty text",
        r"a label must be text or a number, got '' \(classes\); name it or leave",
        lambda: A(R, TR, classes=["x", "y", ""]),
    ),
    v(
        "classes empty list",
        r"'x' \(observer 0, trial 0\) is not among the 0 classes none; if it is",
        lambda: A(R, TR, classes=[]),
    ),
    v(
        "classes a number",
        r"classes must be a list, such as \['cat', 'dog'\], got int",
        lambda: A(R, TR, classes=2),
    ),
    v(
        "classes a text",
        "classes must be a list of labels or 'seen', got 'xy'",
        lambda: A(R, TR, classes="xy"),
    ),
    v(
        "classes 1 and '1'",
        "classes has '1' twice; list each class once",
        lambda: A([[1, 2, 1], [1, 2, 1]], [1, 2, 1], classes=[1, "1", 2]),
    ),
    v("classes numbers", WORKS, lambda: A([[1, 2, 1], [1, 2, 1]], [1, 2, 1], classes=[1, 2])),
    v("classes silence", WORKS, lambda: A(R, TR, classes=["x", "y", "(no response)"])),
    v("classes a set", WORKS, lambda: A(R, TR, classes={"x", "y"})),
    v(
        "classes twice in a table",
        "classes has 'dog' twice; list each class once",
        lambda: TB(P, classes=["bear", "car", "dog", "dog"]),
    ),
    v(
        "classes None in a table",
        r"a label must be text or a number, got None \(classes\); name it or",
        lambda: TB(P, classes=["bear", "car", "dog", None]),
    ),
    v(
        "silence and its class",
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
    v(
        "repeat of floats",
        "repeat must be 3 whole numbers from 0 on, one per trial",
        lambda: A(R, TR, repeat=[0.0, 1.0, 2.0]),
    ),
    v(
        "repeat negative",
        "repeat must be 3 whole numbers from 0 on, one per trial",
        lambda: A(R, TR, repeat=[-1, 0, 1]),
    ),
    v(
        "repeat near 2^60",
        WORKS,
        lambda: A(R, TR, item=["a"] * 3, repeat=[2**60, 2**60 + 1, 2**61]),
    ),
    v(
        "repeat of uint64",
        "repeat must be 3 whole numbers from 0 on, one per trial",
        lambda: A(R, TR, repeat=np.array([2**63 + 1, 0, 1], np.uint64)),
    ),
    v(
        "repeat of bools",
        "repeat must be 3 whole numbers from 0 on, one per trial",
        lambda: A(R, TR, repeat=[True, False, True]),
    ),
    v(
        "repeat a text",
        "repeat must be 3 whole numbers from 0 on, one per trial",
        lambda: A(R, TR, repeat="012"),
    ),
    v(
        "items twice",
        "trial 1 repeats item 'a' in its condition; number repeated trials",
        lambda: A(R, TR, item=["a", "a", "b"]),
    ),
    v("from_correct pd.NA", WORKS, lambda: C([[1, pd.NA, 0], [1, 1, 0]])),
    v("from_correct None", WORKS, lambda: C([[1, None, 0], [1, 1, 0]])),
    v(
        "from_correct complex",
        "correct must be 0, 1 or NaN, got an array of complex128",
        lambda: C([[1 + 0j, 0], [1, 1]]),
    ),
    v(
        "from_correct complex 1j",
        "correct must be 0, 1 or NaN, got an array of complex128",
        lambda: C([[1 + 1j, 0], [1, 1]]),
    ),
    v("from_correct text", WORKS, lambda: C([["1", "0"], ["1", "1"]])),
    v(
        "from_correct words",
        "correct must be 0, 1 or NaN, got 'yes'",
        lambda: C([["yes", "no"], ["yes", "no"]]),
    ),
    v("from_correct bool", WORKS, lambda: C([[True, False], [True, True]])),
    v(
        "from_correct 2",
        "correct must be 0, 1 or NaN, got 2 for observer 0, trial 0",
        lambda: C([[2, 0], [1, 1]]),
    ),
    v(
        "from_correct inf",
        "correct must be 0, 1 or NaN, got inf for observer 0, trial 0",
        lambda: C([[np.inf, 0], [1, 1]]),
    ),
    v(
        "from_correct 0.9999",
        r"correct must be 0, 1 or NaN, got 0\.9999 for observer 0, trial 0",
        lambda: C([[0.9999, 0], [1, 1]]),
    ),
    v(
        "from_correct 1d",
        r"correct must have shape \(observer, trial\), got \(2,\)",
        lambda: C([1, 0]),
    ),
    v(
        "from_correct ragged",
        "rows of correct have different lengths; give each the same",
        lambda: C([[1, 0], [1]]),
    ),
    v("from_correct empty", "no trials: got 1 observers and 0 trials", lambda: C([[]])),
    v("from_correct a frame", WORKS, lambda: C(pd.DataFrame({"a": [1, 0], "b": [0, 1]}).T)),
    v(
        "from_correct nullable frame",
        WORKS,
        lambda: C(pd.DataFrame({"a": [1, 0], "b": [pd.NA, 1]}, dtype="Int64").T),
    ),
    v("from_correct xarray", WORKS, lambda: C(xr.DataArray([[1, 0], [0, 1]]))),
    v(
        "from_correct dates",
        r"correct must be 0, 1 or NaN, got an array of datetime64\[D\]",
        lambda: C(np.array([["2020-01-01"]], "datetime64[D]")),
    ),
    v(
        "from_correct a text",
        r"correct must have shape \(observer, trial\), got one value",
        lambda: C("10"),
    ),
    v(
        "from_correct None alone",
        r"correct must have shape \(observer, trial\), got one value",
        lambda: C(None),
    ),
    v(
        "from_correct sparse",
        r"correct must have shape \(observer, trial\), got one value",
        lambda: C(__import__("scipy.sparse").sparse.eye(3)),
    ),
    v(
        "from_correct a dict",
        r"correct must have shape \(observer, trial\), got one value",
        lambda: C({"a": [1, 0]}),
    ),
    v(
        "from_table of a dict",
        "expected a pandas, polars or pyarrow table, got dict; for arrays",
        lambda: TB({"observer": ["a"]}),
    ),
    v(
        "from_table of a list",
        "expected a pandas, polars or pyarrow table, got list; for arrays",
        lambda: TB([1, 2]),
    ),
    v(
        "from_table of None",
        "expected a pandas, polars or pyarrow table, got NoneType; for arrays",
        lambda: TB(None),
    ),
    v("from_table of nothing", "no table was given", lambda: TB()),
    v(
        "from_table of a path",
        "expected a pandas, polars or pyarrow table, got str; for arrays there",
        lambda: TB("t.csv"),
    ),
    v(
        "from_table of a series",
        "expected a pandas, polars or pyarrow table, got Series; for arrays",
        lambda: TB(P.observer),
    ),
    v(
        "from_table lazy polars",
        "expected a pandas, polars or pyarrow table, got LazyFrame; for arrays",
        lambda: TB(pl.from_pandas(P).lazy()),
    ),
    v("from_table polars", WORKS, lambda: TB(pl.from_pandas(P))),
    v("from_table arrow", WORKS, lambda: TB(pa.Table.from_pandas(P))),
    v(
        "from_table duplicate used",
        "column 'truth' stands twice in the table; give each a name of its own",
        lambda: TB(dup),
    ),
    v(
        "from_table duplicate unused",
        "column 'z' stands twice in the table; give each a name of its own",
        lambda: TB(dupun),
    ),
    v(
        "from_table multiindex",
        "no column 'observer'; the columns are kind, condition, truth,",
        lambda: TB(P.set_index(["observer", "item"])),
    ),
    v(
        "from_table multiindex columns",
        r"no column 'observer'; the columns are \('a', 'observer'\), \('a',",
        lambda: TB(pd.concat({"a": P}, axis=1)),
    ),
    v("from_table categorical", WORKS, lambda: TB(P.astype("category"))),
    v("from_table string dtype", WORKS, lambda: TB(P.astype("string"))),
    v(
        "from_table objects mixed",
        "column 'item' mixes text and numbers; make it one type, for instance",
        lambda: TB(P.assign(item=[1 if i % 2 else "a" for i in range(len(P))])),
    ),
    v(
        "from_table column names ints",
        "no column 0; the columns are 0, kind, condition, item, truth,",
        lambda: TB(P.rename(columns={"observer": 0}), observer=0),
    ),
    v(
        "from_table empty",
        "the table is empty: it has no rows; expected one for each answer",
        lambda: TB(P.iloc[:0]),
    ),
    v(
        "from_table inf item",
        r"observer 'anna' has two rows for item 'inf' \(dataset 'all', condition",
        lambda: TB(P.assign(item=np.inf)),
    ),
    v("from_table float item", WORKS, lambda: TB(P.assign(item=P.index % 48 + 0.5))),
    v(
        "from_table datetime condition",
        WORKS,
        lambda: TB(P.assign(condition=pd.Timestamp("2020-01-01"), item=P.item + P.condition)),
    ),
    v(
        "from_table list column",
        "column 'item' has type list<item: int64>; expected text, whole",
        lambda: TB(P.assign(item=[[1]] * len(P))),
    ),
    v("from_table bytes", WORKS, lambda: TB(P.assign(observer=P.observer.str.encode("utf8")))),
    v(
        "from_table kind absent named",
        "no column 'species'; the columns are observer, kind, condition, item,",
        lambda: TB(P, kind="species"),
    ),
    v(
        "from_table labels text",
        r"labels must be a list, such as \['a', 'b'\], got the text 'lab'",
        lambda: TB(P.assign(lab="x"), labels="lab"),
    ),
    v(
        "from_table labels missing",
        "no column 'lab'; the columns are observer, kind, condition, item,",
        lambda: TB(P, labels=["lab"]),
    ),
    v(
        "from_table labels reserved",
        "a label of observers must not be called 'condition', as trials use",
        lambda: TB(P, labels=["condition"]),
    ),
    v(
        "from_table labels differ",
        r"observer 'anna' has lab 'img00' and 'img01' \(row 1\); it must be the",
        lambda: TB(P, labels=["itemx"]) if 0 else TB(P.assign(lab=P.item), labels=["lab"]),
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
    v(
        "from_table observer None",
        "no column None; the columns are observer, kind, condition, item,",
        lambda: TB(P, observer=None),
    ),
    v(
        "two tables of other types",
        "column 'item' holds numbers in one table and texts in table 1; give",
        lambda: TB(P.assign(item=1), P),
    ),
    v(
        "two tables, one without kind",
        r"column 'kind' is missing in table 1 \(counting from 0\); all tables",
        lambda: TB(P.iloc[:100], P.iloc[100:].drop(columns="kind")),
    ),
    v(
        "decimal correct",
        WORKS,
        lambda: TB(
            pd.DataFrame({"observer": ["a", "b"], "item": [1, 1], "correct": ["1.00", "0"]})
        ),
    ),
    v(
        "wide observers text",
        "observers must be a list of columns, got 'ab'",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x"], "a": ["x"], "b": ["x"]}), observers="ab"
        ),
    ),
    v(
        "wide observers one text",
        "observers must be a list of columns, got 'ab'",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x", "y"], "ab": ["x", "x"], "c": ["x", "y"]}), observers="ab"
        ),
    ),
    v(
        "wide nothing left",
        "no column is left for an observer; the columns are row, truth",
        lambda: al.Trials.from_wide(pd.DataFrame({"truth": ["x"]})),
    ),
    v(
        "wide duplicate",
        "column 'a' stands twice in the table; give each a name of its own",
        lambda: al.Trials.from_wide(pd.DataFrame([["x", "x", "x"]], columns=["truth", "a", "a"])),
    ),
    v(
        "wide kind of strangers",
        "kind has no entry for observer 'a'; it has z",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x", "y"], "a": ["x", "y"], "b": ["x", "y"]}),
            kind={"z": "human"},
        ),
    ),
    v(
        "wide kind text",
        "kind must map observers to kinds in a wide table, got 'human'",
        lambda: al.Trials.from_wide(
            pd.DataFrame({"truth": ["x", "y"], "a": ["x", "y"], "b": ["x", "y"]}), kind="human"
        ),
    ),
    v(
        "read a number",
        "path must be a path, a pandas, polars or pyarrow table, .* got int",
        lambda: al.Trials.read(3),
    ),
    v(
        "read None",
        "path must be a path, a pandas, polars or pyarrow table, .* got NoneType",
        lambda: al.Trials.read(None),
    ),
    v(
        "read bytes",
        "path must be a path, a pandas, polars or pyarrow table, .* got bytes",
        lambda: al.Trials.read(b"t.csv"),
    ),
    v("read an empty list", "no file was given", lambda: al.Trials.read([])),
    v(
        "read an empty text",
        r"path is empty; give the name of a file, or '\.' for this folder",
        lambda: al.Trials.read(""),
    ),
    v(
        "read a frame",
        WORKS,
        lambda: al.Trials.read(P),
    ),
    v(
        "read an url",
        r"no file 'https://example\.org/t\.csv'",
        lambda: al.Trials.read("https://example.org/t.csv"),
    ),
    v("read unknown keyword", r"no file 't\.csv'", lambda: al.Trials.read("t.csv", observr="x")),
    v(
        "select unknown",
        "no condition 'none'; there are: clean, noisy",
        lambda: t().select(condition="none"),
    ),
    v(
        "select unknown label",
        r"Trials\.select\(\) got an unexpected keyword argument 'colour'",
        lambda: t().select(colour="red"),
    ),
    v("select nothing", WORKS, lambda: t().select()),
    v("select kind", WORKS, lambda: t().select(kind="human")),
    v(
        "select empty list",
        "nothing is left: no selected observer was shown a selected trial",
        lambda: t().select(condition=[]),
    ),
    v(
        "select number",
        "no condition '3'; there are: clean, noisy",
        lambda: t().select(condition=3),
    ),
    v(
        "options zero",
        "question 0 has 0 options, and agreement needs two or more to choose",
        lambda: t().with_options(0),
    ),
    v(
        "options nan",
        "n_options must be whole numbers, one for each question, got float64",
        lambda: t().with_options(nan),
    ),
    v(
        "options float",
        "n_options must be whole numbers, one for each question, got float64",
        lambda: t().with_options(3.5),
    ),
    v(
        "options too many entries",
        "n_options must be 48 whole numbers, one for each question, got shape",
        lambda: t().with_options([3, 3]),
    ),
    v(
        "options text",
        "n_options must be a number, one for each trial, or 'classes', got",
        lambda: t().with_options("many"),
    ),
    v(
        "options None",
        "n_options must be whole numbers, one for each question, got object",
        lambda: t().with_options(None),
    ),
    v(
        "probabilities not summing",
        "probabilities of observer 0 for question 0 have the sum 3, not 1",
        lambda: t().with_probabilities(np.ones((5, 48, 3))),
    ),
    v(
        "probabilities shape",
        r"probabilities must have shape \(observer, trial, class\) = \(5, 48, 3\),",
        lambda: t().with_probabilities(np.ones((5, 48))),
    ),
    v(
        "probabilities negative",
        "probabilities of observer 0 for question 0 have a negative one;",
        lambda: t().with_probabilities(np.full((5, 48, 3), -1.0)),
    ),
    v("probabilities nan", WORKS, lambda: t().with_probabilities(np.full((5, 48, 3), nan))),
    v(
        "probabilities text",
        r"probabilities must have shape \(observer, trial, class\) = \(5, 48, 3\),",
        lambda: t().with_probabilities("high"),
    ),
    v(
        "probabilities objects",
        "probabilities must be floats, got object; answers have the shape",
        lambda: t().with_probabilities(np.full((5, 48, 3), None, object)),
    ),
    v(
        "logits inf",
        "logits must be below infinity, got inf",
        lambda: t().with_probabilities(np.full((5, 48, 3), np.inf), scale="logits"),
    ),
    v(
        "scale unknown",
        "scale must be one of 'probabilities', 'logits', got 'odds'",
        lambda: t().with_probabilities(np.ones((5, 48, 3)), scale="odds"),
    ),
    # doors: wrong types
    *[
        v(f"{f.__name__} of {n}", TYPE, (lambda f=f, x=x: f(x)), "type")
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
        v(f"{n} of trials", TYPE, (lambda f=f: f(t())), "type")
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
        v(f"{n} of a result", TYPE, (lambda f=f: f(w.result())), "type")
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
    v(
        "n_resamples float",
        r"n_resamples must be a whole number, 0 for none; got 50\.0",
        ec(n_resamples=50.0),
    ),
    v("n_resamples None", WORKS, ec(n_resamples=None)),
    v(
        "n_resamples True",
        "n_resamples must be a whole number, 0 for none; got True",
        ec(n_resamples=True),
    ),
    v(
        "n_resamples text",
        "n_resamples must be a whole number, 0 for none; got '50'",
        ec(n_resamples="50"),
    ),
    v("n_draws numpy", WORKS, ec(n_draws=np.int64(50))),
    v("n_draws -5", "n_draws must be at least 1, or 0 for none; got -5", ec(n_draws=-5)),
    v(
        "ci_prob text",
        r"ci_prob must be a number between 0 and 1, got '0\.95'; try 0\.95",
        ec(ci_prob="0.95"),
    ),
    v("ci_prob None", WORKS, ec(ci_prob=None)),
    v(
        "ci_prob array",
        r"ci_prob must be a number between 0 and 1, got \[0\.9, 0\.95\]; try 0\.95",
        ec(ci_prob=[0.9, 0.95]),
    ),
    v("by unknown", "by must be one of 'condition', 'dataset', None; got 'block'", ec(by="block")),
    v(
        "by a list",
        r"by must be one of 'condition', 'dataset', None; got \['condition'\];",
        ec(by=["condition"]),
    ),
    v(
        "no_response unknown",
        "no_response must be one of 'error', 'drop'; got 'ignore'",
        ec(no_response="ignore"),
    ),
    v(
        "sampler unknown",
        "sampler must be 'auto', 'exact' or 'nuts', got 'stan'",
        ec(sampler="stan"),
    ),
    v("rng text", "rng must be None, a whole number, a numpy Generator or a", ec(rng="one")),
    v("rng float", "rng must be None, a whole number, a numpy Generator or a", ec(rng=1.5)),
    v("rng negative", "rng must not be negative, got -1", ec(rng=-1)),
    v(
        "rng old RandomState",
        "rng must be None, a whole number, a numpy Generator or a",
        ec(rng=np.random.RandomState(1)),
    ),
    v("rng generator", WORKS, ec(rng=np.random.default_rng(1))),
    v(
        "cluster number",
        r"cluster must name a trial coordinate \(item, trial_dataset,",
        ec(cluster=3),
    ),
    v(
        "prior text",
        r"prior must be four positive numbers \(n11, n10, n01, n00\), or Beta parameters by",
        ec(prior="flat"),
    ),
    v(
        "prior wrong tuple",
        r"prior of u must be two positive Beta parameters, got \(1,\)",
        ec(prior={"u": (1,)}),
    ),
    v("bayes_factor text", WORKS, ec(bayes_factor="no")),
    v(
        "unknown keyword",
        r"error_consistency\(\) got an unexpected keyword argument 'n_boot'",
        ec(n_boot=5),
    ),
    v(
        "pairs None",
        r"pairs must be a list, such as \[\('anna', 'net'\)\], got NoneType",
        lambda: al.error_consistency(t(), None, **K),
    ),
    v(
        "pairs number",
        r"pairs must be a list, such as \[\('anna', 'net'\)\], got int",
        lambda: al.error_consistency(t(), 3, **K),
    ),
    v(
        "pairs empty list",
        "pairs is an empty list; name at least one pair, or pairs='all'",
        lambda: al.error_consistency(t(), [], **K),
    ),
    v(
        "pairs of three",
        r"each pair must be two different observers, got \('anna', 'ben', 'carl'\)",
        lambda: al.error_consistency(t(), [("anna", "ben", "carl")], **K),
    ),
    v(
        "pairs of numbers",
        "unknown observer 0 in pairs; the observers are anna, ben, carl,",
        lambda: al.error_consistency(t(), [(0, 1)], **K),
    ),
    v(
        "pairs mixed",
        "each pair must be two different observers, got 'human-model'",
        lambda: al.error_consistency(t(), ["human-model", ("anna", "ben")], **K),
    ),
    v(
        "pairs generator",
        "pairs is an empty list; name at least one pair, or pairs='all'",
        lambda: al.error_consistency(t(), (p for p in [("anna", "ben")]), **K, n_null=50).summary(),
    ),
    v(
        "pairs frame",
        "pairs must be 'all', two kinds joined by a hyphen, or a list of",
        lambda: al.error_consistency(t(), pd.DataFrame({"a": ["anna"], "b": ["ben"]}), **K),
    ),
    v(
        "pairs tuple of two names",
        "pairs must be 'all', two kinds joined by a hyphen, or a list of",
        lambda: al.error_consistency(t(), ("anna", "ben"), **K),
    ),
    v(
        "model unknown",
        r"model must be 'copying', or a pymc\.Model; got 'copy';",
        ec(model="copy", sampler="nuts"),
    ),
    v(
        "metric unknown",
        "metric must be one of 'error_consistency', 'copy_probability',",
        lambda: al.compare(t(), "kapa"),
    ),
    v(
        "metric None",
        "metric must be the name of a metric or a Metric, got NoneType",
        lambda: al.compare(t(), None),
    ),
    v(
        "metric a function",
        "metric must be the name of a metric or a Metric, got",
        lambda: al.compare(t(), len),
    ),
    v(
        "labels metric without labels",
        "these trials hold correctness only, and wrong answers are compared by",
        lambda: al.compare(w.correct(), "ma"),
    ),
    v(
        "metric cles without labels",
        "these trials hold correctness only, and wrong answers are compared by",
        lambda: al.error_similarity(w.correct()),
    ),
    v(
        "kappa_p without options",
        "these trials have no probabilities of options; add them with",
        lambda: al.compare(t(), "kappa_p"),
    ),
    # results
    v(
        "summary ci_prob 2",
        r"ci_prob must lie strictly between 0 and 1, got 2; try 0\.95",
        lambda: w.result().summary(ci_prob=2),
    ),
    v(
        "summary intervals unknown",
        "intervals must be among analytic, bootstrap, posterior, bca; got 'magic'",
        lambda: w.result().summary(intervals=["magic"]),
    ),
    v(
        "summary intervals text",
        "'all' or a list of analytic, bootstrap, posterior, bca; got 'posterior'",
        lambda: w.result().summary(intervals="posterior"),
    ),
    v(
        "difference unknown",
        "no entry with observer_b 'net_z'; there are: net_a, net_b; did you",
        lambda: al.difference(w.result(), {"observer_b": "net_z"}, {"observer_b": "net_a"}),
    ),
    v(
        "difference same",
        r"first and second select the same entries \(\{'observer_b': 'net_a'\} and",
        lambda: al.difference(w.result(), {"observer_b": "net_a"}, {"observer_b": "net_a"}),
    ),
    v(
        "difference text",
        r"no entry is labelled 'net_a'; labels look like 'anna x net_a \[clean\]'",
        lambda: al.difference(w.result(), "net_a", "net_b"),
    ),
    v(
        "difference None",
        "'NoneType' object is not iterable",
        lambda: al.difference(w.result(), None, None),
    ),
    v(
        "difference rope turned",
        r"rope must be \(lower, upper\) with lower below upper, got \(0\.1, -0\.1\)",
        lambda: al.difference(
            w.result(), {"observer_b": "net_a"}, {"observer_b": "net_b"}, rope=(0.1, -0.1)
        ),
    ),
    v(
        "difference rope one",
        r"object of type 'float' has no len\(\)",
        lambda: al.difference(
            w.result(), {"observer_b": "net_a"}, {"observer_b": "net_b"}, rope=0.1
        ),
    ),
    v(
        "contrast wrong length",
        "weights must be 12 finite numbers, one per entry and not all 0; got",
        lambda: al.contrast(w.result(), [1, -1]),
    ),
    v(
        "contrast nan",
        "weights must be 12 finite numbers, one per entry and not all 0; got",
        lambda: al.contrast(w.result(), [nan] * 12),
    ),
    v(
        "contrast zeros",
        "weights must be 12 finite numbers, one per entry and not all 0; got",
        lambda: al.contrast(w.result(), np.zeros(12)),
    ),
    v(
        "contrast text",
        "could not convert string to float: 'ab'",
        lambda: al.contrast(w.result(), "ab"),
    ),
    v(
        "mean unknown",
        "no entry with condition 'none'; there are: clean, noisy",
        lambda: al.mean(w.result(), {"condition": "none"}),
    ),
    v(
        "mean of a wrong key",
        "entries can be selected by dataset, condition, observer_a,",
        lambda: al.mean(w.result(), {"colour": "none"}),
    ),
    v(
        "sentence unknown",
        r"interval must be one that this result has \(analytic, bootstrap, bca,",
        lambda: w.result().sentence("nobody"),
    ),
    v("latex", WORKS, lambda: w.result().to_latex()),
    v(
        "latex of odd names",
        WORKS,
        lambda: al.error_consistency(
            TB(w.renamed("observer", anna="$a_1$ & 50% #x", net_a="\\net{}~^")), n_null=50, **K
        ).to_latex(),
    ),
    v(
        "compare_models of ma",
        WORKS,
        lambda: al.compare_models(al.misclassification_agreement(t(), **K)),
    ),
    v(
        "correlations of one",
        "results must be at least two, of different metrics; got 1",
        lambda: al.metric_correlations([w.result()]),
    ),
    v(
        "correlations of same",
        "two of the results are of error_consistency; give each metric once",
        lambda: al.metric_correlations([w.result(), w.result()]),
    ),
    v(
        "scores contrast unknown",
        "no machine with a score is named 'nobody'; those are net_a, net_b; of",
        lambda: w.scores().verdict("net_a", "nobody"),
    ),
    v(
        "scores level unknown",
        "level must be one of all, overall; got 'nowhere'",
        lambda: w.scores().summary(level="nowhere"),
    ),
    v(
        "scores population unknown",
        "population must be one of images, humans, crossed; got 'cats'",
        lambda: w.scores().summary("cats"),
    ),
    v(
        "benchmark models unknown",
        "no observer is of kind 'robot'; kinds are human, model; .*name the kind with",
        lambda: al.benchmark_scores(t(), models="robot", **K),
    ),
    v(
        "benchmark same kinds",
        "no data set has a machine to score; check the kinds of the observers",
        lambda: al.benchmark_scores(t(), models="human", **K),
    ),
    v(
        "benchmark exclude unknown",
        "exclude must be one of model-vs-human or a mapping, got 'imagenet'",
        lambda: al.benchmark_scores(t(), exclude="imagenet", **K),
    ),
    v(
        "benchmark levels wrong",
        r"condition 'all:clean' is in no level \(2 are not\); give it one, or",
        lambda: al.benchmark_scores(t(), levels={"clean": "a"}, **K),
    ),
    v(
        "benchmark people unknown",
        "people must be one of label, dataset; got 'both'",
        lambda: al.benchmark_scores(t(), people="both", **K),
    ),
    v(
        "benchmark missing unknown",
        "missing must be 'error' or 'available', got 'drop'",
        lambda: al.benchmark_scores(t(), missing="drop", **K),
    ),
    v(
        "reconstruct nan",
        "ceiled must be finite, got nan; leave such a condition out of all",
        lambda: al.papers.reconstruct_score(nan, 0.4, [0.8, 0.8], 100),
    ),
    v(
        "reconstruct list nan",
        "ceiled must be finite, got nan; leave such a condition out of all",
        lambda: al.papers.reconstruct_score([nan], [0.4], [[0.8, 0.8]], 100),
    ),
    v(
        "reconstruct fine",
        WORKS,
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 100, n_samples=100, rng=1),
    ),
    v(
        "reconstruct ceiling nan",
        r"ceiling must lie in \(0, 1\), got nan",
        lambda: al.papers.reconstruct_score([0.5], [nan], [[0.8, 0.8]], 100),
    ),
    v(
        "reconstruct no human",
        "human_accuracy has no human in condition 0; leave it out",
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[nan, nan]], 100),
    ),
    v(
        "reconstruct trials 0",
        r"n_trials must lie in \(0, inf\), got 0",
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 0),
    ),
    v(
        "reconstruct trials 10.5",
        r"n_trials must be whole numbers, got 10\.5",
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 10.5),
    ),
    v(
        "reconstruct trials nan",
        r"n_trials must lie in \(0, inf\), got nan",
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], nan),
    ),
    v(
        "reconstruct shape",
        "ceiled, ceiling and human_accuracy must have one entry per condition,",
        lambda: al.papers.reconstruct_score([0.5, 0.6], [0.4], [[0.8, 0.8]], 100),
    ),
    v(
        "reconstruct samples 0",
        r"n_samples must lie in \(99, inf\), got 0",
        lambda: al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 100, n_samples=0),
    ),
    v(
        "reconstruct inf",
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
    v(
        "spectrum reference unknown",
        "no condition 'none' to refer to; there are: all:clean, all:noisy",
        lambda: al.difficulty_spectrum(t(), "none"),
    ),
    v(
        "spectrum chance 2",
        "chance must lie strictly between 0 and 1, got 2; try 1/16",
        lambda: al.difficulty_spectrum(t(), "clean", chance=2),
    ),
    v(
        "spectrum chance nan",
        "chance must lie strictly between 0 and 1, got nan; try 1/16",
        lambda: al.difficulty_spectrum(t(), "clean", chance=nan),
    ),
    v(
        "spectrum correction -1",
        r"correction must be finite, not negative, got -1; try 0\.5",
        lambda: al.difficulty_spectrum(t(), "clean", correction=-1),
    ),
    v(
        "spectrum kind unknown",
        "no observer is of kind 'cat'; kinds are human, model",
        lambda: al.difficulty_spectrum(t(), "clean", kind="cat"),
    ),
    v(
        "regimes k 0",
        "k must lie between 1 and the number of conditions, 2; got 0",
        lambda: al.regimes(al.difficulty_spectrum(t(), "clean"), k=0),
    ),
    v(
        "regimes k 100",
        "k must lie between 1 and the number of conditions, 2; got 100",
        lambda: al.regimes(al.difficulty_spectrum(t(), "clean"), k=100),
    ),
    v(
        "margins frame empty",
        "the table is empty: it has no rows; expected one for each answer",
        lambda: al.decision_margin_consistency(t(), w.margins().iloc[:0], **K),
    ),
    v(
        "margins None observers",
        "column 'observer' has no value in row 0; fill it in or drop the row",
        lambda: al.decision_margin_consistency(t(), w.margins().assign(observer=None), **K),
    ),
    v(
        "margins inf direct",
        "column 'margin' must hold finite numbers, got inf for observer",
        lambda: al.decision_margin_consistency(t(), w.margins().assign(margin=np.inf), **K),
    ),
    v(
        "margins direct text",
        r"no file 'm\.csv'",
        lambda: al.decision_margin_consistency(t(), "m.csv", **K),
    ),
    v(
        "margins m 2.5",
        r"m must be a whole number of at least 2 alternatives, got 2\.5",
        lambda: al.decision_margin_consistency(t(), w.margins(), m=2.5, **K),
    ),
    v(
        "margins m 0",
        "m must be a whole number of at least 2 alternatives, got 0",
        lambda: al.decision_margin_consistency(t(), w.margins(), m=0, **K),
    ),
    v(
        "margins tiny",
        WORKS,
        lambda: al.decision_margin_consistency(
            t(), w.margins().assign(margin=lambda f: f.margin * 1e-200), **K
        ).summary(),
    ),
    v(
        "margins huge numbers",
        r"column 'margin' must hold numbers up to 1e\+100, got 3\.323e\+200 for",
        lambda: al.decision_margin_consistency(
            t(), w.margins().assign(margin=lambda f: f.margin * 1e200), **K
        ).summary(),
    ),
    v(
        "margins link unknown",
        "link must be 'm_afc' or 'probit', got 'logit'",
        lambda: al.compare(t(), "DMC", margins=w.margins(), link="logit", **K),
    ),
    v(
        "margins method unknown",
        "method must be 'pearson' or 'spearman', got 'kendall'",
        lambda: al.compare(t(), "DMC", margins=w.margins(), method="kendall", **K),
    ),
    v(
        "margins duplicate columns",
        "column 'margin' stands twice in the table; give each a name of its own",
        lambda: al.decision_margin_consistency(
            t(), pd.concat([w.margins(), w.margins()[["margin"]]], axis=1), **K
        ),
    ),
    v(
        "exclude unknown",
        "exclude must be one of model-vs-human or a mapping, got 'none'",
        lambda: al.exclude_conditions(t(), "none"),
    ),
    v(
        "load_example with arguments",
        r"load_example\(\) takes 0 positional arguments but 1 was given",
        lambda: al.load_example(3),
    ),
    v(
        "from_counts negative",
        "counts must not be negative, got -1",
        lambda: al.data.from_counts([-1, 2, 3, 4]),
    ),
    v(
        "from_counts three",
        "counts must have the four cells n11, n10, n01, n00 on the last axis,",
        lambda: al.data.from_counts([1, 2, 3]),
    ),
    v(
        "from_counts floats",
        r"counts must be whole numbers, got 1\.5; weights and probabilities are",
        lambda: al.data.from_counts([1.5, 2, 3, 4]),
    ),
    v(
        "from_counts nan",
        "counts must be whole numbers, got nan; weights and probabilities are",
        lambda: al.data.from_counts([nan, 2, 3, 4]),
    ),
    v(
        "from_counts zeros",
        WORKS,
        lambda: al.error_consistency(al.data.from_counts([0, 0, 0, 0]), n_null=50, **K).summary(),
    ),
    v(
        "from_counts huge",
        r"trials: .* of memory, and .* may be used; give smaller counts",
        lambda: al.data.from_counts([10**15, 1, 1, 1]),
    ),
    v(
        "from_counts beyond int64",
        r"counts must be whole numbers, got 1e\+25; weights and probabilities",
        lambda: al.data.from_counts([10**25, 1, 1, 1]),
    ),
    v(
        "ec of counts direct",
        "cells must have the four cells n11, n10, n01, n00 on the last axis,",
        lambda: al.metrics.error_consistency([1, 2, 3]),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
