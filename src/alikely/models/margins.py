"""Item strengths behind the answers of a group, and their correlation with another system's.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [L09] Lewandowski, Kurowicka, Joe (2009). Generating random correlation matrices based on vines
   and extended onion method. doi:10.1016/j.jmva.2009.04.008
.. [P07] Papaspiliopoulos, Roberts, Sköld (2007). A general framework for the parametrization of
   hierarchical models. doi:10.1214/088342307000000014
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
"""

from __future__ import annotations

import functools
import math
from typing import Any, Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray
from pymc.logprob.transforms import Transform
from scipy import special
from scipy.interpolate import CubicSpline

from alikely.metrics.margins import FEWEST_ITEMS, distractor_nodes, m_afc_log_probability

__all__ = ["item_margins", "log_m_afc"]

Link = Literal["m_afc", "probit"]
# Probabilities are then exact to 2e-7.
N_NODES = 12
# Strengths are never known to be the same: keeps the density of their difference bounded.
FLOOR = 1e-6
STEP = 1 / 16
GRID = np.arange(-30, 30 + STEP, STEP)


def log_m_afc(d_prime: Any, m: int) -> tuple[Any, Any]:
    """Log probabilities of a right and of a wrong answer among m alternatives [GS66]_, in PyTensor.

    Parameters
    ----------
    d_prime : tensor_like
        Item strength, in units of the noise.
    m : int
        Number of alternatives, at least 2.

    Returns
    -------
    log_right, log_wrong : tensor
        Of the shape of `d_prime`; they and their gradients are finite in both tails. Probabilities
        are right to 1e-6, logarithms of much smaller ones are rough.

    Raises
    ------
    ValueError
        If `m` is below 2.

    See Also
    --------
    alikely.metrics.margins.m_afc_log_probability : The same in NumPy.

    Examples
    --------
    >>> right, wrong = log_m_afc([0.0, 3.0], 16)
    >>> np.exp(right.eval()).round(4).tolist(), np.exp(wrong.eval()).round(4).tolist()
    ([0.0625, 0.8661], [0.9375, 0.1339])
    """
    nodes, weights = distractor_nodes(m, N_NODES)
    # The weight of the outermost nodes for large m may round to nothing.
    log_weights = np.log(np.maximum(weights, np.finfo(float).tiny))
    below, above = _log_normal_tails(pt.as_tensor(d_prime)[..., None] - nodes)
    right = pt.logsumexp(below + log_weights, axis=-1)
    wrong = pt.logsumexp(above + log_weights, axis=-1)
    return _sharper(right, wrong), _sharper(wrong, right)


def _log_normal_tails(x: Any) -> tuple[Any, Any]:
    """Log probabilities of a standard normal number below and above x."""
    # One scaled error function serves both sides, and never overflows.
    size = pt.abs(x)
    smaller = pt.log(pt.erfcx(size / math.sqrt(2)) / 2) - size**2 / 2
    larger = pt.log1p(-pt.exp(smaller))
    return pt.switch(x > 0, larger, smaller), pt.switch(x > 0, smaller, larger)


def _sharper(log_p: Any, log_q: Any) -> Any:
    """Log of a probability p; from q = 1 - p where p is the larger one."""
    half = math.log(0.5)
    return pt.switch(log_p > log_q, pt.log1p(-pt.exp(pt.minimum(log_q, half))), log_p)


