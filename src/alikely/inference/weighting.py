"""Design-weighted influence for images sampled with unequal probabilities.

Pseudo-responses (coin flips) avoid zero variance with few errors, as trials added to proportions do
[AC98]_.

References
----------
.. [H71] Hájek (1971). Discussion of Basu. In: Foundations of statistical inference, 236.
.. [BD03] Brewer, Donadio (2003). The high entropy variance of the Horvitz-Thompson estimator.
   Survey Methodology 29(2), 189-196.
.. [RW88] Rao, Wu (1988). Resampling inference with complex survey data.
   doi:10.1080/01621459.1988.10478591
.. [SSW92] Särndal, Swensson, Wretman (1992). Model assisted survey sampling.
   doi:10.1007/978-1-4612-4378-4
.. [AC98] Agresti, Coull (1998). Approximate is better than "exact" for interval estimation of
   binomial proportions. doi:10.1080/00031305.1998.10480550
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats

Population = Literal["pool", "images"]
# Measured (docs/choosing.md): of contrasts whose 95 % intervals cover less
# than 90 %, nine in ten have most variances rest on fewer images than so many.
FEWEST_EFFECTIVE = 15
# Answers of each person that variances count as tossed, spread over the images shown. Where people
# are nearly always right a sample may hold none of the few errors that decide all. As many as
# keep 93 % or so on each pool that the number was chosen on (`docs/validation`).
TOSSED = 4
# Of a cell, in a difference of derivatives.
STEP = 1e-4


def deviations(
    influence: Floats, inclusion: Floats, shown: NDArray[np.bool_], generalize_to: Population
) -> Floats:
    """Deviations of a weighted estimate: their squares sum to its variance."""
    rest = np.where(shown, 1 - inclusion if generalize_to == "pool" else 1.0, 0.0)
    total = rest.sum(axis=-1, keepdims=True)
    middle = (rest * influence).sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1)
    spread = spread_of_images(inclusion, shown, generalize_to)
    return np.asarray(spread * (influence - np.where(shown, middle, 0.0)))


def spread_of_images(
    inclusion: Floats, shown: NDArray[np.bool_], generalize_to: Population
) -> Floats:
    """Factor by which random selection scales the weighted influence of an image."""
    n = shown.sum(axis=-1, keepdims=True)
    rest = np.where(shown, 1 - inclusion if generalize_to == "pool" else 1.0, 0.0)
    return np.asarray(np.sqrt(rest * n / np.maximum(n - 1, 1)))


def freedom_of_sums(
    total: Floats, sampled: Floats, fourth: Floats, n: int | NDArray[np.integer]
) -> Floats:
    """Degrees of freedom of a sum of squares, from sums of second and of fourth powers."""
    varying = fourth - sampled**2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(varying > 1e-12 * total**2, 2 * total**2 / varying, np.inf)
    return np.asarray(np.maximum(out, 1.0))


def student_deviate(df: Floats, ci_prob: float) -> Floats:
    """Quantile of Student's t for a two-sided interval; normal for infinite degrees of freedom."""
    level = (1 + ci_prob) / 2
    finite = np.where(np.isfinite(df), df, 1.0)
    deviate = np.where(np.isinf(df), special.ndtri(level), special.stdtrit(finite, level))
    return np.where(np.isnan(df), np.nan, deviate)


def holding(lower: Floats, upper: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Extend limits to contain the value, which may lie outside because of its bias."""
    return np.minimum(lower, value), np.maximum(upper, value)


def effective_images(deviation: Floats) -> Floats:
    """Effective number of images on which a variance is based."""
    square = deviation**2
    total, fourth = square.sum(axis=-1), (square**2).sum(axis=-1)
    return np.asarray(np.where(total == 0, 0.0, total**2 / np.where(fourth == 0, 1.0, fourth)))


def multiplicities(
    inclusion: Floats, n_resamples: int, generalize_to: Population, rng: np.random.Generator
) -> Floats:
    """Weights of a bootstrap that resamples with the design [RW88]_."""
    n = len(inclusion)
    if n < 2:
        return np.ones((n_resamples, n), dtype=np.float32)
    spread = np.sqrt(1 - inclusion) if generalize_to == "pool" else np.ones(n)
    drawn = rng.integers(0, n, size=(n_resamples, n - 1)) + n * np.arange(n_resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=n * n_resamples).reshape(n_resamples, n)
    return np.asarray(1 - spread + spread * counts * n / (n - 1), dtype=np.float32)


def second_order_bias(
    influence: Callable[[Floats], Floats],
    shares: NDArray[np.int8 | np.float64],
    weights: Floats,
    inclusion: Floats,
    groups: Sequence[NDArray[np.bool_]],
    generalize_to: Population,
) -> Floats:
    """Second-order bias of weighted estimates."""

    def summed(of_images: Floats) -> Floats:
        return np.einsum("pct,pt->pc", shares, of_images)

    cells, rest = summed(weights), 1 - inclusion
    parts = [np.where(own, weights, 0.0) for own in groups]
    # Along each cell, and as all weights of a group grow together.
    along = [cells * one for one in np.eye(4)] + [summed(rest * part) for part in parts]
    far = np.stack(along)
    up, down = (
        # What an empty cell would do does not matter.
        (np.where(far > 0, influence(at), 0.0) * far).sum(axis=-1) / at.sum(axis=-1)
        for at in (cells + STEP * far, cells - STEP * far)
    )
    bent = (up - down) / (2 * STEP)
    single = np.stack(list(bent[:4]), axis=-1)
    single = np.divide(single, cells**2, out=np.zeros_like(single), where=cells > 0)
    total = np.zeros(len(cells))
    for part, together in zip(parts, bent[4:], strict=True):
        n, left = (part > 0).sum(axis=1), np.where(part > 0, rest, 0.0).sum(axis=1)
        spread = (single * summed(rest * part**2)).sum(axis=1)
        # The number of images of a group is fixed: that all grow together has no chance.
        spread -= np.divide(together, left, out=np.zeros_like(left), where=left > 0)
        total += np.where(n > 1, n / np.maximum(n - 1, 1), 0.0) * spread / 2
    if generalize_to == "images":
        total += (single * summed(inclusion * weights**2)).sum(axis=1) / 2
    return np.where(np.isfinite(total), total, 0.0)
