"""Models that nutpie samples without compiling them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
from numpy.typing import ArrayLike
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph import clone_replace, rewrite_graph
from pytensor.graph.traversal import graph_inputs

from alikely._base.arrays import Floats
from alikely.inference.interpreter.kernels import density, evaluate
from alikely.inference.interpreter.tape import Tape, written

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Graphs", "graphs"]

# As before compiling; what only serves code for processors (fusion, work in place, BLAS) is left
# out: it takes longer than a chain gains by it.
REWRITES = ("canonicalize", "stabilize", "specialize", "local_check_parameter_to_ninf_switch")
# The first takes a fifth of the time of all and leaves more operations than there were; the other
# makes several operations one.
LEFT_OUT = ("local_greedy_distributor", "local_pow_to_nested_squaring")


class Graphs(NamedTuple):
    """A model's graphs: tapes are written from them for any data."""

    parameters: list[Any]
    density: list[Any]
    saved: list[Any]
    names: list[str]
    coords: dict[str, Any]
    dims: dict[str, Any]
    data: dict[str, Any]
    held: dict[Any, Any]

    def tapes(self, data: Mapping[str, ArrayLike]) -> tuple[Tape, Tape]:
        """Of the density with its gradient, and of all that is saved; for data by name."""
        values = {**self.held, **{self.data[name]: value for name, value in data.items()}}
        of_density = written(self.parameters, self.density, values)
        return of_density, written(self.parameters, self.saved, values)

    def sampled(self, tapes: tuple[Tape, Tape], start: Callable[[Any], Floats]) -> Any:
        """What nutpie samples, from where it starts."""
        from nutpie.compiled_pyfunc import from_pyfunc

        n = sum(int(np.prod(p.type.shape)) for p in self.parameters)

        def make_density() -> Any:
            given = _given(tapes[0])
            gradient = given[-1][1:]
            return lambda point: (density(point, *given), gradient)

        def make_draw(*_: Any) -> Any:
            given, views, first = _given(tapes[1]), {}, 0
            for name, places in zip(self.names, tapes[1].outputs, strict=True):
                views[name] = given[-1][first : first + places.size].reshape(places.shape)
                first += places.size

            def draw(point: Floats) -> dict[str, Floats]:
                evaluate(point, *given)
                return views

            return draw

        # Before the chains: what fails here is compiled instead.
        make_density()(np.zeros(n))
        make_draw()(np.zeros(n))
        return from_pyfunc(
            n,
            make_density,
            make_draw,
            [np.dtype(np.float64)] * len(self.names),
            [places.shape for places in tapes[1].outputs],
            self.names,
            coords=self.coords,
            # nutpie adds dims of its own.
            dims={name: list(dims) for name, dims in self.dims.items()},
            make_initial_point_fn=start,
        )


def _given(tape: Tape) -> tuple[Any, ...]:
    """What the kernels take of a tape, with a buffer and results of its own."""
    outputs = np.concatenate([np.ravel(places) for places in tape.outputs]).astype(np.uint64)
    return tape.code, tape.places, tape.buffer.copy(), outputs, np.empty(len(outputs))


def graphs(model: pm.Model, logp: Any = None) -> Graphs:
    """Write down a model's log density, its gradient and all that is saved of a draw."""
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    # Not of a starting point, which takes eight times as long.
    shapes = model.eval_rv_shapes()
    parameters = [
        pt.tensor(value.name, shape=tuple(map(int, shapes[value.name])), dtype="float64")
        for value in values
    ]
    pairs = zip(values, parameters, strict=True)
    replaced = {value: parameter.astype(value.dtype) for value, parameter in pairs}
    # First as it is: the gradient of a graph that is not stable is none either.
    (density,) = clone_replace([_rewritten(model.logp() if logp is None else logp)], replaced)
    gradient = pytensor.grad(density, parameters, disconnected_inputs="ignore")
    kept = [*model.free_RVs, *model.deterministics]
    saved = clone_replace(model.replace_rvs_by_values([pt.as_tensor(v) for v in kept]), replaced)
    rewritten = _rewritten([density, *gradient, *saved])
    names, data = [variable.name for variable in kept], model.data_vars
    shared = [v for v in graph_inputs(rewritten) if isinstance(v, SharedVariable)]
    return Graphs(
        parameters,
        rewritten[: len(parameters) + 1],
        rewritten[len(parameters) + 1 :],
        names,
        {name: _labels(model, name) for name in model.coords},
        {name: list(v) for name, v in model.named_vars_to_dims.items() if name in names},
        {variable.name: variable for variable in data},
        {v: v.get_value() for v in shared if v not in data},
    )


def _rewritten(graphs: Any) -> Any:
    return rewrite_graph(graphs, include=REWRITES, exclude=LEFT_OUT)


def _labels(model: pm.Model, dim: str) -> pd.Index:
    """As nutpie takes them; numbers where a dim has no labels."""
    labels = model.coords[dim]
    return pd.RangeIndex(int(model.dim_lengths[dim].eval())) if labels is None else pd.Index(labels)
