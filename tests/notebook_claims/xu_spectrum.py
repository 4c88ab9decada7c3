"""Claims of the notebook with this name, checked with its variables."""

if real:
    assert len(verdicts) == 17
    assert matched >= 59
    assert found_chance == chance
    assert {2, 4} <= set(ties)
