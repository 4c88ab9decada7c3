"""Functions for analyses in published papers: cue bias, families, leaderboards and maps."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
