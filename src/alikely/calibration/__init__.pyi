from .coverage import coverage_study as coverage_study
from .coverage import coverage_summary as coverage_summary
from .coverage import default_grid as default_grid
from .coverage import estimate_coverage as estimate_coverage
from .ranks import sbc as sbc
from .ranks import sbc_summary as sbc_summary
from .studies import run_study as run_study

__all__ = [
    "coverage_study",
    "coverage_summary",
    "default_grid",
    "estimate_coverage",
    "run_study",
    "sbc",
    "sbc_summary",
]
