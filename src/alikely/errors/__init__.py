"""Error patterns: incorrect responses by true class, posteriors and condition comparisons."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
