"""The house plan: which room may import what, and what `import alikely` may load."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "alikely"

# Room -> rooms it may import. Data flows one way: trials, tables, metrics, inference, results, on.
# Helpers (underscored files) import nothing of the package and may be imported by every room.
ALLOWED: dict[str, set[str]] = {
    "trials": set(),
    "tables": {"trials"},
    "metrics": set(),
    "priors": set(),
    "evaluation": {"metrics", "tables"},
    "influence": {"metrics", "tables", "evaluation"},
    "resampling": {"metrics", "tables", "evaluation"},
    "null": {"metrics", "tables"},
    "conjugate": {"metrics", "tables", "priors", "evaluation"},
    "models": {"tables", "metrics", "priors", "mixtures"},
    "sampling": {"metrics", "tables", "priors", "conjugate", "models"},
    "results": {"metrics", "resampling", "null"},
    "error_posteriors": {"metrics"},
    "error_tables": {"trials", "tables", "metrics"},
    "error_draws": {
        "tables", "metrics", "evaluation", "conjugate", "error_posteriors", "error_tables",
    },
    "error_models": {
        "tables", "metrics", "models", "sampling", "error_posteriors", "error_tables",
    },
    "simulate": {"trials", "tables", "metrics"},
    "datasets": {"trials", "simulate"},
    "estimates": {
        "trials", "tables", "metrics", "priors", "influence", "resampling", "null", "sampling",
        "results", "error_tables", "error_draws", "error_models",
    },
    "scores": {"trials", "metrics"},
    "margin_tables": {"trials", "tables", "metrics"},
    "margin_models": {"metrics", "margin_tables", "sampling", "models"},
    "margin_estimates": {
        "trials", "tables", "metrics", "influence", "resampling", "results", "reliability",
        "error_draws", "scores", "margin_tables", "margin_models",
    },
    "margin_comparison": {"trials", "tables", "influence", "results"},
    "observer_noise": {
        "trials", "tables", "metrics", "sampling", "models", "margin_models",
    },
    "comparison": {"metrics", "influence", "conjugate", "sampling", "results"},
    "ranking": set(),
    "ceilings": {"trials", "tables", "metrics"},
    "nesting": {"tables", "metrics", "evaluation", "influence"},
    "scoreboard": {"metrics", "resampling", "nesting", "ranking", "contrasts", "ceilings"},
    "benchmark": {
        "trials", "tables", "metrics", "resampling", "conjugate", "exclusions", "nesting",
        "ceilings", "cohorts", "scoreboard", "influence", "error_draws",
    },
    "reliability": {"metrics"},
    "correlations": {"results"},
    "contrasts": {"null"},
    "mixtures": set(),
    "spectrum": {"trials", "tables", "null"},
    "regime_mixtures": {"mixtures"},
    "condition_scores": {"trials", "tables", "metrics", "evaluation", "resampling", "nesting"},
    "condition_tables": {"nesting"},
    "regime_parts": {"nesting", "condition_tables"},
    "regime_scores": {"condition_tables", "regime_parts", "ranking", "families"},
    "spectrum_posterior": {"mixtures", "sampling", "models"},
    "sensitivity": {"trials", "tables", "metrics", "exclusions", "nesting"},
    "reconstruction": {"metrics"},
    "exclusions": {"trials", "datasets"},
    "cohorts": {"trials", "tables", "sampling", "models"},
    "operating": {"metrics"},
    "design": {"metrics", "operating", "simulate"},
    "power": {"metrics", "operating", "simulate", "design"},
    "beliefs": {"metrics", "operating", "simulate", "design", "results"},
    "sequential": {"metrics", "operating", "design"},
    "crossed_designs": {"trials", "tables", "metrics", "evaluation", "influence", "nesting"},
    "margin_designs": {"metrics", "reliability"},
    "counting": set(),
    "studies": set(),
    "coverage": {"metrics", "operating", "resampling", "simulate", "studies"},
    "calibration": {
        "tables", "metrics", "models", "sampling", "simulate", "datasets", "error_posteriors",
        "studies", "coverage", "bands", "plots",
    },
    "bands": set(),
    "coverage_estimates": {
        "trials", "tables", "metrics", "models", "sampling", "results", "error_tables",
        "error_posteriors", "error_draws", "error_models", "estimates", "margin_estimates",
        "simulate", "studies",
    },
    "groupings": set(),
    "families": {"null", "groupings"},
    "condition_errors": {"trials", "tables", "metrics"},
    "plots": {
        "metrics", "null", "results", "comparison", "scoreboard", "ranking", "cohorts",
        "observer_noise", "bands",
    },
    "cli": {
        "trials", "datasets", "estimates", "comparison", "results", "plots", "benchmark",
        "scoreboard", "scores", "margin_estimates", "margin_comparison",
    },
}  # fmt: skip
FRONT = "__init__"  # the package itself: names only, loaded lazily
ONLY_IN = {
    "pymc": {"models", "sampling", "calibration"},
    "pytensor": {"models", "sampling", "calibration"},
    "nutpie": {"models", "sampling", "calibration"},
    "matplotlib": {"plots", "cli"},
}


def imports(file: Path, package: str) -> set[str]:
    """Dotted names that a file imports anywhere, functions included; relative ones resolved."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                # One level up from a file of the package is the package; deeper rooms are flat.
                base = f"{package}.{base}".rstrip(".")
            found.add(base)
            # `from alikely import tables` names a room too.
            found |= {f"{base}.{alias.name}" for alias in node.names if base == package}
    return found


