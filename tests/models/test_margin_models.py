"""Item strengths: probabilities against NumPy and quadrature, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from alikely.margins.strengths import strength_of
from alikely.metrics.margins import m_afc_log_probability
from alikely.models.observers import GRID, log_odds
from generative.item_margins import Bent

# What is evaluated a few times is not worth the time of compiling.
ONCE = Mode("py", "fast_compile")


def function_of(part: Any, x: Any) -> Any:
    """Value and gradient; not worth the time of compiling."""
    return pytensor.function([x], [part, pt.grad(part.sum(), x)], mode=ONCE)


def slopes(function: Any, d: np.ndarray) -> np.ndarray:
    return (function(d + 1e-5)[0] - function(d - 1e-5)[0]) / 2e-5


@pytest.mark.parametrize("n_alternatives", [2, 16, 1000])
def test_log_odds_of_the_model(n_alternatives: int) -> None:
    d = np.random.default_rng(1).uniform(-29, 29, 2000)
    log_right, log_wrong = m_afc_log_probability(d, n_alternatives)
    x = pt.dvector("x")
    odds = function_of(log_odds(x, n_alternatives), x)
    np.testing.assert_allclose(odds(d)[0], log_right - log_wrong, atol=1e-5)
    # Differences over 2e-5 of values of up to 450, known to 1e-13.
    np.testing.assert_allclose(odds(d)[1], slopes(odds, d), rtol=1e-5, atol=1e-7)
    far = np.array([-200.0, GRID[0], GRID[-1], 200.0])
    assert (odds(far)[1] > 0).all()
    assert (np.diff(odds(far)[0]) > 0).all()


@pytest.mark.parametrize(("skewness", "log_tail"), [(0.0, 0.0), (0.5, -0.3), (-0.8, 0.4)])
def test_bent_strengths_are_those_without_chains(skewness: float, log_tail: float) -> None:
    law = Bent(1.2, 0.7, skewness, log_tail)
    u = np.linspace(-3, 3, 7)
    row = np.array([[1.2, np.log(0.7), skewness, log_tail]])
    strength = law.strength(pt.as_tensor(u)).eval(mode=ONCE)
    assert strength == pytest.approx(strength_of(row, u[None])[0])
    # Half the distance of scores of -1 and 1 is the spread, whatever the shape.
    assert strength[4] - strength[2] == pytest.approx(2 * 0.7)
    assert strength[3] == pytest.approx(1.2)
    # Placed where counts see it, as long as that is not far out.
    seen, _ = law.placed(pt.as_tensor(law.strength(0.4)), 1.0)
    assert float(seen.eval(mode=ONCE)) == pytest.approx(0.4, abs=0.02)
