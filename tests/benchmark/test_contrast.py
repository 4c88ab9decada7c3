"""Contrasts of scores: by hand from covariances and draws, levels, names, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scored import covariance

import alikely as al


@pytest.fixture(scope="module")
def scores() -> al.Result:
    trials = al.load_example().select(condition=["blur", "noise"])
    return al.benchmark_scores(trials, n_resamples=2000, n_draws=400, rng=1)


def test_a_difference_equals_its_row_among_all_pairs(scores: al.Result) -> None:
    for population in ("images", "observers", "both"):
        rows = al.benchmark.differences(scores, population, intervals="all").set_index(
            ["system", "other"]
        )  # type: ignore[arg-type]
        row = rows.loc[("model_1", "model_3")]
        found = al.difference(scores, "model_1", "model_3", generalize_to=population).loc[
            "analytic"
        ]  # type: ignore[arg-type]
        assert found["estimate"] == pytest.approx(row["difference"], rel=1e-12)
        assert found["se"] == pytest.approx(row["se"], rel=1e-9)
        assert found["p_value"] == pytest.approx(row["p_value"], rel=1e-9)
        assert found["prob_positive"] == pytest.approx(row["prob_positive"])
        half = stats.t.ppf(0.975, row["df"]) * found["se"]
        assert found["eti95_ub"] == pytest.approx(row["interval_center"] + half)
        assert found["eti95_lb"] == pytest.approx(row["pointwise_ci95_lb"])


def test_draws_are_combined_one_by_one(scores: al.Result) -> None:
    systems = scores.estimates["system"].values.tolist()
    w = np.zeros(len(systems))
    w[[systems.index("model_1"), systems.index("model_2")]] = 0.5
    w[systems.index("ceiling")] = -1
    table = al.difference(scores,
        ["model_1", "model_2"], "ceiling", generalize_to="images", rope=(-0.1, 0.1), ci_prob=0.9,
        intervals=["analytic", "posterior"],
    )  # fmt: skip
    assert table.index.tolist() == ["analytic", "posterior"]
    draws, row = scores.draws("posterior") @ w, table.loc["posterior"]
    tails = np.quantile(draws, [0.05, 0.95])
    np.testing.assert_allclose([row["eti90_lb"], row["eti90_ub"]], tails)
    assert row["prob_positive"] == (draws > 0).mean()
    assert row["rope_mass"] == (np.abs(draws) < 0.1).mean()
    assert row["frac_undefined"] == 0
    assert row["estimate"] == np.median(draws)
    matrix = covariance(scores, "images").values
    assert table.loc["analytic", "se"] == pytest.approx(np.sqrt(w @ matrix @ w), rel=1e-9)
