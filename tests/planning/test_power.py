"""Numbers of trials for a test: what independent tests of independent data sets find."""

from __future__ import annotations

import re
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pytest
from names_page import ROOT
from scipy import special, stats

from alikely import simulate
from alikely.inference.null import fisher_exact
from alikely.planning.trials import trials_for_difference, trials_for_power
from alikely.simulate.simulators import pattern_cells, pattern_probabilities

NAN = np.nan
N_SETS = 20_000
# Stated and found may differ by this much; four Monte Carlo errors of a share of .8 among 20,000
# data sets are .0113.
POINTS = 0.02


def fisher_power(
    row: Any, rng: np.random.Generator, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """Share of simulated data sets in which Fisher's test rejects."""
    n = row.n_trials
    counts = rng.multinomial(n, cells_of(row), size=N_SETS)
    tables, times = np.unique(counts, axis=0, return_counts=True)
    n11, k_a, k_b = tables[:, 0], tables[:, :2].sum(axis=1), tables[:, [0, 2]].sum(axis=1)
    # That the first is SciPy's is tested with it.
    if alternative == "two-sided":
        p = fisher_exact(tables)
    elif alternative == "greater":
        p = stats.hypergeom.sf(n11 - 1, n, k_a, k_b)
    else:
        p = stats.hypergeom.cdf(n11, n, k_a, k_b)
    return float(times @ (p <= alpha) / N_SETS)


def kappa(cells: np.ndarray) -> np.ndarray:
    n11, n10, n01, n00 = np.moveaxis(cells, -1, 0)
    total = n11 + n10 + n01 + n00
    expected = (n11 + n10) * (n11 + n01) + (n01 + n00) * (n10 + n00)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((total * (n11 + n00) - expected) / (total**2 - expected))


def fleiss_variance(p_a: np.ndarray, p_b: np.ndarray, ec: float) -> np.ndarray:
    """Variance of kappa times the number of trials, as printed by Fleiss, Cohen and Everitt."""
    both = p_a * p_b + ec * (p_a + p_b - 2 * p_a * p_b) / 2
    p = np.moveaxis(np.array([[both, p_a - both], [p_b - both, 1 - p_a - p_b + both]]), 2, 0)
    rows, columns = p.sum(axis=2), p.sum(axis=1)
    expected = (rows * columns).sum(axis=1)
    square = (ec - expected * (1 - ec)) ** 2
    first = sum(p[:, i, i] * (1 - (rows[:, i] + columns[:, i]) * (1 - ec)) ** 2 for i in range(2))
    second = sum(p[:, i, 1 - i] * (columns[:, i] + rows[:, 1 - i]) ** 2 for i in range(2))
    return np.asarray((first + (1 - ec) ** 2 * second - square) / (1 - expected) ** 2)


def cells_of(row: Any) -> np.ndarray:
    return simulate.cell_probabilities(row.accuracy_a, row.accuracy_b, row.ec)


PAIRS = [
    (0.5, 0.5, 0.1),
    (0.75, 0.75, 0.1),
    (0.75, 0.75, 0.3),
    (0.9, 0.9, 0.1),
    (0.9, 0.9, 0.3),
    (0.95, 0.9, 0.2),
    (0.6, 0.8, 0.2),
    (0.95, 0.95, 0.3),
    (0.98, 0.98, 0.5),
    (0.7, 0.7, -0.2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "powers"), [(0.01, [0.8, 0.95])])
def test_stated_power_is_that_of_fishers_test(alpha: float, powers: list[float]) -> None:
    """The test whose p-value a summary shows."""
    a, b, ec = np.array(PAIRS)[:, None].T
    plan = trials_for_power(a.T, b.T, ec.T, power=powers, alpha=alpha, rng=1)
    assert len(plan) == 10 * len(powers)
    assert set(plan["test"]) == {"Fisher's exact"}
    rng = np.random.default_rng(2)
    found = np.array([fisher_power(row, rng, alpha) for row in plan.itertuples()])
    off = plan["power"] - found
    assert set(plan["method"]) == {"analytic", "simulated"}
    assert off.abs().max() <= POINTS
    assert (plan["power"] >= plan["target"] - 0.01).all()
    # Nor many more trials than needed.
    assert (plan["power"] <= plan["target"] + POINTS).all()


@pytest.mark.slow
def test_the_table_of_the_page_is_what_plans_find() -> None:
    rows = re.findall(
        r"^\| (0\.\d+) \| (0\.\d) \| (\d+) \| (0\.\d\d) \| (\d+) \|$",
        (ROOT / "docs" / "planning.md").read_text(),
        flags=re.MULTILINE,
    )
    assert len(rows) == 6
    for accuracy, ec, pearsons, power, fishers in np.array(rows, dtype=float):
        a = np.array([accuracy])
        null, truth = (fleiss_variance(a, a, x)[0] for x in (0.0, ec))
        n = ceil(((stats.norm.ppf(0.975) * null**0.5 + stats.norm.ppf(0.8) * truth**0.5) / ec) ** 2)
        assert n == pearsons
        row = pd.Series({"accuracy_a": accuracy, "accuracy_b": accuracy, "ec": ec, "n_trials": n})
        # Four errors of 20,000 data sets at a share of one half, and what two digits leave.
        assert abs(fisher_power(row, np.random.default_rng(5)) - power) < 0.015 + 0.005
        plan = trials_for_power(accuracy, accuracy, ec, rng=2)
        assert plan["n_trials"].item() == pytest.approx(fishers, rel=0.03)


@pytest.mark.parametrize(
    ("pair", "against", "alternative"),
    [
        ((0.75, 0.75, 0.5), 0.2, "greater"),
        pytest.param((0.8, 0.75, 0.1), 0.4, "less", marks=pytest.mark.slow),
        ((0.85, 0.8, 0.55), 0.3, "two-sided"),
    ],
)
def test_stated_power_against_other_values(
    pair: tuple[float, float, float], against: float, alternative: Any
) -> None:
    """The score test, with the variance of the hypothesis as it was printed in 1969."""
    plan = trials_for_power(*pair, against=against, alternative=alternative, power=0.9, rng=1)
    row = next(plan.itertuples())
    counts = np.random.default_rng(3).multinomial(row.n_trials, cells_of(row), size=N_SETS)
    p_a, p_b = (counts[:, [0, i]].sum(axis=1) / row.n_trials for i in (1, 2))
    z = (kappa(counts) - against) / np.sqrt(fleiss_variance(p_a, p_b, against) / row.n_trials)
    found = {
        "greater": z > stats.norm.ppf(0.95),
        "less": z < stats.norm.ppf(0.05),
        "two-sided": np.abs(z) > stats.norm.ppf(0.975),
    }[alternative].mean()
    assert abs(found - row.power) <= POINTS
    assert row.power >= 0.89


@pytest.mark.parametrize("pair", [PAIRS[5]])
def test_asked_for_one_trial_fewer_misses_the_target(pair: tuple[float, float, float]) -> None:
    """Of the formula, with Yates' correction; other numbers are known within noise only."""
    z = stats.norm.ppf(0.975)
    row = next(trials_for_power(*pair, method="analytic").itertuples())
    a, b = np.array([pair[0]]), np.array([pair[1]])
    null, truth = (fleiss_variance(a, b, ec)[0] for ec in (0.0, pair[2]))

    def power(n: int) -> float:
        # Half a trial off the overlap is so much off kappa.
        half = 1 / (n * (a + b - 2 * a * b)[0])
        ends = [sign * pair[2] - half - z * np.sqrt(null / n) for sign in (1, -1)]
        return float(stats.norm.cdf(np.array(ends) / np.sqrt(truth / n)).sum())

    assert row.power == pytest.approx(power(row.n_trials), rel=1e-9)
    assert power(row.n_trials) >= 0.8 > power(row.n_trials - 1)


def test_published_example() -> None:
    """R package irr, N.cohen.kappa(0.5, 0.5, 0.7, 0.85).

    It prints 96: its arguments are a true kappa of .7, tested against .85. Its text has them the
    other way round, for which Cantor's formula gives 117.
    """
    options: dict[str, Any] = {"method": "analytic"}
    forth = trials_for_power(0.5, 0.5, 0.85, against=0.7, alternative="greater", **options)
    back = trials_for_power(0.5, 0.5, 0.7, against=0.85, alternative="less", **options)
    assert forth["n_trials"].tolist() == [117]
    assert back["n_trials"].tolist() == [96]
    # By hand: at accuracies of one half the variance is 1 - kappa**2.
    level, goal = np.sqrt(1 - 0.7**2), np.sqrt(1 - 0.85**2)
    assert ceil(((1.6449 * level + 0.8416 * goal) / 0.15) ** 2) == 117
    assert ceil(((1.6449 * goal + 0.8416 * level) / 0.15) ** 2) == 96


def difference_rejects(counts: np.ndarray) -> np.ndarray:
    """Whether the difference of kappas exceeds 1.96 standard errors, by the delta method.

    Derivatives by an imaginary step: exact, and of nothing but the formula of kappa.
    """
    slopes, value, steps = np.zeros(counts.shape), np.zeros(len(counts)), 1e-20j * np.eye(4)
    for model, sign in ((1, 1), (2, -1)):
        table = pattern_cells(3, 0, model)
        cells = counts @ table
        value += sign * kappa(cells)
        slope = np.stack([kappa(cells + step).imag / 1e-20 for step in steps], axis=1)
        slopes += sign * slope @ table.T
    se = np.sqrt((counts * slopes**2).sum(axis=1))
    return np.asarray(np.abs(value) > stats.norm.ppf(0.975) * se)


DIFFERENCES = [
    (0.75, 0.75, 0.75, 0.5, 0.3, 0.4),
    (0.75, 0.9, 0.9, 0.3, 0.1, 0.5),
    (0.6, 0.6, 0.6, 0.2, 0.1, 0.3),
    (0.75, 0.85, 0.65, 0.4, 0.25, NAN),
    (0.9, 0.95, 0.9, 0.2, 0.55, 0.3),
]


@pytest.mark.parametrize(
    "stated",
    [
        pytest.param(stated, marks=[pytest.mark.slow] * (max(stated[:3]) >= 0.9))
        for stated in DIFFERENCES
    ],
)
def test_stated_power_of_a_difference(stated: tuple[float, ...]) -> None:
    plan = trials_for_difference(*stated, rng=1)
    row = next(plan.itertuples())
    p = pattern_probabilities(*stated)
    counts = np.random.default_rng(7).multinomial(row.n_trials, p, size=N_SETS)
    found = difference_rejects(counts).mean()
    assert row.difference == pytest.approx(stated[3] - stated[4])
    assert abs(row.power - found) <= POINTS
    assert 0.79 <= row.power <= 0.82


def test_models_of_which_nothing_is_said_share_only_the_human() -> None:
    stated = (0.75, 0.85, 0.65, 0.4, 0.25)
    h, a, b = stated[:3]
    right = [h * x + ec * (h + x - 2 * h * x) / 2 for x, ec in ((a, 0.4), (b, 0.25))]
    # Independent among the trials that the human gets right, and among the others.
    both = right[0] * right[1] / h + (a - right[0]) * (b - right[1]) / (1 - h)
    implied = 2 * (both - a * b) / (a + b - 2 * a * b)
    silent, said, other = (
        trials_for_difference(*stated, ec) for ec in (None, implied, implied + 0.1)
    )
    assert silent["n_trials"].item() == said["n_trials"].item() != other["n_trials"].item()
    assert silent["se"].item() == pytest.approx(said["se"].item(), rel=1e-6)


def test_perfect_copies_are_found_at_once() -> None:
    """No spread at all: whatever the number of trials, no division by it."""
    plan = trials_for_power(0.75, 0.75, 1.0, rng=1)
    row = next(plan.itertuples())
    # Identical answers have a p-value of one over the number of ways to choose who is right.
    right = np.arange(row.n_trials + 1)
    rare = special.comb(row.n_trials, right) >= 20
    assert row.power == pytest.approx(
        stats.binom(row.n_trials, 0.75).pmf(right)[rare].sum(), abs=POINTS
    )
    assert row.power >= 0.79
    assert 9 <= row.n_trials <= 13
