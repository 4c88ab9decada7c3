"""The model that a door is asked to fit: one of ours by name, or one that a user made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from alikely._base.names import nearest
from alikely.models._observed import require_counts

# A name, or a model of one's own.
type AskedModel = str | pm.Model

__all__ = ["AskedModel", "asked_model", "is_named", "refuse_options"]


def is_named(model: Any, names: Sequence[str]) -> bool:
    """Whether a model is asked for by its name."""
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
    """Raise an error for options of a constructor if a model is given."""
    given = [name for name, value in options.items() if value]
    if isinstance(model, pm.Model) and given:
        raise ValueError(
            f"{given[0]}= is for models that are made here; give it to the constructor of your own"
        )


def asked_model(
    model: AskedModel,
    builders: Mapping[str, Callable[[], pm.Model]],
    quantities: Mapping[str, tuple[str, ...]],
    labels: Mapping[str, ArrayLike],
    counts: Sequence[ArrayLike] = (),
) -> pm.Model:
    """Build the model of a name, or check a user's own: it must have what the function reports."""
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
        require_counts(model, counts)
    return model


def _check_dims(
    model: pm.Model, name: str, dims: tuple[str, ...], labels: Mapping[str, ArrayLike]
) -> None:
    found = model.named_vars_to_dims.get(name, ())
    if tuple(found) != dims:
        has = f"dims ({', '.join(map(str, found))})" if found else "no named dims"
        raise ValueError(
            f"the quantity {name!r} of the model must have dims ({', '.join(dims)}), it has {has}"
        )
    for dim in dims:
        if dim not in labels:
            continue
        expected, own = np.asarray(labels[dim]), model.coords.get(dim)
        size = int(model.dim_lengths[dim].eval())
        if size != len(expected):
            raise ValueError(
                f"the model has {size} of the dim {dim!r}, these data have {len(expected)}: it was "
                "made for others; build it from the data that you fit"
            )
        numbers = [str(k) for k in range(size)]
        if own is None or np.array_equal(own, expected) or list(map(str, own)) == numbers:
            continue
        first = int(np.argmax([a != b for a, b in zip(own, expected, strict=True)]))
        differs = expected.tolist()[first]
        raise ValueError(
            f"the model has other labels of the dim {dim!r} than these data: {own[first]!r} where "
            f"they have {differs!r}; build it from the data that you fit"
        )
