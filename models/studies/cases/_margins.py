"""Code shared by cases of items with latent strength."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.calibration.ranks import Values

N_ANSWERS, ALTERNATIVES = 10, 4
# As in the public functions, for fewer than 4,000 counts and for more.
TUNE, FEW_COUNTS, MANY_COUNTS = 500, 0.9, 0.85


def right_answers(
    strength: Floats, n_alternatives: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Correct if the evidence for the target exceeds that for every distractor."""
    target = strength + rng.normal(size=strength.shape)
    return np.asarray(target > rng.normal(size=(n_alternatives - 1, *strength.shape)).max(axis=0))


def with_margins(truth: Values, n_items: int, rng: np.random.Generator) -> Values:
    """Margins with any location and scale, and strengths that are correlated with them."""
    z = rng.normal(size=n_items)
    rho = truth["rho"]
    apart = np.sqrt(1 - rho**2) * rng.normal(size=n_items)
    # The model standardizes margins by their mean and standard deviation.
    return {
        "margins": 3 + 5 * z,
        "strength": truth["strength_mean"] + truth["strength_sd"] * (rho * z + apart),
        "margin_mean": np.array(-z.mean() / z.std()),
        "margin_sd": np.array(1 / z.std()),
    }


def without_margins(truth: Values, n_items: int, rng: np.random.Generator) -> Values:
    """Strengths without margins."""
    return {"strength": truth["strength_mean"] + truth["strength_sd"] * rng.normal(size=n_items)}
