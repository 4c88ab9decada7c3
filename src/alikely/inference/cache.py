"""Models interpreted or compiled for the sampler, and cached."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.steps import LOG

if TYPE_CHECKING:
    import pymc as pm

MODELS = "alikely.models."
# Environment variable: ``pytensor`` switches the interpreter off.
SWITCH = "ALIKELY_EVALUATOR"
# Models kept at a time.
KEPT = 32
OFF = f"{SWITCH} is 'pytensor'"
# Threads that compile models or replace their data must not run simultaneously.
LOCK = threading.RLock()

Values = Mapping[str, ArrayLike]


class Ready(NamedTuple):
    """A model prepared for the sampler; if the model is compiled, with the reason."""

    sampled: Any
    evaluator: Literal["interpreter", "numba"]
    reason: str


def compiled(model: pm.Model) -> Callable[[Values], Ready]:
    """Compile a model for nutpie, or reuse the cached code of an identical model."""
    _refuse_what_has_no_gradient(model)
    wanted = os.environ.get(SWITCH, "interpreter")
    if wanted not in ("interpreter", "pytensor"):
        raise ValueError(
            f"the environment variable {SWITCH} must be 'interpreter' or 'pytensor', got {wanted!r}"
        )
    with LOCK:
        own = {variable.name: variable.get_value() for variable in model.data_vars}
        # Now: what a model holds may change until data are filled in.
        off = wanted == "pytensor"
        made = OFF if off else _attempt(lambda: graphs_of(Computation(model)))
        start = _starting_point(model)
    # Once for all data: to write a model out takes longer than many a fit.
    code = functools.cache(lambda: _code(Computation(model)))

    def fill(data: Values) -> Ready:
        new = {name: _fitting(name, values, own) for name, values in data.items()}
        values, from_there = {**own, **new}, functools.partial(start, new)
        with LOCK:
            found = made
            if not isinstance(made, str):
                found = _attempt(lambda: made.sampled(made.tapes(values), from_there))
            if not isinstance(found, str):
                return Ready(found, "interpreter", "")
            if not code.cache_info().currsize:
                level = logging.INFO if found == OFF else logging.WARNING
                LOG.log(level, "nutpie compiles the model, in half a minute or more: %s", found)
            return Ready(_filled(code(), values, from_there), "numba", found)

    return fill


def _attempt(make: Callable[[], Any]) -> Any:
    """Model of the interpreter, or the reason why it is not supported."""
    try:
        return make()
    except Exception as error:
        told = " ".join(str(error).split())
        return f"the interpreter failed with {type(error).__name__}: {told[:300]}"


def _refuse_what_has_no_gradient(model: pm.Model) -> None:
    if not model.free_RVs:
        raise ValueError("the model has no free variable to sample")
    discrete = [v.name for v in model.free_RVs if not v.dtype.startswith("float")]
    if discrete:
        raise ValueError(
            f"NUTS needs continuous variables, got discrete {', '.join(discrete)}; sum them out, "
            "or sample with pm.sample"
        )


class Computation:
    """Cache key of a model: equal if the compiled code would be the same."""

    def __init__(self, model: pm.Model) -> None:
        from pytensor.graph.basic import Constant
        from pytensor.graph.fg import FrozenFunctionGraph
        from pytensor.graph.traversal import graph_inputs
        from pytensor.tensor.random.type import RandomType

        self.model, self.logp = model, model.logp()
        saved = model.unobserved_value_vars
        outputs, data = [self.logp, *saved], set(model.data_vars)
        leaves = [v for v in graph_inputs(outputs) if not isinstance(v, Constant)]
        if any(isinstance(v.type, RandomType) for v in leaves):
            raise ValueError(
                "the model draws random numbers at each evaluation, and NUTS needs a fixed "
                "density; give all data in place of pm.Minibatch, or use pm.fit"
            )
        # Parameters by name, data by shape too, and what else is shared by its numbers.
        held: list[Any] = [v.get_value() if hasattr(v, "get_value") else None for v in leaves]
        known = [
            (v.name, np.shape(x) if v in data else joblib.hash(x))
            for v, x in zip(leaves, held, strict=True)
        ]
        kept = [v.name for v in (*saved, *model.free_RVs, *model.deterministics)]
        labels = model.coords, sorted(model.named_vars_to_dims.items()), model.check_bounds
        shapes = [tuple(map(int, shape)) for shape in model.eval_rv_shapes().values()]
        described = repr((known, kept, labels, shapes))
        self.key = FrozenFunctionGraph.from_io(leaves, outputs), described

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Computation) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=KEPT)
def graphs_of(computation: Computation) -> Any:
    """Cached graphs of a model for the interpreter."""
    from alikely.inference.interpreter.models import Graphs

    return Graphs(computation.model, computation.logp)


@functools.lru_cache(maxsize=KEPT)
def _code(computation: Computation) -> Any:
    import nutpie

    return nutpie.compile_pymc_model(computation.model)


def _filled(code: Any, data: Values, start: Callable[[Any], Floats]) -> Any:
    """Compiled code with data and a starting point."""
    for name, values in data.items():
        # Its error for data that the graph does not need.
        with contextlib.suppress(KeyError):
            code = code.with_data(**{name: values})
    if not hasattr(code, "initial_point_func"):
        LOG.warning("chains start at default values of nutpie and may take longer to converge")
        return code
    return dataclasses.replace(code, initial_point_func=start)


def _fitting(name: str, values: ArrayLike, own: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Replacement data of a model, checked."""
    if name not in own:
        raise ValueError(
            f"the model has no data {name!r} to replace; it has {', '.join(map(repr, own)) or '-'}"
        )
    given, old = np.asarray(values), own[name]
    with np.errstate(invalid="ignore"):
        new = given.astype(old.dtype)
    whole = not np.issubdtype(old.dtype, np.floating)
    if given.shape != old.shape:
        wrong = f"have the shape {old.shape} that the model was built with, got {given.shape}"
    elif whole and not np.array_equal(new, given):
        got = given[new != given].flat[0]
        wrong = f"be {old.dtype}, like the data that the model was built with, got {got}"
    else:
        return new
    raise ValueError(f"data {name!r} must {wrong}; build a model for these data")


def _starting_point(model: pm.Model) -> Callable[..., Floats]:
    """Starting points of chains for given data, jittered as in nutpie."""
    from pymc.initial_point import make_initial_point_fn

    point = make_initial_point_fn(
        model=model, jitter_rvs=set(model.free_RVs), return_transformed=True
    )
    names = [model.rvs_to_values[variable].name for variable in model.free_RVs]
    placed = [
        model.rvs_to_values[variable].name
        for variable, transform in model.rvs_to_transforms.items()
        # The one next to the sampler, of several one after the other.
        if type(getattr(transform, "transform_list", [transform])[-1]).__module__.startswith(MODELS)
    ]

    def start(data: Mapping[str, NDArray[Any]], seed: Any) -> Floats:
        with LOCK, holding(model, data):
            found = point(seed)
        rng = np.random.default_rng(seed)
        for name in placed:
            found[name] = rng.uniform(-1, 1, np.shape(found[name]))
        return np.concatenate([np.ravel(found[name]) for name in names]).astype(np.float64)

    return start


@contextlib.contextmanager
def holding(model: pm.Model, data: Values) -> Iterator[None]:
    """Temporarily replace the data of a model; use together with `LOCK`."""
    before = {name: model[name].get_value() for name in data}
    try:
        for name, values in data.items():
            model[name].set_value(np.asarray(values, before[name].dtype))
        yield
    finally:
        for name, values in before.items():
            model[name].set_value(values)
