"""Functions that plot a result or a table and return Matplotlib axes."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
