"""Which estimator a design of people, repeats and lists calls for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.margins.designs import model_of_design
from alikely.margins.tables import margin_table

N_ITEMS = 20


def answers(
    people: int,
    repeats: int = 1,
    n_lists: int = 1,
    seed: int = 1,
    name: str = "human",
) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    rows = [
        (f"{name}{o}", f"i{i}", r, name, bool(generator.random() < 0.3 + 0.4 * i / N_ITEMS))
        for o in range(people)
        for i in range(N_ITEMS)
        for r in range(repeats)
        if i % n_lists == o % n_lists
    ]
    return pd.DataFrame(rows, columns=["observer", "item", "repeat", "kind", "correct"])


def margins() -> pd.DataFrame:
    items = [f"i{i}" for i in range(N_ITEMS)]
    return pd.DataFrame({"observer": "net", "item": items, "margin": np.sin(np.arange(N_ITEMS))})


def chosen(frame: pd.DataFrame, m: int | None = 16, group: str = "kind") -> tuple[str, str]:
    trials = al.Trials.from_table(frame)
    made = al.margins.decision_margins(margins(), trials=trials)
    table = margin_table(trials, made, group=group)
    return model_of_design(table, m)


@pytest.mark.parametrize(
    ("design", "model", "reason"),
    [
        ({"people": 10}, "moments", "10 people in the smallest group: no law"),
        ({"people": 4, "repeats": 3}, "moments", "4 people in the smallest group: no law"),
        ({"people": 3}, "strengths", "3 people in the smallest group: too few"),
        ({"people": 2, "repeats": 2}, "strengths", "2 people"),
        ({"people": 1, "repeats": 4}, "strengths", "1 person in the smallest group: too few"),
        ({"people": 1}, "moments", "one answer of one person"),
        ({"people": 2, "n_lists": 2, "repeats": 2}, "moments", "no one ties the lists"),
    ],
)
def test_people_repeats_and_lists_decide(design: dict[str, int], model: str, reason: str) -> None:
    found = chosen(answers(**design))
    assert found[0] == model
    assert reason in found[1]


def test_the_smallest_group_decides_for_all() -> None:
    both = pd.concat([answers(10), answers(2, name="child")])
    assert chosen(both)[0] == "strengths"
    # Each person on its own, once: there is no noise to tell.
    assert chosen(answers(10), group="observer")[0] == "moments"
    assert chosen(answers(10, repeats=2), group="observer")[0] == "strengths"


def test_a_law_of_strengths_needs_the_alternatives() -> None:
    model, reason = chosen(answers(3), m=None)
    assert model == "moments"
    assert "m=..." in reason


def test_two_machines_need_none() -> None:
    two = pd.concat([margins(), margins().assign(observer="other", margin=np.arange(20.0))])
    trials = al.Trials.from_table(answers(3))
    made = al.margins.decision_margins(two, trials=trials)
    table = margin_table(trials, made, [("net", "other")])
    assert model_of_design(table, 16).reason == "two machines have no noise of answers"


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(correct=~frame["correct"]),
        lambda frame: frame.assign(correct=np.arange(len(frame)) % 3 > 0),
        lambda frame: frame.sample(frac=1, random_state=1),
    ],
)
@pytest.mark.parametrize("people", [2, 6])
def test_no_answer_decides(change: Callable[[pd.DataFrame], pd.DataFrame], people: int) -> None:
    frame = answers(people, repeats=2)
    assert chosen(change(frame)) == chosen(frame)
