"""Where the law of strengths that `alikely.margins.fit_machine` assumes does not hold.

References
----------
.. [BHHH74] Berndt, Hall, Hall, Hausman (1974). Estimation and inference in nonlinear structural
   models. Annals of Economic and Social Measurement 3, 653-665.
.. [R48] Rao (1948). Large sample tests of statistical hypotheses concerning several parameters with
   applications to problems of estimation. doi:10.1017/S0305004100023987
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely.margins.importance import posterior_mode
from alikely.margins.laws import NODES, law_bounds, log_law_prior, placed
from alikely.metrics.margins import normal_scores
from alikely.margins.strengths import GroupStrengths, StrengthFit

__all__ = ["Residuals", "class_residuals", "fan_check", "law_check", "residuals", "skew_check"]

FEWEST_OF_CLASS = 2


class Residuals(NamedTuple):
    """What is left of strengths once margins are known.

    Attributes
    ----------
    scores : ndarray, shape (item,)
        Normal scores of margins.
    mean, square : ndarray, shape (item,)
        Posterior means of residuals, in units of their spread, and of their squares.
    law : ndarray, shape (item, 2)
        Posterior means of the Hermite polynomials of degree 4 and 6 of items' normal scores.
    slopes : ndarray, shape (item, parameter)
        Derivatives of each item's log likelihood by the parameters that were fitted.
    """

    scores: Floats
    mean: Floats
    square: Floats
    law: Floats
    slopes: Floats


def residuals(group: GroupStrengths, fit: StrengthFit, margins: ArrayLike) -> Residuals:
    """Residuals of strengths at the mode.

    Parameters
    ----------
    group : GroupStrengths
        As from `alikely.margins.strengths.group_strengths`.
    fit : StrengthFit
        As from `alikely.margins.strengths.fit_machine`.
    margins : array_like, shape (item,)
        Of the machine.

    Returns
    -------
    Residuals
    """
    v = normal_scores(margins)
    v = (v - v.mean()) / v.std()
    at = fit.mode.at[None]
    nodes = placed(at[:, :-1], at[:, -1], v[None, :, None], group.likelihoods, 2 * NODES + 1)
    u, weight = nodes.score[0, :, 0], nodes.weight[0, :, 0]
    rho = np.tanh(at[0, -1])
    r = (u - rho * v[:, None]) * np.cosh(at[0, -1])
    polynomials = [np.polynomial.hermite_e.hermeval(u, np.eye(7)[k]) for k in (4, 6)]
    return Residuals(
        v,
        (weight * r).sum(axis=1),
        (weight * r**2).sum(axis=1),
        np.stack([(weight * p).sum(axis=1) for p in polynomials], axis=1),
        fit.mode.slopes,
    )


def fan_check(left: Residuals) -> float:
    """Test of a spread of strengths that changes along margins [R48]_.

    Parameters
    ----------
    left : Residuals
        As from `residuals`.

    Returns
    -------
    float
        Two-sided p-value.
    """
    return _score_test((left.scores * (left.square - 1))[:, None], left.slopes)


def law_check(left: Residuals) -> float:
    """Test of strengths of another law than one hump of any skewness and tail [R48]_.

    Parameters
    ----------
    left : Residuals
        As from `residuals`.

    Returns
    -------
    float
        p-value.
    """
    return _score_test(left.law, left.slopes)


def class_residuals(left: Residuals, classes: NDArray[np.intp]) -> float:
    """Test of classes that are easier than margins tell, on the scale of strengths.

    Parameters
    ----------
    left : Residuals
        As from `residuals`.
    classes : ndarray of int, shape (item,)
        Class of each item.

    Returns
    -------
    float
        p-value of F; NaN if fewer than two classes have two items.
    """
    own = (np.bincount(classes) >= FEWEST_OF_CLASS)[classes]
    kinds, place = np.unique(classes[own], return_inverse=True)
    if len(kinds) < 2:
        return np.nan
    x = left.mean[own]
    size = np.bincount(place)
    means = np.bincount(place, x) / size
    between = (size * (means - x.mean()) ** 2).sum() / (len(kinds) - 1)
    within = ((x - means[place]) ** 2).sum() / (len(x) - len(kinds))
    return float(stats.f.sf(between / within, len(kinds) - 1, len(x) - len(kinds)))


def skew_check(group: GroupStrengths, margins: ArrayLike) -> float:
    """Test of skewness about a line of normal strengths in raw margins [R48]_.

    Parameters
    ----------
    group : GroupStrengths
        As from `alikely.margins.strengths.group_strengths`.
    margins : array_like, shape (item,)
        Of the machine.

    Returns
    -------
    float
        Two-sided p-value; NaN where margins do not differ.
    """
    y = np.asarray(margins, dtype=np.float64)
    if y.std() == 0:
        return np.nan
    z = ((y - y.mean()) / y.std())[None, :, None]
    start = np.append(group.law, np.arctanh(np.clip((group.score * z[0, :, 0]).mean(), -0.9, 0.9)))
    start[2:4] = 0
    free = np.ones(len(start))
    free[2:4] = 0
    low, high = law_bounds(len(group.law))
    mode = posterior_mode(
        lambda t: placed(t[:, :-1], t[:, -1], z, group.likelihoods).log_likelihood[:, :, 0],
        lambda t: log_law_prior(t[:, :-1]) - 2 * np.log(np.cosh(t[:, -1])),
        start,
        (np.append(low, -6.1), np.append(high, 6.1)),
        len(y) * NODES,
        free=free,
        curved=False,
    )
    at = mode.at[None]
    nodes = placed(at[:, :-1], at[:, -1], z, group.likelihoods, 2 * NODES + 1)
    r = (nodes.score[0, :, 0] - np.tanh(at[0, -1]) * z[0]) * np.cosh(at[0, -1])
    skew = (nodes.weight[0, :, 0] * (r**3 - 3 * r)).sum(axis=1)
    return _score_test(skew[:, None], mode.slopes[:, free > 0])


def _score_test(extra: Floats, fitted: Floats) -> float:
    """Slopes of the likelihood in directions that were not fitted, by their own spread [BHHH74]_."""
    n, n_extra = extra.shape
    left = extra - fitted @ np.linalg.lstsq(fitted, extra, rcond=None)[0]
    total = left.sum(axis=0)
    around = left - left.mean(axis=0)
    square = float(total @ np.linalg.pinv(around.T @ around) @ total)
    free = n - fitted.shape[1] - n_extra
    return float(stats.f.sf(square * free / (n_extra * n), n_extra, free))
