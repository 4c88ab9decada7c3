"""Simulators: cells of pairs and of three observers, and whole experiments.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [C75] Csiszar (1975). I-divergence geometry of probability distributions and minimization
   problems. doi:10.1214/aop/1176996454
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.arrays import within as bounded
from alikely._base.checks import check_ranges
from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY, copying

# Regimes of conditions, from most to least difficult, and standard deviations of the ability of
# humans and of the interaction of human and condition: in logits.
MEANS, SDS = np.array([-2.6, -1.0, 0.6, 2.1]), np.array([0.2, 0.3, 0.3, 0.25])
WEIGHTS = np.array([0.2, 0.25, 0.3, 0.25])
ABILITY_SD, INTERACTION_SD = 0.25, 0.05
PLACE = ["dataset", "condition", "item"]


def copy_cell_probabilities(
    accuracy_a: ArrayLike, copy_probability: ArrayLike, own_accuracy: ArrayLike
) -> NDArray[np.float64]:
    """Cell probabilities of the signed copy model [K25]_."""
    p_a, c, q = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in (accuracy_a, copy_probability, own_accuracy))
    )
    check_ranges(
        ("accuracy_a", p_a, 0, 1), ("copy_probability", c, -1, 1), ("own_accuracy", q, 0, 1)
    )
    own = (1 - np.abs(c)) * q
    u, v = bounded(np.maximum(c, 0) + own), bounded(np.maximum(-c, 0) + own)
    return np.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1)


def cell_probabilities(
    accuracy_a: ArrayLike, accuracy_b: ArrayLike, error_consistency: ArrayLike
) -> NDArray[np.float64]:
    """Compute cell probabilities from two accuracies and an error consistency.

    Parameters
    ----------
    accuracy_a : array_like
        Accuracy of the first observer, in (0, 1).
    accuracy_b : array_like
        Accuracy of the second observer, in [0, 1].
    error_consistency : array_like
        True error consistency, which must be in the range that
        `alikely.metrics.bounds.error_consistency_bounds` returns.

    Returns
    -------
    ndarray, shape (..., 4)
        Probabilities of ``n11, n10, n01, n00``.

    Raises
    ------
    ValueError
        If the accuracies and the error consistency are incompatible. The error message states the
        feasible range of error consistency.

    Examples
    --------
    >>> cell_probabilities(0.75, 0.75, 0.5).round(4).tolist()
    [0.6562, 0.0938, 0.0938, 0.1562]
    """
    c, q = copying.copy_parameters(accuracy_a, accuracy_b, error_consistency)
    # If all responses are copied, the independent accuracy is irrelevant.
    return copy_cell_probabilities(accuracy_a, c, np.where(np.isnan(q), 0.5, q))


# Tolerance for rounding at the limits of feasible values.
SLACK = 1e-7
# Sign of each pattern in the three-way interaction: 111, 110, ..., 000.
INTERACTION = np.array([1, -1, -1, 1, -1, 1, 1, -1])


def pattern_cells(n_observers: int, first: int, second: int) -> Floats:
    """Cell of a pair's table for each pattern of correct and incorrect responses."""
    right = np.array(list(itertools.product((1, 0), repeat=n_observers)))
    code = 3 - 2 * right[:, first] - right[:, second]
    return np.asarray(code[:, None] == np.arange(4), dtype=np.float64)


def pattern_probabilities(
    human: float, a: float, b: float, ec_a: float, ec_b: float, ec_models: float = np.nan
) -> Floats:
    """Maximum-entropy probabilities of three observers' correctness, given those of pairs [C75]_.

    Patterns are 111, 110, ..., 000 for a human and two models.
    """
    h_a, h_b = (float(cell_probabilities(human, *of)[0]) for of in ((a, ec_a), (b, ec_b)))
    neither = 1 - human - a - b + h_a + h_b
    # Conditionally independent given the human, if the two models' consistency is unknown.
    a_b = h_a * h_b / human + (a - h_a) * (b - h_b) / (1 - human)
    if not np.isnan(ec_models):
        chance, alone = a * b, (a + b - 2 * a * b) / 2
        low = max(0.0, a + b - 1, h_a + h_b - human, -neither)
        high = min(a, b, h_b - h_a + a, h_a - h_b + b)
        least, most = (low - chance) / alone, (high - chance) / alone
        if not least - SLACK <= ec_models <= most + SLACK:
            raise ValueError(
                f"error consistency of the two models must lie in [{least:.4f}, {most:.4f}] given "
                f"accuracies {human:g}, {a:g}, {b:g}, and {ec_a:g} and {ec_b:g} with the human; "
                f"got {ec_models:g}"
            )
        a_b = float(np.clip(chance + ec_models * alone, low, high))

    def table(all_right: float) -> Floats:
        t = all_right
        last = (human - h_a - h_b + t, a_b - t, a - h_a - a_b + t, b - h_b - a_b + t)
        return bounded(np.array([t, h_a - t, h_b - t, *last, neither + a_b - t]))

    def interaction(all_right: float) -> float:
        return float(INTERACTION @ np.log(np.maximum(table(all_right), 1e-300)))

    low = max(0.0, h_a + h_b - human, h_a + a_b - a, h_b + a_b - b)
    high = min(h_a, h_b, a_b, neither + a_b)
    if high - low < SLACK**2:
        return table((low + high) / 2)
    # Entropy is highest without three-way interaction.
    return table(optimize.brentq(interaction, low, high, xtol=1e-16))


