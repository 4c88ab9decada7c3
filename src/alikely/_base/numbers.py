"""Numbers as text, as papers print them."""

from __future__ import annotations

import numpy as np

__all__ = ["MISSING", "counted", "number", "p_number", "p_words", "span"]

# What stands for a number that is missing.
MISSING = "-"


def number(value: float, digits: int, leading_zero: bool = False) -> str:
    """Write a number as APA has it.

    Parameters
    ----------
    value : float
    digits : int
        Decimals.
    leading_zero : bool
        Whether 0 is written before the point; not, where a number cannot be beyond 1.

    Returns
    -------
    str
        A dash where it is missing.

    Examples
    --------
    >>> number(-0.164, 2), number(-0.001, 2), number(1, 2), number(0.5, 1, leading_zero=True)
    ('-.16', '.00', '1.00', '0.5')
    """
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
    """Write a p value: three decimals, or below which it lies.

    Examples
    --------
    >>> p_number(0.0004), p_number(0.0416), p_number(1.0)
    ('< .001', '.042', '1.000')
    """
    return "< .001" if p < 0.001 else number(p, 3)


def p_words(what: str, p: float) -> str:
    """Say what a probability is.

    Examples
    --------
    >>> p_words("p", 0.0004), p_words("p", 0.0416), p_words("p", 0.9999)
    ('p < .001', 'p = .042', 'p > .999')
    """
    if p > 0.999:
        return f"{what} > .999"
    text = p_number(p)
    return f"{what} {text}" if text.startswith("<") else f"{what} = {text}"


def span(lower: float, upper: float, digits: int, leading_zero: bool = False) -> str:
    """Write an interval.

    Parameters
    ----------
    lower, upper : float
    digits, leading_zero
        As in `number`.

    Returns
    -------
    str
        A dash where both are missing or one is.

    Examples
    --------
    >>> span(-0.1, 0.25, 2), span(float("nan"), 0.2, 2)
    ('[-.10, .25]', '-')
    """
    if np.isnan(lower) or np.isnan(upper):
        return MISSING
    return f"[{number(lower, digits, leading_zero)}, {number(upper, digits, leading_zero)}]"


def counted(n: int, what: str, several: str | None = None) -> str:
    """Write how many there are of something.

    Parameters
    ----------
    n : int
    what : str
        One of them.
    several : str, optional
        Some of them; with an s if not given.

    Examples
    --------
    >>> counted(1, "pair"), counted(1200, "pair"), counted(2, "class", "classes")
    ('1 pair', '1,200 pairs', '2 classes')
    """
    return f"{n:,} {what if n == 1 else several or what + 's'}"
