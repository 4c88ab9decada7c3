"""Messages show what there is, say how much is not shown, and suggest what was meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import alikely as al
from alikely._base.names import listed, nearest


def test_long_lists_say_that_they_go_on() -> None:
    assert listed(range(20)).endswith("18, 19")
    assert listed(range(21)).endswith("18, 19, ... (21 in all)")
    assert listed({"a": 1}) == "a"
    assert listed([], most=3) == "none"


@pytest.mark.parametrize(
    ("given", "names", "meant"),
    [
        ("resnet-50", ["resnet50", "resnet101"], "; did you mean 'resnet50'?"),
        ("HUMAN", ["model", "human"], "; did you mean 'human'?"),
        (3, [30, "x"], "; did you mean '30'?"),
        ("alexnet", ["human_1"], ""),
        ("x", [], ""),
    ],
)
def test_near_misses(given: object, names: list[object], meant: str) -> None:
    assert nearest(given, names) == meant


@pytest.fixture(scope="module")
def many() -> al.Trials:
    """30 people, 30 conditions."""
    right = [[(i + j) % 3 > 0 for j in range(60)] for i in range(30)]
    return al.Trials.from_correct(
        right,
        observers=[f"person_{i:02d}" for i in range(30)],
        condition=[f"level_{j % 30:02d}" for j in range(60)],
        kind=["human"] * 30,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda trials: trials.select(condition="level_3"), "no condition 'level_3'; .*level_19,"),
        (
            lambda trials: al.error_consistency(trials, pairs=[("person_01", "persn_02")]),
            r"unknown observer 'persn_02' in pairs; .*\(30 in all\); did you mean 'person_02'\?",
        ),
        (lambda trials: al.data.joint_correctness(trials, by="conditio"), "by must be one of"),
    ],
)
def test_doors_use_them(many: al.Trials, call: Callable[[al.Trials], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(many)
