"""Plan numbers of trials, observers and items for a given interval width, power or assurance."""

from __future__ import annotations

from alikely._base.packages import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
