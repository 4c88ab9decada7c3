"""A judge, candidates that share some of its errors, and scores that favor those."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from studies.simulators.trees import normal_consistency

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
    """A judge that scores candidates by accuracy, by how alike they fail, and by chance."""
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
