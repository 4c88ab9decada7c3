"""Confusion matrices, where they are all that is left of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from alikely._base.names import listed
from alikely.data.tables import MOST_COUNT
from alikely.data.trials import Trials

__all__ = ["confusion_trials"]


def confusion_trials(
    confusions: Mapping[str, ArrayLike | pd.DataFrame], classes: Sequence[Any] | None = None
) -> Trials:
    """Trials that have these confusion matrices, each system's on items of its own."""
    if not isinstance(confusions, Mapping):
        raise TypeError(
            "confusions must map names of systems to their confusion matrices, such as "
            f"{{'a': [[8, 2], [1, 9]], 'b': ...}}; got {type(confusions).__name__}"
        )
    if len(confusions) < 2:
        raise ValueError(f"confusions must be of at least two systems, got {len(confusions)}")
    if repeated := _repeated([str(name) for name in confusions]):
        raise ValueError(f"two systems are called {repeated!r} (names are text here); rename one")
    read = {str(name): _read(str(name), matrix, classes) for name, matrix in confusions.items()}
    (first, (_, known)), *others = read.items()
    for name, (_, labels) in others:
        if labels != known:
            raise ValueError(
                f"confusion matrices must be of the same classes in the same order; {first!r} has "
                f"{len(known)} ({listed(known)}) and {name!r} {len(labels)} ({listed(labels)}); "
                "reindex them, with 0 for what did not occur"
            )
    true, answer, system = [], [], []
    for number, (counts, _) in enumerate(read.values()):
        told = np.where(np.eye(len(known), dtype=bool), np.minimum(counts, 1), counts)
        cells = np.repeat(np.arange(counts.size), told.ravel())
        true.append(cells // len(known))
        answer.append(cells % len(known))
        system.append(np.full(len(cells), number))
    of_item, names = np.concatenate(system), np.array(known, dtype=object)
    response = np.tile(names[np.concatenate(answer)], (len(read), 1))
    unseen = of_item != np.arange(len(read))[:, None]
    return Trials.from_arrays(
        np.ma.array(response, mask=unseen),
        names[np.concatenate(true)],
        observers=list(read),
        classes=known,
    )


def _read(
    name: str, matrix: ArrayLike | pd.DataFrame, classes: Sequence[Any] | None
) -> tuple[NDArray[np.int64], list[str]]:
    """Counts of a system, and its classes."""
    counts = np.asarray(matrix)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or len(counts) < 2:
        raise ValueError(
            f"a confusion matrix must be square, true classes by answers; that of {name!r} has "
            f"shape {counts.shape}"
        )
    try:
        counts = counts.astype(np.float64)
    except (TypeError, ValueError):
        counts = np.full(counts.shape, np.nan)
    if not np.isfinite(counts).all() or (counts > MOST_COUNT).any():
        raise ValueError(
            f"the confusion matrix of {name!r} has entries that are no counts; write whole "
            "numbers, 0 for what did not occur"
        )
    wrong = (counts < 0) | (counts % 1 != 0)
    if wrong.any():
        raise ValueError(
            f"a confusion matrix has counts, and that of {name!r} has {counts[wrong][0]:g}; rates "
            "do not tell how sure they are: take the counts that they come from"
        )
    labels = range(len(counts)) if classes is None else classes
    if isinstance(matrix, pd.DataFrame):
        if list(matrix.index) != list(matrix.columns):
            raise ValueError(
                f"rows and columns of the table of {name!r} must name the same classes in the "
                f"same order, got {listed([*map(str, matrix.index)])} and "
                f"{listed([*map(str, matrix.columns)])}"
            )
        labels = list(matrix.index)
    if len(labels) != len(counts):
        raise ValueError(
            f"classes must name the {len(counts)} classes of {name!r}, got {len(labels)} names"
        )
    names = [str(label) for label in labels]
    if repeated := _repeated(names):
        raise ValueError(f"two classes of {name!r} are called {repeated!r}; rename one")
    return counts.astype(np.int64), names


def _repeated(names: list[str]) -> str | None:
    return next((name for n, name in enumerate(names) if name in names[:n]), None)
