"""Open a page in headless Chromium: document, console and requests."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-default-apps", "--enable-logging=stderr",
)  # fmt: skip


class Opened(NamedTuple):
    """The document after its scripts, console lines, and requested addresses."""

    document: str
    console: list[str]
    requests: list[str]


def opened(page: str, folder: Path, width: int = 800) -> Opened:
    """Open a page from a file, in a window of this width in pixels."""
    assert CHROMIUM is not None
    file, log = folder / "page.html", folder / "net.json"
    file.write_text(page, "utf-8")
    done = subprocess.run(
        [
            CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}",
            f"--window-size={width},900", "--virtual-time-budget=4000", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    console = re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr)
    # The log has one event per line, because a stopped browser may truncate it. The browser's own
    # requests (the time, user accounts) have no origin.
    asked = re.findall(
        r'"initiator":"(?!not an origin).*?"url":"((?:http|ws)[^"]*)"', log.read_text()
    )
    return Opened(done.stdout, console, list(dict.fromkeys(asked)))
