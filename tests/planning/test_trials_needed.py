"""Numbers of trials: simulation, closed forms, published values, brute force, functions."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from names_page import ROOT
from numpy.typing import NDArray
from scipy import special, stats

import alikely as al
from alikely import simulate
from alikely.data import tables
from alikely.inference.null import fisher_exact
from alikely.inference.process import pairwise_draws
from alikely.metrics import ERROR_CONSISTENCY, bounds, consistency
from alikely.metrics.copying import COPY_PROBABILITY
from alikely.planning import trials as plans
from alikely.planning.trials import trials_for_difference, trials_for_power, trials_for_width
from alikely.simulate.simulators import pattern_cells, pattern_probabilities

NAN = np.nan
N_SETS = 20_000
# Tolerance of stated and simulated power; four Monte Carlo errors of a proportion of 0.8 among
# 20,000 data sets are 0.0113.
POINTS = 0.02


def fisher_power(
    row: Any, rng: np.random.Generator, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """Proportion of simulated data sets in which Fisher's test rejects."""
    n = row.n_trials
    counts = rng.multinomial(n, cells_of(row), size=N_SETS)
    tables, times = np.unique(counts, axis=0, return_counts=True)
    n11, k_a, k_b = tables[:, 0], tables[:, :2].sum(axis=1), tables[:, [0, 2]].sum(axis=1)
    # Another test compares the first with SciPy.
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
    """Compare with the test whose p-value a summary shows."""
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
    # Not many more trials than needed.
    assert (plan["power"] <= plan["target"] + POINTS).all()


@pytest.mark.slow
def test_the_table_of_the_page_agrees_with_plans() -> None:
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
        # Four errors of 20,000 data sets at a proportion of one half, and rounding to two digits.
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
    """Compare with the score test and the variance of the hypothesis as printed in 1969."""
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
def test_one_trial_fewer_misses_the_target(pair: tuple[float, float, float]) -> None:
    """Compare power with Yates' correction, because simulated numbers have noise."""
    z = stats.norm.ppf(0.975)
    row = next(trials_for_power(*pair, method="analytic").itertuples())
    a, b = np.array([pair[0]]), np.array([pair[1]])
    null, truth = (fleiss_variance(a, b, ec)[0] for ec in (0.0, pair[2]))

    def power(n: int) -> float:
        # Change of kappa if the overlap changes by half a trial.
        half = 1 / (n * (a + b - 2 * a * b)[0])
        ends = [sign * pair[2] - half - z * np.sqrt(null / n) for sign in (1, -1)]
        return float(stats.norm.cdf(np.array(ends) / np.sqrt(truth / n)).sum())

    assert row.power == pytest.approx(power(row.n_trials), rel=1e-9)
    assert power(row.n_trials) >= 0.8 > power(row.n_trials - 1)


def test_published_example() -> None:
    """Compare with N.cohen.kappa(0.5, 0.5, 0.7, 0.85) of the R package irr.

    It prints 96, because its arguments are a true kappa of 0.7, tested against 0.85. Its text
    exchanges them, for which Cantor's formula gives 117.
    """
    options: dict[str, Any] = {"method": "analytic"}
    forth = trials_for_power(0.5, 0.5, 0.85, against=0.7, alternative="greater", **options)
    back = trials_for_power(0.5, 0.5, 0.7, against=0.85, alternative="less", **options)
    assert forth["n_trials"].tolist() == [117]
    assert back["n_trials"].tolist() == [96]
    # By hand: the variance is 1 - kappa**2 for accuracies of one half.
    level, goal = np.sqrt(1 - 0.7**2), np.sqrt(1 - 0.85**2)
    assert ceil(((1.6449 * level + 0.8416 * goal) / 0.15) ** 2) == 117
    assert ceil(((1.6449 * goal + 0.8416 * level) / 0.15) ** 2) == 96


