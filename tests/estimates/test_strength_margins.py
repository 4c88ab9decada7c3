"""The posterior of strengths at the door of decision margins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.margins.strengths import fit_model, group_strengths, strength_limits
from alikely.margins.tables import answers_of_group, margin_table


@pytest.fixture(scope="module")
def made() -> tuple[al.Trials, pd.DataFrame]:
    return al.simulate.detection_experiment(10, 80, rho={"near": 0.9, "far": 0.2}, rng=1)


@pytest.fixture(scope="module")
def result(made: tuple[al.Trials, pd.DataFrame]) -> al.Result:
    return al.decision_margin_consistency(*made, model="strengths", n_resamples=0, rng=1)


def test_scales_are_named_and_never_mixed(result: al.Result) -> None:
    frame = result.summary()
    assert frame["scale"].tolist() == ["strength", "strength", "margin"]
    assert result.data.attrs["model"] == result.data.attrs["sampler"] == "strengths"
    assert not [name for name in frame if name.startswith("share_")]


def test_the_door_gives_the_limits_of_the_posterior(
    made: tuple[al.Trials, pd.DataFrame], result: al.Result
) -> None:
    table = margin_table(*made)
    right, shown = answers_of_group(table, 0, np.arange(80))
    group = group_strengths(right, shown, 16)
    row = result.summary().iloc[0]
    fit = fit_model(group, table["margins"].values[1], rng=5, n_points=4_096)
    ends = strength_limits(fit, [0.025, 0.5, 0.975])
    found = row[["posterior_eti95_lb", "posterior_median", "posterior_eti95_ub"]].to_list()
    # The door has 512 points, whose tails vary by a fifth of a standard error or so.
    assert found == pytest.approx(ends.tolist(), abs=0.2 * (ends[2] - ends[0]))
    assert (result.estimates["inflation"].values[:2] >= 1).all()


def test_differences_are_of_draws_that_belong_together(result: al.Result) -> None:
    frame = al.difference(result, {"observer_b": "near"}, {"observer_b": "far"})
    assert {"analytic", "posterior"} <= set(frame.index)
    low, high = frame.loc["posterior", ["eti95_lb", "eti95_ub"]]
    assert 0.3 < low < 0.75 < high < 1.3
