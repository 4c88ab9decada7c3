"""The phi coefficient of two observers' correctness: all that a new metric takes.

References
----------
.. [Y12] Yule (1912). On the methods of measuring association between two attributes.
   doi:10.2307/2340126
"""

from __future__ import annotations

from typing import Any

import numpy as np

from alikely.metrics import Metric, register


def margins(cells: Any) -> tuple[Any, Any, Any]:
    n = np.asarray(cells, dtype=float)
    total = n.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (n[..., 0] + n[..., 1]) / total, (n[..., 0] + n[..., 2]) / total, n[..., 0] / total


def phi(cells: Any) -> Any:
    """Correlation of both observers' right answers, (..., 4) to (...)."""
    a, b, both = margins(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (both - a * b) / np.sqrt(a * (1 - a) * b * (1 - b))


def influence(cells: Any) -> Any:
    """The influence function of a correlation, for the four kinds of trials."""
    a, b, _ = (x[..., None] for x in margins(cells))
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (np.array([1, 1, 0, 0]) - a) / np.sqrt(a * (1 - a))
        y = (np.array([1, 0, 1, 0]) - b) / np.sqrt(b * (1 - b))
    return x * y - phi(cells)[..., None] * (x**2 + y**2) / 2


def reason(cells: Any) -> Any:
    return np.where(np.isfinite(phi(cells)), "", "an observer is always right or always wrong")


PHI = register(
    Metric("phi", "correctness", phi, influence, reason, label="phi coefficient", independent=0.0)
)
