from .coverage import coverage_study as coverage_study
from .ranks import sbc as sbc

__all__ = ["coverage_study", "sbc"]
