"""Similarity of errors between observers, with uncertainty."""

from __future__ import annotations

from alikely._base.packages import attach

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
