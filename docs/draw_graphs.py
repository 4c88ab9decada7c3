"""Draws the graphs of model pages and notebooks: ``uv run python docs/draw_graphs.py`` (Graphviz).

The mermaid text of a graph is on the page of its model and is made from the model itself. A drawing
contains a hash of its text, so a test can detect an outdated drawing.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
DRAWINGS = ROOT / "docs" / "graphs"
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FORMS = {
    "db": 'shape=box, style="rounded,filled", fillcolor="#ece7f2"',
    "rect": 'shape=box, style="filled", fillcolor="#f7f7f7"',
    "rounded": "shape=ellipse",
}
PAGE_WIDTH = 560  # points
OBSERVED = 'shape=ellipse, fillcolor="#cccccc"'
HEAD = """digraph {
bgcolor="transparent"; graph [fontname="Helvetica", fontsize=11];
node [fontname="Helvetica", fontsize=11, style=filled, fillcolor="white"];
edge [fontname="Helvetica", fontsize=10, color="#555555", arrowsize=.7];
"""


def graphs() -> dict[str, str]:
    """Text of each graph of a model page or a notebook, by the name of its drawing."""
    written = {
        file.parent.name: file.read_text("utf-8") for file in ROOT.glob("models/*/README.md")
    }
    for file in ROOT.glob("notebooks/*.ipynb"):
        cells = json.loads(file.read_text("utf-8"))["cells"]
        written[file.stem] = "\n".join("".join(cell["source"]) for cell in cells)
    found = {name: BLOCK.findall(text) for name, text in sorted(written.items())}
    several = [name for name, texts in found.items() if len(texts) > 1]
    if several:
        raise SystemExit(
            f"one graph on a page, found more in {several}: name the others apart first"
        )
    return {name: texts[0] for name, texts in found.items() if texts}


def mark(text: str) -> str:
    """What a drawing says of the text that it was made of."""
    return f"<!-- graph {hashlib.sha256(text.encode()).hexdigest()[:16]} -->"


def model_dot(text: str) -> str:
    """Graph of a model, as PyMC writes it, for Graphviz."""
    labels = re.findall(r"^([\w.]+)[(\[]+(.*?) ~ (\w+)[)\]]+$", text, re.MULTILINE)
    shapes = dict(re.findall(r"^([\w.]+)@\{ shape: (\w+) \}$", text, re.MULTILINE))
    observed = set(re.findall(r"^style ([\w.]+) fill:", text, re.MULTILINE))
    lines = []
    for name, variable, kind in labels:
        form = OBSERVED if name in observed else FORMS[shapes[name]]
        said = variable if kind in ("Deterministic", "Data") else f"{variable}\\n{kind}"
        lines.append(f'"{name}" [label="{said}", {form}];')
    plates = re.findall(r'^subgraph "(.*?)"\n(.*?)^end$', text, re.MULTILINE | re.DOTALL)
    for at, (plate, inside) in enumerate(plates):
        members = " ".join(f'"{name}";' for name in inside.split())
        lines.append(
            f'subgraph cluster_{at} {{ label="{plate}"; labeljust=r; labelloc=b; style=rounded;'
            f' color="#999999"; {members} }}'
        )
    edges = re.findall(r"^([\w.]+) --> ([\w.]+)$", text, re.MULTILINE)
    return "\n".join([*lines, *(f'"{a}" -> "{b}";' for a, b in edges)])


def flow_dot(text: str) -> str:
    """A flow chart, from left to right, for Graphviz."""
    node = r'(\w+)(?:(\(\[|\{"|\[")(.*?)(?:\]\)|"\}|"\]))?'
    lines = ["rankdir=LR;"]
    for a, form_a, said_a, label, b, form_b, said_b in re.findall(
        rf'^\s+{node} -(?:- "(.*?)" -)?->\s*{node}$', text, re.MULTILINE
    ):
        for name, form, said in ((a, form_a, said_a), (b, form_b, said_b)):
            if said:
                shape = "diamond" if form == '{"' else "box"
                lines.append(
                    f'{name} [label="{said.replace("<br/>", chr(92) + "n")}", shape={shape}];'
                )
        lines.append(f'{a} -> {b} [label="{label}"];')
    return "\n".join(lines)


def drawn(body: str) -> str:
    """Drawing of a graph, without what names the version of Graphviz."""
    done = subprocess.run(
        ["dot", "-Tsvg"], input=f"{HEAD}{body}\n}}", capture_output=True, text=True, check=True
    )
    return re.sub(r"<!--.*?-->\n?", "", done.stdout[done.stdout.index("<svg") :], flags=re.DOTALL)


def width(svg: str) -> int:
    """Width of a drawing, in points."""
    return int(re.findall(r'width="(\d+)pt"', svg)[0])


def main() -> None:
    """Draw every graph anew, those of models from above or from the left, whichever is narrower."""
    DRAWINGS.mkdir(exist_ok=True)
    for name, text in graphs().items():
        if text.startswith("flowchart"):
            svg = drawn(flow_dot(text))
        else:
            body = model_dot(text)
            ways = [drawn(body), drawn(f"rankdir=LR; ranksep=.35; nodesep=.15;\n{body}")]
            svg = ways[0] if width(ways[0]) <= PAGE_WIDTH else min(ways, key=width)
        (DRAWINGS / f"{name}.svg").write_text(f"{mark(text)}\n{svg}", encoding="utf-8")


if __name__ == "__main__":
    main()
