"""What a model says of itself: its graph and ``model.json``; and the empty card of a new one."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["HEADINGS", "described", "new_card", "redescribe", "unwritten"]

# Stands where somebody has to write; the tests of the catalogue refuse it.
TO_WRITE = "TO WRITE"
HEADINGS = (
    "Question",
    "Story",
    "Formulas",
    "Priors, and why",
    "When not to use it",
    "Limits",
    "Calibration",
    "Graph",
)


def described(name: str, model: pm.Model, written: dict[str, Any] | None = None) -> dict[str, Any]:
    """Content of ``model.json``: what is read from a model, and what people write about it."""
    # The models' room imports PyMC: only when needed.
    from alikely.models import prior_texts

    written = written or {}
    meaning = {"meaning": f"{TO_WRITE}: what it counts or measures, in one line"}

    def node(kind: str, variable: Any, default: dict[str, str]) -> dict[str, Any]:
        dims = model.named_vars_to_dims.get(variable.name) or ()
        kept = written.get(kind, {}).get(variable.name, default)
        return {"dims": list(dims)} | {k: v for k, v in kept.items() if k != "dims"}

    return {
        "name": name,
        "question": written.get("question", f"{TO_WRITE}: the question it answers, in one line"),
        "when": written.get("when", f"{TO_WRITE}: when to use it, in half a line"),
        "dims": list(model.coords),
        "data": {v.name: node("data", v, meaning) for v in model.data_vars},
        "parameters": {v.name: node("parameters", v, {}) for v in model.free_RVs},
        "deterministics": [v.name for v in model.deterministics],
        "priors": prior_texts(model),
        "references": written.get("references", [f"{TO_WRITE}: the DOI of each source"]),
    }


def new_card(name: str, model: pm.Model, of: dict[str, Any]) -> str:
    """Card of a new model: its graph and names, and what is to be written by hand."""
    quantities = [*of["data"], *of["parameters"], *of["deterministics"]]
    observed = [variable.name for variable in model.observed_RVs]
    sections = {
        "Question": f"{TO_WRITE}: what one wants to know, and why of this data.",
        "Story": (
            f"{TO_WRITE}: how the data come about, step by step, so that somebody who has not seen "
            "the code can simulate them. Sources with DOI."
        ),
        "Formulas": _table(
            ("quantity", "name in the model", "formula"),
            [(TO_WRITE, f"`{quantity}`", TO_WRITE) for quantity in [*quantities, *observed]],
        ),
        "Priors, and why": _table(
            ("parameter", "prior", "reason"),
            [(f"`{p}`", of["priors"].get(p, TO_WRITE), TO_WRITE) for p in of["parameters"]],
        ),
        "When not to use it": f"- {TO_WRITE}: for which data or questions it would mislead.",
        "Limits": f"{TO_WRITE}: where the prior decides, where chains have trouble.",
        "Calibration": f"{TO_WRITE}: by `python -m studies run {name}`.",
        "Graph": f"```mermaid\n{_graph(model)}\n```",
    }
    title = name.replace("_", " ").capitalize()
    body = "\n\n".join(
        f"## {heading}\n" + (text if "\n" in text else textwrap.fill(text, 100))
        for heading, text in sections.items()
    )
    return f"# {title}\n`alikely.models.{name}`\n\n{body}\n"


def _graph(model: pm.Model) -> str:
    import pymc as pm

    return str(pm.model_to_mermaid(model)).strip()


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    first, *others = (f"| {' | '.join(line)} |" for line in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def redescribe(folder: Path, name: str, model: pm.Model) -> None:
    """Bring graph and ``model.json`` up to the model as it stands; what people wrote stays."""
    path = folder / "model.json"
    written = described(name, model, json.loads(path.read_text()))
    path.write_text(json.dumps(written, indent=2) + "\n")
    card = folder / "README.md"
    before, fence, rest = card.read_text().partition("```mermaid\n")
    drawn, end, after = rest.partition("\n```")
    graph = _graph(model)
    # The order of nodes in a plate varies from process to process: no reason to change a card.
    if sorted(drawn.splitlines()) != sorted(graph.splitlines()):
        card.write_text(before + fence + graph + end + after)


def unwritten(folder: Path) -> list[str]:
    """What of a card is still to be written by hand."""
    text = (folder / "README.md").read_text()
    sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    found = [
        f"README.md: {heading}"
        for heading, body in zip(sections[1::2], sections[2::2], strict=True)
        if TO_WRITE in body or not body.strip()
    ]
    found += [f"README.md: {heading}" for heading in HEADINGS if heading not in sections[1::2]]
    content = json.loads((folder / "model.json").read_text())
    return found + [f"model.json: {k}" for k, v in content.items() if TO_WRITE in json.dumps(v)]
