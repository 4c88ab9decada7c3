"""Claims of the notebook with this name, checked with its variables."""

if real:
    assert len(verdicts) == 30
    assert matched == 42
    assert len(both) == len(frame) == len(published)
    # Printed with two digits in Figure 5.
    pair = ("error_consistency", "misclassification_agreement", "global")
    assert round(at.loc[pair, "correlation"], 2) == -0.23
