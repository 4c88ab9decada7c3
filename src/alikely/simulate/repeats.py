"""Two observers who are asked again."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials

__all__ = ["repeated_answers"]


def repeated_answers(
    n_items: int = 160,
    n_repeats: tuple[int, int] = (1, 5),
    *,
    accuracy: tuple[float, float] = (0.75, 0.75),
    correlation: float = 0.6,
    within: float = 0.5,
    rng: RandomState = None,
) -> tuple[Trials, float]:
    """Simulate two observers who answer the same items several times.

    Each has an evidence for every item, normal and correlated between the observers, and adds noise
    of its own in every answer; it is right where the sum is low enough for its accuracy.

    Parameters
    ----------
    n_items : int
        At least 1.
    n_repeats : (int, int)
        Answers of either observer to each item, at least 1.
    accuracy : (float, float)
        In (0, 1).
    correlation : float
        Of both observers' evidence, in [-1, 1].
    within : float
        Share of the variance of an answer that comes of its item, in [0, 1]: 1 for an observer who
        says the same whenever asked, 0 for one to whom items are all alike.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Observers ``a`` and ``b``; the second's further answers are trials that the first was not
        shown.
    error_consistency : float
        Of single answers, one of each, in the population of items.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> trials, truth = repeated_answers(20, (1, 3), rng=1)
    >>> trials.data.sizes["trial"], round(truth, 3)
    (60, 0.174)
    """
    if n_items < 1 or min(n_repeats) < 1:
        raise ValueError(
            f"items and repeats must be at least 1, got {n_items} items, {n_repeats} repeats"
        )
    if not (min(accuracy) > 0 and max(accuracy) < 1):
        raise ValueError(f"accuracies must lie strictly between 0 and 1, got {accuracy}")
    if not (-1 <= correlation <= 1 and 0 <= within <= 1):
        raise ValueError(
            f"correlation must lie in [-1, 1] and within in [0, 1], got {correlation} and {within}"
        )
    generator = np.random.default_rng(seed_sequence(rng))
    common, *own = generator.standard_normal((3, n_items))
    shared = np.sqrt(abs(correlation))
    evidence = [
        sign * shared * common + np.sqrt(1 - abs(correlation)) * alone
        for sign, alone in zip((1, np.sign(correlation) or 1), own, strict=True)
    ]
    most, limits = max(n_repeats), special.ndtri(accuracy)
    right = np.ma.masked_all((2, most, n_items), dtype=float)
    for observer, n in enumerate(n_repeats):
        noise = generator.standard_normal((n, n_items))
        answer = np.sqrt(within) * evidence[observer] + np.sqrt(1 - within) * noise
        right[observer, :n] = answer < limits[observer]
    trials = Trials.from_correct(
        right.reshape(2, -1),
        observers=["a", "b"],
        item=np.tile(np.arange(n_items), most).tolist(),
        repeat=np.repeat(np.arange(most), n_items).tolist(),
    )
    # Single answers are normal with this correlation.
    between = within * correlation
    both = stats.multivariate_normal([0, 0], [[1, between], [between, 1]], allow_singular=True)
    p_a, p_b = accuracy
    expected = p_a * p_b + (1 - p_a) * (1 - p_b)
    observed = 1 - p_a - p_b + 2 * float(both.cdf(limits))
    return trials, (observed - expected) / (1 - expected)
