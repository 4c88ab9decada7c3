"""Results for pairs: columns, intervals, seeds, and posterior limits without draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.inference.cell_limits import posterior_quantiles

COLUMNS = [
    "dataset", "condition", "observer_a", "observer_b", "n_trials", "accuracy_a", "accuracy_b",
    "estimate", "se", "accuracy_gap", "kappa_min", "kappa_max", "bias_corrected",
    "analytic_ci95_lb", "analytic_ci95_ub", "bootstrap_eti95_lb",
    "bootstrap_eti95_ub", "posterior_median", "posterior_eti95_lb", "posterior_eti95_ub",
    "frac_undefined", "p_null", "p_null_bh", "p_fisher", "log_bf10",
    "note_codes", "note",
]  # fmt: skip


QUIET: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
LIMITS = ["posterior_median", "posterior_eti95_lb", "posterior_eti95_ub"]


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


def test_undefined_estimates_have_a_note_and_a_posterior(result: al.Result) -> None:
    """Two models of the example make no errors in the clean condition."""
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


# Posterior limits without draws.


def test_limits_follow_from_counts_and_agree_with_draws() -> None:
    result = al.error_consistency(al.load_example(), "human-model", **QUIET)
    assert result.without_draws
    assert "without draws" in repr(result)
    shown = result.summary()
    for column, level in zip(LIMITS, (0.5, 0.025, 0.975), strict=True):
        of_counts = posterior_quantiles(result.table["cells"].values, [level])[:, 0]
        # Sums have another order if other levels are computed.
        np.testing.assert_allclose(shown[column], of_counts, rtol=1e-9, atol=1e-12)
    drawn = al.error_consistency(al.load_example(), "human-model", **QUIET | {"n_draws": 4_000})
    assert not drawn.without_draws
    draws = drawn.draws("posterior")
    room = 4 * np.sqrt(0.025 * 0.975 / len(draws)) + 0.002
    for column, level in zip(LIMITS[1:], (0.025, 0.975), strict=True):
        share = (draws < shown[column].to_numpy()).mean(axis=0)
        np.testing.assert_allclose(share, level, atol=room)
    # Any probability can be requested later.
    of_half = result.summary(ci_prob=0.5)
    assert (of_half["posterior_eti50_lb"] > shown["posterior_eti95_lb"]).all()


@pytest.mark.parametrize(("sampler", "ci_kind"), [("nuts", "eti"), ("auto", "hdi")])
def test_other_posteriors_have_no_exact_limits(sampler: Any, ci_kind: str) -> None:
    with al.options(ci_kind=ci_kind):
        result = al.error_consistency(al.load_example(), "human-human", sampler=sampler, **QUIET)
    assert not result.without_draws
    assert not [name for name in result.summary() if name.startswith("posterior")]


def test_repeated_items_have_no_exact_limits() -> None:
    """Responses to one item are dependent, so the posterior differs."""
    rng = np.random.default_rng(1)
    right = rng.integers(0, 2, (3, 80))
    item = [f"i{number}" for number in np.repeat(np.arange(40), 2)]
    trials = al.Trials.from_correct(right, item=item, repeat=[0, 1] * 40)
    assert not al.error_consistency(trials, **QUIET).without_draws
    assert al.error_consistency(trials, cluster="trial", **QUIET).without_draws
