"""Error rows: checks and layout of tables, divergence from lists of the errors that occur.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely.metrics.cells import divide

__all__ = [
    "ROW_DIMS",
    "TABLE_DIMS",
    "Mixture",
    "Rows",
    "check_base",
    "check_errors",
    "check_options",
    "contribution",
    "drop_true",
    "insert_true",
    "row_divergence",
    "row_gradient",
    "smoothed_rows",
    "wrong_classes",
]

Mixture = Literal["mean", "pooled"]
BASES = (2, np.e, 10)
ROW_DIMS = ("system", "true_class", "response_class")
TABLE_DIMS = ("pair", "true_class", "label_a", "label_b")


def check_base(base: float) -> None:
    """Refuse other bases of logarithms than 2, e and 10 (`ValueError`)."""
    if base not in BASES:
        raise ValueError(f"base must be 2, e or 10, got {base}")


def check_options(alpha: float, mixture: str, base: float) -> None:
    """Refuse options of a divergence that have no meaning (`ValueError`)."""
    check_base(base)
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be above 0 and finite, got {alpha}; 0.5 is Jeffreys' choice")
    if mixture not in ("mean", "pooled"):
        raise ValueError(f"mixture must be 'mean' or 'pooled', got {mixture!r}")


def _sums(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """Sums over the cells of each true class."""
    return np.add.reduceat(values, starts, axis=-1)


def contribution(p: Floats, q: Floats, middle: Floats) -> Floats:
    """Work out what a response adds to the divergence of a row, in nats; nothing here is 0."""
    return (p * np.log(p / middle) + q * np.log(q / middle)) / 2


class Rows(NamedTuple):
    """Smoothed distributions of errors over the cells that occur, and the totals of their rows."""

    starts: NDArray[np.intp]  # (row,): where the cells of each true class begin
    row: NDArray[np.intp]  # (cell,)
    total_a: Floats  # (..., row): pseudo-counts included
    total_b: Floats
    p: Floats  # (..., cell)
    q: Floats
    middle: Floats
    divergence: Floats  # (..., row), nats


def smoothed_rows(
    errors_a: Floats,
    errors_b: Floats,
    true_class: NDArray[np.intp],
    n_classes: int,
    alpha: float,
    mixture: Mixture,
) -> Rows:
    """Smooth both systems' errors, listed by ascending true class, and compare each row."""
    starts = np.flatnonzero(np.diff(true_class, prepend=-1))
    cells = np.diff([*starts, len(true_class)])
    row = np.repeat(np.arange(len(starts)), cells)
    prior = alpha * (n_classes - 1)
    total_a, total_b = _sums(errors_a, starts) + prior, _sums(errors_b, starts) + prior
    p, q = (errors_a + alpha) / total_a[..., row], (errors_b + alpha) / total_b[..., row]
    rare_p, rare_q = alpha / total_a, alpha / total_b
    if mixture == "mean":
        middle, rare = (p + q) / 2, (rare_p + rare_q) / 2
    else:
        total = total_a + total_b - prior
        middle, rare = (errors_a + errors_b + alpha) / total[..., row], alpha / total
    # Responses that neither gave are all alike: counted, not listed.
    never = n_classes - 1 - cells
    divergence = _sums(contribution(p, q, middle), starts)
    divergence += never * contribution(rare_p, rare_q, rare)
    divergence = within(divergence, high=np.log(2) if mixture == "mean" else np.inf)
    return Rows(starts, row, total_a, total_b, p, q, middle, divergence)


def row_divergence(
    errors_a: ArrayLike,
    errors_b: ArrayLike,
    true_class: ArrayLike,
    n_classes: int,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
) -> Floats:
    """Class-level error divergence from a list of the errors that occur."""
    check_options(alpha, mixture, base)
    one, other = np.asarray(errors_a, np.float64), np.asarray(errors_b, np.float64)
    if not one.shape[-1]:
        return np.full(one.shape[:-1], np.nan)
    true = np.asarray(true_class)
    rows = smoothed_rows(one, other, true, n_classes, alpha, mixture)
    weight = _sums(one + other, rows.starts)
    return divide((weight * rows.divergence).sum(axis=-1), weight.sum(axis=-1)) / np.log(base)


