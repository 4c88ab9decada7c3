"""How long `import alikely` takes in a fresh process, beside one that imports nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest


@pytest.mark.parametrize("code", ["pass", "import alikely"])
def test_import(benchmark: Any, code: str) -> None:
    # The first round reads files from disk and compiles them.
    run = [sys.executable, "-c", code]
    benchmark.pedantic(
        subprocess.run, args=(run,), kwargs={"check": True}, rounds=5, warmup_rounds=1
    )
