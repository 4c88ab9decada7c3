"""Parsers of LaTeX and HTML, with which tests read pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SPOKEN = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^",
    r"\textbar{}": "|", r"\symbol{34}": '"', "$<$": "<", "$>$": ">", "$-$": "-", "-{}": "-",
    r"\_": "_", r"\%": "%", r"\&": "&", r"\#": "#", r"\$": "$", r"\{": "{", r"\}": "}", "{}": "",
}  # fmt: skip
# Allowed HTML tags, none of which runs or loads anything.
TAGS = {"div", "p", "b", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}


def spoken(text: str) -> str:
    """Text that LaTeX prints for escaped text."""
    return re.sub("|".join(map(re.escape, SPOKEN)), lambda found: SPOKEN[found[0]], text)


def tabular(text: str) -> list[list[str]]:
    """Header and rows of the only table of LaTeX text, as written; fails if it is invalid."""
    bare = re.sub(r"\\[_%&#${}]", "", text.split("\n", 1)[1])
    depth = 0
    for sign in bare:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    open_ = []
    for way, name in re.findall(r"\\(begin|end)\{(\w+)\}", bare):
        if way == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert open_ == []
    form = re.search(r"\\begin\{(?:tabular|longtable)\}\{([lr]+)\}", text)
    assert form is not None
    # No rule or line break treats the following text as its option.
    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)
    rows = [
        re.split(r"(?<!\\)&", line.removesuffix(r"\\"))
        for line in text.splitlines()
        if line.endswith(r"\\")
    ]
    body = [[cell.strip() for cell in row] for row in rows]
    assert {len(row) for row in body} == {len(form[1])}
    return body


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"style", "class"}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        else:
            self.text.append(data)


def page(text: str) -> tuple[str, list[list[str]]]:
    """Text outside the table, and its header and rows, as a browser reads them."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return "".join(reader.text), reader.rows
