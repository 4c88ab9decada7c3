"""Notebooks as committed: run in order, and nothing of what they show is lost."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from house import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
ENOUGH = 1_000_000  # bytes


def code_of(notebook: Path) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def draws(cell: dict[str, Any]) -> bool:
    """Whether a cell makes a figure; what it defines for others to call makes none."""
    # A last semicolon keeps an object from being printed; lines of the shell are none of Python's.
    tree = ast.parse("".join(line for line in cell["source"] if not line.startswith(("%", "!"))))
    run = [one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.ClassDef)]
    called = [
        call.func
        for one in run
        for call in ast.walk(one)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    ]
    return any(name.attr.startswith("plot_") or name.attr == "subplots" for name in called)


def shown(cell: dict[str, Any]) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell["outputs"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_outputs_are_there(notebook: Path) -> None:
    cells = code_of(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert [n for n, cell in enumerate(cells, start=1) if draws(cell) and not shown(cell)] == []
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert "error" not in kinds
    # Bars of progress, when it is done.
    texts = ["".join(o.get("data", {}).get("text/plain", "")) for c in cells for o in c["outputs"]]
    assert not any(text.startswith("<nutpie") for text in texts)
    assert notebook.stat().st_size < ENOUGH


def test_a_figure_that_is_not_shown_is_noticed() -> None:
    cell = {"source": ["x = 1\n", "al.plot_null(result);"], "outputs": []}
    assert draws(cell)
    assert not shown(cell)
    assert not draws({"source": ["def f():\n", "    al.plot_null(result)"]})
