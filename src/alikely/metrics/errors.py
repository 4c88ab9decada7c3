"""Do two systems make the same mistakes? Agreement of wrong labels, and of distributions of errors.

References
----------
.. [C60] Cohen (1960). A coefficient of agreement for nominal scales.
   doi:10.1177/001316446002000104
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [L91] Lin (1991). Divergence measures based on the Shannon entropy. doi:10.1109/18.61115
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.1609/aaai.v39i26.34974
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = [
    "error_divergence",
    "error_similarity",
    "jensen_shannon_divergence",
    "misclassification_agreement",
    "misclassification_influence",
    "misclassification_undefined_reason",
    "same_distribution_bayes_factor",
]

Floats = NDArray[np.float64]
Mixture = Literal["mean", "pooled"]
BASES = (2, np.e, 10)


def _joint(counts: ArrayLike) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Shares, both margins, observed and expected agreement of joint-error tables."""
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise ValueError(
            f"joint errors must be a square table of classes on the last two axes, got shape "
            f"{table.shape}"
        )
    total = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore"):
        share = table / np.where(total > 0, total, np.nan)[..., None, None]
    row, column = share.sum(axis=-1), share.sum(axis=-2)
    return share, row, column, np.trace(share, axis1=-2, axis2=-1), (row * column).sum(axis=-1)


def misclassification_agreement(counts: ArrayLike) -> Floats:
    """Misclassification agreement: Cohen's kappa of the labels of joint errors [C60]_ [X25]_.

    Parameters
    ----------
    counts : array_like, shape (..., class, class)
        Trials on which both systems are wrong, by the label of the first and of the second.

    Returns
    -------
    ndarray of float64, shape (...)
        In [-1, 1]; 0 where labels agree no more than their frequencies make them; NaN without
        joint errors, or if both systems give one and the same label throughout.

    Raises
    ------
    ValueError
        If the tables are not square.

    Examples
    --------
    >>> misclassification_agreement([[0, 3, 1], [2, 8, 0], [0, 1, 5]]).round(3).item()
    0.407
    """
    _, _, _, observed, expected = _joint(counts)
    out = np.full(observed.shape, np.nan)
    # Rounding of shares leaves this much of a margin that is all one class.
    np.divide(observed - expected, 1 - expected, out=out, where=expected < 1 - 1e-12)
    return out


def misclassification_undefined_reason(counts: ArrayLike) -> NDArray[Any]:
    """Why misclassification agreement is undefined.

    Parameters
    ----------
    counts : array_like, shape (..., class, class)
        As in `misclassification_agreement`.

    Returns
    -------
    ndarray of str, shape (...)
        Empty where it is defined.

    Examples
    --------
    >>> misclassification_undefined_reason([[[0, 0], [0, 0]], [[3, 0], [0, 0]]]).tolist()
    ['no joint error', 'one and the same wrong label throughout']
    """
    value = misclassification_agreement(counts)
    total = np.asarray(counts).sum(axis=(-2, -1))
    return np.where(
        np.isfinite(value),
        "",
        np.where(total > 0, "one and the same wrong label throughout", "no joint error"),
    )


def misclassification_influence(counts: ArrayLike) -> Floats:
    """Influence of one joint error of each kind on misclassification agreement [FCE69]_.

    Parameters
    ----------
    counts : array_like, shape (..., class, class)
        As in `misclassification_agreement`.

    Returns
    -------
    ndarray of float64, shape (..., class, class)
        Sums to 0 over the joint errors. All other trials have influence 0, so that
        ``sum(counts * influence**2) / n_joint**2`` is the variance although the number of joint
        errors is random; NaN where the agreement is undefined.

    Examples
    --------
    >>> counts = np.array([[0, 3, 1], [2, 8, 0], [0, 1, 5]])
    >>> misclassification_influence(counts).round(2)[1].tolist()
    [-1.08, 0.31, -1.18]
    """
    share, row, column, observed, expected = _joint(counts)
    defined = expected < 1 - 1e-12
    rest = np.where(defined, 1 - expected, np.nan)[..., None, None]
    same = np.eye(share.shape[-1]) - observed[..., None, None]
    # Expected agreement moves with the other's frequency of either label.
    moved = column[..., :, None] + row[..., None, :] - 2 * expected[..., None, None]
    return np.asarray(same / rest - (1 - observed[..., None, None]) * moved / rest**2)


def jensen_shannon_divergence(p: ArrayLike, q: ArrayLike, base: float = 2) -> Floats:
    """Jensen-Shannon divergence of two distributions [L91]_.

    Parameters
    ----------
    p, q : array_like, shape (..., class)
        Probabilities.
    base : {2, e, 10}
        Of the logarithm; 2 gives bits, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (...)

    Raises
    ------
    ValueError
        If the base is none of these.

    Examples
    --------
    >>> jensen_shannon_divergence([1, 0], [0, 1]).item()
    1.0
    """
    _check_base(base)
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    middle = (one + other) / 2
    nats = (special.rel_entr(one, middle) + special.rel_entr(other, middle)).sum(axis=-1) / 2
    return np.asarray(nats / np.log(base))


def _check_base(base: float) -> None:
    if base not in BASES:
        raise ValueError(f"base must be 2, e or 10, got {base}")