def cohort(
    copy_probability: ArrayLike,
    own_accuracy: ArrayLike,
    human_accuracy: ArrayLike,
    human_consistency: ArrayLike,
    *,
    n_humans: int = 4,
    n_trials: int = 160,
    rng: RandomState = None,
) -> Trials:
    """Simulate humans and models from the cohort copy model.

    Parameters
    ----------
    copy_probability : array_like, shape (model,) or (model, condition)
        Copy probability, in [-1, 1]. A positive value is the probability that a model copies a
        random human. The absolute value of a negative value is the probability that the model
        inverts the human's response.
    own_accuracy : array_like, as `copy_probability`
        Probability of a correct response without copying, in [0, 1].
    human_accuracy : array_like, scalar or shape (condition,)
        Mean accuracy of humans, in (0, 1).
    human_consistency : array_like, as `human_accuracy`
        Human-human error consistency, in (0, 1).
    n_humans, n_trials : int
        Number of humans, and number of trials in each condition; each at least 1.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Trials
        Responses of the observers ``human_1, ...`` and ``model_1, ...`` in the conditions
        ``condition_1, ...``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> trials = cohort([0.0, 0.5], [0.7, 0.7], [0.7, 0.8], 0.4, rng=1)
    >>> trials.n_trials, len(trials.observers)
    (320, 6)
    """
    mu, consistency = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(x, dtype=float)) for x in (human_accuracy, human_consistency))
    )
    c, q = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in (copy_probability, own_accuracy))
    )
    if c.ndim < 2:
        c, q = (np.tile(np.atleast_1d(x)[:, None], len(mu)) for x in (c, q))
    check_ranges(("copy_probability", c, -1, 1), ("own_accuracy", q, 0, 1))
    check_ranges(("n_humans", n_humans, 1, np.inf), ("n_trials", n_trials, 1, np.inf))
    check_ranges(
        ("human_accuracy", mu, 0, 1), ("human_consistency", consistency, 0, 1), strict=True
    )
    if c.shape[1] != len(mu):
        raise ValueError(
            f"copy_probability must have one column per condition: expected {len(mu)}, got "
            f"{c.shape[1]}"
        )
    generator = np.random.default_rng(seed_sequence(rng))
    phi = 1 / consistency - 1
    size = (n_trials, len(mu))
    p = generator.beta(mu * phi, (1 - mu) * phi, size)
    humans = generator.random((n_humans, *size)) < p
    u0 = np.maximum(-c, 0) + (1 - np.abs(c)) * q
    models = generator.random((len(c), *size)) < u0[:, None, :] + c[:, None, :] * p
    correct = np.concatenate([humans, models]).transpose(0, 2, 1).reshape(len(c) + n_humans, -1)
    return Trials.from_correct(
        correct.astype(int),
        observers=[f"human_{i + 1}" for i in range(n_humans)]
        + [f"model_{i + 1}" for i in range(len(c))],
        kind=["human"] * n_humans + ["model"] * len(c),
        condition=[f"condition_{i + 1}" for i in range(len(mu)) for _ in range(n_trials)],
    )


