"""Joint counts by slices equal those of the whole, whatever the array is backed by."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import alikely as al
from alikely.data import tables


def answers(n_observers: int, n_trials: int, missing: float, seed: int = 1) -> NDArray[np.int8]:
    rng = np.random.default_rng(seed)
    correct = (rng.random((n_observers, n_trials)) < 0.7).astype(np.int8)
    correct[rng.random(correct.shape) < missing] = -1
    return correct


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("length", [1, 7, 1000])
def test_slices_add_up_to_the_whole(
    missing: float, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    correct = answers(6, 300, missing)
    monkeypatch.setattr(tables, "SLICE", 6 * length)
    found = al.data.joint_correctness(xr.DataArray(correct, dims=("observer", "trial")))
    expected = []
    for i in range(6):
        for j in range(i + 1, 6):
            a, b = correct[i], correct[j]
            cells = [(1, 1), (1, 0), (0, 1), (0, 0)]
            expected.append([int(((a == x) & (b == y)).sum()) for x, y in cells])
    assert found["cells"].values.tolist() == expected
    assert found["observer_b"].values.tolist()[:3] == ["observer_1", "observer_2", "observer_3"]


def test_arrays_on_disk_and_in_chunks(tmp_path: Path) -> None:
    names = [f"net_{i}" for i in range(5)]
    array = xr.DataArray(
        answers(5, 1_000, 0.1), dims=("observer", "trial"), coords={"observer": names}, name="right"
    )
    whole = al.data.joint_correctness(array)
    array.to_dataset().to_netcdf(tmp_path / "right.nc")
    with xr.open_dataset(tmp_path / "right.nc", chunks={"trial": 128}) as lazy:
        assert lazy["right"].chunks is not None
        assert al.data.joint_correctness(lazy["right"].T).identical(whole)
    with xr.open_dataset(tmp_path / "right.nc") as lazy:
        assert al.data.joint_correctness(lazy["right"]).identical(whole)
    assert whole["observer_a"].values.tolist()[:4] == ["net_0"] * 4


@pytest.mark.slow
def test_memory_is_that_of_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50 kB: never the 6 MB of all, which would be 24 in single precision."""
    monkeypatch.setattr(tables, "SLICE", 50_000)
    lazy = da.random.default_rng(1).integers(0, 2, (100, 60_000), chunks=(100, 500), dtype="int8")
    array = xr.DataArray(lazy, dims=("observer", "trial"))
    al.data.joint_correctness(array.isel(trial=slice(0, 1000)))  # what is made once only
    tracemalloc.start()
    found = al.data.joint_correctness(array)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000
    assert (found["cells"].sum("cell") == 60_000).all()


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros((2, 3)), TypeError, "got ndarray"),
        (xr.DataArray([[1, 0]], dims=("observer", "trial")), ValueError, "at least 2 observers"),
        (xr.DataArray([[1, np.nan], [0, 1]], dims=("observer", "trial")), ValueError, "got nan"),
    ],
)
def test_bad_input(array: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        al.data.joint_correctness(array)


@pytest.mark.parametrize("option", [{"disjoint": True}, {"directed": True}, {"repeats": "crossed"}])
def test_options_of_trials_are_refused_for_arrays(option: dict[str, Any]) -> None:
    array = xr.DataArray([[1, 0], [0, 1]], dims=("observer", "trial"))
    with pytest.raises(ValueError, match="omit other options"):
        al.data.joint_correctness(array, **option)
