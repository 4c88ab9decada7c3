"""Evaluation of a tape: a list of elementary operations on one buffer of numbers.

Compiled once for all models, and kept on disk; a model's own code takes half a minute to compile.
`alikely.inference.native` hands it to the sampler.
Each operation is written as ``(operation, n, out, a, a_step, b, b_step, c, c_step)``: ``n`` results
from ``out`` on, of operands that start at ``a, b, c`` and go on in such steps (0: one number for
all). Where other numbers stand in their place, a comment says so.
"""

from __future__ import annotations

import enum
import math

import numba
import numpy as np

__all__ = ["Operation", "evaluate"]


class Operation(enum.IntEnum):
    """What a line of a tape does."""

    GATHER = 0
    SCATTER = 1
    SUM = 2
    PRODUCT = 3
    LARGEST = 4
    LEAST = 5
    SOFTMAX = 6
    LOG_SOFTMAX = 7
    CUMULATE = 8
    MATRIX_PRODUCT = 9
    TAKE = 10
    ALL = 11

    NEGATIVE = 20
    EXP = 21
    LOG = 22
    LOG1P = 23
    EXPM1 = 24
    LOG1MEXP = 25
    SQUARE = 26
    ROOT = 27
    ABSOLUTE = 28
    SIGN = 29
    RECIPROCAL = 30
    SIGMOID = 31
    SOFTPLUS = 32
    GAMMALN = 33
    PSI = 34
    ERF = 35
    ERFC = 36
    ERFCX = 37
    TANH = 38
    IS_NAN = 39
    IS_INFINITE = 40
    NOT = 41
    FLOOR = 42
    CEILING = 43
    TRUNCATE = 44
    SIN = 45
    COS = 46
    SINH = 47
    COSH = 48
    ARCSINH = 49

    ADD = 60
    SUBTRACT = 61
    MULTIPLY = 62
    DIVIDE = 63
    POWER = 64
    MAXIMUM = 65
    MINIMUM = 66
    GREATER_EQUAL = 67
    GREATER = 68
    LESS_EQUAL = 69
    LESS = 70
    EQUAL = 71
    NOT_EQUAL = 72

    SWITCH = 80
    CLIP = 81


# Numba reads members of an enumeration slowly, globals as constants.
GATHER, SCATTER, SUM, PRODUCT, LARGEST = range(5)
LEAST, SOFTMAX, LOG_SOFTMAX, CUMULATE, MATRIX_PRODUCT, TAKE, ALL = range(5, 12)
FIRST_UNARY, FIRST_BINARY, FIRST_TERNARY = 20, 60, 80

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def psi(x):  # type: ignore[no-untyped-def]
    """Digamma function: reflection, recurrence up to 10, asymptotic series."""
    if x == 0:
        return -np.inf
    if x < 0:
        if x == math.floor(x):
            return np.nan
        return psi_above_0(1 - x) - math.pi / math.tan(math.pi * x)
    return psi_above_0(x)


@_compiled
def psi_above_0(x):  # type: ignore[no-untyped-def]
    below = 0.0
    while x < 10:
        below -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = 1 / 12 - y * (
        1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))
    )
    return below + math.log(x) - 0.5 / x - y * series


@_compiled
def erfcx(x):  # type: ignore[no-untyped-def]
    """Scaled complementary error function; asymptotic series where the plain one underflows."""
    if x < 25:
        return math.exp(x * x) * math.erfc(x)
    y = 0.5 / (x * x)
    return (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))) / (x * math.sqrt(math.pi))


@_compiled
def sigmoid(x):  # type: ignore[no-untyped-def]
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    small = math.exp(x)
    return small / (1 + small)


@_compiled
def softplus(x):  # type: ignore[no-untyped-def]
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@_compiled
def log1mexp(x):  # type: ignore[no-untyped-def]
    if x < -0.6931471805599453:
        return math.log1p(-math.exp(x))
    return math.log(-math.expm1(x))


