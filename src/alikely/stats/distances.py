"""Labelled matrices of distances and labels of groups: what users may pass, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.names import listed, nearest

__all__ = [
    "Distances",
    "Groups",
    "group_codes",
    "group_mapping",
    "labelled_matrix",
    "unique_names",
]

type Distances = xr.DataArray | pd.DataFrame
type Groups = Mapping[Any, Any] | pd.Series | xr.DataArray


def unique_names(index: Iterable[Any], what: str) -> list[str]:
    """Names as text, each of which stands there once (`ValueError`)."""
    names = [str(name) for name in index]
    twice = pd.Index(names).duplicated()
    if twice.any():
        raise ValueError(f"{what} have {names[int(np.argmax(twice))]!r} twice; rename one")
    return names


def labelled_matrix(distances: Distances) -> tuple[list[str], Floats]:
    """Names and values of a symmetric matrix."""
    if isinstance(distances, pd.DataFrame):
        sides = [list(distances.index), list(distances.columns)]
    elif isinstance(distances, xr.DataArray):
        bare = [dim for dim in distances.dims if dim not in distances.coords]
        if bare:
            raise TypeError(f"distances have no names along {bare[0]!r}; assign coords to it")
        sides = [distances[dim].values.tolist() for dim in distances.dims]
    else:
        raise TypeError(
            "distances must be a DataFrame or DataArray with names along both sides, got "
            f"{type(distances).__name__}; use pandas.DataFrame(values, names, names)"
        )
    if len(sides) != 2 or len(sides[0]) != len(sides[1]):
        raise ValueError(f"distances must be a square matrix, got shape {distances.shape}")
    names = unique_names(sides[0], "distances")
    if names != [str(name) for name in sides[1]]:
        raise ValueError(
            "distances must have the same names in the same order along both sides; reindex them"
        )
    values = np.array(distances, dtype=np.float64)
    np.fill_diagonal(values, 0)
    unknown = np.argwhere(~np.isfinite(values))
    if len(unknown):
        one, other = unknown[0]
        raise ValueError(
            f"the distance of {names[one]!r} and {names[other]!r} is {values[one, other]:g}; leave "
            "one of them out"
        )
    uneven = np.abs(values - values.T) > 1e-9 * np.abs(values).max(initial=0)
    if uneven.any():
        one, other = np.argwhere(uneven)[0]
        raise ValueError(
            f"distances must be symmetric, but {names[one]!r} to {names[other]!r} is "
            f"{values[one, other]:g} and back {values[other, one]:g}; average both"
        )
    return names, values


def group_mapping(groups: Groups) -> dict[str, str]:
    """Groups as a plain mapping."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(groups, xr.DataArray):
        if groups.ndim != 1 or groups.dims[0] not in groups.coords:
            raise TypeError(f"groups must have one dim with names, got the dims {groups.dims}")
        pairs = zip(groups[groups.dims[0]].values.tolist(), groups.values.tolist(), strict=True)
    elif isinstance(groups, Mapping | pd.Series):
        pairs = groups.items()
    else:
        raise TypeError(
            "groups must be a mapping of names to groups, a Series or a DataArray, got "
            f"{type(groups).__name__}"
        )
    out: dict[str, str] = {}
    for name, group in pairs:
        if str(name) in out:
            raise ValueError(f"groups have {str(name)!r} twice; name each once")
        if pd.isna(group):
            raise ValueError(f"{str(name)!r} has no group; give it one, or leave it out")
        out[str(name)] = str(group)
    return out


def group_codes(names: list[str], groups: Groups, what: str = "group") -> NDArray[np.intp]:
    """Number of the group of each of several names; all of them, and no other."""
    given, known = group_mapping(groups), set(names)
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"{missing[0]!r} has no {what} ({len(missing)} without); give it one, or leave it out"
        )
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"{what} of an unknown {unknown[0]!r}; known are {listed(names)}"
            f"{nearest(unknown[0], names)}"
        )
    labels = np.array([given[name] for name in names], dtype=object)
    return np.asarray(pd.factorize(labels)[0], dtype=np.intp)
