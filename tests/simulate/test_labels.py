"""Wrong labels of systems: agreement, rows, copies, kinds of items."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.metrics import errors
from studies.simulators.labels import (
    ErrorPopulation,
    label_trials,
    shared_errors,
    shared_label_agreement,
)

ROW = np.array([[0, 0.7, 0.3, 0], [0.2, 0, 0.2, 0.6], [0.5, 0.1, 0, 0.4], [0.1, 0.1, 0.8, 0]])
OTHER = ROW[::-1, ::-1]
COMMON = (ROW + OTHER) / 2


@pytest.mark.parametrize("copying", [0.0, 0.8])
def test_agreement_of_many_errors_is_that_of_the_population(copying: float) -> None:
    rows = [ROW, OTHER, ROW]
    trials = label_trials(
        rows, COMMON, copying, 30_000, error_probability=0.7, rng=int(10 * copying)
    )
    result = al.misclassification_agreement(trials, n_resamples=0, n_draws=0)
    truth = shared_label_agreement(rows, COMMON, copying)
    found, se = (result.estimates[name].values for name in ("estimate", "se"))
    # Truth, of all pairs and with true classes as frequent as they are drawn.
    assert (abs(found - truth[np.triu_indices(3, 1)]) < 4 * se).all()
    number = trials.data["correct"].values == 0
    assert abs(number.mean() - 0.7) < 4 * np.sqrt(0.21 / number.size)


def test_population_without_copying_by_hand() -> None:
    table = sum(np.outer(a, b) for a, b in zip(ROW, OTHER, strict=True))
    found = shared_label_agreement([ROW, OTHER], COMMON, 0)
    assert found[0, 1] == pytest.approx(errors.misclassification_agreement(table).item())


N = 60_000
FIRST = np.array([[0, 0.7, 0.2, 0.1], [0.5, 0, 0.25, 0.25], [0.3, 0.3, 0, 0.4], [0.1, 0.1, 0.8, 0]])
SECOND = np.array(
    [[0, 0.1, 0.1, 0.8], [0.2, 0, 0.6, 0.2], [0.9, 0.05, 0, 0.05], [0.4, 0.3, 0.3, 0]]
)


def mixed() -> ErrorPopulation:
    """Two kinds of items, systems that follow these by different shares."""
    suggested = np.stack([FIRST, SECOND])
    own = np.stack([np.stack([SECOND, FIRST]), np.stack([SECOND, SECOND])])
    return ErrorPopulation(suggested, own, np.array([0.8, 0.3]))


def test_rows_are_those_of_the_population() -> None:
    of, truth = mixed(), np.repeat(np.arange(4), N // 4)
    labels = shared_errors(of, truth, np.ones((2, N), dtype=bool), rng=1)
    for system in range(2):
        found = np.zeros((4, 4))
        np.add.at(found, (truth, labels[system]), 4 / N)
        room = 4 * np.sqrt(of.rows[system] * (1 - of.rows[system]) * 4 / N)
        assert (np.abs(found - of.rows[system]) <= room).all()


def test_agreement_is_of_those_who_follow_and_of_chance() -> None:
    """Also within kinds of items, where own labels hang together."""
    of, truth = mixed(), np.zeros(N, dtype=int)
    a, b = shared_errors(of, truth, np.ones((2, N), dtype=bool), rng=2)
    u, v = of.follows
    by_kind = []
    for kind in range(2):
        s, p, q = of.suggested[kind, 0], of.own[0, kind, 0], of.own[1, kind, 0]
        by_kind.append(
            u * v + u * (1 - v) * s @ q + (1 - u) * v * s @ p + (1 - u) * (1 - v) * p @ q
        )
    wanted = np.mean(by_kind)
    assert (a == b).mean() == pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / N))
