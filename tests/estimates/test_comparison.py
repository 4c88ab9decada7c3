"""Differences, means and model comparison: algebra, dependence, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.inference.influence import covariance_of
from alikely.metrics import ERROR_CONSISTENCY


@pytest.fixture(scope="module")
def result() -> al.Result:
    trials = al.load_example().select(condition=["blur", "noise"])
    return al.error_consistency(trials, "human-model", rng=1)


def test_difference_by_every_school(result: al.Result) -> None:
    one, other = "human_1 x model_4 [noise]", "human_1 x model_5 [noise]"
    table = al.difference(result, one, other, rope=(-0.1, 0.1), intervals="all")
    labels = list(result.table["pair"].values)
    i, j = labels.index(one), labels.index(other)
    estimate = result.estimates["estimate"].values
    assert table.loc["analytic", "estimate"] == pytest.approx(estimate[i] - estimate[j], abs=1e-12)
    matrix = covariance_of(
        result.table, ERROR_CONSISTENCY, None, np.eye(result.table.sizes["pair"])
    )
    variance = matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]
    # Pseudo-trials: two to four of 160 in each entry.
    assert table.loc["analytic", "se"] == pytest.approx(np.sqrt(variance), rel=4 / 160)
    draws = result.draws("posterior")[:, i] - result.draws("posterior")[:, j]
    row = table.loc["posterior"]
    np.testing.assert_allclose(
        row[["eti95_lb", "estimate", "eti95_ub"]].astype(float),
        np.quantile(draws, [0.025, 0.5, 0.975]),
        atol=1e-6,
    )
    assert row["prob_positive"] == pytest.approx((draws > 0).mean())
    # Mass of the posterior inside the region, not the share of the interval.
    assert row["rope_mass"] == pytest.approx(((draws > -0.1) & (draws < 0.1)).mean())


def test_exchange_changes_the_sign(result: al.Result) -> None:
    entries = {"observer_b": "model_1"}, {"observer_b": "model_4"}
    there = al.difference(result, *entries, intervals="all")
    back = al.difference(result, *entries[::-1], intervals="all")
    np.testing.assert_allclose(there["estimate"], -back["estimate"], atol=1e-7)
    np.testing.assert_allclose(there["eti95_lb"], -back["eti95_ub"], atol=1e-6)
    assert there.loc["posterior", "prob_positive"] == pytest.approx(
        1 - back.loc["posterior", "prob_positive"]
    )


def test_mean_over_pairs_and_conditions(result: al.Result) -> None:
    chosen = {"observer_b": ["model_1", "model_2"], "condition": "noise"}
    table = al.mean(result, chosen, intervals="all")
    rows = result.summary()
    chosen = rows["observer_b"].isin(["model_1", "model_2"]) & (rows["condition"] == "noise")
    assert table.loc["analytic", "estimate"] == pytest.approx(rows.loc[chosen, "estimate"].mean())
    # Every method sees the same spread, up to Monte Carlo error and the prior's two trials of 160.
    se = table["se"].astype(float)
    assert se["bootstrap"] == pytest.approx(se["analytic"], rel=4 / np.sqrt(2 * 10_000) + 0.02)
    assert se["posterior"] == pytest.approx(se["analytic"], rel=4 / np.sqrt(2 * 4_000) + 0.03)
    everything = al.mean(result)
    assert everything.loc["analytic", "estimate"] == pytest.approx(rows["estimate"].mean())


def test_pairwise_draws_are_refused_where_trials_are_shared() -> None:
    trials = al.load_example().select(condition="noise")
    prior = {"u": (1, 1), "v": (1, 1)}
    result = al.error_consistency(trials, "human-human", prior=prior, rng=1)
    pairs = result.table["pair"].values[:2]
    assert "posterior" not in al.difference(result, *pairs, intervals="all").index
    row = al.difference(result, *pairs, intervals=["posterior"]).loc["posterior"]
    assert np.isnan(row["estimate"])
    assert "posteriors of comparisons that share trials were drawn separately" in row["note"]


def test_undefined_entries_say_so() -> None:
    result = al.error_consistency(al.load_example().select(condition="clean"), "model-model", rng=1)
    methods = ["analytic", "bootstrap", "posterior"]
    table = al.difference(result, "model_1 x model_2", "model_4 x model_5", intervals=methods)
    assert np.isnan(table.loc["analytic", "estimate"])
    assert np.isfinite(table.loc["analytic", ["eti95_lb", "eti95_ub"]].astype(float)).all()
    assert table.loc["bootstrap", "note"].endswith("no defined draws")
    assert np.isfinite(table.loc["posterior", "estimate"])


def test_model_comparison_equals_leaving_out_each_trial(result: al.Result) -> None:
    """Refit both conjugate models without each trial in turn."""
    frame = al.test_copy_model(result)
    for i in (0, 13, 40):
        cells = result.table["cells"].values[i].astype(float)
        copying = independence = 0.0
        for cell in np.repeat(np.arange(4), cells.astype(int)):
            rest = cells - np.eye(4)[cell]
            copying += np.log((rest[cell] + 0.5) / (rest.sum() + 2))
            right = [(rest[0] + rest[1] + 1), (rest[0] + rest[2] + 1)]
            p = [r / (rest.sum() + 2) for r in right]
            a_right, b_right = cell < 2, cell % 2 == 0
            independence += np.log(p[0] if a_right else 1 - p[0])
            independence += np.log(p[1] if b_right else 1 - p[1])
        assert frame.loc[i, "elpd_copying"] == pytest.approx(copying, rel=1e-12)
        assert frame.loc[i, "elpd_independence"] == pytest.approx(independence, rel=1e-12)
        assert frame.loc[i, "elpd_difference"] == pytest.approx(copying - independence, abs=1e-9)
