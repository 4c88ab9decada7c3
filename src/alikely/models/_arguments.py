"""The generative model that a function fits: one of `alikely.models`, or a custom one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs

from alikely._base.arrays import Floats
from alikely._base.names import nearest
from alikely.data.blocks import LEFT_OUT

# A name, or a custom model.
type AskedModel = str | pm.Model

REBUILD = "build it from the trials that you analyze"
# Layouts of the cells n11, n10, n01, n00 of a pair: as they are, as numbers of correct responses
# of one observer given the other, and as both correct with correct responses and trials.
FORMS = np.array(
    [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]],
        [[1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1]],
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]],
    ]
)


def is_named(model: Any, names: Sequence[str]) -> bool:
    """Whether a model is requested by name."""
    if isinstance(model, pm.Model):
        return False
    if not isinstance(model, str):
        raise TypeError(
            f"model must be {_either(names)}, or a pymc.Model; got {type(model).__name__}"
        )
    if model not in names:
        raise ValueError(
            f"model must be {_either(names)}, or a pymc.Model; got {model!r}{nearest(model, names)}"
        )
    return True


def _either(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def refuse_options(model: Any, options: Mapping[str, Any]) -> None:
    """Raise an error if both a PyMC model and options for making a model are given."""
    given = [name for name, value in options.items() if value]
    if isinstance(model, pm.Model) and given:
        raise ValueError(
            f"{given[0]}= is for models given by name; pass it to the constructor of your model"
        )


def asked_model(
    model: AskedModel,
    builders: Mapping[str, Callable[[], pm.Model]],
    quantities: Mapping[str, tuple[str, ...]],
    labels: Mapping[str, ArrayLike],
    counts: Sequence[ArrayLike] = (),
) -> pm.Model:
    """Build a model by name, or check that a custom model has the reported quantities."""
    is_named(model, list(builders))
    if isinstance(model, str):
        return builders[model]()
    for name, dims in quantities.items():
        if name not in model.named_vars:
            raise ValueError(
                f"the model has no quantity {name!r}, which is reported here; add it, as "
                f"pm.Deterministic({name!r}, ..., dims={dims})"
            )
        _check_dims(model, name, dims, labels)
    if len(counts):
        _require_counts(model, counts)
    return model


def _check_dims(
    model: pm.Model, name: str, dims: tuple[str, ...], labels: Mapping[str, ArrayLike]
) -> None:
    found = tuple(model.named_vars_to_dims.get(name) or ())
    if found != dims:
        raise ValueError(
            f"the quantity {name!r} of the model must have dims ({', '.join(dims)}), it has "
            f"{f'dims ({", ".join(map(str, found))})' if found else 'no named dims'}"
        )
    for dim in set(dims) & set(labels):
        expected, own = np.asarray(labels[dim]), model.coords.get(dim)
        size = int(model.dim_lengths[dim].eval())
        if size != len(expected):
            raise ValueError(
                f"the dim {dim!r} has length {size} in the model and {len(expected)} in the data; "
                "build the model from the data that you fit"
            )
        if own is None or [str(k) for k in own] == [str(k) for k in range(size)]:
            continue
        for a, b in zip(own, expected.tolist(), strict=True):
            if a != b:
                raise ValueError(
                    f"labels of the dim {dim!r} differ between the model and the data: {a!r} and "
                    f"{b!r}; build the model from the data that you fit"
                )


def _require_counts(model: pm.Model, forms: Sequence[ArrayLike]) -> None:
    """Raise an error unless a model holds counts, in any layout, in one of several forms."""
    arrays = [_nonzero(array) for array in _held(model)]
    if not any(np.array_equal(_nonzero(form), array) for form in forms for array in arrays):
        raise ValueError(
            "no observed variable or pm.Data of the model contains the counts of these trials; "
            f"{REBUILD}"
        )


def require_pairs(model: pm.Model, table: xr.Dataset) -> None:
    """Raise an error unless a model contains the cells or the correctness of every pair."""
    arrays, cells = list(_held(model)), table["cells"].values.astype(np.float64)
    columns = Counter(
        column.tobytes() for array in arrays for column in _columns(array, len(cells))
    )
    for form in FORMS:
        wanted = Counter(column.tobytes() for column in np.ascontiguousarray((cells @ form.T).T))
        if wanted <= columns:
            return
    correct, n_trials = table["correct"].values, table.sizes["trial"]
    rows = np.array([row for array in arrays for row in _columns(array, n_trials)])
    rows = rows.reshape(-1, n_trials)
    shown = correct != LEFT_OUT
    held = [
        (rows[:, own] == row[own]).all(axis=1).any()
        for row, own in zip(correct, shown, strict=True)
    ]
    ends = table["first"].values, table["second"].values
    for pair in np.flatnonzero(~np.logical_and(*(np.array(held)[end] for end in ends))):
        counts = ", ".join(f"{n:.0f}" for n in cells[pair])
        raise ValueError(
            "no observed variable or pm.Data of the model contains the cells n11, n10, n01, n00 of "
            f"{str(table['pair'].values[pair])!r} ({counts}), or the correctness of its "
            f"observers; {REBUILD}"
        )


def _held(model: pm.Model) -> Iterator[Floats]:
    """Arrays of numbers that are data of a model, or on which its likelihoods depend."""
    if not (model.observed_RVs or model.potentials):
        raise ValueError(f"the model has no observed variable or potential; {REBUILD}")
    values = [model.rvs_to_values[variable] for variable in model.observed_RVs]
    likelihoods = [*model.observed_RVs, *values, *model.potentials]
    for variable in {*graph_inputs(likelihoods), *model.data_vars}:
        if isinstance(variable, Constant):
            array = np.asarray(variable.data)
        elif isinstance(variable, SharedVariable):
            array = np.asarray(variable.get_value())
        else:
            continue
        if np.issubdtype(array.dtype, np.number) or array.dtype == bool:
            yield array.astype(np.float64)


def _nonzero(array: ArrayLike) -> Floats:
    flat = np.ravel(array).astype(np.float64)
    return np.sort(flat[(flat != 0) & np.isfinite(flat)])


def _columns(array: Floats, n: int) -> Iterator[Floats]:
    """Vectors of a given length along the axes of an array, or of a flattened one."""
    if n == 1:
        yield from array.reshape(-1, 1)
        return
    for axis in range(array.ndim):
        if array.shape[axis] == n:
            yield from np.ascontiguousarray(np.moveaxis(array, axis, -1)).reshape(-1, n)
    if array.ndim == 1 and array.size > n and array.size % n == 0:
        yield from array.reshape(-1, n)
        yield from np.ascontiguousarray(array.reshape(n, -1).T)
