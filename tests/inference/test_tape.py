"""Interpreted models: what a tape gives is what PyTensor gives."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode
from pytensor.graph import rewrite_graph
from scipy import special

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.inference import interpreter
from alikely.inference.interpreter import Operation, evaluate
from alikely.inference.native import (
    BUSY,
    FINE,
    N_BUFFERS,
    NOT_FINITE,
    TapeData,
    compiled_from,
    density,
    draw,
    tape_data,
)  # fmt: skip
from alikely.inference.tape import SCALAR, Tape, UnsupportedError, written
from alikely.inference.uncompiled import LEFT_OUT, REWRITES, graphs
from alikely.simulate import cohort as simulated_cohort
from studies.cases import CASES

PLAIN = Mode("py", None)


def run(tape: Tape, point: NDArray[Any]) -> list[NDArray[Any]]:
    buffer = tape.buffer.copy()
    evaluate(point, tape.code, tape.places, buffer)
    return [buffer[places] for places in tape.outputs]


def pointer(array: NDArray[Any]) -> Any:
    number = ctypes.c_double if array.dtype == np.float64 else ctypes.c_int64
    return array.ctypes.data_as(ctypes.POINTER(number))


def density_of(data: TapeData, point: NDArray[Any]) -> tuple[int, float, NDArray[Any]]:
    """Log density and gradient, by the function that the sampler calls."""
    gradient, value = np.empty(len(point)), np.empty(1)
    code = density.ctypes(len(point), *map(pointer, (point, gradient, value, data.header)))
    return code, float(value[0]), gradient


def saved_of(data: TapeData, point: NDArray[Any], n: int) -> NDArray[Any]:
    """All that is saved of a draw, one after the other, by the function that the sampler calls."""
    saved = np.empty(n)
    assert draw.ctypes(len(point), n, *map(pointer, (point, saved, data.header))) == FINE
    return saved


@pytest.mark.parametrize(
    ("found", "wanted", "low", "high"),
    [
        # Rounding: of the largest step, and of x**2 in the exponent.
        (interpreter.psi, special.psi, 1e-8, 1e6),
        (interpreter.erfcx, special.erfcx, -20, 1e5),
        (interpreter.sigmoid, special.expit, -700, 700),
        (interpreter.softplus, lambda x: np.logaddexp(0, x), -700, 700),
        (interpreter.log1mexp, lambda x: np.log(-np.expm1(x)), -30, -1e-8),
    ],
)
def test_special_functions(found: Any, wanted: Any, low: float, high: float) -> None:
    if low > 0:
        x = np.geomspace(low, high, 2001)
    else:
        x = np.concatenate([np.linspace(low, min(high, 40), 2001), np.linspace(0, high, 501)])
        x = x[(x >= low) & (x <= high)]
    values = np.array([found(one) for one in x])
    np.testing.assert_allclose(values, wanted(x), rtol=3e-13, atol=1e-15)


def test_digamma_below_zero() -> None:
    """Away from zeros and poles, where rounding of x is all that shows."""
    x = -np.arange(1, 30) + 0.75
    np.testing.assert_allclose([interpreter.psi(one) for one in x], special.psi(x), rtol=3e-13)
    assert interpreter.psi(0.0) == -np.inf
    assert math.isnan(interpreter.psi(-3.0))


def weird(x: Any) -> Any:
    inner = pt.dmatrix("inner")
    return OpFromGraph([inner], [pt.exp(inner).sum(axis=0), inner[0]])(x)[0]


TABLE = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
# Functions of a matrix (3, 4) of numbers in (0, 1).
GRAPHS: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: x.T * 2,
    "dimshuffle": lambda x: x.dimshuffle(1, "x", 0) + TABLE[:3],
    "broadcast": lambda x: x[:, None] - x[None, :, ::-1],
    "slices": lambda x: x[1:, ::-2] / x[0, 3],
    "advanced": lambda x: x[[2, 0, 0], [1, 1, 3]] ** 2,
    "rows": lambda x: x[np.array([[0, 2], [1, 1]])],
    "mask": lambda x: x[np.array([True, False, True])],
    "reshape": lambda x: x.reshape((2, 6)).sum(axis=0),
    "join": lambda x: pt.concatenate([x, np.ones((1, 4)), x * 2], axis=0),
    "stack": lambda x: pt.stack([x[0, 0], 2.0, x.sum()]),
    "split": lambda x: pt.split(x, [1, 3], n_splits=2, axis=1)[1] * 3,
    "alloc": lambda x: pt.alloc(x[0], 5, 4) * x[0, 0],
    "repeat": lambda x: pt.repeat(x, 2, axis=0),
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=0),
    "sum of axes": lambda x: (x[:, None] * np.ones((3, 2, 4))).sum(axis=(0, 2)),
    "mean, variance": lambda x: x.mean(axis=1) / x.var(),
    "product": lambda x: x.prod(axis=1),
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(),
    "any, all": lambda x: pt.any(x > 0.9, axis=0) + 2.0 * pt.all(x > 0.1, axis=0),
    "softmax": lambda x: pt.special.softmax(x, axis=1),
    "softmax of columns": lambda x: pt.special.softmax(x, axis=0),
    "softmax of all": lambda x: pt.special.softmax(x, axis=None),
    "log softmax": lambda x: pt.special.log_softmax(x, axis=-1),
    "logsumexp": lambda x: pt.logsumexp(x * 50, axis=0),
    "cumsum": lambda x: pt.cumsum(x, axis=0),
    "cumsum of all": lambda x: pt.cumsum(x),
    "dot": lambda x: x @ x.T,
    "dot with a constant": lambda x: x @ np.arange(8.0).reshape(4, 2),
    "batches of products": lambda x: (x[:, None, :2] * np.ones((3, 2, 1))) @ x[:2, :],
    "add to": lambda x: pt.zeros((3, 4))[1:].inc(x[:2] * 2) + x,
    "add twice to one place": lambda x: x[[0, 0, 1]].inc(x),
    "set": lambda x: x[1, ::2].set(x[0, 1:3]),
    "set places": lambda x: x[[0, 2], [1, 3]].set(7.0),
    "table": lambda x: pt.constant(TABLE)[pt.cast(x[0] * 5, "int64")],
    "own table": lambda x: x[0][pt.cast(pt.floor(x[1] * 4), "int64")],
    "switch": lambda x: pt.switch(x > 0.5, x, -x),
    "clip": lambda x: pt.clip(x, 0.3, x[0, 0]),
    "logic": lambda x: pt.or_(pt.and_(x > 0.2, x < 0.8), pt.invert(x[:1] > 0.1)),
    "comparisons": lambda x: pt.eq(x, x.max()) + pt.neq(x, 0) + pt.ge(x, 0.5) + pt.le(x, 0.2),
    "cast": lambda x: pt.cast(x * 3, "int64") + pt.cast(x > 0.5, "float64"),
    "powers": lambda x: x**x + x**-1.5 + x**3,
    "largest of three": lambda x: pt.maximum(pt.maximum(x, 0.5), x[0]) - pt.minimum(x, 0.4),
    "shape": lambda x: x.sum() / x.shape[0] + pt.arange(x.shape[1]),
    "graph in a graph": weird,
    "nothing": lambda x: x[:0].sum(axis=1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_a_graph_gives_and_its_gradient(name: str) -> None:
    x = pt.tensor("x", shape=(3, 4), dtype="float64")
    y = GRAPHS[name](x)
    outputs = [y]
    if y.dtype == "float64" and name not in ("nothing", "table"):
        weights = pt.arange(y.size).reshape(y.shape) + 1.0
        outputs.append(pytensor.grad((y * weights).sum(), x, disconnected_inputs="ignore"))
    plain = pytensor.function([x], outputs, mode=PLAIN)
    for graph in (outputs, rewrite_graph(outputs, include=REWRITES, exclude=LEFT_OUT)):
        try:
            tape = written([x], graph, {})
        except UnsupportedError:
            assert name in ("nothing", "own table", "product")  # refused, not wrong
            continue
        for seed in range(3):
            point = np.random.default_rng(seed).uniform(size=(3, 4))
            for found, wanted in zip(run(tape, point.ravel()), plain(point), strict=True):
                assert found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_elementwise_functions() -> None:
    """Each that a tape knows, at numbers where it is defined and where it is not."""
    x = pt.dvector("x").type.clone(shape=(6,))("x")
    at = {
        "plain": [-2.5, -1.0, 0.0, 0.3, 1.0, 2.5],
        "odd": [np.nan, np.inf, -np.inf, 1e-300, 50, -50],
    }
    named = {
        Operation.NEGATIVE: pt.neg, Operation.EXP: pt.exp, Operation.LOG: pt.log,
        Operation.LOG1P: pt.log1p, Operation.EXPM1: pt.expm1, Operation.LOG1MEXP: pt.log1mexp,
        Operation.SQUARE: pt.sqr, Operation.ROOT: pt.sqrt, Operation.ABSOLUTE: pt.abs,
        Operation.SIGN: pt.sign, Operation.RECIPROCAL: pt.reciprocal,
        Operation.SIGMOID: pt.sigmoid, Operation.SOFTPLUS: pt.softplus,
        Operation.GAMMALN: pt.gammaln, Operation.ERF: pt.erf, Operation.ERFC: pt.erfc,
        Operation.ERFCX: pt.erfcx, Operation.TANH: pt.tanh, Operation.IS_NAN: pt.isnan,
        Operation.IS_INFINITE: pt.isinf, Operation.FLOOR: pt.floor, Operation.CEILING: pt.ceil,
        Operation.SIN: pt.sin, Operation.COS: pt.cos, Operation.PSI: pt.psi,
        Operation.SINH: pt.sinh, Operation.COSH: pt.cosh, Operation.ARCSINH: pt.arcsinh,
    }  # fmt: skip
    unary = {line for line, n in SCALAR.values() if n == 1}
    assert unary - set(named) == {Operation.NOT, Operation.TRUNCATE}  # in the graphs above
    outputs = [function(x) for function in named.values()]
    tape = written([x], outputs, {})
    plain = pytensor.function([x], outputs, mode=PLAIN)
    for numbers in at.values():
        point = np.array(numbers)
        with np.errstate(all="ignore"):
            wanted = plain(point)
        for line, found, expected in zip(named, run(tape, point), wanted, strict=True):
            if line in (Operation.PSI, Operation.GAMMALN) and numbers is at["odd"]:
                continue  # SciPy has limits at infinity, where no chain goes
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=line.name)


@pytest.mark.parametrize(
    ("line", "function", "spread", "ulps"),
    [
        (Operation.EXP, np.exp, (1e-9, 1, 300), 2),
        (Operation.LOG, np.log, (1e-9, 1, 150), 3),
        (Operation.LOG1P, np.log1p, (1e-12, 1e-3, 30), 4),
    ],
)
def test_series(line: Operation, function: Any, spread: tuple[float, ...], ulps: int) -> None:
    """Our own exponential and logarithms: a few rounding errors from NumPy's, and its limits."""
    rng = np.random.default_rng(0)
    wide = np.concatenate([width * rng.normal(size=2_000) for width in spread])
    if line is Operation.LOG:
        wide = np.exp(wide)  # near 1, and near 0 and infinity
    elif line is Operation.LOG1P:
        wide = np.concatenate([np.expm1(wide), np.arange(1, 1_000) / -1_000])
    ends = [0.0, -0.0, 5e-324, 1e-310, -1.0, 1.0, 1e308, -709.0, 709.7, 710.0, -745.0, -746.0]
    point = np.concatenate([wide, ends, [np.nan, np.inf, -np.inf]])
    n = len(point)
    x = np.concatenate([np.zeros(n), point])
    code = np.array([[line, n, 0, n, 1, 0, 0, 0, 0]], dtype=np.uint64)
    evaluate(np.zeros(0), code, np.zeros(0, np.uint64), x)
    with np.errstate(all="ignore"):
        wanted = function(point)
    within = np.isfinite(wanted)
    np.testing.assert_array_equal(x[:n][~within], wanted[~within])
    error = np.abs(x[:n][within] - wanted[within]) / np.spacing(np.abs(wanted[within]))
    assert error.max() <= ulps


