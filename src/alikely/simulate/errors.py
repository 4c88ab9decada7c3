"""Which errors are made: rows of single systems, and labels of joint errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.random import RandomState, seed_sequence

__all__ = ["error_rows", "joint_errors"]

TINY = np.finfo(np.float64).tiny


def error_rows(
    base: ArrayLike,
    concentration: float,
    n_errors: ArrayLike,
    n_systems: int = 2,
    rng: RandomState = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Errors of systems whose rows scatter around common ones."""
    share = wrong_rows(base, "base")
    k = len(share)
    if not concentration > 0:
        raise ValueError(f"concentration must be above 0, got {concentration}")
    number = np.broadcast_to(np.asarray(n_errors), (k,))
    if n_systems < 1 or number.min() < 0:
        raise ValueError(
            f"n_systems must be at least 1 and n_errors at least 0, got {n_systems} and "
            f"{number.min()}"
        )
    generator = np.random.default_rng(seed_sequence(rng))
    rows = np.tile(share, (n_systems, 1, 1))
    if np.isfinite(concentration):
        # Gamma variates of tiny parameters all underflow to 0; an answer without base has none.
        drawn = generator.standard_gamma(concentration * (k - 1) * rows) + TINY * (rows > 0)
        rows = drawn / drawn.sum(axis=-1, keepdims=True)
    return generator.multinomial(np.tile(number, (n_systems, 1)), rows), rows


def joint_errors(
    copy_probability: ArrayLike,
    rows_a: ArrayLike,
    rows_b: ArrayLike,
    n_joint: ArrayLike,
    rng: RandomState = None,
) -> NDArray[np.int64]:
    """Labels of joint errors, copied or an observer's own."""
    a, b = wrong_rows(rows_a, "rows_a"), wrong_rows(rows_b, "rows_b")
    if a.shape != b.shape:
        raise ValueError(f"rows must be of the same classes, got shapes {a.shape} and {b.shape}")
    c = np.atleast_1d(np.asarray(copy_probability, dtype=np.float64))
    if np.any((c < 0) | (c > 1)):
        raise ValueError(f"copy_probability must lie in [0, 1], got {c[(c < 0) | (c > 1)][0]:g}")
    k = len(a)
    c = c[:, None, None, None]
    table = c * np.eye(k) * a[:, :, None] + (1 - c) * a[:, :, None] * b[:, None, :]
    number = np.broadcast_to(np.asarray(n_joint), (len(c), k))
    generator = np.random.default_rng(seed_sequence(rng))
    return generator.multinomial(number, table.reshape(len(c), k, k * k)).reshape(table.shape)


def wrong_rows(rows: ArrayLike, name: str) -> NDArray[np.float64]:
    """Distributions over wrong answers by true class, checked (`ValueError`)."""
    share = np.asarray(rows, dtype=np.float64)
    if share.ndim != 2 or share.shape[0] != share.shape[1]:
        raise ValueError(f"{name} must be square (true class, response), got shape {share.shape}")
    if np.any(share < 0) or np.any(np.diag(share) != 0) or np.any(abs(share.sum(1) - 1) > 1e-9):
        raise ValueError(
            f"{name} must be probabilities that sum to 1 in each row, with 0 for the true class"
        )
    return share
