from . import bands as bands
from . import comparison as comparison
from . import conjugate as conjugate
from . import coverage as coverage
from . import datasets as datasets
from . import error_draws as error_draws
from . import error_posteriors as error_posteriors
from . import error_tables as error_tables
from . import evaluation as evaluation
from . import groupings as groupings
from . import influence as influence
from . import metrics as metrics
from . import models as models
from . import null as null
from . import operating as operating
from . import plots as plots
from . import ranking as ranking
from . import reliability as reliability
from . import resampling as resampling
from . import sampling as sampling
from . import simulate as simulate
from . import tables as tables
from .beliefs import assurance as assurance
from .beliefs import plan_from as plan_from
from .benchmark import benchmark_scores as benchmark_scores
from .calibration import sbc as sbc
from .calibration import sbc_summary as sbc_summary
from .cohorts import cohort_check as cohort_check
from .cohorts import cohort_scores as cohort_scores
from .cohorts import compare_cohorts as compare_cohorts
from .cohorts import exchangeability as exchangeability
from .cohorts import fit_cohort as fit_cohort
from .comparison import compare_models as compare_models
from .comparison import contrast as contrast
from .comparison import difference as difference
from .comparison import mean as mean
from .condition_errors import condition_divergences as condition_divergences
from .condition_errors import condition_map as condition_map
from .condition_scores import condition_alignment as condition_alignment
from .condition_tables import alignment_profiles as alignment_profiles
from .condition_tables import alignment_table as alignment_table
from .correlations import metric_correlations as metric_correlations
from .counting import joint_counts as joint_counts
from .coverage import coverage_study as coverage_study
from .coverage import coverage_summary as coverage_summary
from .coverage import default_grid as default_grid
from .coverage_estimates import estimate_coverage as estimate_coverage
from .crossed_designs import best_design as best_design
from .crossed_designs import expected_errors as expected_errors
from .crossed_designs import variance_components as variance_components
from .datasets import load_example as load_example
from .design import interval_width as interval_width
from .design import trials_for_width as trials_for_width
from .estimates import error_consistency as error_consistency
from .estimates import error_similarity as error_similarity
from .estimates import misclassification_agreement as misclassification_agreement
from .exclusions import exclude_conditions as exclude_conditions
from .families import family_ranks as family_ranks
from .families import family_tests as family_tests
from .margin_comparison import consistency_table as consistency_table
from .margin_designs import answers_for_precision as answers_for_precision
from .margin_designs import item_precision as item_precision
from .margin_designs import item_reliability as item_reliability
from .margin_designs import items_for_margins as items_for_margins
from .margin_designs import participants_for_reliability as participants_for_reliability
from .margin_designs import power_of_margin_difference as power_of_margin_difference
from .margin_designs import power_of_margins as power_of_margins
from .margin_designs import repeats_for_self_consistency as repeats_for_self_consistency
from .margin_estimates import decision_margin_consistency as decision_margin_consistency
from .observer_noise import explained_consistency as explained_consistency
from .observer_noise import fit_observers as fit_observers
from .observer_noise import individual_ceilings as individual_ceilings
from .observer_noise import variance_shares as variance_shares
from .plots import plot_benchmark as plot_benchmark
from .plots import plot_bounds as plot_bounds
from .plots import plot_classes as plot_classes
from .plots import plot_cohort as plot_cohort
from .plots import plot_condition_map as plot_condition_map
from .plots import plot_consistency as plot_consistency
from .plots import plot_correlations as plot_correlations
from .plots import plot_coverage as plot_coverage
from .plots import plot_data_averaged as plot_data_averaged
from .plots import plot_design_map as plot_design_map
from .plots import plot_error_row as plot_error_row
from .plots import plot_explained as plot_explained
from .plots import plot_intervals as plot_intervals
from .plots import plot_item_precision as plot_item_precision
from .plots import plot_levels as plot_levels
from .plots import plot_matrix as plot_matrix
from .plots import plot_metrics as plot_metrics
from .plots import plot_noise_free as plot_noise_free
from .plots import plot_null as plot_null
from .plots import plot_power as plot_power
from .plots import plot_probability_greater as plot_probability_greater
from .plots import plot_radar as plot_radar
from .plots import plot_rank_ecdf as plot_rank_ecdf
from .plots import plot_ranks as plot_ranks
from .plots import plot_recovery as plot_recovery
from .plots import plot_regime_numbers as plot_regime_numbers
from .plots import plot_regime_ranks as plot_regime_ranks
from .plots import plot_sensitivity as plot_sensitivity
from .plots import plot_spectrum as plot_spectrum
from .plots import plot_stability as plot_stability
from .plots import plot_strengths as plot_strengths
from .plots import plot_variance_shares as plot_variance_shares
from .plots import plot_width as plot_width
from .power import trials_for_difference as trials_for_difference
from .power import trials_for_power as trials_for_power
from .reconstruction import reconstruct_score as reconstruct_score
from .regime_mixtures import regimes as regimes
from .regime_parts import representative_conditions as representative_conditions
from .regime_scores import regime_alignment as regime_alignment
from .regime_scores import regime_family_contrasts as regime_family_contrasts
from .results import Result as Result
from .scoreboard import Benchmark as Benchmark
from .scores import decision_margins as decision_margins
from .sensitivity import sensitivity as sensitivity
from .sensitivity import sensitivity_band as sensitivity_band
from .sequential import posterior_by_batch as posterior_by_batch
from .sequential import sequential_design as sequential_design
from .spectrum import difficulty_spectrum as difficulty_spectrum
from .spectrum import normality_checks as normality_checks
from .spectrum_posterior import compare_regimes as compare_regimes
from .spectrum_posterior import fit_spectrum as fit_spectrum
from .spectrum_posterior import regime_probabilities as regime_probabilities
from .studies import run_study as run_study
from .trials import Trials as Trials

