"""Coverage of the cohort model with people."""

from __future__ import annotations

from collections.abc import Callable

import joblib
import pytest

from studies.coverage_cohort import BATCH, COHORT_DESIGNS, cohort_coverage, cohort_coverage_summary

FEW = "probit, 4 humans, moderate spread"


@pytest.mark.slow
def test_intervals_hold_new_humans_and_these(sets: Callable[..., int]) -> None:
    """20 benchmarks see a coverage below .66, all 240 one below .85."""
    n = sets(240, 20) // BATCH * BATCH
    with joblib.parallel_config(n_jobs=1):
        study = cohort_coverage({FEW: COHORT_DESIGNS[FEW]}, n_sets=n, n_draws=400, rng=3)
    table = cohort_coverage_summary(study).set_index(["statement", "method"])
    people = table.xs("people", level="method")
    assert (people["n_sets"] == n).all()
    # Four Monte-Carlo errors of a coverage of .9, below the least that was measured, about .93.
    room = 4 * (0.9 * 0.1 / n) ** 0.5
    assert (people["coverage"] > 0.93 - room).all()
    # No wider than without a model of people.
    wide = table.xs("decomposition", level="method")
    both = people.index.intersection(wide.index)
    assert (people.loc[both, "width"] < wide.loc[both, "width"]).all()


def test_the_number_of_sets_fills_batches() -> None:
    with pytest.raises(ValueError, match="n_sets must be a multiple of 20, got 30"):
        cohort_coverage(n_sets=30)
