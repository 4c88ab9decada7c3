"""Error rows as lists of the errors that occur: divergence and its influence, however many classes.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely.metrics.cells import divide

__all__ = [
    "Mixture",
    "Rows",
    "check_base",
    "check_options",
    "contribution",
    "row_divergence",
    "row_gradient",
    "smoothed_rows",
]

Mixture = Literal["mean", "pooled"]
BASES = (2, np.e, 10)


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
