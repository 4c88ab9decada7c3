"""The house plan: which room may import what, and what `import alikely` may load."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from house import PACKAGE, ROOT, WAY_UP, arrows, imports, pieces, room

# Folder -> folders it may import, from the ground up: data flows one way. The same table stands in
# CONTRIBUTING.md; a test below compares them.
GROUND = {"_base"}
COUNTS = {*GROUND, "metrics", "data", "stats"}
ALLOWED: dict[str, set[str]] = {
    "_base": set(),
    "metrics": {*GROUND},
    "data": {*GROUND},
    "stats": {*GROUND},
    "simulate": {*GROUND, "metrics", "data"},
    "models": {*COUNTS},
    "datasets": {*GROUND, "data"},
    "inference": {*COUNTS, "models"},
    "errors": {*COUNTS, "models", "inference"},
    "margins": {*COUNTS, "models", "inference"},
    "estimates": {*COUNTS, "models", "inference", "errors", "margins"},
    "benchmark": {*COUNTS, "models", "inference", "errors", "estimates"},
    "spectrum": {*COUNTS, "models", "inference", "benchmark"},
    "planning": {*COUNTS, "simulate", "inference", "estimates", "benchmark"},
    "plots": {*COUNTS, "inference", "margins", "estimates", "benchmark"},
    "calibration": {
        *COUNTS, "simulate", "models", "inference", "errors", "estimates", "planning",
    },
    "papers": {
        *COUNTS, "inference", "errors", "estimates", "benchmark", "spectrum", "plots",
    },
    "report": {*GROUND, "metrics", "data", "estimates", "benchmark", "plots"},
    "cli": {
        *GROUND, "metrics", "data", "margins", "estimates", "benchmark", "plots", "papers",
        "report",
    },
}  # fmt: skip
MOST_ROOMS, MOST_ARROWS = 19, 100
LONGEST = {"function": 80, "class": 300, "file": 600}  # lines
LONGER = {
    "spectrum/regime_mixtures.py: regimes": "a third of it is signature, dims and attributes",
}
SAMPLERS = {"models", "inference", "calibration"}
ONLY_IN = {
    "pymc": SAMPLERS,
    "pytensor": SAMPLERS,
    "nutpie": SAMPLERS,
    "matplotlib": {"plots", "papers", "cli"},
}


def violations(root: Path) -> list[str]:
    found = []
    graph = arrows(root)
    for name, rooms in graph.items():
        if name not in ALLOWED:
            found.append(f"{name}: a room that is not in the plan; add it to ALLOWED")
            continue
        found += [f"{name}: must not import {entry}" for entry in sorted(rooms - ALLOWED[name])]
    for file in sorted(root.rglob("*.py")):
        used = {entry.split(".")[0] for entry in imports(file, root.name)}
        for library, allowed in ONLY_IN.items():
            if library in used and room(file, root) not in allowed:
                found.append(f"{room(file, root)}: must not import {library}")
    try:
        tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        found.append(f"cycle: {' -> '.join(error.args[1])}")
    return found


def test_every_room_imports_only_what_its_row_allows() -> None:
    assert violations(PACKAGE) == []


def test_the_one_way_up_is_taken_when_it_is_asked_for() -> None:
    """No other file has one; and there it is within a function, so that nothing above is loaded."""
    assert WAY_UP == {"estimates/tree.py": "report"}
    tree = ast.parse((PACKAGE / "estimates/tree.py").read_text())
    up = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("alikely.report")
    ]
    within = [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    ]
    types = [
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    ]
    assert len(up) == 2
    assert all(any(node is one for one in (*within, *types)) for node in up)


def test_the_house_stays_small(figure: Callable[[str], None]) -> None:
    graph = arrows(PACKAGE)
    n_arrows = sum(map(len, graph.values()))
    figure(f"the house: {len(graph)} rooms, {n_arrows} arrows between them")
    assert len(graph) <= MOST_ROOMS
    assert n_arrows <= MOST_ARROWS


def test_the_plan_has_no_way_up() -> None:
    """The table itself is a plan from the ground up: a row names only rows above it."""
    seen: set[str] = set()
    for name, allowed in ALLOWED.items():
        assert allowed <= seen, name
        seen.add(name)


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"data/x.py": "from alikely.stats import eti", "stats/y.py": ""}, "data: must not import"),
        (
            {"data/x.py": "def f():\n    from .. import cli", "cli/y.py": ""},
            "data: must not import",
        ),
        ({"data/x.py": "from ..cli import y", "cli/y.py": ""}, "data: must not import cli"),
        ({"metrics/x.py": "import pymc as pm"}, "metrics: must not import pymc"),
        ({"data/x.py": "def f():\n    import pytensor.tensor"}, "data: must not import pytensor"),
        ({"estimates/x.py": "from matplotlib import pyplot"}, "estimates: must not import"),
        (
            {"_base/x.py": "from alikely import data", "data/y.py": ""},
            "_base: must not import data",
        ),
        ({"kitchen.py": ""}, "kitchen: a room that is not in the plan; add it to ALLOWED"),
        (
            {"data/x.py": "import alikely.metrics.y", "metrics/y.py": "import alikely.data.x"},
            "cycle: ",
        ),
    ],
)
def test_the_check_finds_offenders(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    root = tmp_path / "alikely"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert any(line.startswith(complaint) for line in violations(root))


def test_import_is_light() -> None:
    heavy = ("pymc", "pytensor", "arviz", "matplotlib", "pandas", "xarray", "scipy", "numpy")
    code = f"import sys, alikely; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exact_analyses_load_neither_pymc_nor_matplotlib() -> None:
    code = (
        "import sys, alikely as al\n"
        "al.error_consistency(al.load_example(), 'human-human', rng=1).summary()\n"
        "heavy = ('pymc', 'pytensor', 'nutpie', 'matplotlib', 'alikely.report')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_too_long() -> None:
    long = {place for of, n, place in pieces(PACKAGE) if n > LONGEST[of]}
    assert long - set(LONGER) == set()


def test_contributing_shows_the_same_table() -> None:
    """Rows ``| `folder/` | holds | may import |``, from the ground up."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(\w+)/` \| .+ \| (.+) \|$", text, flags=re.MULTILINE)
    shown = {name: set(re.findall(r"\w+", below)) for name, below in rows}
    assert shown == ALLOWED
    assert list(shown) == list(ALLOWED)
