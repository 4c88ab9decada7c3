"""Formulas as MathML, which browsers set themselves: no script, and nothing to load."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator


def mathml(formula: str, display: str, place: str) -> str:
    """Formula in LaTeX as MathML; one that cannot be read stops the build."""
    try:
        return str(convert(formula, display=display))
    except Exception as error:  # its own errors have no common class
        raise SphinxError(f"{place}: no formula in LaTeX: {formula}") from error


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Formula within a line."""
    self.body.append(mathml(node.astext(), "inline", str(node.source)))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Formula on lines of its own."""
    formula = mathml(node.astext(), "block", str(node.source))
    self.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Name the renderer, which the configuration chooses."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