def error_divergence(
    rows_a: ArrayLike,
    rows_b: ArrayLike,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
) -> Floats:
    """Class-level error divergence (CLED): how differently two systems' errors are spread [X25]_.

    Needs no common trials: the rows of two systems may come of different stimuli.

    Parameters
    ----------
    rows_a, rows_b : array_like, shape (..., class, class)
        Errors by true class and response. The true class itself is no error and is left out,
        whatever stands there.
    alpha : float
        Dirichlet smoothing of every row, above 0.
    mixture : {"mean", "pooled"}
        Compare with the mean of both distributions (a Jensen-Shannon divergence, as in the paper),
        or with the smoothed pooled counts (as in the authors' code).
    base : {2, e, 10}
        Of the logarithm.

    Returns
    -------
    ndarray of float64, shape (...)
        At least 0; with ``"mean"`` and base 2 at most 1. Classes are weighted by the errors of
        both systems; NaN if neither made any.

    Raises
    ------
    ValueError
        If shapes do not fit, or an option is out of range.

    Examples
    --------
    >>> a, b = [[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 1, 5], [2, 0, 2], [1, 2, 0]]
    >>> error_divergence(a, b).round(3).item()
    0.13
    """
    one, other = _error_rows(rows_a), _error_rows(rows_b)
    _check_base(base)
    if one.shape[-2:] != other.shape[-2:]:
        raise ValueError(
            f"both systems must have the same classes, got shapes {one.shape} and {other.shape}"
        )
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha}; 0.5 is Jeffreys' choice")
    if mixture not in ("mean", "pooled"):
        raise ValueError(f"mixture must be 'mean' or 'pooled', got {mixture!r}")
    n_a, n_b = one.sum(axis=-1), other.sum(axis=-1)
    p, q = _smooth(one, alpha), _smooth(other, alpha)
    if mixture == "mean":
        divergence = jensen_shannon_divergence(p, q, base)
    else:
        pooled = _smooth(one + other, alpha)
        nats = (special.rel_entr(p, pooled) + special.rel_entr(q, pooled)).sum(axis=-1) / 2
        divergence = nats / np.log(base)
    weight = n_a + n_b
    total = weight.sum(axis=-1)
    out = np.full(np.shape(total), np.nan)
    np.divide((weight * divergence).sum(axis=-1), total, out=out, where=total > 0)
    return out


def error_similarity(divergence: ArrayLike) -> Floats:
    """Class-level error similarity (CLES), ``1 / (1 + CLED)`` [X25]_.

    Parameters
    ----------
    divergence : array_like
        As from `error_divergence`.

    Returns
    -------
    ndarray of float64
        In (0, 1]; 1 for equal distributions.

    Examples
    --------
    >>> error_similarity([0.0, 1.0]).tolist()
    [1.0, 0.5]
    """
    return np.asarray(1 / (1 + np.asarray(divergence, dtype=np.float64)))


def same_distribution_bayes_factor(
    rows_a: ArrayLike, rows_b: ArrayLike, *, alpha: float = 0.5
) -> Floats:
    """Log Bayes factor of one error distribution for both systems against one for each.

    Parameters
    ----------
    rows_a, rows_b : array_like, shape (..., class, class)
        As in `error_divergence`.
    alpha : float
        Parameter of the Dirichlet prior of every row, above 0.

    Returns
    -------
    ndarray of float64, shape (..., class)
        Nats, by true class; positive for the same distribution, 0 where a system has no error.
        Sum over classes for a statement about all of them.

    Raises
    ------
    ValueError
        If shapes do not fit or `alpha` is not above 0.

    Notes
    -----
    Closed form: the Dirichlet-multinomial probability of the pooled row over the product of those
    of either row.

    Examples
    --------
    >>> a, b = [[0, 40, 40], [0, 0, 0], [0, 0, 0]], [[0, 41, 39], [0, 0, 0], [0, 0, 0]]
    >>> bool(same_distribution_bayes_factor(a, b)[0] > 1)
    True
    """
    one, other = _error_rows(rows_a), _error_rows(rows_b)
    if one.shape[-2:] != other.shape[-2:]:
        raise ValueError(
            f"both systems must have the same classes, got shapes {one.shape} and {other.shape}"
        )
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha}; 0.5 is Jeffreys' choice")

    def evidence(counts: Floats) -> Floats:
        k = counts.shape[-1] - 1
        open_cells = ~np.eye(counts.shape[-1], dtype=bool)
        terms = np.where(open_cells, special.gammaln(counts + alpha) - special.gammaln(alpha), 0.0)
        n = counts.sum(axis=-1)
        return np.asarray(
            terms.sum(axis=-1) + special.gammaln(alpha * k) - special.gammaln(n + alpha * k)
        )

    return evidence(one + other) - evidence(one) - evidence(other)


def _error_rows(rows: ArrayLike) -> Floats:
    table = np.array(rows, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2] or table.shape[-1] < 2:
        raise ValueError(
            "error rows must be a square table (true class, response) of at least two classes on "
            f"the last two axes, got shape {table.shape}"
        )
    table[..., np.arange(table.shape[-1]), np.arange(table.shape[-1])] = 0
    return table


def _smooth(rows: Floats, alpha: float) -> Floats:
    """Posterior mean of each row's distribution; 0 for the true class."""
    k = rows.shape[-1]
    smoothed = (rows + alpha) / (rows.sum(axis=-1, keepdims=True) + alpha * (k - 1))
    return np.where(np.eye(k, dtype=bool), 0.0, smoothed)
