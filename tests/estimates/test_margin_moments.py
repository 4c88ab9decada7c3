"""Moments of decision margins: scales, classes, checks, differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.margins.moments import group_side, model_side, moment_consistency, moment_limits
from studies.simulators.margins import (
    MARGIN_WORLDS,
    MarginWorld,
    margin_data,
)


def tables(world: MarginWorld, seed: int, others: Any = None) -> tuple[al.Trials, pd.DataFrame]:
    """Simulated responses as trials with a class each, and margins of one or more models."""
    data = margin_data(world, seed)
    names = [f"i{i}" for i in range(world.n_items)]
    wrong = (data.classes + 1) % world.n_classes
    said = np.where(data.right > 0, data.classes, wrong)
    trials = al.Trials.from_arrays(said, data.classes, item=names, kind=["human"] * len(said))
    margins = {"net": data.margins} | (others or {})
    frames = [
        pd.DataFrame({"observer": name, "item": names, "margin": values})
        for name, values in margins.items()
    ]
    return trials, pd.concat(frames)


def analyzed(trials: al.Trials, margins: pd.DataFrame, **options: Any) -> al.Result:
    given = {"n_resamples": 0, "rng": 1, **options}
    return al.decision_margin_consistency(trials, margins, **given)


def test_the_public_function_returns_moment_limits() -> None:
    world = MarginWorld(n_items=96)
    data = margin_data(world, 3)
    result = analyzed(*tables(world, 3))
    row = result.summary(columns="all").iloc[0]
    found = {}
    for scope, strata in (("total", np.zeros(96, int)), ("within", data.classes)):
        sides = group_side(data.right, data.shown, strata), model_side(data.margins, strata)
        found[scope] = moment_consistency(*sides, strata, data.classes)
    low, middle, high = moment_limits(found["total"], [0.025, 0.5, 0.975])
    # Quantiles of 4,000 evenly spaced levels, with an error of at most half a level.
    for name, value in zip(("eti95_lb", "median", "eti95_ub"), (low, middle, high), strict=True):
        assert row[f"posterior_{name}"] == pytest.approx(value, abs=2e-3)
    assert row["scale"] == "share"
    assert row["r_within_class"] == pytest.approx(found["within"].rho)
    ends = moment_limits(found["within"], [0.025, 0.975])
    assert row[["r_within_class_lb", "r_within_class_ub"]].tolist() == pytest.approx(ends.tolist())
    assert row["ceiling"] == pytest.approx(np.sqrt(row["reliability"]))
    assert row["disattenuated"] == pytest.approx(row["estimate"] / row["ceiling"])
    assert result.data.attrs["model"] == result.data.attrs["sampler"] == "moments"


def test_between_class_correlation_is_that_of_class_means() -> None:
    world = MarginWorld(n_items=160, class_sd=1.2, class_opposite=1.0, rho=0.5)
    result = analyzed(*tables(world, 5))
    row = result.summary().iloc[0]
    assert row["r_between_class"] < 0 < row["r_within_class"]
    assert "classes matter (" in row["note"]
    data = margin_data(world, 5)
    kinds = data.classes == np.arange(16)[:, None]
    from alikely.margins.moments import normal_scores

    v = kinds @ normal_scores(data.margins) / 10
    x = data.right @ kinds.T / 10
    s = x.mean(axis=0)
    residual = x - s - x.mean(axis=1, keepdims=True) + x.mean()
    noise = (residual**2).sum(axis=0) / 90 * 16 / 15
    true_variance = s.var(ddof=1) - noise.mean()
    expected = np.cov(s, v)[0, 1] / np.sqrt(true_variance * v.var(ddof=1))
    assert row["r_between_class"] == pytest.approx(expected, abs=1e-9)


def test_nonlinear_margins_are_noted_and_leave_the_interval() -> None:
    world = MarginWorld(rho=0.9)
    trials, margins = tables(world, 7)
    plain = analyzed(trials, margins).summary().iloc[0]
    found = analyzed(trials, margins.assign(margin=np.exp(2 * margins["margin"])))
    bent = found.summary().iloc[0]
    assert bent["posterior_eti95_lb"] == plain["posterior_eti95_lb"]
    assert bent["estimate"] < plain["estimate"]
    assert bent["note"] != plain["note"]


def test_draws_of_models_with_common_humans_correlate() -> None:
    world = MarginWorld(n_items=160)
    data = margin_data(world, 8)
    rng = np.random.default_rng(8)
    near = data.margins + 0.2 * rng.normal(size=160)
    far = rng.normal(size=160)
    trials, margins = tables(world, 8, {"near": near, "far": far})
    result = analyzed(trials, margins, pairs=[("human", k) for k in ("net", "near", "far")])
    drawn = result.draws("posterior")
    tied = np.corrcoef(drawn.T)
    assert tied[0, 1] > 0.5 > abs(tied[0, 2])
    table = al.difference(result, {"observer_b": "net"}, {"observer_b": "near"})
    alone = np.sqrt(drawn[:, 0].var() + drawn[:, 1].var())
    assert table.loc["posterior", "se"] < 0.8 * alone


def test_undefined_intervals_have_a_note() -> None:
    trials, margins = tables(MarginWorld(n_observers=1, n_items=40), 10)
    row = analyzed(trials, margins).summary().iloc[0]
    assert np.isnan(row["posterior_median"])
    assert "no item was answered by two observers" in row["note"]


def test_every_method_treats_classes_as_clusters() -> None:
    world = MARGIN_WORLDS["opposite classes"]
    trials, margins = tables(world, 4)
    by_class, named, alone = (
        analyzed(trials, margins, n_resamples=500, n_draws=0, cluster=cluster)
        for cluster in (None, "true_class", "item")
    )
    assert by_class.data.attrs["cluster"] == "true_class"
    name = by_class.metric.name
    for group in ("estimates", "bootstrap"):
        variable = {"estimates": "se", "bootstrap": name}[group]
        np.testing.assert_array_equal(by_class.data[group][variable], named.data[group][variable])
    # Most of the error is common to classes here.
    assert by_class.estimates["se"].item() > 1.5 * alone.estimates["se"].item()
    spread = [r.draws("bootstrap").std() for r in (by_class, alone)]
    assert spread[0] > 1.5 * spread[1]
    few = tables(MarginWorld(n_classes=4, n_alternatives=4), 4)
    assert analyzed(*few, n_draws=0).data.attrs["cluster"] == ""


@pytest.mark.slow
def test_reliability_of_humans_on_silhouettes(shared_data: Path) -> None:
    """The third data set of the paper has no public margins, so only humans are compared."""
    people = al.Trials.read(shared_data / "model_vs_human" / "trials.parquet").select(
        dataset="silhouette", kind="human"
    )
    right = (people.data["correct"].values == 1).astype(float)
    assert right.shape == (10, 160)
    found = al.margins.split_half_reliability(right, rng=1)
    assert round(found.reliability, 2) == 0.91
