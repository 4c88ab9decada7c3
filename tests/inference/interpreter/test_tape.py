"""Interpreted models give the same results as PyTensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from numpy.typing import NDArray
from pytensor.compile.mode import Mode
from scipy import special, stats

import alikely as al
from alikely.inference.interpreter import kernels as k
from alikely.inference.interpreter.models import Graphs, _rewritten
from alikely.inference.interpreter.tape import UNARY, Tape, UnsupportedError, written

PLAIN = Mode("py", None)


def run(tape: Tape, point: NDArray[Any]) -> list[NDArray[Any]]:
    buffer = tape.buffer.copy()
    nothing = np.zeros(0, np.uint64)
    k.evaluate(point, tape.code, tape.places, buffer, nothing, np.zeros(0))
    return [buffer[places] for places in tape.outputs]


def nowhere(seed: Any) -> Any:
    raise AssertionError("no chain is started")


def functions_of(model: pm.Model) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Log density with its gradient, and the saved quantities, as called by the sampler."""
    made = Graphs(model)
    sampled = made.sampled(made.tapes({}), nowhere)
    return sampled._make_logp_func(), sampled._make_expand_func(1, 2, 0)


@pytest.mark.parametrize(
    ("found", "wanted", "x"),
    [
        (k.PSI, special.psi, np.geomspace(1e-8, 1e6, 2001)),
        (k.SIGMOID, special.expit, np.linspace(-700, 700, 2801)),
        (k.SOFTPLUS, lambda x: np.logaddexp(0, x), np.linspace(-700, 700, 2801)),
    ],
)
def test_special_functions(found: Any, wanted: Any, x: NDArray[Any]) -> None:
    values = np.array([k.of_one(found, one) for one in x])
    np.testing.assert_allclose(values, wanted(x), rtol=3e-13, atol=1e-15)


