"""Models that nutpie samples without compiling them: see `alikely.inference.tape`."""

from __future__ import annotations

import itertools
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
from alikely.inference.native import density, draw, tape_data
from alikely.inference.tape import Tape, written

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Graphs", "graphs"]

# As before compiling; what makes code for processors (specialize, fusion, work in place, BLAS) is
# left out: it takes longer than a chain gains by it.
REWRITES = ("canonicalize", "stabilize", "local_check_parameter_to_ninf_switch")
# Takes a fifth of the time of all, and leaves more operations than there were.
LEFT_OUT = ("local_greedy_distributor",)


class Graphs(NamedTuple):
    """A model's graphs, made ready: tapes are written from them for any data."""

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
        from nutpie.compile_pymc import CompiledPyMCModel

        data = tape_data(*tapes)
        shapes = [tuple(places.shape) for places in tapes[1].outputs]
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)]).tolist()
        slices = [slice(*pair) for pair in itertools.pairwise(ends)]
        return CompiledPyMCModel(
            _n_dim=sum(int(np.prod(p.type.shape)) for p in self.parameters),
            n_expanded=ends[-1],
            compiled_logp_func=density,
            compiled_expand_func=draw,
            # Not read by us; the model must keep what the header points at.
            shared_data={str(k): array for k, array in enumerate(data.held)},
            shared_var_keys={},
            user_data=data.header,
            initial_point_func=start,
            shape_info=(self.names, slices, shapes),
            logp_func=None,
            expand_func=None,
            # Copies: nutpie adds dims of its own.
            _coords=dict(self.coords),
            dims=dict(self.dims),
            _shapes=dict(zip(self.names, shapes, strict=True)),
        )


def graphs(model: pm.Model, logp: Any = None) -> Graphs:
    """Write down a model's log density, its gradient and all that is saved of a draw."""
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
    (density,) = clone_replace(
        [_rewritten(model.logp() if logp is None else logp, REWRITES[:2])], replaced
    )
    gradient = pytensor.grad(density, parameters, disconnected_inputs="ignore")
    kept = [*model.free_RVs, *model.deterministics]
    saved = clone_replace(model.replace_rvs_by_values([pt.as_tensor(v) for v in kept]), replaced)
    rewritten = _rewritten([density, *gradient, *saved], REWRITES)
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


def _rewritten(graphs: Any, rewrites: tuple[str, ...]) -> Any:
    return rewrite_graph(graphs, include=rewrites, exclude=LEFT_OUT)


def _labels(model: pm.Model, dim: str) -> pd.Index:
    """As nutpie takes them; numbers where a dim has no labels."""
    labels = model.coords[dim]
    return pd.RangeIndex(int(model.dim_lengths[dim].eval())) if labels is None else pd.Index(labels)