__version__: str
__all__ = [
    "Benchmark",
    "Result",
    "Trials",
    "alignment_profiles",
    "alignment_table",
    "answers_for_precision",
    "assurance",
    "benchmark_scores",
    "best_design",
    "cohort_check",
    "cohort_scores",
    "compare_cohorts",
    "compare_models",
    "compare_regimes",
    "comparison",
    "condition_alignment",
    "condition_divergences",
    "condition_map",
    "conjugate",
    "consistency_table",
    "contrast",
    "coverage_study",
    "coverage_summary",
    "datasets",
    "decision_margin_consistency",
    "decision_margins",
    "default_grid",
    "difference",
    "difficulty_spectrum",
    "error_consistency",
    "error_draws",
    "error_posteriors",
    "error_similarity",
    "error_tables",
    "evaluation",
    "exchangeability",
    "exclude_conditions",
    "expected_errors",
    "explained_consistency",
    "family_ranks",
    "family_tests",
    "fit_cohort",
    "fit_observers",
    "fit_spectrum",
    "groupings",
    "individual_ceilings",
    "influence",
    "interval_width",
    "item_precision",
    "item_reliability",
    "items_for_margins",
    "joint_counts",
    "load_example",
    "mean",
    "metric_correlations",
    "metrics",
    "misclassification_agreement",
    "models",
    "normality_checks",
    "null",
    "operating",
    "participants_for_reliability",
    "plan_from",
    "plot_benchmark",
    "plot_bounds",
    "plot_classes",
    "plot_cohort",
    "plot_condition_map",
    "plot_consistency",
    "plot_correlations",
    "plot_design_map",
    "plot_error_row",
    "plot_explained",
    "plot_intervals",
    "plot_item_precision",
    "plot_levels",
    "plot_matrix",
    "plot_metrics",
    "plot_noise_free",
    "plot_null",
    "plot_power",
    "plot_probability_greater",
    "plot_radar",
    "plot_ranks",
    "plot_regime_numbers",
    "plot_regime_ranks",
    "plot_sensitivity",
    "plot_spectrum",
    "plot_stability",
    "plot_strengths",
    "plot_variance_shares",
    "plot_width",
    "plots",
    "posterior_by_batch",
    "power_of_margin_difference",
    "power_of_margins",
    "ranking",
    "reconstruct_score",
    "regime_alignment",
    "regime_family_contrasts",
    "regime_probabilities",
    "regimes",
    "reliability",
    "repeats_for_self_consistency",
    "representative_conditions",
    "resampling",
    "run_study",
    "sampling",
    "sensitivity",
    "sensitivity_band",
    "sequential_design",
    "simulate",
    "tables",
    "trials_for_difference",
    "trials_for_power",
    "trials_for_width",
    "variance_components",
    "variance_shares",
]
