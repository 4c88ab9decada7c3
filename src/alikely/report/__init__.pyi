from .pages import Report as Report
from .pages import make_report as make_report

__all__ = ["Report", "make_report"]
