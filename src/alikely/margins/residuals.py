"""Where the law of strengths that `alikely.margins.strengths.fit_machine` assumes does not hold.

References
----------
.. [BHHH74] Berndt, Hall, Hall, Hausman (1974). Estimation and inference in nonlinear structural
   models. Annals of Economic and Social Measurement 3, 653-665.
.. [L82] Louis (1982). Finding the observed information matrix when using the EM algorithm. Journal
   of the Royal Statistical Society B 44, 226-233.
.. [R48] Rao (1948). Large sample tests of statistical hypotheses concerning several parameters with
   applications to problems of estimation. doi:10.1017/S0305004100023987
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely.margins.laws import LAW, NODES, placed
from alikely.margins.strengths import (
    GroupStrengths,
    StrengthFit,
    law_mode,
    law_slopes,
    standard_scores,
)

__all__ = ["Residuals", "class_residuals", "law_check", "line_check", "residuals", "skew_check"]

FEWEST_OF_CLASS = 2
# Of the wave that two humps of strengths follow, by normal scores.
WAVE = 3.0
SKEWNESS, TAIL = LAW.index("skewness"), LAW.index("log_tail")


class Residuals(NamedTuple):
    """What is left of strengths once margins are known, at the mode."""

    scores: Floats
    strength: Floats
    residual: Floats
    weight: Floats
    slopes: Floats
    information: Floats
    curvature: Floats
    rho: float


def residuals(group: GroupStrengths, fit: StrengthFit, margins: ArrayLike) -> Residuals:
    """Residuals of strengths at the mode."""
    v = standard_scores(margins)
    at = fit.mode.at[None]
    nodes = placed(at[:, :-1], at[:, -1], v[None, :, None], group.likelihoods, 2 * NODES + 1)
    u = nodes.score[0, :, 0]
    left = (u - np.tanh(at[0, -1]) * v[:, None]) * np.cosh(at[0, -1])
    slopes = fit.mode.slopes
    information = slopes.T @ slopes + fit.mode.prior_curvature
    curvature = fit.mode.curvature + fit.mode.prior_curvature
    rho = float(np.tanh(at[0, -1]))
    weight = nodes.weight[0, :, 0]
    return Residuals(v, u, left, weight, slopes, information, curvature, rho)


def line_check(left: Residuals) -> float:
    """Test of margins that are a line in skewed strengths, not in their normal scores [R48]_."""
    bend = left.scores[:, None] ** 2 - 1
    return _score_test(bend * left.residual, float((bend**2).sum()), left)


def law_check(left: Residuals) -> float:
    """Test of strengths that crowd on both sides of a gap, or in between [R48]_."""
    apart, expected = 1 - left.rho**2, left.rho * left.scores
    mean = np.cos(WAVE * expected) * np.exp(-(WAVE**2) * apart / 2)
    square = (1 + np.cos(2 * WAVE * expected) * np.exp(-2 * WAVE**2 * apart)) / 2
    wave = np.cos(WAVE * left.strength) - mean[:, None]
    return _score_test(wave, float((square - mean**2).sum()), left)


def class_residuals(left: Residuals, classes: NDArray[np.intp]) -> float:
    """Test of classes that are easier than margins tell, on the scale of strengths."""
    own = (np.bincount(classes) >= FEWEST_OF_CLASS)[classes]
    kinds, place = np.unique(classes[own], return_inverse=True)
    if len(kinds) < 2:
        return np.nan
    x = (left.weight * left.residual).sum(axis=1)[own]
    size = np.bincount(place)
    means = np.bincount(place, x) / size
    between = (size * (means - x.mean()) ** 2).sum() / (len(kinds) - 1)
    within = ((x - means[place]) ** 2).sum() / (len(x) - len(kinds))
    return float(stats.f.sf(between / within, len(kinds) - 1, len(x) - len(kinds)))


def skew_check(group: GroupStrengths) -> float:
    """Test of skewed strengths against normal ones, by a group's answers alone [R48]_."""
    mode = law_mode(group.likelihoods, group.law, normal=True)
    slopes = law_slopes(group.likelihoods, mode.at)
    free = np.ones(len(mode.at), dtype=bool)
    free[[SKEWNESS, TAIL]] = False
    cross = mode.curvature[SKEWNESS, free]
    known = (mode.curvature + mode.prior_curvature)[np.ix_(free, free)]
    fitted = np.linalg.solve(known, cross)
    # What items show of it counts if it is more than the curvature says, as with two alternatives.
    apart = slopes[:, SKEWNESS] - slopes[:, free] @ fitted
    variance = max(
        mode.curvature[SKEWNESS, SKEWNESS] - cross @ fitted, ((apart - apart.mean()) ** 2).sum()
    )
    total = slopes[:, SKEWNESS].sum()
    return float(stats.chi2.sf(total**2 / variance, 1)) if variance > 0 else np.nan


def _score_test(direction: Floats, complete: float, left: Residuals) -> float:
    """Slope of the log likelihood in a direction that was not fitted, against 0."""
    slope = (left.weight * direction).sum(axis=1)
    cross, squares = slope @ left.slopes, slope @ slope
    unknown = (left.weight * direction**2).sum() - squares
    variance = max(
        squares - cross @ np.linalg.solve(left.information, cross),
        complete - unknown - cross @ np.linalg.solve(left.curvature, cross),
    )
    return float(stats.chi2.sf(slope.sum() ** 2 / variance, 1)) if variance > 0 else np.nan
