"""Claims of the notebook with this name, checked with its variables."""

if real:
    assert matched == 30
    assert len(verdicts) == 13
    assert (humans.mean().round(3), bias["n_items"].max()) == (0.958, 1_200)
