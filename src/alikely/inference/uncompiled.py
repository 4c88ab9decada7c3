"""Models that nutpie samples without compiling them: see `alikely.inference.tape`."""

from __future__ import annotations

import functools
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
from alikely.inference.interpreter import evaluate
from alikely.inference.tape import Tape, written

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Graphs", "graphs"]

# As before compiling; what makes code for processors (fusion, work in place, BLAS) is left out.
REWRITES = ("canonicalize", "stabilize", "specialize", "local_check_parameter_to_ninf_switch")


class Graphs(NamedTuple):
    """A model's graphs, made ready: tapes are written from them for any data.

    Attributes
    ----------
    parameters : list of Variable
        Unconstrained, of static shapes.
    density, gradient, saved : Variable, list of Variable, list of Variable
        Log density, its gradient, and what is saved of each draw.
    names : list of str
        Of what is saved.
    coords, dims : dict
        Of the model.
    data, held : dict
        Its data, by name, and the values of other shared variables as they were: models of the
        same graph may share it later.
    """

    parameters: list[Any]
    density: Any
    gradient: list[Any]
    saved: list[Any]
    names: list[str]
    coords: dict[str, Any]
    dims: dict[str, Any]
    data: dict[str, Any]
    held: dict[Any, Any]

    def tapes(self, data: Mapping[str, ArrayLike]) -> tuple[Tape, Tape]:
        """Of the density with its gradient, and of all that is saved; for data by name."""
        values = {**self.held, **{self.data[name]: value for name, value in data.items()}}
        return (
            written(self.parameters, [self.density, *self.gradient], values),
            written(self.parameters, self.saved, values),
        )

    def ready(self, tapes: tuple[Tape, Tape], start: Callable[[Any], Floats]) -> Any:
        """What nutpie samples, from where it starts."""
        from nutpie.compiled_pyfunc import from_pyfunc

        density, draw = tapes
        shapes = [tuple(places.shape) for places in draw.outputs]
        return from_pyfunc(
            ndim=sum(int(np.prod(p.type.shape)) for p in self.parameters),
            make_logp_fn=functools.partial(_density, density),
            make_expand_fn=functools.partial(_draw, draw, self.names),
            expanded_dtypes=[np.dtype("float64")] * len(shapes),
            expanded_shapes=shapes,
            expanded_names=self.names,
            # Copies: nutpie adds dims of its own.
            coords=dict(self.coords),
            dims=dict(self.dims),
            make_initial_point_fn=start,
        )


def graphs(model: pm.Model) -> Graphs:
    """Write down a model's log density, its gradient and all that is saved of a draw.

    Parameters
    ----------
    model : pymc.Model

    Returns
    -------
    Graphs
    """
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    # Not of a starting point, which takes eight times as long.
    shapes = model.eval_rv_shapes()
    parameters = [
        pt.tensor(value.name, shape=tuple(map(int, shapes[value.name])), dtype="float64")
        for value in values
    ]
    replaced = {
        value: parameter.astype(value.dtype)
        for value, parameter in zip(values, parameters, strict=True)
    }
    (density,) = clone_replace([rewrite_graph(model.logp(), include=REWRITES[:2])], replaced)
    gradient = pytensor.grad(density, parameters, disconnected_inputs="ignore")
    kept = [*model.free_RVs, *model.deterministics]
    saved = clone_replace(model.replace_rvs_by_values([pt.as_tensor(v) for v in kept]), replaced)
    rewritten = rewrite_graph([density, *gradient, *saved], include=REWRITES)
    n = len(parameters)
    return Graphs(
        parameters,
        rewritten[0],
        rewritten[1 : n + 1],
        rewritten[n + 1 :],
        [variable.name for variable in kept],
        {name: _labels(model, name) for name in model.coords},
        {k: list(v) for k, v in model.named_vars_to_dims.items() if k in {v.name for v in kept}},
        {variable.name: variable for variable in model.data_vars},
        {
            v: v.get_value()
            for v in graph_inputs(rewritten)
            if isinstance(v, SharedVariable) and v not in model.data_vars
        },
    )


def _labels(model: pm.Model, dim: str) -> pd.Index:
    """As nutpie takes them; numbers where a dim has no labels."""
    labels = model.coords[dim]
    return pd.RangeIndex(int(model.dim_lengths[dim].eval())) if labels is None else pd.Index(labels)


class _NotFiniteError(ValueError):
    """The chain went where there is no density: it turns round."""

    is_recoverable = True


def _density(tape: Tape) -> Callable[[Floats], tuple[float, Floats]]:
    """Log density and gradient at a point; a buffer of its own for every chain."""
    code, at, buffer = tape.code, tape.places, tape.buffer.copy()
    logp, *gradient = tape.outputs
    at_gradient = np.concatenate([places.ravel() for places in gradient]).astype(np.uint64)
    at_logp = np.uint64(logp)

    def density(point: Floats) -> tuple[float, Floats]:
        value, slope, finite = evaluate(point, code, at, buffer, at_logp, at_gradient)
        if not finite:
            raise _NotFiniteError("the log density or its gradient is not finite")
        return value, slope

    return density


def _draw(tape: Tape, names: list[str], *_: Any) -> Callable[[Floats], dict[str, Floats]]:
    """All that is saved, from the unconstrained parameters of a draw."""
    code, at, buffer = tape.code, tape.places, tape.buffer.copy()
    nothing = np.zeros(0, np.uint64)

    def draw(point: Floats) -> dict[str, Floats]:
        evaluate(point, code, at, buffer, np.uint64(0), nothing)
        return {
            # Arrays of no dims, too: nutpie cannot read plain numbers.
            name: np.asarray(buffer[places])
            for name, places in zip(names, tape.outputs, strict=True)
        }

    return draw
