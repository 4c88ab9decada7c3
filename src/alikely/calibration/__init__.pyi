from .coverage import coverage_study as coverage_study
from .coverage import estimate_coverage as estimate_coverage
from .ranks import sbc as sbc

__all__ = ["coverage_study", "estimate_coverage", "sbc"]
