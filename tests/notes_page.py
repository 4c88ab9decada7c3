"""Write the page of notes: text, condition and advice of each code."""

from __future__ import annotations

from pathlib import Path

from alikely._base.notes import NOTES

NOTES_PAGE = Path(__file__).parents[1] / "docs" / "notes.md"
INTRODUCTION = (
    "The column `note` of a table explains why a value is undefined or an interval is not "
    'reliable. `summary(columns=["note_codes"])` adds the codes of these notes. Tables show '
    "numbers or names instead of braces."
)


def notes_page() -> str:
    """Text of the current page."""
    rows = [
        " | ".join(
            [f"| `{code}`", _cell(one.sentence), _cell(one.condition), f"{_cell(one.advice)} |"]
        )
        for code, one in sorted(NOTES.items())
    ]
    parts = [
        "# Notes",
        INTRODUCTION,
        "(This page is written by `uv run python tests/notes_page.py`; a test compares it.)",
        "\n".join(["| code | note | when | what to do |", "|---|---|---|---|", *rows]),
    ]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """A sentence as a cell of a table."""
    return f"{text[0].upper()}{text[1:]}.".replace("|", "\\|")


if __name__ == "__main__":
    NOTES_PAGE.write_text(notes_page())
