"""Fisher's exact test, compared with exact integers and with closed forms in the far tails."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from alikely.inference import independence
from alikely.inference.independence import fisher_log10_p

SIDES = ("two-sided", "greater", "less")


def log10_of(share: Fraction) -> float:
    """Log10 of a fraction of integers of any size, which Python's logarithm accepts."""
    return math.log10(share.numerator) - math.log10(share.denominator)


def counted(cells: np.ndarray, alternative: str) -> float:
    """Log10 of the p-value from exact integers, with the same rule for ties."""
    n11, n10, n01, n00 = map(int, cells)
    k_a, k_b, total = n11 + n10, n11 + n01, n11 + n10 + n01 + n00
    overlaps = range(max(0, n11 - n00), min(k_a, k_b) + 1)
    ways = [math.comb(k_a, x) * math.comb(total - k_a, k_b - x) for x in overlaps]
    own = n11 - overlaps[0]
    if alternative == "two-sided":
        chosen = sum(way for way in ways if way * 10**7 <= ways[own] * (10**7 + 1))
    else:
        chosen = sum(ways[own:] if alternative == "greater" else ways[: own + 1])
    return log10_of(Fraction(chosen, math.comb(total, k_b)))


def odd_tables() -> np.ndarray:
    """Small, unbalanced and perfect tables, with empty cells and margins."""
    rng = np.random.default_rng(1)
    edges = [[0, 0, 0, 5], [300, 0, 0, 300], [0, 300, 300, 0], [1000, 0, 0, 1], [500, 1, 1, 500]]
    tables = np.vstack(
        [
            rng.integers(0, 4, size=(150, 4)),
            rng.integers(0, [5, 50, 5, 50], size=(100, 4)),
            rng.integers(0, 300, size=(60, 4)),
            [[5, 0, 0, 0], [0, 7, 0, 0], [0, 7, 0, 7], [3, 3, 0, 0], [1, 0, 0, 0], *edges],
        ]
    )
    return tables[tables.sum(axis=1) > 0]


@pytest.mark.parametrize("alternative", SIDES)
def test_equals_counts_of_all_tables(alternative: str) -> None:
    tables = odd_tables()
    reference = [counted(cells, alternative) for cells in tables]
    assert min(reference) < -100
    # A log mass has a relative error of 1e-16; one side is 1 minus the other.
    found = fisher_log10_p(tables, alternative)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, reference, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("half", [1, 40, 6_000, 600_000])
def test_perfect_tables_have_a_closed_form(half: int) -> None:
    """Only two tables are as rare as perfect agreement, with p as small as 10**-361,000."""
    if half < 10_000:
        log10_ways = math.log10(math.comb(2 * half, half))
    else:
        # Stirling's series of the central binomial coefficient: the next term is of half**-3.
        log10_ways = 2 * half * math.log10(2) - math.log10(math.pi * half) / 2
        log10_ways -= 1 / (8 * half) / math.log(10)
    found = fisher_log10_p([[half, 0, 0, half], [0, half, half, 0]])
    np.testing.assert_allclose(found, math.log10(2) - log10_ways, rtol=1e-14, atol=1e-14)
    one_sided = fisher_log10_p([half, 0, 0, half], "greater")
    np.testing.assert_allclose(one_sided, -log10_ways, rtol=1e-14)


def test_shapes_types_symmetries_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "BLOCK", 7)
    tables = np.random.default_rng(4).integers(0, 90, size=(5, 6, 4))
    found = fisher_log10_p(tables)
    assert found.shape == (5, 6)
    for dtype in (np.int32, np.uint16):
        np.testing.assert_array_equal(fisher_log10_p(tables.astype(dtype)), found)
    # Exchange the observers, or correct and incorrect.
    for order in ([0, 2, 1, 3], [3, 1, 2, 0], [1, 0, 3, 2]):
        np.testing.assert_allclose(
            fisher_log10_p(tables[..., order]), found, rtol=1e-11, atol=1e-13
        )
    np.testing.assert_allclose(
        fisher_log10_p(tables, "less"),
        fisher_log10_p(tables[..., [1, 0, 3, 2]], "greater"),
        rtol=1e-13,
    )
    assert fisher_log10_p(tables[:, :0]).shape == (5, 0)


def test_an_empty_table_is_undefined() -> None:
    for alternative in SIDES:
        found = fisher_log10_p([[0, 0, 0, 0], [3, 0, 0, 0]], alternative)  # type: ignore[arg-type]
        np.testing.assert_array_equal(found, [np.nan, 0.0])
