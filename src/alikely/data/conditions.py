"""Conditions of several data sets under one name each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

__all__ = ["condition_labels", "nested_labels"]


def nested_labels(datasets: Iterable[str], names: Iterable[str]) -> list[str]:
    """Name what belongs to a data set, such as a condition or a person, after both."""
    return [f"{dataset} | {name}" for dataset, name in zip(datasets, names, strict=True)]


def condition_labels(data: xr.Dataset) -> tuple[list[str], NDArray[np.intp]]:
    """Name every condition ``dataset:condition``, as two data sets may use one name."""
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
