"""The front door and its result: columns, intervals, round trip, seeds, ArviZ."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import alikely as al

mpl.use("Agg")

COLUMNS = [
    "dataset", "condition", "observer_a", "observer_b", "n_trials", "accuracy_a", "accuracy_b",
    "estimate", "se", "accuracy_gap", "kappa_min", "kappa_max", "bias_corrected",
    "analytic_ci95_lb", "analytic_ci95_ub", "bootstrap_eti95_lb",
    "bootstrap_eti95_ub", "posterior_median", "posterior_eti95_lb", "posterior_eti95_ub",
    "frac_undefined", "p_null", "p_null_bh", "p_fisher", "log_bf10",
    "note_codes", "note",
]  # fmt: skip


@pytest.fixture(scope="module")
def result() -> al.Result:
    return al.error_consistency(al.load_example(), pairs="all", rng=1)


def test_summary_has_one_interval_and_one_test_unless_all_are_requested(
    result: al.Result,
) -> None:
    shown = [*COLUMNS[:9], "posterior_median", "posterior_eti95_lb", "posterior_eti95_ub"]
    assert list(result.summary().columns) == [*shown, "p_null", "note"]
    assert list(result.summary(intervals="all").columns) == COLUMNS
    named = result.summary(intervals=["analytic", "bca"], columns="all")
    assert [n for n in named if n.endswith("_lb")] == ["analytic_ci95_lb", "bca_ci95_lb"]


def test_intervals_are_quantiles_of_the_defined_draws(result: al.Result) -> None:
    summary, draws = result.summary(intervals="all"), result.draws("bootstrap")
    for i in (0, 44, 100, 134):
        column = draws[~np.isnan(draws[:, i]), i]
        if len(column) > 1:
            bounds = summary.loc[i, ["bootstrap_eti95_lb", "bootstrap_eti95_ub"]].astype(float)
            np.testing.assert_allclose(bounds, np.quantile(column, [0.025, 0.975]), atol=1e-6)


def test_undefined_estimates_say_why_and_the_posterior_stays(result: al.Result) -> None:
    """Two models of the example make no error in the clean condition."""
    reasons = result.undefined
    assert (reasons == "both observers always correct").all()
    assert list(reasons.index) == ["model_4 x model_5 [clean]"]
    row = (
        result.summary(intervals="all").set_index(result.table["pair"].values).loc[reasons.index[0]]
    )
    assert np.isnan([row["estimate"], row["se"], row["bootstrap_eti95_lb"], row["p_null"]]).all()
    assert row["frac_undefined"] == 1
    assert row["posterior_eti95_lb"] < row["posterior_median"] < row["posterior_eti95_ub"]
    assert row["note_codes"] == "wide"


def test_same_seed_same_result() -> None:
    trials = al.load_example().select(condition="noise")
    runs = [al.error_consistency(trials, "human-human", rng=seed) for seed in (7, 7, 8)]
    pd.testing.assert_frame_equal(runs[0].summary(), runs[1].summary())
    assert not runs[0].summary().equals(runs[2].summary())
