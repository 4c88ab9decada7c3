"""Stopping when the posterior is narrow enough."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely import simulate


def test_stopping_is_what_the_looks_of_single_studies_say() -> None:
    rng = np.random.default_rng(2)
    p = simulate.cell_probabilities(0.75, 0.75, 0.5)
    stopped = []
    for _ in range(60):
        cell = rng.choice(4, 800, p=p)
        looks = al.planning.posterior_by_batch(cell < 2, cell % 2 == 0, 100, 0.2, rng=rng)
        stopped.append(looks.loc[looks["stop"], "n_trials"].iloc[0])
    plan = al.planning.sequential_design(0.75, 0.75, 0.5, 0.2, n_datasets=500, rng=3)
    # Of 60 studies here and 500 there.
    assert abs(np.mean(stopped) - plan["expected_trials"][0]) <= 4 * np.std(stopped) / np.sqrt(50)


def test_looks_give_the_front_doors_intervals() -> None:
    rng = np.random.default_rng(4)
    a = rng.random(250) < 0.8
    b = np.where(rng.random(250) < 0.5, a, rng.random(250) < 0.8)
    looks = al.planning.posterior_by_batch(a, b, 100, 0.3, n_draws=20_000, rng=1)
    assert looks["n_trials"].tolist() == [100, 200, 250]
    for _, row in looks.iterrows():
        n = int(row["n_trials"])
        result = al.error_consistency(
            al.Trials.from_correct([a[:n].astype(int), b[:n].astype(int)]),
            n_resamples=0, n_null=0, n_draws=20_000, rng=2,
        )  # fmt: skip
        table = result.summary()
        assert row["estimate"] == pytest.approx(table["estimate"][0])
        assert row["accuracy_a"] == pytest.approx(table["accuracy_a"][0])
        bounds = table.filter(like="posterior_eti").iloc[0].to_numpy()
        # Error of a 2.5 % quantile of 20,000 draws: .0189 sd; the interval is 3.92 sd wide.
        error = np.sqrt(2) * 0.0189 * row["width"] / 3.92
        assert np.abs(row[["lower", "upper"]].to_numpy(float) - bounds).max() <= 4 * error
    assert looks["stop"].tolist() == (looks["width"] <= 0.3).tolist()


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
        ({"n_datasets": 5}, "n_datasets must be at least 100"),
        ({"n_draws": 5}, "n_draws must be at least 100"),
        ({"ec": 1.2}, r"must lie in \[-0.3333, 1.0000\]"),
    ],
)
def test_bad_designs(change: dict[str, object], message: str) -> None:
    given = {"accuracy_a": 0.75, "accuracy_b": 0.75, "ec": 0.5, "width": 0.2} | change
    with pytest.raises(ValueError, match=message):
        al.planning.sequential_design(**given)


@pytest.mark.parametrize(
    ("a", "b", "batch", "message"),
    [
        ([1, 0, 1], [1, 0], 2, "must be of the same trials, got 3 and 2"),
        ([1, 0, 2], [1, 0, 1], 2, "must hold 0"),
        ([1, 0, np.nan], [1, 0, 1], 2, "must hold 0"),
        ([1, 0, 1], [1, 0, 1], 4, "batch must be from 2 to the number of trials, 3"),
    ],
)
def test_bad_answers(a: list[float], b: list[float], batch: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        al.planning.posterior_by_batch(a, b, batch, 0.2)
