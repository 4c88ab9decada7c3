"""Answers among options, and their probabilities, of known agreement.

References
----------
.. [G25] Goel, Strüber, Auzina, Chandra, Kumaraguru, Kiela, Prabhu, Bethge, Geiping (2025). Great
   models think alike and this undermines AI oversight. doi:10.48550/arXiv.2502.04313
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.data.probabilities import softmax
from alikely.data.trials import Trials
from alikely.estimates.pairs import compare
from alikely.estimates.result import Result
from alikely.metrics import Metric
from alikely.metrics.option_sums import OptionSums

__all__ = [
    "GRID",
    "NAMES",
    "SOFT_GRID",
    "SOFT_NAMES",
    "analysed_answers",
    "analysed_probabilities",
    "true_agreement_on_options",
]

NAMES = ["n_items", "accuracy", "n_options", "copy_probability", "peakedness"]
# Few and many questions; two to ten options; wrong ones alike or one popular; near the ceiling.
GRID: list[tuple[float, ...]] = [
    (40, 0.6, 4, 0.0, 0.0), (40, 0.6, 4, 0.5, 0.0), (40, 0.8, 2, 0.5, 0.0), (160, 0.3, 4, 0.3, 0.5),
    (160, 0.6, 4, 0.0, 0.9), (160, 0.6, 4, 0.5, 0.0), (160, 0.6, 10, 0.8, 0.5),
    (160, 0.8, 5, 0.3, 0.0), (160, 0.95, 4, 0.3, 0.0), (160, 0.95, 4, 0.8, 0.0),
    (640, 0.8, 4, 0.3, 0.5), (640, 0.95, 4, 0.5, 0.0),
]  # fmt: skip
SOFT_NAMES = ["n_items", "n_options", "sharing", "sharpness"]
SOFT_GRID: list[tuple[float, ...]] = [
    (20, 4, 0.5, 1.0), (40, 2, 0.5, 1.0), (40, 4, 0.0, 1.0), (40, 4, 0.5, 4.0), (160, 4, 0.5, 1.0),
    (160, 4, 0.9, 4.0), (160, 10, 0.5, 2.0), (640, 4, 0.5, 2.0),
]  # fmt: skip
# How much more the right option is liked, in standard deviations of what systems like.
LIKED = 1.0
# Questions of a population of probabilities, and its seed: its agreement is known to .0005.
POPULATION, SEED = 500_000, 17


def true_agreement_on_options(
    metric: Metric, accuracy: float, n_options: int, copy_probability: float, peakedness: float
) -> float:
    """Value over infinitely many questions, of two equally good systems of which one copies."""
    wrong = _wrong(n_options, peakedness)
    right = accuracy**2
    alone = right + (1 - accuracy) ** 2 * float(wrong @ wrong)
    both = copy_probability * accuracy + (1 - copy_probability) * right
    same = copy_probability + (1 - copy_probability) * alone
    parts = (1.0, same, accuracy, accuracy, 1.0, 1.0, 1 / (n_options - 1), both)
    return float(metric.value(OptionSums(*(np.asarray(part) for part in parts))))


def _wrong(n_options: int, peakedness: float) -> Floats:
    """Probabilities of the wrong options."""
    wrong = np.full(n_options - 1, (1 - peakedness) / (n_options - 1))
    wrong[0] += peakedness
    return wrong


def analysed_answers(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> tuple[Result, Floats, Floats]:
    """All data sets of a setting as conditions of one call."""
    n_items, accuracy, n_options, copying, peakedness = setting
    n = n_datasets * n_items
    chance = np.append(accuracy, (1 - accuracy) * _wrong(n_options, peakedness))
    taken = rng.choice(n_options, (2, n), p=chance)
    taken[1] = np.where(rng.random(n) < copying, taken[0], taken[1])
    # Where the right option stands is all one.
    truth = rng.integers(0, n_options, n)
    trials = Trials.from_arrays(
        (taken + truth) % n_options,
        truth,
        classes=range(n_options),
        condition=_conditions(n_datasets, n_items),
    ).with_options(n_options)
    result = compare(trials, metric, **options)
    value = true_agreement_on_options(metric, accuracy, n_options, copying, peakedness)
    return result, np.full(n_datasets, value), np.full(n_datasets, value)


def _conditions(n_datasets: int, n_items: int) -> list[int]:
    return [*np.repeat(np.arange(n_datasets), n_items).tolist()]


def _probabilities(
    rng: np.random.Generator, n: int, n_options: int, sharing: float, sharpness: float
) -> NDArray[np.float64]:
    """Of two systems whose likings have a part in common; option 0 is the right one."""
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


def analysed_probabilities(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> tuple[Result, Floats, Floats]:
    """All data sets of a setting as conditions of one call."""
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
    value = np.full(n_datasets, _population(metric, n_options, sharing, sharpness))
    return result, value, value
