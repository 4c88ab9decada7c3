"""Versions of what numbers hang on, without importing what they are of."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import alikely

__all__ = ["versions"]

# What results hang on, beside alikely itself and Python.
MATTER = ("numpy", "scipy", "pandas", "xarray", "numba", "pymc", "pytensor", "nutpie", "arviz")


def versions() -> dict[str, str]:
    """Versions by name: alikely, Python with its system, and what results depend on."""
    system = f"{platform.system()} {platform.machine()}"
    found = {"alikely": alikely.__version__, "Python": f"{platform.python_version()}, {system}"}
    for name in MATTER:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
