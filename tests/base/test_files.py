"""Files are written completely or not at all; errors about a file are one line."""

from __future__ import annotations

import errno
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr

from alikely._base import files
from alikely._base.files import check_tree, read_tree, write_file, write_tree


def tree() -> xr.DataTree:
    names = np.array(["a x b", "a x c"], dtype=object)
    estimates = xr.Dataset({"se": ("pair", [0.1, np.nan])}, coords={"pair": names})
    draws = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs={"metric": "error_consistency", "format_version": 1}),
            "estimates": estimates,
            "bootstrap": xr.Dataset({"ec": (("resample", "pair"), draws)}),
        }
    )


def test_content_in_chunks_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    for content in (("one\n",), ("é", b"\x00", memoryview(b"two")), ()):
        write_file(path, *content)
        pieces = [part.encode() if isinstance(part, str) else bytes(part) for part in content]
        assert path.read_bytes() == b"".join(pieces)
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_are_preserved(tmp_path: Path) -> None:
    path, link = tmp_path / "file.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


class Full:
    """A disk with space for half of what is written."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def writelines(self, pieces: list[bytes]) -> None:
        content = b"".join(pieces)
        self.file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fill(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, mode="r": Full(opened(self, mode)) if "x" in mode else None
    )


@pytest.mark.parametrize("where", ["write", "fsync", "replace", "short"])
def test_a_full_disk_leaves_the_earlier_file(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.nc"
    write_tree(tree(), path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        if where == "write":
            fill(patch)
        elif where == "short":
            patch.setattr(Full, "writelines", lambda self, pieces: self.file.write(pieces[0]))
            fill(patch)
        else:

            def refuse(*_: object) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patch.setattr(os, where, refuse)
        with pytest.raises(OSError, match=r"result\.nc") as caught:
            write_tree(tree(), path)
    assert caught.value.errno == (errno.EIO if where == "short" else errno.ENOSPC)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def write_for_ever(path: Path) -> None:
    for number in range(10_000):
        write_file(path, bytes([number % 256]) * 4_000_000)


@pytest.mark.slow
def test_a_kill_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"\x00" * 4_000_000)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=write_for_ever, args=(path,))
    process.start()
    while not list(tmp_path.glob("*.part")):
        time.sleep(0.001)
    time.sleep(0.002)
    process.kill()
    process.join()
    content = path.read_bytes()
    assert len(content) == 4_000_000
    assert len(set(content)) == 1


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("nowhere/file.txt", FileNotFoundError, r"nowhere/file\.txt"),
        (".", ValueError, "is not a file; give the path of a file to write"),
        ("/dev/null", ValueError, "'/dev/null' is not a file"),
    ],
)
def test_invalid_targets(name: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        write_file(tmp_path / name, "x")
    assert Path("/dev/null").is_char_device()


def test_a_tree_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "tree.nc"
    write_tree(tree(), path)
    found = read_tree(path)
    assert found.identical(tree())
    found["estimates"]["se"][0] = 1.0  # in memory: no file stays open
    # Any program that reads netCDF can read it. If another program rewrites it, it has no digest.
    with xr.open_datatree(path, engine="h5netcdf") as plain:
        assert plain.load().identical(tree())
    with h5py.File(path, "r+") as file:
        file["estimates/se"][0] = 0.5
    assert float(read_tree(path)["estimates/se"][0]) == 0.5


def test_every_changed_byte_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "tree.nc"
    write_tree(tree(), path)
    content, rng = path.read_bytes(), np.random.default_rng(2)
    for place in rng.integers(8, len(content), 50):
        changed = bytearray(content)
        changed[place] ^= 1 << rng.integers(8)
        if place >= len(content) - files.N_DIGEST - len(files.MARK):
            continue  # the mark itself: the file then counts as one without a digest
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="is damaged") as caught:
            read_tree(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("left", [8, 100, 3000, -60])
def test_truncated_files_are_detected(left: int, tmp_path: Path) -> None:
    path = tmp_path / "tree.nc"
    write_tree(tree(), path)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(ValueError, match=r"tree.nc' is damaged \(.+\); restore it from a copy"):
        read_tree(path)


GROUPS = {"estimates": {"se": ["pair"], "pair": None}, "bootstrap": {"ec": ["resample", "pair"]}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": {"posterior": {}}}, "has no group 'posterior'; write one with Result.save"),
        ({"groups": {"estimates": {"p": ["pair"]}}}, "group 'estimates' has no variable 'p'"),
        ({"groups": {"bootstrap": {"ec": ["pair", "resample"]}}}, "variable 'ec' of its group"),
        ({"attributes": ["metric", "model"]}, "'x.nc' is not a Result.*has no attribute 'model'"),
    ],
)
def test_missing_parts_of_a_tree_are_named(change: dict[str, Any], message: str) -> None:
    given = {"groups": GROUPS, "attributes": ["metric"], "version": 1, "path": "x.nc"}
    check_tree(tree(), **given)
    with pytest.raises(ValueError, match=message):
        check_tree(tree(), **given | change)
