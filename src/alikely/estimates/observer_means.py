"""Means of observers over their pairs, and how far these are apart."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from alikely._base.intervals import Intervals
from alikely.estimates.comparison import difference
from alikely.estimates.result import Result
from alikely.estimates.weighted_sums import contrast
from alikely.inference.intervals import adjusted_p_values

__all__ = ["compared_observers", "machine_means", "observer_differences"]


def machine_means(
    result: Result, kinds: Mapping[str, str], intervals: Intervals = None
) -> pd.DataFrame | None:
    """Compute the mean of each machine over its pairs with observers of another kind."""
    pairs = result.pairs
    first, second = pairs["observer_a"].tolist(), pairs["observer_b"].tolist()
    entries: dict[str, list[int]] = {}
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if kinds and kinds.get(a, a) != kinds.get(b, b):
            machine = a if kinds.get(b, b) == "human" else b
            entries.setdefault(machine, []).append(i)
    if all(len(own) < 2 for own in entries.values()):
        return None
    notes = result.summary(intervals=[])["note"].str.split("; ")
    rows = []
    for machine, own in entries.items():
        weights = np.zeros(len(pairs))
        weights[own] = 1 / len(own)
        schools = contrast(result, weights, intervals=intervals)
        row: dict[str, object] = {"machine": machine, "n_pairs": len(own)}
        row["estimate"] = float(result.estimates["estimate"].values[own].mean())
        row["se"] = schools["se"].iloc[0] if len(schools) else np.nan
        lower, upper = (name for name in schools if str(name).endswith(("_lb", "_ub")))
        if intervals is None:
            row |= {"lb": np.nan, "ub": np.nan, "method": ""}
        for school, told_of in schools.iterrows():
            stem = f"{school}_" if intervals is not None else ""
            row |= {f"{stem}lb": told_of[lower], f"{stem}ub": told_of[upper]}
            row |= {"method": school} if intervals is None else {}
        # What is said of each of its pairs holds of their mean.
        common = [note for note in notes[own[0]] if note and all(note in notes[i] for i in own)]
        told = dict.fromkeys([*(note for note in schools["note"] if note), *common])
        rows.append(row | {"note": "; ".join(told)})
    frame = pd.DataFrame(rows)
    return frame.sort_values("estimate", ascending=False, ignore_index=True)


def compared_observers(result: Result) -> list[str]:
    """Observers whose means over their entries can be held against each other."""
    pairs = result.pairs
    first, second = pairs["observer_a"], pairs["observer_b"]
    if (first == second).any():
        return []  # all readers of an entry at once
    alone = second[~second.isin(first)]
    if alone.nunique() > 1:
        return [str(name) for name in alone.unique()]
    counts = pd.concat([first, second]).value_counts(sort=False)
    return [str(name) for name in counts.index[counts > 1]]


def observer_differences(
    result: Result, most: int = 66, intervals: Intervals = None
) -> pd.DataFrame:
    """Compute differences between the means of observers over their entries."""
    names, pairs = compared_observers(result), result.pairs[["observer_a", "observer_b"]]
    value = pd.Series(result.estimates["estimate"].values)
    means = {name: value[(pairs == name).any(axis=1)].mean() for name in names}
    # Those of whom nothing is defined come last.
    names.sort(key=lambda name: (np.isnan(means[name]), -means[name]))
    chosen = list(itertools.combinations(names, 2))
    if len(chosen) > most:
        chosen = [(names[0], name) for name in names[1:]]
    rows = []
    for one, other in chosen:
        first, second = {"observer": one}, {"observer": other}
        schools = difference(result, first, second, intervals=intervals)
        told = difference(result, first, second, intervals=["analytic"]).iloc[0]
        row = {"observer": one, "other": other, "difference": told["estimate"], "se": told["se"]}
        for school in schools.index:
            ends = [name for name in schools if str(name).endswith(("_lb", "_ub"))]
            row |= {f"{school}_{name}": schools.loc[school, name] for name in ends}
        notes = dict.fromkeys(note for note in schools["note"] if note)
        rows.append(row | {"p_value": told["p_value"], "note": "; ".join(notes)})
    frame = pd.DataFrame(rows)
    if len(frame):
        place = frame.columns.get_loc("p_value") + 1
        frame.insert(place, "p_value_bh", adjusted_p_values(frame["p_value"].to_numpy(float)))
    return frame
