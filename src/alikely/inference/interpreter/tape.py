"""Represent a graph as a tape: a list of elementary operations on one buffer of numbers.

PyTensor writes the graphs of a log density and its gradient, which are decomposed here. What does
not depend on the parameters is evaluated immediately. Slices, transposes and broadcasting only move
numbers and need no operation, because a variable of the graph is an array of positions in the
buffer. `alikely.inference.interpreter.kernels` runs tapes. Operations that no model of this package
uses are left to the compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytensor.scalar as ps
from numpy.typing import ArrayLike, NDArray
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import toposort
from pytensor.tensor import basic, elemwise, subtensor
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot
from pytensor.tensor.random.op import RNGConsumerOp
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.special import LogSoftmax, Softmax

from alikely._base.arrays import Floats
from alikely.inference.interpreter import kernels as k

Places = NDArray[np.int64]

# Numbers of these types stay what they are on a tape; narrower ones (int8, ...) would wrap around.
WIDE = ("float64", "float32", "int64")
CHOOSING = (ps.Switch, ps.Maximum, ps.Minimum)
LOGICAL = (ps.AND, ps.OR, ps.Invert)
UNARY: dict[type, int] = {
    ps.Neg: k.NEGATIVE, ps.Exp: k.EXP, ps.Log: k.LOG, ps.Log1p: k.LOG1P, ps.Expm1: k.EXPM1,
    ps.Sqr: k.SQUARE, ps.Sqrt: k.ROOT, ps.Abs: k.ABSOLUTE, ps.Reciprocal: k.RECIPROCAL,
    ps.math.Sigmoid: k.SIGMOID, ps.math.Softplus: k.SOFTPLUS, ps.math.GammaLn: k.GAMMALN,
    ps.math.Psi: k.PSI, ps.math.Erfc: k.ERFC, ps.Tanh: k.TANH, ps.IsNan: k.IS_NAN,
    ps.IsInf: k.IS_INFINITE, ps.Invert: k.NOT, ps.Cast: k.TRUNCATE,
}  # fmt: skip
BINARY: dict[type, int] = {
    ps.Add: k.ADD, ps.Sub: k.SUBTRACT, ps.Mul: k.MULTIPLY, ps.TrueDiv: k.DIVIDE,
    ps.Maximum: k.MAXIMUM, ps.Minimum: k.MINIMUM, ps.GE: k.GREATER_EQUAL, ps.GT: k.GREATER,
    ps.LE: k.LESS_EQUAL, ps.LT: k.LESS, ps.EQ: k.EQUAL,
    # Truth values are 0 or 1.
    ps.AND: k.MINIMUM, ps.OR: k.MAXIMUM,
}  # fmt: skip
LINES = {**UNARY, **BINARY, ps.Switch: k.SWITCH}
REDUCED = {ps.Add: k.SUM, ps.Maximum: k.LARGEST, ps.AND: k.ALL, ps.OR: k.LARGEST}
BY_ROW = {Softmax: k.SOFTMAX, LogSoftmax: k.LOG_SOFTMAX, CumOp: k.CUMULATE}


class UnsupportedError(NotImplementedError):
    """Error for a graph with an operation that tapes do not support; the graph must be compiled."""


class Tape(NamedTuple):
    """Operations of a tape, and positions of the results in its buffer."""

    code: NDArray[np.uint64]
    places: NDArray[np.uint64]
    buffer: Floats
    outputs: list[Places]


class _Step(NamedTuple):
    """A node of the graph; places of its live inputs, values of the others."""

    node: Apply
    inputs: list[Any]
    live: list[bool]

    def known_from(self, first: int) -> None:
        """Raise an error if node inputs, from number `first` on, depend on parameters."""
        if any(self.live[first:]):
            raise UnsupportedError(f"a shape or index of {self.node.op} depends on parameters")

    def require(self, condition: bool) -> None:
        """Raise an error for an unsupported node."""
        if not condition:
            types = (", ".join(v.dtype for v in vs) for vs in (self.node.inputs, self.node.outputs))
            raise UnsupportedError(f"no tape knows {self.node.op} of {' to '.join(types)}")


def written(
    parameters: Iterable[Variable], outputs: Iterable[Variable], data: Mapping[Any, ArrayLike]
) -> Tape:
    """Write the tape of some outputs: nodes are evaluated at once or written to the tape."""
    writer, wanted = _Writer(), list(outputs)
    places: dict[Variable, Places] = {p: writer.fresh(p.type.shape) for p in parameters}
    known: dict[Variable, Any] = {variable: np.asarray(x) for variable, x in data.items()}

    def place_or_value(variable: Variable) -> Any:
        if variable in places:
            return places[variable]
        return variable.data if isinstance(variable, Constant) else known[variable]

    for node in toposort(wanted):
        op, live = node.op, [i in places for i in node.inputs]
        if isinstance(op, RNGConsumerOp):
            raise UnsupportedError(f"{op} is resampled at each evaluation")
        inputs = [place_or_value(i) for i in node.inputs]
        if any(live) and not isinstance(op, (Shape, Shape_i)):
            lines = _write(op, _Step(node, inputs, live), writer)
            places.update(zip(node.outputs, lines, strict=True))
        else:
            known.update(zip(node.outputs, _performed(node, inputs), strict=True))
    found = ((v in places, place_or_value(v)) for v in wanted)
    return writer.tape([x if is_place else writer.constant(x) for is_place, x in found])


def _performed(node: Apply, inputs: list[Any]) -> list[Any]:
    """Values of a node's outputs, by PyTensor's own Python."""
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    node.op.perform(node, inputs, storage)
    return [cell[0] for cell in storage]


class _Writer:
    """Takes places in the buffer, and writes lines of the tape."""

    def __init__(self) -> None:
        self.size = 0
        self.lines: list[tuple[int, ...]] = []
        self.constants: list[tuple[Places, Floats]] = []
        self.gathered: list[Places] = []
        self.n_gathered = 0
        self.known: dict[Any, Places] = {}
        self.rows: dict[bytes, int] = {}

    def fresh(self, of_shape: Iterable[int | None]) -> Places:
        sizes = tuple(int(n) for n in of_shape)  # type: ignore[arg-type]
        n = int(np.prod(sizes, dtype=np.int64))
        place = np.arange(self.size, self.size + n).reshape(sizes)
        self.size += n
        return place

    def constant(self, value: Any) -> Places:
        """Return the positions of known numbers; equal numbers share their positions."""
        if np.iscomplexobj(value):
            raise UnsupportedError("a tape contains no complex numbers")
        numbers = np.asarray(value, dtype=np.float64)
        key = (numbers.shape, numbers.tobytes())
        if key not in self.known:
            self.known[key] = self.fresh(numbers.shape)
            self.constants.append((self.known[key], numbers))
        return self.known[key]

    def placed(self, step: _Step, n: int | None = None) -> list[Places]:
        """Places of the first n inputs of a node."""
        pairs = zip(step.inputs[:n], step.live[:n], strict=True)
        return [x if is_live else self.constant(x) for x, is_live in pairs]

    def operand(self, place: Places) -> tuple[int, int]:
        """Return first position and step of an operand; scattered numbers are gathered first."""
        flat = place.ravel()
        if len(flat) <= 1:
            return (int(flat[0]) if len(flat) else 0), 0
        steps = np.diff(flat)
        if steps[0] >= 0 and (steps == steps[0]).all():
            return int(flat[0]), int(steps[0])
        return self.row(place), 1

    def row(self, place: Places) -> int:
        """Return the first position of contiguous numbers, which are gathered if necessary."""
        flat = place.ravel()
        if not len(flat) or (flat == np.arange(flat[0], flat[0] + len(flat))).all():
            return int(flat[0]) if len(flat) else 0
        key = flat.tobytes()
        if key not in self.rows:
            self.rows[key] = int(self.line(k.GATHER, flat.shape, self.listed(flat))[0])
        return self.rows[key]

    def line(self, op: int, shape: tuple[int, ...], *rest: int, n: int | None = None) -> Places:
        """Write a line of n results (default: all) to new positions of a given shape."""
        out = self.fresh(shape)
        if out.size:
            first = (op, out.size if n is None else n, int(out.flat[0]))
            self.lines.append((*first, *rest, *[0] * (6 - len(rest))))
        return out

    def applied(self, op: int, *operands: Places) -> Places:
        """Write an elementwise operation to the tape."""
        pairs = [self.operand(place) for place in operands]
        return self.line(op, operands[0].shape, *(number for pair in pairs for number in pair))

    def listed(self, places: Places) -> int:
        """Store positions, and return the index at which they start."""
        self.gathered.append(places)
        self.n_gathered += len(places)
        return self.n_gathered - len(places)

    def tape(self, outputs: list[Places]) -> Tape:
        buffer = np.zeros(self.size)
        for place, numbers in self.constants:
            buffer[place] = numbers
        # Unsigned: numbers below 0 would be looked for at each step, to count from the end.
        code = np.array(self.lines, dtype=np.uint64).reshape(-1, 9)
        places = np.concatenate([*self.gathered, np.zeros(0, np.int64)]).astype(np.uint64)
        return Tape(code, places, buffer, outputs)


@functools.singledispatch
def _write(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    """Write the lines of a node; return the places of its outputs."""
    raise UnsupportedError(f"no tape knows {op}")


@_write.register(elemwise.DimShuffle)
@_write.register(subtensor.Subtensor)
@_write.register(SpecifyShape)
@_write.register(basic.Split)
@_write.register(basic.Alloc)
def _moved(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    """Moves its first input; the others say where."""
    step.known_from(1)
    given = [*writer.placed(step, 1), *step.inputs[1:]]
    return [np.asarray(moved, dtype=np.int64) for moved in _performed(step.node, given)]


@_write.register
def _(op: subtensor.AdvancedSubtensor, step: _Step, writer: _Writer) -> list[Places]:
    if len(step.inputs) != 2 or not step.live[1] or np.ndim(step.inputs[0]) != 1:
        return _moved(op, step, writer)
    step.require(step.node.inputs[1].dtype != "bool")
    # From a table, at places that the parameters say.
    table, at = writer.placed(step)
    first = writer.row(table)
    return [writer.line(k.TAKE, at.shape, *writer.operand(at), first, 0, table.size)]


@_write.register(basic.Join)
@_write.register(basic.MakeVector)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    placed = writer.placed(step)
    return [np.concatenate(placed, op.axis) if isinstance(op, basic.Join) else np.stack(placed)]


@_write.register(subtensor.IncSubtensor)
@_write.register(subtensor.AdvancedIncSubtensor)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    step.known_from(2)
    to, of = (v.dtype for v in step.node.inputs[:2])
    once = op.set_instead_of_inc
    step.require(np.can_cast(of, to))
    step.require(once or (to in WIDE and not getattr(op, "ignore_duplicates", False)))
    x, y = writer.placed(step, 2)
    index = tuple(subtensor.unflatten_index_variables(step.inputs[2:], op.idx_list))
    target = np.arange(x.size).reshape(x.shape)[index].ravel()
    added = np.broadcast_to(y, x[index].shape)
    if once:
        out = x.ravel().copy()
        out[target] = added.ravel()
        return [out.reshape(x.shape)]
    out = writer.line(k.GATHER, x.shape, writer.listed(x.ravel()))
    if added.size:
        rest = (*writer.operand(added), writer.listed(target), 0, 0, 0)
        writer.lines.append((k.SCATTER, added.size, int(out.flat[0]), *rest))
    return [out]


@_write.register
def _(op: elemwise.Elemwise, step: _Step, writer: _Writer) -> list[Places]:
    shape = np.broadcast_shapes(*(np.shape(x) for x in step.inputs))
    for v, x in zip(step.node.inputs, step.inputs, strict=True):
        stretched = np.not_equal(np.shape(x), shape)
        if (stretched & ~np.array(v.type.broadcastable, dtype=bool)).any():
            raise UnsupportedError(f"{op} broadcasts where its graph does not")
    # What is known is laid out once: else it would be gathered at each evaluation.
    laid = [
        x if is_live or np.size(x) == 1 else np.broadcast_to(x, shape)
        for x, is_live in zip(step.inputs, step.live, strict=True)
    ]
    spread = [np.broadcast_to(p, shape) for p in writer.placed(step._replace(inputs=laid))]
    kind, dtypes = type(op.scalar_op), [v.dtype for v in step.node.inputs]
    to = step.node.outputs[0].dtype
    if kind is ps.Second and dtypes[1] == to:
        return [spread[1]]
    if kind is ps.Cast and (np.can_cast(dtypes[0], to) or to in ("float32", "float64")):
        step.require(not to.startswith("complex"))
        return [spread[0]]
    if kind is ps.Clip:
        x, low, high = spread
        capped = writer.applied(k.SWITCH, writer.applied(k.GREATER, x, high), high, x)
        return [writer.applied(k.SWITCH, writer.applied(k.LESS, x, low), low, capped)]
    all_logical = set(dtypes) == {"bool"}
    step.require(kind in LINES and (kind not in LOGICAL or all_logical))
    step.require(kind in CHOOSING or to in WIDE or (to == "bool" and kind is not ps.Cast))
    if all_logical:
        # To add truth values is to ask whether one is true.
        kind = {ps.Add: ps.OR, ps.Mul: ps.AND}.get(kind, kind)
    if kind in BINARY:
        return [functools.reduce(functools.partial(writer.applied, BINARY[kind]), spread)]
    return [writer.applied(LINES[kind], *spread)]


@_write.register
def _(op: elemwise.CAReduce, step: _Step, writer: _Writer) -> list[Places]:
    kind, rows = type(op.scalar_op), _last(step.inputs[0], op.axis)
    *shape, length = rows.shape
    step.require(kind in REDUCED and length > 0)
    step.require(kind is not ps.Add or step.node.outputs[0].dtype in WIDE)
    step.require(kind not in LOGICAL or step.node.inputs[0].dtype == "bool")
    if length == 1:
        return [rows[..., 0]]
    return [writer.line(REDUCED[kind], tuple(shape), writer.row(rows), 0, 0, 0, length)]


def _last(place: Places, axis: Any) -> Places:
    """Some axes made one, the last."""
    axes = range(place.ndim) if axis is None else [a % place.ndim for a in np.atleast_1d(axis)]
    kept = [a for a in range(place.ndim) if a not in axes]
    return place.transpose([*kept, *axes]).reshape(
        *(place.shape[a] for a in kept), int(np.prod([place.shape[a] for a in axes]))
    )


@_write.register(Softmax)
@_write.register(LogSoftmax)
@_write.register(CumOp)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    """Each row to a row."""
    step.require(getattr(op, "mode", "add") == "add" and op.axis is not None)
    rows = np.moveaxis(step.inputs[0], op.axis, -1)
    n = rows.size // max(rows.shape[-1], 1)
    rest = (writer.row(rows), 0, 0, 0, rows.shape[-1])
    out = writer.line(BY_ROW[type(op)], rows.shape, *rest, n=n)
    return [np.moveaxis(out, -1, op.axis)]


@_write.register(Dot)
@_write.register(BatchedDot)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    step.require(step.node.outputs[0].dtype in WIDE)
    a, b = writer.placed(step)
    out = np.empty((*a.shape[:-1], b.shape[-1]), dtype=np.int64)
    for i in np.ndindex(a.shape[:-2]):
        rest = (writer.row(a[i]), 0, writer.row(b[i]), 0, *b.shape[-2:])
        out[i] = writer.line(k.MATRIX_PRODUCT, out.shape[-2:], *rest, n=a.shape[-2])
    return [out]
