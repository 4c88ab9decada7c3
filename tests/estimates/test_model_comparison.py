"""Copying against independence: exact calibration, published values, no information."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from names_page import ROOT
from scipy import special, stats

import alikely as al
from alikely.inference.null import elpd, elpd_mid_p, log_bayes_factor
from alikely.simulate.simulators import copy_cell_probabilities

# Log probability below which tables are omitted from an enumeration.
RARE = -17.0


def tables_of(n: int, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All tables except the rarest, and their multinomial probabilities."""
    big = int(np.argmax(p))
    small = [cell for cell in range(4) if cell != big]
    reach = 6 * np.sqrt(n * p) + 8
    spans = [
        np.arange(max(0, int(n * p[i] - reach[i])), min(n, int(n * p[i] + reach[i])) + 1)
        for i in small
    ]
    tables = np.zeros((int(np.prod([len(span) for span in spans])), 4), dtype=np.int64)
    tables[:, small] = np.stack(np.meshgrid(*spans, indexing="ij"), axis=-1).reshape(-1, 3)
    tables[:, big] = n - tables.sum(axis=1)
    tables = tables[tables[:, big] >= 0]
    mass = special.gammaln(n + 1) - special.gammaln(tables + 1).sum(axis=1) + tables @ np.log(p)
    keep = mass > RARE
    return tables[keep], np.exp(mass[keep])


def shares(n: int, accuracy: float, copying: float) -> tuple[float, float, float]:
    """Rates of copying by two standard errors and by mid-p, and the omitted probability."""
    p = copy_cell_probabilities(accuracy, copying, accuracy)
    tables, mass = tables_of(n, p)
    better, worse, se = elpd(tables)
    gain = better - worse
    more = tables[:, 0] * tables[:, 3] > tables[:, 1] * tables[:, 2]
    mid_p = elpd_mid_p(tables)
    found = (gain > 0) & more & (mid_p <= 0.05)
    return mass @ (gain > 2 * se), mass @ found, 1 - mass.sum()


@pytest.mark.slow
def test_the_table_of_the_page_is_that_of_all_tables() -> None:
    rows = re.findall(
        r"^\| ([\d,]+) \| 0(\.\d+) \| (0|0\.2): (?:false|power) \| 0(\.\d{3}) \| 0(\.\d{3}) \|$",
        (ROOT / "docs" / "validation" / "pairs.md").read_text(),
        flags=re.MULTILINE,
    )
    assert len(rows) == 6
    for n, *numbers in rows:
        accuracy, copying, by_se, by_mid_p = map(float, numbers)
        *found, left_out = shares(int(n.replace(",", "")), accuracy, copying)
        np.testing.assert_allclose(found, [by_se, by_mid_p], atol=5.1e-4 + left_out)
        if copying == 0:
            assert found[1] <= 0.05


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_mid_p_is_the_sum_over_overlaps(cells: list[int]) -> None:
    n11, n10, n01, n00 = cells
    lowest, highest = -min(n11, n00), min(n10, n01)
    p = elpd_mid_p(cells)
    right_a, right_b, n = n11 + n10, n11 + n01, sum(cells)
    if right_a in (0, n) or right_b in (0, n):
        assert np.isnan(p)
        return
    every = np.array([[n11 + k, n10 - k, n01 - k, n00 + k] for k in range(lowest, highest + 1)])
    gains = np.subtract(*elpd(every)[:2])
    own, mass = gains[-lowest], stats.hypergeom(n, right_a, right_b).pmf(every[:, 0])
    tied = np.abs(gains - own) <= 1e-9
    assert p == pytest.approx(mass[(gains > own) & ~tied].sum() + mass[tied].sum() / 2, abs=1e-9)
    # The result does not depend on the order, nor on which responses are called correct.
    for order in ([0, 2, 1, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        assert elpd_mid_p(every[-lowest][order]) == pytest.approx(p, abs=1e-9)


def compared(cells: list[list[int]]) -> dict[str, list[object]]:
    result = al.error_consistency(al.data.from_counts(np.array(cells)), n_resamples=0, n_draws=0)
    return al.test_copy_model(result).to_dict("list")


def test_every_row_has_a_result_or_a_reason() -> None:
    found = compared(
        [[100, 20, 20, 20], [60, 60, 40, 0], [100, 30, 24, 6], [80, 40, 0, 0], [0, 0, 9, 9]]
    )
    assert found["preferred_model"] == ["copy", "anti-copy", "undecided", "", ""]
    assert found["note"][:3] == [""] * 3
    assert found["note"][3:] == [
        f"observer_{side}: copying and independence predict the same"
        for side in ("a always correct", "a always incorrect")
    ]
    for column in ("elpd_difference", "se_difference", "mid_p"):
        assert np.isnan(found[column]).tolist() == [False] * 3 + [True] * 2
    assert np.isfinite(found["elpd_copying"]).all()
    np.testing.assert_allclose(found["log_bf10"][:1], log_bayes_factor([[100, 20, 20, 20]]))
