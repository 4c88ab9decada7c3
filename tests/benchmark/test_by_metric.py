"""Accuracies and agreement: bounds given accuracies, and ranks by metrics that use them."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.data.trials import Trials


@pytest.fixture(scope="module")
def trials() -> Trials:
    return al.load_example()


@pytest.fixture(scope="module")
def scores(trials: Trials) -> al.Result:
    return al.benchmark_scores(trials, n_resamples=0, n_draws=0)


def test_scores_include_accuracies(trials: Trials, scores: al.Result) -> None:
    table = scores.summary(columns="all").set_index("system")
    right = trials.data["correct"].values == 1
    condition = trials.data["condition"].values
    by_condition = np.stack([right[:, condition == c].mean(axis=1) for c in np.unique(condition)])
    accuracy = dict(zip(trials.observers, by_condition.mean(axis=0), strict=True))
    for name in scores.observers:
        assert table.loc[name, "accuracy"] == pytest.approx(accuracy[name])
    humans = np.mean([accuracy[f"human_{i}"] for i in range(1, 5)])
    np.testing.assert_allclose(table["accuracy_humans"], humans)
    assert table.loc["human-human", "accuracy"] == pytest.approx(humans)
    np.testing.assert_allclose(table["accuracy_gap"], table["accuracy_humans"] - table["accuracy"])
    result = al.error_consistency(trials, pairs="human-model", n_resamples=0, n_draws=0)
    pairs = result.summary(columns=["kappa_max"])
    mean = pairs.groupby("observer_b")["kappa_max"].mean()
    for name in scores.observers:
        assert table.loc[name, "kappa_max"] == pytest.approx(mean[name])


def test_ranks_that_depend_on_the_metric_are_noted() -> None:
    """Six models that copy; an accurate one copies least, and as much as its accuracy permits."""
    rng, n = np.random.default_rng(1), 4_000
    human = rng.random((6, n)) < 0.6
    people = np.where(rng.random((6, n)) < 0.7, human[:1], human)
    copying = np.array([0.25, *np.full(5, 0.4)])
    own = np.array([0.999, *np.full(5, 0.6)])
    model = np.where(
        rng.random((6, n)) < copying[:, None], human[:1], rng.random((6, n)) < own[:, None]
    )
    made = Trials.from_correct(
        np.concatenate([people, model]).astype(int), kind=["human"] * 6 + ["model"] * 6
    )
    table = al.benchmark.rank_by_metric(
        made, ["error_consistency", "normalized_error_consistency"], generalize_to="images", rng=1
    )
    note = table.set_index("system")["note"]
    noted = note[note != ""].index.unique().tolist()
    ranks = table.pivot(index="system", columns="metric", values="rank")
    for name in noted:
        first, second = (
            table[(table["system"] == name) & (table["metric"] == m)].iloc[0] for m in ranks
        )
        assert first["rank_ub"] < second["rank_lb"] or second["rank_ub"] < first["rank_lb"]
    assert "observer_6" in noted
    assert "by normalized error consistency" in note["observer_6"].iloc[0]
