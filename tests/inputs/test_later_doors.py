"""Reports, choices of images, matrices, plans of agreement, measures beside agreement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import worlds as w
from cases import WORKS, Case, check, cli, marked

import alikely as al

P, t, nan = w.table(), w.trials, float("nan")
ODD = "$x_1$\n<b>"
FEW = "--n-resamples 20 --n-draws 20 --n-null 20 --quiet"
T = {"t.csv": w.text()}
odd = P.replace({"observer": {"net_a": ODD}})
items, images = al.planning.items_for_agreement, al.planning.choose_images
report, inputs_of = al.report.make_report, al.papers.representation_similarity
x = np.random.default_rng(1).normal(size=(12, 3))
sizes = pd.DataFrame({"size": [1.0, 2.0]}, index=["net_a", "net_b"])


def v(name: str, expect: Any, do: Callable[[], Any]) -> Case:
    return Case(name, "unusual", expect, do)


def verb(name: str, expect: Any, words: str, files: dict[str, Any] = T, *more: str) -> Case:
    return Case(name, "unusual", expect, cli(words, files, *more))


def alike() -> pd.DataFrame:
    alignment = al.condition_alignment(t(), n_resamples=20, rng=1)
    return al.spectrum.alignment_table(alignment, {"all:clean": "easy", "all:noisy": "hard"})


def board(change: Callable[[pd.DataFrame], pd.DataFrame], **how: Any) -> Callable[[], Any]:
    """A printed leaderboard of two machines, changed."""
    table = pd.DataFrame({"system": ["a", "b"], "dataset": "all", "score": [0.2, 0.3]})
    whole = table.assign(condition="clean")
    return lambda: al.papers.reconstruct_leaderboard(change(whole), t(), rng=1, **how)


def drawn(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[], Any]:
    """A plot as it comes out, with names that are no formulas."""

    def run() -> Any:
        figure = al.plot_alignment(change(alike()), "distortions").figure
        figure.canvas.draw()
        return figure

    return run


def once_and_safe(page: al.report.Report) -> bool:
    """Text of the user's is text on the page."""
    return "<b>" not in page.html and "&lt;b&gt;" in page.html


