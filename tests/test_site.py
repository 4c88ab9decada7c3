"""Inputs of the site, checked without building it: names, pictures, drawings, figures."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest
from names_page import PACKAGE, ROOT

import alikely as al

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))
# Output types shown by the site; notebooks also store rows of `papers.csv` as JSON.
SHOWN, ALONGSIDE = {"text/plain", "text/html", "text/latex", "image/png"}, {"application/json"}


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the scripts of the site importable, because they are no package."""
    monkeypatch.setattr(sys, "path", [str(DOCS), str(DOCS / "_ext"), *sys.path])


def functions() -> list[str]:
    """Functions at the top level of the package, without plots."""
    return [
        name
        for name in al.__all__
        if inspect.isroutine(getattr(al, name)) and not name.startswith("plot_")
    ]


def test_choosing_a_function_names_every_function() -> None:
    page = (DOCS / "choosing_a_function.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert [name for name in functions() if f"`al.{name}(" not in page] == []


def test_the_gallery_is_current() -> None:
    gallery = importlib.import_module("draw_gallery")
    drawn = [name for _, recipes in gallery.RECIPES.values() for name in recipes]
    expected = set()
    for name in al.plots.__all__:
        plot = getattr(al.plots, name)
        has_kinds = "kind" in inspect.signature(plot).parameters
        kinds = get_args(get_type_hints(plot)["kind"]) if has_kinds else ()
        expected |= {f"{name} {kind}" for kind in kinds} or {name}
    assert sorted(drawn) == sorted(expected - {"column"})
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(), "run docs/draw_gallery.py"
    kept = {file.stem for file in gallery.PICTURES.glob("*.png")}
    assert kept == set(map(gallery.picture, drawn))


def test_drawings_of_graphs_are_those_of_model_pages() -> None:
    draw = importlib.import_module("draw_graphs")
    stale = []
    for name, text in draw.graphs().items():
        file = draw.DRAWINGS / f"{name}.svg"
        if not file.exists() or not file.read_text("utf-8").startswith(draw.mark(text)):
            stale.append(name)
    assert stale == [], "run: uv run python docs/draw_graphs.py"
    assert {file.stem for file in draw.DRAWINGS.glob("*.svg")} == set(draw.graphs())


def test_every_public_name_has_a_place_on_the_site() -> None:
    pages = importlib.import_module("api_pages")
    texts = pages.pages()
    # Not all file systems are case sensitive.
    assert len({name.lower() for name in texts}) == len(texts)
    shown = set()
    for text in texts.values():
        for part in re.split(r"^\.\. currentmodule:: ", text, flags=re.MULTILINE)[1:]:
            place = part.partition("\n")[0]
            names = re.findall(r"^\.\. auto(?:class|function):: (\w+)$", part, re.MULTILINE)
            names += re.findall(r"^\.\. data:: (\w+)$", part, re.MULTILINE)
            shown |= {id(getattr(importlib.import_module(place), name)) for name in names}
        shown |= {
            id(importlib.import_module(place))
            for place in re.findall(r"^\.\. module:: (\S+)$", text, re.MULTILINE)
        }
    rooms = [name for name in al.__all__ if (PACKAGE / name).is_dir()]
    missing = [
        f"{place.__name__}.{name}"
        for place in (al, *(getattr(al, room) for room in rooms))
        for name in place.__all__
        if name != "plots" and id(getattr(place, name)) not in shown
    ]
    assert missing == []


def test_docstrings_cite_sources_of_their_file() -> None:
    sources = importlib.import_module("sources")
    open_ = []
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        known = sources.given(text)
        place = file.relative_to(PACKAGE).as_posix()
        open_ += [f"{place}: {mark}" for mark in set(sources.CITED.findall(text)) - set(known)]
    assert open_ == []


def test_validation_pages_agree_with_stored_studies() -> None:
    text = (DOCS / "validation" / "pairs.md").read_text(encoding="utf-8")
    study = pd.read_csv(ROOT / "models" / "coverage.csv").query("ci_prob == .95")
    rows = re.findall(r"^\| ([a-z][^|]*) \| (0\.\d{3}) \| (\d+) of (\d+) \|$", text, re.MULTILINE)
    assert len(rows) == 7
    for method, least, good, n in rows:
        found = study.loc[study["method"] == method, "coverage"]
        shown = [f"{found.min():.3f}", str((found >= 0.93).sum()), str(len(found))]
        assert [least, good, n] == shown, method
    text = (DOCS / "validation.md").read_text(encoding="utf-8")
    cards = dict(re.findall(r"^\| \[(\w+)\]\(\S+\) \| (inside.*) \|$", text, re.MULTILINE))
    index = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    verdicts = re.findall(r"^\| \[(\w+)\]\(.*\| calibrated, ([\d,]+) simulations \|$", index, re.M)
    assert {name: f"inside, {n} simulations" for name, n in verdicts} == {
        name: said.partition(";")[0] for name, said in cards.items()
    }


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_site_shows_every_output(file: Path) -> None:
    """`docs/conf.py` ignores warnings of hidden output types; an example is next to a table."""
    kinds = [
        set(output["data"])
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert [kind for kind in kinds if not kind & SHOWN and kind != ALONGSIDE] == []
    assert set().union(*kinds) <= SHOWN | ALONGSIDE
    assert kinds.count(ALONGSIDE) == (file.parent.name == "papers")
