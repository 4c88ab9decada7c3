"""Reliability of larger and smaller groups: closed form, there and back, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from alikely.metrics.margins import spearman_brown


def test_equals_the_correlation_of_means_of_parallel_measures() -> None:
    """Means of k measures that correlate by r: their covariance is r, their variance less."""
    r, k = np.linspace(0, 1, 11), 5
    np.testing.assert_allclose(spearman_brown(r, k), r / (r + (1 - r) / k), rtol=1e-14)
    np.testing.assert_allclose(spearman_brown(spearman_brown(r, k), 1 / k), r, atol=1e-14)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="factor must be above 0, got 0"):
        spearman_brown(0.5, 0)
