"""Stopping when the posterior is narrow enough."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely import simulate


def test_stopping_is_what_single_studies_do() -> None:
    """Study by study, with the intervals of `pairwise_draws` after each batch."""
    rng, p = np.random.default_rng(2), simulate.cell_probabilities(0.75, 0.75, 0.5)
    stopped = []
    for _ in range(60):
        looks = rng.multinomial(100, p, 8).cumsum(axis=0)
        draws = al.inference.pairwise_draws(looks, n_draws=1_000, rng=rng)["error_consistency"]
        width = np.ptp(np.quantile(draws, [0.025, 0.975], axis=0), axis=0)
        stopped.append(100 * (1 + np.flatnonzero(width <= 0.2)[0]))
    plan = al.planning.sequential_design(0.75, 0.75, 0.5, 0.2, n_datasets=500, rng=3)
    # Of 60 studies here and 500 there.
    assert abs(np.mean(stopped) - plan["expected_trials"][0]) <= 4 * np.std(stopped) / np.sqrt(50)


def test_studies_end_at_the_most_trials() -> None:
    plan = al.planning.sequential_design(
        0.75, 0.75, 0.5, 0.05, most_trials=250, n_datasets=100, rng=1
    )
    assert plan["unfinished_share"][0] == 1
    assert plan["expected_trials"][0] == 250


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0.0}, r"width must lie in \(0, 2\]"),
        ({"batch": 1}, "whole numbers of at least 2"),
        ({"most_trials": 50}, "at least one batch of 100"),
        ({"n_datasets": 5}, "n_datasets must be whole numbers of at least 100"),
        ({"ec": 1.2}, r"must lie in \[-0.3333, 1.0000\]"),
    ],
)
def test_bad_designs(change: dict[str, object], message: str) -> None:
    given = {"accuracy_a": 0.75, "accuracy_b": 0.75, "ec": 0.5, "width": 0.2} | change
    with pytest.raises(ValueError, match=message):
        al.planning.sequential_design(**given)
