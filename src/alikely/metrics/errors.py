"""Agreement of incorrect labels, and similarity of distributions of errors.

References
----------
.. [C60] Cohen (1960). A coefficient of agreement for nominal scales.
   doi:10.1177/001316446002000104
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
.. [L91] Lin (1991). Divergence measures based on the Shannon entropy. doi:10.1109/18.61115
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely._base.notes import note
from alikely.metrics.cells import divide
from alikely.metrics.gradients import IMAGINARY
from alikely.metrics.metric import TRUST, Metric, register

Mixture = Literal["mean", "pooled"]
BASES = (2, np.e, 10)


def check_options(alpha: float, mixture: str, base: float) -> None:
    """Raise `ValueError` if an option of a divergence is invalid."""
    if base not in BASES:
        raise ValueError(f"base must be 2, e or 10, got {base}")
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
        """Compute the divergence between each row of two tables."""
        n_a, n_b = self.totals
        of_cells = n_a[..., self.row], n_b[..., self.row]
        found = _sums(label_divergence(self.a, self.b, *of_cells, self.k, **options), self.starts)
        found += self.never * label_divergence(0, 0, n_a, n_b, self.k, **options)
        most = np.log(2) if options["mixture"] == "mean" else np.inf
        return within(found, high=most / np.log(options["base"]))

    def slopes(self, side: int, **options: Any) -> Floats:
        """Differentiate the row's divergence by numbers of errors, with complex steps."""
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
    """Compute the change of the class-level error divergence due to one more error."""
    rows = _Rows(errors_a, errors_b, true_class, n_classes)
    weight = rows.totals[0] + rows.totals[1]
    total, apart = weight.sum(axis=-1, keepdims=True), rows.divergence(**options)
    mean = (weight * apart).sum(axis=-1, keepdims=True) / total
    first, second = (
        (weight[..., rows.row] * rows.slopes(side, **options) + apart[..., rows.row] - mean) / total
        for side in (0, 1)
    )
    return first, second


def drop_true(values: NDArray[Any]) -> NDArray[Any]:
    """Remove the entry of the true class: (..., true, response) to (..., true, wrong)."""
    n = values.shape[-1]
    true, wrong = np.arange(n)[:, None], np.arange(n - 1)
    return np.asarray(values[..., true, wrong + (wrong >= true)])


def label_statistics(counts: ArrayLike) -> Floats:
    """Compute label statistics of joint errors: agreement and both observers' label counts."""
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise ValueError(
            f"joint errors must be a square table of classes on the last two axes, got shape "
            f"{table.shape}"
        )
    same = np.trace(table, axis1=-2, axis2=-1)[..., None]
    return np.concatenate([same, table.sum(axis=-1), table.sum(axis=-2)], axis=-1)


