"""Wrong labels that systems share: how often they agree, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import alikely as al
from alikely.metrics import errors
from studies.simulators.labels import label_trials, shared_label_agreement

ROW = np.array([[0, 0.7, 0.3, 0], [0.2, 0, 0.2, 0.6], [0.5, 0.1, 0, 0.4], [0.1, 0.1, 0.8, 0]])
OTHER = ROW[::-1, ::-1]
COMMON = (ROW + OTHER) / 2


@pytest.mark.parametrize("copying", [0.0, 0.5, 0.8])
def test_agreement_of_many_errors_is_that_of_the_population(copying: float) -> None:
    rows = [ROW, OTHER, ROW]
    trials = label_trials(
        rows, COMMON, copying, 30_000, error_probability=0.7, rng=int(10 * copying)
    )
    result = al.misclassification_agreement(trials, n_resamples=0, n_draws=0)
    truth = shared_label_agreement(rows, COMMON, copying)
    found, se = (result.estimates[name].values for name in ("estimate", "se"))
    # Truth, of all pairs and with true classes as frequent as they are drawn.
    assert (abs(found - truth[np.triu_indices(3, 1)]) < 4 * se).all()
    number = trials.data["correct"].values == 0
    assert abs(number.mean() - 0.7) < 4 * np.sqrt(0.21 / number.size)


def test_copying_always_is_agreement_always() -> None:
    trials = label_trials([ROW, OTHER], COMMON, 1, 50, n_datasets=2, rng=1)
    response = trials.data["response"].values
    np.testing.assert_array_equal(response[0], response[1])
    assert (trials.data["correct"].values == 0).all()
    np.testing.assert_allclose(shared_label_agreement([ROW, OTHER], COMMON, 1), 1)


def test_population_without_copying_by_hand() -> None:
    table = sum(np.outer(a, b) for a, b in zip(ROW, OTHER, strict=True))
    found = shared_label_agreement([ROW, OTHER], COMMON, 0)
    assert found[0, 1] == pytest.approx(errors.misclassification_agreement(table).item())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": ROW}, r"rows must have the shape \(system, 4, 4\)"),
        ({"rows": [ROW * 2, ROW]}, "rows must be probabilities that sum to 1"),
        ({"common": ROW[:3]}, "common must be square"),
        ({"copy_probability": 1.2}, r"copy_probability must lie in \[0, 1\], got 1.2"),
        ({"n_items": 0}, "n_items and n_datasets must be at least 1, got 0 and 1"),
        ({"error_probability": 0}, r"error_probability must lie in \(0, 1\], got 0"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    given = {"rows": [ROW, ROW], "common": COMMON, "copy_probability": 0.5, "n_items": 5}
    with pytest.raises(ValueError, match=message):
        label_trials(**(given | change))
