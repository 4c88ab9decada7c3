"""Lazy imports of packages, and versions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# Dependencies of results, other than alikely and Python.
MATTER = ("numpy", "scipy", "pandas", "xarray", "numba", "pymc", "pytensor", "nutpie", "arviz")


type Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str, file: str) -> Lazy:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports of its stub."""
    modules: dict[str, str | None] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            modules |= {alias.name: node.module for alias in node.names}

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] is None:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return attribute, lambda: sorted(modules), sorted(modules)


def versions() -> dict[str, str]:
    """Versions by name: alikely, Python and its platform, and packages that results depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import alikely

    system = f"{platform.system()} {platform.machine()}"
    found = {"alikely": alikely.__version__, "Python": f"{platform.python_version()}, {system}"}
    for name in MATTER:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
