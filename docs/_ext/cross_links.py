"""Names in code lead to their pages, and graphs of models to their drawings.

Pages are read as plain files, too; so they say `al.compare(trials)` and show graphs as text, and
what is more on the site is added here.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from api_pages import places
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"(?:print\()?((?:al|alikely)(?:\.[A-Za-z]\w*)+)")
SHORT = re.compile(r"([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)$")
MISSING = object()


def named(text: str) -> Any:
    """What a dotted name leads to, or `MISSING`."""
    module, *parts = text.split(".")
    found: Any = importlib.import_module(module)
    for at, part in enumerate(parts, start=1):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join([module, *parts[:at]]))
            except ImportError:
                return MISSING
        found = getattr(found, part, MISSING)
    return found


def places_of_names() -> dict[int, str]:
    """Documented name of each public object, by identity: most can be reached in several ways."""
    found = {}
    for place, names in places().items():
        module = importlib.import_module(place)
        found[id(module)] = place
        found |= {id(getattr(module, name)): f"{place}.{name}" for name in names}
    return found


class LinkNames(SphinxPostTransform):
    """Literal text that begins with a public name becomes a link to where that is documented."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Link each literal outside links and headings."""
        for literal in list(self.document.findall(nodes.literal)):
            above, parents = literal.parent, []
            while above is not None:
                parents.append(above)
                above = above.parent
            if any(isinstance(node, nodes.reference | nodes.title) for node in parents):
                continue
            name = self.documented(literal.astext())
            if name is None:
                continue
            entry = self.env.domains.python_domain.objects[name]
            if entry.docname == self.env.docname and "." not in name.removeprefix("alikely."):
                continue
            link = make_refnode(
                self.app.builder, self.env.docname, entry.docname, entry.node_id, literal.deepcopy()
            )
            literal.replace_self(link)

    def documented(self, text: str) -> str | None:
        """Full name of what some code begins with, as it is documented, if it is."""
        if found := NAME.match(text):
            names = [re.sub(r"^al\.", "alikely.", found[1])]
        elif self.env.docname.startswith("docs/api/alikely") and (found := SHORT.match(text)):
            # A docstring speaks of what stands in its own module, or at the top.
            page = self.env.docname.removeprefix("docs/api/")
            modules = dict.fromkeys([page, page.rpartition(".")[0] or "alikely", "alikely"])
            names = [f"{module}.{found[1]}" for module in modules]
        else:
            return None
        known = self.env.domains.python_domain.objects
        for name in names:
            if name in known:
                return name
            head, _, last = name.rpartition(".")
            for whole, method in ((name, ""), (head, f".{last}")):
                canonical = self.canonical.get(id(named(whole)))
                if canonical is not None and f"{canonical}{method}" in known:
                    return f"{canonical}{method}"
        return None

    @property
    def canonical(self) -> dict[int, str]:
        """`places_of_names`, worked out once."""
        kept: dict[int, str] | None = getattr(self.app, "alikely_places", None)
        if kept is None:
            kept = self.app.alikely_places = places_of_names()  # type: ignore[attr-defined]
        return kept


class ShowDrawings(SphinxTransform):
    """The graph of a card, written for mermaid, becomes the drawing made of it beforehand."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Put an image in the place of each graph."""
        for block in list(self.document.findall(nodes.literal_block)):
            if block.get("language") != "mermaid":
                continue
            *_, folder, page = self.env.docname.split("/")
            name = folder if page == "README" else page
            image = nodes.image(
                uri=f"/docs/graphs/{name}.svg", alt=f"Graph of {name}", classes=["graph"]
            )
            block.replace_self(image)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add both."""
    app.add_post_transform(LinkNames)
    app.add_transform(ShowDrawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
