"""Data that models draw, and likelihoods of single trials: by enumeration; what is too large."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy import special, stats

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.models._populations import drawn_totals

Outcome = tuple[int, ...]
N_DRAWS = 20_000
# Graphs that run a few times are not worth compiling.
PLAIN = Mode("py", "fast_compile")


def summed(parts: Iterable[dict[Outcome, float]], width: int) -> dict[Outcome, float]:
    """Distribution of the sum of independent counts."""
    found: dict[Outcome, float] = {(0,) * width: 1.0}
    for part in parts:
        after: dict[Outcome, float] = defaultdict(float)
        for (so_far, p), (more, q) in itertools.product(found.items(), part.items()):
            after[tuple(a + b for a, b in zip(so_far, more, strict=True))] += p * q
        found = after
    return found


def fits(drawn: np.ndarray, wanted: dict[Outcome, float]) -> float:
    """p-value of Pearson's test; outcomes of fewer than 5 draws together."""
    assert sum(wanted.values()) == pytest.approx(1)
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= set(wanted)
    n = len(drawn)
    pairs = [(seen[outcome], n * p) for outcome, p in wanted.items()]
    often = [pair for pair in pairs if pair[1] >= 5]
    rest = np.array([pair for pair in pairs if pair[1] < 5]).reshape(-1, 2).sum(axis=0)
    if rest[1] >= 5:
        often.append(tuple(rest))
    observed, expected = np.array(often).T
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(often) - 1))


def one_trial(odds: np.ndarray, who: list[int], s: int) -> dict[Outcome, float]:
    """Which of the humans are right, given how many."""
    sets = [
        (tuple(int(h in chosen) for h in range(len(odds))), float(np.prod(odds[list(chosen)])))
        for chosen in itertools.combinations(who, s)
    ]
    total = sum(weight for _, weight in sets)
    return {outcome: weight / total for outcome, weight in sets}


def test_drawn_totals_have_the_distribution_of_single_trials() -> None:
    """Two conditions, in one of which a human is missing."""
    effect = np.array([-1.5, 0.2, 0.9, 0.4])
    seats = np.array([[0, 1, 2, 3], [3, 0, 2, -1]])
    n_by_right = np.array([[1, 2, 1, 1, 1], [2, 1, 2, 0, 0]])
    drawn = drawn_totals(effect, seats, n_by_right, np.random.default_rng(1), (N_DRAWS, 2))
    for c in range(2):
        who = seats[c][seats[c] >= 0].tolist()
        trials = [
            one_trial(np.exp(effect), who, s) for s, n in enumerate(n_by_right[c]) for _ in range(n)
        ]
        assert fits(drawn[:, c], summed(trials, 4)) > 1e-4
    # As many right answers as there are, and nobody certain of rounding.
    np.testing.assert_array_equal(drawn.sum(axis=-1), [(n_by_right @ np.arange(5))] * N_DRAWS)
    certain = drawn_totals(effect, seats, np.array([0, 0, 0, 5, 0]), np.random.default_rng(1))
    assert certain[1].tolist() == [5, 0, 5, 5]


def humans(n_trials: int, n_conditions: int) -> xr.Dataset:
    """Three humans of unlike accuracy and a model."""
    rng = np.random.default_rng(3)
    ease = rng.normal(0.5, 1, (n_conditions, n_trials))
    log_odds = np.array([-0.8, 0.1, 0.7, 0.3])[:, None, None] + ease
    correct = (rng.random(log_odds.shape) < special.expit(log_odds)).reshape(4, -1).astype(int)
    return cohort_counts(
        al.Trials.from_correct(
            correct,
            kind=["human"] * 3 + ["model"],
            condition=np.repeat([f"c{c}" for c in range(n_conditions)], n_trials),
        )
    )


def density(model: pm.Model, name: str, point: dict[str, Any]) -> np.ndarray:
    function = model.compile_fn(
        model.logp(vars=[model[name]], sum=False)[0],
        inputs=model.value_vars,
        on_unused_input="ignore",
        mode=PLAIN,
    )
    return np.asarray(function(point))


@pytest.mark.slow
def test_who_was_right_reads_its_counts_from_the_data() -> None:
    """New data change the likelihood; totals that are none of these counts are impossible."""
    counts = humans(20, 2)
    model = al.models.cohort(counts, human_effects=True)
    point = model.initial_point()
    totals, by_right = model["human_totals"].get_value(), model["human_data_3"].get_value()
    with model:
        pm.set_data({"human_totals": totals[::-1], "human_data_3": by_right[::-1]})
    other = density(model, "who_was_right", point)
    # All humans alike: each set of right ones is as probable as any other of its size.
    wanted = -(by_right[::-1] * np.log([1, 3, 3, 1])).sum(axis=-1)
    np.testing.assert_allclose(other, wanted)
    with model:
        pm.set_data({"human_totals": totals + 1})
    assert (density(model, "who_was_right", point) == -np.inf).all()
