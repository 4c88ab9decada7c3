"""Tapes as functions that the sampler calls itself, without Python in between.

nutpie takes the addresses of two C functions, of the log density with its gradient and of all that
is saved of a draw, and hands both a pointer to data of ours. Here they are the interpreter of
tapes, compiled once for all models, and the data are a model's tapes: chains run at the same time,
where functions in Python would wait for one another.
"""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from alikely._base.compiled import kept_on_disk
from alikely.inference import interpreter
from alikely.inference.interpreter import evaluate
from alikely.inference.tape import Tape

__all__ = ["TapeData", "density", "draw", "tape_data"]

# Chains that may evaluate at a time, each on a buffer of its own; others wait for one.
N_BUFFERS = min(os.cpu_count() or 1, 16)
# Of each tape: addresses, and what of it has how many.
PER_TAPE = 9
LINES, CODE, N_PLACES, PLACES, LENGTH, BUFFERS, BUSY, N_OUTPUTS, OUTPUTS = range(PER_TAPE)
# What nutpie is told: to go on, or to turn round where there is no density.
FINE, NOT_FINITE = 0, 3

_numbers = types.CPointer(types.float64)
_header = types.CPointer(types.int64)


class TapeData(NamedTuple):
    """What the functions read of a model."""

    header: NDArray[np.int64]
    held: list[NDArray[Any]]


def tape_data(of_density: Tape, of_draw: Tape) -> TapeData:
    """Lay out the tapes of a model."""
    header: list[int] = []
    held: list[NDArray[Any]] = []
    for tape in (of_density, of_draw):
        outputs = np.concatenate([np.ravel(places) for places in tape.outputs]).astype(np.uint64)
        code, places = (np.ascontiguousarray(part) for part in (tape.code, tape.places))
        buffers, busy = np.tile(tape.buffer, (N_BUFFERS, 1)), np.zeros(N_BUFFERS, np.int64)
        arrays = [code, places, buffers, busy, outputs]
        at = [array.ctypes.data for array in arrays]
        header += [len(code), at[0], len(places), at[1], len(tape.buffer), *at[2:4]]
        header += [len(outputs), at[4]]
        held += arrays
    header.append(evaluated.address)
    return TapeData(np.array(header, np.int64), held)


@intrinsic
def _pointer(_, address):  # type: ignore[no-untyped-def]
    """What is at an address."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), code


@intrinsic
def _raised(_, address):  # type: ignore[no-untyped-def]
    """Raise a flag, if it is down: 1 for the one thread that did, 0 for others."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        number = ir.IntType(64)
        flag = builder.inttoptr(arguments[0], number.as_pointer())
        found = builder.cmpxchg(flag, number(0), number(1), "acquire", "monotonic")
        return builder.zext(builder.extract_value(found, 1), number)

    return types.int64(address), code


@intrinsic
def _lowered(_, address):  # type: ignore[no-untyped-def]
    """Take a flag down; returns what it was."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        number = ir.IntType(64)
        flag = builder.inttoptr(arguments[0], number.as_pointer())
        return builder.atomic_rmw("xchg", flag, number(0), "release")

    return types.int64(address), code


def compiled_from(source: int) -> Any:
    """Compile `evaluated`, of sources that a number stands for."""

    @kept_on_disk(numba.cfunc, types.int64(_header, _numbers, types.int64, _numbers, _numbers))
    def evaluated(part, point, n, first, rest):  # type: ignore[no-untyped-def]
        """Run the tape of a part of the header; write down its first output, and the others."""
        header = numba.carray(part, (PER_TAPE,))
        code = numba.carray(_pointer(header[CODE]), (header[LINES], 9), np.uint64)
        places = numba.carray(_pointer(header[PLACES]), (header[N_PLACES],), np.uint64)
        length, flags = header[LENGTH], header[BUSY]
        own = 0
        while _raised(flags + 8 * own) == 0:
            own = (own + 1) % N_BUFFERS
        buffer = numba.carray(_pointer(header[BUFFERS] + 8 * length * own), (length,), np.float64)
        evaluate(numba.carray(point, (n,)), code, places, buffer)
        outputs = numba.carray(_pointer(header[OUTPUTS]), (header[N_OUTPUTS],), np.uint64)
        if len(outputs):
            first[0] = buffer[outputs[0]]
        for i in range(1, len(outputs)):
            rest[i - 1] = buffer[outputs[i]]
        _lowered(flags + 8 * own)
        return source

    return evaluated


def _digest(file: str) -> int:
    """A number of 56 bits that stands for what is written in a file."""
    return int.from_bytes(hashlib.sha256(Path(file).read_bytes()).digest()[:7])


evaluated = compiled_from(_digest(interpreter.__file__))


@intrinsic
def _evaluated(_, header, at, point, n, first, rest):  # type: ignore[no-untyped-def]
    """Call `evaluated` by its address: each of the functions below would else hold its code."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        number = ir.IntType(64)
        start, place, *others = arguments
        address = builder.load(builder.gep(start, [number(2 * PER_TAPE)]))
        given = [builder.gep(start, [place]), *others]
        kind = ir.FunctionType(number, [argument.type for argument in given])
        return builder.call(builder.inttoptr(address, kind.as_pointer()), given)

    return types.int64(_header, types.int64, _numbers, types.int64, _numbers, _numbers), code


@intrinsic
def _after(_, numbers):  # type: ignore[no-untyped-def]
    """What stands after the first number."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.gep(arguments[0], [ir.IntType(64)(1)])

    return _numbers(_numbers), code


@kept_on_disk(numba.cfunc, types.int64(types.uint64, _numbers, _numbers, _numbers, _header))
def density(n, point, gradient, value, header):  # type: ignore[no-untyped-def]
    """Log density and gradient at a point, as nutpie calls it."""
    _evaluated(header, 0, point, np.int64(n), value, gradient)
    finite = math.isfinite(value[0])
    for i in range(n):
        finite &= math.isfinite(gradient[i])
    return FINE if finite else NOT_FINITE


@kept_on_disk(numba.cfunc, types.int64(types.uint64, types.uint64, _numbers, _numbers, _header))
def draw(n, n_saved, point, saved, header):  # type: ignore[no-untyped-def]
    """All that is saved of a draw, as nutpie calls it."""
    _evaluated(header, PER_TAPE, point, np.int64(n), saved, _after(saved))
    return FINE
