"""Public names: stub, package and documentation agree, and each says what it takes and gives."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re

import pytest
from house import NAMES_PAGE, PACKAGE, names_page, subjects

MOST_FLAT_NAMES = 30  # beside the subjects and plot_*
PLACES = ["alikely", *(f"alikely.{name}" for name in subjects())]
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields")


def public(place: str) -> list[tuple[str, object]]:
    package = importlib.import_module(place)
    return [(name, getattr(package, name)) for name in package.__all__]


def sections(found: object) -> set[str]:
    """Headings of a numpydoc docstring."""
    text = inspect.getdoc(found) or ""
    return {name for name in SECTIONS if re.search(rf"^{name}\n-+$", text, flags=re.MULTILINE)}


@pytest.mark.parametrize("place", PLACES)
def test_stub_and_package_agree(place: str) -> None:
    stub = PACKAGE.joinpath(*place.split(".")[1:], "__init__.pyi")
    live = importlib.import_module(place).__all__
    if not stub.exists():  # imported as it is, not lazily
        return
    imported: list[str] = []
    listed: list[str] = []
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            imported += [alias.asname or "" for alias in node.names]
        elif isinstance(node, ast.Assign):
            listed = ast.literal_eval(node.value)
    assert sorted(imported) == sorted(listed) == sorted(live)


@pytest.mark.parametrize("place", PLACES)
def test_every_name_says_what_it_takes_and_gives(place: str) -> None:
    silent = []
    for name, found in public(place):
        if inspect.ismodule(found):
            continue
        if inspect.isroutine(found):
            signature = inspect.signature(found)
            wanted = {"Parameters"} if signature.parameters else set()
            if signature.return_annotation not in (None, "None"):
                wanted.add("Returns")
        elif inspect.isclass(found) and not issubclass(found, Warning):
            wanted = {"Attributes"} if "Attributes" in sections(found) else {"Parameters"}
        else:
            continue
        said = sections(found)
        if "Yields" in said:
            said.add("Returns")
        silent += [f"{place}.{name}: {section}" for section in sorted(wanted - said)]
    assert silent == []


@pytest.mark.parametrize("place", PLACES)
def test_no_submodule_has_the_name_of_a_function(place: str) -> None:
    """Importing it would put the module where the function was."""
    package = importlib.import_module(place)
    modules = {entry.name for entry in pkgutil.iter_modules(package.__path__)}
    functions = {name for name, found in public(place) if not inspect.ismodule(found)}
    assert modules & functions == set()


def test_few_names_are_flat() -> None:
    import alikely

    flat = [name for name in alikely.__all__ if not name.startswith("plot_")]
    assert len(set(flat) - set(subjects())) <= MOST_FLAT_NAMES


def test_the_page_of_names_is_as_the_package() -> None:
    assert NAMES_PAGE.read_text() == names_page(), "run: uv run python tests/house.py names"