CASES = [
    # items for agreement
    v(
        "items value a text",
        "value must be one number or several, got 'x'",
        lambda: items("x", 0.2),
    ),
    v(
        "items value None",
        "value must be one number or several, got None",
        lambda: items(None, 0.2),
    ),
    v(
        "items value empty",
        r"value must be one number or several, got \[\]",
        lambda: items([], 0.2),
    ),
    v("items value NaN", "cohen_kappa must be at least 0, .*; got nan", lambda: items(nan, 0.2)),
    v("items value complex", "value must be one number or", lambda: items(0.6 + 1j, 0.2)),
    v("items of trials", "value must be one number or several", lambda: items(t(), 0.2)),
    v("items width NaN", r"width must lie in \(0, 2\], as agreement", lambda: items(0.6, nan)),
    v(
        "items numbers that do not fit",
        "there must be as many numbers of each, or one; got 2 of value and 3 of width",
        lambda: items([0.6, 0.7], [0.1, 0.2, 0.3]),
    ),
    v("items twice", lambda f: f["n_items"].nunique() == 1, lambda: items([0.6, 0.6], 0.2)),
    v(
        "items n 1.5",
        "n_items must be whole numbers of at least 2, got 1.5",
        lambda: items(0.6, n_items=1.5),
    ),
    v(
        "items shares a text",
        "shares must be two or more numbers",
        lambda: items(0.6, 0.2, shares="ab"),
    ),
    v("items shares NaN", "shares must be two or more", lambda: items(0.6, 0.2, shares=[nan, 0.5])),
    v("items missing a text", "missing must be a number", lambda: items(0.6, 0.2, missing="x")),
    v("items against a text", "against must be a number", lambda: items(0.6, 0.2, against="x")),
    v("items coefficient odd", "metric must be one of", lambda: items(0.6, 0.2, coefficient=ODD)),
    v(
        "items readers huge",
        "and plans go through at most 200,000",
        lambda: items(0.6, 0.2, n_readers=10**9),
    ),
    # choices of images
    v("images of a table", "expected Trials of the machines, got DataFrame", lambda: images(P, 16)),
    v(
        "images n a list",
        r"n must be a whole number of at least 2, got \[16",
        lambda: images(t(), [16, 16]),
    ),
    v("images n NaN", "n must be a whole number of at least 2, got nan", lambda: images(t(), nan)),
    v(
        "images n empty",
        "n has no number for condition 'clean'; it has none",
        lambda: images(t(), {}),
    ),
    v(
        "images n of no condition",
        "n has a number for 'zzz', and there is no such condition",
        lambda: images(t(), {"clean": 16, "noisy": 16, "zzz": 16}),
    ),
    v(
        "images target None",
        "target must name a pair .*; got NoneType",
        lambda: images(t(), 16, None),
    ),
    v("images target a number", "target must name a pair .*; got int", lambda: images(t(), 16, 3)),
    v(
        "images target of numbers",
        "a contrast is of two machines, got 1",
        lambda: images(t(), 16, [1, 2]),
    ),
    v(
        "images machines None",
        "machines must be a list, .* got NoneType",
        lambda: images(t(), 16, machines=None),
    ),
    v(
        "images machines twice",
        "machines has 'net_a' twice; name each once",
        lambda: images(t(), 16, machines=["net_a", "net_a"]),
    ),
    v(
        "images metric a list",
        "metric must be the name of a metric",
        lambda: images(t(), 16, metric=["a"]),
    ),
    v(
        "images even a text",
        r"even must be a share in \[0, 1\], got 'x'",
        lambda: images(t(), 16, even="x"),
    ),
    v(
        "images shown a text",
        "shown must be a list, .* got the text 'img01'",
        lambda: images(t(), 16, shown="img01"),
    ),
    v(
        "images shown None",
        "shown must be a list, .* got NoneType",
        lambda: images(t(), 16, shown=None),
    ),
    v(
        "images shown unknown",
        lambda p: "1 items of shown are none of these trials: zzz" in p.notes,
        lambda: images(t(), 16, shown=["zzz", "img01"], rng=1),
    ),
    v(
        "images people True",
        "n_people must be a whole number of at least 1, got True",
        lambda: images(t(), 16, images="separate", n_people=True),
    ),
    v(
        "images of odd names",
        lambda p: ODD in p.sentence(),
        lambda: images(al.Trials.from_table(odd), 16, (ODD, "net_b"), rng=1),
    ),
    v(
        "images to nowhere",
        "No such file or directory",
        lambda: images(t(), 16, rng=1).to_csv("a/b.csv"),
    ),
    v(
        "plot of no plan",
        "plan must be a StimulusPlan, got NoneType",
        lambda: al.plot_plan(None, "images"),
    ),
    # reports
    v("report of None", "expected results .* got NoneType", lambda: report(None)),
    v("report of nothing", "a report needs at least one result", lambda: report()),
    v("report with a table", "trials must be alikely.Trials", lambda: report(w.result(), trials=P)),
    v(
        "report with other trials",
        "trials are not those of the results: they have no observer 'anna'",
        lambda: report(w.result(), trials=w.correct()),
    ),
    v(
        "report title a number",
        "title must be a text, got int",
        lambda: report(w.result(), title=3),
    ),
    v("report remarks a text", "remarks must be a list", lambda: report(w.result(), remarks="abc")),
    v("report remarks None", "remarks must be a list", lambda: report(w.result(), remarks=None)),
    v(
        "report odd names",
        once_and_safe,
        lambda: report(
            w.odd(net_a=ODD), title=ODD, remarks=[ODD], trials=al.Trials.from_table(odd)
        ),
    ),
    v("load report of nothing", "no file 'zz.nc'", lambda: al.report.load_saved("zz.nc")),
    # matrices
    v(
        "matrix of odd names",
        lambda m: ODD in m.observers,
        lambda: al.matrix(al.Trials.from_table(odd)),
    ),
    v("matrix metric None", "metric must be the name of a metric", lambda: al.matrix(t(), None)),
    v(
        "judges a text",
        "scores must map judges to scores of candidates, .* got str",
        lambda: al.benchmark.judge_agreement(al.matrix(t()), "x"),
    ),
    v(
        "judges of numbers",
        "scores must map judges to scores of candidates",
        lambda: al.benchmark.judge_agreement(al.matrix(t()), {"anna": 3}),
    ),
    v(
        "block means None",
        "expected Mapping, got NoneType",
        lambda: al.benchmark.block_means(al.matrix(t()), None),
    ),
    v(
        "regression labels a list",
        "labels must be a mapping of observers",
        lambda: al.benchmark.agreement_regression(al.matrix(t()), labels=[]),
    ),
    # distortions
    v(
        "distortions of None",
        "table must be a DataFrame, got NoneType",
        lambda: al.plot_alignment(None, "distortions"),
    ),
    v(
        "distortions on no axes",
        "ax must be matplotlib axes, got str",
        lambda: al.plot_alignment(alike(), "distortions", ax="x"),
    ),
    v(
        "distortions of text",
        "column 'estimate' must hold numbers",
        drawn(lambda f: f.assign(estimate="x")),
    ),
    v(
        "distortions undefined",
        "is undefined in all 2 conditions",
        drawn(lambda f: f.assign(estimate=nan)),
    ),
    v(
        "distortions column twice",
        "frame has column 'estimate' twice",
        drawn(lambda f: pd.concat([f, f[["estimate"]]], axis=1)),
    ),
    v(
        "distortions without data sets",
        "column 'dataset' has no value",
        drawn(lambda f: f.assign(dataset=nan)),
    ),
    v("distortions without regimes", WORKS, drawn(lambda f: f.assign(regime=nan))),
    v("distortions of odd names", WORKS, drawn(lambda f: f.assign(dataset=ODD))),
    v(
        "plot of no confusions",
        "counts must be a DataArray, got NoneType",
        lambda: al.plot_errors(None, "confusions"),
    ),
    # measures beside agreement
    v(
        "representations complex",
        "'a' must hold real numbers",
        lambda: inputs_of({"a": x + 1j, "b": x}),
    ),
    v(
        "representations ragged",
        "'a' must hold real numbers",
        lambda: inputs_of({"a": [[1, 2], [1]], "b": x}),
    ),
    v(
        "representations NaN",
        "'a' of item 0 is not finite",
        lambda: inputs_of({"a": x * nan, "b": x}),
    ),
    v(
        "representations called alike",
        "must have different names as text",
        lambda: inputs_of({1: x, "1": x}),
    ),
    v(
        "representations 2.5 times",
        "n_resamples must be a whole number",
        lambda: inputs_of({"a": x, "b": x}, n_resamples=2.5),
    ),
    v(
        "representations without spread",
        lambda f: f["note"].all(),
        lambda: inputs_of({"a": x * 0, "b": x}, n_resamples=10, rng=1),
    ),
    v(
        "outside of scores",
        "scores must be a Series by observer, got Benchmark",
        lambda: al.papers.outside_correlations(w.scores(), sizes),
    ),
    v("families of None", "results must be a list", lambda: al.papers.family_scores(None, {})),
    v(
        "groups of None",
        "between must be a label of the observers, .*; got NoneType",
        lambda: al.benchmark.group_scores(t(), None),
    ),
    v(
        "plan from None",
        "expected Result, got NoneType",
        lambda: al.planning.plan_from(None, width=0.1),
    ),
    v(
        "board of nobody",
        "table has no rows",
        board(lambda f: f[:0]),
    ),
    v("board of one", lambda f: len(f) == 3, board(lambda f: f[:1], n_samples=100)),
    v(
        "board NaN",
        r"machine 'a' has no score in all \| clean; leave out one of them",
        board(lambda f: f.assign(score=nan)),
    ),
    v(
        "board of text",
        "column 'score' of table must hold numbers",
        board(lambda f: f.assign(score="x")),
    ),
    v(
        "board of many draws",
        "n_samples must be at most 100,000,000, got 1,000,000,000,000",
        board(lambda f: f, n_samples=10**12),
    ),
    v(
        "bias of a Series",
        "attribute must be 'texture', .* got Series",
        lambda: al.papers.response_bias(t(), pd.Series({"img01": "bear"})),
    ),
    # verbs
    verb("choose without a number", "parameter --n requires an argument", "choose t.csv"),
    verb(
        "choose -4",
        "n must be a whole number of at least 2, got -4|--n",
        "choose t.csv --n -4",
    ),
    verb("choose too many", "must be at most 24", "choose t.csv --n 999999"),
    verb(
        "choose between one",
        "a contrast is of two machines",
        "choose t.csv --n 16 --target net_a net_a",
    ),
    verb("choose of nobody", "no machine 'net_z'", "choose t.csv --n 16 --target net_z"),
    verb(
        "choose even NaN",
        r"even must be a share in \[0, 1\], got nan",
        "choose t.csv --n 16 --even nan",
    ),
    verb("choose into a folder", "'\\.'|--out", "choose t.csv --n 16 --out ."),
    verb(
        "choose under a file",
        "--out must be in a folder that can be written to",
        "choose t.csv --n 16 --out t.csv/p.csv",
    ),
    verb(
        "choose over what is read",
        "--out 't.csv' is one of the files that are read",
        "choose t.csv --n 16 --out t.csv",
    ),
    verb(
        "choose over a list of images",
        "--out 's.csv' is one of the files that are read",
        "choose t.csv --n 16 --shown s.csv --out s.csv",
        T | {"s.csv": "item,a\nimg01,1\n"},
    ),
    verb("choose over a plot", "'p.png'; the plot goes", "choose t.csv --n 16 --out p.png"),
    verb("choose to no file", "--out names a file", "choose t.csv --n 16 --out /dev/null"),
    verb("choose lists -1", "--n-people must be .* got -1", "choose t.csv --n 16 --n-people -1"),
    verb(
        "choose lists huge",
        "10,000,000,000 lists of 16 images in 2 conditions: .* of memory, and",
        "choose t.csv --n 16 --images separate --n-people 10000000000",
    ),
    verb("choose after no file", "z.csv", "choose t.csv --n 16 --shown z.csv"),
    verb(
        "choose after another table",
        "s.csv needs a column item",
        "choose t.csv --n 16 --shown s.csv",
        T | {"s.csv": "a,b\n1,2\n"},
    ),
    verb(
        "choose after an empty file",
        "s.csv",
        "choose t.csv --n 16 --shown s.csv",
        T | {"s.csv": ""},
    ),
    verb(
        "choose after no text",
        "s.csv",
        "choose t.csv --n 16 --shown s.csv",
        T | {"s.csv": b"\xff\x00\xfe"},
    ),
    verb(
        "choose with odd names",
        WORKS,
        "choose t.csv --n 16 --seed 1 --out p.csv",
        {"t.csv": w.text(odd)},
    ),
    verb(
        "choose of right and wrong",
        "no observer is of kind",
        "choose t.csv --n 16",
        {"t.csv": w.ONE},
    ),
    verb("report of an empty file", "t.csv", "report t.csv", {"t.csv": ""}),
    verb("report into a folder", "--out names a file, and '.' is a folder", "report t.csv --out ."),
    verb("report over trials", "--out 't.csv' is one of the", "report t.csv --out t.csv"),
    verb(
        "report over a folder's", "is one of the", "report d --out d/t.csv", {"d/t.csv": w.text()}
    ),
    verb(
        "report over a pattern's",
        "--out 't.csv' is one of the",
        "report '*.csv' --out ./t.csv",
    ),
    verb(
        "report over a result",
        "--out 'a.nc' is one of the",
        "report a.nc --out a.nc",
        {"a.nc": "x"},
    ),
    verb(
        "report of no netCDF in capitals",
        "'A.NC' is not a netCDF file",
        "report A.NC",
        {"A.NC": "x"},
    ),
    verb("report under a file", "--out must be in a folder", "report t.csv --out t.csv/x.html"),
    verb(
        "report under too long a name",
        "--out must name a file that can be written; 'xxx",
        f"report t.csv --out {'x' * 300}.html",
    ),
    verb(
        "report under a name as long as can be",
        lambda _: "<h2>" in Path(f"{'x' * 250}.html").read_text(),
        f"report t.csv {FEW} --out {'x' * 250}.html",
    ),
    verb(
        "report of one machine",
        lambda _: "Ceilings" in (page := Path("o.html").read_text()) and "Ranks" not in page,
        f"report t.csv {FEW} --out o.html",
        {"t.csv": w.text(w.table()[w.table()["observer"] != "net_b"])},
    ),
    verb("report of no netCDF", "'a.nc' is not a netCDF file", "report a.nc", {"a.nc": "x"}),
    verb(
        "report of both",
        "FILE is of trials or of saved results",
        "report t.csv a.nc",
        T | {"a.nc": "x"},
    ),
    verb("report ci NaN", "--ci-prob", "report t.csv --ci-prob nan"),
    verb(
        "report of odd names",
        lambda _: "<b>" not in Path("o.html").read_text(),
        f"report t.csv {FEW} --out o.html --title",
        {"t.csv": w.text(odd)},
        ODD,
    ),
    verb(
        "matrix over what is read",
        "'o/blocks.csv' is one of the files that are read",
        "matrix o/blocks.csv --by-family kind --n-resamples 0 --quiet --out o",
        {"o/blocks.csv": w.text()},
    ),
    verb("matrix onto a file", "--out must be a folder", "matrix t.csv --quiet --out t.csv"),
    verb(
        "matrix with odd names",
        WORKS,
        "matrix t.csv --n-resamples 10 --quiet --out o",
        {"t.csv": w.text(odd)},
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
