from . import benchmark as benchmark
from . import calibration as calibration
from . import data as data
from . import datasets as datasets
from . import errors as errors
from . import estimates as estimates
from . import inference as inference
from . import margins as margins
from . import metrics as metrics
from . import models as models
from . import papers as papers
from . import planning as planning
from . import plots as plots
from . import report as report
from . import simulate as simulate
from . import spectrum as spectrum
from . import stats as stats
from .benchmark import Benchmark as Benchmark
from .benchmark import benchmark_scores as benchmark_scores
from .benchmark import exclude_conditions as exclude_conditions
from .benchmark import fit_cohort as fit_cohort
from .data import Trials as Trials
from .datasets import load_example as load_example
from .estimates import Result as Result
from .estimates import agreement as agreement
from .estimates import compare as compare
from .estimates import compare_models as compare_models
from .estimates import contrast as contrast
from .estimates import decision_margin_consistency as decision_margin_consistency
from .estimates import difference as difference
from .estimates import error_consistency as error_consistency
from .estimates import error_similarity as error_similarity
from .estimates import matrix as matrix
from .estimates import mean as mean
from .estimates import metric_correlations as metric_correlations
from .estimates import misclassification_agreement as misclassification_agreement
from .margins import fit_observers as fit_observers
from .metrics import Metric as Metric
from .planning import trials_for_power as trials_for_power
from .planning import trials_for_width as trials_for_width
from .plots import plot_accuracy as plot_accuracy
from .plots import plot_agreement as plot_agreement
from .plots import plot_benchmark as plot_benchmark
from .plots import plot_bounds as plot_bounds
from .plots import plot_classes as plot_classes
from .plots import plot_cohort as plot_cohort
from .plots import plot_cohort_groups as plot_cohort_groups
from .plots import plot_confusions as plot_confusions
from .plots import plot_consistency as plot_consistency
from .plots import plot_correlations as plot_correlations
from .plots import plot_coverage as plot_coverage
from .plots import plot_data_averaged as plot_data_averaged
from .plots import plot_design_map as plot_design_map
from .plots import plot_distortions as plot_distortions
from .plots import plot_error_row as plot_error_row
from .plots import plot_explained as plot_explained
from .plots import plot_families as plot_families
from .plots import plot_image_choice as plot_image_choice
from .plots import plot_intervals as plot_intervals
from .plots import plot_item_precision as plot_item_precision
from .plots import plot_levels as plot_levels
from .plots import plot_margin_checks as plot_margin_checks
from .plots import plot_matrix as plot_matrix
from .plots import plot_metrics as plot_metrics
from .plots import plot_noise_free as plot_noise_free
from .plots import plot_null as plot_null
from .plots import plot_power as plot_power
from .plots import plot_probability_greater as plot_probability_greater
from .plots import plot_rank_by_metric as plot_rank_by_metric
from .plots import plot_rank_ecdf as plot_rank_ecdf
from .plots import plot_ranks as plot_ranks
from .plots import plot_recovery as plot_recovery
from .plots import plot_sensitivity as plot_sensitivity
from .plots import plot_spectrum as plot_spectrum
from .plots import plot_stability as plot_stability
from .plots import plot_strengths as plot_strengths
from .plots import plot_variance_shares as plot_variance_shares
from .plots import plot_width as plot_width
from .spectrum import condition_alignment as condition_alignment
from .spectrum import difficulty_spectrum as difficulty_spectrum
from .spectrum import fit_spectrum as fit_spectrum
from .spectrum import regimes as regimes

__version__: str
__all__ = [
    "Benchmark",
    "Metric",
    "Result",
    "Trials",
    "agreement",
    "benchmark",
    "benchmark_scores",
    "calibration",
    "compare",
    "compare_models",
    "condition_alignment",
    "contrast",
    "data",
    "datasets",
    "decision_margin_consistency",
    "difference",
    "difficulty_spectrum",
    "error_consistency",
    "error_similarity",
    "errors",
    "estimates",
    "exclude_conditions",
    "fit_cohort",
    "fit_observers",
    "fit_spectrum",
    "inference",
    "load_example",
    "margins",
    "matrix",
    "mean",
    "metric_correlations",
    "metrics",
    "misclassification_agreement",
    "models",
    "papers",
    "planning",
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
    "plots",
    "regimes",
    "report",
    "simulate",
    "spectrum",
    "stats",
    "trials_for_power",
    "trials_for_width",
]
