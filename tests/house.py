"""Counts the house: rooms, floors, arrows between them, and its longest pieces.

``uv run python tests/house.py`` prints them, ``... tests/house.py names`` writes ``docs/names.md``.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "alikely"
NAMES_PAGE = ROOT / "docs" / "names.md"
FRONT = "__init__"  # the package itself: names only, loaded lazily
# The one way up: what all results share has a method that lays them out, of a room above them.
# File, and the room that a function of it (and the types of its signature) may name.
WAY_UP = {"estimates/tree.py": "report"}


@functools.cache
def parsed(file: Path) -> ast.Module:
    """Syntax of a file."""
    return ast.parse(file.read_text())


def imports(file: Path, package: str) -> set[str]:
    """Dotted names that a file imports anywhere, functions included; relative ones resolved."""
    found: set[str] = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level == 1:
                continue  # a file of the same folder
            if node.level > 1:
                base = f"{package}.{base}".rstrip(".")
            found.add(base)
            # `from alikely import data` names a room too.
            found |= {f"{base}.{alias.name}" for alias in node.names if base == package}
    return found


def room(file: Path, root: Path) -> str:
    """Folder of the first level that holds a file."""
    return file.relative_to(root).parts[0].removesuffix(".py")


def arrows(root: Path) -> dict[str, set[str]]:
    """Folders of the first level, and those that each imports."""
    graph: dict[str, set[str]] = {}
    for file in sorted(root.rglob("*.py")):
        name = room(file, root)
        if name == FRONT:
            continue
        used = (entry.split(".") for entry in imports(file, root.name))
        rooms = {parts[1] for parts in used if parts[0] == root.name and len(parts) > 1}
        rooms = {entry for entry in rooms if (root / entry).is_dir()}
        rooms.discard(WAY_UP.get(file.relative_to(root).as_posix(), ""))
        graph.setdefault(name, set()).update(rooms - {name})
    return graph


def floors(graph: dict[str, set[str]]) -> dict[str, int]:
    """Floor of each room: 1 where it imports no other, else one above the highest it imports."""
    found: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(graph).static_order():
        found[name] = 1 + max((found[below] for below in graph.get(name, ())), default=0)
    return found


def lines_of_code(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]
) -> int:
    """Lines of a function or class, without docstrings, comments and blank lines."""
    counted = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = inner.body[0]
            if ast.get_docstring(inner, clean=False) is not None:
                counted -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    written = (lines[line - 1].strip() for line in counted)
    return sum(bool(line) and not line.startswith("#") for line in written)


def pieces(root: Path) -> Iterator[tuple[str, int, str]]:
    """Kind (``"function"``, ``"class"``, ``"file"``), length and place of each piece of code."""
    for file in sorted(root.rglob("*.py")):
        lines, place = file.read_text().splitlines(), file.relative_to(root).as_posix()
        yield "file", len(lines), place
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.ClassDef):
                yield "class", lines_of_code(node, lines), f"{place}: {node.name}"
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield "function", lines_of_code(node, lines), f"{place}: {node.name}"


def subjects() -> list[str]:
    """Packages whose names are public: the rooms that users may enter by name."""
    import alikely

    return sorted(name for name in alikely.__all__ if (PACKAGE / name).is_dir())


def names_page() -> str:
    """Text of the page that lists every public name, by subject."""
    import alikely

    rooms = subjects()
    flat = [name for name in alikely.__all__ if name not in rooms]
    parts = [
        "# Names",
        "Every public name, by subject, after `import alikely as al`; `help` says the rest.",
        "(This page is written by `uv run python tests/house.py names`; a test compares it.)",
        "## `al`",
        _table("al", [name for name in flat if not name.startswith("plot_")]),
        "## `al.plot_*`",
        _table("al", [name for name in flat if name.startswith("plot_")]),
    ]
    for name in rooms:
        package = importlib.import_module(f"alikely.{name}")
        # Plots are flat, too.
        flat_too = "plot_" if name == "plots" else "none"
        names = [each for each in package.__all__ if not each.startswith(flat_too)]
        parts += [f"## `al.{name}`", str(package.__doc__).strip(), _table(name, names)]
    return "\n\n".join(parts) + "\n"


def _table(place: str, names: list[str]) -> str:
    package = importlib.import_module("alikely" if place == "al" else f"alikely.{place}")
    prefix = "al" if place == "al" else f"al.{place}"
    rows = [f"| `{prefix}.{name}` | {said(getattr(package, name))} |" for name in sorted(names)]
    return "\n".join(["| name | what |", "|---|---|", *rows])


def said(found: object) -> str:
    """First line of what an object says of itself; of a constant, what it is."""
    if inspect.ismodule(found) or inspect.isclass(found) or inspect.isroutine(found):
        text = (inspect.getdoc(found) or "").splitlines()[0]
    elif type(found).__name__ == "Metric":
        text = f"Metric `{found.name}`."
    else:
        text = f"Constant, a {type(found).__name__}."
    return re.sub(r",? \[\w+\]_", "", text).replace("|", "\\|")


def main() -> None:
    """Print what the house measures, or write the page of names."""
    if sys.argv[1:] == ["names"]:
        NAMES_PAGE.write_text(names_page())
        return
    graph = arrows(PACKAGE)
    print(f"rooms   {len(graph)}")
    print(f"floors  {max(floors(graph).values())}")
    print(f"arrows  {sum(map(len, graph.values()))}")
    for kind in ("function", "class", "file"):
        length, place = max((n, where) for of, n, where in pieces(PACKAGE) if of == kind)
        print(f"longest {kind}: {length} lines, {place}")


if __name__ == "__main__":
    main()
