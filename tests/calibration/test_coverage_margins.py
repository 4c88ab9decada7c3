"""The moment interval keeps its promise in worlds of many kinds, and its checks theirs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alikely.margins.residuals import skew_check
from alikely.margins.strengths import group_strengths
from alikely.simulate.margins import MARGIN_WORLDS, MarginWorld
from studies.coverage_margins import margin_coverage

# Worlds in which strengths are on a line with raw margins, people alike on classes, and repeats
# chance alone: there the checks should be silent.
LINEAR = ["45 people twice", "10 people", "10 people, perfect", "t4 strengths", "easy items",
          "two lists", "answers missing", "two alternatives", "unrelated", "opposed"]  # fmt: skip
CLASSES_DIFFER = ["class bias", "opposite classes"]


def test_a_short_study_has_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    # Truths from 20,000 items: to .01.
    monkeypatch.setattr("alikely.simulate.margins.CLASSES", 400)
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
    assert checked[["p_skew", "p_line", "p_residuals", "p_law"]].notna().all(axis=None)


def test_bad_studies() -> None:
    with pytest.raises(ValueError, match="n_datasets must be at least 10, got 9"):
        margin_coverage(n_datasets=9)
    with pytest.raises(ValueError, match="ci_prob"):
        margin_coverage(ci_prob=95)


def skewness_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the skewness of strengths in one data set of five.

    Of it nothing is asserted, and the strengths of a group that it needs take most of the time.
    """
    place, calls = "studies.coverage_margins", itertools.count()

    def seldom(right: Any, shown: Any, m: int) -> Any:
        return group_strengths(right, shown, m) if next(calls) % 5 == 0 else None

    monkeypatch.setattr(f"{place}.group_strengths", seldom)
    monkeypatch.setattr(
        f"{place}.skew_check", lambda group: np.nan if group is None else skew_check(group)
    )


@pytest.mark.slow(first=True)
def test_coverage_width_and_checks_in_all_worlds(
    figure: Callable[[str], None], sets: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a machine, within classes, of differences of machines, and of two groups.

    With 25 data sets of each world a coverage of .72 in one of them is seen, and of .85 in all.
    """
    n = sets(100)
    # Truths from a quarter of 600,000 items, to .004, take less time than the sets.
    monkeypatch.setattr("alikely.simulate.margins.CLASSES", sets(12_000))
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    if n < 100:
        skewness_seldom(monkeypatch)
    table = margin_coverage(n_datasets=n, rng=20)
    figure(table.round(3).to_string())
    # Not significantly below .92, one-sided at .05 for one world; of 108 rows none is to be further
    # off than 3.1 errors.
    error = np.sqrt(0.92 * 0.08 / n)
    assert (table["coverage"] > 0.92 - 3.1 * error).all()
    assert (table["coverage"] > 0.92 - 1.645 * error).mean() > 0.95
    # Over the spread of the estimates, which of a part of 100 sets is off that of all by so much.
    room = 1 + 4 * np.sqrt((1 / n - 1 / 100) / 2)
    assert (table["width_ratio"] <= 1.5 * room).all()
    assert table["width_ratio"].mean() <= 1.5
    # Of 2 or 3 people and 40 items, 2.5 a class, the reliability may be 0: in one of six.
    small = table["world"].str.contains("40 items")
    assert (table["unbounded"][~small] == 0).all()
    assert (table["unbounded"][small] <= 1 / 6 + 4 * np.sqrt(1 / 6 * 5 / 6 / n)).all()
    total = table[table["scope"] == "total"].set_index("world")
    # Four errors of a mean over worlds: of the ten lines .028 in full.
    four = 4 * np.sqrt(0.05 * 0.95 / n)
    mean = four / np.sqrt(len(LINEAR))
    assert total.loc[LINEAR, "p_bend"].mean() == pytest.approx(0.05, abs=mean)
    rest = total.drop(CLASSES_DIFFER)["p_classes"]
    assert rest.mean() == pytest.approx(0.05, abs=mean)
    assert (total.loc[LINEAR, "p_bend"] < 0.05 + four).all()
    assert (rest < 0.05 + four).all()
    assert total.loc["10 people twice, alike", "p_repeats"] == pytest.approx(0.05, abs=four)
    # Power.
    assert (total.loc[["exp", "exp, perfect"], "p_bend"] > 0.9).all()
    assert (total.loc[CLASSES_DIFFER, "p_classes"] > 0.95).all()
    stable = ["45 people twice", "5 people twice, stable"]
    assert (total.loc[stable, "p_repeats"] > 0.95).all()


@pytest.mark.slow(first=True)
def test_strengths_within_classes_and_what_notes_say(
    figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    """Classes with biases of their own, and worlds in which all holds."""
    n, holds = sets(60), ["10 people", "10 people, perfect"]
    worlds = {name: MARGIN_WORLDS[name] for name in [*CLASSES_DIFFER, *holds]}
    table = margin_coverage(worlds, n_datasets=n, strengths=True, rng=20)
    figure(table.round(3).to_string())
    rows = table.set_index(["scope", "world"])
    within = rows.loc["strengths within"]
    assert (within["coverage"] > 0.92 - 3 * np.sqrt(0.92 * 0.08 / n)).all()
    assert (within["width_ratio"] <= 1.5).all()
    for scope in ("total", "strengths"):
        noted = rows.loc[scope, "noted"]
        assert noted["opposite classes"] > 0.95
        # In at most a tenth of data sets: three errors of both worlds together.
        assert noted[holds].mean() < 0.1 + 3 * np.sqrt(0.1 * 0.9 / (2 * n))
    told = rows.loc["total"]
    for name in ("p_within", "p_within_strengths"):
        assert told.loc[holds, name].mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / (2 * n))
        assert (told.loc[CLASSES_DIFFER, name] > 0.4).all()
