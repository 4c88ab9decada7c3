"""Conditions of several data sets under one name each."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

__all__ = ["condition_labels"]


def condition_labels(data: xr.Dataset) -> tuple[list[str], NDArray[np.intp]]:
    """Name every condition ``dataset:condition``, as two data sets may use one name.

    Parameters
    ----------
    data : xarray.Dataset
        Of `alikely.Trials`.

    Returns
    -------
    labels : list of str
        In order of first occurrence.
    number : ndarray of int, shape (trial,)
        Position of each trial's condition in `labels`.

    Raises
    ------
    ValueError
        If the name of a data set holds a colon, so that two conditions might share a label.
    """
    for dataset in np.unique(data["dataset"].values):
        if ":" in dataset:
            raise ValueError(
                f"name of data set {dataset!r} holds a colon, which parts it from the condition "
                "here; rename it"
            )
    names = data["dataset"].values + ":" + data["condition"].values
    labels, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return labels[order].tolist(), rank[inverse]
