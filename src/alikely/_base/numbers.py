"""Numbers as text, as papers print them."""

from __future__ import annotations

import numpy as np

__all__ = ["MISSING", "counted", "number", "p_number", "p_words", "span"]

# What stands for a number that is missing.
MISSING = "-"


def number(value: float, digits: int, leading_zero: bool = False) -> str:
    """Write a number as APA has it."""
    if np.isnan(value):
        return MISSING
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{abs(value):.{digits}f}"
    sign = "-" if value < 0 and float(text) else ""
    if not leading_zero and digits and text.startswith("0."):
        text = text[1:]
    return sign + text


def p_number(p: float) -> str:
    """Write a p value: three decimals, or below which it lies."""
    return "< .001" if p < 0.001 else number(p, 3)


def p_words(what: str, p: float) -> str:
    """Say what a probability is."""
    if p > 0.999:
        return f"{what} > .999"
    text = p_number(p)
    return f"{what} {text}" if text.startswith("<") else f"{what} = {text}"


def span(lower: float, upper: float, digits: int, leading_zero: bool = False) -> str:
    """Write an interval."""
    if np.isnan(lower) or np.isnan(upper):
        return MISSING
    return f"[{number(lower, digits, leading_zero)}, {number(upper, digits, leading_zero)}]"


def counted(n: int, what: str, several: str | None = None) -> str:
    """Write how many there are of something."""
    return f"{n:,} {what if n == 1 else several or what + 's'}"
