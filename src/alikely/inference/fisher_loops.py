"""Compiled loops for Fisher's exact test.

Imported only by `alikely.inference.fisher`, since it imports numba.
"""

from __future__ import annotations

import math

from alikely._base.compilation import compiled

# Log probabilities of tables that are equally probable differ by rounding, never by this much.
ROUNDING = 1e-7
# Terms of a tail end below this share of their sum.
END = 1e-17


@compiled
def log_tails(cells, rest, alternative, out):  # type: ignore[no-untyped-def]
    """Natural logarithms of p-values; `alternative` is 0: two-sided, 1: greater, -1: less."""
    for row in range(len(cells)):
        n11, n10 = int(cells[row, 0]), int(cells[row, 1])
        n01, n00 = int(cells[row, 2]), int(cells[row, 3])
        if n11 + n10 + n01 + n00 == 0:
            out[row] = math.nan
        elif alternative == 0:
            out[row] = log_both(n11, n10, n01, n00, rest)
        elif alternative == 1:
            out[row] = log_upper(n11, n10, n01, n00, rest)
        else:
            out[row] = log_upper(n10, n11, n00, n01, rest)


@compiled
def log_both(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Two-sided log p-value."""
    mode = (n11 + n10 + 1) * (n11 + n01 + 1) // (n11 + n10 + n01 + n00 + 2)
    steps = n11 - mode
    if steps < 0:
        n11, n10, n01, n00 = n10, n11, n00, n01
        steps = -steps
    margins = rest_of_margins(n11, n10, n01, n00, rest)
    own = log_mass(n11, n10, n01, n00, rest) + margins
    limit = own + ROUNDING
    if limit >= log_mass(n11 - steps, n10 + steps, n01 + steps, n00 - steps, rest) + margins:
        return 0.0
    p = own + math.log(tail(n11, n10, n01, n00))
    # The first table beyond the mode that is no more probable: by bisection, outward from where
    # it would be if both sides were alike.
    near, far = steps, min(n11, n00) + 1
    middle = min(2 * steps, far - 1)
    stride = 1
    while far - near > 1:
        middle = min(max(middle, near + 1), far - 1)
        down = log_mass(n11 - middle, n10 + middle, n01 + middle, n00 - middle, rest) + margins
        if down <= limit:
            far = middle
            middle -= stride
        else:
            near = middle
            middle += stride
        stride *= 2
        if not near < middle < far:
            middle = (near + far) // 2
    if far <= min(n11, n00):
        n11, n10, n01, n00 = n10 + far, n11 - far, n00 - far, n01 + far
        other = log_mass(n11, n10, n01, n00, rest) + margins + math.log(tail(n11, n10, n01, n00))
        p += math.log1p(math.exp(other - p))
    return min(p, 0.0)


@compiled
def log_upper(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Log probability of this overlap or a larger one."""
    mode = (n11 + n10 + 1) * (n11 + n01 + 1) // (n11 + n10 + n01 + n00 + 2)
    if n11 >= mode:
        own = log_mass(n11, n10, n01, n00, rest) + rest_of_margins(n11, n10, n01, n00, rest)
        return min(own + math.log(tail(n11, n10, n01, n00)), 0.0)
    if n11 == 0 or n00 == 0:
        return 0.0
    # What is left of 1 by the smaller overlaps.
    n11, n10, n01, n00 = n10 + 1, n11 - 1, n00 - 1, n01 + 1
    own = log_mass(n11, n10, n01, n00, rest) + rest_of_margins(n11, n10, n01, n00, rest)
    return math.log1p(-min(math.exp(own) * tail(n11, n10, n01, n00), 1.0))


@compiled
def tail(n11, n10, n01, n00):  # type: ignore[no-untyped-def]
    """Probability of this overlap or a larger one, divided by that of this table."""
    a, b, c, d = float(n11), float(n10), float(n01), float(n00)
    total, term = 1.0, 1.0
    while term > END * total:
        a += 1
        d += 1
        term *= b * c / (a * d)
        total += term
        b -= 1
        c -= 1
    return total


@compiled
def rest_of_margins(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Terms of the margins in the log probability of a table."""
    rows = log_rest(n11 + n10, rest) + log_rest(n01 + n00, rest)
    columns = log_rest(n11 + n01, rest) + log_rest(n10 + n00, rest)
    return rows + columns - log_rest(n11 + n10 + n01 + n00, rest)


@compiled
def log_mass(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Log probability of a table, without terms of the margins."""
    total = n11 + n10 + n01 + n00
    right_a, wrong_a, right_b, wrong_b = n11 + n10, n01 + n00, n11 + n01, n10 + n00
    away = (n11 * n00 - n10 * n01) / total
    out = -log_rest(n11, rest) - log_rest(n10, rest) - log_rest(n01, rest) - log_rest(n00, rest)
    out -= surplus(away, right_a, right_b, total) + surplus(-away, right_a, wrong_b, total)
    return out - surplus(-away, wrong_a, right_b, total) - surplus(away, wrong_a, wrong_b, total)


@compiled
def surplus(away, row, column, total):  # type: ignore[no-untyped-def]
    """Deviance term of a cell: cell log(cell / expected) + expected - cell."""
    expected = float(row) * float(column) / total
    if expected == 0:
        return 0.0
    ratio = away / expected
    if ratio <= -1:
        return expected
    return expected * ((1 + ratio) * math.log1p(ratio) - ratio)


@compiled
def log_rest(n, rest):  # type: ignore[no-untyped-def]
    """Remainder of log n! beyond n log n - n, from a table or, beyond it, a series."""
    if n < len(rest):
        return rest[n]
    inverse = 1.0 / n
    return math.log(2 * math.pi * n) / 2 + inverse * (1 / 12 - inverse * inverse / 360)
