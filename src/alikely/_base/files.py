"""Atomic writing of files, and results as netCDF."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

# Variables that a group must have, with their dims; None where any will do.
type Groups = Mapping[str, Mapping[str, Sequence[str] | None]]
# What a file says of its own layout.
VERSION = "format_version"

NO_GLYPH = "missing from font"
PART = ".part"
_kept: list[Callable[[Path], bool]] = []
# A netCDF file may go on after its end: there stands the digest of all before it. HDF5 has none of
# its own; a changed byte may give other numbers in silence, or a reader that never comes back.
MARK = b"alikely sha256: "
N_DIGEST = 32
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def write_file(path: str | Path, *content: str | bytes | memoryview) -> None:
    """Write a file atomically: an existing one is kept until the new one is complete."""
    target = _place(path).resolve()
    if target.exists() and not target.is_file():
        raise ValueError(f"{str(path)!r} is not a file; give the path of a file to write")
    if target.exists() and any(keep(target) for keep in _kept):
        raise ValueError(f"{str(path)!r} is an input file; write to another file")
    pieces = [piece.encode() if isinstance(piece, str) else piece for piece in content]
    size = sum(memoryview(piece).nbytes for piece in pieces)
    # Not much of the name: with all of it, one that is as long as names may be would be too long.
    part = target.with_name(f"{target.name[:40]}.{secrets.token_hex(4)}{PART}")
    try:
        with part.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            # Only now does a disk of limited size, or one elsewhere, say that it is full.
            os.fsync(file.fileno())
        if (written := part.stat().st_size) != size:
            raise OSError(errno.EIO, f"wrote {written} of {size} bytes")
        if target.exists():
            part.chmod(target.stat().st_mode & 0o777)
        os.replace(part, target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


@contextlib.contextmanager
def keeping(keep: Callable[[Path], bool]) -> Iterator[None]:
    """Protect existing files for which `keep` is true from being overwritten within the context."""
    _kept.append(keep)
    try:
        yield
    finally:
        _kept.remove(keep)


def _place(path: object) -> Path:
    """The path of a file (`TypeError` if it is not a path)."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a file path, such as 'x.nc', got {type(path).__name__}")
    return Path(path)


def write_figure(figure: Any, path: str | Path, dpi: int) -> None:
    """Write a matplotlib figure as PNG atomically, like `write_file`."""
    image = io.BytesIO()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (figure() if callable(figure) else figure).savefig(image, format="png", dpi=dpi)
    # One warning for each letter that a font lacks is one for all of them.
    other = [one for one in told if NO_GLYPH not in str(one.message)]
    for one in other:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if len(other) < len(told):
        warnings.warn(
            f"{str(path)!r}: the font lacks letters of some names, which appear as boxes; set a "
            "font that has these letters with matplotlib.rcParams['font.family']",
            stacklevel=2,
        )
    write_file(path, image.getvalue())


def write_tree(tree: xr.DataTree, path: str | Path) -> None:
    """Write a DataTree to a netCDF file atomically, as `write_file` does."""
    # In memory first: on a disk that is full HDF5 takes the whole process down with it.
    content = tree.to_netcdf(engine="h5netcdf")
    write_file(path, content, MARK, hashlib.sha256(content).digest())


def read_tree(path: str | Path) -> xr.DataTree:
    """Read a whole tree from a file into memory; error messages have one line."""
    if not _place(path).is_file():
        raise ValueError(f"no file {str(path)!r}; give the path that save wrote to")
    content = Path(path).read_bytes()
    if not content.startswith(SIGNATURE):
        raise ValueError(f"{str(path)!r} is not a netCDF file; give one that save wrote")
    end = len(content) - N_DIGEST - len(MARK)
    # Files that another program wrote again have no digest.
    sealed = end > 0 and content[end:-N_DIGEST] == MARK
    if sealed and hashlib.sha256(memoryview(content)[:end]).digest() != content[-N_DIGEST:]:
        raise ValueError(_damaged(path, "its digest does not match"))
    try:
        with xr.open_datatree(io.BytesIO(content), engine="h5netcdf") as stored:
            # Node by node: DataTree.load passes over a variable named like its group.
            nodes = {node.path: node.to_dataset(inherit=False).load() for node in stored.subtree}
            return xr.DataTree.from_dict(nodes)
    except Exception as error:  # what a broken byte leads to is anybody's guess
        raise ValueError(_damaged(path, " ".join(str(error).split()))) from None


def _damaged(path: str | Path, reason: str) -> str:
    return f"{str(path)!r} is damaged ({reason}); restore it from a copy, or create it again"


def check_tree(
    tree: xr.DataTree, groups: Groups, attributes: Sequence[str], version: int, path: str | Path
) -> None:
    """Raise a one-line error for a file that lacks what its reader needs, or is of another time."""
    other, remedy = f"{str(path)!r} is not a Result of alikely", "write one with Result.save"
    found = tree.attrs.get(VERSION)
    if not isinstance(found, int | np.integer) or found < 1:
        said = f"no {VERSION}" if found is None else f"{VERSION} {found!r}"
        raise ValueError(f"{other}: it has {said}; {remedy}")
    if found != version:
        fix = "use a newer version" if found > version else "create the file again"
        raise ValueError(
            f"{str(path)!r} has {VERSION} {found}, but this version of alikely reads {version}; "
            f"{fix}"
        )
    lacks = [f"it has no attribute {name!r}" for name in attributes if name not in tree.attrs]
    for group, variables in groups.items():
        if group not in tree.children:
            lacks.append(f"it has no group {group!r}")
            continue
        own = tree[group].variables
        for name, dims in variables.items():
            if name not in own:
                lacks.append(f"its group {group!r} has no variable {name!r}")
            elif dims is not None and own[name].dims != tuple(dims):
                lacks.append(
                    f"variable {name!r} of its group {group!r} has dims "
                    f"({', '.join(map(str, own[name].dims))}), expected ({', '.join(dims)})"
                )
    if lacks:
        raise ValueError(f"{other}: {lacks[0]}; {remedy}")