def observers(
    n_humans: int = 4,
    n_models: int = 6,
    n_items: int = 160,
    conditions: Mapping[str, float] | None = None,
    *,
    n_classes: int = 16,
    correlation: float = 0.4,
    spread: float = 1.2,
    abilities: Sequence[float] | None = None,
    families: Sequence[str] | None = None,
    no_response: float = 0.0,
    rng: RandomState = None,
) -> Trials:
    """Simulate an experiment in which observers of the same kind find the same items difficult.

    Each item has one easiness for humans and one for models, and the two are correlated. An
    observer knows the answer with probability ``Phi(condition + ability + spread * item)`` and
    otherwise guesses. Incorrect responses are drawn from the average of two distributions:
    one shared by all observers, and one specific to the kind of observer.

    Parameters
    ----------
    n_humans, n_models : int
        Number of humans and number of models.
    n_items : int
        Number of items in each condition. Every observer sees each item once.
    conditions : mapping of str to float, optional
        Easiness of each condition in probits. Default: ``{"clean": 2.0, "noise": 0.4}``.
    n_classes : int
        Number of classes, at least 2.
    correlation : float
        Correlation between the easiness of items for humans and for models, in [-1, 1].
    spread : float
        Standard deviation of the items' easiness in probits.
    abilities : sequence of float, optional
        Ability of each observer in probits, humans first. Default: draws from a normal distribution
        with mean 0 and SD 0.2.
    families : sequence of str, optional
        Family of each observer, stored as the label ``family``. Default: the observer's kind.
    no_response : float
        Proportion of trials to which a human does not respond, in [0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Trials

    Raises
    ------
    ValueError
        If an argument is out of range or has the wrong length.

    Examples
    --------
    >>> observers(n_humans=2, n_models=3, n_items=50, rng=1)
    <Trials: 5 observers, 100 trials, 16 classes>
    """
    eases = {"clean": 2.0, "noise": 0.4} if conditions is None else dict(conditions)
    n_observers = n_humans + n_models
    check_ranges(
        ("number of observers", n_observers, 1, np.inf), ("n_items", n_items, 1, np.inf),
        ("n_classes", n_classes, 2, np.inf), ("correlation", correlation, -1, 1),
    )  # fmt: skip
    if not 0 <= no_response < 1:
        raise ValueError(f"no_response must lie in [0, 1), got {no_response}")
    for name, values in (("abilities", abilities), ("families", families)):
        if values is not None and len(values) != n_observers:
            raise ValueError(f"{name} must have {n_observers} entries, got {len(values)}")
    generator = np.random.default_rng(seed_sequence(rng))
    kind = np.repeat(["human", "model"], [n_humans, n_models])
    is_model = (kind == "model").astype(int)
    ability = generator.normal(0, 0.2, n_observers) if abilities is None else np.array(abilities)

    n_trials = n_items * len(eases)
    truth = np.tile(np.arange(n_items) % n_classes, len(eases))
    shared = generator.standard_normal((2, n_trials))
    other = correlation * shared[0] + np.sqrt(1 - correlation**2) * shared[1]
    ease = np.repeat(list(eases.values()), n_items) + spread * np.stack([shared[0], other])
    knows = generator.random((n_observers, n_trials)) < special.ndtr(
        ability[:, None] + ease[is_model]
    )
    guess = generator.integers(0, n_classes, (n_observers, n_trials))
    confusion = _confusions(generator, n_classes)[is_model[:, None], truth]
    wrong = (generator.random((n_observers, n_trials, 1)) > confusion.cumsum(axis=-1)).sum(axis=-1)
    response = np.where(knows | (guess == truth), truth, np.minimum(wrong, n_classes - 1))

    width = len(str(n_classes - 1))
    classes = np.array([f"class_{k:0{width}d}" for k in range(n_classes)], dtype=object)
    answers = classes[response]
    silent = generator.random((n_observers, n_trials)) < no_response * (1 - is_model)[:, None]
    answers[silent] = None
    names = [f"human_{i + 1}" for i in range(n_humans)] + [
        f"model_{i + 1}" for i in range(n_models)
    ]
    return Trials.from_arrays(
        answers,
        classes[truth],
        observers=names,
        kind=kind.tolist(),
        classes=classes.tolist(),
        condition=np.repeat(list(eases), n_items).tolist(),
        item=[f"{name}_{i:04d}" for name in eases for i in range(n_items)],
        labels={"family": list(kind if families is None else families)},
    )


