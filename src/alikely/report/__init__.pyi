from .pages import Report as Report
from .pages import make_report as make_report
from .saved import load_saved as load_saved

__all__ = ["Report", "load_saved", "make_report"]
