"""The general function: directed metrics, pairs in either order, large counts."""

from __future__ import annotations

import pandas as pd
import pytest

import alikely as al
from alikely.inference.null import log_bayes_factor

LIGHT = {"n_resamples": 200, "n_draws": 200, "rng": 3}


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    return al.load_example().select(condition=["blur", "noise"])


def test_directed_metrics_take_both_orders_of_a_kind(trials: al.Trials) -> None:
    """And the mean over pairs of one kind is the mean of both directions."""
    light = {"n_resamples": 0, "n_draws": 0}
    directed = al.compare(trials, "copying", ["human-human", "human-model"], **light)
    once = al.compare(trials, "EC", ["human-human", "human-model"], **light)
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
    # Whole sets of pairs, as asked for, keep the first as the reference.
    listed = al.compare(trials, "copying", [("human_2", "human_1")], **light)
    assert set(listed.pairs["observer_a"]) == {"human_2"}


def test_the_order_within_a_pair_does_not_matter(trials: al.Trials) -> None:
    result = al.compare(trials, "EC", "human-human", **LIGHT)
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
    # Either side of the pair.
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
