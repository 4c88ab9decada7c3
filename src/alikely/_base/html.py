"""What notebooks show of an object: a title, its first rows, its notes."""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence

import pandas as pd

from alikely._base.numbers import counted

__all__ = ["ROWS", "html_of"]

# Of a longer table the first rows are shown, and how many more there are.
ROWS, NOTES = 10, 5
# Colours are those of the page, so that light and dark themes both do; names with dollar signs are
# no formulas.
OUTER = '<div class="tex2jax_ignore mathjax_ignore" style="overflow-x: auto">'
LINE = "border-bottom: 1px solid"
# An interval is not to be broken; a text of so many letters is.
WIDE = 40
SHORT, LONG = "white-space: nowrap", "white-space: normal; min-width: 20em"


def html_of(
    title: str,
    cells: pd.DataFrame,
    *,
    numbers: Collection[str] = (),
    n_rows: int | None = None,
    notes: Sequence[str] = (),
    more: str = "",
) -> str:
    """Lay a table of text out as HTML; all text is escaped."""
    lines = [OUTER, f"<p><b>{html.escape(title)}</b></p>"]
    if notes:
        lines += ["<ul>", *(f"<li>{html.escape(note)}</li>" for note in notes[:NOTES])]
        left = len(notes) - NOTES
        lines += [f"<li>... and {counted(left, 'more note')}</li>"] if left > 0 else []
        lines.append("</ul>")
    heads = [_cell("th", name, name in numbers, LINE, "white-space: normal") for name in cells]
    lines += [
        '<table style="border-collapse: collapse">',
        f"<thead><tr>{''.join(heads)}</tr></thead>",
    ]
    lines.append("<tbody>")
    for row in cells.itertuples(index=False, name=None):
        parts = [
            _cell("td", text, name in numbers, LONG if len(str(text)) > WIDE else SHORT)
            for name, text in zip(cells.columns, row, strict=True)
        ]
        lines.append(f"<tr>{''.join(parts)}</tr>")
    lines += ["</tbody>", "</table>"]
    left = (len(cells) if n_rows is None else n_rows) - len(cells)
    if left > 0:
        rest = f": {html.escape(more)}" if more else ""
        lines.append(f"<p>... and {counted(left, 'more row')}{rest}</p>")
    return "\n".join([*lines, "</div>"])


def _cell(tag: str, text: str, number: bool, *styles: str) -> str:
    side = "right" if number else "left"
    style = "; ".join([f"text-align: {side}", "padding: 0.2em 0.6em", *styles])
    return f'<{tag} style="{style}">{html.escape(str(text))}</{tag}>'
