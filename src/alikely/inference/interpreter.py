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
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from alikely._base.compiled import kept_on_disk

__all__ = ["Operation", "evaluate", "exp", "log", "log1p"]


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

# Unsigned as all places are: with signed ones they would be made floats.
FOUR, ONE_ON, TWO_ON, THREE_ON = (np.uint64(n) for n in (4, 1, 2, 3))

_compiled = kept_on_disk(numba.njit, nogil=True, error_model="numpy")


# Exponentials and logarithms without branches, so that loops over them take several numbers at a
# time: a third to a quarter of the time of the C library's. Series, to about a rounding error.
_inline = numba.njit(nogil=True, error_model="numpy", inline="always")
# Added to a number, it leaves the nearest whole one in the last bits.
ROUND = 1.5 * 2.0**52
# Of a number's bits: where its exponent starts, that of 1, and a whole number below 2**52 as one.
EXPONENT, ONE, WHOLE = (np.uint64(bits) for bits in (52, 1023 << 52, 0x433 << 52))
# The logarithm of 2, whose first part times an exponent is exact.
LOG_2, LOG_2_REST = 2977044471 / 2**32, 1.9082149292705877e-10
LOG2_E = 1.4426950408889634
ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
LARGEST_EXPONENT = np.uint64(1024)
TO_POSITIVE = np.uint64(1024 << 52)
NORMAL, SHIFT = 2.0**-1022, 54.0
EXP_SERIES = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
LOG_SERIES = tuple(2 / (2 * k + 1) for k in range(11, 0, -1))


@intrinsic
def _bits(_, number):  # type: ignore[no-untyped-def]
    """The bits of a number."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), code


@intrinsic
def _number(_, bits):  # type: ignore[no-untyped-def]
    """The number of some bits."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), code


@_inline
def exp(x):  # type: ignore[no-untyped-def]
    """Of what is left of a power of 2; that one in two factors, which may be below all others."""
    inside = min(max(x, -746.0), 710.0)
    n = (inside * LOG2_E + ROUND) - ROUND
    rest = (inside - n * LOG_2) - n * LOG_2_REST
    (a, b, c, d, e, f, g, h, i, j, k, m) = EXP_SERIES
    high = ((((a * rest + b) * rest + c) * rest + d) * rest + e) * rest + f
    series = (((((high * rest + g) * rest + h) * rest + i) * rest + j) * rest + k) * rest + m
    half = n * 0.5 + ROUND
    other = (n - (half - ROUND)) + ROUND
    power = _number((_bits(half) << EXPONENT) + ONE)
    value = (1 + (rest + rest * rest * series)) * power
    value *= _number((_bits(other) << EXPONENT) + ONE)
    return value if x == x else x


@_inline
def log(x):  # type: ignore[no-untyped-def]
    """Of a power of 2, and of what is left between the roots of 1/2 and 2."""
    tiny = x < NORMAL
    y = x * 2.0**SHIFT if tiny else x
    raised = (_bits(y) - ROOT_HALF + TO_POSITIVE) >> EXPONENT
    left = _number(_bits(y) - ((raised - LARGEST_EXPONENT) << EXPONENT))
    power = _number(raised | WHOLE) - (2.0**52 + 1024)
    power = power - SHIFT if tiny else power
    s = (left - 1) / (left + 1)
    z = s * s
    (a, b, c, d, e, f, g, h, i, j, k) = LOG_SERIES
    high = ((((a * z + b) * z + c) * z + d) * z + e) * z + f
    series = ((((high * z + g) * z + h) * z + i) * z + j) * z + k
    value = power * LOG_2 + (2 * s + (s * z * series + power * LOG_2_REST))
    value = value if x > 0 else (-np.inf if x == 0 else np.nan)
    return value if x < np.inf else x


@_inline
def log1p(x):  # type: ignore[no-untyped-def]
    """Of 1 + x as rounded, times what that rounding left out."""
    above = 1 + x
    rounded = above - 1
    value = log(above) * (x / rounded) if rounded != 0 else x
    return value if above < np.inf else above


@_compiled
def psi(x):  # type: ignore[no-untyped-def]
    """Digamma function: reflection below 0."""
    if x == 0:
        return -np.inf
    if x < 0:
        if x == math.floor(x):
            return np.nan
        return psi_above_0(1 - x) - math.pi / math.tan(math.pi * x)
    return psi_above_0(x)


@_inline
def psi_above_0(x):  # type: ignore[no-untyped-def]
    """Asymptotic series, ten steps further; the reciprocals that were stepped over as one ratio."""
    low = min(x, 10.0)
    over, under = 1.0, low
    for k in range(1, 10):
        over = over * (low + k) + under
        under = under * (low + k)
    far = x if x >= 10 else x + 10
    y = 1 / (far * far)
    series = 1 / 12 - y * (
        1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))
    )
    return log(far) - 0.5 / far - y * series - (over / under if x < 10 else 0.0)


@_compiled
def erfcx(x):  # type: ignore[no-untyped-def]
    """Scaled complementary error function; asymptotic series where the plain one underflows."""
    if x < 25:
        return math.exp(x * x) * math.erfc(x)
    y = 0.5 / (x * x)
    return (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))) / (x * math.sqrt(math.pi))


@_inline
def sigmoid(x):  # type: ignore[no-untyped-def]
    small = exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1 + small)


@_inline
def softplus(x):  # type: ignore[no-untyped-def]
    return max(x, 0.0) + log1p(exp(-abs(x)))


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
            x[o + i] = exp(x[a + s * i])
    elif op == 22:
        for i in range(n):
            x[o + i] = log(x[a + s * i])
    elif op == 23:
        for i in range(n):
            x[o + i] = log1p(x[a + s * i])
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
        # Without a branch for all, and again for the few below 0.
        for i in range(n):
            x[o + i] = psi_above_0(x[a + s * i])
        for i in range(n):
            if not x[a + s * i] > 0:
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
            # Four sums side by side: each addition waits for the one before.
            one, two, three, four = 0.0, 0.0, 0.0, 0.0
            for i in range(length // FOUR):
                at = start + FOUR * i
                one += x[at]
                two += x[at + ONE_ON]
                three += x[at + TWO_ON]
                four += x[at + THREE_ON]
            one = (one + two) + (three + four)
            for i in range(length - length % FOUR, length):
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
                x[out + i] = exp(x[start + i] - largest)
            for i in range(length):
                total += x[out + i]
            if op == LOG_SOFTMAX:
                log = math.log(total)
                for i in range(length):
                    x[out + i] = x[start + i] - largest - log
            else:
                for i in range(length):
                    x[out + i] /= total


@kept_on_disk(numba.njit, nogil=True, error_model="numpy", inline="always")
def evaluate(point, code, places, x):  # type: ignore[no-untyped-def]
    """Run a tape at a point, which is written to the start of the buffer ``x``."""
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
