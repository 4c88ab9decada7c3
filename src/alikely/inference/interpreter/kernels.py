"""Evaluation of a tape: a list of elementary operations on one buffer of numbers.

Numba compiles this file once for all models and keeps the code on disk; a model's own code takes
half a minute to compile. A line of a tape is ``(operation, n, out, a, a_step, b, b_step, c,
c_step)``: ``n`` results from ``out`` on, of operands that start at ``a, b, c`` and go on in such
steps (0: one number for all). Comments mark operations for which these fields have other meanings.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from alikely._base.arrays import compiled, kept_on_disk

GATHER, SCATTER, TAKE, MATRIX_PRODUCT, SUM, LARGEST, ALL, SOFTMAX, LOG_SOFTMAX, CUMULATE = range(10)
(
    NEGATIVE, SQUARE, EXP, LOG, LOG1P, EXPM1, ROOT, ABSOLUTE, RECIPROCAL, SIGMOID, SOFTPLUS,
    GAMMALN, PSI, ERFC, TANH, IS_NAN, IS_INFINITE, NOT, TRUNCATE,
) = range(20, 39)  # fmt: skip
(
    ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM, GREATER_EQUAL, GREATER, LESS_EQUAL, LESS,
    EQUAL,
) = range(60, 71)  # fmt: skip
SWITCH = 80

# Sums in any order, several numbers at a time.
_reordered = kept_on_disk(numba.njit, nogil=True, error_model="numpy", fastmath={"reassoc"})


@compiled
def psi(x):  # type: ignore[no-untyped-def]
    """Digamma function: reflection below 0, recurrence up to 10, asymptotic series."""
    if x <= 0:
        if x == math.floor(x):
            return -np.inf if x == 0 else np.nan
        return psi(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10:
        shift += 1 / x
        x += 1
    y = 1 / (x * x)
    series = 1 / 12 - y * (
        1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))
    )
    return math.log(x) - 0.5 / x - y * series - shift


@compiled
def of_one(op, x):  # type: ignore[no-untyped-def]
    """Apply a unary operation to a number."""
    if op == EXP:
        return math.exp(x)
    if op == LOG:
        return np.log(x)
    if op == LOG1P:
        return np.log1p(x)
    if op == SIGMOID:
        small = math.exp(-abs(x))
        return (1.0 if x >= 0 else small) / (1 + small)
    if op == SOFTPLUS:
        return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
    if op == ROOT:
        return np.sqrt(x)
    if op == EXPM1:
        return math.expm1(x)
    if op == ABSOLUTE:
        return abs(x)
    if op == RECIPROCAL:
        return 1 / x
    if op == GAMMALN:
        return math.lgamma(x)
    if op == PSI:
        return psi(x)
    if op == ERFC:
        return math.erfc(x)
    if op == TANH:
        return math.tanh(x)
    if op == IS_NAN:
        return 1.0 if x != x else 0.0
    if op == IS_INFINITE:
        return 1.0 if abs(x) == np.inf else 0.0
    if op == NOT:
        return 1.0 if x == 0 else 0.0
    return np.trunc(x)


@compiled
def of_two(op, x, y):  # type: ignore[no-untyped-def]
    """Apply an operation to two numbers."""
    if op == MAXIMUM:
        return x if x > y or x != x else y
    if op == MINIMUM:
        return x if x < y or x != x else y
    if op == GREATER_EQUAL:
        true = x >= y
    elif op == GREATER:
        true = x > y
    elif op == LESS_EQUAL:
        true = x <= y
    elif op == LESS:
        true = x < y
    else:
        true = x == y
    return 1.0 if true else 0.0


@compiled
def _elementwise(op, n, o, a, s, b, t, x):  # type: ignore[no-untyped-def]
    """Separate loops for common operations; others branch for each number."""
    if op == ADD:
        for i in range(n):
            x[o + i] = x[a + s * i] + x[b + t * i]
    elif op == SUBTRACT:
        for i in range(n):
            x[o + i] = x[a + s * i] - x[b + t * i]
    elif op == MULTIPLY:
        for i in range(n):
            x[o + i] = x[a + s * i] * x[b + t * i]
    elif op == DIVIDE:
        for i in range(n):
            x[o + i] = x[a + s * i] / x[b + t * i]
    elif op == NEGATIVE:
        for i in range(n):
            x[o + i] = -x[a + s * i]
    elif op == SQUARE:
        for i in range(n):
            x[o + i] = x[a + s * i] * x[a + s * i]
    elif op > DIVIDE:
        for i in range(n):
            x[o + i] = of_two(op, x[a + s * i], x[b + t * i])
    else:
        for i in range(n):
            x[o + i] = of_one(op, x[a + s * i])


@_reordered
def _sums(n, o, a, length, x):  # type: ignore[no-untyped-def]
    for row in range(n):
        total = 0.0
        for i in range(length):
            total += x[a + row * length + i]
        x[o + row] = total


@_reordered
def _product(n, o, a, b, length, columns, x):  # type: ignore[no-untyped-def]
    for i in range(n):
        for j in range(columns):
            total = 0.0
            for k in range(length):
                total += x[a + i * length + k] * x[b + k * columns + j]
            x[o + i * columns + j] = total


@compiled
def _rows(op, n, o, a, length, x):  # type: ignore[no-untyped-def]
    """Each of n rows to one number, or to a row."""
    for row in range(n):
        start, out = a + row * length, o + row * length
        total, largest, untrue = 0.0, -np.inf, 0
        for i in range(length):
            value = x[start + i]
            if op == CUMULATE:
                total += value
                x[out + i] = total
            # What is no number stays.
            largest = value if value > largest or value != value else largest
            untrue += value == 0
        if op == LARGEST:
            x[o + row] = largest
        elif op == ALL:
            x[o + row] = untrue == 0
        elif op in (SOFTMAX, LOG_SOFTMAX):
            for i in range(length):
                total += math.exp(x[start + i] - largest)
            log = np.log(total)
            for i in range(length):
                value = x[start + i] - largest
                x[out + i] = math.exp(value) / total if op == SOFTMAX else value - log


@compiled
def evaluate(point, code, places, x, outputs, result):  # type: ignore[no-untyped-def]
    """Run a tape at a point, which is written to the start of the buffer ``x``."""
    x[: len(point)] = point
    for k in range(len(code)):
        op, n, o, a, s, b, t, c, u = code[k]
        if op == SWITCH:
            for i in range(n):
                x[o + i] = x[b + t * i] if x[a + s * i] != 0 else x[c + u * i]
        elif op >= NEGATIVE:
            _elementwise(op, n, o, a, s, b, t, x)
        elif op == GATHER:
            # a: the first of the places.
            for i in range(n):
                x[o + i] = x[places[a + i]]
        elif op == SCATTER:
            # b: the first of the places; added to what is there.
            for i in range(n):
                x[o + places[b + i]] += x[a + s * i]
        elif op == TAKE:
            # b: start of a table; c: its length, so that nothing else is ever read.
            for i in range(n):
                at = x[a + s * i]
                if at < 0:
                    at += c
                x[o + i] = x[b + np.uint64(at)] if 0 <= at < c else np.nan
        elif op == MATRIX_PRODUCT:
            # c: length of what is summed; u: columns.
            _product(n, o, a, b, c, u, x)
        elif op == SUM:
            # c: length of a row, here and below.
            _sums(n, o, a, c, x)
        else:
            _rows(op, n, o, a, c, x)
    for i in range(len(outputs)):
        result[i] = x[outputs[i]]


@compiled
def density(point, code, places, x, outputs, result):  # type: ignore[no-untyped-def]
    """Log density, with its gradient in `result`; NaN if the density or gradient is not finite."""
    evaluate(point, code, places, x, outputs, result)
    for i in range(len(outputs)):
        if not math.isfinite(result[i]):
            return np.nan
    return result[0]
