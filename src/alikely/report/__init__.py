"""Reports: self-contained HTML pages with tables, figures, sentences and methods."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
