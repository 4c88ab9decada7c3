"""Items for agreement and for margins: closed forms, published values, simulated studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from alikely.inference.intervals import analytic_interval
from alikely.metrics.margins import DECISION_MARGIN_CONSISTENCY, margin_moments
from alikely.metrics.ratings import COHEN_KAPPA
from alikely.planning import items as designs
from alikely.planning import items_for_agreement

COEFFICIENTS = ["cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha", "brennan_prediger",
         "raw_agreement"]  # fmt: skip


def test_errors_of_two_raters_agree_with_textbooks() -> None:
    """Raw agreement is binomial; kappa has the variance of Fleiss, Cohen and Everitt."""
    raw = items_for_agreement(0.8, n_items=100, coefficient="raw_agreement").iloc[0]
    assert raw["se"] == pytest.approx(0.04)
    pabak = items_for_agreement(0.6, n_items=100, coefficient="brennan_prediger").iloc[0]
    assert pabak["se"] == pytest.approx(0.08)
    shares = np.array([0.6, 0.3, 0.1])
    table = 0.55 * np.diag(shares) + 0.45 * np.outer(shares, shares)
    known = cohens_kappa(1e6 * table)
    plan = items_for_agreement(0.55, n_items=10**6, class_frequencies=shares.tolist()).iloc[0]
    assert known.kappa == pytest.approx(0.55)
    assert plan["se"] == pytest.approx(known.std_kappa, rel=1e-9)


def test_the_planned_number_is_the_smallest_with_the_width() -> None:
    asked: dict[str, Any] = {
        "coefficient": "gwet_ac1", "n_readers": 4, "class_frequencies": (0.8, 0.15, 0.05)
    }  # fmt: skip
    plan = items_for_agreement([0.6, 0.9], 0.15, **asked)
    for row in plan.itertuples():
        here = items_for_agreement(row.value, n_items=[row.n_items - 1, row.n_items], **asked)
        assert here["width"][0] > 0.15 >= here["width"][1]
    # More raters need fewer items, and missing ratings need more.
    two = items_for_agreement(0.6, 0.15, **(asked | {"n_readers": 2}))["n_items"][0]
    some = items_for_agreement(0.6, 0.15, missing=0.2, **asked)["n_items"][0]
    assert plan["n_items"][0] < some < two


def test_few_rare_items_are_named() -> None:
    plan = items_for_agreement(0.5, n_items=[40, 400], class_frequencies=(0.9, 0.1))
    np.testing.assert_allclose(plan["n_minority_ratings"], [4, 40])
    assert "outside the most frequent class" in plan["note"][0]
    assert plan["note"][1] == ""
    # AC1 is not affected.
    assert items_for_agreement(0.9, n_items=40, coefficient="gwet_ac1")["note"][0] == ""


@pytest.mark.parametrize(
    ("value", "n", "against", "share"),
    [(0.8, 100, 0.6, 0.5), (0.6, 120, 0.4, 0.8), (0.3, 200, 0.1, 0.8), (0.9, 80, 0.7, 0.5)],
)
def test_power_of_two_raters(value: float, n: int, against: float, share: float) -> None:
    """Simulate tables of two raters, with kappa, influence and interval by hand."""
    n_sets, pi = 20_000, np.array([share, 1 - share])
    table = value * np.diag(pi) + (1 - value) * np.outer(pi, pi)
    cells = np.random.default_rng(1).multinomial(n, table.ravel(), n_sets) / n
    p, q = cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]
    equal, chance = cells[:, 0] + cells[:, 3], p * q + (1 - p) * (1 - q)
    kappa = (equal - chance) / (1 - chance)
    by_chance = np.array([p + q, 1 - p + q, p + 1 - q, 2 - p - q])
    same = np.array([1, 0, 0, 1])[:, None]
    moved = (same - equal - (1 - kappa) * (by_chance - 2 * chance)) / (1 - chance)
    se = np.sqrt((cells.T * np.square(moved)).sum(axis=0) / n)
    ends = analytic_interval(COHEN_KAPPA, kappa, se, 1.959964)
    # If all ratings are equal, kappa is 1 without an interval.
    found = ((ends[:, 0] > against) | (ends[:, 1] < against) | (kappa == 1)).mean()
    asked: dict[str, Any] = {"n_items": n, "against": against, "class_frequencies": pi.tolist()}
    plan = items_for_agreement(value, **asked).iloc[0]
    error = np.sqrt(found * (1 - found) / n_sets)
    assert found == pytest.approx(plan["power"], abs=4 * error + 0.01)
    assert kappa.std() == pytest.approx(plan["se"], rel=4 / np.sqrt(2 * n_sets) + 0.01)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_independent_raters_can_be_planned(coefficient: str) -> None:
    shares = np.array([0.7, 0.3])
    equal = float((shares**2).sum())
    chance = {"gwet_ac1": 1 - equal, "brennan_prediger": 0.5, "raw_agreement": 0.0}
    by_chance = chance.get(coefficient, equal)
    value = (equal - by_chance) / (1 - by_chance)
    asked: dict[str, Any] = {"coefficient": coefficient, "class_frequencies": shares.tolist()}
    assert items_for_agreement(value, n_items=100, **asked)["se"][0] > 0
    with pytest.raises(ValueError, match=r"must be at least .* share only the class freq"):
        items_for_agreement(value - 0.01, n_items=100, **asked)


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
        # Four standard errors of the simulated correlation, by its influence function.
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
    dmc: float, n_items: int, group: tuple[int, float, float], against: float
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
    # 0.02 for non-normal margins, and four Monte Carlo errors.
    assert abs(power - row["power"]) < 0.02 + 4 * np.sqrt(power * (1 - power) / N_SETS)
    assert abs(covered - 0.95) < 0.02 + 4 * np.sqrt(0.95 * 0.05 / N_SETS)
    # The same from the other limit.
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
    # Under the null hypothesis, power equals the level, with or without noise.
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
