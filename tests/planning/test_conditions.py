"""Choosing conditions: by hand, by a world that is known, and judged on other halves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import alikely as al
from alikely.planning import choose_conditions
from alikely.planning.choosing import _part, _separation


def world(telling: int = 2, n_conditions: int = 6, n: int = 120, seed: int = 0) -> al.Trials:
    """Models copy people to different degrees in the first conditions, and not in the others."""
    rng = np.random.default_rng(seed)
    rows, place = [], []
    for c in range(n_conditions):
        ease = rng.random(n) < 0.6
        people = np.where(rng.random((6, n)) < 0.8, ease, rng.random((6, n)) < 0.6)
        copying = np.linspace(0, 0.9, 5)[:, None] if c < telling else np.full((5, 1), 0.4)
        models = np.where(rng.random((5, n)) < copying, ease, rng.random((5, n)) < 0.6)
        rows.append(np.vstack([people, models]))
        place += [f"c{c}"] * n
    return al.Trials.from_correct(
        np.hstack(rows).astype(int), kind=["human"] * 6 + ["model"] * 5, condition=place
    )


def test_separation_by_pairs() -> None:
    """The spread over the mean variance of differences, model by model."""
    rng = np.random.default_rng(1)
    score, v = _part(rng.random((3, 90)) < 0.7, rng.random((4, 90)) < 0.7)
    halves = [(v[i, i] + v[j, j] - 2 * v[i, j]) / 2 for i, j in itertools.combinations(range(4), 2)]
    expected = score.var(ddof=1) / np.mean(halves)
    assert _separation([(score, v)]) == pytest.approx(expected)


def test_error_is_that_of_the_mean_over_people() -> None:
    trials = al.load_example().select(condition="noise")
    correct = trials.data["correct"].values == 1
    people = trials.data["kind"].values == "human"
    score, _ = _part(correct[people], correct[~people])
    scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0).summary(generalize_to="images")
    own = scores.set_index("system").loc[[f"model_{k}" for k in range(1, 7)]]
    np.testing.assert_allclose(score, own["estimate"])


@pytest.mark.slow
def test_telling_conditions_come_first() -> None:
    chosen = choose_conditions(world(), n_splits=10, rng=1)
    assert set(chosen["condition"].iloc[:2]) == {"all:c0", "all:c1"}
    two = chosen.set_index("n").loc[2]
    assert two["gain"] > 0
    assert two["gain_lb"] > 0


def test_splits_in_which_nobody_errs_say_nothing() -> None:
    """No warning, and NaN where nothing is defined."""
    rng = np.random.default_rng(1)
    correct = (rng.random((6, 60)) < 0.7).astype(int)
    correct[:2, :30] = 1
    correct[2:4, :30] = 1
    trials = al.Trials.from_correct(
        correct, kind=["human"] * 2 + ["model"] * 4, condition=["a"] * 30 + ["b"] * 30
    )
    found = choose_conditions(trials, n_splits=4, rng=1)
    assert np.isnan(found["held_out"].iloc[-1])
    assert np.isnan(found["gain_lb"].iloc[-1])
