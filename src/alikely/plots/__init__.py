"""Functions that plot a result or a table and return Matplotlib axes."""

from __future__ import annotations

from alikely.plots._style import column
from alikely.plots.agreement import plot_agreement
from alikely.plots.benchmark import plot_benchmark, plot_robustness
from alikely.plots.calibration import plot_calibration
from alikely.plots.cohort import plot_cohort
from alikely.plots.errors import plot_errors
from alikely.plots.families import plot_families
from alikely.plots.intervals import plot_intervals
from alikely.plots.margins import plot_margins
from alikely.plots.pairs import plot_matrix, plot_metrics
from alikely.plots.planning import plot_plan
from alikely.plots.spectrum import plot_alignment, plot_regimes, plot_spectrum

__all__ = [
    "column",
    "plot_agreement",
    "plot_alignment",
    "plot_benchmark",
    "plot_calibration",
    "plot_cohort",
    "plot_errors",
    "plot_families",
    "plot_intervals",
    "plot_margins",
    "plot_matrix",
    "plot_metrics",
    "plot_plan",
    "plot_regimes",
    "plot_robustness",
    "plot_spectrum",
]
