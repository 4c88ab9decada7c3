"""Models that nutpie samples without compiling them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

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

# As before compiling; what only serves code for processors (fusion, work in place, BLAS) is left
# out: it takes longer than a chain gains by it.
REWRITES = ("canonicalize", "stabilize", "specialize", "local_check_parameter_to_ninf_switch")
# The first takes a fifth of the time of all and leaves more operations than there were; the other
# makes several operations one.
LEFT_OUT = ("local_greedy_distributor", "local_pow_to_nested_squaring")


class Graphs:
    """A model's log density, its gradient and all saved variables, as tapes for any data."""

    def __init__(self, model: pm.Model, logp: Any = None) -> None:
        values = [model.rvs_to_values[variable] for variable in model.free_RVs]
        # Not of a starting point, which takes eight times as long.
        shapes = model.eval_rv_shapes()
        self.parameters = [
            pt.tensor(value.name, shape=tuple(map(int, shapes[value.name])), dtype="float64")
            for value in values
        ]
        pairs = zip(values, self.parameters, strict=True)
        replaced = {value: parameter.astype(value.dtype) for value, parameter in pairs}
        # First as it is: the gradient of a graph that is not stable is none either.
        (density,) = clone_replace([_rewritten(model.logp() if logp is None else logp)], replaced)
        gradient = pytensor.grad(density, self.parameters, disconnected_inputs="ignore")
        kept = [*model.free_RVs, *model.deterministics]
        saved = model.replace_rvs_by_values([pt.as_tensor(v) for v in kept])
        self.outputs = _rewritten([density, *gradient, *clone_replace(saved, replaced)])
        self.names = [variable.name for variable in kept]
        self.data = {variable.name: variable for variable in model.data_vars}
        shared = [v for v in graph_inputs(self.outputs) if isinstance(v, SharedVariable)]
        self.values = {v: v.get_value() for v in {*shared, *model.data_vars}}
        self.dims = {name: model.named_vars_to_dims.get(name) for name in self.names}
        # Numbers where a dim has no labels.
        self.coords = {
            dim: pd.RangeIndex(int(model.dim_lengths[dim].eval())) if labels is None else labels
            for dim, labels in model.coords.items()
        }

    def tapes(self, data: Mapping[str, ArrayLike]) -> tuple[Tape, Tape]:
        """Make the tapes of the density with its gradient, and of saved quantities, for data."""
        values = {**self.values, **{self.data[name]: value for name, value in data.items()}}
        n = len(self.parameters) + 1
        parts = self.outputs[:n], self.outputs[n:]
        first, second = (written(self.parameters, part, values) for part in parts)
        return first, second

    def sampled(self, tapes: tuple[Tape, Tape], start: Callable[[Any], Floats]) -> Any:
        """Model for nutpie, with its starting points."""
        from nutpie.compiled_pyfunc import from_pyfunc

        n = sum(int(np.prod(p.type.shape)) for p in self.parameters)
        saved = tapes[1].outputs

        def make_density() -> Any:
            *given, found = _given(tapes[0])
            return lambda point: (density(point, *given, found), found[1:])

        def make_draw(*_: Any) -> Any:
            *given, found = _given(tapes[1])
            parts = np.split(found, np.cumsum([places.size for places in saved])[:-1])
            shaped = (part.reshape(like.shape) for part, like in zip(parts, saved, strict=True))
            views = dict(zip(self.names, shaped, strict=True))

            def draw(point: Floats) -> dict[str, Floats]:
                evaluate(point, *given, found)
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
            [places.shape for places in saved],
            self.names,
            coords={dim: pd.Index(labels) for dim, labels in self.coords.items()},
            # nutpie adds dims of its own.
            dims={name: list(dims) for name, dims in self.dims.items() if dims},
            make_initial_point_fn=start,
        )


def _given(tape: Tape) -> tuple[Any, ...]:
    """Arguments of the kernels for a tape, with a separate buffer and results."""
    outputs = np.concatenate([np.ravel(places) for places in tape.outputs]).astype(np.uint64)
    return tape.code, tape.places, tape.buffer.copy(), outputs, np.empty(len(outputs))


def _rewritten(graphs: Any) -> Any:
    return rewrite_graph(graphs, include=REWRITES, exclude=LEFT_OUT)
