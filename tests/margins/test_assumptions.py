"""What a model by chains takes for granted is doubted where data contradict it, and only there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import alikely as al
from alikely.margins.assumptions import REMARKED, SAYS, model_checks
from alikely.margins.tables import margin_table
from studies.simulators.margins import MarginWorld, margin_data


def table_of(world: MarginWorld, seed: int) -> xr.Dataset:
    """A margin table of one machine and one group, as from the door."""
    data = margin_data(world, np.random.default_rng(seed))
    items = [f"i{i}" for i in range(data.right.shape[1])]
    answers = pd.DataFrame(
        {
            "observer": np.repeat([f"p{o}" for o in range(len(data.right))], len(items)),
            "item": np.tile(items, len(data.right)),
            "n": data.shown.ravel(),
            "right": data.right.ravel(),
        }
    )
    answers = answers.loc[answers.index.repeat(answers["n"])]
    repeat = answers.groupby(["observer", "item"]).cumcount()
    trials = al.Trials.from_table(
        answers.assign(
            kind="human",
            condition="c",
            dataset="d",
            repeat=repeat,
            correct=(repeat < answers["right"]).astype(int),
        ).drop(columns=["n", "right"])
    )
    margins = pd.DataFrame(
        {"observer": "net", "dataset": "d", "condition": "c", "item": items, "margin": data.margins}
    )
    return margin_table(trials, margins)


@pytest.mark.parametrize(
    ("world", "name"),
    [
        (MarginWorld(relation="exp", n_observers=20), "p_bend"),
        (MarginWorld(law="skewed", n_observers=45), "p_skew"),
        (MarginWorld(n_observers=5, n_repeats=4, stable_sd=1.0), "p_repeats"),
    ],
)
def test_what_data_contradict_is_told(world: MarginWorld, name: str) -> None:
    table = table_of(world, 3)
    checked = model_checks(table, "items", 16)
    assert checked.p_values[name][0] < REMARKED
    assert SAYS[name] in checked.remarks[0]
    of_observers = model_checks(table, "observers", 16).remarks[0]
    assert (SAYS[name] in of_observers) == (name != "p_repeats")


def test_only_a_machine_and_a_group_are_checked() -> None:
    trials, margins = al.simulate.detection_experiment(8, 60, rho={"a": 0.6, "b": 0.4}, rng=1)
    table = margin_table(trials, margins)
    checked = model_checks(table, "items", 2)
    machine = table["is_machine"].values
    mixed = machine[table["first"].values] != machine[table["second"].values]
    assert mixed.any()
    assert not mixed.all()
    for values in checked.p_values.values():
        np.testing.assert_array_equal(np.isfinite(values), mixed)
