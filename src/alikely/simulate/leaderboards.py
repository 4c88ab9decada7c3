"""Leaderboards of language models: many models, many questions, families that fail alike."""

from __future__ import annotations

import numpy as np

from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials

__all__ = ["leaderboard"]

OPTIONS = "ABCDEFGHIJ"


def leaderboard(
    n_models: int = 400,
    n_families: int = 12,
    n_questions: int = 2_000,
    *,
    n_options: int = 4,
    shared: float = 0.3,
    difficulty: float = 1.0,
    scaling: float = 0.3,
    preference: float = 0.5,
    rng: RandomState = None,
) -> Trials:
    """Simulate models of some families that answer multiple-choice questions.

    A model knows the answer where its ability exceeds the question's difficulty by more than a
    part that its family has in common and one of its own. Otherwise it picks an option: questions
    have attractive wrong options, and models prefer some letters.

    Parameters
    ----------
    n_models, n_families, n_questions : int
        Families are of about equal size.
    n_options : int
        From 2 to 10.
    shared : float
        Share of a model's own part, in variance, that its family has in common, in [0, 1].
    difficulty : float
        Standard deviation of difficulties; the own part has 1.
    scaling : float
        Gain of ability for each factor of e in size; sizes run from 1 to 100 billion parameters.
        Families prefer other sizes, so that family and accuracy go together.
    preference : float
        Standard deviation of models' preferences for letters, in logits.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Trials
        Of kind ``model``, with the labels ``family`` and ``size`` ("small", "medium", "large").

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> leaderboard(24, 3, 100, rng=1)
    <Trials: 24 observers, 100 trials, 4 classes>
    """
    if not 1 <= n_families <= n_models or n_models < 2 or n_questions < 1:
        raise ValueError(
            "a leaderboard needs at least 2 models, 1 question, and families of at least 1 model; "
            f"got {n_models}, {n_questions} and {n_families}"
        )
    if not 2 <= n_options <= len(OPTIONS):
        raise ValueError(f"n_options must be from 2 to {len(OPTIONS)}, got {n_options}")
    if not 0 <= shared <= 1:
        raise ValueError(f"shared must lie in [0, 1], got {shared}")
    generator = np.random.default_rng(seed_sequence(rng))
    family = np.arange(n_models) * n_families // n_models
    typical = generator.normal(0, 1, n_families)
    log_size = np.clip(generator.normal(2.3 + typical[family], 0.8), 0, np.log(100))
    ability = 0.4 + scaling * (log_size - 2.3) + generator.normal(0, 0.2, n_models)

    hard = generator.normal(0, difficulty, n_questions)
    of_family = generator.standard_normal((n_families, n_questions))
    own = generator.standard_normal((n_models, n_questions))
    part = np.sqrt(shared) * of_family[family] + np.sqrt(1 - shared) * own
    knows = ability[:, None] - hard + part > 0

    truth = generator.integers(0, n_options, n_questions)
    attraction = generator.normal(0, 1, (n_questions, n_options))
    liking = generator.normal(0, preference, (n_models, n_options))
    # The largest of logits with Gumbel noise is drawn with the probabilities of their softmax.
    picked = np.empty((n_models, n_questions), dtype=np.int64)
    for model in range(n_models):
        logits = attraction + liking[model] + generator.gumbel(size=attraction.shape)
        picked[model] = logits.argmax(axis=1)
    answers = np.where(knows, truth, picked)

    letters = np.array(list(OPTIONS[:n_options]), dtype=object)
    names = [f"family{f + 1:02d}-{m + 1:03d}" for m, f in enumerate(family)]
    third = np.searchsorted([np.log(7), np.log(30)], log_size)
    return Trials.from_arrays(
        letters[answers],
        letters[truth],
        observers=names,
        kind=["model"] * n_models,
        classes=letters.tolist(),
        item=[f"question_{q:05d}" for q in range(n_questions)],
        labels={
            "family": [f"family{f + 1:02d}" for f in family],
            "size": np.array(["small", "medium", "large"])[third].tolist(),
        },
    )
