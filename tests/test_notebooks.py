"""Committed notebooks: run in order, with complete output."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from names_page import ROOT

# The longest first, so that two workers finish at about the same time.
LONGEST = ("03_", "09_", "08_", "05_", "06_", "04_")
NOTEBOOKS = sorted(
    (ROOT / "notebooks").rglob("*.ipynb"), key=lambda file: not file.name.startswith(LONGEST)
)
ENOUGH = 1_000_000  # bytes
CLAIMS = ROOT / "tests" / "notebook_claims"
# Replaces a download with a local copy, whose humans are those of the public release.
LOADED = """\
import alikely as al
from alikely.datasets import model_vs_human
al.datasets.model_vs_human = lambda _, **chosen: model_vs_human({folder!r}, **chosen)
"""


def code_of(notebook: Path) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def draws(cell: dict[str, Any]) -> bool:
    """Whether a cell makes a figure, apart from the functions that it defines."""
    # A final semicolon suppresses output; shell lines are not Python.
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
def test_outputs_are_complete(notebook: Path) -> None:
    cells = code_of(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert [n for n, cell in enumerate(cells, start=1) if draws(cell) and not shown(cell)] == []
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert "error" not in kinds
    # Finished progress bars.
    texts = ["".join(o.get("data", {}).get("text/plain", "")) for c in cells for o in c["outputs"]]
    assert not any(text.startswith("<nutpie") for text in texts)
    assert notebook.stat().st_size < ENOUGH


@pytest.mark.slow
def test_each_cell_displays_its_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of a plot are temporary, and the notebook remains interactive."""
    monkeypatch.delenv("MPLBACKEND", raising=False)
    plot = "al.plot_agreement(kind='bounds');"
    cells = [nbformat.v4.new_code_cell(text) for text in ("import alikely as al", plot, plot)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    assert [shown(cell) for cell in notebook.cells] == [False, True, True]


def source_of(notebook: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in code_of(notebook))


LOOKING = [file for file in NOTEBOOKS if "shared/data" in source_of(file)]


def claims(notebook: Path) -> str:
    """Code that checks what the text of a notebook claims, with the notebook's variables."""
    own = CLAIMS / f"{notebook.stem}.py"
    text = own.read_text() if own.is_file() else ""
    if notebook.parent.name == "papers":
        text += f"\nNOTEBOOK = {notebook.stem!r}\n{(CLAIMS / '_verdicts.py').read_text()}"
    return text


def run_with_claims(notebook: Path, content: Any) -> str:
    """Run cells in the notebook's folder as for a reader, then its claims; return printed text."""
    content.cells.append(nbformat.v4.new_code_cell(claims(notebook)))
    # Readers do not have the settings that speed up tests.
    ours = ("PYTENSOR_FLAGS", "PYTEST_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    client = nbclient.NotebookClient(
        content,
        timeout=900,
        kernel_name="python3",
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    client.execute(env=env | {"MPLBACKEND": "agg"})
    outputs = [output for cell in content.cells for output in cell.get("outputs", [])]
    return "".join(output.get("text", "") for output in outputs)


@pytest.mark.notebooks
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_runs_and_its_claims_are_true(notebook: Path) -> None:
    run_with_claims(notebook, nbformat.read(notebook, 4))


@pytest.mark.slow(first=True)
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("notebook", LOOKING, ids=lambda file: file.stem)
def test_runs_without_the_data(
    notebook: Path, tmp_path: Path, pytestconfig: pytest.Config, request: pytest.FixtureRequest
) -> None:
    """Run without the real data, with a message on the replaced data."""
    if pytestconfig.getoption("studies") != "full":
        pytest.skip("whole notebooks take minutes: --studies=full")
    # Deep enough that the folder next to the checkout is empty.
    copy = tmp_path / "checkout" / notebook.relative_to(ROOT)
    copy.parent.mkdir(parents=True)
    content = nbformat.read(notebook, 4)
    if re.search(r"model_vs_human\(.* if real else None", source_of(notebook)):
        folder = request.getfixturevalue("shared_data") / "model_vs_human"
        first = next(cell for cell in content.cells if cell.cell_type == "code")
        first.source = LOADED.format(folder=str(folder)) + first.source
    said = run_with_claims(copy, content)
    assert "real data not found" in said.lower() or " is not here: " in said
