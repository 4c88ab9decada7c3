"""Items for agreement: closed forms, another package, and studies that are simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from alikely.inference.intervals import analytic_interval
from alikely.metrics.ratings import COHEN_KAPPA
from alikely.planning import items_for_agreement

COEFFICIENTS = ["cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha", "brennan_prediger",
         "raw_agreement"]  # fmt: skip


def test_of_two_readers_errors_are_those_of_books() -> None:
    """Raw agreement is a binomial share; kappa has the variance of Fleiss, Cohen and Everitt."""
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


def test_a_number_is_the_least_that_has_the_width() -> None:
    asked: dict[str, Any] = {
        "coefficient": "gwet_ac1", "n_readers": 4, "class_frequencies": (0.8, 0.15, 0.05)
    }  # fmt: skip
    plan = items_for_agreement([0.6, 0.9], 0.15, **asked)
    for row in plan.itertuples():
        here = items_for_agreement(row.value, n_items=[row.n_items - 1, row.n_items], **asked)
        assert here["width"][0] > 0.15 >= here["width"][1]
    # More readers need fewer items, and missing readings more.
    two = items_for_agreement(0.6, 0.15, **(asked | {"n_readers": 2}))["n_items"][0]
    some = items_for_agreement(0.6, 0.15, missing=0.2, **asked)["n_items"][0]
    assert plan["n_items"][0] < some < two


def test_few_rare_items_are_named() -> None:
    plan = items_for_agreement(0.5, n_items=[40, 400], class_frequencies=(0.9, 0.1))
    np.testing.assert_allclose(plan["n_minority_ratings"], [4, 40])
    assert "outside the most frequent class" in plan["note"][0]
    assert plan["note"][1] == ""
    # AC1 does not suffer.
    assert items_for_agreement(0.9, n_items=40, coefficient="gwet_ac1")["note"][0] == ""


@pytest.mark.parametrize(
    ("value", "n", "against", "share"),
    [(0.8, 100, 0.6, 0.5), (0.6, 120, 0.4, 0.8), (0.3, 200, 0.1, 0.8), (0.9, 80, 0.7, 0.5)],
)
def test_power_of_two_readers(value: float, n: int, against: float, share: float) -> None:
    """Tables of two readers drawn; kappa, its influence and its interval by hand."""
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
    # Where all items are read alike there is no interval, and kappa is 1.
    found = ((ends[:, 0] > against) | (ends[:, 1] < against) | (kappa == 1)).mean()
    asked: dict[str, Any] = {"n_items": n, "against": against, "class_frequencies": pi.tolist()}
    plan = items_for_agreement(value, **asked).iloc[0]
    error = np.sqrt(found * (1 - found) / n_sets)
    assert found == pytest.approx(plan["power"], abs=4 * error + 0.01)
    assert kappa.std() == pytest.approx(plan["se"], rel=4 / np.sqrt(2 * n_sets) + 0.01)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_readers_with_nothing_in_common_can_be_planned(coefficient: str) -> None:
    shares = np.array([0.7, 0.3])
    equal = float((shares**2).sum())
    chance = {"gwet_ac1": 1 - equal, "brennan_prediger": 0.5, "raw_agreement": 0.0}
    by_chance = chance.get(coefficient, equal)
    value = (equal - by_chance) / (1 - by_chance)
    asked: dict[str, Any] = {"coefficient": coefficient, "class_frequencies": shares.tolist()}
    assert items_for_agreement(value, n_items=100, **asked)["se"][0] > 0
    with pytest.raises(ValueError, match=r"must be at least .* share only the class freq"):
        items_for_agreement(value - 0.01, n_items=100, **asked)
