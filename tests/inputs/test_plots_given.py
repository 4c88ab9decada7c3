"""Plots of odd names, of what is undefined, and of what they are not of."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import worlds as w
from cases import check_each, table

import alikely as al

odd, perfect = w.odd, w.all_right
mpl.use("Agg")


def plot(draw: Callable[..., Any], *given: Any, **how: Any) -> None:
    try:
        draw(*given, **how)
        plt.gcf().savefig(io.BytesIO())
    finally:
        plt.close("all")


def in_column(result: al.Result) -> None:
    with al.plots.column():
        plot(al.plot_intervals, result)


CASES = table(
    r"""
WORKS => plot(al.plot_intervals, w.result())
WORKS => plot(al.plot_intervals, odd(anna='$a_{1}$', ben='$x', carl='a_b^c', net_a='\\frac$$'))
WORKS => in_column(odd(anna='$a$$'))
WORKS => plot(al.plot_intervals, perfect())
kind must be one of 'agreement' => plot(al.plot_agreement, w.result(), 'nul')
kind='ranks' does not => plot(al.plot_benchmark, w.scores(), 'ranks', level='all')
no comparison is labeled => plot(al.plot_intervals, w.result(), which=['nobody'])
WORKS => plot(al.plot_intervals, w.result(), which=[])
result must be a Result => plot(al.plot_intervals, w.trials())
result must be a Result, got => plot(al.plot_intervals, None)
WORKS => plot(al.plot_agreement, w.result(), 'accuracy')
WORKS => plot(al.plot_agreement, w.result())
WORKS => plot(al.plot_matrix, w.result())
WORKS => plot(al.plot_benchmark, w.scores())
expected a Result of scores .* got one of pairs => plot(al.plot_benchmark, w.result())
level must be one of 'all', 'overall'; got 'nowhere' => plot(al.plot_benchmark, w.scores(),
    generalize_to='both', level='nowhere')
WORKS => plot(al.plot_benchmark, w.scores(), 'ranks')
WORKS => plot(al.plot_plan, al.planning.interval_width(0.8, 0.8, 0.3, [50, 100]), 'width')
table must be a DataFrame, got Result => plot(al.plot_plan, w.result(), 'width')
table must be a DataFrame => plot(al.plot_plan, None, 'power')
WORKS => plot(al.plot_spectrum, al.difficulty_spectrum(w.trials(), 'clean'))
spectrum must be a => plot(al.plot_spectrum, w.trials())
WORKS => plot(al.plot_agreement, kind='bounds')
tree must be a Families, got => plot(al.plot_families, w.result(), w.result())
kind='classes' needs pair=... => plot(al.plot_errors, w.result(), 'classes')
frame must be a DataFrame, got => plot(al.plot_margins, w.result(), 'consistency')
plot_metrics\(\) missing 2 required => plot(al.plot_metrics, [w.result()])
""",
    globals(),
)


test_inputs = check_each(CASES)
