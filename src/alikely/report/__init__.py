"""Reports: one page of HTML to keep and send, with tables, figures, sentences and methods."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
