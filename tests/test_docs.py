"""README and pages: Python blocks run, names and links exist, tables are correct."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from doc_outputs import ROOT, outputs, pages

import alikely as al
from alikely.metrics import metric as registry

PAGES = pages()
# Pages with blocks that take seconds.
LONG = (
    "benchmarks", "clusters", "error_patterns", "leaderboards", "margins", "metrics", "models",
    "panels", "reading_output", "reporting",
)  # fmt: skip
NAME = re.compile(r"\b(?:al|alikely)(?:\.[A-Za-z]\w*)+(?![\w*])")
LINK = re.compile(r"\]\(([^)#:]+)\)")
SCALES = {"identity": "its own scale", "fisher": "Fisher's z", "logit": "the logit"}


def texts() -> dict[str, str]:
    """Texts from which a reader may copy names, by file: prose, notebooks, the package."""
    written = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "models").glob("**/*.md"))]
    found = {file.relative_to(ROOT).as_posix(): file.read_text() for file in written}
    for file in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = json.loads(file.read_text())["cells"]
        found[file.relative_to(ROOT).as_posix()] = "\n".join(
            "".join(cell["source"]) for cell in cells
        )
    for file in sorted((ROOT / "src").rglob("*.py")):
        found[file.relative_to(ROOT).as_posix()] = file.read_text()
    return found


def exists(name: str) -> bool:
    """Whether a dotted name exists, and is public after ``al.``."""
    top, *parts = name.split(".")
    found: Any = al
    for at, part in enumerate(parts, start=1):
        if part in getattr(found, "__dataclass_fields__", ()):
            return True  # attributes of instances
        public = getattr(found, "__all__", [part])
        if inspect.ismodule(found) and top == "al" and part not in [*public, "__version__"]:
            return False
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["alikely", *parts[:at]]))
            except ImportError:
                # Style sheets have dotted names, too.
                return (ROOT / "src/alikely").joinpath(*parts).with_suffix(".mplstyle").is_file()
        found = getattr(found, part)
    return True


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.stem in LONG else [], id=page.stem)
        for page in PAGES
        if "```python" in page.read_text(encoding="utf-8")
    ],
)
def test_blocks_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run blocks in a folder with a file of trials, and remove registered metrics."""
    monkeypatch.chdir(tmp_path)
    found = outputs(page)
    shown = [(text, made) for text, made in found if text is not None]
    assert [made for _, made in shown] == [text for text, _ in shown], (
        f"uv run python tests/doc_outputs.py {page}"
    )


def test_names_exist() -> None:
    lost = {
        f"{place}: {name}"
        for place, text in texts().items()
        for name in NAME.findall(text)
        if not exists(name)
    }
    assert lost == set()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").rglob("*.ipynb")), ids=lambda p: p.stem
)
def test_notebooks_pass_arguments_that_exist(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    lost = []
    for call in [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]:
        name = ast.unparse(call.func)
        if re.fullmatch(r"al(\.\w+)+", name):
            known = inspect.signature(attrgetter(name.removeprefix("al."))(al)).parameters
            if all(each.kind is not each.VAR_KEYWORD for each in known.values()):
                lost += [
                    f"{name}: {key.arg}" for key in call.keywords if key.arg not in [None, *known]
                ]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    dead = [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()]
    assert dead == []


def test_the_table_of_metrics_is_correct() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = [re.split(r" \| ", line.strip("| ")) for line in text.splitlines() if "| `" in line[:4]]
    shown = {row[0].strip("`"): row for row in rows}
    known = {
        name: metric
        for name, metric in registry.metrics().items()
        if metric.module.startswith("alikely.")
    }
    assert set(shown) == set(known)
    for name, metric in known.items():
        _, short, _, values, order, scale = shown[name]
        low, high = metric.bounds
        assert short == metric.short
        assert values == (f"{low:g} to {high:g}" if low > float("-inf") else f"up to {high:g}")
        assert order.startswith("does not matter" if metric.symmetric else "matters")
        assert scale == SCALES[metric.scale]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_rows_of_tables_have_the_cells_of_their_header(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n)+.*", prose, flags=re.MULTILINE):
        *rows, after = table.split("\n")
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1, rows
        assert after.strip() == "" or after.startswith("<!--"), after
