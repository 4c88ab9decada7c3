"""What to say of items that are not independent: advice to use a cluster, and few clusters.

References
----------
.. [K65] Kish (1965). Survey sampling. Wiley.
.. [PB10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.notes import note
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.tables import SEPARATOR
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import indicator, of_items
from alikely.metrics import Metric

__all__ = ["cluster_remarks", "design_effect", "few_clusters", "require_clusters"]

# With fewer clusters an interval is rough even if they are alike.
FEWEST = 5
# Coverage falls short if clusters of so large a design effect leave fewer degrees of freedom
# (`docs/designs.md`).
LARGE, FEW = 2.0, 25
# Of decision margins they do not (`docs/margins.md`).
OF_MARGINS = (np.inf, 0.0)
# A column is examined if it has so many values with so many items on average.
VALUES, SIZE = 10, 1.2
N_PERMUTATIONS, LEVEL = 199, 0.01
# Numbers permuted at a time: of more pairs a part is examined.
MOST = 20_000_000


def cluster_remarks(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, cluster: str | None
) -> NDArray[np.object_]:
    """Note of each entry on the clusters that were given, or that should be."""
    if not of_items(table, cluster):
        advice = "; ".join(_advice(table, metric))
        return np.full(table.sizes["pair"], advice, dtype=object)
    known = (estimates[name].values for name in ("n_clusters", "df", "design_effect"))
    limits = OF_MARGINS if "margins" in table else (LARGE, FEW)
    return few_clusters(str(cluster), *known, limits=limits)


def require_clusters(table: xr.Dataset, cluster: str) -> None:
    """Refuse clusters that are none of items, or all one (`ValueError`)."""
    numbers = cluster_numbers(table, cluster)
    if not of_items(table, cluster):
        raise ValueError(
            f"cluster must be a column that describes items, got {cluster!r}; "
            "item_columns= keeps one when data are read"
        )
    if len(np.unique(numbers)) < 2:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters, and all trials are of "
            f"{str(table[cluster].values[0])!r}; leave cluster out"
        )


def few_clusters(
    cluster: str,
    number: NDArray[Any],
    df: NDArray[Any],
    effect: NDArray[Any],
    *,
    limits: tuple[float, float] = (LARGE, FEW),
) -> NDArray[np.object_]:
    """Note of each entry whose clusters are too few for their design effect."""
    remarks = np.full(len(number), "", dtype=object)
    short = (effect > limits[0]) & (df < limits[1])
    for row in np.flatnonzero(short | (number < FEWEST)):
        remarks[row] = note(
            "few-clusters", n=int(number[row]), column=repr(cluster), effect=float(effect[row])
        )
    return remarks


def _advice(table: xr.Dataset, metric: Metric) -> Iterator[str]:
    """Say which columns should be the cluster."""
    if "inclusion" in table:
        return
    for column in filter(None, table.attrs.get(ITEM_COLUMNS, "").split(SEPARATOR)):
        found = design_effect(table, metric, column)
        if found is not None and found[1] < LEVEL:
            yield note("clusters", column=repr(column), effect=found[0])


def design_effect(table: xr.Dataset, metric: Metric, column: str) -> tuple[float, float] | None:
    """Design effect of a column, pooled over pairs, and its p by permutation [K65]_ [PB10]_.

    Labels are permuted within groups of trials. None where the column has too few values.
    """
    numbers = cluster_numbers(table, column)
    if len(np.unique(numbers)) < VALUES or len(numbers) < SIZE * len(np.unique(numbers)):
        return None
    generator = np.random.default_rng(0)
    total, single = np.zeros(1 + N_PERMUTATIONS), 0.0
    for block in blocks(table):
        slopes = _unit(evaluator(block, metric).slopes())
        slopes = slopes[: max(1, MOST // max(slopes.shape[1], 1))]
        own = numbers[block.trials]
        single += float((slopes**2).sum())
        total[0] += _square_of_sums(slopes, own)
        for k in range(1, len(total)):
            total[k] += _square_of_sums(slopes, generator.permutation(own))
    if not single > 0:
        return None
    p = (1 + (total[1:] >= total[0]).sum()) / len(total)
    return float(total[0] / total[1:].mean()), float(p)


def _unit(slopes: Floats) -> Floats:
    """Influence of trials, the same sum of squares for every pair."""
    size = np.sqrt((slopes**2).sum(axis=1, keepdims=True))
    return np.divide(slopes, size, out=np.zeros_like(slopes), where=size > 0)


def _square_of_sums(slopes: Floats, numbers: NDArray[np.intp]) -> float:
    return float(((slopes @ indicator(numbers)[0]) ** 2).sum())
