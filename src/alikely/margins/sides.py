"""What a system tells of items, with its second moment freed of the noise of single answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from alikely._base.arrays import Floats
from alikely.metrics.margins import normal_scores

__all__ = ["Side", "group_side", "lists_of_items", "machine_side", "normal_scores"]


class Side(NamedTuple):
    """One system on some items, as deviations from the means of the items' strata."""

    ease: Floats
    square: Floats
    cells: Floats
    square_cells: Floats
    weights: Floats
    slopes: Floats | None
    values: Floats


def lists_of_items(shown: ArrayLike, classes: ArrayLike | None = None) -> NDArray[np.intp]:
    """Strata within which items can be compared: lists that no observer ties, and classes."""
    n = np.asarray(shown)
    if not (n > 0).any(axis=0).all():
        item = int(np.argmin((n > 0).any(axis=0)))
        raise ValueError(f"item {item} has no answer; leave it out of both systems")
    kinds = np.zeros(n.shape[1], dtype=np.intp) if classes is None else np.asarray(classes)
    n_kinds = int(kinds.max()) + 1
    observer, item = np.nonzero(n)
    # An observer of two classes ties nothing between them.
    ends = (observer * n_kinds + kinds[item], len(n) * n_kinds + item)
    size = len(n) * n_kinds + n.shape[1]
    graph = sparse.coo_array((np.ones(len(item)), ends), shape=(size, size))
    label = csgraph.connected_components(graph, directed=False)[1][len(n) * n_kinds :]
    return np.asarray(np.unique(label, return_inverse=True)[1])


def machine_side(margins: ArrayLike, strata: NDArray[np.intp]) -> Side:
    """Normal scores of a machine's margins, as a side of a comparison."""
    scores = normal_scores(margins)
    ease = _centred(scores, strata)
    none = np.zeros((0, len(ease)))
    slopes = 1 / (np.exp(-(scores**2) / 2) / np.sqrt(2 * np.pi))
    return Side(ease, ease**2, none, none, none, slopes, np.asarray(margins, dtype=np.float64))


def group_side(right: ArrayLike, shown: ArrayLike, strata: NDArray[np.intp]) -> Side:
    """Shares of right answers of a group, as a side of a comparison."""
    r, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    x = np.divide(r, n, out=np.zeros_like(r), where=n > 0)
    weight = n / n.sum(axis=0)
    y = np.where(n > 0, x - _levels(x, n, strata), 0.0)
    mean = (weight * y).sum(axis=0)
    shift = mean - _centred(mean, strata)
    y = np.where(n > 0, y - shift, 0.0)
    cells = weight * y
    ease = cells.sum(axis=0)
    both = 1 - (weight**2).sum(axis=0)
    alone = (n > 0).sum(axis=0) < 2
    with np.errstate(divide="ignore", invalid="ignore"):
        square_cells = np.where(alone, np.nan, cells * (ease - cells) / both)
    return Side(ease, square_cells.sum(axis=0), cells, square_cells, weight, None, ease)


def _centred(x: Floats, strata: NDArray[np.intp]) -> Floats:
    means = np.bincount(strata, x) / np.bincount(strata)
    return np.asarray(x - means[strata])


def _levels(x: Floats, n: Floats, strata: NDArray[np.intp]) -> Floats:
    """Level of each observer in each stratum, by least squares with one effect for each item."""
    out = np.zeros_like(x)
    for stratum in range(int(strata.max()) + 1):
        own = strata == stratum
        part, answers = x[:, own], n[:, own]
        there = answers.any(axis=1)
        part, answers = part[there], answers[there]
        if (answers == answers[:1, :1]).all():
            level = part.mean(axis=1)
        else:
            share = answers / answers.sum(axis=0)
            normal = np.diag(answers.sum(axis=1)) - share @ answers.T
            gap = (answers * (part - (share * part).sum(axis=0))).sum(axis=1)
            # All levels move together: what rounding leaves of that direction is no information.
            level = np.linalg.pinv(normal, rcond=1e-10, hermitian=True) @ gap
        out[np.ix_(there, own)] = level[:, None]
    return out
