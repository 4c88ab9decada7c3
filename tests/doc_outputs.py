"""Run the Python blocks of a page; write or compare the output that the page shows.

A text block after a Python block shows its printed output, or its last expression. ``uv run python
tests/doc_outputs.py PAGE ...`` writes these text blocks.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
# Display options of tables on pages.
SHOWN = (
    "display.width", 110, "display.max_columns", None, "display.max_rows", 20,
    "display.float_format", lambda x: f"{x:.0f}" if float(x).is_integer() else f"{x:.3f}",
    "display.max_colwidth", 60,
)  # fmt: skip


def pages() -> list[Path]:
    """README and the pages of the documentation that are kept in the repository."""
    written = [file for file in (ROOT / "docs").rglob("*.md") if "api" not in file.parts]
    return [ROOT / "README.md", *sorted(written)]


def outputs(page: Path) -> list[tuple[str | None, str]]:
    """Output that a page shows for each block, and the output that the block prints."""
    import alikely as al

    names: dict[str, Any] = {"__name__": page.stem}
    al.load_example().to_table().to_parquet("trials.parquet")
    found = []
    for code, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pd.option_context(*SHOWN):
            *body, last = ast.parse(code).body
            if isinstance(last, ast.Expr):
                exec(compile(ast.Module(body, []), page.name, "exec"), names)
                value = eval(compile(ast.Expression(last.value), page.name, "eval"), names)
                if value is not None:
                    print(value)
            else:
                exec(compile(code, page.name, "exec"), names)
        lines = [line.rstrip() for line in printed.getvalue().strip("\n").splitlines()]
        found.append((shown or None, "\n".join(lines) + "\n"))
    return found


def write(page: Path) -> None:
    """Write the output of blocks into the text blocks that follow them."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = iter([text for _, text in outputs(page)])
        os.chdir(here)

    def block(found: re.Match[str]) -> str:
        text = next(made)
        shown = f"\n```text\n{text}```\n" if found[2] is not None else ""
        return f"```python\n{found[1]}```\n{shown}"

    text = page.read_text(encoding="utf-8")
    page.write_text(BLOCK.sub(block, text), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name).resolve())
