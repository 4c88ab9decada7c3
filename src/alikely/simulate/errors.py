"""Leaderboards of language models."""

from __future__ import annotations

import numpy as np

from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials
from alikely.simulate.cells import check_ranges

__all__ = ["leaderboard"]


OPTIONS = "ABCDEFGHIJ"
# Gain of ability per unit of log size, and standard deviation of letter preferences in logits.
# Sizes are 1 to 100 billion parameters; families differ in typical size.
SCALING, PREFERENCE = 0.3, 0.5


def leaderboard(
    n_models: int = 400,
    n_families: int = 12,
    n_questions: int = 2_000,
    *,
    n_options: int = 4,
    shared: float = 0.3,
    rng: RandomState = None,
) -> Trials:
    """Simulate models from several families that answer multiple-choice questions.

    A model knows the answer if its ability for the question exceeds the question's difficulty;
    otherwise, the model guesses. The ability is the sum of a random part that the family shares and
    a random part specific to the model. Guesses depend on how attractive each incorrect option is,
    and on the option letters that the model prefers.

    Parameters
    ----------
    n_models, n_families, n_questions : int
        Numbers of models, families and questions. Families have approximately equal sizes.
    n_options : int
        Number of options, from 2 to 10.
    shared : float
        Fraction of the variance of the random parts that is due to the part shared by the family,
        in [0, 1].
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Trials
        Responses of observers of kind ``model``, with the labels ``family`` and ``size`` ("small",
        "medium", "large").

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
    check_ranges(("n_options", n_options, 2, len(OPTIONS)), ("shared", shared, 0, 1))
    generator = np.random.default_rng(seed_sequence(rng))
    family = np.arange(n_models) * n_families // n_models
    typical = generator.normal(0, 1, n_families)
    log_size = np.clip(generator.normal(2.3 + typical[family], 0.8), 0, np.log(100))
    ability = 0.4 + SCALING * (log_size - 2.3) + generator.normal(0, 0.2, n_models)

    hard = generator.normal(0, 1, n_questions)
    of_family = generator.standard_normal((n_families, n_questions))
    own = generator.standard_normal((n_models, n_questions))
    part = np.sqrt(shared) * of_family[family] + np.sqrt(1 - shared) * own
    knows = ability[:, None] - hard + part > 0

    truth = generator.integers(0, n_options, n_questions)
    attraction = generator.normal(0, 1, (n_questions, n_options))
    liking = generator.normal(0, PREFERENCE, (n_models, n_options))
    # The maximum of logits with Gumbel noise has the softmax probabilities.
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
