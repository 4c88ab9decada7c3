"""Intervals of the agreement of readings: what they keep, and the truth they are held against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.calibration.coverage_readings import GRID, NAMES, analysed_readings, true_agreement

COEFFICIENTS = [m for m in al.metrics.metrics().values() if m.counts == "readings"]
# Coverage of 95 % intervals over 500 data sets or more in the fifth design: docs/agreement.md.
MEASURED = {
    "gwet_ac1": {"analytic": 0.958, "bca": 0.946, "bootstrap": 0.946, "posterior": 0.952},
    "krippendorff_alpha": {"analytic": 0.892, "bca": 0.903, "bootstrap": 0.892, "posterior": 0.926},
}


@pytest.mark.parametrize("metric", COEFFICIENTS, ids=repr)
def test_the_truth_is_that_of_very_many_items(metric: al.Metric) -> None:
    setting = (3, 4_000, 0.8, 0.7, 0.1, 4)
    options = {"n_resamples": 0, "n_draws": 0}
    result, truth, _ = analysed_readings(metric, setting, 1, np.random.default_rng(1), options)
    frame = result.summary()
    assert truth[0] == pytest.approx(true_agreement(metric, 3, 0.8, 0.7, 4))
    assert frame["estimate"][0] == pytest.approx(truth[0], abs=4 * frame["se"][0])
    assert frame["se"][0] < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_intervals_keep_what_the_page_says(
    name: str, figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    """Other data sets than those of the page: both have a Monte-Carlo error."""
    grid = pd.DataFrame([GRID[4]], columns=NAMES)
    n = sets(200)
    study = al.calibration.estimate_coverage(
        name, grid, n_datasets=n, n_draws=500, ci_probs=(0.95,), rng=2
    ).set_index("method")
    for method, known in MEASURED[name].items():
        found = study.loc[method, "coverage"]
        figure(f"{name}, {method}: coverage {found:.3f}")
        error = np.sqrt(known * (1 - known) * (1 / n + 1 / 500))
        assert found == pytest.approx(known, abs=4 * error)
