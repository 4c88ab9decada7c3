"""Independent pieces of work, over threads and over processes that die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray

from alikely._base.parallel import in_parallel


def killing(numbers: NDArray[np.float64], at: int, folder: Path) -> float:
    """Kill the process that the first and the fourth job run in, once each."""
    flag = folder / str(at)
    if at in (0, 3) and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(numbers[at])


def test_results_come_in_order() -> None:
    numbers = np.arange(8.0)
    assert list(in_parallel(np.multiply, [(numbers[k], 2) for k in range(8)])) == [*(2 * numbers)]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
def test_workers_that_die_take_no_arguments_along(tmp_path: Path) -> None:
    """A large array that all jobs share, and both workers of a cluster killed in turn."""
    distributed = pytest.importorskip("distributed")
    numbers = np.random.default_rng(1).random(100_000)
    jobs = [(numbers, k, tmp_path) for k in range(8)]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask", wait_for_workers_timeout=60),
    ):
        assert list(in_parallel(killing, jobs)) == numbers[:8].tolist()
    assert {path.name for path in tmp_path.iterdir()} == {"0", "3"}
