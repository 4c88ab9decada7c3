"""Methods and columns that tables of benchmarks show: recommended, valid, or requested by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alikely._base.frames import Columns, with_columns
from alikely._base.intervals import Intervals, chosen_methods
from alikely.benchmark.nesting import POPULATIONS
from alikely.benchmark.tables import Population, one_of, schools_of
from alikely.metrics import Metric

if TYPE_CHECKING:
    from alikely.benchmark.benchmark import Benchmark

__all__ = [
    "METHODS",
    "NO_METHOD",
    "SCORE_COLUMNS",
    "SOURCES",
    "absent_posterior",
    "differences_shown",
    "is_plug_in",
    "methods_shown",
    "not_valid",
]

METHODS = ("analytic", "bootstrap", "posterior", "cohort")
# What tables show in addition to bounds; other columns on request.
SCORE_COLUMNS = ("level", "system", "estimate", "se", "bootstrap_se", "ceiled", "accuracy", "note")
DIFFERENCE_COLUMNS = ("system", "other", "difference", "se", "p_positive", "note")
# Intervals of differences, one by one and for all at once, and their tests.
TESTS = {"pointwise": "p_value", "simultaneous": "p_value_simultaneous"}
NO_METHOD = "no valid interval: few errors of a class bias the estimate, report it without one"
# Where the draws of a method come from, and what they generalize to.
SOURCES = {
    "bootstrap": "pass n_resamples=10_000 to benchmark_scores",
    "posterior": "pass n_draws=4_000 to benchmark_scores",
    "cohort": "pass cohort=True to benchmark_scores",
}
ONLY = {"posterior": "images", "cohort": "crossed"}


def is_plug_in(metric: Metric) -> bool:
    """Whether analytic and bootstrap intervals of its mean scores never reach their coverage."""
    return bool(np.isinf(metric.trust.pooled[0]))


def not_valid(metric: Metric) -> str:
    """Why intervals, tests and ranks of its mean scores are not valid; empty if they are."""
    return NO_METHOD if is_plug_in(metric) else ""


def methods_shown(
    scores: Benchmark, population: Population, intervals: Intervals
) -> tuple[str, ...]:
    """Choose the methods whose intervals a table shows."""
    one_of("population", population, POPULATIONS)
    there = schools_of(scores, population)
    valid = [] if is_plug_in(scores.metric) else ["analytic"]
    valid += [name for name in there if name != "bootstrap"]
    chosen = chosen_methods(intervals, METHODS, valid, valid[0] if valid else "")
    for name in chosen:
        if name != "analytic" and name not in there:
            why = _why_absent(scores, name, population)
            raise ValueError(f"no {name} interval for population {population!r}: {why}")
    return chosen


def differences_shown(
    table: pd.DataFrame, intervals: Intervals, columns: Columns, *, valid: bool = True
) -> pd.DataFrame:
    """Choose the intervals, tests and further columns of a table of differences."""
    every = tuple(TESTS)
    chosen = chosen_methods(
        intervals, every, every if valid else (), "simultaneous" if valid else ""
    )
    tested = [TESTS[name] for name in chosen if TESTS[name] in table]
    hidden = {TESTS[name] for name in TESTS if name not in chosen}
    hidden |= {c for c in table if c.partition("_")[0] in {*TESTS} - {*chosen}}
    if not valid:
        # The same variance is behind all of these.
        hidden |= set() if chosen else {"p_value_bh", "p_positive"}
        table = table.assign(note=NO_METHOD)
    table = table[[name for name in table if name not in hidden]]
    plain = (*DIFFERENCE_COLUMNS, *tested)
    return with_columns(table, plain, "all" if intervals == "all" else columns)


def absent_posterior(scores: Benchmark, population: Population) -> str:
    """Explain why a table has no posterior; empty if it has one or its rows explain it already."""
    there = schools_of(scores, population)
    if {"posterior", "cohort"} & {*there} or scores.data.attrs.get("posterior_withheld"):
        return ""
    return f"no posterior: {_why_absent(scores, 'posterior', population)}"


def _why_absent(scores: Benchmark, method: str, population: Population) -> str:
    only = ONLY.get(method, population)
    if population != only:
        what = {"images": "new images with these humans", "crossed": "new images and new humans"}
        return f"it generalizes to {what[only]}, pass population={only!r}"
    if method == "posterior" and not scores.metric.draws:
        return f"none is known for {scores.metric.label}"
    if method == "posterior" and (why := scores.data.attrs.get("posterior_withheld")):
        return str(why)
    return SOURCES[method]
