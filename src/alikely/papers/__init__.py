"""What only the figures of the five papers need: cue bias, families, printed leaderboards, maps."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