def room(file: Path, root: Path) -> str:
    return file.relative_to(root).parts[0].removesuffix(".py")


def violations(root: Path) -> list[str]:
    package, found = root.name, []
    graph: dict[str, set[str]] = {}
    for file in sorted(root.rglob("*.py")):
        name = room(file, root)
        if name == FRONT:
            continue
        helper = name.startswith("_")
        if not helper and name not in ALLOWED:
            found.append(f"{name}: a room that is not in the plan; add it to ALLOWED")
            continue
        used = imports(file, package)
        rooms = {entry.split(".")[1] for entry in used if entry.startswith(f"{package}.")}
        rooms = {
            entry for entry in rooms if (root / entry).is_dir() or (root / f"{entry}.py").is_file()
        }
        graph.setdefault(name, set()).update(rooms - {name})
        for entry in sorted(rooms - {name}):
            if not entry.startswith("_") and (helper or entry not in ALLOWED[name]):
                found.append(f"{name}: must not import {entry}")
        for library, allowed in ONLY_IN.items():
            if any(entry.split(".")[0] == library for entry in used) and name not in allowed:
                found.append(f"{name}: must not import {library}")
    try:
        tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        found.append(f"cycle: {' -> '.join(error.args[1])}")
    return found


def test_every_room_imports_only_what_its_row_allows() -> None:
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (
            {
                "trials.py": "from alikely.metrics import error_consistency",
                "metrics/__init__.py": "",
            },
            "trials: must not import metrics",
        ),
        (
            {"trials.py": "def f():\n    from . import tables", "tables.py": ""},
            "trials: must not import tables",
        ),
        ({"trials.py": "from .tables import x", "tables.py": ""}, "trials: must not import tables"),
        ({"metrics/x.py": "import pymc as pm"}, "metrics: must not import pymc"),
        ({"tables.py": "def f():\n    import pytensor.tensor"}, "tables: must not import pytensor"),
        ({"results.py": "from matplotlib import pyplot"}, "results: must not import matplotlib"),
        (
            {"_help.py": "from alikely import tables", "tables.py": ""},
            "_help: must not import tables",
        ),
        ({"kitchen.py": ""}, "kitchen: a room that is not in the plan; add it to ALLOWED"),
        (
            {"tables.py": "import alikely.trials", "trials.py": "import alikely.tables"},
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
        "print([m for m in ('pymc', 'pytensor', 'nutpie', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    import alikely

    for name in alikely.__all__:
        assert getattr(alikely, name) is not None


def test_no_source_file_is_too_long() -> None:
    long = [file.name for file in PACKAGE.rglob("*.py") if len(file.read_text().splitlines()) > 600]
    assert long == []