def item_margins(
    right: ArrayLike,
    shown: ArrayLike,
    margins: ArrayLike | None = None,
    *,
    m: int,
    link: Link = "m_afc",
) -> pm.Model:
    """Latent correlation of item strengths: of a machine and a group of humans, or of two groups.

    Every item has a strength for a group, ``d'``; answers to it are right with the probability that
    signal detection gives for m alternatives [GS66]_. Strengths are correlated with a machine's
    margins, or with the strengths of another group. ``rho`` is that correlation freed of the noise
    of single answers, which correction for attenuation [S04]_ approximates.

    Parameters
    ----------
    right, shown : array_like of int, shape (item,) or (2, item)
        Right answers and answers of the group to each item: one group with `margins`, two without.
    margins : array_like, shape (item,), optional
        Decision margins of the machine, as from `alikely.metrics.margins.machine_margin`.
    m : int
        Number of alternatives, at least 2.
    link : {"m_afc", "probit"}
        ``"m_afc"``: the target's evidence against that of m - 1 distractors. ``"probit"``:
        the normal curve, whatever m; strengths are then on another scale.

    Returns
    -------
    pymc.Model
        Dims ``item`` and, with two groups, ``group``. Data ``right``, ``shown`` and ``margins``;
        parameters ``rho``, ``strength_mean``, ``strength_sd``, with one group ``strength`` (item),
        ``margin_mean``, ``margin_sd`` (in units of the margins' own spread), with two
        ``strength_first``, ``strength_second`` (item) and the deterministic ``strength``
        (group, item); likelihoods ``observed_right`` and ``observed_margins``.

    Raises
    ------
    ValueError
        If shapes do not fit, there are fewer than 5 items, counts are not whole or not
        ``0 <= right <= shown``, a group is always or never right on every item, margins are
        missing or constant, `m` is below 2 or the link unknown.

    Notes
    -----
    ``rho`` is uniform on (-1, 1), which is also what the LKJ prior of shape 1 gives for two
    systems [L09]_: the estimand has no preferred value and every interval is the data's doing.
    Strengths are centred [P07]_ and sampled in coordinates of about unit spread, worked out from
    the counts, so that no funnel is left where ``rho`` nears 1 or an item has few answers.

    Answers are taken as independent given the item. Repeated answers of the same observers are
    not: where observers are few and repeats many, count one answer of each. To reuse a compiled
    model, replace its data.

    Examples
    --------
    >>> right = [9, 3, 7, 1, 6, 8]
    >>> model = item_margins(right, [10] * 6, [1.2, -0.4, 0.9, -1.0, 0.1, 1.1], m=16)
    >>> [variable.name for variable in model.free_RVs][0]
    'rho'
    """
    answers = _check_counts(right, shown, one=margins is not None)
    x = None if margins is None else _check_margins(margins, answers[0].shape[-1])
    if m != int(m) or m < 2:
        raise ValueError(f"m must be a whole number of at least 2 alternatives, got {m}")
    if link not in ("m_afc", "probit"):
        raise ValueError(f"link must be 'm_afc' or 'probit', got {link!r}")
    n_items = answers[0].shape[-1]
    groups = {} if x is not None else {"group": ["first", "second"]}
    dims = (*groups, "item")
    with pm.Model(coords={**groups, "item": np.arange(n_items)}) as model:
        k, n = (
            pm.Data(name, values, dims=dims)
            for name, values in zip(("right", "shown"), answers, strict=True)
        )
        rho = pm.Uniform("rho", -1, 1)
        mean = pm.Normal("strength_mean", 1, 2, dims=tuple(groups) or None)
        sd = pm.Gamma("strength_sd", 2, 4 / 3, dims=tuple(groups) or None)
        apart = pt.sqrt(1 - rho**2 + FLOOR)
        if x is not None:
            z = _standardised(pm.Data("margins", x, dims="item"))
            centre = pm.Normal("margin_mean", 0, 1)
            width = pm.HalfNormal("margin_sd", 2)
            pm.Normal("observed_margins", centre, width, observed=z, dims="item")
            expected = mean + sd * rho * (z - centre) / width
            strength = _strength("strength", expected, sd * apart, *_seen(k, n, m, link))
        else:
            first = _strength("strength_first", mean[0], sd[0], *_seen(k[0], n[0], m, link))
            expected = mean[1] + sd[1] * rho * (first - mean[0]) / sd[0]
            second = _strength(
                "strength_second", expected, sd[1] * apart, *_seen(k[1], n[1], m, link)
            )
            strength = pm.Deterministic("strength", pt.stack([first, second]), dims=dims)
        odds = _log_odds(strength, m, link)
        pm.Binomial("observed_right", n=n, logit_p=odds, observed=k, dims=dims)
    return model


@functools.lru_cache(maxsize=16)
def _log_odds_spline(m: int, link: Link) -> CubicSpline:
    """Log odds of a right answer over strength: right to 1e-6, and 50 times as fast as its sums."""
    if link == "m_afc":
        right, wrong = m_afc_log_probability(GRID, m)
    else:
        right, wrong = special.log_ndtr(GRID), special.log_ndtr(-GRID)
    return CubicSpline(GRID, right - wrong)


def _log_odds(strength: Any, m: int, link: Link) -> Any:
    """Log odds of a right answer; straight lines beyond the grid."""
    curve = _log_odds_spline(m, link)
    inside = pt.clip(strength, GRID[0], GRID[-1])
    piece = pt.cast(pt.clip((inside - GRID[0]) / STEP, 0, len(GRID) - 2), "int64")
    x = inside - pt.constant(GRID)[piece]
    cubic, square, line, start = (pt.constant(row)[piece] for row in curve.c)
    slopes = curve(GRID[[0, -1]], 1)
    beyond = (strength - inside) * pt.switch(strength > 0, slopes[1], slopes[0])
    return ((cubic * x + square) * x + line) * x + start + beyond


