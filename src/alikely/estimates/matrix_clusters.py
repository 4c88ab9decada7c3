"""Standard errors of all pairs where items are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.names import listed, nearest
from alikely._base.parallel import in_parallel
from alikely.data.blocks import Block
from alikely.data.columns import ITEM_COLUMNS
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import cluster_influence, of_clusters
from alikely.metrics import Metric

__all__ = ["clusters_of", "pairs_of", "spread_over_clusters"]

# Numbers of one job: influences of so many pairs and trials.
CHUNK = 8_000_000


def clusters_of(data: xr.Dataset, cluster: str) -> NDArray[np.intp]:
    """Number the clusters of items of all trials, within data sets (`ValueError` for another)."""
    names = list(data.attrs.get(ITEM_COLUMNS, []))
    if cluster not in names:
        there = f" ({listed(names)})" if names else ""
        raise ValueError(
            f"cluster must be 'trial' or a column that describes items{there}, got {cluster!r}"
            f"{nearest(cluster, names)}; item_columns=[{cluster!r}] keeps one when data are read"
        )
    frame = pd.DataFrame({"label": data[cluster].values, "dataset": data["dataset"].values})
    numbers = np.asarray(frame.groupby(["dataset", "label"], sort=False).ngroup(), dtype=np.intp)
    if numbers.max(initial=0) < 1:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters, and all trials are of "
            f"{str(data[cluster].values[0])!r}; leave cluster out"
        )
    return numbers


def spread_over_clusters(
    metric: Metric, said: Mapping[str, Any], numbers: NDArray[np.intp], n_classes: int
) -> dict[str, Any]:
    """Standard errors of all pairs of one place, degrees of freedom and design effects."""
    n, n_trials = np.shape(said["correct"])
    pairs = np.stack(np.triu_indices(n, k=1))
    turns = [pairs] if metric.symmetric else [pairs, pairs[::-1]]
    ends = np.concatenate(turns, axis=1)
    step = max(1, CHUNK // max(n_trials, 1))
    jobs = [
        (metric, said, ends[:, start : start + step], numbers, n_classes)
        for start in range(0, ends.shape[1], step)
    ]
    found = np.concatenate(list(in_parallel(_spread, jobs)), axis=1)
    shape = (len(turns), pairs.shape[1])
    dims: tuple[str, ...] = ("pair",) if metric.symmetric else ("order", "pair")
    return {
        name: (dims, values.reshape(shape[-len(dims) :]))
        for name, values in zip(("se", "df", "n_clusters", "design_effect"), found, strict=True)
    }


def _spread(
    metric: Metric,
    said: Mapping[str, Any],
    ends: NDArray[np.intp],
    numbers: NDArray[np.intp],
    n_classes: int,
) -> Floats:
    """Standard error, freedom, number of clusters and design effect of some pairs: (4, pair)."""
    ready = evaluator(pairs_of(said, ends, n_classes), metric)
    single = (ready.slopes() ** 2).sum(axis=1)
    moved, squares = cluster_influence(ready, numbers)
    square, df = of_clusters(moved, squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(single > 0, square / single, np.nan)
    return np.stack([np.sqrt(square), df, (squares > 0).sum(axis=1), effect])


def pairs_of(said: Mapping[str, Any], ends: NDArray[np.intp], n_classes: int) -> Block:
    """A block of pairs of observers, from what all observers answered."""
    names = ("response", "truth", "n_options", "probability")
    known: dict[str, Any] = {name: np.asarray(said[name]) for name in names if name in said}
    correct, (first, second) = np.asarray(said["correct"]), ends
    every = np.arange(correct.shape[1])
    return Block(slice(0, len(first)), first, second, correct, every, n_classes=n_classes, **known)