def difference_rejects(counts: np.ndarray) -> np.ndarray:
    """Whether the difference of kappas exceeds 1.96 standard errors, by the delta method.

    Derivatives by an imaginary step are exact and need only the formula of kappa.
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


def test_models_are_independent_given_the_human_by_default() -> None:
    stated = (0.75, 0.85, 0.65, 0.4, 0.25)
    h, a, b = stated[:3]
    right = [h * x + ec * (h + x - 2 * h * x) / 2 for x, ec in ((a, 0.4), (b, 0.25))]
    # Independent among trials with a correct human, and among the others.
    both = right[0] * right[1] / h + (a - right[0]) * (b - right[1]) / (1 - h)
    implied = 2 * (both - a * b) / (a + b - 2 * a * b)
    silent, said, other = (
        trials_for_difference(*stated, ec) for ec in (None, implied, implied + 0.1)
    )
    assert silent["n_trials"].item() == said["n_trials"].item() != other["n_trials"].item()
    assert silent["se"].item() == pytest.approx(said["se"].item(), rel=1e-6)


def test_perfect_copies_need_few_trials() -> None:
    """With no spread, nothing is divided by it, whatever the number of trials."""
    plan = trials_for_power(0.75, 0.75, 1.0, rng=1)
    row = next(plan.itertuples())
    # Identical responses have p = 1 / (number of ways to select the correct trials).
    right = np.arange(row.n_trials + 1)
    rare = special.comb(row.n_trials, right) >= 20
    assert row.power == pytest.approx(
        stats.binom(row.n_trials, 0.75).pmf(right)[rare].sum(), abs=POINTS
    )
    assert row.power >= 0.79
    assert 9 <= row.n_trials <= 13


Z = stats.norm.ppf(0.975)
FEW = "fewer than 10 trials expected in a cell: simulated"


def simulated(row: Any, n_sets: int, rng: np.random.Generator) -> np.ndarray:
    """Defined error consistencies of simulated data sets."""
    p = cells_of(row)
    values = consistency.error_consistency(rng.multinomial(row.n_trials, p, n_sets))
    return values[~np.isnan(values)]


def width_of(values: np.ndarray) -> float:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(high - low)


def _rows(table: pd.DataFrame) -> Any:
    return table.itertuples(index=False)


PUBLISHED = [
    (400, 0.5, 0.170, 0.1697),
    (400, 0.9, 0.283, 0.2829),
    (400, 0.95, 0.39, None),
    (1000, 0.75, 0.124, 0.1240),
]


@pytest.mark.parametrize(("n", "accuracy", "expected", "digits"), PUBLISHED)
def test_widths_of_equally_accurate_observers(
    n: int, accuracy: float, expected: float, digits: float | None
) -> None:
    row = next(_rows(trials_for_width(accuracy, accuracy, 0.5, n_trials=n, rng=1)))
    if row.method == "analytic":
        assert row.width == pytest.approx(expected, abs=5.1e-4)
        if digits is not None:
            assert row.width == pytest.approx(digits, abs=5.1e-5)
    else:
        # Four Monte Carlo errors of 20,000 data sets, and one unit of the last digit.
        assert digits is None
        assert row.width == pytest.approx(expected, rel=0.028, abs=0.005)


@functools.cache
def all_tables(n: int) -> np.ndarray:
    """All tables of four cells with this number of trials."""
    bars = np.array(list(itertools.combinations(range(n + 3), 3)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, n + 3)))
    return np.diff(edges, axis=1) - 1


def exact_bias(p: np.ndarray, n: int) -> float:
    """Bias of defined estimates, over all possible tables."""
    counts = all_tables(n)
    log = special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1) + counts @ np.log(p)
    value = consistency.error_consistency(counts)
    weight = np.where(np.isnan(value), 0, np.exp(log))
    assert np.exp(log).sum() == pytest.approx(1, abs=1e-9)
    truth = float(consistency.error_consistency(p))
    return float((np.nan_to_num(value) * weight).sum() / weight.sum() - truth)


FOUR = [(0.75, 0.75, 0.5), (0.6, 0.7, 0.2), (0.5, 0.5, -0.4), (0.8, 0.65, 0.0)]


@pytest.mark.parametrize("pair", FOUR)
def test_bias_from_every_possible_table(pair: tuple[float, float, float]) -> None:
    p = simulate.cell_probabilities(*pair)
    stated = float(plans.second_order_bias(plans.one_pair(p)))
    few, some, many = (n * exact_bias(p, n) for n in (30, 60, 120))
    # These sums cancel the terms in 1 / n and 1 / n**2 of n times the bias; the remainder is
    # smaller than the last of them.
    once = 2 * many - some
    limit = (4 * once - (2 * some - few)) / 3
    assert stated == pytest.approx(limit, abs=abs(limit - once) + 1e-4)
    row = next(_rows(trials_for_width(*pair, n_trials=500)))
    assert row.bias == pytest.approx(stated / 500)


THREE = plans.Setting(
    pattern_probabilities(0.75, 0.8, 0.65, 0.5, 0.3, 0.4),
    np.array([pattern_cells(3, 0, 1), pattern_cells(3, 0, 2)]),
    np.array([1.0, -1.0]),
    ERROR_CONSISTENCY,
    np.full(8, 0.25),
)


@pytest.mark.parametrize("n", [2, 8, 40])
def test_undefined_fractions_are_exact(n: int) -> None:
    a, b, ec = np.array([*FOUR, (0.95, 0.9, 0.3), (0.98, 0.98, 0.8)]).T
    p = simulate.cell_probabilities(a, b, ec)
    p11, p10, p01, p00 = p.T
    found = plans.frac_undefined(plans.one_pair(p), n)
    assert found == pytest.approx(p11**n + p00**n, rel=1e-9, abs=1e-12)
    found = plans.frac_undefined(plans.one_pair(p, COPY_PROBABILITY), n)
    assert found == pytest.approx((p11 + p10) ** n + (p01 + p00) ** n, rel=1e-9, abs=1e-12)


def test_undefined_fraction_of_a_difference() -> None:
    n, n_sets = 8, 50_000
    counts = np.random.default_rng(7).multinomial(n, THREE.probabilities, n_sets)
    right = np.array(list(itertools.product((1, 0), repeat=3)))
    undefined = np.zeros(n_sets, dtype=bool)
    for model, answer in itertools.product((1, 2), (0, 1)):
        # Human and model give this response in all trials.
        both = (right[:, 0] == answer) & (right[:, model] == answer)
        undefined |= counts[:, both].sum(axis=1) == n
    share, found = float(plans.frac_undefined(THREE, n)), undefined.mean()
    assert abs(share - found) < 4 * np.sqrt(share * (1 - share) / n_sets)
    assert np.isnan(plans.estimates(counts, THREE)).tolist() == undefined.tolist()


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.02, 0.98))
def test_the_variance_agrees_with_the_published_formula(a: float, b: float, at: float) -> None:
    lower, upper = bounds.error_consistency_bounds(a, b)
    ec = float(lower + at * (upper - lower))
    p = simulate.cell_probabilities(a, b, ec)
    variance = float(plans.unit_variance(plans.one_pair(p)))
    assert variance == pytest.approx(
        fleiss_variance(*np.array([[a], [b]]), ec)[0], rel=1e-8, abs=1e-12
    )
    # Neither the order of observers nor exchanging correct and incorrect matters.
    plan = trials_for_width([a, b, 1 - a], [b, a, 1 - b], ec, n_trials=10**9)
    assert plan["width"].to_numpy() == pytest.approx(2 * Z * np.sqrt(variance / 1e9), rel=1e-6)
    assert plan["se"].to_numpy() == pytest.approx(np.sqrt(variance / 1e9), rel=1e-6)
    assert np.ptp(plan["bias"]) * 1e9 < 300e-6


@pytest.mark.slow
def test_intervals_agree_with_the_public_function() -> None:
    n_tables = 150
    p = simulate.cell_probabilities(0.9, 0.85, 0.3)
    counts = np.random.default_rng(9).multinomial(160, p, n_tables)
    result = al.error_consistency(
        tables.from_counts(counts), n_resamples=1_000, n_draws=1_000, rng=10
    ).summary(intervals="all")
    rng = np.random.default_rng(11)
    pair = plans.one_pair(p)
    for method, kind in (("analytic", "ci"), ("bootstrap", "eti"), ("posterior", "eti")):
        wanted = result[[f"{method}_{kind}95_{end}" for end in ("lb", "ub")]].to_numpy()
        one, two = (plans.intervals(counts, pair, method, 1_000, 0.95, rng) for _ in range(2))
        if method == "analytic":
            np.testing.assert_allclose(one, wanted, rtol=1e-9)
            continue
        # Every call has separate draws: the public function differs from this result as this result
        # differs with other draws.
        away, own = one - wanted, one - two
        error = 4 / np.sqrt(n_tables)
        for end in range(2):
            assert abs(away[:, end].mean()) < error * away[:, end].std()
            far, near = np.abs(away[:, end]), np.abs(own[:, end])
            assert abs(far.mean() - near.mean()) < error * np.hypot(far.std(), near.std())


@pytest.mark.parametrize(
    ("pair", "width"),
    [(FOUR[1], 0.3), (FOUR[2], 0.4), ((0.9, 0.9, 0.2), 0.05)],
)
def test_trials_by_brute_force(pair: tuple[float, float, float], width: float) -> None:
    row = next(_rows(trials_for_width(*pair, width)))
    n = np.arange(2, 20_000)
    a, b, ec = np.array(pair)[:, None]
    every = 2 * Z * np.sqrt(fleiss_variance(a, b, ec) / n)
    assert row.n_trials == n[every <= width][0]
    assert row.width == pytest.approx(every[row.n_trials - 2])
    assert row.target == width
    assert every[row.n_trials - 3] > width >= row.width


def test_a_width_that_is_exactly_reached_counts() -> None:
    n = np.array([101, 160, 370, 1024, 4096])
    width = trials_for_width(0.5, 0.5, [[0.0], [0.6]], n_trials=n)["width"]
    found = trials_for_width(0.5, 0.5, [[0.0], [0.6]], width.to_numpy().reshape(2, -1))
    assert found["n_trials"].tolist() == [*n, *n]


@pytest.mark.parametrize(
    ("pair", "width"),
    [((0.95, 0.95, 0.2), 0.4), ((0.2, 0.25, 0.75), 0.35)],
)
def test_simulated_numbers_reach_the_width(pair: tuple[float, float, float], width: float) -> None:
    row = next(_rows(trials_for_width(*pair, width, rng=1)))
    found = width_of(simulated(row, 100_000, np.random.default_rng(13)))
    assert row.method == "simulated"
    assert found == pytest.approx(width, rel=0.03)
    assert row.note.startswith(FEW)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pair", "width", "assurance", "interval"),
    [
        ((0.75, 0.75, 0.5), 0.2, 0.8, "posterior"),
        ((0.75, 0.75, 0.5), 0.2, 0.95, "analytic"),
        ((0.9, 0.9, 0.3), 0.3, 0.8, "bootstrap"),
    ],
)
def test_widths_are_assured(
    pair: tuple[float, float, float],
    width: float,
    assurance: float,
    interval: Any,
    sets: Callable[..., int],
) -> None:
    """Check the proportion of intervals of new data sets that are no wider."""
    plan = trials_for_width(*pair, width, assurance=assurance, interval=interval, rng=1)
    row = next(_rows(plan))
    assert (row.criterion, row.assurance) == (interval, assurance)
    n_sets, rng = sets(1_000), np.random.default_rng(2)
    setting = plans.one_pair(simulate.cell_probabilities(*pair))
    counts = rng.multinomial(row.n_trials, setting.probabilities, size=n_sets)
    bounds = plans.intervals(counts, setting, interval, 4_000, 0.95, rng)
    widths = bounds[:, 1] - bounds[:, 0]
    # Four errors of the proportion, and its change at numbers of trials with an error of 1.5%: the
    # search knows log widths within 0.01 by 11 numbers of 200 data sets, minus its slack.
    error = 4 * np.sqrt(assurance * (1 - assurance) / n_sets)
    near = [float(np.mean(widths <= width * (1 + off))) for off in (-0.015, 0.015)]
    assert near[0] - error <= assurance <= near[1] + error


def test_identical_observers_need_no_search() -> None:
    """All estimates are 1, so no line can be fitted to widths."""
    plan = trials_for_width(0.75, 0.75, 1.0, 0.2, rng=1)
    assert 2 <= plan["n_trials"].item() <= 10
    assert plan["width"].item() == 0


Floats = NDArray[np.float64]


def brute_force(
    truths: Floats, n_trials: int, pilot: NDArray[np.int64] | int = 0
) -> tuple[Floats, Floats]:
    """Posterior intervals of one study for each row of (accuracy_a, accuracy_b, ec), in a loop."""
    rng = np.random.default_rng(5)
    p = simulate.cell_probabilities(*truths.T)
    counts = pilot + np.array([rng.multinomial(n_trials, row) for row in p])
    draws = pairwise_draws(counts, n_draws=1_000, rng=6)["error_consistency"]
    lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
    return lower, upper


def prior_draws(n: int) -> Floats:
    """Draws of the priors below, truncated to possible values."""
    rng = np.random.default_rng(7)
    a, b = rng.beta(30, 10, (2, 4 * n))
    ec = rng.normal(0.4, 0.15, 4 * n)
    lower, upper = al.metrics.bounds.error_consistency_bounds(a, b)
    fits = (lower <= ec) & (ec <= upper)
    return np.stack([a, b, ec], axis=1)[fits][:n]


@pytest.mark.slow
def test_assurance_agrees_with_brute_force() -> None:
    accuracy, n_studies = stats.beta(30, 10), 2_000
    plan = al.planning.plan_from(
        {"accuracy_a": accuracy, "accuracy_b": accuracy, "ec": stats.norm(0.4, 0.15)}, [80, 320],
        width=0.2, rope=(-0.1, 0.1), n_datasets=n_studies, rng=1,
    )  # fmt: skip
    truths = prior_draws(n_studies)
    for _, row in plan.iterrows():
        lower, upper = brute_force(truths, int(row["n_trials"]))
        width = upper - lower
        found = {
            "p_width": width <= 0.2,
            "p_excludes": (lower > 0) | (upper < 0),
            "p_outside_rope": (lower > 0.1) | (upper < -0.1),
            "p_inside_rope": (lower >= -0.1) & (upper <= 0.1),
            "coverage": (lower <= truths[:, 2]) & (truths[:, 2] <= upper),
        }
        for name, shown in found.items():
            # Both are proportions of 2,000 studies.
            error = np.sqrt(2 * max(shown.mean() * (1 - shown.mean()), 1e-3) / n_studies)
            assert abs(row[name] - shown.mean()) <= 4 * error, name
        error = np.sqrt(2 / n_studies) * width.std()
        # Both use intervals from finite draws, which only adds noise.
        assert abs(row["expected_width"] - width.mean()) <= 4 * error
        quantile = np.quantile(width, 0.8)
        near = np.quantile(width, [0.75, 0.85])
        # Error of a quantile: that of the proportion below, divided by the density.
        error = np.sqrt(2 * 0.8 * 0.2 / n_studies) * (near[1] - near[0]) / 0.1
        assert abs(row["assured_width"] - quantile) <= 4 * error


def test_impossible_draws_are_repeated_and_reported() -> None:
    beliefs = {"accuracy_a": stats.uniform(0.6, 0.39), "accuracy_b": 0.7, "ec": 0.6}
    plan = al.planning.plan_from(beliefs, [100], n_datasets=1_000, rng=1)
    # With 0.7, an EC of 0.6 needs an accuracy whose upper bound is at least 0.6.
    a = np.linspace(0.6, 0.99, 100_001)
    possible = (al.metrics.bounds.error_consistency_bounds(a, 0.7)[1] >= 0.6).mean()
    share = plan["impossible_share"][0]
    assert share == pytest.approx(1 - possible, abs=4 * np.sqrt(possible * (1 - possible) / 1_000))


@pytest.mark.slow
def test_a_plan_from_a_pilot_agrees_with_brute_force() -> None:
    counts, n_studies = np.array([80, 12, 14, 14]), 2_000
    pilot = al.error_consistency(al.data.from_counts(counts), n_resamples=0, n_draws=1_000, rng=1)
    for keep in (False, True):
        plan = al.planning.plan_from(pilot, 300, keep_pilot=keep, n_datasets=n_studies, rng=2)
        p = np.random.default_rng(3).dirichlet(counts + 0.5, n_studies)
        truths = np.stack([p[:, 0] + p[:, 1], p[:, 0] + p[:, 2], al.metrics.error_consistency(p)])
        lower, upper = brute_force(truths.T, 300, counts if keep else 0)
        error = np.sqrt(2 / n_studies) * (upper - lower).std()
        assert abs(plan["expected_width"][0] - (upper - lower).mean()) <= 4 * error
        excludes = ((lower > 0) | (upper < 0)).mean()
        error = np.sqrt(2 * excludes * (1 - excludes) / n_studies)
        assert abs(plan["p_excludes"][0] - excludes) <= 4 * error + 1e-3
    # A posterior given all data covers its predictions at the nominal rate: 1.9 errors of 2,000
    # studies on either side.
    assert plan["coverage"][0] == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / n_studies))


@pytest.mark.slow
def test_other_metrics_are_planned_by_the_normal_approximation() -> None:
    """Compare with simulated studies; clusters use a normal approximation."""
    cells = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [300, 60, 50, 90], axis=0).T
    trials = al.Trials.from_correct(cells, item_columns={"own": np.arange(500)})
    exact, normal = (
        al.planning.plan_from(
            al.error_consistency(
                trials, n_resamples=0, n_draws=4_000, cluster=cluster, rng=1
            ),
            1_000, width=0.13, n_datasets=4_000, rng=2,
        )
        for cluster in (None, "own")
    )  # fmt: skip
    assert normal["method"].tolist() == ["normal"]
    # The width depends on the true value, which the approximation ignores: by 1%.
    assert normal["expected_width"][0] == pytest.approx(exact["expected_width"][0], rel=0.02)
    assert normal["coverage"][0] == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 4_000))
    trials = al.load_example()
    result = al.misclassification_agreement(
        trials, [("human_1", "human_2")], n_resamples=0, n_draws=500, rng=1
    )
    plan = al.planning.plan_from(result, width=0.2, n_datasets=200, rng=1)
    defined = plan["note"] == ""
    assert (plan.loc[defined, "expected_width"] <= 0.2 + 1e-9).all()
    assert plan.loc[~defined, "note"].str.contains("pilot's estimate is undefined").all()
    assert (plan["method"] == "normal").all()


@pytest.mark.slow
def test_a_pilot_with_clusters_gives_its_design_effect() -> None:
    """Compare widths of new studies with clusters of the same size, and with independent items."""
    rng = np.random.default_rng(11)

    def study(n_clusters: int, size: int = 20) -> al.Trials:
        shared, own = (rng.normal(size=(3, n)) for n in (n_clusters, n_clusters * size))
        label = np.repeat(np.arange(n_clusters), size)
        both = np.sqrt(0.5) * (shared[:, label] + own)
        strength = np.sqrt(0.6) * both[0] + np.sqrt(0.4) * both[1:]
        right = (strength < 0.7).astype(int)
        return al.Trials.from_correct(right, item_columns={"template": label})

    def consistency(trials: al.Trials, n_draws: int = 0, cluster: str = "template") -> al.Result:
        amounts = {"n_resamples": 0, "n_draws": n_draws}
        return al.error_consistency(trials, cluster=cluster, rng=1, **amounts)

    pilot = consistency(study(100), 500)
    (plan,) = al.planning.plan_from(pilot, 4_000, n_datasets=1_000, rng=2).to_dict("records")
    assert plan["method"] == "normal"
    assert plan["design_effect"] == float(pilot.estimates["design_effect"][0]) > 2
    planned = plan["expected_width"] / (2 * stats.norm.ppf(0.975))
    found = [float(consistency(study(200)).estimates["se"][0]) for _ in range(4)]
    # The standard error of 100 clusters in the pilot has an error of 1/sqrt(200): five errors.
    assert planned == pytest.approx(np.mean(found), rel=5 / np.sqrt(200))
