"""Latent item strengths of a group, and their correlation with another system.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [JP09] Jones, Pewsey (2009). Sinh-arcsinh distributions. doi:10.1093/biomet/asp053
.. [L09] Lewandowski, Kurowicka, Joe (2009). Generating random correlation matrices based on vines
   and extended onion method. doi:10.1016/j.jmva.2009.04.008
.. [L63] Luce (1963). Detection and recognition. In: Handbook of mathematical psychology, vol. 1,
   103-189. Wiley.
.. [P07] Papaspiliopoulos, Roberts, Sköld (2007). A general framework for the parametrization of
   hierarchical models. doi:10.1214/088342307000000014
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [TW14] Trefethen, Weideman (2014). The exponentially convergent trapezoidal rule.
   doi:10.1137/130932132
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike

from alikely.metrics.margins import check_task, normal_scores
from alikely.models._parts import informed
from alikely.models._priors import Priors, building
from alikely.models.observers import (
    FLOOR,
    arcsinh,
    check_counts,
    check_margins,
    expected_strength,
    log_odds,
    one_sided,
    refuse_extremes,
    seen_strength,
)

Law = Literal["normal", "sinh_arcsinh"]


# Hyperbolic functions, of those that the interpreter of densities knows.
def _sinh(x: Any) -> Any:
    return (pt.exp(x) - pt.exp(-x)) / 2


def _cosh(x: Any) -> Any:
    return (pt.exp(x) + pt.exp(-x)) / 2


class Bent(NamedTuple):
    """Strengths as a sinh-arcsinh function of normal scores [JP09]_."""

    mean: Any
    sd: Any
    skewness: Any
    log_tail: Any

    def _shape(self) -> tuple[Any, Any, Any]:
        power, one = pt.exp(-self.log_tail), math.asinh(1.0)
        ends = [_sinh((sign * one + self.skewness) * power) for sign in (1, -1)]
        return power, 2 * self.sd / (ends[0] - ends[1]), _sinh(self.skewness * power)

    def strength(self, score: Any) -> Any:
        """Strengths of normal scores."""
        power, scale, middle = self._shape()
        return self.mean + scale * (_sinh((arcsinh(score) + self.skewness) * power) - middle)

    def placed(self, seen: Any, information: Any) -> tuple[Any, Any]:
        """Empirical normal scores of strengths, and their approximate information."""
        power, scale, middle = self._shape()
        inside = arcsinh((seen - self.mean) / scale + middle) / power - self.skewness
        # Smooth, and never far out: it places coordinates, which need not be exact.
        score = _sinh(2 * pt.tanh(inside / 2))
        slope = scale * power * _cosh((arcsinh(score) + self.skewness) * power)
        return score, information * slope**2 / (1 + score**2)


def item_margins(
    right: ArrayLike,
    shown: ArrayLike,
    margins: ArrayLike | None = None,
    *,
    n_alternatives: int,
    law: Law = "normal",
    priors: Priors | None = None,
) -> pm.Model:
    """Build a model of the latent correlation between the item strengths of a group and a system.

    Each item has a strength ``d'`` for a group. The probability of a correct response follows from
    signal detection theory for m alternatives [GS66]_. Strengths are correlated with the margins of
    a model, or with the strengths of another group. ``rho`` is this correlation without trial-level
    noise, which the correction for attenuation [S04]_ approximates.

    Parameters
    ----------
    right, shown : array_like of int, shape (item,) or (2, item)
        Numbers of correct responses and of all responses to each item: for one group if there are
        `margins`, otherwise for two groups.
    margins : array_like, shape (item,), optional
        Decision margins of the model, as returned by `alikely.metrics.margins.model_margin`.
    n_alternatives : int
        Number of alternatives, at least 2.
    law : {"normal", "sinh_arcsinh"}
        Distribution of strengths. ``"sinh_arcsinh"`` allows any skewness and tail weight [JP09]_.
        Margins are then converted to normal scores and not modeled, and ``rho`` is the correlation
        of normal scores. `alikely.decision_margin_consistency` computes this posterior without
        MCMC.
    priors : mapping, optional
        Priors by name, such as ``{"strength_mean": pm.Normal.dist(2, 1)}`` or
        ``{"strength_mean": (2, 1)}``; see `alikely.models.copying`.

    Returns
    -------
    pymc.Model
        Dims ``item`` and, with two groups, ``group``, and

        - data ``right``, ``shown`` and ``margins``
        - ``rho``, ``strength_mean``, ``strength_sd``
        - for one group: ``strength`` (item), ``margin_mean`` and ``margin_sd`` (in units of the
          standard deviation of the margins)
        - for two groups: ``strength_first``, ``strength_second`` (item), ``strength`` (group, item)
        - with ``law="sinh_arcsinh"``: also ``skewness``, ``log_tail``, and the normal scores of
          ``strength``, which are ``score`` (item), or ``score_first`` and ``score_second``;
          ``margins`` are then also normal scores
        - likelihoods ``observed_right`` and ``observed_margins``

    Raises
    ------
    ValueError
        If shapes do not match, or there are fewer than 5 items. If counts are not whole numbers
        with ``0 <= right <= shown``. If, for every item, a group's responses are all correct or all
        incorrect. If margins are missing or constant. If `n_alternatives` is below 2, or `law` is
        unknown. If a prior is invalid, as in `alikely.models.copying`.

    Notes
    -----
    The prior of ``rho`` is uniform on (-1, 1), which is the LKJ prior with shape 1 for two systems
    [L09]_. Strengths have a centered parameterization [P07]_ and are sampled in coordinates with
    approximately unit variance, computed from the counts. These coordinates avoid a funnel in the
    posterior if ``rho`` is near 1 or an item has few responses.

    Responses are assumed to be independent given the item, but repeated responses of an observer
    are dependent. With few observers and many repeats, use only one response per observer and item.
    To reuse a compiled model for other data, replace its data.
    """
    one = margins is not None
    wanted = "(item,), of one group with margins" if one else "(2, item), of two groups"
    answers = check_counts(right, shown, wanted, 1 if one else 2)
    if not one and len(answers[0]) != 2:
        raise ValueError(f"right and shown must have shape {wanted}; got {answers[0].shape}")
    refuse_extremes(*answers)
    n_items = answers[0].shape[-1]
    x = None if margins is None else check_margins(margins, n_items)
    check_task(n_alternatives)
    if law not in get_args(Law):
        raise ValueError(f"law must be 'normal' or 'sinh_arcsinh', got {law!r}")
    groups = {} if one else {"group": ["first", "second"]}
    dims = (*groups, "item")
    with building(priors, {**groups, "item": np.arange(n_items)}) as model:
        k, n = (
            pm.Data(name, values, dims=dims)
            for name, values in zip(("right", "shown"), answers, strict=True)
        )
        rho = pm.Uniform("rho", -1, 1)
        mean = pm.Normal("strength_mean", 1, 2, dims=tuple(groups) or None)
        sd = pm.Gamma("strength_sd", 2, 4 / 3, dims=tuple(groups) or None)
        apart = pt.sqrt(1 - rho**2 + FLOOR)
        if law == "sinh_arcsinh":
            strength = _bent_strengths(x, (k, n), (mean, sd, rho, apart), n_alternatives)
        elif x is not None:
            expected = expected_strength(x, mean, sd, rho)
            seen = seen_strength(k, n, n_alternatives)
            strength = informed("strength", expected, sd * apart, *seen, "item")
        else:
            seen = seen_strength(k[0], n[0], n_alternatives)
            first = informed("strength_first", mean[0], sd[0], *seen, "item")
            expected = mean[1] + sd[1] * rho * (first - mean[0]) / sd[0]
            seen = seen_strength(k[1], n[1], n_alternatives)
            second = informed("strength_second", expected, sd[1] * apart, *seen, "item")
            strength = pm.Deterministic("strength", pt.stack([first, second]), dims=dims)
        odds = log_odds(strength, n_alternatives)
        pm.Binomial("observed_right", n=n, logit_p=odds, observed=k, dims=dims)
    return model


def _bent_strengths(x: Any, counts: Any, parameters: Any, n_alternatives: int) -> Any:
    """Strengths with a sinh-arcsinh distribution, from normal scores."""
    (k, n), (mean, sd, rho, apart) = counts, parameters
    dims = ("group",) if x is None else None
    skewness = pm.Normal("skewness", 0, 0.4, dims=dims)
    log_tail = pm.Normal("log_tail", 0, 0.3, dims=dims)

    def placed(law: Bent, k: Any, n: Any, expected: Any) -> tuple[Any, Any]:
        seen, information = seen_strength(k, n, n_alternatives)
        return law.placed(seen, one_sided(k, n, seen, information, law.strength(expected)))

    if x is not None:
        scores = normal_scores(x)
        given = pm.Data("margins", (scores - scores.mean()) / scores.std(), dims="item")
        law = Bent(mean, sd, skewness, log_tail)
        expected = rho * given
        score = informed("score", expected, apart, *placed(law, k, n, expected), "item")
        return pm.Deterministic("strength", law.strength(score), dims="item")
    laws = [Bent(mean[g], sd[g], skewness[g], log_tail[g]) for g in (0, 1)]
    nothing = pt.zeros(k.shape[1])
    first = informed("score_first", nothing, 1.0, *placed(laws[0], k[0], n[0], nothing), "item")
    expected = rho * first
    second = informed(
        "score_second", expected, apart, *placed(laws[1], k[1], n[1], expected), "item"
    )
    both = [law.strength(score) for law, score in zip(laws, (first, second), strict=True)]
    return pm.Deterministic("strength", pt.stack(both), dims=("group", "item"))
