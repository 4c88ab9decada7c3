"""Analytic uncertainty: variances and covariances from influence functions.

References
----------
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [M74] Miller (1974). The jackknife: a review. doi:10.1093/biomet/61.1.1
.. [S46] Satterthwaite (1946). An approximate distribution of estimates of variance components.
   doi:10.2307/3002019
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.data.blocks import LEFT_OUT, Block, blocks, cluster_numbers
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.tables import SEPARATOR
from alikely.inference.evaluation import Evaluator, evaluator
from alikely.inference.weighting import effective_images, freedom_of_sums
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.answers import combined_influence
from alikely.metrics.cells import divide

# Trials taken at a time in `covariance`: bounds the memory of the dense influence matrix.
CHUNK = 2_000
# Numbers held at a time where clusters are left out one by one.
HELD = 8_000_000
# Squared influence of a cluster whose trials move nothing.
TINY = np.finfo(np.float64).tiny
# Degrees of freedom of clusters that estimated accuracies do not reduce further.
FEWEST_FREE = 2.0


def estimate(
    table: xr.Dataset, metric: Metric = ERROR_CONSISTENCY, cluster: str | None = None
) -> xr.Dataset:
    """Compute point estimates with analytic standard errors."""
    whole = "cells" in table and table["cells"].dtype.kind in "iu"
    if cluster is None and metric.counts == "correctness" and whole and "inclusion" not in table:
        # Counts suffice: no pass over the trials.
        cells = table["cells"].values.astype(np.float64)
        value, psi = metric.value(cells), metric.influence(cells)
        # An empty cell has no effect, even where its influence is undefined.
        square = np.where(cells > 0, cells * psi**2, 0).sum(axis=-1)
        square /= np.maximum(cells.sum(axis=-1), 1) ** 2
        found = _described(value, square, metric.reason(cells).astype(object))
    else:
        numbers = None if cluster is None else cluster_numbers(table, cluster)
        parts = [
            _of_block(block, metric, numbers, of_items(table, cluster)) for block in blocks(table)
        ]
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    variables = {name: ("pair", values) for name, values in found.items()}
    return xr.Dataset(variables, coords={"pair": table["pair"]})


def _described(value: Floats, square: Floats, reasons: NDArray[np.object_]) -> dict[str, Any]:
    se = np.sqrt(np.where(np.isfinite(value), square, np.nan))
    return {"estimate": value, "se": se, "undefined": reasons}


def _of_block(
    block: Block, metric: Metric, numbers: NDArray[np.intp] | None, clustered: bool
) -> dict[str, Any]:
    """Variables of `estimate` for one group of trials."""
    ready = evaluator(block, metric)
    slopes = ready.slopes()
    value = ready.values(np.ones((1, slopes.shape[1])))[0]
    square = (slopes**2).sum(axis=1)
    found: dict[str, Any] = {}
    if clustered and numbers is not None:
        moved, squares = cluster_influence(ready, numbers[block.trials])
        alone, (square, df) = square, of_clusters(moved, squares)
        found = {"interval_center": value, "df": df, "n_clusters": (squares > 0).sum(axis=1)}
        found["design_effect"] = divide(square, alone)
    elif numbers is not None:
        square = ((slopes @ indicator(numbers[block.trials])[0]) ** 2).sum(axis=1)
    center = value
    if block.chosen:
        bias, tossed, df, effective = _of_design(block, ready, slopes)
        found = {"interval_center": value, "df": df, "effective_images": effective}
        center, square = value - bias, square + tossed
    return found | _described(center, square, ready.reasons())


def of_items(table: xr.Dataset, cluster: str | None) -> bool:
    """Whether clusters are sets of items, not responses to one item."""
    return bool(cluster) and cluster in table.attrs.get(ITEM_COLUMNS, "").split(SEPARATOR)


def cluster_influence(ready: Evaluator, numbers: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Compute influences of item clusters on pairs, and `squares_by_cluster`: (pair, cluster).

    By the jackknife over clusters [M74]_, since first derivatives are too small if a few clusters
    dominate. First derivatives are used for pairs that are undefined if a cluster is left out.
    """
    membership, slopes = indicator(numbers)[0], ready.slopes()
    squares = squares_by_cluster(slopes, ready.block.shown(), membership)
    linear = slopes @ membership
    value = ready.values(np.ones((1, len(numbers))))[0]
    step = max(1, HELD // (len(numbers) + ready.width))
    without = np.empty(squares.T.shape)
    for start in range(0, len(without), step):
        some = membership[:, start : start + step].toarray()
        without[start : start + step] = ready.values(1.0 - some.T)
    n = (squares > 0).sum(axis=1, keepdims=True)
    moved = (n - 1) / np.maximum(n, 1) * (value - without).T
    return np.where((squares > 0) & np.isfinite(moved), moved, linear), squares


def squares_by_cluster(moved: Floats, shown: NDArray[Any], membership: sparse.csr_array) -> Floats:
    """Sum squared influences of the trials of each cluster; sums are above 0 if trials exist."""
    squares = moved**2 @ membership
    any_shown = shown.astype(np.float64) @ membership > 0
    return np.where(any_shown, np.maximum(squares, TINY), 0.0)


def of_clusters(moved: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Compute the variance and its degrees of freedom from sums of influence (row, cluster)."""
    n = (squares > 0).sum(axis=1)
    square, fourth = (moved**2).sum(axis=1), (moved**4).sum(axis=1)
    df = freedom_of_sums(square, square, fourth, np.maximum(n, 1))
    df = freedom_of_clusters(df, most_freedom(squares))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, n / (n - 1) * square, np.nan), np.where(n > 1, df, np.nan)


def most_freedom(squares: Floats) -> Floats:
    """Compute the maximum degrees of freedom from clusters' contributions to variance [S46]_.

    For independent trials a cluster would contribute the sum of their squared influences. Few
    clusters dominate if they are large, or if only a few contain the relevant trials (joint
    errors).
    """
    part = squares / np.maximum(squares.sum(axis=-1, keepdims=True), TINY)
    effective = 1 / np.maximum((part**2).sum(axis=-1), TINY)
    return np.minimum(np.maximum(effective - 1, 1), (squares > 0).sum(axis=-1) - 1)


def freedom_of_clusters(df: ArrayLike, most: ArrayLike) -> Floats:
    """Degrees of freedom of a variance between clusters of items.

    Influences are computed at estimated accuracies, which costs one degree of freedom. Without
    subtracting this degree of freedom, coverage for scores was 0.86 to 0.91 with ten correlated
    clusters. With fewer than two degrees of freedom, intervals would be too wide to be useful.
    """
    least = np.minimum(df, most)
    return np.maximum(least - 1, np.minimum(least, FEWEST_FREE))


def _of_design(block: Block, ready: Evaluator, slopes: Floats) -> Floats:
    """Bias, variance of pseudo-responses, degrees of freedom, effective images: (4, pair)."""
    bias = ready.bias()
    tossed, square = np.zeros(len(slopes)), slopes**2
    sampled, fourth = square.sum(axis=1), (square**2).sum(axis=1)
    for rows, moved in ready.tossed():
        tossed[rows] += (moved**2).sum(axis=1)
    df = freedom_of_sums(sampled + tossed, sampled, fourth, block.shown().sum(axis=1))
    # Images that are all certain to be shown have no sampling variance.
    effective = np.where(_open(block), effective_images(slopes), np.inf)
    return np.array([bias, tossed, df, effective])


def _open(block: Block) -> NDArray[np.bool_]:
    """Whether the sampling of images affects each pair of a block."""
    if block.generalize_to != "pool":
        return np.ones(len(block.a), dtype=bool)
    return np.asarray((block.shown() & (block.inclusion < 1)).any(axis=1))


def covariance_of(
    table: xr.Dataset, metric: Metric, cluster: str | None, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Covariance matrix of weighted sums of the estimates of a table."""
    total = np.zeros((len(weights), len(weights)))
    for moved in _moved(_columns(table, metric, cluster), weights):
        total += moved @ moved.T
    return total


def freedom_of(table: xr.Dataset, metric: Metric, weights: Floats) -> tuple[Floats, Floats]:
    """Degrees of freedom of weighted sums of estimates from images that a plan chose."""
    moved = np.concatenate(list(_moved(_influence_columns(table, metric, None), weights)), axis=1)
    square = moved**2
    sampled, fourth = square.sum(axis=1), (square**2).sum(axis=1)
    total = sampled.copy()
    for tossed in _moved(_tossed_columns(table, metric), weights):
        total += (tossed**2).sum(axis=1)
    used, n_shown, left = weights != 0, np.zeros(len(weights), dtype=np.intp), []
    for block in blocks(table):
        # Images that any entry of the sum is based on.
        n_shown += (used[:, block.rows] @ block.shown()).sum(axis=1)
        left.append(_open(block))
    effective = np.where(used @ np.concatenate(left), effective_images(moved), np.inf)
    return freedom_of_sums(total, sampled, fourth, np.maximum(n_shown, 1)), effective


def of_sums(table: xr.Dataset, metric: Metric, cluster: str, weights: Floats) -> Floats:
    """Variance, degrees of freedom and number of clusters of weighted sums: (3, sum)."""
    (moved,) = _moved(_influence_columns(table, metric, cluster), weights)
    membership, _ = indicator(cluster_numbers(table, cluster))
    squares = np.zeros(moved.shape)
    step = max(1, HELD // max(table.sizes["trial"], 1))
    for start in range(0, len(weights), step):
        some = weights[start : start + step]
        single, used = np.zeros((2, len(some), table.sizes["trial"]))
        for block in blocks(table):
            own = some[:, block.rows]
            rows = np.flatnonzero(own.any(axis=0))
            single[:, block.trials] += own[:, rows] @ evaluator(block, metric).slopes()[rows]
            used[:, block.trials] += (own[:, rows] != 0) @ block.shown()[rows].astype(np.float64)
        squares[start : start + step] = squares_by_cluster(single, used, membership)
    return np.stack([*of_clusters(moved, squares), (squares > 0).sum(axis=1)])


def cells_of_clusters(table: xr.Dataset, cluster: str) -> Floats:
    """Count the cells of each pair in each cluster that occurs: (pair, cell, cluster)."""
    membership, every = indicator(cluster_numbers(table, cluster))
    cells = np.zeros((table.sizes["pair"], 4, len(every)))
    for block in blocks(table):
        shares = block.shares().reshape(-1, len(block.trials)).astype(np.float64)
        parted = shares @ membership[block.trials]
        cells[block.rows] += parted.reshape(-1, 4, len(every))
    return cells[..., cells.any(axis=(0, 1))]


def _trials_of_sum(table: xr.Dataset, slopes: Floats) -> tuple[Floats, Floats]:
    """Influence of every trial on a sum over tables of correctness, and whether it was shown."""
    moved, used = np.zeros((2, table.sizes["trial"]))
    for block in blocks(table):
        if block.crossed:
            moved[block.trials] += np.einsum("pc,pct->t", slopes[block.rows], block.shares())
            used[block.trials] += block.shown().any(axis=0)
            continue
        # Also of millions of pairs.
        ends, known = (block.a, block.b), (block.correct != LEFT_OUT).astype(np.float64)
        correct = block.correct.astype(np.int8)
        moved[block.trials] += combined_influence(correct, *ends, slopes[block.rows])
        met = sparse.csr_array((np.ones(len(block.a)), ends), shape=(len(known), len(known)))
        used[block.trials] += (known * (met @ known)).any(axis=0)
    return moved, used


def influence_of(table: xr.Dataset, slopes: Floats, cluster: str | None) -> tuple[Floats, Floats]:
    """Compute influences of trials (or clusters) on a sum over tables, and sums of squares."""
    moved, used = _trials_of_sum(table, slopes)
    numbers = np.arange(len(moved)) if cluster is None else cluster_numbers(table, cluster)
    membership, _ = indicator(numbers)
    squares = squares_by_cluster(moved[None], used[None], membership)[0]
    return (moved @ membership)[squares > 0], squares[squares > 0]


Columns = Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]


def _moved(columns: Columns, weights: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Influences of trials (or clusters) on weighted sums, in chunks: (sum, trial)."""
    for rows, influence in columns:
        own = weights[:, rows]
        # What is not requested may be undefined.
        used = own.any(axis=0)
        lost = (own[:, used] != 0) @ np.isnan(influence[used]).any(axis=1) > 0
        yield np.where(lost[:, None], np.nan, own[:, used] @ np.nan_to_num(influence[used]))


def _columns(table: xr.Dataset, metric: Metric, cluster: str | None) -> Columns:
    """Influences on estimates: of trials (or clusters) and of pseudo-responses."""
    return itertools.chain(
        _influence_columns(table, metric, cluster), _tossed_columns(table, metric)
    )


def _tossed_columns(table: xr.Dataset, metric: Metric) -> Columns:
    """Influences of pseudo-responses on the pairs of each human, for images of a plan."""
    if "inclusion" not in table:
        return
    for block in blocks(table):
        ready = evaluator(block, metric)
        for rows, moved in ready.tossed():
            yield block.rows.start + rows, moved


def _influence_columns(table: xr.Dataset, metric: Metric, cluster: str | None) -> Columns:
    """Influence matrices (some pairs, some trials or clusters); no two share a trial or cluster."""
    if cluster is None:
        for block in blocks(table):
            rows = np.arange(block.rows.start, block.rows.stop)
            influence = evaluator(block, metric).slopes()
            for start in range(0, influence.shape[1], CHUNK):
                yield rows, influence[:, start : start + CHUNK]
        return
    # A cluster may span groups (one image in several conditions): gather all of it first.
    columns = cluster_numbers(table, cluster)
    gathered = np.zeros((table.sizes["pair"], columns.max(initial=-1) + 1))
    for block in blocks(table):
        membership, used = indicator(columns[block.trials])
        ready = evaluator(block, metric)
        if of_items(table, cluster):
            gathered[block.rows, used] += cluster_influence(ready, columns[block.trials])[0]
        else:
            gathered[block.rows, used] += ready.slopes() @ membership
    yield np.arange(len(gathered)), gathered


def indicator(numbers: NDArray[np.intp]) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """Indicator of the cluster of each trial, (trial, cluster), and numbers of clusters."""
    used, local = np.unique(numbers, return_inverse=True)
    at = np.arange(len(numbers)), local
    return sparse.csr_array((np.ones(len(numbers)), at), shape=(len(numbers), len(used))), used
