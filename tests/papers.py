"""Figures and tables of five papers: `docs/papers.csv`, and the page generated from it.

``uv run python tests/papers.py`` updates the csv from the notebooks and writes the page.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import printed_numbers

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "papers.csv"
PAGE = ROOT / "docs" / "papers.md"
FOLDER = ROOT / "notebooks" / "papers"
COLUMNS = ["paper", "item", "claim", "printed", "ours", "rule", "verdict", "state", "notebook"]
# Heading of figures and tables without a cell.
REST = "What our data cannot say"
EXAMINED, NOT_YET = "examined", "not yet examined"
VERDICTS = (
    "holds", "holds with a caveat", "inconclusive", "does not hold", "nothing to test",
    "no data here",
)  # fmt: skip
# Numbered figures and tables of each paper and its supplement.
PAPERS = {
    "K25": (
        12,
        "Klein et al. (2025), Quantifying uncertainty in error consistency",
        "10.48550/arXiv.2507.06645",
    ),
    "X26": (17, "Xu et al. (2026), Do machines fail like humans?", ""),
    "G20": (13, "Geirhos et al. (2020), Beyond accuracy, supplement", "10.48550/arXiv.2006.16736"),
    "X25": (30, "Xu et al. (2025), Measuring error alignment", "10.48550/arXiv.2409.13919"),
    "AK24": (4, "Alvarez and Konkle (2024), Decision-margin consistency", ""),
}
# Reasons why printed numbers differ from ours.
OTHERWISE = {
    (
        "X26",
        "Table 2 (appendix)",
    ): "missing responses were replaced at random in the paper, and are "
    "errors here; the same 58 of 65 conditions are significant at 0.01",
    ("X26", "Table 3"): "as above; the same 54 of 65 conditions are above chance",
    ("X26", "Table 4"): "as above; the same three are below 0.05",
    ("AK24", "Figure 3"): "10,000 simulated data sets in the paper, exact here; within four Monte "
    "Carlo errors",
}
HEAD = """# Five papers, figure by figure

This page lists every numbered figure and table of five papers and their supplements. Each row
contains the claim in our words, the printed number, the number from the available data with a 95%
interval, and a verdict. The rule for each verdict was written before the result was known, and
reworded since. Each verdict refers to the available data, which for some figures come from
different models. For other figures, no data are available. The rows are also in
[papers.csv](papers.csv), and each row links to the cells of a notebook.
"""


def rows() -> list[dict[str, str]]:
    """Rows of the csv."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def found() -> dict[tuple[str, str], dict[str, Any]]:
    """Results by notebook and item, from the table at the end of each notebook."""
    out = {}
    for file in sorted(FOLDER.glob("*.ipynb")):
        for cell in json.loads(file.read_text())["cells"]:
            for output in cell.get("outputs", []):
                for row in output.get("data", {}).get("application/json", []):
                    out[file.stem, row["item"]] = row
    return out


