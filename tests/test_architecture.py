"""Import rules (`tool.importlinter` in pyproject.toml), and what `import alikely` may load."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_imports_follow_their_contracts() -> None:
    # In a separate process, because it disables the loggers of its process.
    code = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_import_is_light() -> None:
    heavy = ("pymc", "pytensor", "arviz", "matplotlib", "pandas", "xarray", "scipy", "numpy")
    code = f"import sys, alikely; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_exact_analyses_load_neither_pymc_nor_matplotlib() -> None:
    code = (
        "import sys, alikely as al\n"
        "al.error_consistency(al.load_example(), 'human-human', rng=1).summary()\n"
        "heavy = ('pymc', 'pytensor', 'nutpie', 'matplotlib', 'alikely.report')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
