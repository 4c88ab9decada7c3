"""Packages that import a name when it is first used."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["attach"]


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
