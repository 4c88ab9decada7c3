"""Readers of logs of other tools: a file for each, found here by being in this folder.

A file has ``READER``, a `Reader`: what it is called, which files it recognises, and how tables are
made of these.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from alikely.data.readers._reader import Choice, Log, Reader

__all__ = ["Choice", "Log", "Reader", "readers"]


@cache
def readers() -> dict[str, Reader]:
    """Readers by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found = [importlib.import_module(f"{__name__}.{name}").READER for name in names]
    return {reader.name: reader for reader in found}
