"""Messages show what there is, say how much is not shown, and suggest what was meant."""

from __future__ import annotations

import pytest

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
