"""The moment interval keeps its promise in worlds of many kinds, and its checks theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from studies.coverage_cohort import cohort_coverage
from studies.coverage_items import item_coverage
from studies.coverage_margins import margin_coverage
from studies.simulators.margins import MarginWorld


def test_a_short_study_has_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    # Truths from 20,000 items: to .01.
    monkeypatch.setattr("studies.simulators.margins.CLASSES", 400)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    worlds = {"plain": MarginWorld(n_items=48, n_observers=4)}
    table = margin_coverage(worlds, n_datasets=10, rng=1)
    assert table["scope"].tolist() == ["total", "within", "difference", "groups"]
    # 10 data sets: 4 errors below .95 are .67.
    assert (table["coverage"] >= 0.67).all()
    again = margin_coverage(worlds, n_datasets=10, rng=1)
    np.testing.assert_array_equal(table["truth"], again["truth"])


@pytest.mark.slow
def test_strengths_have_a_row_and_checks_of_their_own() -> None:
    worlds = {"plain": MarginWorld(n_items=48, n_observers=4)}
    table = margin_coverage(worlds, n_datasets=10, strengths=True, rng=1)
    row = table.set_index("scope").loc["strengths"]
    assert row["truth"] == pytest.approx(0.9, abs=0.01)
    # 10 data sets: four errors below .95 are .67.
    assert row["coverage"] >= 0.67
    assert 0 <= row["noted"] <= 1
    checked = table[table["scope"].isin(["total", "within", "strengths"])]
    assert checked[["p_skew", "p_line", "p_law"]].notna().all(axis=None)


@pytest.mark.parametrize(
    ("study", "options", "message"),
    [
        (margin_coverage, {"n_datasets": 9}, "n_datasets must be at least 10, got 9"),
        (margin_coverage, {"ci_prob": 95}, "ci_prob"),
        (cohort_coverage, {"n_sets": 30}, "n_sets must be a multiple of 20, got 30"),
        (item_coverage, {"n_datasets": 30}, "n_datasets must be a multiple of 25, got 30"),
    ],
)
def test_bad_studies(study: Any, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study(**options)
