"""Items that only one observer was shown, and near matches of their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.names import listed
from alikely.data.columns import NOT_SHOWN

__all__ = ["items_alone", "unmatched_note"]

# Observers with a larger fraction of unshared trials do not match.
MOST_ALONE = 0.5
MOST_NAMED = 5


def items_alone(data: xr.Dataset) -> pd.DataFrame:
    """Trials of each observer, and those that no other was shown, in conditions of several."""
    shown = data["correct"].values != NOT_SHOWN
    keys = pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})
    group = keys.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    several = np.array(
        [shown[:, group == i].any(axis=1).sum() > 1 for i in range(group.max(initial=-1) + 1)]
    )
    common = several[group]
    alone = shown & (shown.sum(axis=0) == 1) & common
    return pd.DataFrame(
        {
            "observer": data["observer"].values.astype(str),
            "n_trials": (shown & common).sum(axis=1),
            "n_alone": alone.sum(axis=1),
        }
    )


def unmatched_note(data: xr.Dataset) -> tuple[str, bool]:
    """A note on trials of only one observer, and whether observers do not match."""
    table = items_alone(data)
    table = table[table["n_alone"] > 0]
    if table.empty:
        return "", False
    counts = [
        f"{row.n_alone:,} of {row.n_trials:,} of {row.observer!r}" for row in table.itertuples()
    ]
    said = f"items that no other observer has: {listed(counts, most=MOST_NAMED)}"
    # Observers without any common trial raise an error when they are compared.
    alone, n_trials = table["n_alone"], table["n_trials"]
    odd = (alone > MOST_ALONE * n_trials) & (alone < n_trials)
    return said + _near_misses(data), bool(odd.sum() > 1)


def _near_misses(data: xr.Dataset) -> str:
    """Two names that differ only in folder, ending or case."""
    shown = data["correct"].values != NOT_SHOWN
    items = data["item"].values.astype(str).tolist()
    first: dict[str, tuple[int, str]] = {}
    for trial in np.flatnonzero(shown.sum(axis=0) == 1):
        observer, item = int(np.argmax(shown[:, trial])), items[trial]
        before, other = first.setdefault(_stem(item), (observer, item))
        if before != observer and other != item:
            return f"; names such as {other!r} and {item!r} may mean one item: write them alike"
    return ""


def _stem(item: Any) -> str:
    """A name without folders and ending, in lower case."""
    base = str(item).replace("\\", "/").rsplit("/", 1)[-1].strip().lower()
    stem, _, ending = base.rpartition(".")
    return stem if stem and ending.isalnum() and not ending.isdecimal() else base
