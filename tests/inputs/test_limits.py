"""Stopped subcommands and full disks give one line and no partial file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Both kinds of output: tables with plots, and a page.
VERBS = ("compare", "report")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux"),
]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    script = Path(__file__).with_name("children.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.startswith("alikely: ")


@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_is_one_line(report: dict[str, Any], verb: str) -> None:
    found = report["disk"][verb]
    assert found["code"] == 1, found
    assert one_line(found["err"]), found
    assert "File too large" in found["err"]
    assert found["left"] == []


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("verb", VERBS)
def test_a_signal_is_one_line(report: dict[str, Any], verb: str, name: str, code: int) -> None:
    found = report[name][verb]
    assert found["code"] == code, found
    assert one_line(found["err"]), found
    assert "; nothing was written" in found["err"] or "; complete files: s/" in found["err"]
