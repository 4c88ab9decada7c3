"""Estimands: each one a NumPy function of counts, with its influence function.

A `Metric` is all that the other rooms know of an estimand. Whoever writes a new one writes two
functions, its value and its influence, and gets every school of inference for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely.metrics import bounds, consistency, copying
from alikely.metrics.consistency import error_consistency
from alikely.metrics.copying import copy_probability

__all__ = [
    "COPY_PROBABILITY",
    "ERROR_CONSISTENCY",
    "Metric",
    "bounds",
    "consistency",
    "copy_probability",
    "copying",
    "error_consistency",
]


class Metric(NamedTuple):
    """An estimand that is a function of the cells of a count table.

    Attributes
    ----------
    name : str
        Name of the variable in a `Result`.
    n_cells : int
        Number of cells ``K``.
    value : callable
        Cells ``(..., K)`` to values ``(...)``; scale-free, so counts, weights and probabilities
        give the same value; NaN where undefined.
    influence : callable
        Cells ``(..., K)`` to the influence of one trial in each cell ``(..., K)``.
    reason : callable
        Cells ``(..., K)`` to strings ``(...)``: why the value is undefined, empty where it is not.
    """

    name: str
    n_cells: int
    value: Callable[[ArrayLike], NDArray[np.float64]]
    influence: Callable[[ArrayLike], NDArray[np.float64]]
    reason: Callable[[ArrayLike], NDArray[Any]]


ERROR_CONSISTENCY = Metric(
    "error_consistency",
    4,
    consistency.error_consistency,
    consistency.error_consistency_influence,
    consistency.undefined_reason,
)
COPY_PROBABILITY = Metric(
    "copy_probability",
    4,
    copying.copy_probability,
    copying.copy_probability_influence,
    copying.copy_undefined_reason,
)
