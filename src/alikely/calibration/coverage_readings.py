"""Readings of known agreement, and what the door of agreement says of them.

References
----------
.. [DS79] Dawid, Skene (1979). Maximum likelihood estimation of observer error-rates using the EM
   algorithm. doi:10.2307/2346806
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.data.trials import Trials
from alikely.estimates.pairs import compare
from alikely.estimates.result import Result
from alikely.metrics import Metric
from alikely.metrics.readings import Readings

__all__ = ["GRID", "NAMES", "analysed_readings", "true_agreement"]

NAMES = ["n_readers", "n_items", "accuracy", "prevalence", "missing", "m"]
# Two and four readers; balanced and rare classes; with and without missing readings.
GRID: list[tuple[float, ...]] = [
    (2, 60, 0.85, 0.5, 0, 2), (2, 60, 0.85, 0.9, 0, 2), (2, 60, 0.85, 0.9, 0.2, 2),
    (4, 40, 0.85, 0.5, 0, 2), (4, 40, 0.85, 0.9, 0, 2), (4, 40, 0.85, 0.9, 0.2, 2),
]  # fmt: skip
# Items of a population.
ENDLESS = 1e9


def true_agreement(
    metric: Metric, n_readers: int, accuracy: float, prevalence: float, m: int
) -> float:
    """Value over infinitely many items, of readers who are alike and err independently [DS79]_."""
    frequency, said = _world(accuracy, prevalence, m)
    equal = float(frequency @ (said**2).sum(axis=1))
    share = ENDLESS * (frequency @ said)
    return float(
        metric.value(
            Readings(
                np.asarray(ENDLESS),
                np.asarray(ENDLESS * equal),
                np.asarray(n_readers * ENDLESS * equal),
                share,
                n_readers * share,
                np.tile(share, (n_readers, 1)),
                np.asarray(m),
            )
        )
    )


def _world(accuracy: float, prevalence: float, m: int) -> tuple[Floats, Floats]:
    """Frequencies of the true classes, and of the readings given each."""
    frequency = np.full(m, (1 - prevalence) / (m - 1))
    frequency[0] = prevalence
    said = np.full((m, m), (1 - accuracy) / (m - 1))
    np.fill_diagonal(said, accuracy)
    return frequency, said


def analysed_readings(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> tuple[Result, Floats, Floats]:
    """All data sets of a setting as conditions of one call."""
    n_readers, n_items, accuracy, prevalence, missing, m = setting
    frequency, said = _world(accuracy, prevalence, m)
    truth = rng.choice(m, n_datasets * n_items, p=frequency)
    ends = said.cumsum(axis=1)[truth]
    codes = (rng.random((n_readers, len(truth), 1)) > ends).sum(axis=2).clip(max=m - 1)
    response: NDArray[Any] = codes.astype(object)
    response[rng.random(codes.shape) < missing] = None
    trials = Trials.from_arrays(
        response,
        truth,
        classes=range(m),
        condition=np.repeat(np.arange(n_datasets), n_items).tolist(),
    )
    readers = "pairs" if n_readers == 2 else "all"
    result = compare(trials, metric, readers=readers, no_response="drop", **options)
    value = np.full(n_datasets, true_agreement(metric, n_readers, accuracy, prevalence, m))
    return result, value, value
