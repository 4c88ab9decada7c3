"""Notes report unusual margins of a model, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import alikely as al
from alikely.margins.posterior import LEVEL, entry_draws, group_notes, model_notes
from alikely.margins.tables import margin_table
from studies.simulators.margins import MarginWorld, margin_data

N_ITEMS, N_CLASSES = 60, 4


def data(
    change: Any = None, conditions: tuple[str, ...] = ("c",), **more: Any
) -> tuple[al.Trials, pd.DataFrame]:
    """Trials of three humans with items of four classes, and margins of two models."""
    rng = np.random.default_rng(3)
    ease = rng.normal(size=N_ITEMS)
    truth = [f"k{i % N_CLASSES}" for i in range(N_ITEMS)]
    answers = pd.DataFrame(
        [
            {"observer": f"p{o}", "kind": "human", "condition": "c", "item": f"i{i}",
             "truth": truth[i],
             "response": truth[i] if rng.random() < 0.5 + 0.2 * ease[i] else truth[i - 1]}
            for o in range(3) for i in range(N_ITEMS)
        ]
    )  # fmt: skip
    margins = ease + rng.normal(size=N_ITEMS)
    if change is not None:
        change(margins)
    rows = [
        pd.DataFrame({"observer": name, "condition": condition, "margin": values,
                      "item": [f"i{i}" for i in range(N_ITEMS)], **more})
        for name, values in (("net", margins), ("other", ease)) for condition in conditions
    ]  # fmt: skip
    return al.Trials.from_table(answers), al.margins.decision_margins(pd.concat(rows))


def notes(*given: Any) -> list[str]:
    return model_notes(margin_table(*given), 1, 0)


def put(places: Any, value: float) -> Any:
    def change(margins: np.ndarray[Any, Any]) -> None:
        margins[places] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (None, []),
        (put(7, 1e6), ["a margin of net is 1e+06, far from the others, and the raw estimate"]),
        (
            put([7, 9], -1e6),
            ["2 margins of net lie up to -1e+06, far from the oth", "2 margins of net tie (mid-r"],
        ),
        # Heavy tails as in real networks.
        (lambda margins: np.sinh(2 * margins, out=margins), []),
        (put(slice(0, 3), 0.5), ["3 margins of net tie (mid-ranks)"]),
        (
            put(slice(1, None, 4), 0.5),
            [
                "15 margins of net tie (mid-ranks)",
                "all margins of net are equal within 1 of its cl",
            ],
        ),
        # Most margins are equal, and one is far from the others.
        (
            lambda margins: (put(slice(0, 50), 0.0)(margins), put(59, 1e6)(margins)),
            ["a margin of net is 1e+06", "50 margins of net tie"],
        ),
        (put(slice(None), 2.5), ["all margins of net are 2.5"]),
    ],
)
def test_unusual_margins_are_noted(change: Any, told: list[str]) -> None:
    found = notes(*data(change))
    assert len(found) == len(told)
    for text, start in zip(found, told, strict=True):
        assert text.startswith(start)


def test_items_with_unmatched_labels_are_counted() -> None:
    """Items of a condition with another spelling are excluded, and the note has their number."""
    trials, margins = data(conditions=("c", "0.10"))
    result = al.decision_margin_consistency(trials, margins, n_draws=0, n_resamples=0, rng=1)
    notes = result.summary().set_index(["condition", "observer_a", "observer_b"])["note"]
    assert "60 items of net in groups of trials that nobody answered" in notes["c", "human", "net"]
    one = margins[(margins["observer"] == "other") | (margins["condition"] == "c")]
    notes = (
        al.decision_margin_consistency(trials, one, n_draws=0, n_resamples=0, rng=1)
        .summary()
        .set_index("observer_b")["note"]
    )
    assert "nobody answered" not in notes["net"]
    assert "60 items of other in groups" in notes.loc["other"].iloc[0]


def test_missing_responses_are_counted() -> None:
    trials, margins = data()
    rows = trials.to_table()
    given = al.Trials.from_table(rows.drop(index=rows.index[rows["observer"] == "p1"][:7])), margins
    told = ["7 answers of human missing"]
    assert group_notes(margin_table(*given), 0, 0) == told
    note = al.decision_margin_consistency(*given, n_resamples=0, n_draws=0).summary()["note"][0]
    assert [part for part in note.split("; ") if "missing" in part] == told


def table_of(world: MarginWorld, seed: int) -> xr.Dataset:
    """A margin table of one model and one group."""
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
        (MarginWorld(relation="exp", n_observers=20), "p_nonlinearity"),
        (MarginWorld(law="skewed", n_observers=45), "p_skew"),
        (MarginWorld(n_observers=5, n_repeats=4, stable_sd=1.0), "p_repeats"),
    ],
)
def test_contradicted_assumptions_are_noted(world: MarginWorld, name: str) -> None:
    table = table_of(world, 3)
    found = entry_draws(table, 8, n_alternatives=16, rng=1)
    # A third of the level for all notes of a row.
    assert found[name].values[0] < LEVEL / 3


def test_only_a_model_and_a_group_are_checked() -> None:
    trials, margins = al.simulate.detection_experiment(8, 60, rho={"a": 0.6, "b": 0.4}, rng=1)
    table = margin_table(trials, margins)
    found = entry_draws(table, 8, n_alternatives=2, rng=1)
    model = table["is_model"].values
    mixed = model[table["first"].values] != model[table["second"].values]
    assert mixed.any()
    assert not mixed.all()
    for name in ("p_nonlinearity", "p_skew"):
        np.testing.assert_array_equal(np.isfinite(found[name].values), mixed)
