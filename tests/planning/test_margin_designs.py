"""Designs: exact fractions, published figures, brute force, and simulated experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from alikely.metrics.margins import DECISION_MARGIN_CONSISTENCY, margin_moments
from alikely.planning import items as designs

Figure = Callable[[str], None]


def power_at(
    dmc: Any, n_items: Any, *group: Any, against: Any = 0.0, alpha: float = 0.05
) -> pd.DataFrame:
    return designs.items_for_margins(dmc, *group, against=against, alpha=alpha, n_items=n_items)


def beta_items(rng: np.random.Generator, mean: float, sd: float, shape: Any) -> np.ndarray:
    total = mean * (1 - mean) / sd**2 - 1
    return rng.beta(mean * total, (1 - mean) * total, shape)


@pytest.mark.parametrize(("n", "mean", "sd"), [(4, 0.75, 0.15), (9, 0.5, 0.25), (1, 0.9, 0.1)])
def test_reliability_by_simulation(n: int, mean: float, sd: float) -> None:
    rng = np.random.default_rng(n)
    truth = beta_items(rng, mean, sd, 400_000)
    once, again = rng.binomial(n, truth, (2, len(truth)))
    reliability = designs.items_for_margins(0.3, n, mean, sd)["reliability"].item()
    pairs = {reliability**0.5: (once, truth), reliability: (once, again)}
    for expected, (x, y) in pairs.items():
        # Four standard errors of the simulated correlation, from its influence function.
        moments = margin_moments(x, y)
        sums = moments.sum(axis=-1)
        slopes = DECISION_MARGIN_CONSISTENCY.derivative(sums) @ moments
        found = DECISION_MARGIN_CONSISTENCY.value(sums)
        assert abs(found - expected) < 4 * np.sqrt((slopes**2).sum())


N_SETS = 2_000
GROUPS = [(10, 0.75, 0.15), (5, 0.6, 0.25), (40, 0.5, 0.1)]


@pytest.mark.parametrize(
    ("dmc", "n_items", "group", "against"),
    [
        (0.3, 100, GROUPS[0], 0.0),
        (-0.25, 60, GROUPS[1], 0.0),
        (0.6, 150, GROUPS[1], 0.4),
        (0.0, 120, GROUPS[2], 0.3),
    ],
)
def test_power_by_simulated_experiments(
    dmc: float, n_items: int, group: tuple[int, float, float], against: float, figure: Figure
) -> None:
    n, mean, sd = group
    row = power_at(dmc, n_items, n, mean, sd, against=against).iloc[0]
    rng = np.random.default_rng(4)
    truth = beta_items(rng, mean, sd, (N_SETS, n_items))
    noise = np.sqrt(1 - dmc**2) * rng.normal(size=truth.shape)
    moments = margin_moments(dmc * (truth - mean) / sd + noise, rng.binomial(n, truth) / n)
    r = DECISION_MARGIN_CONSISTENCY.value(moments.sum(axis=-1))
    null = against * np.sqrt(row["reliability"])
    z = (np.arctanh(r) - np.arctanh(null)) * np.sqrt(n_items - 3)
    power = (np.abs(z) > stats.norm.ppf(0.975)).mean()
    covered = ((row["lower"] < r) & (r < row["upper"])).mean()
    figure(
        f"power at dmc {dmc} against {against}, {n_items} items, {n} people: {row['power']:.3f}, "
        f"simulated {power:.3f}; range of r holds {covered:.3f}"
    )
    # Two points for margins that are not normal, and four Monte Carlo errors.
    assert abs(power - row["power"]) < 0.02 + 4 * np.sqrt(power * (1 - power) / N_SETS)
    assert abs(covered - 0.95) < 0.02 + 4 * np.sqrt(0.95 * 0.05 / N_SETS)
    # Seen from the other end.
    mirrored = power_at(-dmc, n_items, n, mean, sd, against=-against).iloc[0]
    assert mirrored["power"] == pytest.approx(row["power"])
    assert mirrored["lower"] == pytest.approx(-row["upper"])


def test_power_by_hand_and_without_noise() -> None:
    row = power_at(0.3, 100).iloc[0]
    shift = np.arctanh(0.3) * np.sqrt(97)
    tails = stats.norm.sf(1.959964 - shift) + stats.norm.cdf(-1.959964 - shift)
    assert row["power"] == pytest.approx(tails, abs=1e-6)
    assert row["observed"] == pytest.approx(0.3)
    assert row["reliability"] == 1
    assert np.isnan(row["n_observers"])
    many = power_at(0.3, 100, [1, 10, 10**6], 0.75, 0.15)["power"]
    assert many.is_monotonic_increasing
    assert many.iloc[-1] == pytest.approx(row["power"], abs=1e-4)
    # At the null hypothesis a test finds what its level says, noise or not.
    null = power_at(0.4, [10, 300], 8, 0.75, 0.15, against=0.4, alpha=0.1)
    assert null["power"].to_numpy() == pytest.approx(0.1)
    assert list(null)[:5] == ["dmc", "against", "n_items", "n_observers", "reliability"]


@pytest.mark.parametrize("power", [0.04, 0.8])
@pytest.mark.parametrize("group", [(), (5, 0.75, 0.15)])
def test_one_item_fewer_is_not_enough(power: float, group: tuple[float, ...]) -> None:
    dmc = np.array([[0.05, 0.3], [-0.6, 0.95]])
    table = designs.items_for_margins(dmc, *group, power=power, against=0.1)
    assert table["dmc"].tolist() == [0.05, 0.3, -0.6, 0.95]
    more = group or (None, None, None)
    for _, row in table.iterrows():
        n = int(row["n_items"])
        at = power_at(row["dmc"], n, *more, against=0.1)["power"].item()
        assert at == row["power"]
        assert at >= power - 1e-12
        if n > 5:
            fewer = power_at(row["dmc"], n - 1, *more, against=0.1)
            assert fewer["power"].item() < power
    if power < 0.05:
        assert (table["n_items"] == 5).all()
