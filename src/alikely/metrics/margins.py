"""Choices among m alternatives, decision margins, and their correlation between two systems.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [GW69] Golub, Welsch (1969). Calculation of Gauss quadrature rules.
   doi:10.1090/S0025-5718-69-99647-1
.. [HL56] Hodges, Lehmann (1956). The efficiency of some nonparametric competitors of the t-test.
   doi:10.1214/aoms/1177728261
.. [S10] Spearman (1910). Correlation calculated from faulty data.
   doi:10.1111/j.2044-8295.1910.tb00206.x
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base.arrays import ROUNDING, Floats, within
from alikely.metrics.cells import as_numbers, divide
from alikely.metrics.gradients import complex_step
from alikely.metrics.metric import Metric, register


def check_task(n_alternatives: int) -> None:
    """Check the number of alternatives (`ValueError`)."""
    whole = (
        isinstance(n_alternatives, numbers.Real)
        and not isinstance(n_alternatives, bool)
        and float(n_alternatives).is_integer()
    )
    if not whole or n_alternatives < 2:
        raise ValueError(
            f"n_alternatives must be a whole number of at least 2, got {n_alternatives}"
        )


@functools.lru_cache(maxsize=64)
def distractor_nodes(n_alternatives: int, n_nodes: int = 24) -> tuple[Floats, Floats]:
    """Compute Gauss nodes and weights for the maximum of m - 1 normal distractors [GW69]_."""
    check_task(n_alternatives)
    # Below this the remaining probability is 1e-17.
    low = (
        max(float(special.ndtri(1e-17 ** (1 / (n_alternatives - 1)))), -9.5)
        if n_alternatives > 2
        else -9.5
    )
    x, w = np.polynomial.legendre.leggauss(400)
    x = (9.5 - low) / 2 * x + (9.5 + low) / 2
    density = w * np.exp(stats.norm.logpdf(x) + (n_alternatives - 2) * special.log_ndtr(x))
    density /= density.sum()
    # Polynomials orthogonal under that density, by their three-term recurrence.
    a, b = np.zeros(n_nodes), np.zeros(n_nodes)
    before, now, norm_before = np.zeros_like(x), np.ones_like(x), 1.0
    for k in range(n_nodes):
        norm = density @ now**2
        a[k], b[k] = density @ (x * now**2) / norm, norm / norm_before
        before, now, norm_before = now, (x - a[k]) * now - (b[k] if k else 0) * before, norm
    off = np.sqrt(b[1:])
    nodes, vectors = np.linalg.eigh(np.diag(a) + np.diag(off, 1) + np.diag(off, -1))
    weights = vectors[0] ** 2
    return nodes, weights / weights.sum()


def m_afc_log_probability(d_prime: ArrayLike, n_alternatives: int) -> tuple[Floats, Floats]:
    """Compute log probabilities of a correct and of an incorrect response in m-AFC [GS66]_."""
    nodes, weights = distractor_nodes(n_alternatives)
    ahead = np.asarray(d_prime, dtype=np.float64)[..., None] - nodes
    right = np.asarray(special.logsumexp(special.log_ndtr(ahead), b=weights, axis=-1))
    wrong = np.asarray(special.logsumexp(special.log_ndtr(-ahead), b=weights, axis=-1))
    # Probabilities near 1 are computed from the other one, to avoid rounding errors.
    likely = right > wrong
    return (
        np.where(likely, np.log1p(-np.exp(np.where(likely, wrong, -1.0))), right),
        np.where(likely, wrong, np.log1p(-np.exp(np.where(likely, -1.0, right)))),
    )


def m_afc_probability(d_prime: ArrayLike, n_alternatives: int) -> Floats:
    """Compute the probability of a correct response in m-AFC, ``E[Phi(d' - M)]`` [GS66]_."""
    nodes, weights = distractor_nodes(n_alternatives)
    ahead = np.asarray(d_prime, dtype=np.float64)[..., None] - nodes
    right, wrong = special.ndtr(ahead) @ weights, special.ndtr(-ahead) @ weights
    # Weights sum to 1 up to rounding: probabilities near 1 are computed from the other one.
    return np.asarray(np.where(right > wrong, 1 - wrong, right))


How = Literal["mean", "mean_probability"]
FEWEST_ITEMS = 5
# Why there is no correlation.
CONSTANT = "all margins of a system are equal"


def normal_scores(margins: ArrayLike) -> Floats:
    """Compute normal scores of margins, by mid-ranks [HL56]_."""
    y = np.asarray(margins, dtype=np.float64)
    if y.ndim != 1 or len(y) < FEWEST_ITEMS or not np.isfinite(y).all():
        raise ValueError(
            f"margins must be at least {FEWEST_ITEMS} finite numbers, one for each item, got shape "
            f"{y.shape}; leave out items that a system was not shown"
        )
    return np.asarray(special.ndtri((stats.rankdata(y) - 0.5) / len(y)))


def repeated(shown: ArrayLike) -> bool:
    """Check for enough repeated items to separate stable deviations from noise."""
    return int((np.asarray(shown) > 1).any(axis=0).sum()) >= FEWEST_ITEMS


def scores_of_probabilities(probabilities: ArrayLike, zeros: bool = False) -> Floats:
    """Convert class probabilities to scores: logarithms, equal to logits up to a constant."""
    p = np.asarray(probabilities, dtype=np.float64)
    total = p.sum(axis=1)
    # Tolerates rows with four digits or half precision.
    bad = np.flatnonzero((np.abs(total - 1) > 1e-3) | (p < 0).any(axis=1))
    if len(bad):
        raise ValueError(
            f"probabilities of an item must not be negative and sum to 1, those of item {bad[0]} "
            f"sum to {total[bad[0]]:g}; give logits as logits"
        )
    if not zeros and (p == 0).any():
        item = int(np.flatnonzero((p == 0).any(axis=1))[0])
        raise ValueError(
            f"a probability of item {item} is 0, which makes its margin infinite; store more "
            "digits, or give logits"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def coarse_scores(
    scores: ArrayLike,
    categories: Sequence[str],
    coarse: Sequence[str],
    how: How = "mean",
) -> Floats:
    """Compute scores of coarse categories from scores of their fine classes."""
    fine = np.asarray(scores, dtype=np.float64)
    reduce: Callable[..., Any] = np.mean if how == "mean" else _log_mean
    labels = np.asarray(categories, dtype=object)
    return np.stack([reduce(fine[:, labels == name], axis=1) for name in coarse], axis=1)


def _log_mean(scores: Floats, axis: int) -> Any:
    return special.logsumexp(scores, axis=axis) - np.log(scores.shape[axis])


def model_margin(scores: ArrayLike, truth: ArrayLike) -> Floats:
    """Compute a model's margin: target score minus best other score, divided by sqrt 2."""
    s, t = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if s.shape[1] < 2:
        raise ValueError(f"a margin needs at least 2 classes, got {s.shape[1]}")
    items = np.arange(len(s))
    others = s.copy()
    others[items, t] = -np.inf
    return np.asarray((s[items, t] - others.max(axis=1)) / np.sqrt(2))


def margin_moments(x: ArrayLike, y: ArrayLike) -> Floats:
    """Compute moments of two systems' margins on their common items: features (..., 6, item)."""
    both = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    common = np.isfinite(both[0]) & np.isfinite(both[1])
    n = common.sum(axis=-1, keepdims=True)
    if (n < FEWEST_ITEMS).any():
        raise ValueError(
            f"a correlation over items needs at least {FEWEST_ITEMS} common items, got {n.min()}"
        )
    centered = (z - np.where(common, z, 0).sum(axis=-1, keepdims=True) / n for z in both)
    shown = (np.where(common, z, 0) for z in centered)
    a, b = (z / np.maximum(np.abs(z).max(axis=-1, keepdims=True), 1e-300) for z in shown)
    return np.stack([common.astype(np.float64), a, b, a * a, b * b, a * b], axis=-2)


def margin_consistency(moments: ArrayLike) -> Floats:
    """Compute decision-margin consistency, the correlation of margins, from sums of moments."""
    sums = as_numbers(moments)
    mean_a, mean_b, *squares, product = np.moveaxis(divide(sums[..., 1:], sums[..., :1]), -1, 0)
    square_a, square_b = squares[0] - mean_a**2, squares[1] - mean_b**2
    smaller = np.minimum(square_a.real, square_b.real)
    # Rounding errors of a constant are not variance.
    scale = np.sqrt(np.where(smaller > 1e-14, square_a * square_b, np.nan))
    # Moments are differences of numbers up to 1: relative rounding errors grow as they shrink.
    slack = ROUNDING / np.where(smaller > 1e-14, smaller, np.nan)
    return within((product - mean_a * mean_b) / scale, -1, 1, slack)


def spearman_brown(r: ArrayLike, factor: ArrayLike = 2) -> Floats:
    """Compute the reliability that a group would have at `factor` times its size [S10]_.

    Parameters
    ----------
    r : array_like
        Reliability, such as the correlation between results of two halves of a group.
    factor : array_like
        Ratio of the new to the old group size, above 0.

    Returns
    -------
    ndarray of float64
        Spearman-Brown reliability.

    Raises
    ------
    ValueError
        If the factor is not positive.

    Examples
    --------
    >>> spearman_brown([0.5, 0.8]).round(3).tolist()
    [0.667, 0.889]
    """
    value, times = np.asarray(r, dtype=np.float64), np.asarray(factor, dtype=np.float64)
    if not (times > 0).all():
        raise ValueError(f"factor must be above 0, got {times.min():g}")
    return np.asarray(times * value / (1 + (times - 1) * value))


def _reason(moments: Floats) -> NDArray[Any]:
    return np.where(np.isfinite(margin_consistency(moments)), "", CONSTANT)


DECISION_MARGIN_CONSISTENCY = register(
    Metric(
        "decision_margin_consistency",
        margin_consistency,
        "margins",
        gradient=functools.partial(complex_step, margin_consistency),
        reason=_reason,
        label="decision-margin consistency",
        short="DMC",
        scale="fisher",
        # With a noise-corrected estimate: its scale, and correlations within and between classes.
        alongside=(
            "reliability", "ceiling", "disattenuated",
            "scale", "r_within_class", "r_within_class_lb", "r_within_class_ub", "r_between_class",
        ),
        requested=("disattenuated",),
        draws="margins",
        posterior_label="noise-corrected",
        sources=("AlvarezKonkle2024",),
    )
)  # fmt: skip
