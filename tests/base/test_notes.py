"""Notes: every code is used somewhere, renders, and is on the page of notes."""

from __future__ import annotations

import re
import string
from pathlib import Path

import numpy as np
import pytest
from notes_page import NOTES_PAGE, notes_page

import alikely as al
from alikely._base.notes import NOTES, codes, note, told

SOURCE = Path(al.__file__).parent
TABLE = SOURCE / "_base" / "notes.py"


def fields(code: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(NOTES[code].sentence) if name]


@pytest.mark.parametrize("code", NOTES)
def test_a_note_is_short_and_has_a_condition_and_an_action(code: str) -> None:
    one = NOTES[code]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
    assert "; " not in one.sentence
    assert not one.sentence.endswith(".")
    assert len(one.sentence.split()) <= 30
    text = told(note(code, **dict.fromkeys(fields(code), 3)))
    assert "[[" not in text
    assert "{" not in text


def test_every_code_is_used() -> None:
    given = (path.read_text() for path in SOURCE.rglob("*.py") if path != TABLE)
    every = "\n".join(given)
    assert [code for code in NOTES if f'"{code}"' not in every] == []


def test_the_page_of_notes_is_current() -> None:
    assert NOTES_PAGE.read_text() == notes_page(), "run: uv run python tests/notes_page.py"


def test_notes_round_trip() -> None:
    stored = "; ".join([note("few-errors", least=10), "plain", note("wide", width=0.5)])
    assert codes(stored) == ["few-errors", "wide"]
    assert told(stored).count("; ") == 2
    odd = note("clusters", column="'a} ]] \"b'", effects=np.float64(3.24159))
    assert told(odd) == (
        "responses within 'a} ]] \"b' are correlated (design effect 3.24). Pass cluster='a} ]] \"b'"
    )
    assert told("[[of-a-later-version {}]]") == "of-a-later-version: {}"


def test_tables_show_codes_on_request() -> None:
    result = al.error_consistency(al.load_example(), "human-human", n_resamples=0, rng=1)
    assert "note_codes" not in result.summary()
    table = result.summary(columns=["note_codes"])
    assert (table["note_codes"].str.contains("wide") == table["note"].str.contains("wider")).all()
