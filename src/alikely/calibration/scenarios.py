"""Simulated data with known true values for each kind of metric, as the entries of one result.

References
----------
.. [DS79] Dawid, Skene (1979). Maximum likelihood estimation of observer error-rates using the EM
   algorithm. doi:10.2307/2346806
.. [G25] Goel, Strüber, Auzina, Chandra, Kumaraguru, Kiela, Prabhu, Bethge, Geiping (2025). Great
   models think alike and this undermines AI oversight. doi:10.48550/arXiv.2502.04313
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.data.probabilities import softmax
from alikely.data.trials import Trials
from alikely.estimates.pairs import agreement, compare
from alikely.estimates.result import Result
from alikely.metrics import Metric, errors
from alikely.metrics.options import OptionSums
from alikely.metrics.ratings import Readings

# Logit of the correct option, in standard deviations of the logits of a system.
LIKED = 1.0
# Number of questions in a population of probabilities, and its seed: its agreement is known to
# 0.0005.
POPULATION, SEED = 500_000, 17
# Number of items in a population.
ENDLESS = 1e9
# All data sets of a setting as the entries of one result, and the true value.
Analyzed = tuple[Result, float]


class Scenario(NamedTuple):
    """Ranges of the parameters, default settings, and a function that simulates and analyzes."""

    ranges: dict[str, tuple[float, float]]
    settings: list[tuple[float, ...]]
    analyze: Callable[..., Analyzed]


def _conditions(n_datasets: int, n_items: int) -> list[int]:
    return [*np.repeat(np.arange(n_datasets), n_items).tolist()]


def _agreement(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    copy_probability, n_classes, n_joint_errors, peakedness = setting
    wrong = _wrong_rows(n_classes, peakedness)
    true = rng.multinomial(n_joint_errors, np.full(n_classes, 1 / n_classes), n_datasets)
    joint = _joint_labels(copy_probability, wrong)
    counts = rng.multinomial(true, joint.reshape(n_classes, -1)).reshape(n_datasets, *joint.shape)
    entry, truth, a, b = np.repeat(np.indices(counts.shape).reshape(4, -1), counts.ravel(), axis=1)
    # With trials that both get right, the number of joint errors varies over bootstrap replicates.
    trials = Trials.from_arrays(
        np.block([[a, truth], [b, truth]]),
        np.tile(truth, 2),
        classes=range(n_classes),
        condition=np.tile(entry, 2).tolist(),
    )
    value = float(metric.value(errors.label_statistics(joint.sum(axis=0))))
    return compare(trials, metric, **options), value


def _joint_labels(copy_probability: float, wrong: Floats) -> Floats:
    """Probabilities of both labels of a joint error, copied or independent, by true class."""
    own = (1 - copy_probability) * wrong[:, :, None] * wrong[:, None, :]
    return own + copy_probability * np.eye(len(wrong)) * wrong[:, :, None]


def _wrong_rows(n_classes: int, peakedness: float) -> Floats:
    """Distributions of incorrect responses, with the same preferences in all true classes."""
    liking = np.tile((1 - peakedness) ** np.arange(n_classes), (n_classes, 1))
    np.fill_diagonal(liking, 0)
    return np.asarray(liking / liking.sum(axis=1, keepdims=True))


def _true_readings(
    metric: Metric, n_readers: int, accuracy: float, prevalence: float, n_alternatives: int
) -> float:
    """Value for infinitely many items, with readers who err independently [DS79]_."""
    frequency, said = _readers(accuracy, prevalence, n_alternatives)
    equal = float(frequency @ (said**2).sum(axis=1))
    share = frequency @ said
    each = np.tile(share, (n_readers, 1))
    parts = (1, equal, n_readers * equal, share, n_readers * share, each)
    sums = [*(ENDLESS * part for part in parts), n_alternatives]
    return float(metric.value(Readings(*map(np.asarray, sums))))


def _readers(accuracy: float, prevalence: float, n_alternatives: int) -> tuple[Floats, Floats]:
    """Frequencies of the true classes, and of the ratings given each."""
    frequency = np.full(n_alternatives, (1 - prevalence) / (n_alternatives - 1))
    frequency[0] = prevalence
    said = np.full((n_alternatives, n_alternatives), (1 - accuracy) / (n_alternatives - 1))
    np.fill_diagonal(said, accuracy)
    return frequency, said


def _readings(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    n_readers, n_items, accuracy, prevalence, missing, m = setting
    frequency, said = _readers(accuracy, prevalence, m)
    truth = rng.choice(m, n_datasets * n_items, p=frequency)
    ends = said.cumsum(axis=1)[truth]
    codes = (rng.random((n_readers, len(truth), 1)) > ends).sum(axis=2).clip(max=m - 1)
    response: NDArray[Any] = codes.astype(object)
    response[rng.random(codes.shape) < missing] = None
    trials = Trials.from_arrays(
        response, truth, classes=range(m), condition=_conditions(n_datasets, n_items)
    )
    readers: Literal["pairs", "all"] = "pairs" if n_readers == 2 else "all"
    result = agreement(trials, metric, readers=readers, **options)
    value = _true_readings(metric, n_readers, accuracy, prevalence, m)
    return result, value


def _true_options(
    metric: Metric, accuracy: float, n_options: int, copy_probability: float, peakedness: float
) -> float:
    """Value for infinitely many questions; one of two equally accurate systems copies the other."""
    wrong = _wrong_options(n_options, peakedness)
    right = accuracy**2
    alone = right + (1 - accuracy) ** 2 * float(wrong @ wrong)
    both = copy_probability * accuracy + (1 - copy_probability) * right
    same = copy_probability + (1 - copy_probability) * alone
    parts = (1.0, same, accuracy, accuracy, 1.0, 1.0, 1 / (n_options - 1), both)
    return float(metric.value(OptionSums(*(np.asarray(part) for part in parts))))


def _wrong_options(n_options: int, peakedness: float) -> Floats:
    """Probabilities of the incorrect options."""
    wrong = np.full(n_options - 1, (1 - peakedness) / (n_options - 1))
    wrong[0] += peakedness
    return wrong


def _options(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    n_items, accuracy, n_options, copying, peakedness = setting
    n = n_datasets * n_items
    chance = np.append(accuracy, (1 - accuracy) * _wrong_options(n_options, peakedness))
    taken = rng.choice(n_options, (2, n), p=chance)
    taken[1] = np.where(rng.random(n) < copying, taken[0], taken[1])
    # The position of the correct option is irrelevant.
    truth = rng.integers(0, n_options, n)
    trials = Trials.from_arrays(
        (taken + truth) % n_options,
        truth,
        classes=range(n_options),
        condition=_conditions(n_datasets, n_items),
    ).with_options(n_options)
    result = compare(trials, metric, **options)
    value = _true_options(metric, accuracy, n_options, copying, peakedness)
    return result, value


def _probabilities(
    rng: np.random.Generator, n: int, n_options: int, sharing: float, sharpness: float
) -> NDArray[np.float64]:
    """Probabilities of two systems with correlated logits; option 0 is correct."""
    common, own = rng.normal(size=(n, n_options)), rng.normal(size=(2, n, n_options))
    liked = np.sqrt(sharing) * common + np.sqrt(1 - sharing) * own
    liked[..., 0] += LIKED
    return softmax(sharpness * liked)


@cache
def _population(metric: Metric, n_options: int, sharing: float, sharpness: float) -> float:
    a, b = _probabilities(np.random.default_rng(SEED), POPULATION, n_options, sharing, sharpness)
    own = [(p * p).sum(axis=1).mean() for p in (a, b)]
    parts = (
        1.0, (a * b).sum(axis=1).mean(), a[:, 0].mean(), b[:, 0].mean(), *own, 1 / (n_options - 1),
        (a[:, 0] * b[:, 0]).mean(),
    )  # fmt: skip
    return float(metric.value(OptionSums(*(np.asarray(part) for part in parts))))


def _soft_options(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    n_items, n_options, sharing, sharpness = setting
    n = n_datasets * n_items
    p = _probabilities(rng, n, n_options, sharing, sharpness)
    trials = Trials.from_arrays(
        p.argmax(axis=2),
        np.zeros(n, int),
        classes=range(n_options),
        condition=_conditions(n_datasets, n_items),
    ).with_probabilities(p)
    result = compare(trials, metric, **options)
    value = _population(metric, n_options, sharing, sharpness)
    return result, value


SHARE, NUMBER, CLASSES = (0.0, 1.0), (1, 10**6), (3, 10_000)
ITEMS, OPTIONS, PEAKED = (5, 10**6), (2, 10_000), (0.0, 0.99)
# A range is one of integers if its ends are.
SCENARIOS: dict[str, Scenario] = {
    "labels": Scenario(
        {"copy_probability": SHARE, "n_classes": CLASSES, "n_joint_errors": NUMBER,
         "peakedness": PEAKED},
        [(0, 4, 10, 0), (0, 16, 40, 0), (0.3, 16, 10, 0), (0.3, 16, 40, 0), (0.3, 16, 160, 0),
         (0.3, 16, 40, 0.5), (0.8, 16, 40, 0.5), (0.95, 16, 10, 0), (0.3, 3, 20, 0.8),
         (0.8, 4, 10, 0.8)],
        _agreement,
    ),
    # Two and four readers; balanced and rare classes; with and without missing ratings.
    "readings": Scenario(
        {"n_readers": (2, 1_000), "n_items": ITEMS, "accuracy": SHARE, "prevalence": SHARE,
         "missing": PEAKED, "m": OPTIONS},
        [(2, 60, 0.85, 0.5, 0, 2), (2, 60, 0.85, 0.9, 0, 2), (2, 60, 0.85, 0.9, 0.2, 2),
         (4, 40, 0.85, 0.5, 0, 2), (4, 40, 0.85, 0.9, 0, 2), (4, 40, 0.85, 0.9, 0.2, 2)],
        _readings,
    ),
    # Few and many questions; two to ten options; flat or peaked errors; accuracies near 1.
    "options": Scenario(
        {"n_items": ITEMS, "accuracy": SHARE, "n_options": OPTIONS, "copy_probability": SHARE,
         "peakedness": PEAKED},
        [(40, 0.6, 4, 0.0, 0.0), (40, 0.6, 4, 0.5, 0.0), (40, 0.8, 2, 0.5, 0.0),
         (160, 0.3, 4, 0.3, 0.5), (160, 0.6, 4, 0.0, 0.9), (160, 0.6, 4, 0.5, 0.0),
         (160, 0.6, 10, 0.8, 0.5), (160, 0.8, 5, 0.3, 0.0), (160, 0.95, 4, 0.3, 0.0),
         (160, 0.95, 4, 0.8, 0.0), (640, 0.8, 4, 0.3, 0.5), (640, 0.95, 4, 0.5, 0.0)],
        _options,
    ),
    "probabilities": Scenario(
        {"n_items": ITEMS, "n_options": OPTIONS, "sharing": SHARE, "sharpness": (0.0, 100.0)},
        [(20, 4, 0.5, 1.0), (40, 2, 0.5, 1.0), (40, 4, 0.0, 1.0), (40, 4, 0.5, 4.0),
         (160, 4, 0.5, 1.0), (160, 4, 0.9, 4.0), (160, 10, 0.5, 2.0), (640, 4, 0.5, 2.0)],
        _soft_options,
    ),
}  # fmt: skip
