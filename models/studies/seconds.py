"""How long a model takes from a new process to its first draws, with caches empty and full."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from studies.cards import versions
from studies.cases import CASES

__all__ = ["N_DRAWS", "first_draws", "seconds"]

N_DRAWS = 1_000
CHILD = "import sys; from studies.seconds import first_draws; first_draws(sys.argv[1])"


def first_draws(name: str) -> None:
    """Build a model on the data of its card and sample it: 1,000 draws after warm-up."""
    from alikely.inference.chains import SamplingWarning, nuts

    case = CASES[name]
    with warnings.catch_warnings():
        # So few draws are for their time alone.
        warnings.simplefilter("ignore", SamplingWarning)
        nuts(case.example(), N_DRAWS, case.tune, rng=1, target_accept=case.target_accept)


def seconds(name: str, repeats: int = 5) -> dict[str, Any]:
    """Measure processor seconds of whole processes that sample a model."""
    if name not in CASES:
        raise ValueError(f"the catalogue has {', '.join(CASES)}; got {name!r}")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_of_process(name, Path(folder)))
            warm.append(_of_process(name, Path(folder)))
    case = CASES[name]
    return {
        "model": name,
        "n_draws": N_DRAWS,
        "settings": {"tune": case.tune, "target_accept": case.target_accept},
        "cold": statistics.median(cold),
        "warm": statistics.median(warm),
        "all_cold": cold,
        "all_warm": warm,
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": versions(),
    }


def _of_process(name: str, folder: Path) -> float:
    flags = [os.environ.get("PYTENSOR_FLAGS", ""), f"base_compiledir={folder / 'pytensor'}"]
    caches = {
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTENSOR_FLAGS": ",".join(flag for flag in flags if flag),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", CHILD, name], env=os.environ | caches, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return round(used, 2)
