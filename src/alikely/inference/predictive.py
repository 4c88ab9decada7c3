"""Copying against independence by left-out trials: how often chance alone speaks for copying.

References
----------
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
.. [L61] Lancaster (1961). Significance tests in discrete distributions.
   doi:10.1080/01621459.1961.10482105
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely.data.tables import check_counts
from alikely.inference.fisher import log_table_mass
from alikely.metrics.cell_priors import Prior, cell_prior

__all__ = ["elpd", "elpd_mid_p"]

# Differences of tables that predict alike differ by rounding, never by this much.
TIE = 1e-9
# Tables held at a time.
CHUNK = 1_000_000


def _elpd_of_trials(cells: ArrayLike, prior: Prior | None) -> Floats:
    """Log predictive density of a left-out trial of each cell by either model: (2, ..., 4)."""
    own = cell_prior(prior)
    a, accuracies = own.cells("model comparison"), own.accuracies("model comparison")
    counts = np.asarray(cells, dtype=np.float64)
    n = counts.sum(axis=-1, keepdims=True)
    # The trial left out of each cell: what remains, plus the prior's share.
    total = np.log(np.maximum(n - 1, 0) + a.sum())
    copying = np.log(np.maximum(counts - 1, 0) + a) - total
    product = np.ones_like(counts)
    for other, is_right, (right_too, wrong_too) in (
        (1, [True, True, False, False], accuracies["p_a"]),
        (2, [True, False, True, False], accuracies["p_b"]),
    ):
        right = counts[..., [0]] + counts[..., [other]] - is_right
        product *= np.where(is_right, right + right_too, n - 1 - right + wrong_too)
    occupied = counts > 0
    independence = np.log(np.where(occupied, product, 1.0)) - 2 * total
    return np.where(occupied, np.stack([copying, independence]), 0.0)


def elpd(cells: ArrayLike, prior: Prior | None = None) -> tuple[Floats, Floats, Floats]:
    """Expected log predictive density of copying and of independence, and what tells them apart."""
    counts = np.asarray(cells, dtype=np.float64)
    copying, independence = _elpd_of_trials(counts, prior)
    gain = copying - independence
    n = np.maximum(counts.sum(axis=-1), 1)
    mean = (counts * gain).sum(axis=-1) / n
    # All trials of one cell have the same score, so the spread over trials is one over cells.
    spread = (counts * (gain - mean[..., None]) ** 2).sum(axis=-1)
    totals = [(counts * score).sum(axis=-1) for score in (copying, independence)]
    return totals[0], totals[1], np.sqrt(spread)


def elpd_mid_p(cells: ArrayLike, prior: Prior | None = None) -> Floats:
    """How often independent observers of these accuracies favour copying as much, exactly."""
    counts = check_counts(cells)
    flat, which = np.unique(counts.reshape(-1, 4), axis=0, return_inverse=True)
    n11, n10, n01, n00 = flat.T
    lowest, more = np.minimum(n11, n00), np.minimum(n10, n01)
    varied = np.flatnonzero(lowest + more > 0)
    p = np.full(len(flat), np.nan)
    lengths = (lowest + more + 1)[varied]
    ends = np.cumsum(lengths)
    start = 0
    while start < len(varied):
        last = int(np.searchsorted(ends, ends[start] - lengths[start] + CHUNK, side="right"))
        part = slice(start, max(last, start + 1))
        p[varied[part]] = _mid_p(flat[varied[part]], lowest[varied[part]], lengths[part], prior)
        start = part.stop
    return p[which.ravel()].reshape(counts.shape[:-1])


def _mid_p(
    tables: NDArray[np.int64],
    lowest: NDArray[np.int64],
    lengths: NDArray[np.int64],
    prior: Prior | None,
) -> Floats:
    """Mid-p of some tables, from all tables that have their margins, one after the other."""
    owner = np.repeat(np.arange(len(tables)), lengths)
    first = np.cumsum(lengths) - lengths
    step = np.arange(lengths.sum()) - (first + lowest)[owner]
    every = tables[owner] + step[:, None] * np.array([1, -1, -1, 1])
    copying, independence, _ = elpd(every, prior)
    away = copying - independence
    own = away[first + lowest]
    away -= own[owner]
    near = TIE * np.maximum(1, np.abs(own))[owner]
    weight = np.where(away > near, 1.0, np.where(away < -near, 0.0, 0.5))
    mass = weight * np.exp(log_table_mass(every))
    return np.asarray(np.bincount(owner, mass, minlength=len(tables)), dtype=np.float64)
