"""Priors of a model's variables: replaced while it is built, checked, and written as text."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike, NDArray
from pymc.distributions.shape_utils import change_dist_size
from pymc.distributions.transforms import _default_transform
from pymc.logprob.transforms import IntervalTransform
from pymc.logprob.utils import ParameterValueError
from pymc.pytensorf import constant_fold, rvs_in_graph
from pymc.util import UNSET
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType

from alikely._base.names import listed, nearest

# Names of variables to distributions, or to parameters of the default's own family.
Priors = Mapping[str, Any]

HOW = "such as pm.Normal.dist(0, 1)"
# Numbers drawn of a given prior, to see whether the default allows them.
DRAWN = 400
# Values at which supports are compared: small, large, and near the ends of usual supports.
PLACES = np.concatenate([1.7 * 10.0 ** np.arange(-12, 10, 3), [0.999, 1.001]])
PLACES = np.concatenate([-PLACES, PLACES])
# Distributions whose random variable has its parameter as 1 over that of the user.
RATES = {("Gamma", "scale"): "beta", ("Exponential", "mu"): "lam"}
# Evaluated once, without compiling, which would take longer.
ONCE = Mode(linker="py", optimizer="fast_compile")


@contextlib.contextmanager
def building(priors: Priors | None, coords: Mapping[str, Any]) -> Iterator[pm.Model]:
    """Context of a new model, whose variables take the given priors instead of the defaults."""
    check_priors(priors)
    left = dict(priors or {})
    with pm.Model(coords=coords) as model:
        register = model.register_rv

        def replaced(variable: Any, name: str, **options: Any) -> Any:
            if name not in left:
                return register(variable, name, **options)
            parents = _parents(model, variable)
            if parents:
                raise ValueError(
                    f"the prior of {name!r} depends on {listed(dict.fromkeys(parents), 5)}; set "
                    "the priors of these variables"
                )
            dims = options.get("dims") or ()
            drawn = _replacement(name, variable, left.pop(name), dims)
            batch = dims[: drawn.ndim - drawn.owner.op.ndim_supp]
            if dims:
                # Lengths of dims may change.
                drawn = change_dist_size(drawn, [model.dim_lengths[dim] for dim in batch])
            usual, own = (_default_transform(v.owner.op, v) for v in (variable, drawn))
            if own is None and not isinstance(usual, IntervalTransform):
                options["default_transform"] = own = usual
            if type(own) is not type(usual):
                # Our coordinates are of the line, or of logarithms, as those of the default.
                options["transform"] = UNSET
            return register(drawn, name, **options)

        model.register_rv = replaced
        yield model
        del model.register_rv
    if left:
        name, known = next(iter(left)), list(_settable(model))
        raise ValueError(
            f"the model has no prior of {name!r}; priors= takes {listed(known)}"
            f"{nearest(name, known)}"
        )


def prior_texts(model: pm.Model) -> dict[str, str]:
    """Return the priors of a model's free variables, if their parameters are constant."""
    return {name: _text(variable) for name, variable in _settable(model).items()}


def check_priors(priors: Priors | None) -> None:
    """Raise an error for invalid `priors`, before the model is built."""
    named = isinstance(priors, Mapping) and all(isinstance(name, str) for name in priors)
    if priors is not None and not named:
        raise ValueError(
            "priors must map names of variables to distributions or parameters, such as "
            f'{{"level_mean": (0, 1)}}, got {priors!r}'
        )
    for name, given in (priors or {}).items():
        if given is None or callable(given) or isinstance(given, (str, Mapping)):
            raise ValueError(
                f"the prior of {name!r} must be a distribution without a name, such as "
                f"pm.Normal.dist(0, 1), or parameters of its default, got {given!r}"
            )
        if getattr(given, "name", None) is not None:
            raise ValueError(
                f"the prior of {name!r} is the variable {given.name!r} of a model; give a "
                "distribution without a name, such as pm.Normal.dist(0, 1)"
            )


class _Family(NamedTuple):
    """A distribution by its public name and parameters in PyMC."""

    made_by: Any
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.made_by.__name__)

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"


