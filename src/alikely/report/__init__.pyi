from .pages import make_report as make_report

__all__ = ["make_report"]
