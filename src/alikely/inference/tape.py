"""A model's log density and gradient as a tape that is evaluated without compiling anything.

PyTensor writes the graphs of the density, of its gradient and of all that is saved of a draw; here
they are taken apart into elementary operations on one buffer (`alikely.inference.interpreter`).
What does not depend on the parameters is worked out at once. What only moves numbers (slices,
transposes, broadcasting) is no operation: a variable of the graph is an array of places in the
buffer, and moving numbers is moving places.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytensor.scalar as ps
from numpy.typing import ArrayLike, NDArray
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor import basic, elemwise, subtensor
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot
from pytensor.tensor.random.op import RNGConsumerOp
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.special import LogSoftmax, Softmax

from alikely._base.arrays import Floats
from alikely.inference.interpreter import Operation as Op

__all__ = ["Tape", "UnsupportedError", "written"]

Places = NDArray[np.int64]


class UnsupportedError(NotImplementedError):
    """A graph holds what no tape can: it must be compiled."""


class Tape(NamedTuple):
    """What is to be done, and where the results lie."""

    code: NDArray[np.uint64]
    places: NDArray[np.uint64]
    buffer: Floats
    outputs: list[Places]


def written(
    parameters: Iterable[Variable], outputs: Iterable[Variable], data: Mapping[Any, ArrayLike]
) -> Tape:
    """Write the tape of some outputs."""
    writer = _Writer()
    known: dict[Variable, Any] = {}
    places: dict[Variable, Places] = {p: writer.fresh(p.type.shape) for p in parameters}
    return writer.tape(_walk(writer, list(outputs), known, places, data))


def _walk(
    writer: _Writer,
    outputs: list[Variable],
    known: dict[Variable, Any],
    places: dict[Variable, Places],
    data: Mapping[Any, ArrayLike],
) -> list[Places]:
    """Work out, or write down, each node in its turn; return the places of the outputs."""
    for node in toposort(outputs):
        if isinstance(node.op, RNGConsumerOp):
            raise UnsupportedError(f"{node.op} is drawn anew at each evaluation")
        if not any(i in places for i in node.inputs):
            _work_out(node, {i: _value(i, known, data) for i in node.inputs}, known)
            continue
        if isinstance(node.op, Shape):
            known[node.outputs[0]] = np.array(places[node.inputs[0]].shape, dtype=np.int64)
            continue
        if isinstance(node.op, Shape_i):
            known[node.outputs[0]] = np.array(places[node.inputs[0]].shape[node.op.i])
            continue
        inputs = [places[i] if i in places else _value(i, known, data) for i in node.inputs]
        step = _Step(node, inputs, [i in places for i in node.inputs])
        places.update(zip(node.outputs, _write(node.op, step, writer), strict=True))
    return [places[o] if o in places else writer.constant(_value(o, known, data)) for o in outputs]


class _Step(NamedTuple):
    """A node of the graph: of its inputs the places, if they are live, else the values."""

    node: Apply
    inputs: list[Any]
    live: list[bool]

    def placed(self, writer: _Writer) -> list[Places]:
        """Places of all inputs."""
        pairs = zip(self.inputs, self.live, strict=True)
        return [x if is_live else writer.constant(x) for x, is_live in pairs]

    def known_from(self, first: int, what: str) -> None:
        """Refuse a node whose inputs from that on are live."""
        if any(self.live[first:]):
            raise UnsupportedError(f"{what} of {self.node.op} depends on parameters")


def _value(variable: Variable, known: dict[Variable, Any], data: Mapping[Any, ArrayLike]) -> Any:
    if variable in known:
        return known[variable]
    if isinstance(variable, Constant):
        return variable.data
    if variable in data:
        return np.asarray(data[variable])
    if isinstance(variable, SharedVariable):
        return variable.get_value()
    raise UnsupportedError(f"{variable} has no value")


def _work_out(node: Apply, inputs: dict[Variable, Any], known: dict[Variable, Any]) -> None:
    """Values of a node's outputs, by PyTensor's own Python."""
    storage = {v: [inputs.get(v)] for v in [*node.inputs, *node.outputs]}
    computed = {v: [v in inputs] for v in storage}
    node.op.make_py_thunk(node, storage, computed, [], debug=False)()
    known.update({o: storage[o][0] for o in node.outputs})


class _Writer:
    """Takes places in the buffer, and writes lines of the tape."""

    def __init__(self) -> None:
        self.size = 0
        self.lines: list[tuple[int, ...]] = []
        self.constants: list[tuple[int, Floats]] = []
        self.gathered: list[Places] = []
        self.n_gathered = 0
        self.known: dict[Any, Places] = {}
        self.single: dict[int, float] = {}
        self.rows: dict[bytes, int] = {}

    def fresh(self, of_shape: Iterable[int | None]) -> Places:
        sizes = tuple(int(n) for n in of_shape)  # type: ignore[arg-type]
        n = int(np.prod(sizes, dtype=np.int64))
        place = np.arange(self.size, self.size + n).reshape(sizes)
        self.size += n
        return place

    def constant(self, value: Any) -> Places:
        """Places of known numbers, the same for the same."""
        if np.iscomplexobj(value):
            raise UnsupportedError("a tape holds no complex numbers")
        numbers = np.asarray(value, dtype=np.float64)
        key = (numbers.shape, numbers.tobytes())
        if key not in self.known:
            self.known[key] = self.fresh(numbers.shape)
            if numbers.size:
                self.constants.append((int(self.known[key].flat[0]), numbers.ravel()))
            if numbers.size == 1:
                self.single[int(self.known[key].flat[0])] = float(numbers.flat[0])
        return self.known[key]

    def number(self, place: Places) -> float | None:
        """The one known number that stands at all places; None if there is no such."""
        at = np.unique(place)
        return self.single.get(int(at[0])) if len(at) == 1 else None

    def operand(self, place: Places) -> tuple[int, int]:
        """First place and step; numbers from here and there are first gathered in a row."""
        flat = place.ravel()
        if len(flat) <= 1:
            return (int(flat[0]) if len(flat) else 0), 0
        steps = np.diff(flat)
        if steps[0] >= 0 and (steps == steps[0]).all():
            return int(flat[0]), int(steps[0])
        return self.row(place)

    def row(self, place: Places) -> tuple[int, int]:
        """As `operand`, one place after the other."""
        flat = place.ravel()
        if len(flat) and (flat == np.arange(flat[0], flat[0] + len(flat))).all():
            return int(flat[0]), 1
        key = flat.tobytes()
        if key not in self.rows:
            out = self.line(Op.GATHER, flat.shape, (self.listed(flat), 0))
            self.rows[key] = int(out[0]) if len(out) else 0
        return self.rows[key], 1

    def line(
        self,
        op: Op,
        shape: tuple[int, ...],
        *operands: tuple[int, int],
        more: tuple[int, ...] = (0, 0),
        n: int | None = None,
    ) -> Places:
        """Write a line of n results (all of them, if not said) to fresh places of some shape."""
        out = self.fresh(shape)
        numbers = [number for pair in operands for number in pair]
        if len(operands) < 3:
            numbers += [0] * (4 - len(numbers)) + list(more)
        if out.size:
            self.lines.append((int(op), out.size if n is None else n, int(out.flat[0]), *numbers))
        return out

    def added(self, x: Places, target: Places, y: Places) -> Places:
        """A copy of x, with y added to places that are counted from its first."""
        out = self.line(Op.GATHER, x.shape, (self.listed(x.ravel()), 0))
        if y.size:
            first, step = self.operand(y)
            at = self.listed(target)
            self.lines.append((int(Op.SCATTER), y.size, int(out.flat[0]), first, step, at, 0, 0, 0))
        return out

    def listed(self, places: Places) -> int:
        """Keep places; return where they start."""
        start = self.n_gathered
        self.gathered.append(places)
        self.n_gathered += len(places)
        return start

    def tape(self, outputs: list[Places]) -> Tape:
        buffer = np.zeros(self.size)
        for start, numbers in self.constants:
            buffer[start : start + len(numbers)] = numbers
        # Unsigned: numbers below 0 would be looked for at each step, to count from the end.
        code = np.array(self.lines, dtype=np.uint64).reshape(-1, 9)
        places = np.concatenate([*self.gathered, np.zeros(0, np.int64)]).astype(np.uint64)
        return Tape(code, places, buffer, outputs)


@functools.singledispatch
def _write(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    """Write the lines of a node; return the places of its outputs."""
    raise UnsupportedError(f"no tape knows {op}")


@_write.register(basic.TensorFromScalar)
@_write.register(basic.ScalarFromTensor)
@_write.register(ViewOp)
@_write.register(DeepCopyOp)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    return step.placed(writer)


@_write.register(elemwise.DimShuffle)
@_write.register(subtensor.Subtensor)
@_write.register(Reshape)
@_write.register(SpecifyShape)
@_write.register(basic.Split)
@_write.register(basic.Alloc)
@_write.register(basic.ExtractDiag)
def _moved(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    """Moves its first input; the others say where."""
    step.known_from(1, "an index or shape")
    first = step.inputs[0] if step.live[0] else writer.constant(step.inputs[0])
    moved: dict[Variable, Any] = {}
    given = [first, *step.inputs[1:]]
    _work_out(step.node, dict(zip(step.node.inputs, given, strict=True)), moved)
    return [np.asarray(moved[o], dtype=np.int64) for o in step.node.outputs]


@_write.register
def _(op: subtensor.AdvancedSubtensor, step: _Step, writer: _Writer) -> list[Places]:
    if len(step.inputs) != 2 or not step.live[1] or np.ndim(step.inputs[0]) != 1:
        return _moved(op, step, writer)
    if step.node.inputs[1].dtype == "bool":
        raise UnsupportedError(f"a mask of {op} depends on parameters")
    # From a table, at places that the parameters say.
    table, at = step.placed(writer)
    first, _ = writer.row(table)
    more = (table.size, 0)
    return [writer.line(Op.TAKE, at.shape, writer.operand(at), (first, 0), more=more)]


@_write.register
def _(op: CheckAndRaise, step: _Step, writer: _Writer) -> list[Places]:
    step.known_from(1, "a condition")
    if not all(np.all(condition) for condition in step.inputs[1:]):
        raise UnsupportedError(f"{op} is not met")
    return step.placed(writer)[:1]


@_write.register
def _(op: basic.Join, step: _Step, writer: _Writer) -> list[Places]:
    return [np.concatenate(step.placed(writer), axis=op.axis)]


@_write.register
def _(op: basic.MakeVector, step: _Step, writer: _Writer) -> list[Places]:
    return [np.array([int(place[()]) for place in step.placed(writer)])]


@_write.register(subtensor.IncSubtensor)
@_write.register(subtensor.AdvancedIncSubtensor)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    step.known_from(2, "an index")
    of, to = (v.dtype for v in step.node.inputs[1::-1])
    adds = not op.set_instead_of_inc
    if not np.can_cast(of, to) or (
        adds and (to not in WIDE or getattr(op, "ignore_duplicates", False))
    ):
        raise UnsupportedError(f"no tape knows {op} of {of} to {to}")
    x, y = _Step(step.node, step.inputs[:2], step.live[:2]).placed(writer)
    key = tuple(subtensor.unflatten_index_variables(step.inputs[2:], op.idx_list))
    target = np.arange(x.size).reshape(x.shape)[key].ravel()
    added = np.broadcast_to(y, x[key].shape).ravel()
    if op.set_instead_of_inc:
        out = x.ravel().copy()
        out[target] = added
        return [out.reshape(x.shape)]
    return [writer.added(x, target, added)]


@_write.register
def _(op: elemwise.Elemwise, step: _Step, writer: _Writer) -> list[Places]:
    shape = np.broadcast_shapes(*(np.shape(x) for x in step.inputs))
    for v, x in zip(step.node.inputs, step.inputs, strict=True):
        stretched = np.not_equal(np.shape(x), shape)
        if (stretched & ~np.array(v.type.broadcastable, dtype=bool)).any():
            raise UnsupportedError(f"{op} broadcasts where its graph does not")
    spread = []
    for x, is_live in zip(step.inputs, step.live, strict=True):
        # What is known is laid out once: else it would be gathered at each evaluation.
        place = (
            x if is_live else writer.constant(x if np.size(x) == 1 else np.broadcast_to(x, shape))
        )
        spread.append(np.broadcast_to(place, shape))
    if isinstance(op.scalar_op, ps.Composite):
        return _composite(op.scalar_op, spread, writer)
    return [_scalar(op.scalar_op, step.node, spread, writer)]


def _composite(op: ps.Composite, spread: list[Places], writer: _Writer) -> list[Places]:
    """Several functions of numbers in one."""
    places = dict(zip(op.fgraph.inputs, spread, strict=True))

    def placed(variable: Any) -> Places:
        if variable not in places:
            places[variable] = np.broadcast_to(writer.constant(variable.data), spread[0].shape)
        return places[variable]

    for node in op.fgraph.toposort():
        inputs = [placed(variable) for variable in node.inputs]
        places[node.outputs[0]] = _scalar(node.op, node, inputs, writer)
    return [placed(variable) for variable in op.fgraph.outputs]


def _scalar(op: Any, node: Apply, spread: list[Places], writer: _Writer) -> Places:
    kind = type(op)
    dtypes, to = [v.dtype for v in node.inputs], node.outputs[0].dtype
    if kind is ps.Second and dtypes[1] == to:
        return spread[1]
    if kind is ps.Identity or (kind is ps.Cast and _keeps(dtypes[0], to)):
        return spread[0]
    if kind is ps.Cast and to == "bool":
        zero = np.broadcast_to(writer.constant(0.0), spread[0].shape)
        return writer.line(
            Op.NOT_EQUAL, spread[0].shape, writer.operand(spread[0]), writer.operand(zero)
        )
    narrow = to not in (*WIDE, "bool") and kind not in CHOOSING
    if kind not in SCALAR or (kind in LOGICAL and set(dtypes) != {"bool"}) or narrow:
        raise UnsupportedError(f"no tape knows {op} of {', '.join(dtypes)} to {to}")
    if set(dtypes) == {"bool"}:
        # To add truth values is to ask whether one is true.
        kind = {ps.Add: ps.OR, ps.Mul: ps.AND}.get(kind, kind)
    if kind is ps.Pow and (line := POWERS.get(writer.number(spread[1]))):
        return writer.line(line, spread[0].shape, writer.operand(spread[0]))
    line, n_operands = SCALAR[kind]
    if n_operands != 2:
        return writer.line(line, spread[0].shape, *(writer.operand(p) for p in spread))
    so_far = spread[0]
    for other in spread[1:]:
        so_far = writer.line(line, so_far.shape, writer.operand(so_far), writer.operand(other))
    return so_far


def _keeps(of: str, to: str) -> bool:
    """Whether a number stays what it is as one of another type."""
    return to in ("float32", "float64") or (np.can_cast(of, to) and np.dtype(to).kind != "c")


# Of these a tape's numbers do not leave the range; of others (int8, ...) PyTensor's wrap around.
WIDE = ("float64", "float32", "int64")
CHOOSING = (ps.Switch, ps.Clip, ps.Maximum, ps.Minimum)
LOGICAL = (ps.AND, ps.OR, ps.Invert)
SCALAR: dict[type, tuple[Op, int]] = {
    kind: (line, n)
    for n, lines in {
        1: {
            ps.Neg: Op.NEGATIVE, ps.Exp: Op.EXP, ps.Log: Op.LOG, ps.Log1p: Op.LOG1P,
            ps.Expm1: Op.EXPM1, ps.math.Log1mexp: Op.LOG1MEXP, ps.Sqr: Op.SQUARE,
            ps.Sqrt: Op.ROOT, ps.Abs: Op.ABSOLUTE, ps.Sign: Op.SIGN,
            ps.Reciprocal: Op.RECIPROCAL, ps.math.Sigmoid: Op.SIGMOID,
            ps.math.Softplus: Op.SOFTPLUS, ps.math.GammaLn: Op.GAMMALN, ps.math.Psi: Op.PSI,
            ps.math.Erf: Op.ERF, ps.math.Erfc: Op.ERFC, ps.math.Erfcx: Op.ERFCX,
            ps.Tanh: Op.TANH, ps.IsNan: Op.IS_NAN, ps.IsInf: Op.IS_INFINITE,
            ps.Invert: Op.NOT, ps.Floor: Op.FLOOR, ps.Ceil: Op.CEILING, ps.Trunc: Op.TRUNCATE,
            ps.Cast: Op.TRUNCATE, ps.Sin: Op.SIN, ps.Cos: Op.COS, ps.Sinh: Op.SINH,
            ps.Cosh: Op.COSH, ps.ArcSinh: Op.ARCSINH,
        },
        2: {
            ps.Add: Op.ADD, ps.Sub: Op.SUBTRACT, ps.Mul: Op.MULTIPLY, ps.TrueDiv: Op.DIVIDE,
            ps.Pow: Op.POWER, ps.Maximum: Op.MAXIMUM, ps.Minimum: Op.MINIMUM,
            ps.GE: Op.GREATER_EQUAL, ps.GT: Op.GREATER, ps.LE: Op.LESS_EQUAL, ps.LT: Op.LESS,
            ps.EQ: Op.EQUAL, ps.NEQ: Op.NOT_EQUAL,
            # Of truth values, 0 or 1.
            ps.AND: Op.MINIMUM, ps.OR: Op.MAXIMUM,
        },
        3: {ps.Switch: Op.SWITCH, ps.Clip: Op.CLIP},
    }.items()
    for kind, line in lines.items()
}  # fmt: skip

# Powers that need none: an eighth of the time.
POWERS: dict[float | None, Op] = {2.0: Op.SQUARE, 0.5: Op.ROOT, -1.0: Op.RECIPROCAL}

REDUCED = {
    ps.Add: Op.SUM, ps.Mul: Op.PRODUCT, ps.Maximum: Op.LARGEST, ps.Minimum: Op.LEAST,
    ps.AND: Op.ALL, ps.OR: Op.LARGEST,
}  # fmt: skip


@_write.register
def _(op: elemwise.CAReduce, step: _Step, writer: _Writer) -> list[Places]:
    kind = type(op.scalar_op)
    rows = _last(step.inputs[0], op.axis)
    length = rows.shape[-1]
    if (
        kind not in REDUCED
        or not length
        or (kind in (ps.Add, ps.Mul) and step.node.outputs[0].dtype not in WIDE)
        or (kind in LOGICAL and step.node.inputs[0].dtype != "bool")
    ):
        raise UnsupportedError(f"no tape knows {op} of {length}")
    if length == 1:
        return [rows[..., 0]]
    return [writer.line(REDUCED[kind], rows.shape[:-1], writer.row(rows), more=(length, 0))]


def _last(place: Places, axis: Any) -> Places:
    """Some axes made one, the last."""
    axes = range(place.ndim) if axis is None else [a % place.ndim for a in np.atleast_1d(axis)]
    kept = [a for a in range(place.ndim) if a not in axes]
    moved = place.transpose([*kept, *axes])
    n = int(np.prod([place.shape[a] for a in axes], dtype=np.int64))
    return moved.reshape(*(place.shape[a] for a in kept), n)


@_write.register(Softmax)
@_write.register(LogSoftmax)
@_write.register(CumOp)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    """Each row to a row."""
    if isinstance(op, CumOp) and op.mode != "add":
        raise UnsupportedError(f"no tape knows {op}")
    (place,) = step.inputs
    rows = _last(place, op.axis)
    n = rows.size // max(rows.shape[-1], 1)
    more = (rows.shape[-1], 0)
    out = writer.line(BY_ROW[type(op)], rows.shape, writer.row(rows), more=more, n=n)
    # Back to where they came from.
    back = np.empty(place.size, dtype=np.int64)
    back[_last(np.arange(place.size).reshape(place.shape), op.axis).ravel()] = out.ravel()
    return [back if isinstance(op, CumOp) and op.axis is None else back.reshape(place.shape)]


BY_ROW = {Softmax: Op.SOFTMAX, LogSoftmax: Op.LOG_SOFTMAX, CumOp: Op.CUMULATE}


@_write.register
def _(op: Dot, step: _Step, writer: _Writer) -> list[Places]:
    _wide(step)
    a, b = step.placed(writer)
    return [_product(a, b, writer)]


@_write.register(BatchedDot)
@_write.register(Blockwise)
def _(op: Any, step: _Step, writer: _Writer) -> list[Places]:
    if isinstance(op, Blockwise) and not isinstance(op.core_op, Dot):
        raise UnsupportedError(f"no tape knows {op}")
    _wide(step)
    a, b = step.placed(writer)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    out = np.empty((*batch, a.shape[-2], b.shape[-1]), dtype=np.int64)
    for i in np.ndindex(batch):
        out[i] = _product(a[i], b[i], writer)
    return [out]


def _wide(step: _Step) -> None:
    """Refuse numbers that would wrap around."""
    if step.node.outputs[0].dtype not in WIDE:
        raise UnsupportedError(f"no tape knows {step.node.op} to {step.node.outputs[0].dtype}")


def _product(a: Places, b: Places, writer: _Writer) -> Places:
    operands = writer.row(a), writer.row(b)
    out = (len(a), b.shape[1])
    return writer.line(Op.MATRIX_PRODUCT, out, *operands, more=b.shape, n=len(a))


@_write.register
def _(op: OpFromGraph, step: _Step, writer: _Writer) -> list[Places]:
    inner = list(zip(op.fgraph.inputs, step.inputs, step.live, strict=True))
    known = {variable: x for variable, x, is_live in inner if not is_live}
    places = {variable: x for variable, x, is_live in inner if is_live}
    return _walk(writer, op.fgraph.outputs, known, places, {})
