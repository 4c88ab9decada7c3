"""Custom metrics with other properties than those of the package, and error messages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import alikely as al
from alikely.metrics import ERROR_CONSISTENCY

pytestmark = pytest.mark.usefixtures("own_registry")


def own(base: al.Metric = ERROR_CONSISTENCY, **change: Any) -> al.Metric:
    given = {
        "name": "mine",
        "short": "",
        "module": "",
        "options": {},
        "trust": None,
        "rests_on": None,
    }
    return dataclasses.replace(base, **{**given, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "pair"}, "not be one of pair, chain, .*got 'pair'"),
        ({"bounds": (1.0, 0.0)}, r"must be \(smallest, largest\), got \(1.0, 0.0\)"),
        ({"draws": "labels"}, "draws of a metric of correctness must be"),
        ({"options": {"seed": 1}}, "which are attributes of results; got 'seed'"),
        ({"options": {"q": None}}, "numbers or strings, so that files can store them; q is None"),
        ({"value": lambda cells: 1.0}, r"value of the metric 'mine' .*shape \(3,\), got \(\)"),
        ({"reason": lambda cells: ""}, r"reason of .*shape \(3,\), got \(\)"),
        ({"value": lambda cells: cells[..., 0]}, "must not change with the scale .*got 50 and 150"),
        ({"value": lambda n: abs(n[..., 1] - n[..., 2]) / n.sum(-1)}, "has a kink.*gradient="),
    ],
)
def test_invalid_metrics(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        al.metrics.register(own(**change))
    assert "\n" not in str(caught.value)


def yule_q(cells: Any) -> Any:
    a, b, c, d = np.moveaxis(cells, -1, 0)
    return (a * d - b * c) / (a * d + b * c)


def test_scores_outside_their_interval_have_a_note() -> None:
    """With three errors of 60, adding half a count changes Yule's Q from -0.5 to 0.8."""
    metric = al.Metric("yule_q", yule_q, independent=0.0)
    alike, accurate = np.full((4, 1), 0.8), np.full((4, 1), 0.95)
    trials = al.simulate.cohort(alike, accurate, [0.95], 0.5, n_trials=60, rng=3)
    table = al.benchmark_scores(trials, metric=metric, n_resamples=0, n_draws=0).summary("images")
    outside = ~table["estimate"].between(table["analytic_ci95_lb"], table["analytic_ci95_ub"])
    assert outside.any()
    assert not outside.all()
    said = table["note"].str.contains("the estimate lies outside its interval")
    np.testing.assert_array_equal(said, outside)
