"""Whole sequences of answers that copy others.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import numbers

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.random import RandomState, seed_sequence

__all__ = ["copied_trials"]


def copied_trials(
    reference: ArrayLike,
    copy_probability: float,
    own_accuracy: float,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: RandomState = None,
) -> NDArray[np.int8]:
    """Simulate observers who copy a given sequence of right and wrong answers.

    Each trial is copied with the same probability, by itself: the number of copied trials is
    binomial. The simulator that comes with [K25]_ fixes it to the expected number, and so leaves
    out part of the noise: at an error consistency of .5 and accuracies of .5, .75 and .9 its
    estimates spread .82, .86 and .94 times as much.

    Parameters
    ----------
    reference : array_like, shape (..., trial)
        1 where the observer copied from was right, 0 where it was wrong.
    copy_probability : float
        Probability that a trial is copied, in [-1, 1]; negative: that it is inverted.
    own_accuracy : float
        Probability of being right on the others, in [0, 1].
    size : int or tuple of int, optional
        Leading dims of independent observers.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    ndarray of int8, shape (..., trial), after the dims of `size`
        1 right, 0 wrong; `alikely.Trials.from_correct` takes them.

    Raises
    ------
    ValueError
        If an answer is neither 0 nor 1, a probability lies outside its range, or `size` is no
        number of observers.

    Examples
    --------
    >>> copied_trials([1, 0, 1, 1], 1.0, 0.5, rng=1).tolist()
    [1, 0, 1, 1]
    >>> copied_trials(np.ones(1000), 0.5, 0.5, size=3, rng=1).mean(axis=1).round(2).tolist()
    [0.75, 0.74, 0.74]
    """
    given = np.asarray(reference)
    if not np.isin(given, (0, 1)).all():
        odd = given[~np.isin(given, (0, 1))].flat[0]
        raise ValueError(f"reference must hold 1 (right) and 0 (wrong), got {odd!r}")
    for name, value, low in (
        ("copy_probability", copy_probability, -1),
        ("own_accuracy", own_accuracy, 0),
    ):
        if not isinstance(value, numbers.Real):
            raise ValueError(f"{name} must be one number, got {value!r}")
        if not low <= value <= 1:
            raise ValueError(f"{name} must lie in [{low}, 1], got {value:g}")
    generator = np.random.default_rng(seed_sequence(rng))
    leading = () if size is None else tuple(np.atleast_1d(np.asarray(size)).tolist())
    if not all(isinstance(n, int) and n >= 0 for n in leading):
        raise ValueError(f"size must be whole numbers, at least 0, got {size!r}")
    shape = (*leading, *given.shape)
    right = given.astype(bool)
    shown = right if copy_probability >= 0 else ~right
    copied = generator.random(shape) < abs(copy_probability)
    own = generator.random(shape) < own_accuracy
    return np.where(copied, shown, own).astype(np.int8)