def row_gradient(
    errors_a: ArrayLike,
    errors_b: ArrayLike,
    true_class: ArrayLike,
    n_classes: int,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
) -> tuple[Floats, Floats]:
    """Change of the class-level error divergence with one more error of either system."""
    one, other = np.asarray(errors_a, np.float64), np.asarray(errors_b, np.float64)
    rows = smoothed_rows(one, other, np.asarray(true_class), n_classes, alpha, mixture)
    at = rows.row
    weight = _sums(one + other, rows.starts)
    total = weight.sum(axis=-1, keepdims=True)
    divergence = (weight * rows.divergence).sum(axis=-1, keepdims=True) / total
    never = n_classes - 1 - np.bincount(at)
    slopes = []
    for p, totals in ((rows.p, rows.total_a), (rows.q, rows.total_b)):
        # By the system's own distribution; a response never given has a part in its mean.
        rare = alpha / totals
        if mixture == "mean":
            rare_middle = alpha * (1 / rows.total_a + 1 / rows.total_b) / 2
        else:
            rare_middle = alpha / (rows.total_a + rows.total_b - alpha * (n_classes - 1))
        log_ratio = np.log(p / rows.middle)
        mean = _sums(p * log_ratio, rows.starts) + never * rare * np.log(rare / rare_middle)
        slope = (log_ratio - mean[..., at]) / totals[..., at] / 2
        if mixture == "pooled":
            pooled = rows.total_a + rows.total_b - alpha * (n_classes - 1)
            slope -= ((rows.p + rows.q) / rows.middle - 2) / pooled[..., at] / 2
        moved = weight[..., at] * slope + rows.divergence[..., at] - divergence
        slopes.append(moved / total / np.log(base))
    return slopes[0], slopes[1]


def check_errors(
    counts: ArrayLike | xr.DataArray, dims: tuple[str, ...], some: bool = True
) -> tuple[NDArray[np.int64], dict[str, list[Any]]]:
    """Validate error counts: all dims but the first are classes, and the same ones."""
    given: dict[Any, list[Any]] = {}
    if isinstance(counts, xr.DataArray):
        if set(counts.dims) != set(dims):
            raise ValueError(f"counts must have the dims {dims}, got {counts.dims}; rename them")
        given = {dim: counts[dim].values.tolist() for dim in dims if dim in counts.coords}
        classes = [given[dim] for dim in dims[1:] if dim in given]
        if any(labels != classes[0] for labels in classes):
            raise ValueError(
                f"{', '.join(dims[1:])} must be the same classes in the same order; reindex them"
            )
        counts = counts.transpose(*dims).values
    values = np.asarray(counts)
    if values.ndim != len(dims) or len(set(values.shape[1:])) != 1 or values.shape[-1] < 3:
        raise ValueError(
            f"counts must have the axes {dims}, square in at least 3 classes, got shape "
            f"{values.shape}"
        )
    numbers = np.asarray(values, dtype=np.float64)
    bad = numbers[~((numbers >= 0) & (numbers == np.floor(numbers)) & np.isfinite(numbers))]
    if bad.size:
        raise ValueError(f"counts must be whole numbers of at least 0, got {bad[0]:g}")
    checked = numbers.astype(np.int64)
    own = np.eye(checked.shape[-1], dtype=bool)
    if len(dims) == 4:
        own = own[:, :, None] | own[:, None, :]
    checked = np.where(own, 0, checked)
    if some and not checked.any():
        raise ValueError("counts must hold at least one error off the true class, got none")
    labels = {
        dim: given.get(dim, list(range(size)))
        for dim, size in zip(dims[:2], checked.shape[:2], strict=True)
    }
    return checked, labels


def wrong_classes(n_classes: int) -> NDArray[np.intp]:
    """Classes other than the true one, in order; shape (true_class, wrong_class)."""
    k = np.arange(n_classes - 1)
    return k + (k >= np.arange(n_classes)[:, None])


def drop_true(values: NDArray[Any]) -> NDArray[Any]:
    """Leave out the entry of the true class; (..., true, response) to (..., true, wrong)."""
    n = values.shape[-1]
    return np.asarray(values[..., np.arange(n)[:, None], wrong_classes(n)])


def insert_true(values: Any, n_classes: int) -> Any:
    """Put a 0 at the true class; inverse of `drop_true`, for arrays and for tensors."""
    j, t = np.arange(n_classes), np.arange(n_classes)[:, None]
    at = np.clip(j - (j > t), 0, n_classes - 2)
    return values[..., t, at] * (j != t)
