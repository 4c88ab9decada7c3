"""Compiled loops: kept on disk where that can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numba
import pytest

from alikely._base.arrays import compiled


def of_no_file() -> Callable[[int], int]:
    """A function whose code stands in no file: numba has no folder to keep it in."""
    names: dict[str, Any] = {}
    exec("def thrice(x):\n    return 3 * x", names)
    return names["thrice"]


def test_without_a_folder_to_write_in_it_compiles_anew() -> None:
    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(of_no_file())
    assert compiled(of_no_file())(2) == 6


@pytest.mark.slow
def test_a_process_without_numba_gives_equal_numbers() -> None:
    """Compiled, with ``NUMBA_DISABLE_JIT=1``, and where no folder can be written: 30 tables."""
    code = (
        "import numpy as np\n"
        "from alikely.inference.cell_limits import posterior_limits\n"
        "from alikely.inference.independence import fisher_log10_p\n"
        "rng = np.random.default_rng(1)\n"
        "cells = rng.multinomial(300, rng.dirichlet(np.full(4, 3.0), 30))\n"
        "print(float(fisher_log10_p(cells).sum()), float(posterior_limits(cells).sum()))"
    )
    found = []
    for more in ({}, {"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CACHE_DIR": "/proc/none"}):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **more},
        )
        found.append([float(value) for value in done.stdout.split()])
    # Sums of 30 numbers, each right to 1e-7.
    assert found[1] == pytest.approx(found[0], rel=1e-6)
    assert found[2] == found[0]
