"""A page for each public name, and one for each subject with the table of its names.

They are written next to the other pages before Sphinx reads these, and are not in the repository.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "api"
sys.path.insert(0, str(ROOT / "tests"))

from names_page import said, subjects  # noqa: E402  (it is in tests/)
from sources import listed  # noqa: E402

# What classes inherit from Python is not documented anew.
PYTHONS = "tuple,dict,object,BaseException,Exception,Warning,UserWarning"


def places() -> dict[str, list[str]]:
    """Modules that users may enter by name, and the public names of each.

    A name stands once, where it is shortest: as `alikely.compare`, not `alikely.estimates.compare`.
    """
    package = importlib.import_module("alikely")
    found = {"alikely": [name for name in package.__all__ if name not in subjects()]}
    shown = {id(getattr(package, name)) for name in found["alikely"]}
    waiting = [f"alikely.{name}" for name in subjects()]
    while waiting:
        place = waiting.pop(0)
        module = importlib.import_module(place)
        found[place] = []
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.ismodule(thing):
                waiting.append(thing.__name__)
            elif id(thing) not in shown:
                found[place].append(name)
                shown.add(id(thing))
    return found


def title(text: str, line: str = "=") -> str:
    """Heading in reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def directive(place: str, name: str) -> str:
    """What shows the docstring of a name, and of the methods of a class."""
    thing = getattr(importlib.import_module(place), name)
    head = f".. currentmodule:: {place}\n\n"
    if inspect.isclass(thing):
        return f"{head}.. autoclass:: {name}\n   :inherited-members: {PYTHONS}\n"
    if inspect.isroutine(thing):
        return f"{head}.. autofunction:: {name}\n"
    return f"{head}.. data:: {name}\n\n   {said(thing)}\n"


def subject_page(place: str, names: list[str], parts: list[str]) -> str:
    """Table of the names of a module, with its constants and the modules within it."""
    module = importlib.import_module(place)
    constants = [n for n in names if not callable_or_class(getattr(module, n))]
    paged = [n for n in names if n not in constants]
    text = [title(place if place != "alikely" else "API by subject"), f".. module:: {place}"]
    if place != "alikely":
        text.append(listed(inspect.getdoc(module) or ""))
    if parts:
        text.append(
            table(
                {
                    part: (inspect.getdoc(importlib.import_module(part)) or "").splitlines()[0]
                    for part in parts
                }
            )
        )
    if paged:
        ordered = sorted(paged, key=str.lower)
        text.append(table({f"{place}.{n}": said(getattr(module, n)) for n in ordered}))
    text += [directive(place, n) for n in constants]
    inside = [f"   {part} <{part}>" for part in parts]
    inside += [f"   {n} <{file_of(place, n)}>" for n in sorted(paged, key=str.lower)]
    if inside:
        text.append(".. toctree::\n   :hidden:\n\n" + "\n".join(inside))
    return "\n\n".join(text) + "\n"


def table(rows: dict[str, str]) -> str:
    """Names and what they say of themselves (which is escaped for tables of Markdown)."""
    lines = [f"   * - `{name}`\n     - {text.replace(chr(92), '')}" for name, text in rows.items()]
    return ".. list-table::\n   :widths: 40 60\n\n" + "\n".join(lines)


def callable_or_class(thing: object) -> bool:
    """Whether a name has a page of its own."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def file_of(place: str, name: str) -> str:
    """Page of a name; of a class it is marked: to some file systems capitals are small letters."""
    is_class = inspect.isclass(getattr(importlib.import_module(place), name))
    return f"{place}.{name}-class" if is_class else f"{place}.{name}"


def pages() -> dict[str, str]:
    """Names of files in `PAGES` and their texts."""
    found = places()
    written = {}
    for place, names in found.items():
        parts = [other for other in found if other.rpartition(".")[0] == place]
        written[f"{place}.rst"] = subject_page(place, names, parts)
        for name in names:
            if callable_or_class(getattr(importlib.import_module(place), name)):
                short = f"{place}.{name}".replace("alikely.", "al.", 1)
                text = title(short) + "\n" + directive(place, name)
                written[f"{file_of(place, name)}.rst"] = text
    return written


def write(app: Sphinx) -> None:
    """Write pages that have changed, and remove those of names that are gone."""
    PAGES.mkdir(exist_ok=True)
    wanted = pages()
    for file in PAGES.glob("alikely*.rst"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = PAGES / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def names_at_the_side() -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """For each page the module that it belongs to, and names and pages of what that has."""
    found = places()
    shown = {}
    for place, names in found.items():
        parts = [other for other in found if other.rpartition(".")[0] == place]
        paged = [n for n in names if callable_or_class(getattr(importlib.import_module(place), n))]
        entries = [(part, f"docs/api/{part}") for part in parts]
        entries += [(n, f"docs/api/{file_of(place, n)}") for n in sorted(paged, key=str.lower)]
        for page in [f"docs/api/{place}", *(page for _, page in entries[len(parts) :])]:
            shown[page] = (place, entries)
    return shown


def side(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Give the template of the side what it shows."""
    kept = app.__dict__.setdefault("alikely_sides", {})
    if not kept:
        kept.update(names_at_the_side())
    if page in kept:
        context["api_place"], context["api_names"] = kept[page]


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages as soon as the builder is there."""
    app.connect("builder-inited", write)
    app.connect("html-page-context", side)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
