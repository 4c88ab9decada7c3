"""What sentences and notes call items, readers as a group, and observers who never differ."""

from typing import Any

import numpy as np
import pytest

import alikely as al

NONE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0, "rng": 1}


@pytest.mark.parametrize(
    ("n_errors", "other", "reason"),
    [
        (4, "same", "both observers err on the same trials"),
        (30, "same", "both observers err on the same trials"),
        (4, "never", "an observer is always right or always wrong"),
        (30, "opposite", "where one observer errs the other is right"),
    ],
)
def test_a_standard_error_of_0_has_its_true_reason(n_errors: int, other: str, reason: str) -> None:
    right = np.arange(60) >= n_errors
    second = {"same": right, "never": np.ones(60, bool), "opposite": ~right}[other]
    result = al.error_consistency(al.Trials.from_correct([right, second]), n_null=0, **NONE)
    summary = result.summary(intervals=["analytic"])
    assert summary["se"].item() == 0
    assert reason in summary["note"].item()
