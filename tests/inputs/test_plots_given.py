"""Plots of odd names, of what is undefined, and of what they are not of."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import worlds as w
from cases import WORKS, Case, check, marked

import alikely as al

odd, perfect = w.odd, w.all_right
mpl.use("Agg")


def plot(draw: Callable[[], Any]) -> Callable[[], bool]:
    def do() -> bool:
        try:
            draw()
            plt.gcf().savefig(io.BytesIO())
            return True
        finally:
            plt.close("all")

    return do


def in_column(draw: Callable[[], Any]) -> Callable[[], Any]:
    def do() -> Any:
        with al.plots.column():
            return draw()

    return do


def v(name: str, expect: Any, do: Callable[[], Any], kind: str = "unusual") -> Case:
    return Case(name, kind, expect, do)


CASES = [
    # plots
    v("plot intervals", WORKS, plot(lambda: al.plot_intervals(w.result()))),
    v(
        "plot dollars",
        WORKS,
        plot(
            lambda: al.plot_intervals(odd(anna="$a_{1}$", ben="$x", carl="a_b^c", net_a="\\frac$$"))
        ),
    ),
    v(
        "plot dollars in a column",
        WORKS,
        plot(in_column(lambda: al.plot_intervals(odd(anna="$a$$")))),
    ),
    v("plot undefined", WORKS, plot(lambda: al.plot_intervals(perfect()))),
    v(
        "plot kind unknown",
        "kind must be one of 'agreement', 'accuracy', 'bounds', 'null'; got 'nul'; did you mean",
        plot(lambda: al.plot_agreement(w.result(), "nul")),
    ),
    v(
        "plot argument of another kind",
        "kind='ranks' does not use level; it uses population, rng, top, ax",
        plot(lambda: al.plot_benchmark(w.scores(), "ranks", level="all")),
    ),
    v(
        "plot which unknown",
        r"no entry is labelled 'nobody'; labels look like 'anna x net_a \[clean\]'",
        plot(lambda: al.plot_intervals(w.result(), which=["nobody"])),
    ),
    v("plot which empty", WORKS, plot(lambda: al.plot_intervals(w.result(), which=[]))),
    v(
        "plot of trials",
        r"result must be a Result, got Trials; make one with al\.compare or",
        plot(lambda: al.plot_intervals(w.trials())),
    ),
    v(
        "plot of None",
        r"result must be a Result, got NoneType; make one with al\.compare or",
        plot(lambda: al.plot_intervals(None)),
    ),
    v(
        "plot of a frame",
        r"result must be a Result, got DataFrame; make one with al\.compare or",
        plot(lambda: al.plot_intervals(w.table())),
    ),
    v("plot accuracy", WORKS, plot(lambda: al.plot_agreement(w.result(), "accuracy"))),
    v(
        "plot accuracy of trials",
        r"result must be a Result, got Trials; make one with al\.compare or",
        plot(lambda: al.plot_agreement(w.trials(), "accuracy")),
    ),
    v("plot agreement", WORKS, plot(lambda: al.plot_agreement(w.result()))),
    v(
        "plot agreement of a benchmark",
        r"result must be a Result, got Benchmark; make one with al\.compare or",
        plot(lambda: al.plot_agreement(w.scores())),
    ),
    v(
        "plot matrix",
        WORKS,
        plot(lambda: al.plot_matrix(w.result(), "estimate"))
        if 0
        else plot(lambda: al.plot_matrix(w.result())),
    ),
    v(
        "plot matrix of None",
        r"result must be a Result, got NoneType; make one with al\.compare or",
        plot(lambda: al.plot_matrix(None)),
    ),
    v("plot benchmark", WORKS, plot(lambda: al.plot_benchmark(w.scores()))),
    v(
        "plot benchmark of a result",
        "scores must be a Benchmark, got Result; make one with",
        plot(lambda: al.plot_benchmark(w.result())),
    ),
    v(
        "plot benchmark of a level unknown",
        "level must be one of all, overall; got 'nowhere'",
        plot(lambda: al.plot_benchmark(w.scores(), population="crossed", level="nowhere")),
    ),
    v("plot ranks", WORKS, plot(lambda: al.plot_benchmark(w.scores(), "ranks"))),
    v(
        "plot ranks of a result",
        "scores must be a Benchmark, got Result; make one with",
        plot(lambda: al.plot_benchmark(w.result(), "ranks")),
    ),
    v(
        "plot null of a result without",
        r"no entry is labelled 'x'; labels look like 'anna x net_a \[clean\]'",
        plot(lambda: al.plot_agreement(w.result(), "null", pair="x")),
    ),
    v(
        "plot width",
        WORKS,
        plot(lambda: al.plot_plan(al.planning.interval_width(0.8, 0.8, 0.3, [50, 100]), "width")),
    ),
    v(
        "plot width of a result",
        "table must be a DataFrame, got Result; give the table that this plot",
        plot(lambda: al.plot_plan(w.result(), "width")),
    ),
    v(
        "plot power of None",
        "table must be a DataFrame, got NoneType; give the table that this",
        plot(lambda: al.plot_plan(None, "power")),
    ),
    v(
        "plot spectrum",
        WORKS,
        plot(lambda: al.plot_spectrum(al.difficulty_spectrum(w.trials(), "clean"))),
    ),
    v(
        "plot spectrum of trials",
        "spectrum must be a Dataset, got Trials; make one with",
        plot(lambda: al.plot_spectrum(w.trials())),
    ),
    v("plot bounds", WORKS, plot(lambda: al.plot_agreement(kind="bounds"))),
    v(
        "plot correlations of None",
        "table must be a DataFrame, got NoneType; give the table that this",
        plot(lambda: al.plot_robustness(None, "correlations")),
    ),
    v(
        "plot families of a result",
        "tree must be a Families, got Result; make one with",
        plot(lambda: al.plot_families(w.result(), w.result())),
    ),
    v(
        "plot classes of ec",
        "kind='classes' needs pair=...",
        plot(lambda: al.plot_errors(w.result(), "classes")),
    ),
    v(
        "plot consistency of a result",
        "frame must be a DataFrame, got Result; give the table that this plot",
        plot(lambda: al.plot_margins(w.result(), "consistency")),
    ),
    v(
        "plot metrics of one",
        r"plot_metrics\(\) missing 2 required positional arguments: 'x' and 'y'",
        plot(lambda: al.plot_metrics([w.result()])),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
