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
    return Case(name, expect, do)


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


def verb(name: str, expect: Any, words: str, files: dict[str, Any] = T, *more: str) -> Case:
    return Case(name, expect, cli(words, files, *more))


def no_verb(expect: str, *given: Any) -> Case:
    return verb(expect, expect, *given)


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
    no("value must be one number or several, got", lambda: items("x", 0.2)),
    no("cohen_kappa must be at least 0, .*; got nan", lambda: items(nan, 0.2)),
    no("value must be one number or", lambda: items(0.6 + 1j, 0.2)),
    no("value must be one number or several", lambda: items(t(), 0.2)),
    no(r"width must lie in \(0, 2\], as agreement", lambda: items(0.6, nan)),
    no("inputs must broadcast, got shapes", lambda: items([0.6, 0.7], [0.1, 0.2, 0.3])),
    v("items twice", lambda f: f["n_items"].nunique() == 1, lambda: items([0.6, 0.6], 0.2)),
    no("n_items must be whole numbers of at least", lambda: items(0.6, n_items=1.5)),
    no("shares must be two or more", lambda: items(0.6, 0.2, shares="ab")),
    no("shares must be two or more", lambda: items(0.6, 0.2, shares=[nan, 0.5])),
    no("missing must be a share", lambda: items(0.6, 0.2, missing="x")),
    no("against must lie in", lambda: items(0.6, 0.2, against="x")),
    no("metric must be one of", lambda: items(0.6, 0.2, coefficient=ODD)),
    no("and plans go through at", lambda: items(0.6, 0.2, n_readers=10**9)),
    # choices of images
    no("expected Trials, got DataFrame", lambda: images(P, 16)),
    no("n must be a whole number of at least 2", lambda: images(t(), [16, 16])),
    no("n must be a whole number of at least 2, got nan", lambda: images(t(), nan)),
    no("n has no number for condition 'clean'; it has", lambda: images(t(), {})),
    no("n has a number for 'zzz', and", lambda: images(t(), {"clean": 16, "noisy": 16, "zzz": 16})),
    no("target must name a pair .*; got", lambda: images(t(), 16, None)),
    no("target must name a pair .*; got int", lambda: images(t(), 16, 3)),
    no("a contrast is of two machines", lambda: images(t(), 16, [1, 2])),
    no("machines must be a list", lambda: images(t(), 16, machines=None)),
    no("machines has 'net_a' twice; name", lambda: images(t(), 16, machines=["net_a", "net_a"])),
    no(r"even must be a share in \[0, 1\]", lambda: images(t(), 16, even="x")),
    no("shown must be a list, .*", lambda: images(t(), 16, shown="img01")),
    no("shown must be a list, .* got", lambda: images(t(), 16, shown=None)),
    v(
        "images shown unknown",
        lambda p: "1 items of shown are none of these trials: zzz" in p.notes,
        lambda: images(t(), 16, shown=["zzz", "img01"], rng=1),
    ),
    no("n_people must be whole numbers", lambda: images(t(), 16, n_people=1.5)),
    v(
        "images of odd names",
        lambda p: ODD in p.sentence(),
        lambda: images(al.Trials.from_table(odd), 16, (ODD, "net_b"), rng=1),
    ),
    no("No such file or directory", lambda: images(t(), 16, rng=1).to_csv("a/b.csv")),
    no("plan must be a StimulusPlan, got", lambda: al.plot_plan(None, "images")),
    # reports
    no("expected results .* got NoneType", lambda: report(None)),
    no("a report needs at least one result", lambda: report()),
    no("trials must be alikely.Trials", lambda: report(w.result(), trials=P)),
    no("trials are not those of the results: they", lambda: report(w.result(), trials=w.correct())),
    no("title must be a text, got", lambda: report(w.result(), title=3)),
    no("remarks must be a list", lambda: report(w.result(), remarks="abc")),
    no("remarks must be a list", lambda: report(w.result(), remarks=None)),
    v(
        "report odd names",
        once_and_safe,
        lambda: report(
            w.odd(net_a=ODD), title=ODD, remarks=[ODD], trials=al.Trials.from_table(odd)
        ),
    ),
    v("load report of nothing", "no file 'zz.nc'", lambda: al.report.load_saved("zz.nc")),
    # matrices
    v("matrix of odd", lambda m: ODD in m.observers, lambda: al.matrix(al.Trials.from_table(odd))),
    no("metric must be the name of a metric", lambda: al.matrix(t(), None)),
    no("scores must map judges to", lambda: al.benchmark.judge_agreement(al.matrix(t()), "x")),
    no("scores must map judges", lambda: al.benchmark.judge_agreement(al.matrix(t()), {"anna": 3})),
    no("expected Mapping, got NoneType", lambda: al.benchmark.block_means(al.matrix(t()), None)),
    no("labels must be a", lambda: al.benchmark.agreement_regression(al.matrix(t()), labels=[])),
    # distortions
    no("table must be a DataFrame, got NoneType", lambda: al.plot_alignment(None, "distortions")),
    no("ax must be matplotlib axes", lambda: al.plot_alignment(alike(), "distortions", ax="x")),
    no("column 'estimate' must", drawn(lambda f: f.assign(estimate="x"))),
    no("is undefined in all 2", drawn(lambda f: f.assign(estimate=nan))),
    no("frame has column 'estimate'", drawn(lambda f: pd.concat([f, f[["estimate"]]], axis=1))),
    no("column 'dataset' has no value", drawn(lambda f: f.assign(dataset=nan))),
    v("distortions without regimes", WORKS, drawn(lambda f: f.assign(regime=nan))),
    v("distortions of odd names", WORKS, drawn(lambda f: f.assign(dataset=ODD))),
    no("counts must be a DataArray, got NoneType", lambda: al.plot_errors(None, "confusions")),
    # measures beside agreement
    no("'a' must hold real", lambda: inputs_of({"a": x + 1j, "b": x})),
    no("'a' must hold real numbers", lambda: inputs_of({"a": [[1, 2], [1]], "b": x})),
    no("'a' of item 0 is not", lambda: inputs_of({"a": x * nan, "b": x})),
    no("must have different", lambda: inputs_of({1: x, "1": x})),
    no("n_resamples must be a whole number", lambda: inputs_of({"a": x, "b": x}, n_resamples=2.5)),
    v(
        "representations without spread",
        lambda f: f["note"].all(),
        lambda: inputs_of({"a": x * 0, "b": x}, n_resamples=10, rng=1),
    ),
    no("scores must be a Series by", lambda: al.papers.outside_correlations(w.scores(), sizes)),
    no("results must be a list", lambda: al.papers.family_scores(None, {})),
    no("between must be a label of", lambda: al.benchmark.group_scores(t(), None)),
    no("expected Result, got", lambda: al.planning.plan_from(None, width=0.1)),
    no("table has no rows", board(lambda f: f[:0])),
    v("board of one", lambda f: len(f) == 3, board(lambda f: f[:1], n_samples=100)),
    no(r"machine 'a' has no score in all \|", board(lambda f: f.assign(score=nan))),
    no("column 'score' of table must hold", board(lambda f: f.assign(score="x"))),
    no("n_samples must be at most", board(lambda f: f, n_samples=10**12)),
    no("attribute must be", lambda: al.papers.response_bias(t(), pd.Series({"img01": "bear"}))),
    # verbs
    no_verb("parameter --n requires an argument", "choose t.csv"),
    no_verb("n must be a whole number of at least 2, got -4|--n", "choose t.csv --n -4"),
    no_verb("must be at most 24", "choose t.csv --n 999999"),
    no_verb("a contrast is of two", "choose t.csv --n 16 --target net_a net_a"),
    no_verb("no machine 'net_z'", "choose t.csv --n 16 --target net_z"),
    no_verb(r"even must be a share in \[0, 1\]", "choose t.csv --n 16 --even nan"),
    no_verb("'\\.'|--out", "choose t.csv --n 16 --out ."),
    no_verb("--out must be in a", "choose t.csv --n 16 --out t.csv/p.csv"),
    no_verb("--out 't.csv' is one of", "choose t.csv --n 16 --out t.csv"),
    no_verb(
        "--out 's.csv' is one of the files that are read",
        "choose t.csv --n 16 --shown s.csv --out s.csv",
        T | {"s.csv": "item,a\nimg01,1\n"},
    ),
    no_verb("'p.png'; the plot goes", "choose t.csv --n 16 --out p.png"),
    no_verb("--out names a file", "choose t.csv --n 16 --out /dev/null"),
    no_verb("--n-people must be .* got -1", "choose t.csv --n 16 --n-people -1"),
    no_verb("10,000,000,000 lists", "choose t.csv --n 16 --n-people 10000000000"),
    no_verb("z.csv", "choose t.csv --n 16 --shown z.csv"),
    no_verb(
        "s.csv needs a column item",
        "choose t.csv --n 16 --shown s.csv",
        T | {"s.csv": "a,b\n1,2\n"},
    ),
    no_verb("s.csv", "choose t.csv --n 16 --shown s.csv", T | {"s.csv": ""}),
    no_verb("s.csv", "choose t.csv --n 16 --shown s.csv", T | {"s.csv": b"\xff\x00\xfe"}),
    verb("choose with", WORKS, "choose t.csv --n 16 --seed 1 --out p.csv", {"t.csv": w.text(odd)}),
    no_verb("no observer is of kind", "choose t.csv --n 16", {"t.csv": w.ONE}),
    no_verb("t.csv", "report t.csv", {"t.csv": ""}),
    no_verb("--out names a file, and '.' is a folder", "report t.csv --out ."),
    no_verb("--out 't.csv' is one of the", "report t.csv --out t.csv"),
    no_verb("is one of the", "report d --out d/t.csv", {"d/t.csv": w.text()}),
    no_verb("--out 't.csv' is one of the", "report '*.csv' --out ./t.csv"),
    no_verb("--out 'a.nc' is one of", "report a.nc --out a.nc", {"a.nc": "x"}),
    no_verb("'A.NC' is not a netCDF", "report A.NC", {"A.NC": "x"}),
    no_verb("--out must be in a folder", "report t.csv --out t.csv/x.html"),
    no_verb("--out must name a file that can be written", f"report t.csv --out {'x' * 300}.html"),
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
    no_verb("'a.nc' is not a netCDF file", "report a.nc", {"a.nc": "x"}),
    no_verb("FILE is of trials or of saved", "report t.csv a.nc", T | {"a.nc": "x"}),
    no_verb("--ci-prob", "report t.csv --ci-prob nan"),
    verb(
        "report of odd names",
        lambda _: "<b>" not in Path("o.html").read_text(),
        f"report t.csv {FEW} --out o.html --title",
        {"t.csv": w.text(odd)},
        ODD,
    ),
    no_verb(
        "'o/blocks.csv' is one of the files that are read",
        "matrix o/blocks.csv --by-family kind --n-resamples 0 --quiet --out o",
        {"o/blocks.csv": w.text()},
    ),
    no_verb("--out must be a folder", "matrix t.csv --quiet --out t.csv"),
    verb("matrix", WORKS, "matrix t.csv --n-resamples 10 --quiet --out o", {"t.csv": w.text(odd)}),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
