"""Joint counts of many observers on very many trials, a slice at a time."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.steps import Bar
from alikely.data.tables import CELLS

__all__ = ["joint_counts"]

# Numbers of a slice in single precision: 200 MB, and as much again for its wrong answers.
SLICE = 50_000_000
# Whole numbers up to this are exact in single precision.
EXACT = 2**24


def joint_counts(correct: xr.DataArray) -> xr.Dataset:
    """Count the correctness cells of all pairs without ever holding all trials.

    For data that do not fit in memory: `correct` may be backed by a chunked array (dask, zarr,
    netCDF); it is read and counted slice by slice, one matrix product each.

    Parameters
    ----------
    correct : xarray.DataArray, dims (observer, trial)
        1 right, 0 wrong, -1 not shown or left out; any number type, any backing.

    Returns
    -------
    xarray.Dataset
        ``cells`` (pair, cell) int64, with coords ``observer_a, observer_b`` and ``cell``; pairs in
        the order of the upper triangle. Its ``cells`` serve wherever counts of pairs do, such as
        `alikely.inference.pairwise_draws` or `alikely.data.from_counts`.

    Raises
    ------
    TypeError
        If `correct` is no DataArray.
    ValueError
        If it has other dims, fewer than two observers, no trial, or other values than 1, 0, -1.

    Examples
    --------
    >>> answers = xr.DataArray([[1, 1, 0, 0, 1], [1, 0, 0, 1, 1]], dims=("observer", "trial"))
    >>> joint_counts(answers)["cells"].values.tolist()
    [[2, 1, 1, 1]]
    """
    if not isinstance(correct, xr.DataArray):
        raise TypeError(
            f"correct must be an xarray.DataArray with dims (observer, trial), got "
            f"{type(correct).__name__}; wrap it: xr.DataArray(array, dims=('observer', 'trial'))"
        )
    if set(correct.dims) != {"observer", "trial"}:
        raise ValueError(f"correct must have dims (observer, trial), got {correct.dims}")
    ordered = correct.transpose("observer", "trial")
    n_observers, n_trials = ordered.shape
    if n_observers < 2 or n_trials < 1:
        raise ValueError(
            f"correct must have at least 2 observers and 1 trial, got {n_observers} and {n_trials}"
        )
    total = np.zeros((3, n_observers, n_observers), dtype=np.int64)
    step = min(max(1, SLICE // n_observers), EXACT)
    with Bar("counting trials", n_trials) as bar:
        for start in range(0, n_trials, step):
            part = ordered.isel(trial=slice(start, start + step)).values
            total += _products(part)
            bar.update(part.shape[1])
    n11, n10, n00 = total
    i, j = np.triu_indices(n_observers, k=1)
    names = (
        ordered["observer"].values.astype(object)
        if "observer" in ordered.coords
        else np.array([f"observer_{k}" for k in range(n_observers)], dtype=object)
    )
    cells = np.stack([n11[i, j], n10[i, j], n10[j, i], n00[i, j]], axis=1)
    return xr.Dataset(
        {"cells": (("pair", "cell"), cells)},
        coords={
            "observer_a": ("pair", names[i]),
            "observer_b": ("pair", names[j]),
            "cell": list(CELLS),
        },
    )


def _products(part: NDArray[np.number]) -> NDArray[np.int64]:
    """Both right, first right and second wrong, both wrong: shape (3, observer, observer)."""
    right, wrong = part == 1, part == 0
    if not (right | wrong | (part == -1)).all():
        bad = part[~(right | wrong | (part == -1))][0]
        raise ValueError(f"correct must hold 1 (right), 0 (wrong) and -1 (left out), got {bad:g}")
    r = right.astype(np.float32)
    both = (r @ r.T).astype(np.int64)
    if (right | wrong).all():
        # Nothing is left out: the margins say the rest.
        own = np.diag(both)
        n10 = own[:, None] - both
        return np.stack([both, n10, part.shape[1] - own[None, :] - n10])
    w = wrong.astype(np.float32)
    return np.stack([both, (r @ w.T).astype(np.int64), (w @ w.T).astype(np.int64)])
