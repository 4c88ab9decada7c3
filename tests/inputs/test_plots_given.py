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


def v(name: str, expect: Any, do: Callable[[], Any]) -> Case:
    return Case(name, expect, do)


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


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
    v("plot dollars in a", WORKS, plot(in_column(lambda: al.plot_intervals(odd(anna="$a$$"))))),
    v("plot undefined", WORKS, plot(lambda: al.plot_intervals(perfect()))),
    no("kind must be one of 'agreement'", plot(lambda: al.plot_agreement(w.result(), "nul"))),
    no("kind='ranks' does not", plot(lambda: al.plot_benchmark(w.scores(), "ranks", level="all"))),
    no("no entry is labelled", plot(lambda: al.plot_intervals(w.result(), which=["nobody"]))),
    v("plot which empty", WORKS, plot(lambda: al.plot_intervals(w.result(), which=[]))),
    no("result must be a Result", plot(lambda: al.plot_intervals(w.trials()))),
    no("result must be a Result, got", plot(lambda: al.plot_intervals(None))),
    no("result must be a Result", plot(lambda: al.plot_intervals(w.table()))),
    v("plot accuracy", WORKS, plot(lambda: al.plot_agreement(w.result(), "accuracy"))),
    no("result must be a Result, got", plot(lambda: al.plot_agreement(w.trials(), "accuracy"))),
    v("plot agreement", WORKS, plot(lambda: al.plot_agreement(w.result()))),
    no("result must be a Result, got Benchmark; make", plot(lambda: al.plot_agreement(w.scores()))),
    v(
        "plot matrix",
        WORKS,
        plot(lambda: al.plot_matrix(w.result(), "estimate"))
        if 0
        else plot(lambda: al.plot_matrix(w.result())),
    ),
    no("result must be a Result, got", plot(lambda: al.plot_matrix(None))),
    v("plot benchmark", WORKS, plot(lambda: al.plot_benchmark(w.scores()))),
    no("scores must be a Benchmark, got Result; make", plot(lambda: al.plot_benchmark(w.result()))),
    no(
        "level must be one of all, overall; got 'nowhere'",
        plot(lambda: al.plot_benchmark(w.scores(), population="crossed", level="nowhere")),
    ),
    v("plot ranks", WORKS, plot(lambda: al.plot_benchmark(w.scores(), "ranks"))),
    no("scores must be a Benchmark, got", plot(lambda: al.plot_benchmark(w.result(), "ranks"))),
    no("no entry is labelled 'x'", plot(lambda: al.plot_agreement(w.result(), "null", pair="x"))),
    v(
        "plot width",
        WORKS,
        plot(lambda: al.plot_plan(al.planning.interval_width(0.8, 0.8, 0.3, [50, 100]), "width")),
    ),
    no("table must be a DataFrame, got Result", plot(lambda: al.plot_plan(w.result(), "width"))),
    no("table must be a DataFrame", plot(lambda: al.plot_plan(None, "power"))),
    v("plot", WORKS, plot(lambda: al.plot_spectrum(al.difficulty_spectrum(w.trials(), "clean")))),
    no("spectrum must be a", plot(lambda: al.plot_spectrum(w.trials()))),
    v("plot bounds", WORKS, plot(lambda: al.plot_agreement(kind="bounds"))),
    no("table must be a DataFrame, got", plot(lambda: al.plot_robustness(None, "correlations"))),
    no("tree must be a Families, got", plot(lambda: al.plot_families(w.result(), w.result()))),
    no("kind='classes' needs pair=...", plot(lambda: al.plot_errors(w.result(), "classes"))),
    no("frame must be a DataFrame, got", plot(lambda: al.plot_margins(w.result(), "consistency"))),
    no(r"plot_metrics\(\) missing 2 required", plot(lambda: al.plot_metrics([w.result()]))),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
