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
        plot(lambda: al.plot_intervals(odd(anna="$a$$"), style="column")),
    ),
    v("plot undefined", WORKS, plot(lambda: al.plot_intervals(perfect()))),
    v(
        "plot style unknown",
        "style must be 'screen' or 'column', got 'poster'",
        plot(lambda: al.plot_intervals(w.result(), style="poster")),
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
    v("plot accuracy", WORKS, plot(lambda: al.plot_accuracy(w.result()))),
    v(
        "plot accuracy of trials",
        r"result must be a Result, got Trials; make one with al\.compare or",
        plot(lambda: al.plot_accuracy(w.trials())),
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
        plot(lambda: al.plot_benchmark(w.scores(), "crossed", "nowhere")),
    ),
    v("plot ranks", WORKS, plot(lambda: al.plot_ranks(w.scores()))),
    v(
        "plot ranks of a result",
        "scores must be a Benchmark, got Result; make one with",
        plot(lambda: al.plot_ranks(w.result())),
    ),
    v(
        "plot null of a result without",
        r"no entry is labelled None; labels look like 'anna x net_a \[clean\]'",
        plot(lambda: al.plot_null(w.result(), None)),
    ),
    v(
        "plot width",
        WORKS,
        plot(lambda: al.plot_width(al.planning.interval_width(0.8, 0.8, 0.3, [50, 100]))),
    ),
    v(
        "plot width of a result",
        "table must be a DataFrame, got Result; give the table that this plot",
        plot(lambda: al.plot_width(w.result())),
    ),
    v(
        "plot power of None",
        "table must be a DataFrame, got NoneType; give the table that this",
        plot(lambda: al.plot_power(None)),
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
    v("plot bounds", WORKS, plot(lambda: al.plot_bounds())),
    v(
        "plot correlations of None",
        "table must be a DataFrame, got NoneType; give the table that this",
        plot(lambda: al.plot_correlations(None)),
    ),
    v(
        "plot families of a result",
        "tree must be a Families, got Result; make one with",
        plot(lambda: al.plot_families(w.result(), w.result())),
    ),
    v(
        "plot classes of ec",
        r"plot_classes\(\) missing 1 required positional argument: 'pair'",
        plot(lambda: al.plot_classes(w.result())),
    ),
    v(
        "plot consistency of a result",
        "frame must be a DataFrame, got Result; give the table that this plot",
        plot(lambda: al.plot_consistency(w.result())),
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
