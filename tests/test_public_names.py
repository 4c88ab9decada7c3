"""Public names: stub, package and documentation agree, and docstrings are complete."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil

import pytest
from names_page import NAMES_PAGE, PACKAGE, names_page, subjects
from numpydoc.validate import validate

MOST_PARAMETERS = 16
MOST_FLAT_NAMES = 30  # in addition to the subjects and plot_*
PLACES = ["alikely", *(f"alikely.{name}" for name in subjects())]
# A docstring has a one-line summary that ends with a period, and a section on returned values.
# Parameters equal those of the signature; a class may list attributes instead.
CHECKS = {"GL08", "GL07", "SS01", "SS03", "SS06", "PR01", "PR02", "RT01"}


def public(place: str) -> list[tuple[str, object]]:
    package = importlib.import_module(place)
    return [(name, getattr(package, name)) for name in package.__all__]


@pytest.mark.parametrize("place", PLACES)
def test_stub_and_package_agree(place: str) -> None:
    stub = PACKAGE.joinpath(*place.split(".")[1:], "__init__.pyi")
    live = importlib.import_module(place).__all__
    if not stub.exists():  # imported directly, not lazily
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
def test_docstrings_pass_numpydoc_validation(place: str) -> None:
    found = [
        f"{place}.{name}: {code} {text}"
        for name, thing in public(place)
        if inspect.isroutine(thing) or inspect.isclass(thing)
        for code, text in validate(f"{place}.{name}")["errors"]
        if code in CHECKS - ({"PR01"} if inspect.isclass(thing) else set())
    ]
    assert found == []


@pytest.mark.parametrize("place", PLACES)
def test_no_submodule_has_the_name_of_a_function(place: str) -> None:
    """Importing the module would replace the function."""
    package = importlib.import_module(place)
    modules = {entry.name for entry in pkgutil.iter_modules(package.__path__)}
    functions = {name for name, found in public(place) if not inspect.ismodule(found)}
    assert modules & functions == set()


def functions() -> dict[str, object]:
    """Public functions and methods of public classes, by name."""
    found: dict[str, object] = {}
    for place in PLACES:
        for name, thing in public(place):
            owned = vars(thing).items() if inspect.isclass(thing) else [("", thing)]
            for method, one in owned:
                code = getattr(one, "__func__", one)
                if inspect.isfunction(code) and not method.startswith("_"):
                    found[f"{place}.{name}.{method}".rstrip(".")] = code
    return found


def test_signatures_are_short_and_omit_session_options() -> None:
    for name, one in functions().items():
        parameters = inspect.signature(one).parameters  # type: ignore[arg-type]
        assert len(set(parameters) - {"self", "cls"}) <= MOST_PARAMETERS, name
        assert "progressbar" not in parameters, name
        for option in ("ci_prob", "ci_kind"):
            if option in parameters:
                assert parameters[option].default in (None, inspect.Parameter.empty), name


def test_few_names_are_at_the_top_level() -> None:
    import alikely

    flat = [name for name in alikely.__all__ if not name.startswith("plot_")]
    assert len(set(flat) - set(subjects())) <= MOST_FLAT_NAMES


def test_the_page_of_names_is_current() -> None:
    assert NAMES_PAGE.read_text() == names_page(), "run: uv run python tests/names_page.py"
