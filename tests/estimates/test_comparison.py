"""Differences, means, model comparison, directed metrics: algebra, dependence, order of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.inference.influence import covariance_of
from alikely.inference.null import log_bayes_factor
from alikely.metrics import ERROR_CONSISTENCY

LIGHT: dict[str, Any] = {"n_resamples": 200, "n_draws": 200, "rng": 3}
QUIET: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}


@pytest.fixture(scope="module")
def two_conditions() -> al.Trials:
    return al.load_example().select(condition=["blur", "noise"])


@pytest.fixture(scope="module")
def result(two_conditions: al.Trials) -> al.Result:
    return al.error_consistency(two_conditions, "human-model", rng=1)


def test_difference_by_every_method(result: al.Result) -> None:
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
    # Posterior probability of the region, not the fraction of the interval.
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
    # All methods have the same spread, up to Monte Carlo error and a prior of two of 160 trials.
    se = table["se"].astype(float)
    assert se["bootstrap"] == pytest.approx(se["analytic"], rel=4 / np.sqrt(2 * 10_000) + 0.02)
    assert se["posterior"] == pytest.approx(se["analytic"], rel=4 / np.sqrt(2 * 4_000) + 0.03)
    everything = al.mean(result)
    assert everything.loc["analytic", "estimate"] == pytest.approx(rows["estimate"].mean())


def test_pairwise_draws_raise_if_trials_are_shared() -> None:
    trials = al.load_example().select(condition="noise")
    prior = {"u": (1, 1), "v": (1, 1)}
    result = al.error_consistency(trials, "human-human", prior=prior, rng=1)
    pairs = result.table["pair"].values[:2]
    assert "posterior" not in al.difference(result, *pairs, intervals="all").index
    row = al.difference(result, *pairs, intervals=["posterior"]).loc["posterior"]
    assert np.isnan(row["estimate"])
    assert "posteriors of comparisons that share trials were sampled separately" in row["note"]


def test_undefined_differences_have_a_note() -> None:
    result = al.error_consistency(al.load_example().select(condition="clean"), "model-model", rng=1)
    methods = ["analytic", "bootstrap", "posterior"]
    table = al.difference(result, "model_1 x model_2", "model_4 x model_5", intervals=methods)
    assert np.isnan(table.loc["analytic", "estimate"])
    assert np.isfinite(table.loc["analytic", ["eti95_lb", "eti95_ub"]].astype(float)).all()
    assert table.loc["bootstrap", "note"].endswith("no defined draws")
    assert np.isfinite(table.loc["posterior", "estimate"])


def test_model_comparison_equals_leave_one_out_refits(result: al.Result) -> None:
    """Compare with conjugate models that are refitted without each trial."""
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


def test_directed_metrics_take_both_orders_of_a_kind(two_conditions: al.Trials) -> None:
    """The mean over pairs of one kind averages both directions."""
    directed = al.compare(two_conditions, "copying", ["human-human", "human-model"], **QUIET)
    once = al.compare(two_conditions, "EC", ["human-human", "human-model"], **QUIET)
    humans = directed.pairs["observer_b"].str.startswith("human")
    assert humans.sum() == 2 * once.pairs["observer_b"].str.startswith("human").sum()
    assert (~humans).sum() == (~once.pairs["observer_b"].str.startswith("human")).sum()
    chosen = directed.pairs[humans]
    turned = chosen.rename(columns={"observer_a": "observer_b", "observer_b": "observer_a"})
    assert set(map(tuple, chosen.values)) == set(map(tuple, turned[chosen.columns].values))
    two = ["human_1", "human_2"]
    both = {"condition": ["noise"], "observer_a": two, "observer_b": two}
    there = directed.pairs[[*both]].isin(both).all(axis=1)
    value = directed.estimates["estimate"].values[there]
    assert len(value) == 2
    assert al.mean(directed, both).loc["analytic", "estimate"] == pytest.approx(value.mean())
    # In requested sets of pairs, the first observer is the reference.
    listed = al.compare(two_conditions, "copying", [("human_2", "human_1")], **QUIET)
    assert set(listed.pairs["observer_a"]) == {"human_2"}


def test_the_order_within_a_pair_does_not_matter(two_conditions: al.Trials) -> None:
    result = al.compare(two_conditions, "EC", "human-human", **LIGHT)
    label = result.table["pair"].values[0]
    a, b = (result.pairs[side][0] for side in ("observer_a", "observer_b"))
    turned = label.replace(f"{a} x {b}", f"{b} x {a}")
    assert turned != label
    pd.testing.assert_frame_equal(al.mean(result, label), al.mean(result, turned))
    named = {"observer_a": a, "observer_b": b}, {"observer_a": b, "observer_b": a}
    pd.testing.assert_frame_equal(al.mean(result, named[0]), al.mean(result, named[1]))
    other = result.table["pair"].values[1]
    pd.testing.assert_frame_equal(
        al.difference(result, label, other), al.difference(result, turned, other)
    )
    # Both orders of the pair.
    of_one = al.mean(result, {"observer": a, "condition": "noise"}).loc["analytic", "estimate"]
    frame = result.summary().query("condition == 'noise'")
    inside = (frame[["observer_a", "observer_b"]] == a).any(axis=1)
    assert inside.sum() == 3
    assert of_one == pytest.approx(frame.loc[inside, "estimate"].mean())


def test_large_tables_have_log_bayes_factors() -> None:
    table = al.data.from_counts([[5500, 250, 250, 1500], [100, 20, 20, 20]])
    result = al.error_consistency(table, n_resamples=0, n_draws=0)
    frame = result.summary(columns=["log_bf10"])
    assert frame["log_bf10"][0] > 709
    assert frame["log_bf10"][1] == pytest.approx(float(log_bayes_factor([100, 20, 20, 20])))
    beta = {"u": (2, 1), "v": (1, 3)}
    with al.options(n_null=0):
        without = al.error_consistency(table, n_resamples=0, n_draws=8, prior=beta, rng=1)
    assert not {"log_bf10", "p_null"} & set(without.estimates)