def _family(variable: Any) -> _Family | None:
    """Distribution of a random variable; None for compound ones."""
    kinds: list[Any] = [pm.Distribution]
    for kind in kinds:
        kinds += kind.__subclasses__()
    found = [kind for kind in kinds if kind.rv_type is type(variable.owner.op)]
    if not found:
        return None
    made_by = found[0]
    if made_by is pm.ZeroSumNormal:
        return _Family(made_by, {"sigma": variable.owner.inputs[2]})
    if not hasattr(made_by, "logp"):
        return None
    # The log density has the parameters of the random variable, in order and by name.
    names = list(inspect.signature(made_by.logp).parameters)[1:]
    parameters = {}
    for name, value in zip(names, _numbers_of(variable), strict=True):
        # A half-normal has a place besides, 0 for all that PyMC makes.
        if (made_by, name) != (pm.HalfNormal, "loc"):
            rate = RATES.get((made_by.__name__, name))
            parameters[rate or name] = 1 / value if rate else value
    return _Family(made_by, parameters)


def _numbers_of(variable: Any) -> list[Any]:
    """Parameters of a random variable, without its size and random generator."""
    node = variable.owner
    if isinstance(node.op, RandomVariable) or node.op.extended_signature is not None:
        return list(node.op.dist_params(node))
    return [v for v in node.inputs if hasattr(v, "ndim")]


def _text(variable: Any) -> str:
    family = _family(variable)
    if family is None:
        numbers = [_number(v, collapse=False) for v in _numbers_of(variable)]
        name = getattr(variable.owner.op, "_print_name", (type(variable.owner.op).__name__,))[0]
        return f"{name}({', '.join(numbers)})"
    # The parameters of a Dirichlet are one vector.
    collapse = variable.owner.op.ndim_supp == 0 or family.made_by is pm.ZeroSumNormal
    texts = {name: _number(v, collapse) for name, v in family.parameters.items()}
    kinds = inspect.signature(family.made_by.dist).parameters.values()
    positional = [p.name for p in kinds if p.kind is p.POSITIONAL_OR_KEYWORD]
    if positional[: len(texts)] == list(texts):
        return f"{family.name}({', '.join(texts.values())})"
    return f"{family.name}({', '.join(f'{name}={text}' for name, text in texts.items())})"


def _number(variable: Any, collapse: bool) -> str:
    """One number if all are the same; as written, without rounding to single precision."""
    if variable.owner is not None and rvs_in_graph([variable]):
        return _text(variable)
    (value,) = constant_fold([variable], raise_not_constant=False)
    array = np.asarray(value if isinstance(value, np.ndarray) else _now(variable))
    distinct = np.unique(array)
    if array.ndim == 0 or (collapse and len(distinct) == 1):
        return f"{float(distinct[0]):.6g}"
    # Dims that were added for broadcasting say nothing.
    array = array.reshape(array.shape[int(np.argmax(np.array(array.shape) > 1)) :])
    return str(np.vectorize(lambda x: float(f"{x:.6g}"), otypes=[float])(array).tolist())


def _now(variable: Any) -> NDArray[Any]:
    return np.asarray(variable.eval(mode=ONCE))


def _shape(variable: Any) -> tuple[int, ...]:
    """Shape, evaluated only if the type does not specify it."""
    static = variable.type.shape
    return tuple(int(length) for length in (_now(variable.shape) if None in static else static))


def _settable(model: pm.Model) -> dict[str, Any]:
    """Free variables whose distribution depends on no other quantity of the model."""
    return {v.name: v for v in model.free_RVs if not _parents(model, v)}


def _parents(model: pm.Model, variable: Any) -> list[str]:
    """Names of the variables and data that a distribution depends on."""
    known = {*model.basic_RVs, *model.data_vars}
    return [v.name for v in ancestors(variable.owner.inputs, blockers=known) if v in known]


def _replacement(name: str, old: Any, given: Any, dims: Sequence[str]) -> Any:
    """The new distribution of a variable, with the variable's shape."""
    shape = _shape(old)
    drawn = _distribution(name, old, given, shape)
    own, batch = _shape(drawn), len(shape) - drawn.owner.op.ndim_supp
    if own not in (shape, shape[batch:]):
        single = f"of shape {shape[batch:]}" if shape[batch:] else "a single number"
        either = f"{single} or " if batch else ""
        raise ValueError(
            f"the prior of {name!r} must be {either}of shape {shape}"
            f"{f' ({", ".join(dims)})' if dims else ''}, got shape {own}"
        )
    drawn = change_dist_size(drawn, shape[:batch])
    _refuse_outside(name, old, drawn)
    return drawn


def _distribution(name: str, old: Any, given: Any, shape: tuple[int, ...]) -> Any:
    """The given distribution, or the default family with the given parameters, checked."""
    family = _family(old)
    if hasattr(given, "owner"):
        drawn = given
        _refuse_no_prior(name, drawn)
    else:
        drawn = _of_family(name, family, given, shape)
    wrong = _invalid(drawn)
    if wrong:
        got = _text(drawn) if drawn is given or family is None else f"{family.signature}: {given!r}"
        raise ValueError(f"the prior of {name!r} has invalid parameters, {got}: {wrong}")
    return drawn


