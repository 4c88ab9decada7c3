from .benchmark_worlds import BenchmarkDesign as BenchmarkDesign
from .branches import branch_calibration as branch_calibration
from .branches import branch_table as branch_table
from .coverage import coverage_study as coverage_study
from .coverage import coverage_summary as coverage_summary
from .coverage import default_grid as default_grid
from .coverage_agreement import agreement_coverage as agreement_coverage
from .coverage_agreement import agreement_grid as agreement_grid
from .coverage_benchmark import benchmark_coverage as benchmark_coverage
from .coverage_benchmark import benchmark_summary as benchmark_summary
from .coverage_cohort import cohort_coverage as cohort_coverage
from .coverage_cohort import cohort_coverage_summary as cohort_coverage_summary
from .coverage_estimates import estimate_coverage as estimate_coverage
from .coverage_families import family_coverage as family_coverage
from .coverage_families import family_coverage_summary as family_coverage_summary
from .coverage_items import item_coverage as item_coverage
from .coverage_items import item_coverage_summary as item_coverage_summary
from .coverage_joint import joint_coverage as joint_coverage
from .coverage_joint import joint_coverage_summary as joint_coverage_summary
from .coverage_margins import margin_coverage as margin_coverage
from .coverage_probability import order_calibration as order_calibration
from .coverage_probability import order_summary as order_summary
from .coverage_rows import RowDesign as RowDesign
from .coverage_rows import row_coverage as row_coverage
from .coverage_rows import row_coverage_summary as row_coverage_summary
from .equal_row_tests import row_tests as row_tests
from .equal_row_tests import row_tests_summary as row_tests_summary
from .ranks import sbc as sbc
from .ranks import sbc_summary as sbc_summary
from .sharing import copying_recovery as copying_recovery
from .sharing import sharing_cells as sharing_cells
from .studies import run_study as run_study
from .verdicts import kept_ranks as kept_ranks
from .verdicts import verdict as verdict

__all__ = [
    "BenchmarkDesign",
    "RowDesign",
    "agreement_coverage",
    "agreement_grid",
    "benchmark_coverage",
    "benchmark_summary",
    "branch_calibration",
    "branch_table",
    "cohort_coverage",
    "cohort_coverage_summary",
    "copying_recovery",
    "coverage_study",
    "coverage_summary",
    "default_grid",
    "estimate_coverage",
    "family_coverage",
    "family_coverage_summary",
    "item_coverage",
    "item_coverage_summary",
    "joint_coverage",
    "joint_coverage_summary",
    "kept_ranks",
    "margin_coverage",
    "order_calibration",
    "order_summary",
    "row_coverage",
    "row_coverage_summary",
    "row_tests",
    "row_tests_summary",
    "run_study",
    "sbc",
    "sbc_summary",
    "sharing_cells",
    "verdict",
]
