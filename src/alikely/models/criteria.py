"""Item strengths of a group that prefers some classes: a criterion for each class.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [L63] Luce (1963). Detection and recognition. In: Handbook of mathematical psychology, vol. 1,
   103-189. Wiley.
.. [TW14] Trefethen, Weideman (2014). The exponentially convergent trapezoidal rule.
   doi:10.1137/130932132
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray

from alikely.metrics.margins import FEWEST_ITEMS
from alikely.models._given_priors import Priors, with_priors
from alikely.models._placed import informed
from alikely.models._strengths import (
    FLOOR,
    check_margins,
    expected_strength,
    refuse_extremes,
    seen_strength,
)

__all__ = ["class_criteria"]

FEWEST_CLASSES = 3
# Evidence of the winner. The trapezoidal rule is then right to 1e-8 for 16 classes.
STEP = 0.4
WINNER = np.arange(-5, 10, STEP)


def class_criteria(
    answers: ArrayLike, truth: ArrayLike, margins: ArrayLike, *, priors: Priors | None = None
) -> pm.Model:
    """Strengths correlated with margins, freed of a group's bias to some classes [GS66]_ [L63]_."""
    counts, target = _check_answers(answers, truth)
    n_items, n_classes = counts.shape
    refuse_extremes(counts[np.arange(n_items), target], counts.sum(axis=1))
    x = check_margins(margins, n_items)
    both = ("item", "class")
    with pm.Model(coords={"item": np.arange(n_items), "class": np.arange(n_classes)}) as model:
        k, t = pm.Data("answers", counts, dims=both), pm.Data("truth", target, dims="item")
        criterion_sd = pm.Gamma("criterion_sd", 4, 8)
        criterion = pm.ZeroSumNormal("criterion", criterion_sd, dims="class")
        mean = pm.Normal("strength_mean", 1, 2)
        sd = pm.Gamma("strength_sd", 2, 4 / 3)
        shown = k.sum(axis=1)
        seen = seen_strength(k[pt.arange(k.shape[0]), t], shown, n_classes, "m_afc")
        rho = pm.Uniform("rho", -1, 1)
        expected = expected_strength(x, mean, sd, rho)
        apart = sd * pt.sqrt(1 - rho**2 + FLOOR)
        strength = informed("strength", expected, apart, *seen, "item")
        p = answer_probabilities(criterion, strength, t)
        pm.Multinomial("observed_answers", n=shown, p=p, observed=k, dims=both)
    return with_priors(model, priors)


def answer_probabilities(criterion: Any, strength: Any, truth: Any) -> Any:
    """Probability of each answer to each item, (item, class): of being the largest evidence."""
    others = WINNER - criterion[:, None]
    below = pt.log(_below(others))
    rest_below = below.sum(axis=0) - below
    winner = STEP * _density(others) * pt.exp(rest_below)
    target = WINNER - (criterion[truth] + strength)[:, None]
    lost = _below(target) * pt.exp(-below)[truth]
    is_target = pt.eq(truth[:, None], pt.arange(criterion.shape[0]))
    wrong = pt.switch(is_target, 0, lost @ winner.T)
    any_wrong = wrong.sum(axis=1)
    won = STEP * (_density(target) * pt.exp(rest_below)[truth]).sum(axis=1)
    # A strong target's evidence is beyond the grid, a weak one's chance is lost in 1 - any_wrong.
    right = pt.switch(any_wrong < 0.5, 1 - any_wrong, won)
    p = pt.switch(is_target, right[:, None], wrong)
    # Beyond strengths of 40 a wrong answer underflows, and its logarithm would have no slope.
    p = pt.maximum(p, np.finfo(float).tiny)
    return p / p.sum(axis=1, keepdims=True)


def _density(x: Any) -> Any:
    return pt.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def _below(x: Any) -> Any:
    """Probability of a standard normal number below x; right in both tails."""
    return pt.erfc(-x / math.sqrt(2)) / 2


def _check_answers(
    answers: ArrayLike, truth: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    k, t = np.asarray(answers, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if k.ndim != 2 or t.shape != k.shape[:1]:
        raise ValueError(
            "answers must have shape (item, class) and truth shape (item,); "
            f"got {k.shape} and {t.shape}"
        )
    n_items, n_classes = k.shape
    if n_items < FEWEST_ITEMS:
        raise ValueError(
            f"a distribution of strengths needs at least {FEWEST_ITEMS} items, got {n_items}"
        )
    if n_classes < FEWEST_CLASSES:
        raise ValueError(
            f"criteria show in which wrong answer is given, which needs at least {FEWEST_CLASSES} "
            f"classes, got {n_classes}; item_margins does without criteria"
        )
    if (bad := ~(np.isfinite(k) & (k == np.round(k)) & (k >= 0))).any():
        raise ValueError(f"answers must be whole numbers of at least 0, got {k[bad][0]:g}")
    if (bad := ~np.isin(t, np.arange(n_classes))).any():
        item = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"truth must be positions of classes, 0 to {n_classes - 1}, got {t[item]:g} at item "
            f"{item}"
        )
    return k.astype(np.int64), t.astype(np.int64)
