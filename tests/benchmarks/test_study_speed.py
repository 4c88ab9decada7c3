"""One study by threads, by processes and on a dask cluster of processes: ratios in one run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import joblib
import pandas as pd
import pytest

import alikely as al


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with ExitStack() as stack:
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        local = stack.enter_context(distributed.LocalCluster(**options))
        yield stack.enter_context(distributed.Client(local))


def study() -> pd.DataFrame:
    return al.calibration.coverage_study(
        al.calibration.default_grid().iloc[::4], n_datasets=1_000, rng=1
    )


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_coverage_study(benchmark: Any, backend: str, cluster: Any) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2):
        # The first round starts workers and loads the package there.
        table = benchmark.pedantic(study, rounds=2, warmup_rounds=1)
    assert len(table) == 22 * 10 * 3