def detection_experiment(
    n_observers: int = 45,
    n_items: int = 160,
    n_repeats: int = 2,
    n_alternatives: int = 16,
    *,
    rho: Mapping[str, float] | None = None,
    strength_mean: float = 1.6,
    strength_sd: float = 1.6,
    ability_sd: float = 0.3,
    log_gain_sd: float = 0.2,
    stable_sd: float = 1.2,
    rng: RandomState = None,
) -> tuple[Trials, pd.DataFrame]:
    """Simulate noisy observers' responses to items, and the decision margins of models [GS66]_.

    The defaults give an accuracy of about 0.49 and match the self-consistency (kappa 0.54) and
    error consistency (0.31) of 45 participants in a 16-alternative experiment with 160 images
    [AK24]_. With the following arguments, simulated accuracy also matches the participants'
    accuracy (0.80)::

        detection_experiment(strength_mean=3.85, strength_sd=1.9, stable_sd=1.25)

    Parameters
    ----------
    n_observers, n_items, n_repeats : int
        Numbers of observers, items and repeats; at least 1, 5 and 1, respectively.
    n_alternatives : int
        Number of alternatives, at least 2.
    rho : mapping of str to float, optional
        Mapping from the name of each model to the correlation between its margins and the item
        strengths (easiness) shared by all observers.
    strength_mean, strength_sd : float
        Mean and standard deviation of the item strengths shared by all observers, in units of the
        standard deviation of the noise in the evidence for each alternative.
    ability_sd, log_gain_sd : float
        Standard deviations, across observers, of ability and of the logarithm of the gain that
        scales item strengths.
    stable_sd : float
        Standard deviation of an observer's item strengths around the shared ones. An observer's
        deviation for an item is the same in all repeats.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Responses of human observers named ``human_1``, ``human_2`` and so on. Each response is the
        alternative for which the normally distributed evidence is largest.
    margins : pandas.DataFrame
        Margins drawn from a standard normal distribution, with the columns ``observer``,
        ``dataset``, ``condition``, ``item`` and ``margin``.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> trials, margins = detection_experiment(5, 20, rho={"net": 0.6}, rng=1)
    >>> trials, len(margins)
    (<Trials: 5 observers, 40 trials, 16 classes>, 20)
    """
    models = dict(rho or {})
    check_ranges(
        ("n_observers", n_observers, 1, np.inf), ("n_items", n_items, 5, np.inf),
        ("n_repeats", n_repeats, 1, np.inf), ("n_alternatives", n_alternatives, 2, np.inf),
        *((f"rho of {name!r}", value, -1, 1) for name, value in models.items()),
    )  # fmt: skip
    if min(strength_sd, ability_sd, log_gain_sd, stable_sd) < 0:
        raise ValueError("standard deviations must not be negative")
    generator = np.random.default_rng(seed_sequence(rng))
    z = generator.standard_normal(n_items)
    people = (n_observers, 1)
    gain = strength_sd * np.exp(generator.normal(0, log_gain_sd, people))
    own = generator.normal(strength_mean, ability_sd, people) + gain * z
    own += generator.normal(0, stable_sd, own.shape)
    truth = generator.permutation(np.arange(n_items) % n_alternatives)
    evidence = generator.standard_normal((n_observers, n_repeats, n_items, n_alternatives))
    evidence[..., np.arange(n_items), truth] += own[:, None]
    answer = evidence.argmax(axis=-1).reshape(n_observers, -1)
    items = np.array([f"item_{i + 1}" for i in range(n_items)])
    trials = Trials.from_arrays(
        answer,
        np.tile(truth, n_repeats),
        observers=[f"human_{o + 1}" for o in range(n_observers)],
        classes=range(n_alternatives),
        item=items.tolist() * n_repeats,
        repeat=np.repeat(np.arange(n_repeats), n_items).tolist(),
        kind=["human"] * n_observers,
    )
    places = pd.DataFrame({key: trials.data[key].values[:n_items] for key in PLACE})
    frames = [
        places.assign(
            margin=value * z + np.sqrt(1 - value**2) * generator.standard_normal(n_items)
        ).assign(observer=name)
        for name, value in models.items()
    ]
    columns = ["observer", *PLACE, "margin"]
    margins = (
        pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)
    )
    return trials, margins


def _confusions(rng: np.random.Generator, n_classes: int) -> NDArray[np.float64]:
    """Probabilities of incorrect responses (kind, true class, response), 0 for the true class."""
    common, own = rng.dirichlet(np.full(n_classes, 0.3), n_classes), []
    for _ in range(2):
        rows = common + rng.dirichlet(np.full(n_classes, 0.3), n_classes)
        np.fill_diagonal(rows, 0)
        own.append(rows / rows.sum(axis=1, keepdims=True))
    return np.stack(own)


