"""Effects of covariates: fixed ones of numbers, partially pooled ones of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
from numpy.typing import NDArray

from alikely.data.covariates import Covariates, covariate_tables, is_number
from alikely.models._placed import Placed
from alikely.models._populations import spread

__all__ = ["DIMS", "effects", "tables_for"]

# What models call the dim of a kind of covariates.
DIMS = {"machine": "machine", "condition": "condition", "human": "person"}


def tables_for(
    covariates: Covariates | None,
    known: Mapping[str, Sequence[Any] | NDArray[Any]],
    names: Mapping[str, Sequence[str]],
    plain: Any,
) -> dict[str, pd.DataFrame]:
    """Tables of covariates for a model, with names that it has not taken."""
    tables = covariate_tables(covariates, known)
    if not tables:
        return tables
    model = plain()
    taken = {*model.named_vars, *model.coords, *DIMS, "chain", "draw"}
    for kind, table in tables.items():
        for column in table:
            made = [str(column)]
            for name in names[kind]:
                made += [f"{name}_{column}{end}" for end in ("", "_sd", "_deviate")]
            clash = [name for name in made if name in taken]
            if clash:
                raise ValueError(
                    f"covariate {column!r} of {kind} would take the name {clash[0]!r}, which the "
                    "model has already; rename the column"
                )
            taken.update(made)
    return tables


def effects(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    at: Mapping[str, NDArray[np.intp]],
    scale: float,
) -> list[Any]:
    """Effects of all covariates on a quantity, in the model of the context."""
    return [
        _effect(f"{name}_{column}", kind, table[column], at[kind], scale)
        for kind, table in tables.items()
        if kind in at
        for column in table
    ]


def _effect(name: str, kind: str, column: pd.Series, rows: NDArray[np.intp], scale: float) -> Any:
    """One column's effect on each element."""
    model, title = pm.modelcontext(None), str(column.name)
    if is_number(column):
        # One that acts on several quantities is there already.
        data = (
            model[title]
            if title in model.named_vars
            else pm.Data(title, column.to_numpy(), dims=DIMS[kind])
        )
        unit = scale / float(column.std())
        # Coordinates of unit scale, for units of the table may be tiny or huge.
        slope = pm.Normal(name, 0, unit, transform=Placed(0, unit))
        return slope * (data - float(column.mean()))[rows]
    levels = column.cat.categories.tolist()
    if title not in model.coords:
        model.add_coord(title, levels)
    if len(levels) > 2:
        deviate = pm.ZeroSumNormal(f"{name}_deviate", 1, dims=title)
        sd = spread(f"{name}_sd", scale, len(levels))
        effect = pm.Deterministic(name, sd * deviate, dims=title)
    else:
        effect = pm.ZeroSumNormal(name, scale, dims=title)
    return effect[column.cat.codes.to_numpy()[rows]]
