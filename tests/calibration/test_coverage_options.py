"""Intervals of agreement on options: what they keep, and the truth they are held against."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.calibration.coverage_estimates import STUDIES
from alikely.calibration.coverage_options import true_agreement_on_options
from alikely.metrics.options import KAPPA_P_DISCRETE, SAME_WRONG_ANSWER

OF_ANSWERS, SOFT = (
    [m for m in al.metrics.metrics().values() if m.counts == counts]
    for counts in ("options", "probabilities")
)
SETTINGS = {"options": (4_000, 0.7, 5, 0.3, 0.4), "probabilities": (4_000, 4, 0.4, 1.5)}


@pytest.mark.parametrize(
    "metric", [*OF_ANSWERS, *(pytest.param(m, marks=pytest.mark.slow) for m in SOFT)], ids=repr
)
def test_the_truth_is_that_of_very_many_questions(metric: al.Metric) -> None:
    """The population of probabilities has 125 times as many: its error adds half a percent."""
    analysed = STUDIES[metric.counts][2]
    options = {"n_resamples": 0, "n_draws": 0}
    setting, rng = SETTINGS[metric.counts], np.random.default_rng(1)
    result, truth, _ = analysed(metric, setting, 1, rng, options)
    frame = result.summary()
    assert frame["estimate"][0] == pytest.approx(truth[0], abs=4 * frame["se"][0])
    assert frame["se"][0] < 0.02


def test_the_truth_of_copies() -> None:
    """Who always copies is the same; who never does, with errors at random, agrees as by chance."""
    kappa = KAPPA_P_DISCRETE
    assert true_agreement_on_options(kappa, 0.6, 4, 1.0, 0.5) == pytest.approx(1)
    assert true_agreement_on_options(kappa, 0.6, 4, 0.0, 0.0) == pytest.approx(0)
    same = SAME_WRONG_ANSWER
    assert true_agreement_on_options(same, 0.6, 4, 0.0, 0.0) == pytest.approx(1 / 3)
