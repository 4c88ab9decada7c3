"""Analytic uncertainty: variances and covariances from influence functions.

References
----------
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.tables import Block, blocks, cluster_numbers

__all__ = ["covariance", "estimate", "trial_influence"]

# Trials taken at a time in `covariance`: bounds the memory of the dense influence matrix.
CHUNK = 2_000


def estimate(
    table: xr.Dataset, metric: Metric = ERROR_CONSISTENCY, cluster: str | None = None
) -> xr.Dataset:
    """Point estimates with analytic standard errors.

    Parameters
    ----------
    table : xarray.Dataset
        Count table, as from `alikely.tables.joint_correctness`.
    metric : Metric
        Estimand.
    cluster : str, optional
        Trial coordinate such as ``"item"``: trials that share its value within a data set are
        dependent, and their influences are summed first.

    Returns
    -------
    xarray.Dataset
        ``estimate`` and ``se`` (pair); NaN where undefined.

    Raises
    ------
    ValueError
        If the table has no such trial coordinate.

    References
    ----------
    For error consistency without clusters the variance is that of [FCE69]_ in the manner of [H74]_.

    Examples
    --------
    >>> from alikely.tables import from_counts
    >>> result = estimate(from_counts([100, 20, 20, 20]))
    >>> result["estimate"].values.round(4), result["se"].values.round(4)
    (array([0.3333]), array([0.0843]))
    """
    cells = table["cells"].values.astype(np.float64)
    value = metric.value(cells)
    psi = metric.influence(cells)
    n_trials = cells.sum(axis=-1)
    if cluster is None:
        # An empty cell has no say, even where its influence is undefined.
        square = np.where(cells > 0, cells * psi**2, 0).sum(axis=-1)
    else:
        square = np.empty(len(cells))
        numbers = cluster_numbers(table, cluster)
        for block in blocks(table):
            membership, _ = _indicator(numbers[block.trials])
            summed = trial_influence(block, psi) @ membership
            square[block.rows] = (summed**2).sum(axis=1)
    defined = np.isfinite(value)
    se = np.full(value.shape, np.nan)
    se[defined] = np.sqrt(square[defined]) / n_trials[defined]
    return xr.Dataset(
        {"estimate": ("pair", value), "se": ("pair", se)}, coords={"pair": table["pair"]}
    )


def covariance(
    table: xr.Dataset, metric: Metric = ERROR_CONSISTENCY, cluster: str | None = None
) -> xr.DataArray:
    """Covariance matrix of the estimates of all entries of a table.

    Parameters
    ----------
    table : xarray.Dataset
        Count table, as from `alikely.tables.joint_correctness`; take a part of it with
        ``table.isel(pair=...)``.
    metric : Metric
        Estimand.
    cluster : str, optional
        As in `estimate`.

    Returns
    -------
    xarray.DataArray, dims (pair, pair_other)
        Sums of products of influences over shared trials, divided by both numbers of trials;
        0 for entries without shared trials (or clusters); NaN where an estimate is undefined.

    Raises
    ------
    ValueError
        If the table has no such trial coordinate.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.tables.joint_correctness(al.load_example(), pairs="human-human", by="dataset")
    >>> matrix = covariance(table)
    >>> bool(np.allclose(np.sqrt(np.diag(matrix)), estimate(table)["se"]))
    True
    """
    cells = table["cells"].values.astype(np.float64)
    psi = metric.influence(cells)
    n_trials = cells.sum(axis=-1)
    n_pairs = len(cells)
    total = np.zeros((n_pairs, n_pairs))
    for rows, influence in _influence_columns(table, psi, cluster):
        total[np.ix_(rows, rows)] += influence @ influence.T
    undefined = ~np.isfinite(metric.value(cells))
    total[undefined] = np.nan
    total[:, undefined] = np.nan
    scale = np.where(n_trials > 0, n_trials, 1)
    names = table["pair"].values
    return xr.DataArray(
        total / np.outer(scale, scale),
        dims=("pair", "pair_other"),
        coords={"pair": names, "pair_other": names},
        name="covariance",
    )


def trial_influence(block: Block, psi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Influence of each trial of a block on each of its pairs; 0 for a trial left out.

    Parameters
    ----------
    block : Block
        One group of trials of a table.
    psi : ndarray, shape (pair, cell)
        Influence of one trial in each cell, for all pairs of the table.

    Returns
    -------
    ndarray, shape (pair of the block, trial of the block)

    Examples
    --------
    >>> from alikely.tables import blocks, from_counts
    >>> (block,) = blocks(from_counts([1, 0, 2, 0]))
    >>> trial_influence(block, np.array([[0.5, 9.0, -0.25, 9.0]])).tolist()
    [[0.5, -0.25, -0.25]]
    """
    codes = block.codes()
    per_pair = psi[block.rows]
    return np.where(codes < 0, 0.0, np.take_along_axis(per_pair, np.maximum(codes, 0), axis=1))


def _influence_columns(
    table: xr.Dataset, psi: NDArray[np.float64], cluster: str | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Influence matrices (some pairs, some trials or clusters); no two share a trial or cluster."""
    if cluster is None:
        for block in blocks(table):
            rows = np.arange(block.rows.start, block.rows.stop)
            influence = trial_influence(block, psi)
            for start in range(0, influence.shape[1], CHUNK):
                yield rows, influence[:, start : start + CHUNK]
        return
    # A cluster may reach over groups (one image in several conditions): gather all of it first.
    columns = cluster_numbers(table, cluster)
    gathered = np.zeros((table.sizes["pair"], columns.max(initial=-1) + 1))
    for block in blocks(table):
        membership, used = _indicator(columns[block.trials])
        gathered[block.rows, used] += trial_influence(block, psi) @ membership
    yield np.arange(len(gathered)), gathered


def _indicator(numbers: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    used, local = np.unique(numbers, return_inverse=True)
    membership = np.zeros((len(numbers), len(used)))
    membership[np.arange(len(numbers)), local] = 1
    return membership, used
