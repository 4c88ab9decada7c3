"""Decision margins: those of machines, groups' shares of right answers, reliability and noise."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