def _standardised(x: Any) -> Any:
    """Margins in units of their own spread: logits have none, and the priors must fit all."""
    return (x - x.mean()) / x.std()


def _strength(name: str, mean: Any, sd: Any, seen: Any, information: Any) -> Any:
    """Normal strengths of items; what the counts say of them only shapes the coordinates."""
    return pm.CustomDist(
        name,
        mean,
        sd,
        seen,
        information,
        logp=lambda value, mean, sd, *_: pm.logp(pm.Normal.dist(mean, sd), value),
        random=lambda mean, sd, *_, rng, size: rng.normal(mean, sd, size),
        support_point=lambda rv, size, mean, *_: pt.zeros_like(rv) + mean,
        class_name="NormalStrength",
        transform=_Informed(),
        dims="item",
    )


class _Informed(Transform):
    """Coordinates of strengths whose posterior is about standard normal, whatever their spread.

    A normal approximation to the likelihood of each item's counts, combined with the strength's
    conditional normal prior, gives a mean and a standard deviation; the coordinate is the distance
    from that mean in these units. It changes how fast chains mix, not what they sample.
    """

    name = "informed"

    def _place(self, inputs: Any) -> tuple[Any, Any]:
        mean, sd, seen, information = inputs[-4:]
        weight = sd**2 * information
        return (mean + weight * seen) / (1 + weight), sd / pt.sqrt(1 + weight)

    def forward(self, value: Any, *inputs: Any) -> Any:
        mean, sd = self._place(inputs)
        return (value - mean) / sd

    def backward(self, value: Any, *inputs: Any) -> Any:
        mean, sd = self._place(inputs)
        return mean + sd * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        return pt.log(self._place(inputs)[1]) + pt.zeros_like(value)


def _seen(right: Any, shown: Any, m: int, link: Link) -> tuple[Any, Any]:
    """Strengths as the counts alone show them, and their information, about."""
    # Strength is nearly linear in the log odds of a right answer.
    intercept, slope = _line(m, link)
    share = (right + 0.5) / (shown + 1)
    strength = (pt.log(share) - pt.log1p(-share) - intercept) / slope
    return strength, shown * share * (1 - share) * slope**2


def _line(m: int, link: Link) -> tuple[float, float]:
    """Intercept and slope of the log odds of a right answer where most strengths are."""
    at = np.linspace(0, 4, 41) if link == "m_afc" else np.linspace(-1.5, 1.5, 41)
    slope, intercept = np.polyfit(at, _log_odds_spline(m, link)(at), 1)
    return float(intercept), float(slope)


def _check_counts(
    right: ArrayLike, shown: ArrayLike, one: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    k, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    wanted = "(item,), of one group with margins" if one else "(2, item), of two groups"
    if k.shape != n.shape or k.ndim != (1 if one else 2) or (not one and len(k) != 2):
        raise ValueError(f"right and shown must have shape {wanted}; got {k.shape} and {n.shape}")
    if k.shape[-1] < FEWEST_ITEMS:
        raise ValueError(
            f"a correlation over items needs at least {FEWEST_ITEMS} items, got {k.shape[-1]}"
        )
    for name, values in (("right", k), ("shown", n)):
        if not (np.isfinite(values) & (values == np.round(values))).all():
            bad = values[~(np.isfinite(values) & (values == np.round(values)))].flat[0]
            raise ValueError(f"{name} must be whole numbers, got {bad:g}")
    if (bad := (k < 0) | (k > n)).any():
        raise ValueError(
            f"right answers must be between 0 and shown, got {k[bad][0]:g} of {n[bad][0]:g}"
        )
    if ((k == 0) | (k == n)).all(axis=-1).any():
        raise ValueError(
            "a group is always or never right on each of its items: strengths have no bound; give "
            "counts of several answers an item"
        )
    return k.astype(np.int64), n.astype(np.int64)


def _check_margins(margins: ArrayLike, n_items: int) -> NDArray[np.float64]:
    x = np.asarray(margins, dtype=np.float64)
    if x.shape != (n_items,):
        raise ValueError(f"margins must be of the {n_items} items of right, got shape {x.shape}")
    if not np.isfinite(x).all():
        item = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ValueError(f"the margin of item {item} is {x[item]}; leave the item out everywhere")
    if np.ptp(x) == 0:
        raise ValueError(f"all margins are {x[0]:g}: nothing can correlate with a constant")
    return x
