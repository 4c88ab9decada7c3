"""Widths of intervals, planned: simulation, closed forms, published figures, and the front door."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from test_power import fleiss_variance

import alikely as al
from alikely import simulate
from alikely.data import tables
from alikely.metrics import ERROR_CONSISTENCY, bounds, consistency
from alikely.metrics.copying import COPY_PROBABILITY
from alikely.planning import trials as plans
from alikely.planning.trials import trials_for_width
from alikely.simulate.simulators import pattern_cells, pattern_probabilities

Z = stats.norm.ppf(0.975)
FEW = "fewer than 10 trials expected in a cell: simulated"


def simulated(row: Any, n_sets: int, rng: np.random.Generator) -> np.ndarray:
    """Defined error consistencies of simulated data sets."""
    p = simulate.cell_probabilities(row.accuracy_a, row.accuracy_b, row.ec)
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
        # Four Monte Carlo errors of 20,000 sets, and one of the last digit.
        assert digits is None
        assert row.width == pytest.approx(expected, rel=0.028, abs=0.005)


@functools.cache
def all_tables(n: int) -> np.ndarray:
    """Every table of four cells with so many trials."""
    bars = np.array(list(itertools.combinations(range(n + 3), 3)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, n + 3)))
    return np.diff(edges, axis=1) - 1


def exact_bias(p: np.ndarray, n: int) -> float:
    """Bias of the defined estimates, over every possible table."""
    counts = all_tables(n)
    log = special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1) + counts @ np.log(p)
    value = consistency.error_consistency(counts)
    weight = np.where(np.isnan(value), 0, np.exp(log))
    assert np.exp(log).sum() == pytest.approx(1, abs=1e-9)
    truth = float(consistency.error_consistency(p))
    return float((np.nan_to_num(value) * weight).sum() / weight.sum() - truth)


PAIRS = [(0.75, 0.75, 0.5), (0.6, 0.7, 0.2), (0.5, 0.5, -0.4), (0.8, 0.65, 0.0)]


@pytest.mark.parametrize("pair", PAIRS)
def test_bias_from_every_possible_table(pair: tuple[float, float, float]) -> None:
    p = simulate.cell_probabilities(*pair)
    stated = float(plans.second_order_bias(plans.one_pair(p)))
    few, some, many = (n * exact_bias(p, n) for n in (30, 60, 120))
    # Of n times the bias the terms in 1 / n and 1 / n**2 fall out of such sums; what is left is
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
def test_undefined_shares_are_exact(n: int) -> None:
    a, b, ec = np.array([*PAIRS, (0.95, 0.9, 0.3), (0.98, 0.98, 0.8)]).T
    p = simulate.cell_probabilities(a, b, ec)
    p11, p10, p01, p00 = p.T
    found = plans.frac_undefined(plans.one_pair(p), n)
    assert found == pytest.approx(p11**n + p00**n, rel=1e-9, abs=1e-12)
    found = plans.frac_undefined(plans.one_pair(p, COPY_PROBABILITY), n)
    assert found == pytest.approx((p11 + p10) ** n + (p01 + p00) ** n, rel=1e-9, abs=1e-12)


def test_undefined_share_of_a_difference() -> None:
    n, n_sets = 8, 50_000
    counts = np.random.default_rng(7).multinomial(n, THREE.probabilities, n_sets)
    right = np.array(list(itertools.product((1, 0), repeat=3)))
    undefined = np.zeros(n_sets, dtype=bool)
    for model, answer in itertools.product((1, 2), (0, 1)):
        # Human and model give this answer in all trials.
        both = (right[:, 0] == answer) & (right[:, model] == answer)
        undefined |= counts[:, both].sum(axis=1) == n
    share, found = float(plans.frac_undefined(THREE, n)), undefined.mean()
    assert abs(share - found) < 4 * np.sqrt(share * (1 - share) / n_sets)
    assert np.isnan(plans.estimates(counts, THREE)).tolist() == undefined.tolist()


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.02, 0.98))
def test_the_variance_is_the_printed_one(a: float, b: float, at: float) -> None:
    lower, upper = bounds.error_consistency_bounds(a, b)
    ec = float(lower + at * (upper - lower))
    p = simulate.cell_probabilities(a, b, ec)
    variance = float(plans.unit_variance(plans.one_pair(p)))
    assert variance == pytest.approx(
        fleiss_variance(*np.array([[a], [b]]), ec)[0], rel=1e-8, abs=1e-12
    )
    # Neither the order of observers nor the name of what is right plays a role.
    plan = trials_for_width([a, b, 1 - a], [b, a, 1 - b], ec, n_trials=10**9)
    assert plan["width"].to_numpy() == pytest.approx(2 * Z * np.sqrt(variance / 1e9), rel=1e-6)
    assert plan["se"].to_numpy() == pytest.approx(np.sqrt(variance / 1e9), rel=1e-6)
    assert np.ptp(plan["bias"]) * 1e9 < 300e-6


def test_intervals_are_those_of_the_front_door() -> None:
    n_tables = 150
    p = simulate.cell_probabilities(0.9, 0.85, 0.3)
    counts = np.random.default_rng(9).multinomial(160, p, n_tables)
    result = al.error_consistency(
        tables.from_counts(counts), n_resamples=1_000, n_draws=1_000, rng=10
    ).summary(intervals="all")
    rng = np.random.default_rng(11)
    pair = plans.one_pair(p)
    for method, kind in (("analytic", "ci"), ("bootstrap", "eti"), ("posterior", "eti")):
        door = result[[f"{method}_{kind}95_{end}" for end in ("lb", "ub")]].to_numpy()
        one, two = (plans.intervals(counts, pair, method, 1_000, 0.95, rng) for _ in range(2))
        if method == "analytic":
            np.testing.assert_allclose(one, door, rtol=1e-9)
            continue
        # Each table has its own draws, once more for every call: the front door is as far from
        # here as here is from here with other draws.
        away, own = one - door, one - two
        error = 4 / np.sqrt(n_tables)
        for end in range(2):
            assert abs(away[:, end].mean()) < error * away[:, end].std()
            far, near = np.abs(away[:, end]), np.abs(own[:, end])
            assert abs(far.mean() - near.mean()) < error * np.hypot(far.std(), near.std())


@pytest.mark.parametrize(
    ("pair", "width"),
    [(PAIRS[1], 0.3), (PAIRS[2], 0.4), ((0.9, 0.9, 0.2), 0.05)],
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


def test_a_width_that_is_just_reached_counts() -> None:
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
    """Intervals of new data sets, of which a share is no wider."""
    plan = trials_for_width(*pair, width, assurance=assurance, interval=interval, rng=1)
    row = next(_rows(plan))
    assert (row.criterion, row.assurance) == (interval, assurance)
    n_sets, rng = sets(1_000), np.random.default_rng(2)
    setting = plans.one_pair(simulate.cell_probabilities(*pair))
    counts = rng.multinomial(row.n_trials, setting.probabilities, size=n_sets)
    bounds = plans.intervals(counts, setting, interval, 4_000, 0.95, rng)
    widths = bounds[:, 1] - bounds[:, 0]
    # Four errors of the share here, and the share at numbers of trials 1.5 % off: the search
    # knows log widths within .01 by 11 numbers of 200 data sets, less its slack.
    error = 4 * np.sqrt(assurance * (1 - assurance) / n_sets)
    near = [float(np.mean(widths <= width * (1 + off))) for off in (-0.015, 0.015)]
    assert near[0] - error <= assurance <= near[1] + error


def test_identical_observers_need_no_search() -> None:
    """Every estimate is 1: there is no width to draw a line through."""
    plan = trials_for_width(0.75, 0.75, 1.0, 0.2, rng=1)
    assert 2 <= plan["n_trials"].item() <= 10
    assert plan["width"].item() == 0
