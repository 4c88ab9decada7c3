"""Files that are whole or not there: how everything is written, and results as netCDF."""

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

__all__ = [
    "check_tree",
    "keeping",
    "noting_writes",
    "read_tree",
    "write_figure",
    "write_file",
    "write_tree",
]

# Variables that a group must have, with their dims; None where any will do.
type Groups = Mapping[str, Mapping[str, Sequence[str] | None]]
# What a file says of its own layout.
VERSION = "format_version"

NO_GLYPH = "missing from font"
PART = ".part"
_noted: list[list[Path]] = []
_kept: list[Callable[[Path], bool]] = []
# A netCDF file may go on after its end: there stands the digest of all before it. HDF5 has none of
# its own; a changed byte may give other numbers in silence, or a reader that never comes back.
MARK = b"alikely sha256: "
N_DIGEST = 32
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def write_file(path: str | Path, *content: str | bytes | memoryview) -> None:
    """Write a whole file or nothing: one that exists stays as it was until the new one is done.

    The content goes to a file beside the target under a name of its own, which then takes the
    target's place in one step. A full disk, an error or a kill leaves the earlier file whole.

    Parameters
    ----------
    path : str or path
        File to write; one that exists is replaced, a link is followed.
    *content : str or bytes
        Pieces that follow one another; text is written as UTF-8, its line ends as they are.

    Raises
    ------
    ValueError
        If the path is something else than a file, or a file that is kept (`keeping`).
    OSError
        If it cannot be written; the message names the target.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "note.txt", "done")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('note.txt', 'done')]
    """
    target = _place(path).resolve()
    if target.exists() and not target.is_file():
        raise ValueError(f"{str(path)!r} is not a file; give the path of a file to write")
    if target.exists() and any(keep(target) for keep in _kept):
        raise ValueError(f"{str(path)!r} is one of the files that are read; write to another")
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
        for noted in _noted:
            noted.append(Path(path))
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


@contextlib.contextmanager
def keeping(keep: Callable[[Path], bool]) -> Iterator[None]:
    """Keep files that are there from being written over within: those of which `keep` is true.

    Examples
    --------
    >>> with keeping(lambda path: path.suffix == ".csv"):
    ...     pass
    """
    _kept.append(keep)
    try:
        yield
    finally:
        _kept.remove(keep)


@contextlib.contextmanager
def noting_writes() -> Iterator[list[Path]]:
    """Note the files that are written within: what is whole, if something stops the rest.

    Examples
    --------
    >>> with noting_writes() as written:
    ...     pass
    >>> written
    []
    """
    files: list[Path] = []
    _noted.append(files)
    try:
        yield files
    finally:
        del _noted[[one is files for one in _noted].index(True)]


def _place(path: object) -> Path:
    """Where a file is, as a user says it (`TypeError` if it is no path)."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be that of a file, such as 'x.nc', got {type(path).__name__}")
    return Path(path)


def write_figure(figure: Any, path: str | Path, dpi: int) -> None:
    """Write a figure of matplotlib as PNG, whole or not at all, as `write_file` does.

    Parameters
    ----------
    figure : matplotlib.figure.Figure or callable
        What was drawn; or what draws and returns it, since letters are missed as they are laid out.
    path : str or path
        File to write; one that exists is replaced.
    dpi : int
        Dots per inch.
    """
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
            f"{str(path)!r}: the font lacks letters of some names, drawn as boxes; choose one that "
            "has them with matplotlib.rcParams['font.family']",
            stacklevel=2,
        )
    write_file(path, image.getvalue())


def write_tree(tree: xr.DataTree, path: str | Path) -> None:
    """Write a tree as netCDF, whole or not at all, as `write_file` does.

    Parameters
    ----------
    tree : xarray.DataTree
        In memory.
    path : str or path
        File to write; one that exists is replaced.
    """
    # In memory first: on a disk that is full HDF5 takes the whole process down with it.
    content = tree.to_netcdf(engine="h5netcdf")
    write_file(path, content, MARK, hashlib.sha256(content).digest())


def read_tree(path: str | Path) -> xr.DataTree:
    """Read a whole tree into memory, or say in one line why not.

    Parameters
    ----------
    path : str or path
        netCDF file.

    Returns
    -------
    xarray.DataTree

    Raises
    ------
    ValueError
        If there is no such file, or it is no netCDF file or a damaged one.
    """
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
    return f"{str(path)!r} is damaged ({reason}); take a copy of it, or make it again"


def check_tree(
    tree: xr.DataTree,
    groups: Groups,
    *,
    attributes: Sequence[str] = (),
    version: int | None = None,
    where: str = "the tree",
    expected: str = "a result of alikely",
    remedy: str = "write one with save",
) -> None:
    """Refuse a tree that lacks something its reader counts on, in one line that names it.

    Parameters
    ----------
    tree : xarray.DataTree
        As from `read_tree`.
    groups : mapping of str to mapping of str to sequence of str
        Groups that it must have, their variables or coordinates, and the dims of these in order;
        None for any dims. More groups and variables than these are welcome.
    attributes : sequence of str
        Attributes that the root must have.
    version : int, optional
        Newest layout that is understood: the root's ``format_version`` must be a whole number from
        1 to this.
    where, expected, remedy : str
        For the message: where the tree comes from, what it should be, and the way out.

    Raises
    ------
    ValueError
        If something is missing, has other dims, or is of a version that is not known.

    Examples
    --------
    >>> import xarray as xr
    >>> tree = xr.DataTree.from_dict({"estimates": xr.Dataset({"se": ("pair", [0.1])})})
    >>> check_tree(tree, {"estimates": {"se": ["pair"]}})
    >>> check_tree(tree, {"bootstrap": {}}, expected="a result")
    Traceback (most recent call last):
    ValueError: the tree is not a result: it has no group 'bootstrap'; write one with save
    """
    if version is not None:
        found = tree.attrs.get(VERSION)
        if not isinstance(found, int | np.integer) or found < 1:
            said = f"no {VERSION}" if found is None else f"{VERSION} {found!r}"
            raise ValueError(f"{where} is not {expected}: it has {said}; {remedy}")
        if found > version:
            raise ValueError(
                f"{where} has {VERSION} {found}, this alikely reads up to {version}; use a newer "
                "alikely"
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
        raise ValueError(f"{where} is not {expected}: {lacks[0]}; {remedy}")
