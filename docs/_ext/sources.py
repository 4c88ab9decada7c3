"""Sources stand once, in the docstring of a file; pages of its functions show those they name."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CITED = re.compile(r"\[([A-Z][A-Za-z]*\d\d[a-z]?)\]_")
# A source, over as many lines as are further to the right than its mark.
GIVEN = re.compile(r"^( *)\.\. \[([A-Z][A-Za-z]*\d\d[a-z]?)\] (.*(?:\n\1 +\S.*)*)", re.MULTILINE)


def given(text: str) -> dict[str, str]:
    """Sources of a docstring, by their mark."""
    return {mark: " ".join(said.split()) for _, mark, said in GIVEN.findall(text)}


def listed(text: str) -> str:
    """Docstring of a module for a page of text: marks as they are, sources as a list."""
    head, _, _ = text.partition("\nReferences\n---")
    lines = [f"* [{mark}] {said}" for mark, said in given(text).items()]
    plain = CITED.sub(r"[\1]", head.rstrip())
    return plain + ("\n\n**References**\n\n" + "\n".join(lines) if lines else "")


def add_sources(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Give a docstring the sources that it names and leaves to that of its file."""
    text = "\n".join(lines)
    own = given(text)
    missing = [mark for mark in dict.fromkeys(CITED.findall(text)) if mark not in own]
    owner = thing.fget if isinstance(thing, property) else thing
    file = sys.modules.get(getattr(owner, "__module__", ""))
    known = given(file.__doc__ or "") if file else {}
    # What the file does not have stays open, and Sphinx says so.
    found = [f".. [{mark}] {known[mark]}" for mark in missing if mark in known]
    if not found:
        return
    heads = [
        i for i, line in enumerate(lines[:-1]) if line == "References" and lines[i + 1][:3] == "---"
    ]
    if heads:
        lines[heads[0] + 2 : heads[0] + 2] = [*found, ""]
    else:
        lines += ["", "References", "----------", *found, ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """Before numpydoc, which reads the sections."""
    app.connect("autodoc-process-docstring", add_sources, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
