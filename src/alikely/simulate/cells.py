"""Count tables of pairs, from the copy model.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import within
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics import copying

__all__ = ["cell_probabilities", "copy_cell_probabilities", "correctness_cells"]


def copy_cell_probabilities(
    accuracy_a: ArrayLike, copy_probability: ArrayLike, own_accuracy: ArrayLike
) -> NDArray[np.float64]:
    """Cell probabilities of the signed copy model [K25]_."""
    p_a, c, q = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in (accuracy_a, copy_probability, own_accuracy))
    )
    for name, values, low in (
        ("accuracy_a", p_a, 0),
        ("copy_probability", c, -1),
        ("own_accuracy", q, 0),
    ):
        outside = (values < low) | (values > 1)
        if outside.any():
            raise ValueError(f"{name} must lie in [{low}, 1], got {values[outside].flat[0]:g}")
    own = (1 - np.abs(c)) * q
    u, v = within(np.maximum(c, 0) + own), within(np.maximum(-c, 0) + own)
    return np.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1)


def cell_probabilities(
    accuracy_a: ArrayLike, accuracy_b: ArrayLike, error_consistency: ArrayLike
) -> NDArray[np.float64]:
    """Cell probabilities of two observers with these accuracies and this error consistency.

    Parameters
    ----------
    accuracy_a : array_like
        In (0, 1).
    accuracy_b : array_like
        In [0, 1].
    error_consistency : array_like
        Within what the accuracies allow, see `alikely.metrics.bounds.error_consistency_bounds`.

    Returns
    -------
    ndarray, shape (..., 4)
        Probabilities of ``n11, n10, n01, n00``.

    Raises
    ------
    ValueError
        If no such observers exist; the message gives the feasible range.

    Examples
    --------
    >>> cell_probabilities(0.75, 0.75, 0.5).round(4).tolist()
    [0.6562, 0.0938, 0.0938, 0.1562]
    """
    c, q = copying.copy_parameters(accuracy_a, accuracy_b, error_consistency)
    # Where everything is copied nothing is left to answer alone.
    return copy_cell_probabilities(accuracy_a, c, np.where(np.isnan(q), 0.5, q))


def correctness_cells(
    probabilities: ArrayLike,
    n_trials: ArrayLike,
    size: int | tuple[int, ...] | None = None,
    rng: RandomState = None,
) -> NDArray[np.int64]:
    """Draw count tables: multinomial, so that the number of copied trials is random too.

    Parameters
    ----------
    probabilities : array_like, shape (..., 4)
        As from `copy_cell_probabilities` or `cell_probabilities`.
    n_trials : array_like of int, shape (...)
        Numbers of trials.
    size : int or tuple of int, optional
        Leading dimensions of independent draws.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    ndarray of int64, shape size + (..., 4)

    Raises
    ------
    ValueError
        If the probabilities do not sum to 1 or are negative.

    Examples
    --------
    >>> correctness_cells([0.6, 0.1, 0.1, 0.2], 160, size=3, rng=1).sum(axis=-1).tolist()
    [160, 160, 160]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    total = p.sum(axis=-1)
    if (p < 0).any() or not np.allclose(total, 1, atol=1e-9):
        raise ValueError(
            f"probabilities must be non-negative and sum to 1 over the four cells, got a sum of "
            f"{total.flat[np.argmax(np.abs(total - 1))]:g}"
        )
    n = np.asarray(n_trials)
    shape = np.broadcast_shapes(p.shape[:-1], n.shape)
    leading = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    generator = np.random.default_rng(seed_sequence(rng))
    return generator.multinomial(n, p, size=(*leading, *shape))