@_compiled
def _elementary(op, n, o, a, s, x):  # type: ignore[no-untyped-def]
    if op == 20:
        for i in range(n):
            x[o + i] = -x[a + s * i]
    elif op == 21:
        for i in range(n):
            x[o + i] = math.exp(x[a + s * i])
    elif op == 22:
        for i in range(n):
            x[o + i] = math.log(x[a + s * i])
    elif op == 23:
        for i in range(n):
            x[o + i] = math.log1p(x[a + s * i])
    elif op == 24:
        for i in range(n):
            x[o + i] = math.expm1(x[a + s * i])
    elif op == 25:
        for i in range(n):
            x[o + i] = log1mexp(x[a + s * i])
    elif op == 26:
        for i in range(n):
            x[o + i] = x[a + s * i] * x[a + s * i]
    elif op == 27:
        for i in range(n):
            x[o + i] = math.sqrt(x[a + s * i])
    elif op == 28:
        for i in range(n):
            x[o + i] = abs(x[a + s * i])
    elif op == 29:
        for i in range(n):
            x[o + i] = np.sign(x[a + s * i])
    elif op == 30:
        for i in range(n):
            x[o + i] = 1 / x[a + s * i]
    elif op == 31:
        for i in range(n):
            x[o + i] = sigmoid(x[a + s * i])
    elif op == 32:
        for i in range(n):
            x[o + i] = softplus(x[a + s * i])
    else:
        _special(op, n, o, a, s, x)


@_compiled
def _special(op, n, o, a, s, x):  # type: ignore[no-untyped-def]
    if op == 33:
        for i in range(n):
            x[o + i] = math.lgamma(x[a + s * i])
    elif op == 34:
        for i in range(n):
            x[o + i] = psi(x[a + s * i])
    elif op == 35:
        for i in range(n):
            x[o + i] = math.erf(x[a + s * i])
    elif op == 36:
        for i in range(n):
            x[o + i] = math.erfc(x[a + s * i])
    elif op == 37:
        for i in range(n):
            x[o + i] = erfcx(x[a + s * i])
    elif op == 38:
        for i in range(n):
            x[o + i] = math.tanh(x[a + s * i])
    elif op == 39:
        for i in range(n):
            x[o + i] = math.isnan(x[a + s * i])
    elif op == 40:
        for i in range(n):
            x[o + i] = math.isinf(x[a + s * i])
    elif op == 41:
        for i in range(n):
            x[o + i] = x[a + s * i] == 0
    elif op == 42:
        for i in range(n):
            x[o + i] = np.floor(x[a + s * i])
    elif op == 43:
        for i in range(n):
            x[o + i] = np.ceil(x[a + s * i])
    elif op == 44:
        for i in range(n):
            x[o + i] = np.trunc(x[a + s * i])
    elif op == 45:
        for i in range(n):
            x[o + i] = math.sin(x[a + s * i])
    elif op == 46:
        for i in range(n):
            x[o + i] = math.cos(x[a + s * i])
    elif op == 47:
        for i in range(n):
            x[o + i] = math.sinh(x[a + s * i])
    elif op == 48:
        for i in range(n):
            x[o + i] = math.cosh(x[a + s * i])
    elif op == 49:
        for i in range(n):
            x[o + i] = math.asinh(x[a + s * i])


@_compiled
def _of_two(op, n, o, a, s, b, t, x):  # type: ignore[no-untyped-def]
    if op == 60:
        for i in range(n):
            x[o + i] = x[a + s * i] + x[b + t * i]
    elif op == 61:
        for i in range(n):
            x[o + i] = x[a + s * i] - x[b + t * i]
    elif op == 62:
        for i in range(n):
            x[o + i] = x[a + s * i] * x[b + t * i]
    elif op == 63:
        for i in range(n):
            x[o + i] = x[a + s * i] / x[b + t * i]
    elif op == 64:
        for i in range(n):
            x[o + i] = x[a + s * i] ** x[b + t * i]
    elif op == 65:
        for i in range(n):
            p, q = x[a + s * i], x[b + t * i]
            x[o + i] = p if p > q or p != p else q
    elif op == 66:
        for i in range(n):
            p, q = x[a + s * i], x[b + t * i]
            x[o + i] = p if p < q or p != p else q
    elif op == 67:
        for i in range(n):
            x[o + i] = x[a + s * i] >= x[b + t * i]
    elif op == 68:
        for i in range(n):
            x[o + i] = x[a + s * i] > x[b + t * i]
    elif op == 69:
        for i in range(n):
            x[o + i] = x[a + s * i] <= x[b + t * i]
    elif op == 70:
        for i in range(n):
            x[o + i] = x[a + s * i] < x[b + t * i]
    elif op == 71:
        for i in range(n):
            x[o + i] = x[a + s * i] == x[b + t * i]
    elif op == 72:
        for i in range(n):
            x[o + i] = x[a + s * i] != x[b + t * i]