def _of_family(name: str, family: _Family | None, given: ArrayLike, shape: tuple[int, ...]) -> Any:
    if family is None:
        raise ValueError(
            f"the default prior of {name!r} has no parameters; give a distribution, {HOW}"
        )
    n = len(family.parameters)
    several = isinstance(given, tuple) or (n > 1 and isinstance(given, list))
    numbers: Any = given if several else (given,)
    try:
        arrays = [np.asarray(number, dtype=np.float64) for number in numbers]
    except (TypeError, ValueError):
        arrays = []
    if len(arrays) != n or not all(np.isfinite(array).all() for array in arrays):
        wanted = "one finite parameter" if n == 1 else f"{n} finite parameters"
        raise ValueError(
            f"the prior of {name!r}, {family.signature}, takes {wanted}, got {given!r}"
        )
    parameters: dict[str, Any] = dict(zip(family.parameters, arrays, strict=True))
    if family.made_by is pm.Dirichlet and not arrays[0].ndim:
        parameters["a"] = np.full(shape[-1], arrays[0])
    elif family.made_by is pm.ZeroSumNormal:
        parameters["shape"] = shape
    return family.made_by.dist(**parameters)


def _refuse_no_prior(name: str, given: Any) -> None:
    if not hasattr(getattr(given.owner, "op", None), "ndim_supp"):
        raise ValueError(f"the prior of {name!r} must be a distribution, {HOW}, got {given}")
    if not given.dtype.startswith("float"):
        raise ValueError(
            f"the prior of {name!r} must be continuous, as its default is, got {_text(given)}"
        )
    free = [
        v
        for v in graph_inputs([given])
        if not isinstance(v, Constant) and not isinstance(v.type, RandomType)
    ]
    free += rvs_in_graph([pm.logp(given, given.type())])
    if free:
        raise ValueError(
            f"the prior of {name!r} depends on {free[0]}, which has no fixed value; give numbers "
            "as its parameters"
        )


def _invalid(drawn: Any) -> str:
    """Why a distribution's parameters are invalid; empty if they are valid."""
    try:
        # Checks of parameters do not depend on values, and have clearer messages than draws.
        _log_density(drawn, np.zeros(_shape(drawn)))
        density = _log_density(drawn, _drawn(drawn, 1))
    except NotImplementedError:
        return "nothing can be drawn from it; give a proper distribution"
    except (ValueError, AssertionError) as error:
        # Names the condition that a parameter breaks, before how it got there.
        return str(error).split("\n")[0]
    return "" if np.isfinite(density).all() else "no finite log density"


def _drawn(variable: Any, n: int) -> NDArray[Any]:
    """Draws with a fixed seed, shape (n, *shape)."""
    shape = _shape(variable)
    size = (n, *shape[: len(shape) - variable.owner.op.ndim_supp])
    return np.asarray(pm.draw(change_dist_size(variable, size), random_seed=0, mode=ONCE))


def _log_density(variable: Any, values: NDArray[Any]) -> NDArray[Any]:
    size = values.shape[: values.ndim - variable.owner.op.ndim_supp]
    return _now(pm.logp(change_dist_size(variable, size), values))


def _refuse_outside(name: str, old: Any, drawn: Any) -> None:
    """Raise an error for values outside the support of the default prior."""
    n = max(DRAWN // max(int(np.prod(_shape(drawn))), 1), 10)
    values = _drawn(drawn, n)
    if drawn.owner.op.ndim_supp == 0:
        ends = np.zeros((len(PLACES), *_shape(drawn))) + PLACES.reshape(-1, *[1] * drawn.ndim)
        own = np.isfinite(_log_density(drawn, ends)).all(axis=tuple(range(1, ends.ndim)))
        values = np.concatenate([values, ends[own]])
    outside = _outside(old, values)
    if outside is not None:
        raise ValueError(
            f"the prior of {name!r} must lie within the support of its default, {_text(old)}; "
            f"{_text(drawn)} also takes {outside}"
        )


def _outside(variable: Any, values: NDArray[Any]) -> str | None:
    """A value that a distribution excludes, as text; None if there is none."""
    try:
        density = _log_density(variable, values)
    except ParameterValueError:
        # What sums to zero, or to one, is asserted of all values together.
        return str(np.round(values[0], 3).tolist())
    bad = ~np.isfinite(density)
    if not bad.any():
        return None
    first = values[bad][0]
    return f"{first:.3g}" if np.ndim(first) == 0 else str(np.round(first, 3).tolist())
