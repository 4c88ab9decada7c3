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
from ._base.settings import options as options
from .benchmark.cohorts import fit_cohort as fit_cohort
from .benchmark.layout import exclude_conditions as exclude_conditions
from .benchmark.scores import benchmark_scores as benchmark_scores
from .data import Trials as Trials
from .datasets import load_example as load_example
from .estimates import Result as Result
from .estimates import agreement as agreement
from .estimates import compare as compare
from .estimates import contrast as contrast
from .estimates import decision_margin_consistency as decision_margin_consistency
from .estimates import difference as difference
from .estimates import error_consistency as error_consistency
from .estimates import error_similarity as error_similarity
from .estimates import mean as mean
from .estimates import metric_correlations as metric_correlations
from .estimates import misclassification_agreement as misclassification_agreement
from .estimates import pairwise_matrix as pairwise_matrix
from .estimates import test_copy_model as test_copy_model
from .margins.reliability import fit_observers as fit_observers
from .metrics import Metric as Metric
from .planning import trials_for_power as trials_for_power
from .planning import trials_for_width as trials_for_width
from .plots import plot_agreement as plot_agreement
from .plots import plot_alignment as plot_alignment
from .plots import plot_benchmark as plot_benchmark
from .plots import plot_calibration as plot_calibration
from .plots import plot_cohort as plot_cohort
from .plots import plot_errors as plot_errors
from .plots import plot_families as plot_families
from .plots import plot_intervals as plot_intervals
from .plots import plot_margins as plot_margins
from .plots import plot_matrix as plot_matrix
from .plots import plot_metrics as plot_metrics
from .plots import plot_plan as plot_plan
from .plots import plot_regimes as plot_regimes
from .plots import plot_robustness as plot_robustness
from .plots import plot_spectrum as plot_spectrum
from .spectrum import condition_alignment as condition_alignment
from .spectrum import difficulty_spectrum as difficulty_spectrum
from .spectrum import fit_spectrum as fit_spectrum
from .spectrum import regimes as regimes

__version__: str
__all__ = [
    "Metric",
    "Result",
    "Trials",
    "agreement",
    "benchmark",
    "benchmark_scores",
    "calibration",
    "compare",
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
    "mean",
    "metric_correlations",
    "metrics",
    "misclassification_agreement",
    "models",
    "options",
    "pairwise_matrix",
    "papers",
    "planning",
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
    "plots",
    "regimes",
    "report",
    "simulate",
    "spectrum",
    "test_copy_model",
    "trials_for_power",
    "trials_for_width",
]
