"""Who answered how much, and how well."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from alikely.data.columns import NO_RESPONSE, NOT_SHOWN

__all__ = ["summary_of"]


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
