"""Plots of decision margins: what is drawn are the numbers that were given."""

from __future__ import annotations

from typing import Any

import gallery
import numpy as np
import pytest
import xarray as xr

import alikely as al


@pytest.fixture(scope="module")
def result() -> al.Result:
    """A result with draws made up, of models and humans."""
    trials, margins = al.simulate.detection_experiment(6, 30, 1, rho={"a": 0.8, "b": 0.1}, rng=1)
    found = al.decision_margin_consistency(trials, margins, n_draws=0, n_resamples=0, rng=1)
    rng = np.random.default_rng(2)
    tree = found.data.copy()
    shape = (4, 50, 3)
    names = found.table["pair"].values
    tree["posterior"] = xr.Dataset(
        {"decision_margin_consistency": (("chain", "draw", "pair"), rng.uniform(0.5, 0.9, shape))},
        coords={"pair": names},
        attrs={"sampler": "nuts", "joint": 0},
    )
    return al.Result(tree)


def legend(ax: Any) -> str:
    return " | ".join(text.get_text() for text in ax.get_legend().get_texts())


def drawn(ax: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.column_stack(line.get_data()) for line in ax.lines])


def test_both_consistencies_against_accuracy(result: al.Result) -> None:
    trials, margins = al.simulate.detection_experiment(6, 30, 1, rho={"a": 0.8, "b": 0.1}, rng=1)
    del margins
    table = al.estimates.consistency_table(trials, result)
    upper, lower = al.plot_margins(table, "consistency")
    for ax, name in ((upper, "error"), (lower, "margin")):
        points, column = drawn(ax), f"{name}_consistency"
        for x, y in table[["accuracy_model", column]].to_numpy():
            assert np.isclose(points, [x, y]).all(axis=1).any()
        # People with each other, models with people on the average: lines with bands.
        for level in (f"group_{column}", f"mean_{column}"):
            assert np.isclose(points[:, 1], table[level][0]).any()
            low, high = table.loc[0, [f"{level}_lb", f"{level}_ub"]]
            assert any(
                np.isclose([box.get_y(), box.get_y() + box.get_height()], [low, high]).all()
                for box in ax.patches
            )
        assert f"models with human, mean: {table[f'mean_{column}'][0]:.2f} [" in legend(ax)
    # A ceiling of models is the root of what people reach.
    assert np.isclose(drawn(lower)[:, 1], np.sqrt(table["group_margin_consistency"][0])).any()
    with pytest.raises(TypeError, match="ax must be 2 axes"):
        al.plot_margins(table, "consistency", ax=upper)
    with pytest.raises(ValueError, match="frame lacks the column 'margin_ceiling'"):
        al.plot_margins(table.drop(columns="margin_ceiling"), "consistency")


def test_checks_are_drawn_from_the_data() -> None:
    found = gallery.classified(3)
    bend, classes, tail = al.plot_margins(found, "checks")
    table = found.table
    margins, share = table["margins"].values[1], table["margins"].values[0]
    points = {tuple(xy) for xy in np.round(bend.lines[0].get_xydata(), 9)}
    assert points == {tuple(xy) for xy in np.round(np.column_stack([margins, share]), 9)}
    # Means of bins have the mean of all.
    middle = np.concatenate([line.get_ydata() for line in bend.lines if line.get_marker() == "o"])
    assert np.mean(middle) == pytest.approx(share.mean())
    assert {text.get_text() for text in classes.get_yticklabels()} == {
        "c0 (16)",
        "c1 (16)",
        "c2 (16)",
    }
    center = classes.lines[1].get_xdata()
    assert np.mean(center) == pytest.approx(0, abs=1e-12)
    assert (np.diff(center) >= 0).all()
    drawn = np.sort(np.concatenate([line.get_ydata() for line in tail.lines[1:]]))
    low, high = np.quantile(margins, [0.25, 0.75])
    width = (high - low) / (2 * 0.6744897501960817)
    np.testing.assert_allclose(drawn, (np.sort(margins) - np.median(margins)) / width)
    p = float(found.estimates["p_nonlinearity"].values[0])
    assert bend.get_title() == f"linearity: p = {p:.3f}"
