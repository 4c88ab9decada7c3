"""Names and numbers as text, in messages and tables."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

# What stands for a number that is missing.
MISSING = "-"
MOST = 20
# Control characters, marks of direction, ends of lines, halves of pairs.
HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def listed(names: Iterable[object], most: int = MOST) -> str:
    """Names separated by commas; if there are many, only the first names and the total number."""
    texts = [str(name) for name in names]
    if len(texts) > most:
        return f"{', '.join(texts[:most])}, ... ({len(texts)} in all)"
    return ", ".join(texts) or "none"


def nearest(name: object, names: Iterable[object]) -> str:
    """Suggestion for a misspelled name, as the end of a message."""
    texts = {str(entry).lower(): str(entry) for entry in names}
    found = difflib.get_close_matches(str(name).lower(), texts, n=1)
    return f"; did you mean {texts[found[0]]!r}?" if found else ""


def visible(text: str, but: str = "") -> str:
    r"""A text with control characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(char)[1:-1] if char not in but and unicodedata.category(char) in HIDDEN else char
        for char in text
    )


def shorten(text: str, width: int, n_last: int = 0) -> str:
    """Shorten a text to its first and, on request, last characters."""
    from rich.cells import cell_len  # with the package itself it would be imported each time

    if cell_len(text) <= width:
        return text
    last = text[len(text) - n_last :]
    first, room = "", width - 1 - cell_len(last)
    for letter in text:
        if cell_len(first + letter) > room:
            break
        first += letter
    return first + "~" + last


def told_apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Shorten names so that they remain distinct, by keeping their ends or adding numbers."""
    shown = {name: visible(name) for name in dict.fromkeys(names)}
    for n_last in range(width - 1):
        short = {name: shorten(text, width, n_last) for name, text in shown.items()}
        if len(set(short.values())) == len(shown):
            return short
    return _numbered(shown, width)


def _numbered(shown: Mapping[str, str], width: int) -> dict[str, str]:
    """Number names that are equal after shortening."""
    count: Counter[str] = Counter()
    found: dict[str, str] = {}
    cut = {name: shorten(text, width) for name, text in shown.items()}
    again = {text for text, n in Counter(cut.values()).items() if n > 1}
    for name, text in cut.items():
        if text not in again:
            found[name] = text
            continue
        count[text] += 1
        end = f"~v{count[text]}"
        found[name] = shown[name][: width - len(end)] + end
    return found


def number(value: float, digits: int) -> str:
    """Write a number with as many decimals."""
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{abs(value):.{digits}f}"
    sign = "-" if value < 0 and float(text) else ""
    return sign + text


def p_number(p: float) -> str:
    """Format a p-value with three decimals, or as ``< 0.001``."""
    return "< 0.001" if p < 0.001 else number(p, 3)


def p_words(what: str, p: float) -> str:
    """Format a name and its probability, such as a p-value, as text."""
    if p > 0.999:
        return f"{what} > 0.999"
    text = p_number(p)
    return f"{what} {text}" if text.startswith("<") else f"{what} = {text}"


def span(lower: float, upper: float, digits: int) -> str:
    """Write an interval."""
    if math.isnan(lower) or math.isnan(upper):
        return MISSING
    return f"[{number(lower, digits)}, {number(upper, digits)}]"


def counted(n: int, what: str, several: str | None = None) -> str:
    """Write a count with its noun."""
    return f"{n:,} {what if n == 1 else several or what + 's'}"