def test_digamma_below_zero() -> None:
    """Away from zeros and poles, where the error would reflect the rounding of x."""
    x = -np.arange(1, 30) + 0.75
    np.testing.assert_allclose([k.psi(one) for one in x], special.psi(x), rtol=3e-13)
    assert k.psi(0.0) == -np.inf
    assert math.isnan(k.psi(-3.0))


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
    "join": lambda x: pt.concatenate([x, np.ones((1, 4)), x * 2], axis=0),
    "stack": lambda x: pt.stack([x[0, 0], 2.0, x.sum()]),
    "split": lambda x: pt.split(x, [1, 3], n_splits=2, axis=1)[1] * 3,
    "alloc": lambda x: pt.alloc(x[0], 5, 4) * x[0, 0],
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=0),
    "sum of axes": lambda x: (x[:, None] * np.ones((3, 2, 4))).sum(axis=(0, 2)),
    "mean, variance": lambda x: x.mean(axis=1) / x.var(),
    "max": lambda x: x.max(axis=0),
    "any, all": lambda x: pt.any(x > 0.9, axis=0) + 2.0 * pt.all(x > 0.1, axis=0),
    "softmax": lambda x: pt.special.softmax(x, axis=1),
    "softmax of columns": lambda x: pt.special.softmax(x, axis=0),
    "log softmax": lambda x: pt.special.log_softmax(x, axis=-1),
    "logsumexp": lambda x: pt.logsumexp(x * 50, axis=0),
    "cumsum": lambda x: pt.cumsum(x, axis=0),
    "dot": lambda x: x @ x.T,
    "dot with a constant": lambda x: x @ np.arange(8.0).reshape(4, 2),
    "add to": lambda x: pt.zeros((3, 4))[1:].inc(x[:2] * 2) + x,
    "add twice to one place": lambda x: x[[0, 0, 1]].inc(x),
    "set": lambda x: x[1, ::2].set(x[0, 1:3]),
    "set places": lambda x: x[[0, 2], [1, 3]].set(7.0),
    "table": lambda x: pt.constant(TABLE)[pt.cast(x[0] * 5, "int64")],
    "own table": lambda x: x[0][pt.cast(pt.floor(x[1] * 4), "int64")],
    "switch": lambda x: pt.switch(x > 0.5, x, -x),
    "clip": lambda x: pt.clip(x, 0.3, x[0, 0]),
    "logic": lambda x: pt.or_(pt.and_(x > 0.2, x < 0.8), pt.invert(x[:1] > 0.1)),
    "comparisons": lambda x: pt.eq(x, x.max()) + 1.0 * pt.ge(x, 0.5) + pt.le(x, 0.2),
    "cast": lambda x: pt.cast(x * 3, "int64") + pt.cast(x > 0.5, "float64"),
    "largest of three": lambda x: pt.maximum(pt.maximum(x, 0.5), x[0]) - pt.minimum(x, 0.4),
    "shape": lambda x: x.sum() / x.shape[0] + pt.arange(x.shape[1]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_values_and_gradients_of_graphs(name: str) -> None:
    x = pt.tensor("x", shape=(3, 4), dtype="float64")

    def with_gradient(y: Any) -> list[Any]:
        if y.dtype != "float64" or name == "table":
            return [y]
        weights = pt.arange(y.size).reshape(y.shape) + 1.0
        return [y, pytensor.grad((y * weights).sum(), x, disconnected_inputs="ignore")]

    y = GRAPHS[name](x)
    graph = _rewritten(with_gradient(_rewritten(y)))
    if name == "own table":  # an error, not a wrong result
        with pytest.raises(UnsupportedError):
            written([x], graph, {})
        return
    tape, plain = written([x], graph, {}), pytensor.function([x], with_gradient(y), mode=PLAIN)
    for seed in range(3):
        point = np.random.default_rng(seed).uniform(size=(3, 4))
        for found, wanted in zip(run(tape, point.ravel()), plain(point), strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_elementwise_functions() -> None:
    """All elementwise functions of tapes, at numbers inside and outside their domains."""
    x = pt.dvector("x").type.clone(shape=(6,))("x")
    at = {
        "plain": [-2.5, -1.0, 0.0, 0.3, 1.0, 2.5],
        "odd": [np.nan, np.inf, -np.inf, 1e-300, 50, -50],
    }
    named = {
        k.NEGATIVE: pt.neg, k.EXP: pt.exp, k.LOG: pt.log, k.LOG1P: pt.log1p, k.EXPM1: pt.expm1,
        k.SQUARE: pt.sqr, k.ROOT: pt.sqrt, k.ABSOLUTE: pt.abs, k.RECIPROCAL: pt.reciprocal,
        k.SIGMOID: pt.sigmoid, k.SOFTPLUS: pt.softplus, k.GAMMALN: pt.gammaln, k.ERFC: pt.erfc,
        k.TANH: pt.tanh, k.IS_NAN: pt.isnan, k.IS_INFINITE: pt.isinf, k.PSI: pt.psi,
    }  # fmt: skip
    assert set(UNARY.values()) - set(named) == {k.NOT, k.TRUNCATE}  # tested in the graphs above
    outputs = [function(x) for function in named.values()]
    tape = written([x], outputs, {})
    plain = pytensor.function([x], outputs, mode=PLAIN)
    for numbers in at.values():
        point = np.array(numbers)
        with np.errstate(all="ignore"):
            wanted = plain(point)
        for line, found, expected in zip(named, run(tape, point), wanted, strict=True):
            if line in (k.PSI, k.GAMMALN) and numbers is at["odd"]:
                continue  # SciPy has limits at infinity, which chains do not reach
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=str(line))


RNG, ONE = pt.random.shared_rng(seed=1), pytensor.shared(np.ones(1))
# A graph, and the reason of the error, so that other errors fail the test.
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "order": (pt.sort, "no tape knows"),
    "places that depend on parameters": (
        lambda x: pt.zeros(3)[pt.cast(x, "int64")].inc(1.0),
        "depends on parameters",
    ),
    "determinants": (lambda x: pt.linalg.det(pt.outer(x, x)), "no tape knows"),
    "powers": (lambda x: x**1.5, "no tape knows"),
    "narrow numbers": (
        lambda x: pt.switch(x > 0, 100, 0) + pt.switch(x > 1, 100, 0),
        "no tape knows .* of int8, int8 to int8",
    ),
    "a mask": (lambda x: pt.constant(TABLE[:3])[x > 0].sum(), "no tape knows .* of float64, bool"),
    "into whole numbers": (
        lambda x: pt.zeros(4, dtype="int64")[1].set(x[0]),
        "no tape knows SetSubtensor.* of int64, float64.* to int64",
    ),
    "complex numbers": (
        lambda x: pt.abs(pt.exp(1j * x) * (1 + 2j)),
        "no complex numbers|to complex128",
    ),
    "a draw": (
        lambda x: x + pt.random.normal(0, 1, rng=RNG, return_next_rng=True)[1],
        "is resampled at each evaluation",
    ),
    "broadcasting unseen": (
        lambda x: x + ONE,
        "broadcasts where its graph does not",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_unsupported_graphs_raise_an_error(name: str) -> None:
    graph, reason = WRONG[name]
    x = pt.tensor("x", shape=(3,), dtype="float64")
    with pytest.raises(UnsupportedError, match=reason):
        written([x], [graph(x)], {ONE: np.ones(1)})


def test_negative_indices() -> None:
    x = pt.tensor("x", shape=(4,), dtype="float64")
    y = pt.constant(TABLE)[pt.cast(x, "int64")]
    (found,) = run(written([x], [y], {}), np.array([0.5, -1.0, 2.0, 0.0]))
    np.testing.assert_array_equal(found, TABLE[[0, -1, 2, 0]])


def test_data_replace_those_in_the_graph() -> None:
    x = pt.tensor("x", shape=(2,), dtype="float64")
    data = pytensor.shared(np.array([1.0, 2.0]), name="data")
    for values, wanted in (({data: [1, 2]}, [2, 3]), ({data: [10, 20]}, [11, 21])):
        (found,) = run(written([x], [x + data], values), np.ones(2))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("logit", [-35.0, 0.0, 30.0, 35.0])
def test_zero_inflated_counts_at_extreme_probabilities(logit: float) -> None:
    """Closed form: 2 x**2 (1 - x)**2 times 3 for the prior in logits, and counts above 0."""
    with pm.Model() as model:
        psi = pm.Beta("psi", 2, 2)
        pm.ZeroInflatedPoisson("y", psi=psi, mu=1.3, observed=[1, 2, 5])
    (density, _), x = functions_of(model), np.array([logit])
    shown, hidden = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    counts = stats.poisson(1.3).logpmf([1, 2, 5]).sum()
    found, slope = density(x)
    assert found == pytest.approx(np.log(6) + 5 * shown + 2 * hidden + counts, rel=1e-8)
    assert slope[0] == pytest.approx(5 - 7 * special.expit(logit), rel=1e-12)


def test_parallel_chains_are_independent() -> None:
    """Each chain has a separate buffer."""
    made = Graphs(al.models.copying([[100, 20, 20, 20]] * 30))
    sampled = made.sampled(made.tapes({}), nowhere)
    points = np.random.default_rng(1).normal(size=(8, 90))
    functions = [sampled._make_logp_func() for _ in points]

    def many(function: Any, point: Any) -> Any:
        return [(value, slope.copy()) for value, slope in (function(point) for _ in range(200))]

    alone = [functions[0](point)[0] for point in points]
    with ThreadPoolExecutor(len(points)) as pool:
        for one, other in zip(alone, pool.map(many, functions, points), strict=True):
            assert {value for value, _ in other} == {one}
            assert all((slope == other[0][1]).all() for _, slope in other)


def test_undefined_densities_are_nan() -> None:
    density, _ = functions_of(al.models.copying([30, 10, 10, 10], independent=True))
    assert np.isnan(density(np.array([np.nan, 0.0]))[0])
    assert np.isfinite(density(np.zeros(2))[0])
