"""Items that only one observer or kind was shown, and near matches of their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.names import listed
from alikely.data.columns import NOT_SHOWN

__all__ = ["items_alone", "matched"]

# Observers with a larger fraction of unshared trials do not match.
MOST_ALONE = 0.5
MOST_NAMED = 5


def items_alone(data: xr.Dataset) -> pd.DataFrame:
    """Trials of each observer, and those that no other was shown, in conditions of several."""
    shown, alone = _alone(data, "observer")
    names = data["observer"].values.astype(str)
    return pd.DataFrame(
        {"observer": names, "n_trials": shown.sum(axis=1), "n_alone": alone.sum(axis=1)}
    )


def matched(data: xr.Dataset, unmatched: str) -> str:
    """A note on trials of only one observer or kind; `ValueError` if observers do not match."""
    notes = [_note(data, by) for by in ("observer", "kind")]
    if not any(notes):
        return ""
    note = "; ".join(filter(None, notes))
    table = items_alone(data)
    n_alone, n_trials = table["n_alone"], table["n_trials"]
    # Observers without any common trial raise an error when they are compared.
    odd = (n_alone > MOST_ALONE * n_trials) & (n_alone < n_trials)
    if odd.sum() > 1 and unmatched != "accept":
        raise ValueError(
            f"{note}; most items of these observers match no other observer's items: use the same "
            "item names, or read them unmatched with unmatched='accept'"
        )
    return note


def _alone(data: xr.Dataset, by: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Trials shown to each observer or kind, and to it alone, in conditions of several."""
    group, names = pd.factorize(data[by].values.astype(str))
    seen = data["correct"].values != NOT_SHOWN
    shown = np.stack([seen[group == i].any(axis=0) for i in range(len(names))])
    keys = pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})
    place = keys.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    several = [shown[:, place == i].any(axis=1).sum() > 1 for i in range(place.max(initial=-1) + 1)]
    shown &= np.array(several, dtype=bool)[place]
    return shown, shown & (shown.sum(axis=0) == 1)


def _note(data: xr.Dataset, by: str) -> str:
    """Note on trials of only one observer or kind; empty without any."""
    shown, alone = _alone(data, by)
    names = pd.unique(data[by].values.astype(str)).tolist()
    counts = [
        f"{own.sum():,} of {all_.sum():,} of {name!r}"
        for name, own, all_ in zip(names, alone, shown, strict=True)
        if own.any()
    ]
    if not counts:
        return ""
    said = f"items that no other {by} has: {listed(counts, most=MOST_NAMED)}"
    items = data["item"].values.astype(str).tolist()
    first: dict[str, tuple[int, str]] = {}
    for trial in np.flatnonzero(alone.any(axis=0)):
        group, item = int(np.argmax(alone[:, trial])), items[trial]
        before, other = first.setdefault(_stem(item), (group, item))
        if before != group and other != item:
            return (
                f"{said}; names such as {other!r} and {item!r} may mean one item: make them equal"
            )
    return said


def _stem(item: Any) -> str:
    """A name without folders and ending, in lower case."""
    base = str(item).replace("\\", "/").rsplit("/", 1)[-1].strip().lower()
    stem, _, ending = base.rpartition(".")
    return stem if stem and ending.isalnum() and not ending.isdecimal() else base
