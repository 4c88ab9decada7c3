"""Models made ready for the sampler: interpreted or compiled, once for all that are alike."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.steps import LOG

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["LOCK", "Ready", "Values", "cache_clear", "cache_info", "compiled", "holding"]


MODELS = "alikely.models."
# Environment variable: ``pytensor`` switches the interpreter off.
SWITCH = "ALIKELY_EVALUATOR"
# Models kept at a time.
KEPT = 32
# Draws, warm-up included, times numbers that one evaluation works out, by operation: above,
# interpreting takes longer than compiling and running the code. Compiling takes about a tenth of a
# second an operation, and saves half a nanosecond a number, at about 15 steps a draw (measured on
# the spectrum; other code may save nothing). A step costs as much as so many numbers before any is
# worked out.
BREAK_EVEN = 1e7
STEP = 2_000
SMALL = "interpreting so many draws is faster than compiling"
LARGE = "with so many draws compiled code is faster than interpreting"
OFF = f"{SWITCH} is 'pytensor'"
# Two threads that make models ready, or put data into one, at a time would disturb each other.
LOCK = threading.RLock()

Values = Mapping[str, ArrayLike]


class Ready(NamedTuple):
    """A model prepared for the sampler."""

    sampled: Any
    evaluator: Literal["interpreter", "numba"]
    reason: str


def compiled(model: pm.Model, n_draws: float = 20_000) -> Callable[[Values], Ready]:
    """Make a model ready for nutpie, or take what was made of one alike in this process."""
    _refuse_what_has_no_gradient(model)
    with LOCK, _many_objects():
        own = {variable.name: variable.get_value() for variable in model.data_vars}
        # Now: what a model holds may change until data are filled in.
        made = OFF if _is_off() else _attempt(lambda: _graphs(_graph(model)))
        start = _starting_point(model)
    # Once for all data: to write a model out takes longer than many a fit.
    code = functools.cache(lambda: _code(_graph(model)))

    def fill(data: Values) -> Ready:
        new = {name: _fitting(name, values, own) for name, values in data.items()}
        values, from_there = {**own, **new}, functools.partial(start, new)
        with LOCK, _many_objects():
            found = made
            if not isinstance(made, str):
                found = _attempt(lambda: _interpreted(made, values, from_there, n_draws))
            if not isinstance(found, str):
                return Ready(found, "interpreter", SMALL)
            if not code.cache_info().currsize:
                level = logging.INFO if found in (LARGE, OFF) else logging.WARNING
                LOG.log(level, "nutpie compiles the model, in half a minute or more: %s", found)
            return Ready(_filled(code(), values, from_there), "numba", found)

    return fill


def cache_info() -> Any:
    """How often a model was found (``hits``) or made (``misses``), as of `lru_cache`."""
    return _graphs.cache_info()


def cache_clear() -> None:
    """Forget all models."""
    _graphs.cache_clear()
    _code.cache_clear()


@contextlib.contextmanager
def _many_objects() -> Iterator[None]:
    """Collect garbage less often while graphs of many small objects are built."""
    import pytensor

    before = gc.get_threshold()
    # 0: the user wants no looking at all.
    gc.set_threshold(before[0] and max(before[0], 100_000), 50, 1_000)
    try:
        with pytensor.config.change_flags(traceback__limit=0):
            yield
    finally:
        gc.set_threshold(*before)


def _refuse_what_has_no_gradient(model: pm.Model) -> None:
    if not model.free_RVs:
        raise ValueError("the model has no free variable to sample")
    discrete = [v.name for v in model.free_RVs if not v.dtype.startswith("float")]
    if discrete:
        raise ValueError(
            f"NUTS needs continuous variables, got discrete {', '.join(discrete)}; sum them out, "
            "or sample with pm.sample"
        )


def _is_off() -> bool:
    wanted = os.environ.get(SWITCH, "interpreter")
    if wanted not in ("interpreter", "pytensor"):
        raise ValueError(
            f"the environment variable {SWITCH} must be 'interpreter' or 'pytensor', got {wanted!r}"
        )
    return wanted == "pytensor"


@dataclasses.dataclass(frozen=True)
class _Graph:
    """What to make ready, known by what it is written out as."""

    written: tuple[Hashable, ...]
    model: Any = dataclasses.field(compare=False)
    logp: Any = dataclasses.field(compare=False)


def _graph(model: pm.Model) -> _Graph:
    logp = model.logp()
    return _Graph(_written_out(model, logp), model, logp)


def _attempt(make: Callable[[], Any]) -> Any:
    """What the interpreter makes, or in one line why it cannot."""
    try:
        return make()
    except Exception as error:
        told = " ".join(str(error).split())
        return f"the interpreter failed with {type(error).__name__}: {told[:300]}"


def _interpreted(made: Any, data: Values, start: Callable[[Any], Floats], n_draws: float) -> Any:
    """What nutpie samples without compiling; the reason where compiling is faster."""
    tapes = made.tapes(data)
    # Results of all lines; constants, such as those of a long table, cost nothing.
    code = tapes[0].code
    if n_draws * (STEP + int(code[:, 1].sum())) > BREAK_EVEN * len(code):
        return LARGE
    return made.sampled(tapes, start)


def _filled(code: Any, data: Values, start: Callable[[Any], Floats]) -> Any:
    """Compiled code with data and a starting point."""
    for name, values in data.items():
        # Its error for data that the graph does not need.
        with contextlib.suppress(KeyError):
            code = code.with_data(**{name: values})
    if not hasattr(code, "initial_point_func"):
        LOG.warning("chains start where nutpie puts them, and may take longer to converge")
        return code
    return dataclasses.replace(code, initial_point_func=start)


@functools.lru_cache(maxsize=KEPT)
def _graphs(graph: _Graph) -> Any:
    from alikely.inference.interpreter.models import graphs

    return graphs(graph.model, graph.logp)


@functools.lru_cache(maxsize=KEPT)
def _code(graph: _Graph) -> Any:
    import nutpie

    return nutpie.compile_pymc_model(graph.model)


def _written_out(model: pm.Model, logp: Any) -> tuple[Hashable, ...]:
    """All that code depends on: equal for two models if their code would be the same."""
    from pytensor.graph.traversal import toposort

    saved = model.unobserved_value_vars
    outputs = [logp, *saved]
    data = set(model.data_vars)
    number: dict[Any, int] = {}
    steps: list[Hashable] = []
    for variable in outputs:
        if variable.owner is None and variable not in number:
            number[variable] = len(number)
            steps.append(_leaf(variable, data))
    for node in toposort(outputs):
        for variable in node.inputs:
            if variable not in number:
                number[variable] = len(number)
                steps.append(_leaf(variable, data))
        # Operations compare by what they do; one that does not is never found again.
        steps.append((node.op, *(number[variable] for variable in node.inputs)))
        for variable in node.outputs:
            number[variable] = len(number)
    labels = repr((model.coords, sorted(model.named_vars_to_dims.items()), model.check_bounds))
    names = tuple(variable.name for variable in [*saved, *model.free_RVs, *model.deterministics])
    shapes = tuple(tuple(map(int, shape)) for shape in model.eval_rv_shapes().values())
    return (*steps, shapes, tuple(number[variable] for variable in outputs), names, labels)


def _leaf(variable: Any, data: set[Any]) -> Hashable:
    """An input of a graph: data by name and shape, a parameter by name, a number by its digest."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.basic import Constant
    from pytensor.tensor.random.type import RandomType

    if isinstance(variable.type, RandomType):
        raise ValueError(
            "the model draws random numbers at each evaluation, and NUTS needs a fixed density; "
            "give all data in place of pm.Minibatch, or use pm.fit"
        )
    if isinstance(variable, Constant):
        return ("constant", variable.type, _digest(variable.data))
    if not isinstance(variable, SharedVariable):
        return ("parameter", variable.type, variable.name)
    value = variable.get_value(borrow=True)
    if variable in data:
        return ("data", variable.type, variable.name, value.shape)
    return ("held", variable.type, variable.name, _digest(value))


