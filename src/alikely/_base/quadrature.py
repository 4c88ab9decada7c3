"""Nodes and weights of quadrature, worked out once."""

from __future__ import annotations

import functools

import numpy as np

from alikely._base.arrays import Floats

__all__ = ["normal_nodes"]


@functools.lru_cache(maxsize=32)
def normal_nodes(n: int) -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes of the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    weights /= weights.sum()
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
