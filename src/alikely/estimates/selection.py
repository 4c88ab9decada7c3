"""Entries of a result by their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.names import listed, nearest

if TYPE_CHECKING:
    from alikely.estimates.result import Result

__all__ = ["LABELS", "Which", "entries_of"]

Which = str | Sequence[str] | Mapping[str, str | Sequence[str]]
LABELS = ["dataset", "condition", "observer_a", "observer_b"]
# Either observer of a pair.
EITHER = "observer"


def entries_of(result: Result, which: Which) -> NDArray[np.intp]:
    """Positions of the entries of a result that are asked for (`ValueError` if there are none)."""
    if isinstance(which, Mapping):
        return _matching(result, which)
    index = pd.Index(result.table["pair"].values)
    labels = [which] if isinstance(which, str) else list(which)
    positions = index.get_indexer(labels)
    if result.metric.symmetric:
        # The order within a pair is how it was stored, not what was asked.
        turned = pd.Index([_turned(label, result, p) for p, label in enumerate(index)])
        positions = np.where(positions < 0, turned.get_indexer(labels), positions)
    if len(labels) == 0 or (positions < 0).any():
        missing = labels[int(np.argmin(positions))] if labels else "(empty list)"
        raise ValueError(
            f"no entry is labelled {missing!r}; labels look like {index[0]!r}"
            f"{nearest(missing, index)}"
        )
    return np.asarray(positions)


def _turned(label: str, result: Result, position: int) -> str:
    """Label of an entry with its observers in the other order."""
    a, b = (str(result.table[f"observer_{side}"].values[position]) for side in "ab")
    return f"{b} x {a}" + label.removeprefix(f"{a} x {b}")


def _matching(result: Result, which: Mapping[str, str | Sequence[str]]) -> NDArray[np.intp]:
    """Entries that have all the labels asked for."""
    table = result.table
    pairs = {name: table[name].values for name in LABELS}
    sides = ["observer_a", "observer_b"]
    wanted = {
        column: [labels] if isinstance(labels, str) else list(labels)
        for column, labels in which.items()
    }
    keep = np.ones(table.sizes["pair"], dtype=bool)
    for column, labels in wanted.items():
        if column not in (*LABELS, EITHER):
            raise ValueError(
                f"entries can be selected by {', '.join((*LABELS, EITHER))}; got {column!r}"
            )
        either_side = column == EITHER or (result.metric.symmetric and set(sides) <= set(wanted))
        columns = sides if either_side and column not in LABELS[:2] else [column]
        known = pd.unique(np.stack([pairs[name] for name in columns], axis=1).ravel())
        unknown = sorted(set(labels) - set(known))
        if unknown:
            raise ValueError(
                f"no entry with {column} {unknown[0]!r}; there are: {listed(known)}"
                f"{nearest(unknown[0], known)}"
            )
        if columns == [column] or column == EITHER:
            keep &= np.any([np.isin(pairs[name], labels) for name in columns], axis=0)
    if result.metric.symmetric and set(sides) <= set(wanted):
        a, b = (wanted[side] for side in sides)
        first, second = (pairs[side] for side in sides)
        keep &= (np.isin(first, a) & np.isin(second, b)) | (np.isin(first, b) & np.isin(second, a))
    if not keep.any():
        raise ValueError(f"no entry matches {dict(which)!r}; each part occurs, but not together")
    return np.flatnonzero(keep)