def _digest(value: Any) -> str:
    if not isinstance(value, (np.ndarray, np.generic)):
        return repr(value)
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {np.shape(value)} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _fitting(name: str, values: ArrayLike, own: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """New data in the place of a model's own."""
    if name not in own:
        raise ValueError(
            f"the model has no data {name!r} to replace; it has {', '.join(map(repr, own)) or '-'}"
        )
    given, old = np.asarray(values), own[name]
    if given.shape != old.shape:
        raise ValueError(
            f"data {name!r} must have the shape {old.shape} that the model was built with, got "
            f"{given.shape}; build a model for them"
        )
    with np.errstate(invalid="ignore"):
        new = given.astype(old.dtype)
    if not np.issubdtype(old.dtype, np.floating) and not np.array_equal(new, given):
        raise ValueError(
            f"data {name!r} must be {old.dtype} as those that the model was built with, got "
            f"{given[new != given].flat[0]}; build a model for them"
        )
    return new


def _starting_point(model: pm.Model) -> Callable[..., Floats]:
    """Where chains start, from a seed, for given data; jittered as nutpie does."""
    from pymc.initial_point import make_initial_point_fn

    point = make_initial_point_fn(
        model=model, jitter_rvs=set(model.free_RVs), return_transformed=True
    )
    names = [model.rvs_to_values[variable].name for variable in model.free_RVs]
    placed = [
        model.rvs_to_values[variable].name
        for variable, transform in model.rvs_to_transforms.items()
        if type(_last(transform)).__module__.startswith(MODELS)
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
    """A model with other data, for a moment; to be entered with `LOCK`."""
    before = {name: model[name].get_value() for name in data}
    try:
        for name, values in data.items():
            model[name].set_value(np.asarray(values, before[name].dtype))
        yield
    finally:
        for name, values in before.items():
            model[name].set_value(values)


def _last(transform: Any) -> Any:
    """The transform next to the sampler, of several one after the other."""
    from pymc.logprob.transforms import ChainedTransform

    return transform.transform_list[-1] if isinstance(transform, ChainedTransform) else transform