def difficulty(
    n_levels: int = 8,
    n_datasets: int = 9,
    n_humans: int = 4,
    n_items: int = 160,
    *,
    rng: RandomState = None,
) -> tuple[Trials, NDArray[np.intp]]:
    """Simulate humans in conditions whose logit accuracies come from a mixture of four regimes.

    The first condition of each data set, ``reference``, comes from the easiest regime. The regimes
    of the remaining conditions are drawn at random. Each data set has different humans.

    Parameters
    ----------
    n_levels, n_datasets : int
        Number of conditions in each data set (including the reference condition), and number of
        data sets.
    n_humans, n_items : int
        Number of humans in each data set, and number of trials in each condition.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Correctness of the responses of every human; humans are named ``human_1`` and so on in each
        data set.
    regime : ndarray of int, shape (condition,)
        True regime of each condition, in the order of `alikely.difficulty_spectrum`.

    Raises
    ------
    ValueError
        If one of the arguments is below 1.

    Examples
    --------
    >>> trials, regime = difficulty(rng=1)
    >>> trials, regime.shape
    (<Trials: 4 observers, 11520 trials, correctness only>, (72,))
    """
    numbers = {"n_levels": n_levels, "n_datasets": n_datasets}
    numbers |= {"n_humans": n_humans, "n_items": n_items}
    check_ranges(*((name, value, 1, np.inf) for name, value in numbers.items()))
    generator = np.random.default_rng(seed_sequence(rng))
    n_conditions = n_datasets * n_levels
    regime = generator.choice(len(MEANS), n_conditions, p=WEIGHTS)
    regime[::n_levels] = len(MEANS) - 1
    ease = generator.normal(MEANS[regime], SDS[regime]).reshape(n_datasets, 1, n_levels)
    ability = generator.normal(0, ABILITY_SD, (n_datasets, n_humans, 1))
    own = generator.normal(0, INTERACTION_SD, (n_datasets, n_humans, n_levels))
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

    A model knows the answer if its ability on the question exceeds the question's difficulty;
    otherwise, the model guesses. A model's ability on a question is its general ability plus
    question-specific random effects of its family and of the model. Guesses depend on how
    attractive each incorrect option is, and on the option letters that the model prefers.

    Parameters
    ----------
    n_models, n_families, n_questions : int
        Numbers of models, families and questions. Families have approximately equal sizes.
    n_options : int
        Number of options per question, from 2 to 10.
    shared : float
        A model's ability varies from question to question. `shared` is the fraction of this
        variance that models of the same family have in common, in [0, 1].
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


# Accuracy of the average reader and of the AI, and correlation of their evidence by modality.
ACCURACY, CORRELATION = 0.75, (0.6, 0.4)
# Number of quadrature nodes in each of the two dimensions of a population of readers.
N_NODES = 24
NEAR = 1e-15


def reader_study(
    n_readers: int = 6,
    n_cases: int = 150,
    *,
    spread: float = 0.3,
    rng: RandomState = None,
) -> tuple[Trials, tuple[float, float]]:
    """Simulate a fully crossed reader study with two modalities.

    All readers and an AI read every case in both modalities. Readers differ in accuracy and in how
    strongly their evidence correlates with the AI's evidence. The average reader and the AI each
    have an accuracy of 0.75, and the correlation between their evidence is 0.6 in modality A and
    0.4 in modality B.

    Parameters
    ----------
    n_readers, n_cases : int
        Number of readers and number of cases, each at least 1.
    spread : float
        How much readers differ: standard deviation of their response criteria (in standard
        deviations of the evidence), and of Fisher's z of their correlation with the AI's evidence.
        A reader's values of Fisher's z in the two modalities have a correlation of 0.5. If `spread`
        is 0, readers have identical parameters.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Responses of the readers ``reader_0, ...`` (kind human) and of ``AI`` (kind model) in the
        conditions ``A`` and ``B``.
    error_consistency : (float, float)
        Mean error consistency in the population of readers, for each modality.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> trials, truth = reader_study(3, 40, spread=0, rng=1)
    >>> trials.data.sizes["trial"], np.round(truth, 3).tolist()
    (80, [0.384, 0.239])
    """
    check_ranges(
        ("n_readers", n_readers, 1, np.inf), ("n_cases", n_cases, 1, np.inf),
        ("spread", spread, 0, np.inf),
    )  # fmt: skip
    generator = np.random.default_rng(seed_sequence(rng))
    middle = special.ndtri(ACCURACY)
    common = generator.standard_normal(n_readers)
    limits = middle + spread * generator.standard_normal(n_readers)
    right = []
    # The difficulty of a case in both modalities has correlation 0.7, for the AI and each reader.
    of_ai, of_readers = _twice(generator, 1, n_cases), _twice(generator, n_readers, n_cases)
    for m, rho in enumerate(CORRELATION):
        own = (common + generator.standard_normal(n_readers)) / np.sqrt(2)
        r = np.tanh(np.arctanh(rho) + spread * own)[:, None]
        evidence = r * of_ai[m] + np.sqrt(1 - r**2) * of_readers[m]
        right.append(np.concatenate([evidence < limits[:, None], of_ai[m] < middle]))
    trials = Trials.from_correct(
        np.concatenate(right, axis=1),
        observers=[*(f"reader_{i}" for i in range(n_readers)), "AI"],
        kind=["human"] * n_readers + ["model"],
        item=[f"case_{i}" for i in range(n_cases)] * 2,
        condition=["A"] * n_cases + ["B"] * n_cases,
    )
    one, other = (_population(rho, spread, middle) for rho in CORRELATION)
    return trials, (one, other)


