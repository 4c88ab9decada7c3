from .pages import Report as Report
from .pages import load_saved as load_saved
from .pages import make_report as make_report

__all__ = ["Report", "load_saved", "make_report"]
