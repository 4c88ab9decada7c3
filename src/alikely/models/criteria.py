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
    answers: ArrayLike,
    truth: ArrayLike,
    margins: ArrayLike | None = None,
    *,
    priors: Priors | None = None,
) -> pm.Model:
    """Item strengths freed of a group's bias towards some classes as answers.

    Evidence for each class is normal; its mean is the criterion of that class, and for the true
    class also the item's strength. The largest is the answer [GS66]_ [L63]_. A group that likes to
    say "bird" is then right on birds more often than their strengths alone would make it, and says
    "bird" more often when it is wrong::

        evidence[i, j] ~ Normal(criterion[j] + strength[i] (j == truth[i]), 1)

    Parameters
    ----------
    answers : array_like of int, shape (item, class)
        How often the group gave each class as its answer to each item.
    truth : array_like of int, shape (item,)
        Position of each item's true class on the second axis of `answers`.
    margins : array_like, shape (item,), optional
        Decision margins of a machine, correlated with the strengths.
    priors : mapping, optional
        Other priors by name, such as ``{"criterion_sd": pm.Gamma.dist(4, 16)}`` or
        ``{"criterion_sd": (4, 16)}``, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``item, class``. Data ``answers``, ``truth`` and ``margins``; parameters ``criterion``
        (class, sum of zero, in units of the noise; positive: given too often), ``criterion_sd``,
        ``strength`` (item), ``strength_mean``, ``strength_sd``, and with margins ``rho``,
        ``margin_mean``, ``margin_sd`` (in units of the margins' own spread); likelihoods
        ``observed_answers`` (item, class) and ``observed_margins`` (item).

    Raises
    ------
    ValueError
        If shapes do not fit, there are fewer than 3 classes or 5 items, counts are not whole or
        negative, a true class is none of the classes, the group is always or never right on every
        item, or margins are missing or constant; for priors as in `alikely.models.with_priors`.

    Notes
    -----
    Which wrong answers are given identifies the criteria. Right and wrong alone do not: with the
    criterion of a class up by some amount and the strengths of its items down by the same, answers
    to these items are as before, and other items, if their strengths make up for it, are right as
    often; only, more of the wrong answers to them are that class. With two classes there is one
    wrong answer to each item and nothing to learn from it, so at least 3 are asked for. That
    strengths of all classes have one mean and one spread is assumed, and says a little more: where
    wrong answers are few, a class that is truly easy is read as one that is preferred.

    A class that is preferred as a wrong answer is taken to be preferred whatever the item. Wrong
    answers that come from the likeness of two classes, cats and dogs, are read as bias towards
    both. A class that is never given has a criterion that the data bound from above only; from
    below it is the prior that does.

    Probabilities are sums over a grid of the winner's evidence, right to 1e-8 with 16 classes
    and to 2e-6 with 50 [TW14]_; with more they get worse.

    Examples
    --------
    >>> truth = [0, 0, 1, 1, 2, 2]
    >>> answers = [[9, 1, 0], [6, 3, 1], [1, 8, 1], [3, 7, 0], [2, 1, 7], [4, 2, 4]]
    >>> margins = [1.2, -0.4, 0.9, 0.1, 0.3, -1.0]
    >>> model = class_criteria(answers, truth, margins, priors={"rho": pm.Uniform.dist(0, 1)})
    >>> [variable.name for variable in model.free_RVs][:2]
    ['criterion_sd', 'criterion']
    """
    counts, target = _check_answers(answers, truth)
    n_items, n_classes = counts.shape
    refuse_extremes(counts[np.arange(n_items), target], counts.sum(axis=1))
    x = None if margins is None else check_margins(margins, n_items)
    both = ("item", "class")
    with pm.Model(coords={"item": np.arange(n_items), "class": np.arange(n_classes)}) as model:
        k, t = pm.Data("answers", counts, dims=both), pm.Data("truth", target, dims="item")
        criterion_sd = pm.Gamma("criterion_sd", 4, 8)
        criterion = pm.ZeroSumNormal("criterion", criterion_sd, dims="class")
        mean = pm.Normal("strength_mean", 1, 2)
        sd = pm.Gamma("strength_sd", 2, 4 / 3)
        shown = k.sum(axis=1)
        seen = seen_strength(k[pt.arange(k.shape[0]), t], shown, n_classes, "m_afc")
        if x is None:
            strength = informed("strength", mean, sd, *seen, "item")
        else:
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
