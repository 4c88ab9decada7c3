"""A plot as text: SVG to stand within a page of HTML."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt

from alikely.plots._style import figure_of_any, settings

__all__ = ["svg_of"]

# Letters stay letters, which takes a tenth of the room of outlines and can be searched and read
# out; fonts that stand in for the one that places were measured with are narrower. Names with
# dollar signs are no formulas.
SETTINGS: Any = {"svg.fonttype": "none", "text.parse_math": False}
SPACES = re.compile(r"^\{[^}]*\}")
# XML has no place for them; a name may hold them.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Hundredths of a point are finer than any screen.
LONG = re.compile(r"(-?\d+\.\d\d)\d+")
GEOMETRY = ("d", "x", "y", "points", "transform", "width", "height")
KEPT_OUT = ("metadata", "style")


def svg_of(draw: Callable[[], Any], label: str) -> str:
    """Draw, and give what was drawn as SVG for a page of HTML."""
    known = set(plt.get_fignums())
    image = io.StringIO()
    # A notebook becomes interactive when its backend is loaded: before, or `ioff` takes that back.
    plt.switch_backend(plt.get_backend())
    try:
        # Names of parts are the figure's own, and the same whenever it is drawn.
        salt = {"svg.hashsalt": f"alikely {label}"}
        with settings(SETTINGS | salt), plt.ioff(), warnings.catch_warnings():
            # The letters are the reader's, whose fonts may have what this one lacks.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure = figure_of_any(draw())
            figure.savefig(image, format="svg", bbox_inches="tight", metadata={"Date": None})
    finally:
        for number in set(plt.get_fignums()) - known:
            plt.close(number)
    return _for_page(image.getvalue(), label)


def _for_page(text: str, label: str) -> str:
    """The drawing alone: without what belongs to a file, and names that another could have."""
    root = ElementTree.fromstring(CONTROL.sub("\ufffd", text))
    asked = set(re.findall(r"#([\w-]+)", text))
    for element in root.iter():
        for child in [one for one in element if SPACES.sub("", str(one.tag)) in KEPT_OUT]:
            element.remove(child)
        element.tag = SPACES.sub("", str(element.tag))
        named = {SPACES.sub("", name): value for name, value in element.attrib.items()}
        if named.get("id") not in asked:
            named.pop("id", None)
        for name in GEOMETRY:
            if name in named:
                named[name] = LONG.sub(r"\1", named[name])
        element.attrib = named
    for name in ("version", "width", "height"):
        size = root.attrib.pop(name, "").removesuffix("pt")
        if name == "width":
            root.set("style", f"width: {float(size):.0f}pt")
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")
