"""Words for those whom machines are scored against, where they are no humans."""

from __future__ import annotations

import re

__all__ = ["HUMAN", "in_kinds"]

HUMAN = "human"


def in_kinds(text: str, kind: str) -> str:
    """Say of observers of which kind a text is, in place of humans."""
    if kind == HUMAN:
        return text
    text = text.replace(f"{HUMAN}-{HUMAN}", f"{kind}-{kind}")
    # A kind may itself be named after humans.
    word = r"(?<!of kind )(?<![-\w])human(s?)(?![-\w])"
    return re.sub(word, lambda found: f"observer{found[1]} of kind {kind}", text)
