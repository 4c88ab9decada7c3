"""Plots: each takes a `Result` (or plain numbers) and returns the axes it drew on."""

from __future__ import annotations

from alikely.plots.agreement import plot_accuracy, plot_agreement
from alikely.plots.benchmark import plot_benchmark, plot_probability_greater, plot_ranks
from alikely.plots.bounds import plot_bounds
from alikely.plots.calibration import (
    plot_coverage,
    plot_data_averaged,
    plot_rank_ecdf,
    plot_recovery,
)
from alikely.plots.choosing import plot_image_choice
from alikely.plots.cohort import plot_cohort, plot_cohort_groups
from alikely.plots.confusions import plot_confusions
from alikely.plots.consistency import plot_consistency
from alikely.plots.distortions import plot_distortions
from alikely.plots.errors import plot_classes, plot_error_row
from alikely.plots.families import plot_families
from alikely.plots.intervals import plot_intervals
from alikely.plots.margin_checks import plot_margin_checks
from alikely.plots.margins import plot_noise_free, plot_strengths
from alikely.plots.noise import plot_explained, plot_variance_shares
from alikely.plots.null import plot_null
from alikely.plots.pairs import plot_matrix, plot_metrics
from alikely.plots.planning import plot_design_map, plot_item_precision, plot_power, plot_width
from alikely.plots.regimes import plot_levels
from alikely.plots.spectrum import plot_spectrum
from alikely.plots.stability import (
    plot_correlations,
    plot_rank_by_metric,
    plot_sensitivity,
    plot_stability,
)

__all__ = [
    "plot_accuracy",
    "plot_agreement",
    "plot_benchmark",
    "plot_bounds",
    "plot_classes",
    "plot_cohort",
    "plot_cohort_groups",
    "plot_confusions",
    "plot_consistency",
    "plot_correlations",
    "plot_coverage",
    "plot_data_averaged",
    "plot_design_map",
    "plot_distortions",
    "plot_error_row",
    "plot_explained",
    "plot_families",
    "plot_image_choice",
    "plot_intervals",
    "plot_item_precision",
    "plot_levels",
    "plot_margin_checks",
    "plot_matrix",
    "plot_metrics",
    "plot_noise_free",
    "plot_null",
    "plot_power",
    "plot_probability_greater",
    "plot_rank_by_metric",
    "plot_rank_ecdf",
    "plot_ranks",
    "plot_recovery",
    "plot_sensitivity",
    "plot_spectrum",
    "plot_stability",
    "plot_strengths",
    "plot_variance_shares",
    "plot_width",
]
