"""Messages show what there is, say how much is not shown, and suggest what was meant."""

from __future__ import annotations

import pytest

from alikely._base.names import listed, nearest, told_apart


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


def test_long_names_stay_apart() -> None:
    names = [f"alexnet-w{w}-mlp-probe{k}" for w in (1, 3) for k in range(4)]
    short = told_apart([*names, "resnet50"], 12)
    assert short["alexnet-w3-mlp-probe2"] == "alexnet-w3~2"
    assert short["resnet50"] == "resnet50"
    assert len(set(short.values())) == 9
    # Nothing is changed where the start is enough; where nothing helps they are numbered.
    assert told_apart(["abcdefgh", "xyz"], 5) == {"abcdefgh": "abcd~", "xyz": "xyz"}
    assert list(told_apart(["aaaaXaaaa", "aaaaYaaaa"], 4).values()) == ["a~v1", "a~v2"]
