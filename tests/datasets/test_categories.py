"""The 16 categories of ImageNet's classes: files, folders, downloads from a local server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Server

import alikely as al
from alikely.datasets import loaders as categories

TEXT = """# Remarks, such as 'knife' is n03041632
    knife =    [n03041632]

    keyboard = [n03085013, n04505470]
"""
EXPECTED = {"n03041632": "knife", "n03085013": "keyboard", "n04505470": "keyboard"}
# As code has it, with positions of the classes besides.
CODE = "knife = ['n03041632']\nkeyboard = [\"n03085013\",\n  'n04505470']\nknife_indices = [499]\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server(TEXT.encode(), {"/page.txt": b"<html>", "/missing.txt": None})
    monkeypatch.setattr(categories, "MAPPING", f"{running.url}/data.txt")
    yield running
    running.close()


@pytest.mark.parametrize("text", [TEXT, CODE, TEXT.replace("\n", "\r\n")])
def test_both_ways_of_writing_them(text: str, tmp_path: Path) -> None:
    file = tmp_path / "any.txt"
    file.write_bytes(text.encode())
    assert al.datasets.sixteen_categories(file) == EXPECTED


@pytest.mark.parametrize("place", categories.PLACES)
def test_a_copy_of_the_public_code(place: str, tmp_path: Path) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CODE)
    assert al.datasets.sixteen_categories(tmp_path) == EXPECTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no categories in .*; expected a file with lines such as 'knife = "),
        ("knife: n03041632", "no categories in .*; expected lines such as 'knife = "),
        ("knife_indices = [499]", "no categories in"),
        (TEXT + "fork = [n03041632]", "n03041632 has two categories in .*: knife and fork; keep"),
    ],
)
def test_what_holds_no_categories(text: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "categories.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        al.datasets.sixteen_categories(file)
    assert "\n" not in str(caught.value)


def test_download_once(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        found = al.datasets.sixteen_categories(cache=tmp_path)
        assert found == EXPECTED
    assert server.requests == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.txt", "could not download .*404.*; download the file yourself and use p"),
        ("page.txt", "no categories in"),
    ],
)
def test_failed_downloads_leave_nothing_behind(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, message: str
) -> None:
    usual = categories.MAPPING
    monkeypatch.setattr(categories, "MAPPING", f"{server.url}/{path}")
    with pytest.raises(ValueError, match=message):
        al.datasets.sixteen_categories(cache=tmp_path / "cache")
    assert not any((tmp_path / "cache").glob("*"))
    monkeypatch.setattr(categories, "MAPPING", usual)
    assert al.datasets.sixteen_categories(cache=tmp_path / "cache") == EXPECTED
