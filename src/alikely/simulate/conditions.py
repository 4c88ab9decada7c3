"""Conditions of known difficulty, grouped in regimes, answered by people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials

__all__ = ["difficulty"]


def difficulty(
    n_levels: int = 8,
    n_datasets: int = 9,
    n_humans: int = 4,
    n_items: int = 160,
    *,
    means: Sequence[float] = (-2.6, -1.0, 0.6, 2.1),
    sds: Sequence[float] = (0.2, 0.3, 0.3, 0.25),
    weights: Sequence[float] = (0.2, 0.25, 0.3, 0.25),
    ability_sd: float = 0.25,
    interaction_sd: float = 0.05,
    rng: RandomState = None,
) -> tuple[Trials, NDArray[np.intp]]:
    """Simulate people in conditions whose logit accuracies come from a mixture of regimes.

    The first condition of each data set, ``reference``, comes from the easiest regime; regimes of
    the others are drawn. Each data set has people of its own.

    Parameters
    ----------
    n_levels, n_datasets : int
        Conditions of a data set, the reference among them, and number of data sets.
    n_humans, n_items : int
        People of a data set, and trials of a condition.
    means, sds, weights : sequence of float
        Of the regimes, on the logit scale, hardest first; weights are scaled to sum to 1.
    ability_sd, interaction_sd : float
        Spread of people, and of how they take single conditions, in logits.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Correctness of every person, ``human_1`` and so on in each data set.
    regime : ndarray of int, shape (condition,)
        True regime of each condition, in the order of `alikely.difficulty_spectrum`.

    Raises
    ------
    ValueError
        If a number is below 1, means do not increase, or the regimes have not one spread and weight
        each, positive.

    Examples
    --------
    >>> trials, regime = difficulty(rng=1)
    >>> trials, regime.shape
    (<Trials: 4 observers, 11520 trials, correctness only>, (72,))
    """
    if min(n_levels, n_datasets, n_humans, n_items) < 1:
        raise ValueError(
            "n_levels, n_datasets, n_humans and n_items must be at least 1, got "
            f"{n_levels}, {n_datasets}, {n_humans} and {n_items}"
        )
    mean, sd, weight = (np.asarray(v, dtype=np.float64) for v in (means, sds, weights))
    if not mean.shape == sd.shape == weight.shape or (np.diff(mean) <= 0).any():
        raise ValueError(
            "means must increase and have one sd and one weight each, got "
            f"{mean.tolist()}, {sd.tolist()}, {weight.tolist()}"
        )
    if (sd < 0).any() or (weight <= 0).any() or ability_sd < 0 or interaction_sd < 0:
        raise ValueError("weights must be positive, and no spread negative")
    generator = np.random.default_rng(seed_sequence(rng))
    n_conditions = n_datasets * n_levels
    regime = generator.choice(len(mean), n_conditions, p=weight / weight.sum())
    regime[::n_levels] = len(mean) - 1
    ease = generator.normal(mean[regime], sd[regime]).reshape(n_datasets, 1, n_levels)
    ability = generator.normal(0, ability_sd, (n_datasets, n_humans, 1))
    own = generator.normal(0, interaction_sd, (n_datasets, n_humans, n_levels))
    p = special.expit(ease + ability + own)
    correct = generator.random((*p.shape, n_items)) < p[..., None]
    levels = ["reference", *(f"level_{i}" for i in range(1, n_levels))]
    place = np.arange(n_conditions * n_items)
    trials = Trials.from_correct(
        np.moveaxis(correct, 1, 0).reshape(n_humans, -1),
        observers=[f"human_{i + 1}" for i in range(n_humans)],
        kind=["human"] * n_humans,
        dataset=[f"distortion_{d}" for d in place // (n_levels * n_items)],
        condition=[levels[i] for i in place // n_items % n_levels],
        item=(place % n_items).tolist(),
    )
    return trials, regime
