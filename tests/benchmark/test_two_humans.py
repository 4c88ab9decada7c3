"""Two humans: what cannot be said of new ones is explained, and the rest is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import alikely as al


@pytest.fixture(scope="module")
def scores() -> al.Result:
    trials = al.load_example()
    humans = trials.select(kind="human").observers[:2]
    models = trials.select(kind="model").observers
    return al.benchmark_scores(
        trials.select(observer=[*humans, *models]), n_resamples=0, n_draws=0, rng=1
    )


@pytest.mark.parametrize(
    "asked",
    [
        lambda scores, **who: al.benchmark.differences(scores, **who),
        lambda scores, **who: al.benchmark.ranks(scores, rng=1, **who),
        lambda scores, **who: al.benchmark.test_equality(scores, **who),
        lambda scores, **who: al.benchmark.test_difference(scores, "model_1", "model_2", **who)[
            "sentence"
        ],
        lambda scores, **who: al.benchmark.differences(
            scores, groups={f"model_{i}": "ab"[i % 2] for i in range(1, 7)}, **who
        ),
    ],
)
def test_differences_for_new_humans_are_refused_with_the_reason(
    scores: al.Result, asked: Callable[..., Any]
) -> None:
    with pytest.raises(ValueError, match=r"only 2 humans: .* pass generalize_to='images'"):
        asked(scores)
    asked(scores, generalize_to="images")
