"""Functions for figures of the five papers: cue bias, families, printed leaderboards and maps."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
