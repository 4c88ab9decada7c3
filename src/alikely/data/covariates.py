"""Tables of covariates of models, conditions and humans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.names import listed, nearest
from alikely.data.ingest import frame_of, label

# Of models, conditions or humans, each a table with a row for every one.
Covariates = Mapping[str, Any]

HOW = 'such as {"model": table}, a row for each model'
NAMED = "a covariate must have a name of letters, digits and underscores, such as training_images"


def covariate_tables(
    covariates: Covariates | None, known: Mapping[str, Sequence[Any] | NDArray[Any]]
) -> dict[str, pd.DataFrame]:
    """Check tables of covariates and order their rows as in the data."""
    if covariates is not None and not isinstance(covariates, Mapping):
        raise ValueError(
            f"covariates must map kinds to tables, {HOW}, got {type(covariates).__name__}"
        )
    tables: dict[str, pd.DataFrame] = {}
    for kind, given in (covariates or {}).items():
        if kind not in known:
            raise ValueError(
                f"covariates must describe {listed(known)}, got {kind!r}{nearest(kind, known)}"
            )
        table = _in_order(kind, _frame(kind, given), known[kind])
        for other, columns in tables.items():
            twice = [name for name in table if name in columns]
            if twice:
                raise ValueError(
                    f"covariate {twice[0]!r} occurs in two tables, {other} and {kind}; give "
                    "the columns different names"
                )
        tables[kind] = pd.DataFrame({name: _checked(kind, table[name]) for name in table})
        _refuse_sums(kind, tables[kind])
    return tables


def covariates_dataset(
    tables: Mapping[str, pd.DataFrame], dims: Mapping[str, tuple[str, Sequence[Any] | NDArray[Any]]]
) -> xr.Dataset:
    """Convert checked tables of covariates to a group of the fit."""
    columns = {
        str(name): (
            dims[kind][0],
            table[name].to_numpy() if is_number(table[name]) else table[name].to_numpy(object),
        )
        for kind, table in tables.items()
        for name in table
    }
    coords = {dims[kind][0]: list(dims[kind][1]) for kind in tables}
    return xr.Dataset(columns, coords=coords)


def is_number(column: pd.Series) -> bool:
    """Whether a column of a checked table is numeric rather than a grouping."""
    return bool(column.dtype == np.float64)


def _frame(kind: str, given: Any) -> pd.DataFrame:
    """Convert any table to pandas, with names as index."""
    try:
        frame = frame_of(given).to_pandas()
    except TypeError:
        raise ValueError(
            f"covariates of {kind} must be a pandas, polars or pyarrow table, got "
            f"{type(given).__name__}"
        ) from None
    if kind in frame.columns:
        return frame.set_index(kind)
    if not isinstance(given, pd.DataFrame) or isinstance(frame.index, pd.MultiIndex):
        raise ValueError(
            f"covariates of {kind} need a column {kind!r} that names each row; the table has "
            f"{listed(frame.columns)}"
        )
    return frame


def _in_order(kind: str, table: pd.DataFrame, labels: Sequence[Any] | NDArray[Any]) -> pd.DataFrame:
    rows = [label(name) for name in table.index]
    wanted = [label(name) for name in labels]
    twice = [name for i, name in enumerate(rows) if name in rows[:i]]
    if twice:
        raise ValueError(f"covariates of {kind} have two rows for {twice[0]!r}; keep one")
    unknown = [name for name in rows if name not in wanted]
    if unknown:
        raise ValueError(
            f"covariates of {kind} have rows that are not in the data: {listed(unknown, 3)}; leave "
            f"them out{nearest(unknown[0], set(wanted) - set(rows))}"
        )
    absent = [name for name in wanted if name not in rows]
    if absent:
        raise ValueError(f"covariates of {kind} have no row for {listed(absent, 3)}; add it")
    if not len(table.columns):
        raise ValueError(f"covariates of {kind} have no column; give at least one, such as family")
    # Levels of groups in the order of the table.
    for name in table:
        column = table[name]
        if not isinstance(column.dtype, pd.CategoricalDtype) and _is_group(column):
            texts = column.map(label, na_action="ignore")
            table = table.assign(**{name: pd.Categorical(texts, texts.dropna().unique())})
    return table.set_axis(rows).loc[wanted].set_axis(pd.Index(labels, dtype=object))


def _is_group(column: pd.Series) -> bool:
    """Whether a column holds text or booleans."""
    return pd.api.types.infer_dtype(column, skipna=True) in ("string", "boolean")


def _checked(kind: str, column: pd.Series) -> pd.Series:
    name = column.name
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{NAMED}, got {name!r}")
    where = f"covariate {name!r} of {kind}"
    if column.isna().any():
        raise ValueError(
            f"{where} is missing for {listed(column.index[column.isna()], 3)}; fill it in, or "
            "leave the column or the observer out"
        )
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.rename_categories(label).cat.remove_unused_categories()
        sizes = column.value_counts()
        if len(sizes) == len(column) > 1:
            raise ValueError(
                f"{where} has a different value in each row, so its effect cannot be separated "
                "from differences between the rows; use fewer, larger groups"
            )
    elif pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        column = column.astype(np.float64)
        if not np.isfinite(column).all():
            raise ValueError(
                f"{where} must be finite, got {column[~np.isfinite(column)].iloc[0]} for "
                f"{column.index[~np.isfinite(column)][0]}"
            )
    else:
        raise ValueError(
            f"{where} must be numbers, text, categories or booleans, got {column.dtype} such as "
            f"{column.iloc[0]!r}"
        )
    if column.nunique() == 1:
        raise ValueError(f"{where} is {column.iloc[0]} for all; leave it out")
    return column


def _refuse_sums(kind: str, table: pd.DataFrame) -> None:
    """Raise an error for linearly dependent numeric columns."""
    names = [name for name in table if is_number(table[name])]
    if not names:
        return
    values = table[names].to_numpy()
    with np.errstate(over="ignore", under="ignore"):
        spread = values.std(axis=0)
    for name, own in zip(names, spread, strict=True):
        if not 0 < own < np.inf:
            raise ValueError(
                f"covariate {name!r} of {kind} has values that are too large or too small, up to "
                f"{table[name].abs().max():.3g}; use another unit"
            )
    scaled = (values - values.mean(axis=0)) / spread
    for i, name in enumerate(names):
        # Columns of four digits and little spread are known to so much after centring.
        if np.linalg.matrix_rank(scaled[:, : i + 1], rtol=1e-8) <= i:
            raise ValueError(
                f"covariate {name!r} of {kind} is a linear combination of {listed(names[:i])}, so "
                "that their effects cannot be separated; leave it out"
            )
