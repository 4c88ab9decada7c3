"""Results as netCDF files."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

__all__ = ["read_tree", "write_tree"]


def write_tree(tree: xr.DataTree, path: str | Path) -> None:
    """Write a tree, replacing a file that exists."""
    tree.to_netcdf(path, engine="h5netcdf")


def read_tree(path: str | Path) -> xr.DataTree:
    """Read a whole tree into memory, or say in one line why not."""
    if not Path(path).is_file():
        raise ValueError(f"no file {str(path)!r}; give the path that save wrote to")
    try:
        with xr.open_datatree(path, engine="h5netcdf") as stored:
            return stored.load()
    except OSError as error:
        raise ValueError(f"{str(path)!r} is not a netCDF file: {error}") from None
