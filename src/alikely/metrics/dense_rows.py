"""Error counts by true class and response: checks, and the layout without the true class."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

__all__ = ["ROW_DIMS", "TABLE_DIMS", "check_errors", "drop_true", "insert_true", "wrong_classes"]

ROW_DIMS = ("system", "true_class", "response_class")
TABLE_DIMS = ("pair", "true_class", "label_a", "label_b")


def check_errors(
    counts: ArrayLike | xr.DataArray, dims: tuple[str, ...], some: bool = True
) -> tuple[NDArray[np.int64], dict[str, list[Any]]]:
    """Validate error counts: all dims but the first are classes, and the same ones."""
    given: dict[Any, list[Any]] = {}
    if isinstance(counts, xr.DataArray):
        if set(counts.dims) != set(dims):
            raise ValueError(f"counts must have the dims {dims}, got {counts.dims}; rename them")
        given = {dim: counts[dim].values.tolist() for dim in dims if dim in counts.coords}
        classes = [given[dim] for dim in dims[1:] if dim in given]
        if any(labels != classes[0] for labels in classes):
            raise ValueError(
                f"{', '.join(dims[1:])} must be the same classes in the same order; reindex them"
            )
        counts = counts.transpose(*dims).values
    values = np.asarray(counts)
    if values.ndim != len(dims) or len(set(values.shape[1:])) != 1 or values.shape[-1] < 3:
        raise ValueError(
            f"counts must have the axes {dims}, square in at least 3 classes, got shape "
            f"{values.shape}"
        )
    numbers = np.asarray(values, dtype=np.float64)
    bad = numbers[~((numbers >= 0) & (numbers == np.floor(numbers)) & np.isfinite(numbers))]
    if bad.size:
        raise ValueError(f"counts must be whole numbers of at least 0, got {bad[0]:g}")
    checked = numbers.astype(np.int64)
    own = np.eye(checked.shape[-1], dtype=bool)
    if len(dims) == 4:
        own = own[:, :, None] | own[:, None, :]
    checked = np.where(own, 0, checked)
    if some and not checked.any():
        raise ValueError("counts must hold at least one error off the true class, got none")
    labels = {
        dim: given.get(dim, list(range(size)))
        for dim, size in zip(dims[:2], checked.shape[:2], strict=True)
    }
    return checked, labels


def wrong_classes(n_classes: int) -> NDArray[np.intp]:
    """Classes other than the true one, in order; shape (true_class, wrong_class)."""
    k = np.arange(n_classes - 1)
    return k + (k >= np.arange(n_classes)[:, None])


def drop_true(values: NDArray[Any]) -> NDArray[Any]:
    """Leave out the entry of the true class; (..., true, response) to (..., true, wrong)."""
    n = values.shape[-1]
    return np.asarray(values[..., np.arange(n)[:, None], wrong_classes(n)])


def insert_true(values: Any, n_classes: int) -> Any:
    """Put a 0 at the true class; inverse of `drop_true`, for arrays and for tensors."""
    j, t = np.arange(n_classes), np.arange(n_classes)[:, None]
    at = np.clip(j - (j > t), 0, n_classes - 2)
    return values[..., t, at] * (j != t)
