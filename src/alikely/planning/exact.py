"""Power of Fisher's exact test, from what the numbers of right answers turn out to be.

References
----------
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [H65] Harkness (1965). Properties of the extended hypergeometric distribution.
   doi:10.1214/aoms/1177700170
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats

__all__ = ["Alternative", "power_of_fisher"]

Alternative = Literal["two-sided", "greater", "less"]
# Tables that are equally probable differ by rounding, never by this much: as `fisher_exact`.
ROUNDING = 1e-7
# Overlaps beyond so many standard deviations, and so many more, have a probability below 1e-12.
REACH, MORE = 7, 10


def power_of_fisher(
    probabilities: Floats,
    n_trials: int,
    alpha: float,
    alternative: Alternative,
    n_datasets: int,
    rng: np.random.Generator,
) -> float:
    """Share of data sets in which Fisher's exact test [F22]_ rejects independence."""
    tables = rng.multinomial(n_trials, probabilities, size=n_datasets)
    right = tables[:, [0]] + tables[:, [1, 2]]
    right, times = np.unique(right, axis=0, return_counts=True)
    overlap, null = _overlaps(right, n_trials, probabilities)
    rejected = _p_values(null, alternative) <= alpha
    # What is certain of the true overlap has infinite odds: hardly more is as good.
    logs = np.log(np.maximum(probabilities, 1e-300))
    log_odds = logs[0] + logs[3] - logs[1] - logs[2]
    with np.errstate(divide="ignore"):
        truth = special.softmax(np.log(null) + overlap * log_odds, axis=1)
    return float(times @ (truth * rejected).sum(axis=1) / n_datasets)


def _overlaps(
    right: NDArray[np.int64], n: int, probabilities: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Overlaps to reckon with, one row for each pair of numbers, and their null probabilities."""
    k_a, k_b = right.T
    lowest, highest = np.maximum(0, k_a + k_b - n), np.minimum(k_a, k_b)
    mean = k_a * k_b / n
    spread = np.sqrt(mean * (n - k_a) * (n - k_b) / n)
    # The truth lies as far from the null as the correlation of right answers says.
    p_a, p_b = probabilities[:2].sum(), probabilities[[0, 2]].sum()
    correlation = (probabilities[0] - p_a * p_b) / np.sqrt(p_a * (1 - p_a) * p_b * (1 - p_b))
    more, reach = correlation * spread, REACH * spread / np.sqrt(max(n - 1, 1)) + MORE
    first = np.maximum(lowest, np.floor(mean + np.minimum(more, 0) - reach).astype(np.int64))
    last = np.minimum(highest, np.ceil(mean + np.maximum(more, 0) + reach).astype(np.int64))
    overlap = first[:, None] + np.arange(int((last - first).max()) + 1)
    inside = overlap <= last[:, None]
    n11 = np.minimum(overlap, last[:, None])
    a, b = k_a[:, None], k_b[:, None]
    log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
    margins = log_factorial[np.stack([k_a, n - k_a, k_b, n - k_b])].sum(axis=0) - log_factorial[n]
    cells = log_factorial[np.stack([n11, a - n11, b - n11, n - a - b + n11])].sum(axis=0)
    return n11, np.where(inside, np.exp(margins[:, None] - cells), 0.0)


def _p_values(null: Floats, alternative: Alternative) -> Floats:
    """P-value of each overlap, from the null probabilities of those of each row."""
    if alternative == "less":
        return np.cumsum(null, axis=1)
    if alternative == "greater":
        return np.cumsum(null[:, ::-1], axis=1)[:, ::-1]
    order = np.argsort(null, axis=1, kind="stable")
    mass = np.take_along_axis(null, order, axis=1)
    total = np.cumsum(mass, axis=1)
    # One overlap on either side of the mode may be as probable.
    tied = mass[:, 1:] <= mass[:, :-1] * (1 + ROUNDING)
    total[:, :-1] = np.where(tied, total[:, 1:], total[:, :-1])
    found = np.empty_like(total)
    np.put_along_axis(found, order, total, axis=1)
    return found
