"""Answers of systems to the same items: rows, copies, kinds of items."""

from __future__ import annotations

import numpy as np
import pytest

from studies.simulators.labels import ErrorPopulation, shared_errors

N = 60_000
ROW = np.array([[0, 0.7, 0.2, 0.1], [0.5, 0, 0.25, 0.25], [0.3, 0.3, 0, 0.4], [0.1, 0.1, 0.8, 0]])
OTHER = np.array([[0, 0.1, 0.1, 0.8], [0.2, 0, 0.6, 0.2], [0.9, 0.05, 0, 0.05], [0.4, 0.3, 0.3, 0]])


def mixed() -> ErrorPopulation:
    """Two kinds of items, systems that follow these by different shares."""
    suggested = np.stack([ROW, OTHER])
    own = np.stack([np.stack([OTHER, ROW]), np.stack([OTHER, OTHER])])
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


def test_right_answers_are_the_true_classes() -> None:
    truth, wrong = np.arange(4), np.array([[True, False, True, False], [False] * 4])
    a, b = shared_errors(mixed(), truth, wrong, rng=3)
    assert (b == truth).all()
    assert (a != truth).tolist() == wrong[0].tolist()


def test_rounding_leaves_no_label_without_probability() -> None:
    row = np.array([[0, 1 / 3, 2 / 3 - 1e-10, 0], *OTHER[1:]])
    of = ErrorPopulation(row[None], np.stack([[row]]), np.ones(1))
    labels = shared_errors(of, np.zeros(N, dtype=int), np.ones((1, N), dtype=bool), rng=4)
    assert set(np.unique(labels)) == {1, 2}


def test_bad_populations_are_refused() -> None:
    of, wrong = mixed(), np.ones((2, 3), dtype=bool)
    with pytest.raises(ValueError, match="rows of own must be probabilities that sum to 1"):
        shared_errors(of._replace(own=of.own * 2), [0, 1, 2], wrong)
    with pytest.raises(ValueError, match="rows of suggested must be probabilities"):
        shared_errors(of._replace(suggested=np.full((2, 4, 4), 0.25)), [0, 1, 2], wrong)
    with pytest.raises(ValueError, match="own must have a row for each of suggested"):
        shared_errors(of._replace(suggested=of.suggested[:1]), [0, 1, 2], wrong)
    with pytest.raises(ValueError, match=r"of 2 systems and 3 items; got shapes \(2, 4\)"):
        shared_errors(of, [0, 1, 2], np.ones((2, 4), dtype=bool))
    with pytest.raises(ValueError, match=r"follows must lie in \[0, 1\], got \[3.0, 0.5\]"):
        shared_errors(of._replace(follows=np.array([3, 0.5])), [0, 1, 2], wrong)
    with pytest.raises(ValueError, match="truth must be classes from 0 to 3, got 0 to 4"):
        shared_errors(of, [0, 1, 4], wrong)
    with pytest.raises(ValueError, match="rows of own must be probabilities"):
        shared_errors(of._replace(own=of.own * np.nan), [0, 1, 2], wrong)
