from ._style import column as column
from .benchmark import plot_benchmark as plot_benchmark
from .benchmark import plot_cohort as plot_cohort
from .benchmark import plot_robustness as plot_robustness
from .calibration import plot_calibration as plot_calibration
from .margins import plot_margins as plot_margins
from .pairs import plot_agreement as plot_agreement
from .pairs import plot_errors as plot_errors
from .pairs import plot_families as plot_families
from .pairs import plot_intervals as plot_intervals
from .pairs import plot_matrix as plot_matrix
from .pairs import plot_metrics as plot_metrics
from .planning import plot_plan as plot_plan
from .spectrum import plot_alignment as plot_alignment
from .spectrum import plot_regimes as plot_regimes
from .spectrum import plot_spectrum as plot_spectrum

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