def _shares(statistics: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Observed and expected agreement, and both margins, as proportions of joint errors."""
    array = np.asarray(statistics, dtype=np.float64)
    first, second = np.split(array[..., 1:], 2, axis=-1)
    total = first.sum(axis=-1)[..., None]
    # Sums of both margins may differ by rounding.
    other = second.sum(axis=-1)[..., None]
    row, column = divide(first, total), divide(second, other)
    observed, expected = divide(array[..., 0], total[..., 0]), (row * column).sum(axis=-1)
    return within(observed), within(expected), row, column


def label_agreement(statistics: ArrayLike) -> Floats:
    """Compute misclassification agreement from label statistics."""
    observed, expected, _, _ = _shares(statistics)
    out = np.full(observed.shape, np.nan)
    # Rounding error of a margin with a single class.
    np.divide(observed - expected, 1 - expected, out=out, where=expected < 1 - 1e-12)
    return within(out, -1)


def label_gradient(statistics: ArrayLike) -> Floats:
    """Compute the gradient of misclassification agreement by label statistics [FCE69]_."""
    observed, expected, row, column = _shares(statistics)
    rest = np.where(expected < 1 - 1e-12, 1 - expected, np.nan)[..., None]
    po, pe = observed[..., None], expected[..., None]
    margins = np.concatenate([column, row], axis=-1)
    # The slope of expected agreement is the other observer's frequency of the label.
    moved = -(1 - po) * (margins - pe) / rest**2 - po / rest / 2
    array = np.asarray(statistics, dtype=np.float64)
    total = array[..., 1 : 1 + row.shape[-1]].sum(axis=-1, keepdims=True)
    return divide(np.concatenate([1 / rest, moved], axis=-1), total)


def label_undefined_reason(statistics: ArrayLike) -> NDArray[Any]:
    """Return the reason why misclassification agreement is undefined, or an empty string."""
    defined, some = np.isfinite(label_agreement(statistics)), np.asarray(statistics)[..., 1:]
    reasons = ["", "one and the same wrong label throughout"]
    return np.select([defined, some.sum(axis=-1) > 0], reasons, "no joint error")


def misclassification_agreement(counts: ArrayLike) -> Floats:
    """Compute Cohen's kappa of joint-error labels from tables (..., class, class) [C60]_ [X25]_."""
    return label_agreement(label_statistics(counts))


def error_divergence(
    rows_a: ArrayLike,
    rows_b: ArrayLike,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
) -> Floats:
    """Compute the class-level error divergence (CLED) of two systems' errors [X25]_.

    Weights are computed by true class, as in the text of [X25]_. One equation in the appendix of
    [X25]_ computes weights by predicted class, not by true class.
    """
    one, other = (np.asarray(rows, np.float64) for rows in (rows_a, rows_b))
    check_options(alpha, mixture, base)
    k = one.shape[-1]
    true = np.repeat(np.arange(k), k - 1)
    a, b = (drop_true(table).reshape(*table.shape[:-2], -1) for table in (one, other))
    return row_divergence(a, b, true, k, alpha=alpha, mixture=mixture, base=base)


def expected_agreement(labels_a: ArrayLike, labels_b: ArrayLike) -> Floats:
    """Compute the misclassification agreement expected from the true classes alone."""
    a, b = np.asarray(labels_a, np.float64), np.asarray(labels_b, np.float64)
    n = a.sum(axis=-1)
    same = (a * b).sum(axis=-1) / np.where(n > 0, n, 1)
    parts = [same.sum(axis=-1, keepdims=True), a.sum(axis=-2), b.sum(axis=-2)]
    return label_agreement(np.concatenate(parts, axis=-1))


def error_similarity(divergence: ArrayLike) -> Floats:
    """Compute the class-level error similarity (CLES), ``1 / (1 + CLED)`` [X25]_."""
    return np.asarray(1 / (1 + np.asarray(divergence, dtype=np.float64)))


def distinct_agreement(statistics: ArrayLike, own: ArrayLike) -> Floats:
    """Compute misclassification agreement, with chance over pairs of joint errors [H48]_."""
    array, squares = np.asarray(statistics, np.float64), np.asarray(own, np.float64)
    first, second = np.split(array[..., 1:], 2, axis=-1)
    total = first.sum(axis=-1)
    observed = within(divide(array[..., 0], total))
    chance = divide((first * second).sum(axis=-1) - squares[..., 0], total**2 - squares[..., 1])
    # Upper bound for any two distributions of labels: kappa is at least -1.
    chance = np.clip(chance, 0, (1 + observed) / 2)
    out = np.full(observed.shape, np.nan)
    np.divide(observed - chance, 1 - chance, out=out, where=chance < 1 - 1e-12)
    return within(out, -1)


MISCLASSIFICATION_AGREEMENT = register(
    Metric(
        "misclassification_agreement",
        label_agreement,
        "labels",
        gradient=label_gradient,
        reason=label_undefined_reason,
        short="MA",
        alongside=("n_joint_errors", "expected"),
        requested=("n_errors_a", "n_errors_b"),
        distinct=distinct_agreement,
        # Measured (docs/validation): coverage of scores is 0.86 to 0.92 with 7 to 11 joint errors,
        # 0.92 to 0.96 with 25.
        trust=TRUST["labels"]._replace(pooled=(20, note("joint-errors-of-means", least=20))),
        whys=("no joint error", "one and the same wrong label throughout"),
        sources=("10.48550/arXiv.2409.13919",),
    )
)
# Measured (models/paired_errors/README.md).
UNRELIABLE = MappingProxyType(
    {
        "analytic": "coverage was 0 to 0.96, because divergences are biased upwards. Report the "
        "posterior interval",
        "bootstrap": "coverage was 0 to 0.98, because resampling repeats the upward bias of "
        "divergences. Report the posterior interval",
        "bca": "coverage was 0 to 0.93, because resampling repeats the upward bias of divergences. "
        "Report the posterior interval",
        "log_bayes_factor": "Bayes factors favored equal rows by more than 3 to 1 in 0.74 of "
        "unequal data sets. Use p_equal_adjusted",
    }
)


def error_similarity_metric(
    alpha: float = 0.5, mixture: Mixture = "mean", base: float = 2
) -> Metric:
    """Make the metric class-level error similarity [X25]_ with options."""
    check_options(alpha, mixture, base)
    divergence = functools.partial(row_divergence, alpha=alpha, mixture=mixture, base=base)
    slopes = functools.partial(row_gradient, alpha=alpha, mixture=mixture, base=base)

    def value(*counts: Any) -> Floats:
        return error_similarity(divergence(*counts))

    def gradient(*counts: Any) -> tuple[Floats, Floats]:
        by_a, by_b = slopes(*counts)
        # d/dx of 1 / (1 + x).
        steep = -(value(*counts)[..., None] ** 2)
        return steep * by_a, steep * by_b

    def reason(*counts: Any) -> NDArray[Any]:
        return np.where(np.isfinite(value(*counts)), "", "neither observer made an error")

    return Metric(
        "error_similarity",
        value,
        "rows",
        gradient=gradient,
        reason=reason,
        short="CLES",
        bounds=(0.0, 1.0),
        alongside=(
            "n_joint_errors",
            "n_errors_a",
            "n_errors_b",
            "divergence",
            "expected_divergence",
            "excess_divergence",
            "log_bayes_factor",
            "p_equal",
            "p_equal_adjusted",
            "copy_probability",
            "model_low",
            "model_high",
        ),
        draws="rows",
        unreliable=UNRELIABLE,
        requested=(
            "n_joint_errors",
            "excess_divergence",
            "p_equal",
            "copy_probability",
            "model_low",
            "model_high",
        ),
        # Measured (docs/validation): means over pairs do not have less bias than pairs.
        trust=TRUST["rows"]._replace(
            pooled=(
                np.inf,
                "the bias exceeds the interval if classes have few errors. Use equal error rates",
            )
        ),
        sources=("10.48550/arXiv.2409.13919",),
        options={"alpha": alpha, "mixture": mixture, "base": base},
    )


ERROR_SIMILARITY = register(error_similarity_metric(), error_similarity_metric)
