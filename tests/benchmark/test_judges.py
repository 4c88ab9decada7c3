"""Judges and the candidates that fail as they do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from judged import Judged, judged_candidates

import alikely as al
from alikely.benchmark.agreement import partial_correlation
from alikely.estimates import square_matrix


def _matrix(judged: Judged) -> al.Result:
    answers = xr.DataArray(judged.correct, dims=("observer", "trial"))
    return al.pairwise_matrix(answers, tests=False, intervals=())


def _table(judged: Judged) -> pd.Series:
    scores = {f"observer_{k + 1}": score for k, score in enumerate(judged.scores.tolist())}
    return al.benchmark.judge_agreement(_matrix(judged), {"observer_0": scores}).iloc[0]


def test_the_plain_partial_correlation_is_that_of_residuals() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=40)
    x, y = z + rng.normal(size=(2, 40))
    residuals = [v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y)]
    expected = np.corrcoef(*residuals)[0, 1]
    assert partial_correlation(x, y, z)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_noise_is_what_two_halves_of_the_questions_do_not_share(sets: Callable[..., int]) -> None:
    """Halves have the same candidates and other noise: their covariance is free of it."""
    n_sets, differences = sets(80, 40), []
    for seed in np.random.default_rng(5).spawn(n_sets):
        judged = judged_candidates(30, 600, 1.0, seed)
        one, other = (judged._replace(correct=judged.correct[:, k::2]) for k in (0, 1))
        value = [square_matrix(_matrix(half), "estimate").values[0, 1:] for half in (one, other)]
        freed = np.var(value[0], ddof=1) * (1 - _table(one)["noise"])
        differences.append(freed - np.cov(*value)[0, 1])
    mean, sd = np.mean(differences), np.std(differences, ddof=1)
    assert abs(mean) < 4 * sd / np.sqrt(n_sets)
    # The noise itself is seen: four such errors are less than half of it.
    assert 4 * sd / np.sqrt(n_sets) < 0.5 * np.var(value[0]) * _table(one)["noise"]


def test_what_is_left_out_is_told() -> None:
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
def test_intervals_hold(
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
    # At least .92, but for 4 Monte Carlo errors.
    assert found >= 0.92 - 4 * np.sqrt(0.92 * 0.08 / n)


def test_scores_may_be_a_table_with_a_column_for_each_judge() -> None:
    judged = judged_candidates(8, 300, 1.0, rng=1)
    matrix = _matrix(judged)
    names = [f"observer_{k + 1}" for k in range(8)]
    of_one = pd.Series(judged.scores, index=names)
    table = pd.DataFrame({"observer_0": of_one, "observer_1": of_one[1:]})
    judge = al.benchmark.judge_agreement
    expected = judge(matrix, {"observer_0": of_one.to_dict(), "observer_1": of_one[1:].to_dict()})
    # A judge's missing score of itself is no score.
    pd.testing.assert_frame_equal(
        judge(matrix, table).drop(columns="note"), expected.drop(columns="note")
    )
