"""Likelihood of every item's strength, tabulated once for all that is compared with a group.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.quadrature import normal_nodes
from alikely.metrics.alternatives import Link, check_task, m_afc_log_probability

__all__ = ["ItemLikelihoods", "item_likelihoods", "log_likelihood"]

# Strengths of the tables; straight lines between them and beyond.
STEP = 1 / 40
GRID = np.arange(-10, 18 + STEP / 2, STEP)
# With what people have of their own on items.
WIDE = np.arange(-50, 60, STEP)
# Gauss-Hermite nodes of what a person has of its own on an item.
STABLE_NODES = 15


class ItemLikelihoods(NamedTuple):
    """Log likelihoods of items over strength."""

    table: Floats
    stable: tuple[float, float]
    seen: Floats
    information: Floats


def item_likelihoods(
    right: ArrayLike,
    shown: ArrayLike,
    m: int,
    link: Link = "m_afc",
    stable: tuple[float, float] = (0.0, 0.0),
) -> ItemLikelihoods:
    """Tabulate log likelihoods of the strengths of items [GS66]_."""
    check_task(m, link)
    k, n = _counts(right, shown)
    total, answers = k.sum(axis=0), n.sum(axis=0)
    share = (total + 0.5) / (answers + 1)
    log_right, log_wrong = (np.interp(GRID, WIDE, part) for part in _wide(m, link))
    odds = log_right - log_wrong
    seen = np.interp(special.logit(share), odds, GRID)
    slope = np.interp(seen, GRID, np.gradient(odds, STEP))
    information = np.maximum(answers * share * (1 - share) * slope**2, 0.02)
    if stable[1] == 0:
        table = total[:, None] * log_right + (answers - total)[:, None] * log_wrong
        return ItemLikelihoods(table[None], stable, seen, information)
    low, high = stable
    tables = [_with_stable(k, n, m, link, tau) for tau in (low, np.sqrt(low * high), high)]
    line, square = (tables[2] - tables[0]) / 2, (tables[2] + tables[0]) / 2 - tables[1]
    # Answers of one observer tell less of what all have in common.
    spread = 1 + slope**2 * low * high / 3
    return ItemLikelihoods(np.stack([tables[1], line, square]), stable, seen, information / spread)


def log_likelihood(found: ItemLikelihoods, strength: Floats, stable: Floats) -> Floats:
    """Log likelihoods at given strengths."""
    place = (strength - GRID[0]) / STEP
    cell = np.clip(place, 0, len(GRID) - 2).astype(np.intp)
    part = place - cell
    n_items = found.table.shape[1]
    cell += (np.arange(n_items) * len(GRID))[:, None]
    above = cell + 1
    t = np.zeros(len(strength))
    if found.stable[1]:
        low, high = np.log(found.stable)
        t = np.clip((2 * np.log(stable) - low - high) / (high - low), -1, 1)
    parts = []
    for power, table in enumerate(found.table):
        flat = table.ravel()
        start = flat.take(cell)
        value = flat.take(above)
        value -= start
        value *= part
        value += start
        if power:
            value *= (t**power)[:, None, None]
        parts.append(value)
    return functools.reduce(np.add, parts)


def _counts(right: ArrayLike, shown: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Right answers and answers (observer, item); refuses what cannot be counts."""
    k, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    if k.ndim != 2 or k.shape != n.shape:
        raise ValueError(
            f"right and shown must both have shape (observer, item), got {k.shape} and {n.shape}"
        )
    wrong = ~((k >= 0) & (k <= n) & (k == np.round(k)) & (n == np.round(n)))
    if wrong.any():
        observer, item = np.argwhere(wrong)[0]
        raise ValueError(
            f"right must be whole numbers from 0 to shown, got {k[observer, item]:g} of "
            f"{n[observer, item]:g} answers of observer {observer} to item {item}"
        )
    return k.astype(np.int64), n.astype(np.int64)


@functools.lru_cache(maxsize=8)
def _wide(m: int, link: Link) -> tuple[Floats, Floats]:
    return _log_probabilities(WIDE, m, link)


def _log_probabilities(strength: Floats, m: int, link: Link) -> tuple[Floats, Floats]:
    if link == "m_afc":
        return m_afc_log_probability(strength, m)
    return special.log_ndtr(strength), special.log_ndtr(-strength)


def _with_stable(
    right: NDArray[np.int64], shown: NDArray[np.int64], m: int, link: Link, tau: float
) -> Floats:
    """Log likelihoods (item, strength) where each observer deviates on each item."""
    nodes, weights = normal_nodes(STABLE_NODES)
    at = GRID[:, None] + tau * nodes
    log_right, log_wrong = (np.interp(at, WIDE, part) for part in _wide(m, link))
    table = np.zeros((right.shape[1], len(GRID)))
    # One number for each kind of cell: as pairs they would take longer to sort than to integrate.
    kind = shown * (shown.max() + 1) + right
    for number in np.unique(kind[shown > 0]).tolist():
        n, k = divmod(number, int(shown.max()) + 1)
        log_p = k * log_right + (n - k) * log_wrong
        most = log_p.max(axis=1)
        log_p = np.log(np.exp(log_p - most[:, None]) @ weights) + most
        table += (kind == number).sum(axis=0)[:, None] * log_p
    return table
