"""Loops compiled by numba, where it can; elsewhere the same numbers come from NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["can_compile", "compiled"]


def can_compile() -> bool:
    """Whether numba is there and may compile: not with ``NUMBA_DISABLE_JIT=1``."""
    try:
        import numba
    except ImportError:
        return False
    return not numba.config.DISABLE_JIT


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that lets other threads run, and keep it on disk where that can be written.

    Parameters
    ----------
    function : callable
        Of a module that is imported only where `can_compile`.

    Returns
    -------
    callable

    Examples
    --------
    >>> @compiled
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    import numba

    compile_ = functools.partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return compile_(cache=True)(function)
    except RuntimeError:
        # No folder to keep it in: compiled again by every process.
        return compile_()(function)
