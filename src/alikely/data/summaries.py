"""Who answered how much, and how well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.html import ROWS, html_of
from alikely._base.numbers import number
from alikely.data.columns import NO_RESPONSE, NOT_SHOWN

__all__ = ["html_summary", "long_table_of", "summary_of"]


def summary_of(data: xr.Dataset) -> pd.DataFrame:
    """Table of `Trials.summary`.

    Parameters
    ----------
    data : xarray.Dataset
        `alikely.Trials.data`.

    Returns
    -------
    pandas.DataFrame
        One row per data set and observer who took part in it.
    """
    correct, datasets = data["correct"].values, data["dataset"].values
    names, kinds = data["observer"].values, data["kind"].values
    rows = []
    for name in pd.unique(datasets):
        part = correct[:, datasets == name]
        shown = part != NOT_SHOWN
        for i in np.flatnonzero(shown.any(axis=1)):
            rows.append(
                {
                    "dataset": name,
                    "observer": str(names[i]),
                    "kind": str(kinds[i]),
                    "n_trials": int(shown[i].sum()),
                    "accuracy": float((part[i] == 1).sum() / shown[i].sum()),
                    "no_response": int((part[i] == NO_RESPONSE).sum()),
                    "not_shown": int((~shown[i]).sum()),
                }
            )
    return pd.DataFrame(rows)


def long_table_of(data: xr.Dataset) -> pd.DataFrame:
    """Table of `alikely.Trials.to_table`."""
    i, t = np.nonzero(data["correct"].values != NOT_SHOWN)
    of_observer = [name for name in data.coords if data[name].dims == ("observer",)]
    columns = {str(name): data[name].values[i] for name in of_observer}
    for name in ("dataset", "condition", "item", "repeat"):
        columns[name] = data[name].values[t]
    if "response" in data:
        # One place more, so that the code -1 of a missing response finds None.
        names = np.array([*map(str, data["class"].values), None], dtype=object)
        columns["truth"] = names[data["truth"].values[t]]
        columns["response"] = names[data["response"].values[i, t]]
    else:
        correct = data["correct"].values[i, t]
        columns["correct"] = np.where(correct == NO_RESPONSE, np.nan, correct)
    return pd.DataFrame(columns)


def html_summary(data: xr.Dataset, head: str, notes: Sequence[str]) -> str:
    """What notebooks show of trials: what was guessed, and the first rows of the summary."""
    table = summary_of(data)
    several = ["dataset"] if table["dataset"].nunique() > 1 else []
    numbers = ["n_trials", "accuracy", "no_response", "not_shown"]
    cells = table.head(ROWS)[[*several, "observer", "kind", *numbers]]
    cells = cells.assign(accuracy=[number(value, 3) for value in cells["accuracy"]])
    cells.columns = [name.removeprefix("n_").replace("_", " ") for name in cells]
    return html_of(
        head,
        cells.astype(str),
        numbers=["trials", "accuracy", "no response", "not shown"],
        n_rows=len(table),
        notes=list(notes),
        more="summary() has all",
    )
