"""Plots: each takes a `Result` (or plain numbers) and returns the axes it drew on."""

from __future__ import annotations

from alikely.plots.benchmark import plot_benchmark, plot_probability_greater, plot_ranks
from alikely.plots.bounds import plot_bounds
from alikely.plots.intervals import plot_intervals
from alikely.plots.null import plot_null

__all__ = [
    "plot_benchmark",
    "plot_bounds",
    "plot_intervals",
    "plot_null",
    "plot_probability_greater",
    "plot_ranks",
]
