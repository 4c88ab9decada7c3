"""Plots of plans show what their tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alikely as al


@pytest.fixture(scope="module")
def widths() -> pd.DataFrame:
    accuracy = np.array([[0.75], [0.95]])
    return al.trials_for_width(accuracy, accuracy, 0.5, n_trials=[50, 200, 800, 3200], rng=1)


def points(ax: object, hollow: bool) -> set[tuple[float, float]]:
    """Marked points, by how they are filled."""
    lines = [line for line in ax.lines if line.get_marker() not in ("None", "")]
    chosen = [line for line in lines if (line.get_markerfacecolor() == "white") == hollow]
    return {(float(x), float(y)) for line in chosen for x, y in zip(*line.get_data(), strict=True)}


def test_widths_are_drawn_as_they_came(widths: pd.DataFrame) -> None:
    ax = al.plot_plan(widths, "width", references={"one condition": 160})
    for method, hollow in (("analytic", False), ("simulated", True)):
        part = widths[widths["method"] == method]
        expected = set(zip(part["n_trials"].astype(float), part["width"], strict=True))
        assert expected
        assert points(ax, hollow) == expected
    assert [text.get_text() for text in ax.texts] == ["one condition"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["0.75", "0.95", "simulated"]
    assert ax.get_xscale() == "log"


def test_power_of_items_is_drawn_too() -> None:
    table = al.planning.items_for_margins([[0.2], [0.4]], n_items=[20, 50, 100, 200])
    ax = al.plot_plan(table, "power", x="n_items", hue="dmc")
    drawn = points(ax, hollow=False)
    assert drawn == set(zip(table["n_items"].astype(float), table["power"], strict=True))
    assert any(np.allclose(line.get_ydata(), 0.8) for line in ax.lines)


def test_design_map_marks_the_best_design() -> None:
    pilot = al.planning.variance_components(al.load_example()).tail(1)
    grid = al.planning.expected_errors(pilot, [[2], [8], [32], [128]], [20, 200, 2000])
    designs = al.planning.best_design(pilot, 3000, 0.1, 10)
    ax = al.plot_plan(grid, "design", designs=designs)
    (star,) = (line for line in ax.lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == designs["n_images"][0]
    assert star.get_ydata()[0] == designs["n_observers"][0]
    assert f"{designs['n_observers'][0]} observers" in ax.get_title()
    with pytest.raises(ValueError, match="full grid"):
        al.plot_plan(grid.drop(index=grid.index[0]), "design")
    with pytest.raises(ValueError, match="one row per number of observers and images"):
        al.plot_plan(pd.concat([grid, grid]), "design")
