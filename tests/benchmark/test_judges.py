"""Judges, and candidates that make the same errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy import special

import alikely as al
from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark.agreement import partial_correlation
from studies.simulators.trees import normal_consistency

# Latent ability of the judge, in probits; latent correlations of candidates with it.
JUDGE, MIDDLE, SPREAD = 0.8, 0.45, 0.15


class Judged(NamedTuple):
    """Answers (the judge first), scores by the judge, and their true consistency and accuracy."""

    correct: NDArray[np.int8]
    scores: Floats
    consistency: Floats
    accuracy: Floats


def judged_candidates(
    n_candidates: int, n_questions: int, preference: float, rng: RandomState = None
) -> Judged:
    """A judge that scores candidates by accuracy, shared errors and chance."""
    generator = np.random.default_rng(seed_sequence(rng))
    latent = np.clip(generator.normal(MIDDLE, SPREAD, n_candidates), 0.02, 0.9)
    ability = generator.normal(0.5, 0.4, n_candidates) + 0.12 * (latent - MIDDLE) / SPREAD
    consistency = normal_consistency(latent, JUDGE, ability)
    accuracy = special.ndtr(ability)
    chance = generator.normal(0, 0.15, n_candidates)
    of_judge = generator.standard_normal(n_questions)
    own = generator.standard_normal((n_candidates, n_questions))
    parts = latent[:, None] * of_judge + np.sqrt(1 - latent**2)[:, None] * own
    correct = np.concatenate([[of_judge < JUDGE], parts < ability[:, None]])
    return Judged(
        correct.astype(np.int8), 2 * accuracy + preference * consistency + chance, consistency,
        accuracy,
    )  # fmt: skip


def _matrix(judged: Judged) -> al.Result:
    answers = xr.DataArray(judged.correct, dims=("observer", "trial"))
    return al.pairwise_matrix(answers, tests=False, intervals=())


def _table(judged: Judged) -> pd.Series:
    scores = {f"observer_{k + 1}": score for k, score in enumerate(judged.scores.tolist())}
    return al.benchmark.judge_agreement(_matrix(judged), {"observer_0": scores}).iloc[0]


def test_the_plain_partial_correlation_uses_residuals() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=40)
    x, y = z + rng.normal(size=(2, 40))
    residuals = [v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y)]
    expected = np.corrcoef(*residuals)[0, 1]
    assert partial_correlation(x, y, z)[0] == pytest.approx(expected, rel=1e-10)


def test_a_score_of_the_judge_itself_is_noted() -> None:
    judged = judged_candidates(8, 300, 1.0, rng=1)
    matrix = _matrix(judged)
    scores = dict(zip(matrix.observers, [1.0, *judged.scores.tolist()], strict=True))
    row = al.benchmark.judge_agreement(matrix, {"observer_0": scores}).iloc[0]
    assert row["n_candidates"] == 8
    assert "itself" in row["note"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_candidates", "n_questions", "preference"), [(20, 1_000, 0.0), (40, 1_000, 3.0)]
)
def test_intervals_cover(
    n_candidates: int,
    n_questions: int,
    preference: float,
    figure: Callable[[str], None],
    sets: Callable[..., int],
) -> None:
    rng = np.random.default_rng(7)
    many = judged_candidates(100_000, 1, preference, rng=1)
    truth, _ = partial_correlation(many.consistency, many.scores, many.accuracy)
    n = sets(120)
    covered = []
    for seed in rng.spawn(n):
        row = _table(judged_candidates(n_candidates, n_questions, preference, seed))
        covered.append(row["analytic_ci95_lb"] <= truth <= row["analytic_ci95_ub"])
    found = np.mean(covered)
    figure(f"judges, {n_candidates} candidates, preference {preference:g}: covered {found:.3f}")
    # At least 0.92, minus 4 Monte Carlo errors.
    assert found >= 0.92 - 4 * np.sqrt(0.92 * 0.08 / n)
