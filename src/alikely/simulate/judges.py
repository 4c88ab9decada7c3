"""A judge, candidates that share some of its errors, and scores that favour those."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely._base.ranges import within
from alikely.metrics import ERROR_CONSISTENCY

__all__ = ["Judged", "judged_candidates", "normal_consistency"]

# Latent ability of the judge, in probits; latent correlations of candidates with it.
JUDGE, MIDDLE, SPREAD = 0.8, 0.45, 0.15


class Judged(NamedTuple):
    """Answers and scores.

    Attributes
    ----------
    correct : ndarray of int8, shape (1 + candidate, question)
        1 right, 0 wrong; the judge first.
    scores : ndarray, shape (candidate,)
        Scores that the judge gives.
    consistency, accuracy : ndarray, shape (candidate,)
        Error consistency with the judge, and accuracy, over endlessly many questions.
    """

    correct: NDArray[np.int8]
    scores: Floats
    consistency: Floats
    accuracy: Floats


def judged_candidates(
    n_candidates: int, n_questions: int, preference: float, rng: RandomState = None
) -> Judged:
    """Simulate a judge that scores candidates by accuracy, by how alike they fail, and by chance.

    Better candidates are also more alike the judge, so that accuracy confounds.

    Parameters
    ----------
    n_candidates, n_questions : int
        At least 1.
    preference : float
        Points for an error consistency of 1; accuracy of 1 has two, chance a deviation of .15.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Judged

    Examples
    --------
    >>> judged_candidates(3, 100, 1.0, rng=1).correct.shape
    (4, 100)
    """
    generator = np.random.default_rng(seed_sequence(rng))
    latent = np.clip(generator.normal(MIDDLE, SPREAD, n_candidates), 0.02, 0.9)
    ability = generator.normal(0.5, 0.4, n_candidates) + 0.12 * (latent - MIDDLE) / SPREAD
    consistency = normal_consistency(latent, JUDGE, ability)
    accuracy = special.ndtr(ability)
    chance = generator.normal(0, 0.15, n_candidates)
    of_judge = generator.standard_normal(n_questions)
    own = generator.standard_normal((n_candidates, n_questions))
    parts = latent[:, None] * of_judge + np.sqrt(1 - latent**2)[:, None] * own
    correct = np.concatenate([[of_judge < JUDGE], parts < ability[:, None]])
    return Judged(
        correct.astype(np.int8), 2 * accuracy + preference * consistency + chance, consistency,
        accuracy,
    )  # fmt: skip


def normal_consistency(correlation: Floats, ability_a: Floats | float, ability_b: Floats) -> Floats:
    """Error consistency of observers who are right where a normal part is below their ability.

    Parameters
    ----------
    correlation : ndarray, shape (pair,)
        Of both parts, in (-1, 1).
    ability_a, ability_b : ndarray or float, shape (pair,)
        In probits, none of them 0.

    Returns
    -------
    ndarray, shape (pair,)
        By Owen's formula for two normal variables below two limits.

    Examples
    --------
    >>> normal_consistency(np.array([0.0, 0.5]), 0.3, np.array([0.3, 0.3])).round(3).tolist()
    [0.0, 0.328]
    """
    h, k = np.broadcast_arrays(ability_a, ability_b)
    a, b = special.ndtr(h), special.ndtr(k)
    root = np.sqrt(1 - correlation**2)
    both = (a + b) / 2 - (h * k < 0) / 2
    both -= special.owens_t(h, (k - correlation * h) / (h * root))
    both -= special.owens_t(k, (h - correlation * k) / (k * root))
    cells = np.stack([both, a - both, b - both, 1 - a - b + both], axis=-1)
    return ERROR_CONSISTENCY.value(within(cells))