def _twice(generator: np.random.Generator, n: int, n_cases: int) -> Floats:
    """Evidence of `n` observers in two modalities, with correlation 0.7."""
    both = generator.standard_normal((3, n, n_cases))
    return np.asarray(np.sqrt(0.7) * both[:1] + np.sqrt(0.3) * both[1:])


def _population(rho: float, spread: float, middle: float) -> float:
    """Mean error consistency with the AI over readers, by Gauss-Hermite quadrature."""
    nodes, weights = normal_nodes(N_NODES)
    r = np.tanh(np.arctanh(rho) + spread * nodes)[:, None]
    return float(weights @ normal_consistency(r, middle + spread * nodes, middle) @ weights)


def normal_consistency(correlation: Floats | float, a: Floats | float, b: Floats | float) -> Floats:
    """Error consistency of observers whose response is correct if evidence is below a criterion."""
    # The formula is undefined at the limits of correlation and at criteria of 0; nearby it is
    # defined.
    r = np.clip(correlation, -1 + NEAR, 1 - NEAR)
    h, k = (np.where(np.equal(x, 0), NEAR, x) for x in (a, b))
    p_a, p_b, root = special.ndtr(h), special.ndtr(k), np.sqrt(1 - r**2)
    # Owen's T gives the bivariate normal probability that both are correct.
    both = (p_a + p_b) / 2 - (h * k < 0) / 2
    both = both - special.owens_t(h, (k - r * h) / (h * root))
    both = both - special.owens_t(k, (h - r * k) / (k * root))
    p_a, p_b = np.broadcast_arrays(p_a, p_b, both)[:2]
    cells = np.stack([both, p_a - both, p_b - both, 1 - p_a - p_b + both], axis=-1)
    return ERROR_CONSISTENCY.value(bounded(cells))


def repeated_answers(
    n_items: int = 160,
    n_repeats: tuple[int, int] = (1, 5),
    *,
    accuracy: tuple[float, float] = (0.75, 0.75),
    correlation: float = 0.6,
    within: float = 0.5,
    rng: RandomState = None,
) -> tuple[Trials, float]:
    """Simulate two observers who respond to the same items several times.

    Each observer has normally distributed evidence for every item, and the evidence is correlated
    between observers. For every response, independent noise is added to the evidence. A response is
    correct if the sum of evidence and noise is below a decision criterion, which follows from the
    accuracy.

    Parameters
    ----------
    n_items : int
        Number of items, at least 1.
    n_repeats : (int, int)
        Number of responses of each observer to each item, at least 1.
    accuracy : (float, float)
        Accuracy of each observer, in (0, 1).
    correlation : float
        Correlation between the evidence of the two observers, in [-1, 1].
    within : float
        Fraction of the variance of a response that is due to the item, in [0, 1]. If `within` is 1,
        an observer always gives the same response to an item; if `within` is 0, responses do not
        depend on the item.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Responses of observers ``a`` and ``b``. If one observer responded to an item more often than
        the other, the additional responses are treated as trials that the other observer was not
        shown.
    error_consistency : float
        Error consistency between individual responses of the two observers, in the population of
        items.

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
    check_ranges(
        ("n_items", n_items, 1, np.inf), ("n_repeats", n_repeats, 1, np.inf),
        ("correlation", correlation, -1, 1), ("within", within, 0, 1),
    )  # fmt: skip
    check_ranges(("accuracy", accuracy, 0, 1), strict=True)
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
    # Single responses are normal with this correlation.
    return trials, float(normal_consistency(within * correlation, *limits))