@pytest.mark.parametrize("length", [1, 3, 4, 9, 64])
def test_sums_of_any_length(length: int) -> None:
    x = pt.tensor("x", shape=(2, length), dtype="float64")
    point = np.random.default_rng(0).normal(size=(2, length))
    (found,) = run(written([x], [x.sum(axis=1)], {}), point.ravel())
    np.testing.assert_allclose(found, point.sum(axis=1), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("exponent", [2.0, 0.5, -1.0, 3.0, 0.0])
def test_powers(exponent: float) -> None:
    """Of a known exponent, also where no power is worked out."""
    x = pt.tensor("x", shape=(5,), dtype="float64")
    tape = written([x], [pt.pow(x, exponent)], {})
    assert (Operation.POWER in tape.code[:, 0]) == (exponent in (3.0, 0.0))
    point = np.array([-2.0, -0.0, 0.5, 1.0, 7.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(run(tape, point)[0], point**exponent, rtol=1e-15)


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6), st.integers(0, 3))
def test_places_that_are_moved_twice(numbers: list[float], shift: int) -> None:
    """Moving numbers is moving places: there and back again is where they were."""
    x = pt.tensor("x", shape=(6,), dtype="float64")
    y = x.reshape((2, 3)).T[::-1]
    back = pt.roll(y[::-1].T.ravel(), shift)
    (found,) = run(written([x], [back], {}), np.array(numbers))
    np.testing.assert_array_equal(found, np.roll(numbers, shift))


def test_what_no_tape_knows_is_refused() -> None:
    x = pt.tensor("x", shape=(3,), dtype="float64")
    for graph in (
        pt.sort(x),
        pt.zeros(3)[pt.cast(x, "int64")].inc(1.0),
        pt.linalg.det(pt.outer(x, x)),
    ):
        with pytest.raises(UnsupportedError, match=r"no tape knows|depends on parameters"):
            written([x], [graph], {})


RNG = pt.random.shared_rng(seed=1)
# A graph, and why a tape refuses it: for another reason it would not be tested.
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "narrow numbers": (
        lambda x: pt.switch(x > 0, 100, 0) + pt.switch(x > 1, 100, 0),
        "no tape knows add of int8, int8 to int8",
    ),
    "a mask": (lambda x: pt.constant(TABLE[:3])[x > 0].sum(), "a mask of .* depends on parameters"),
    "into whole numbers": (
        lambda x: pt.zeros(4, dtype="int64")[1].set(x[0]),
        "no tape knows SetSubtensor.* of float64 to int64",
    ),
    "complex numbers": (
        lambda x: pt.abs(pt.exp(1j * x) * (1 + 2j)),
        "a tape holds no complex numbers",
    ),
    "a draw": (
        lambda x: x + pt.random.normal(0, 1, rng=RNG, return_next_rng=True)[1],
        "is drawn anew at each evaluation",
    ),
    "broadcasting unseen": (
        lambda x: x + pytensor.shared(np.ones(1)),
        "broadcasts where its graph does not",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_tape_would_get_wrong_is_refused(name: str) -> None:
    graph, reason = WRONG[name]
    x = pt.tensor("x", shape=(3,), dtype="float64")
    with pytest.raises(UnsupportedError, match=reason):
        written([x], [graph(x)], {})


def test_truth_values_and_places_counted_from_the_end() -> None:
    x = pt.tensor("x", shape=(4,), dtype="float64")
    outputs = [pt.cast(x, "bool"), pt.constant(TABLE)[pt.cast(x, "int64")]]
    point = np.array([0.5, -1.0, 2.0, 0.0])
    wanted = pytensor.function([x], outputs, mode=PLAIN)(point)
    for found, expected in zip(run(written([x], outputs, {}), point), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_data_take_the_place_of_those_in_the_graph() -> None:
    x = pt.tensor("x", shape=(2,), dtype="float64")
    data = pytensor.shared(np.array([1.0, 2.0]), name="data")
    for values, wanted in (({}, [2, 3]), ({data: [10, 20]}, [11, 21])):
        (found,) = run(written([x], [x + data], values), np.ones(2))
        np.testing.assert_array_equal(found, wanted)


def experiment(by_person: bool = False) -> Any:
    trials = simulated_cohort(
        [0.2, 0.5, 0.8], [0.7] * 3, [0.6, 0.8, 0.9], 0.4, n_humans=3, n_trials=60, rng=1
    )
    return cohort_counts(trials, who_was_right=by_person)


ROWS = np.random.default_rng(1).poisson(4, (3, 4, 4)) + 1
RIGHT = np.random.default_rng(2).binomial(3, np.linspace(0.3, 0.9, 12), (4, 12))
SPECTRUM = (
    np.random.default_rng(3).binomial(60, np.repeat([0.95, 0.9, 0.85, 0.5, 0.45, 0.4], 3)),
    np.full(18, 60), np.repeat(np.arange(6), 3), np.tile(np.arange(3), 6), np.arange(6) < 2,
)  # fmt: skip
MODELS: dict[str, Callable[[], pm.Model]] = {
    **{name: case.example for name, case in CASES.items()},
    "cohort, human effects": lambda: al.models.cohort(experiment(), human_effects=True),
    "cohort, people": lambda: al.models.cohort(experiment(True), human_effects="drawn"),
    "cohort, saturated": lambda: al.models.cohort(experiment(), saturated=True),
    "copying, independent": lambda: al.models.copying([100, 20, 20, 20], independent=True),
    "item_margins, criteria": CASES["item_margins"].branches["criteria"].design,
    "copying, direct prior": lambda: al.models.copying(
        [[30, 5, 5, 10]], priors={"copy_probability": (1.0, 1.0)}
    ),
    **{
        f"error_distributions, {base}, {c}": functools.partial(
            al.models.error_distributions, ROWS, base=base, concentration=c
        )
        for base in ("shared", "uniform", "learned")
        for c in (None, 0.5)
    },
    "item_margins, probit": lambda: al.models.item_margins(
        RIGHT.sum(axis=0), np.full(12, 12), np.arange(12.0), m=2, link="probit"
    ),
    "item_margins, two groups": lambda: al.models.item_margins(RIGHT[:2], np.full((2, 12), 3), m=4),
    "observer_margins, shared": lambda: al.models.observer_margins(
        RIGHT, np.full((4, 12), 3), m=4, components="shared"
    ),
    "observer_margins, probit": lambda: al.models.observer_margins(
        RIGHT, np.full((4, 12), 3), m=2, link="probit"
    ),
    **{
        f"spectrum, k = {k}": functools.partial(al.models.spectrum, *SPECTRUM, k)
        for k in (1, 2, 3, 4)
    },
}


# Graphs of the others take seconds to make.
LIGHT = {"copying", "copying, independent", "error_distributions"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in LIGHT else pytest.param(name, marks=pytest.mark.slow) for name in MODELS],
)
def test_models_are_interpreted_as_they_are(name: str) -> None:
    """Density, gradient and all that is saved, at random points; rounding apart."""
    model = MODELS[name]()
    made = graphs(model)
    tapes = made.tapes({})
    data = tape_data(*tapes)
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    logp = model.logp()
    kept = model.replace_rvs_by_values([*model.free_RVs, *model.deterministics])
    plain = model.compile_fn(
        [logp, *pytensor.grad(logp, values), *kept],
        inputs=values, mode=PLAIN, point_fn=False, on_unused_input="ignore",
    )  # fmt: skip
    rng = np.random.default_rng(4)
    start = model.initial_point()
    for _ in range(3):
        point = [start[v.name] + rng.normal(0, 0.5, np.shape(start[v.name])) for v in values]
        wanted, *rest = plain(*point)
        flat = np.concatenate([np.ravel(part) for part in point])
        code, found, slope = density_of(data, flat)
        assert code == FINE
        assert found == pytest.approx(wanted, rel=1e-10)
        gradient = np.concatenate([np.ravel(part) for part in rest[: len(values)]])
        np.testing.assert_allclose(slope, gradient, rtol=1e-8, atol=1e-9 * abs(gradient).max())
        numbers = iter(saved_of(data, flat, sum(np.size(part) for part in rest[len(values) :])))
        for variable, places, expected in zip(
            made.names, tapes[1].outputs, rest[len(values) :], strict=True
        ):
            assert places.shape == expected.shape, variable
            number = np.reshape([next(numbers) for _ in range(expected.size)], expected.shape)
            np.testing.assert_allclose(number, expected, rtol=1e-9, atol=1e-9, err_msg=variable)


def test_chains_at_the_same_time_do_not_disturb_each_other() -> None:
    """More threads than buffers, each at a point of its own."""
    data = tape_data(*graphs(al.models.copying([[100, 20, 20, 20]] * 30)).tapes({}))
    points = np.random.default_rng(1).normal(size=(4 * N_BUFFERS, 90))
    alone = [density_of(data, point) for point in points]
    with ThreadPoolExecutor(len(points)) as pool:
        for _ in range(20):
            together = list(pool.map(lambda point: density_of(data, point), points))
            for one, other in zip(alone, together, strict=True):
                assert one[:2] == other[:2]
                np.testing.assert_array_equal(one[2], other[2])
    assert not any(array.any() for array in data.held[3::5])


def test_no_density_is_told() -> None:
    data = tape_data(*graphs(al.models.copying([30, 10, 10, 10], independent=True)).tapes({}))
    assert density_of(data, np.array([np.nan, 0.0]))[0] == NOT_FINITE
    assert density_of(data, np.zeros(2))[0] == FINE


@pytest.mark.slow
def test_code_on_disk_is_of_these_sources() -> None:
    """Numba heeds one file: code of an interpreter that has changed since must not be found."""
    header, flag, nothing = np.zeros(19, np.int64), np.zeros(1, np.int64), np.zeros(1)
    header[BUSY] = flag.ctypes.data
    for source in (1, 2):
        evaluated = compiled_from(source).ctypes
        given = (header, nothing, nothing, nothing)
        part, point, first, rest = map(pointer, given)
        assert evaluated(part, point, 0, first, rest) == source
