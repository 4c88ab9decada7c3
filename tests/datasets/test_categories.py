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


def test_download_once(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        found = al.datasets.sixteen_categories(cache=tmp_path)
        assert found == EXPECTED
    assert server.requests == 1