@_compiled
def _of_three(op, n, o, a, s, b, t, c, u, x):  # type: ignore[no-untyped-def]
    if op == 80:
        for i in range(n):
            x[o + i] = x[b + t * i] if x[a + s * i] != 0 else x[c + u * i]
    elif op == 81:
        for i in range(n):
            p, low, high = x[a + s * i], x[b + t * i], x[c + u * i]
            x[o + i] = low if p < low else high if p > high else p


@_compiled
def _reduced(op, n, o, a, length, x):  # type: ignore[no-untyped-def]
    """Each of n rows to one number."""
    for row in range(n):
        start = a + row * length
        if op == SUM:
            one = 0.0
            for i in range(length):
                one += x[start + i]
        elif op == PRODUCT:
            one = 1.0
            for i in range(length):
                one *= x[start + i]
        elif op == LARGEST:
            one = -np.inf
            for i in range(length):
                other = x[start + i]
                # What is no number stays.
                one = other if other > one or other != other else one
        else:
            one = np.inf
            for i in range(length):
                other = x[start + i]
                one = other if other < one or other != other else one
        x[o + row] = one


@_compiled
def _all(n, o, a, length, x):  # type: ignore[no-untyped-def]
    """Whether all of each of n rows are true: to count is faster than to compare."""
    for row in range(n):
        start, untrue = a + row * length, 0
        for i in range(length):
            untrue += x[start + i] == 0
        x[o + row] = untrue == 0


@_compiled
def _of_rows(op, n, o, a, length, x):  # type: ignore[no-untyped-def]
    """Each of n rows to a row."""
    for row in range(n):
        start, out = a + row * length, o + row * length
        if op == CUMULATE:
            total = 0.0
            for i in range(length):
                total += x[start + i]
                x[out + i] = total
        else:
            largest, total = -np.inf, 0.0
            for i in range(length):
                largest = max(largest, x[start + i])
            for i in range(length):
                one = math.exp(x[start + i] - largest)
                total += one
                x[out + i] = one
            if op == LOG_SOFTMAX:
                log = math.log(total)
                for i in range(length):
                    x[out + i] = x[start + i] - largest - log
            else:
                for i in range(length):
                    x[out + i] /= total


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def evaluate(point, code, places, x):  # type: ignore[no-untyped-def]
    """Run a tape at a point, which is written to the start of the buffer ``x``.

    Parameters
    ----------
    point : numpy.ndarray, shape (parameter,)
    code : numpy.ndarray of int, shape (line, 9)
    places : numpy.ndarray of int
        For those lines that take numbers from here and there.
    x : numpy.ndarray
        Holds constants and all that is worked out.
    """
    x[: len(point)] = point
    for k in range(len(code)):
        op, n, o, a, s, b, t, c, u = code[k]
        if op >= FIRST_TERNARY:
            _of_three(op, n, o, a, s, b, t, c, u, x)
        elif op >= FIRST_BINARY:
            _of_two(op, n, o, a, s, b, t, x)
        elif op >= FIRST_UNARY:
            _elementary(op, n, o, a, s, x)
        elif op == GATHER:
            # a: the first of the places.
            for i in range(n):
                x[o + i] = x[places[a + i]]
        elif op == SCATTER:
            # b: the first of the places; added to what is there.
            for i in range(n):
                x[o + places[b + i]] += x[a + s * i]
        elif op <= LEAST:
            # c: numbers in a row.
            _reduced(op, n, o, a, c, x)
        elif op == ALL:
            _all(n, o, a, c, x)
        elif op == TAKE:
            # b: start of a table; c: its length, so that nothing else is ever read.
            for i in range(n):
                at = x[a + s * i]
                if at < 0:
                    at += c
                x[o + i] = x[b + np.uint64(at)] if 0 <= at < c else np.nan
        elif op == MATRIX_PRODUCT:
            # c: length of what is summed; u: columns.
            for i in range(n):
                for j in range(u):
                    total = 0.0
                    for inner in range(c):
                        total += x[a + i * c + inner] * x[b + inner * u + j]
                    x[o + i * u + j] = total
        else:
            _of_rows(op, n, o, a, c, x)