def merged(table: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows, updated with results of the notebooks."""
    said = found()
    out = []
    for row in table:
        own = said.get((row["notebook"], row["item"]))
        new = {name: str(own[name]) for name in ("ours", "rule", "verdict")} if own else {}
        out.append(row | new | ({"state": EXAMINED} if own else {}))
    return out


def mentioned(heading: str) -> set[str]:
    """Figures and tables named in a heading of a notebook."""
    out = set()
    many = r"(\d+(?:(?:,| and| to) \d+)*)"
    for kind, numbers, appendix in re.findall(
        rf"(Figure|Table)s? {many}( of the appendix)?", heading
    ):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
            every = range(int(first), int(last or first) + 1)
            out |= {f"{kind} {number}{' (appendix)' if appendix else ''}" for number in every}
    for first, last in re.findall(r"SF\.(\d+)(?: to SF\.(\d+))?", heading):
        out |= {f"Figure SF.{number}" for number in range(int(first), int(last or first) + 1)}
    return out


def anchors(notebook: str) -> dict[str, str]:
    """Anchors of figures and tables in a notebook; "" is the anchor of all others."""
    out = {"": "verdicts"}
    for cell in json.loads((FOLDER / f"{notebook}.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "markdown":
            for heading in re.findall(r"^## (.*)$", "".join(cell["source"]), flags=re.MULTILINE):
                anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace(" ", "-"))
                out |= dict.fromkeys(mentioned(heading), anchor)
                if heading == REST:
                    out[""] = anchor
    return out


def verdicts_cell(notebook: str, table: list[dict[str, str]]) -> str:
    """Text above the table of verdicts of a notebook: links to the cells of each row."""
    places = anchors(notebook)
    items = [row["item"] for row in table if row["notebook"] == notebook]
    links = [f"[{item}](#{places[item]})" for item in items if item in places]
    return f"## Verdicts\n\nTo the cells: {', '.join(links)}."


def linked(notebook: str, table: list[dict[str, str]]) -> str:
    """Content of the notebook's file with these links."""
    content = json.loads((FOLDER / f"{notebook}.ipynb").read_text())
    (cell,) = (c for c in content["cells"] if "".join(c["source"]).startswith("## Verdicts"))
    cell["source"] = verdicts_cell(notebook, table).splitlines(keepends=True)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def page(table: list[dict[str, str]]) -> str:
    """The page in Markdown."""
    lines = [HEAD]
    states = [row["verdict"] if row["state"] == EXAMINED else NOT_YET for row in table]
    lines += ["| verdict | rows |", "|---|---|"]
    lines += [f"| {name} | {states.count(name)} |" for name in (*VERDICTS, NOT_YET)]
    lines += [f"| all | {len(table)} |"]
    lines += ["", *_numbers()]
    for paper, (_, title, doi) in PAPERS.items():
        place = f"[{title}](https://doi.org/{doi})" if doi else title
        lines += ["", f"## {place}", ""]
        lines += ["| | claim | printed | here | rule | verdict |", "|---|---|---|---|---|---|"]
        for row in table:
            if row["paper"] != paper:
                continue
            places = anchors(row["notebook"]) if row["notebook"] else {}
            anchor = places.get(row["item"], places.get(""))
            verdict = f"**{row['verdict']}**" if row["state"] == EXAMINED else f"*{NOT_YET}*"
            link = f"[{row['item']}](../notebooks/papers/{row['notebook']}.ipynb#{anchor})"
            item = link if row["notebook"] and row["state"] == EXAMINED else row["item"]
            cells = [item, row["claim"], row["printed"], row["ours"], row["rule"], verdict]
            lines.append(
                "| " + " | ".join(cell.replace("|", "\\|") or "-" for cell in cells) + " |"
            )
    return "\n".join(lines) + "\n"


def _numbers() -> list[str]:
    """Number of printed numbers that equal ours after rounding."""
    lines = [
        "## Printed numbers",
        "",
        "[printed.csv](printed.csv) lists all printed numbers that can be computed from the",
        "available data. A number matches if it is equal after rounding to the printed digits. A",
        "printed probability of 0 matches a value below the smallest floating-point number.",
        "",
        "| paper | item | numbers | matched | reason for differences |",
        "|---|---|---|---|---|",
    ]
    table = printed_numbers.rows()
    for paper, item in dict.fromkeys((row["paper"], row["item"]) for row in table):
        own = [row["matched"] for row in table if (row["paper"], row["item"]) == (paper, item)]
        why = OTHERWISE.get((paper, item), "") if "no" in own else ""
        lines.append(f"| {paper} | {item} | {len(own)} | {own.count('yes')} | {why or '-'} |")
    every = [row["matched"] for row in table]
    return [*lines, f"| all | | {len(every)} | {every.count('yes')} | |"]


def main() -> None:
    """Update the csv from the notebooks, and write the page and the links in notebooks."""
    table = merged(rows())
    for file in FOLDER.glob("*.ipynb"):
        file.write_text(linked(file.stem, table), encoding="utf-8")
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    PAGE.write_text(page(table), encoding="utf-8")


if __name__ == "__main__":
    main()
