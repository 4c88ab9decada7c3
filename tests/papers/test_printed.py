"""Leaderboards without trials: single models, comparison with trials, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.papers import reconstruct_leaderboard

BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    return al.load_example().select(condition=["blur", "noise"])


def printed_scores(trials: al.Trials) -> pd.DataFrame:
    """Scores that a leaderboard would print for these trials."""
    mixed = al.error_consistency(trials, "human-model", **BARE).summary()
    alike = al.error_consistency(trials, "human-human", **BARE).summary()
    keys = ["dataset", "condition"]
    score = mixed.groupby([*keys, "observer_b"])["estimate"].mean().rename("score").reset_index()
    ceiling = alike.groupby(keys)["estimate"].mean().rename("ceiling").reset_index()
    table = score.merge(ceiling, on=keys).rename(columns={"observer_b": "system"})
    table["score"] /= table["ceiling"]
    return table[["system", *keys, "score"]]


def test_estimates_agree_with_the_benchmark(trials: al.Trials) -> None:
    scores = al.benchmark_scores(trials, **BARE).summary().set_index("system")["estimate"]
    found = reconstruct_leaderboard(printed_scores(trials), trials, n_samples=100, rng=1)
    for _, own in found.groupby("scheme"):
        expected = scores[own["system"]].to_numpy()
        np.testing.assert_allclose(own["estimate"], expected, atol=1e-12)
        assert own["rank"].is_monotonic_increasing
        assert (own["rank_lb"] <= own["rank"]).all()
        assert (own["rank"] <= own["rank_ub"]).all()


@pytest.mark.slow
def test_the_width_is_that_of_a_single_reconstruction(trials: al.Trials) -> None:
    table = printed_scores(trials)
    name = table["system"].iloc[0]
    own = table[table["system"] == name]
    found = reconstruct_leaderboard(own, trials, n_samples=2_000, rng=1).set_index("scheme")
    alike = al.error_consistency(trials, "human-human", **BARE).summary()
    top = alike.groupby("condition")["estimate"].mean()[own["condition"]]
    people = trials.select(kind="human").data
    right = pd.DataFrame((people["correct"].values == 1).T, index=people["condition"].values)
    accuracy = right.groupby(level=0).mean().loc[own["condition"]].to_numpy()
    one = al.papers.reconstruct_score(own["score"], top, accuracy, 160, rng=2)
    width = found.loc["shared trials", "ci95_ub"] - found.loc["shared trials", "ci95_lb"]
    # Quantiles of 2,000 draws have an error of 4%, the normal width of as many 1.6%.
    assert width == pytest.approx(one.upper - one.lower, rel=4 * np.hypot(0.04, 0.016))


@pytest.mark.slow
def test_22_models_against_their_trials(shared_data: Path) -> None:
    """Coverage of intervals of both schemes if all images are resampled."""
    data = al.datasets.model_vs_human(shared_data / "model_vs_human")
    data = data.select(
        dataset=["contrast", "high-pass", "low-pass", "rotation", "sketch", "stylized"]
    )
    too_hard = {"contrast": ["c100", "c01"], "high-pass": ["0.4", "0.45", "inf"]}
    data = al.exclude_conditions(data, too_hard | {"low-pass": ["0", "40"]})
    table = printed_scores(data)
    found = reconstruct_leaderboard(table, data, n_samples=100, rng=1)
    assert found["system"].nunique() == 22
    truth = al.benchmark_scores(data, n_resamples=0, n_draws=0)
    se = truth.summary(generalize_to="images").set_index("system")["se"]
    covered = {}
    for scheme, own in found.groupby("scheme", sort=False):
        ratio = own["se"].to_numpy() / se[own["system"]].to_numpy()
        covered[scheme] = round(float((2 * stats.norm.cdf(1.96 * ratio) - 1).mean()), 3)
    assert covered["pairs"] < 0.88
    assert covered["pairs, optimistic"] <= covered["pairs"] + 0.02
    assert covered["shared trials"] > 0.90
    assert covered["shared trials"] > covered["pairs"] + 0.05
