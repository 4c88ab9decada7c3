"""Error patterns: which wrong answers are given, by true class; their posteriors and conditions."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
