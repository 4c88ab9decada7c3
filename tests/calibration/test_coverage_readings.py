"""Intervals of the agreement of readings: what they keep, and the truth they are held against."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.calibration.coverage_readings import analysed_readings, true_agreement

COEFFICIENTS = [m for m in al.metrics.metrics().values() if m.counts == "readings"]


@pytest.mark.parametrize("metric", COEFFICIENTS, ids=repr)
def test_the_truth_is_that_of_very_many_items(metric: al.Metric) -> None:
    setting = (3, 4_000, 0.8, 0.7, 0.1, 4)
    options = {"n_resamples": 0, "n_draws": 0}
    result, truth, _ = analysed_readings(metric, setting, 1, np.random.default_rng(1), options)
    frame = result.summary()
    assert truth[0] == pytest.approx(true_agreement(metric, 3, 0.8, 0.7, 4))
    assert frame["estimate"][0] == pytest.approx(truth[0], abs=4 * frame["se"][0])
    assert frame["se"][0] < 0.02
