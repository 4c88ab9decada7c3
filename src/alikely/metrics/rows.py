"""Error rows: checks and layout of tables, and divergence from lists of errors.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely.metrics.cells import divide
from alikely.metrics.gradients import IMAGINARY

Mixture = Literal["mean", "pooled"]
BASES = (2, np.e, 10)


def check_base(base: float) -> None:
    """Check that the base of logarithms is 2, e or 10 (`ValueError`)."""
    if base not in BASES:
        raise ValueError(f"base must be 2, e or 10, got {base}")


def check_options(alpha: float, mixture: str, base: float) -> None:
    """Check the options of a divergence (`ValueError`)."""
    check_base(base)
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be above 0 and finite, got {alpha}; 0.5 is Jeffreys' choice")
    if mixture not in ("mean", "pooled"):
        raise ValueError(f"mixture must be 'mean' or 'pooled', got {mixture!r}")


def _sums(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """Sums over the cells of each true class."""
    return np.add.reduceat(values, starts, axis=-1)


def label_divergence(
    a: Any, b: Any, n_a: Any, n_b: Any, k: Any, *, alpha: float, mixture: Mixture, base: float
) -> Floats:
    """Compute the contribution of one of k labels to the divergence of smoothed rows."""
    p, q = (a + alpha) / (n_a + alpha * k), (b + alpha) / (n_b + alpha * k)
    middle = (p + q) / 2 if mixture == "mean" else (a + b + alpha) / (n_a + n_b + alpha * k)
    return np.asarray((p * np.log(p / middle) + q * np.log(q / middle)) / 2 / np.log(base))


class _Rows:
    """Both systems' errors, listed by ascending true class, and the divergence of each row."""

    def __init__(
        self, errors_a: ArrayLike, errors_b: ArrayLike, true_class: ArrayLike, n_classes: int
    ) -> None:
        self.a, self.b = (np.asarray(part, np.float64) for part in (errors_a, errors_b))
        true = np.asarray(true_class)
        self.starts = np.flatnonzero(np.diff(true, prepend=-1))
        cells = np.diff([*self.starts, len(true)])
        self.row = np.repeat(np.arange(len(self.starts)), cells)
        self.k = n_classes - 1
        # Responses that neither gave are equivalent: counted, not listed.
        self.never = self.k - cells
        self.totals = _sums(self.a, self.starts), _sums(self.b, self.starts)

    def divergence(self, **options: Any) -> Floats:
        """Compute the divergence of each row, (..., row)."""
        n_a, n_b = self.totals
        of_cells = n_a[..., self.row], n_b[..., self.row]
        found = _sums(label_divergence(self.a, self.b, *of_cells, self.k, **options), self.starts)
        found += self.never * label_divergence(0, 0, n_a, n_b, self.k, **options)
        most = np.log(2) if options["mixture"] == "mean" else np.inf
        return within(found, high=most / np.log(options["base"]))

    def slopes(self, side: int, **options: Any) -> Floats:
        """Compute the change of the row's divergence by one more error, by complex step."""
        given = [self.a, self.b, *(part[..., self.row] for part in self.totals)]

        def slope(place: int, values: list[Any]) -> Floats:
            a, b, n_a, n_b = (v + 1j * IMAGINARY * (at == place) for at, v in enumerate(values))
            moved = label_divergence(a, b, n_a, n_b, self.k, **options)
            return np.asarray(moved.imag / IMAGINARY)

        by_total = _sums(slope(side + 2, given), self.starts)
        nothing = np.zeros_like(self.totals[0])
        by_total += self.never * slope(side + 2, [nothing, nothing, *self.totals])
        return slope(side, given) + by_total[..., self.row]


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
    """Compute the class-level error divergence from a list of errors."""
    check_options(alpha, mixture, base)
    if not np.shape(errors_a)[-1]:
        return np.full(np.shape(errors_a)[:-1], np.nan)
    rows = _Rows(errors_a, errors_b, true_class, n_classes)
    weight = rows.totals[0] + rows.totals[1]
    apart = rows.divergence(alpha=alpha, mixture=mixture, base=base)
    return divide((weight * apart).sum(axis=-1), weight.sum(axis=-1))


def row_gradient(
    errors_a: ArrayLike,
    errors_b: ArrayLike,
    true_class: ArrayLike,
    n_classes: int,
    **options: Any,
) -> tuple[Floats, Floats]:
    """Compute the change of the class-level error divergence by one more error."""
    rows = _Rows(errors_a, errors_b, true_class, n_classes)
    weight = rows.totals[0] + rows.totals[1]
    total, apart = weight.sum(axis=-1, keepdims=True), rows.divergence(**options)
    mean = (weight * apart).sum(axis=-1, keepdims=True) / total
    first, second = (
        (weight[..., rows.row] * rows.slopes(side, **options) + apart[..., rows.row] - mean) / total
        for side in (0, 1)
    )
    return first, second


def wrong_classes(n_classes: int) -> NDArray[np.intp]:
    """List the classes other than the true one, in order; shape (true_class, wrong_class)."""
    k = np.arange(n_classes - 1)
    return k + (k >= np.arange(n_classes)[:, None])


def drop_true(values: NDArray[Any]) -> NDArray[Any]:
    """Remove the entry of the true class: (..., true, response) to (..., true, wrong)."""
    n = values.shape[-1]
    return np.asarray(values[..., np.arange(n)[:, None], wrong_classes(n)])
