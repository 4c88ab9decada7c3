"""Loops compiled by numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that lets other threads run, and keep it on disk where that can be written."""
    import numba

    return kept_on_disk(numba.njit, nogil=True, error_model="numpy")(function)


def kept_on_disk(compile_: Callable[..., Any], *given: Any, **options: Any) -> Callable[..., Any]:
    """Decorator that compiles and keeps the code on disk, where that can be written."""

    def decorated(function: Callable[..., Any]) -> Any:
        try:
            return compile_(*given, cache=True, **options)(function)
        except RuntimeError:
            # No folder to keep it in: compiled again by every process.
            return compile_(*given, **options)(function)

    return decorated
