"""Responses of single observers: shared item strength, stable deviations, and trial noise.

References
----------
.. [dB01] de Boor (2001). A practical guide to splines. doi:10.1007/978-1-4612-6333-3
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [LR68] Lord, Novick (1968). Statistical theories of mental test scores. Addison-Wesley.
.. [LP94] Liu, Pierce (1994). A note on Gauss-Hermite quadrature. doi:10.1093/biomet/81.3.624
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.interpolate import CubicSpline

from alikely._base.arrays import Floats, normal_nodes
from alikely.metrics.margins import (
    FEWEST_ITEMS,
    check_task,
    distractor_nodes,
    m_afc_log_probability,
    repeated,
)
from alikely.models._parts import TINY, informed, informed_zero_sum
from alikely.models._priors import Priors, building

# Strengths are never known to be the same: keeps the density of their difference bounded.
FLOOR = 1e-6
STEP = 1 / 16
GRID = np.arange(-30, 30 + STEP, STEP)


@functools.lru_cache(maxsize=16)
def log_odds_spline(n_alternatives: int) -> CubicSpline:
    """Spline of the log odds of a correct response over strength, accurate to 1e-6."""
    right, wrong = m_afc_log_probability(GRID, n_alternatives)
    return CubicSpline(GRID, right - wrong)


def log_odds(strength: Any, n_alternatives: int) -> Any:
    """Log odds of a correct response, extrapolated linearly outside the grid of strengths."""
    curve = log_odds_spline(n_alternatives)
    inside = pt.clip(strength, GRID[0], GRID[-1])
    piece = pt.cast(pt.clip((inside - GRID[0]) / STEP, 0, len(GRID) - 2), "int64")
    x = inside - pt.constant(GRID)[piece]
    cubic, square, line, start = (pt.constant(row)[piece] for row in curve.c)
    slopes = curve(GRID[[0, -1]], 1)
    beyond = (strength - inside) * pt.switch(strength > 0, slopes[1], slopes[0])
    return ((cubic * x + square) * x + line) * x + start + beyond


def expected_strength(margins: NDArray[np.float64], mean: Any, sd: Any, rho: Any) -> Any:
    """Expected strengths given a model's margins; adds the likelihood of the margins."""
    x = pm.Data("margins", margins, dims="item")
    z = (x - x.mean()) / x.std()
    center = pm.Normal("margin_mean", 0, 1)
    width = pm.HalfNormal("margin_sd", 2)
    pm.Normal("observed_margins", center, width, observed=z, dims="item")
    return mean + sd * rho * (z - center) / width


def seen_strength(right: Any, shown: Any, n_alternatives: int) -> tuple[Any, Any]:
    """Empirical strengths from the counts, and their approximate information."""
    # Strength is nearly linear in the log odds of a right answer.
    intercept, slope = _line(n_alternatives)
    share = (right + 0.5) / (shown + 1)
    strength = (pt.log(share) - pt.log1p(-share) - intercept) / slope
    return strength, shown * share * (1 - share) * slope**2


def one_sided(right: Any, shown: Any, seen: Any, information: Any, expected: Any) -> Any:
    """Reduce the information on a strength if all or no responses are correct."""
    above = pt.switch(pt.eq(right, shown), seen - expected, expected - seen)
    extreme = pt.eq(right, 0) | pt.eq(right, shown)
    return information * pt.switch(extreme, pt.sigmoid(above), 1)


def arcsinh(x: Any) -> Any:
    """Inverse hyperbolic sine, accurate for large numbers of either sign; its slope at 0 is 1."""
    below = pt.lt(x, 0)
    size = pt.switch(below, -x, x)
    value = pt.log(size + pt.sqrt(size**2 + 1))
    return pt.switch(below, -value, value)


def _line(n_alternatives: int) -> tuple[float, float]:
    """Intercept and slope of the log odds of a correct response for typical strengths."""
    at = np.linspace(0, 4, 41)
    slope, intercept = np.polyfit(at, log_odds_spline(n_alternatives)(at), 1)
    return float(intercept), float(slope)


def check_counts(
    right: ArrayLike, shown: ArrayLike, wanted: str, n_dims: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Raise an error for invalid counts, with items on the last axis."""
    k, n = np.asarray(right, dtype=np.float64), np.asarray(shown, dtype=np.float64)
    if k.shape != n.shape or k.ndim != n_dims:
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
            f"correct responses must be between 0 and shown, got {k[bad][0]:g} of {n[bad][0]:g}"
        )
    return k.astype(np.int64), n.astype(np.int64)


def refuse_extremes(right: NDArray[np.int64], shown: NDArray[np.int64]) -> None:
    """Raise an error for groups whose responses to each item are all correct or all incorrect."""
    if ((right == 0) | (right == shown)).all(axis=-1).any():
        raise ValueError(
            "all responses of a group to an item are the same, for each item, so strengths are "
            "unbounded; give counts of several responses per item"
        )


def check_margins(margins: ArrayLike, n_items: int) -> NDArray[np.float64]:
    """Raise an error for margins that are missing or constant."""
    x = np.asarray(margins, dtype=np.float64)
    if x.shape != (n_items,):
        raise ValueError(
            f"margins must have one value for each of {n_items} items, got shape {x.shape}"
        )
    if not np.isfinite(x).all():
        item = int(np.flatnonzero(~np.isfinite(x))[0])
        raise ValueError(f"the margin of item {item} is {x[item]}; leave the item out everywhere")
    if np.ptp(x) == 0:
        raise ValueError(f"all margins are {x[0]:g}, and a constant has no correlation; check them")
    return x


# Up to this number of responses of an observer to an item, log likelihoods are interpolated from a
# table. Above, the table would be large: quadrature nodes are placed for the stable deviation, a
# little wider than its approximate posterior. The log likelihood is then accurate to 5e-4 on
# average, also where the approximation is poor (many responses at ceiling accuracy).
FEW_ANSWERS = 6
NODES = 21
# With so many answers an observer's effects are in coordinates that these and the spread of effects
# shape together; with fewer, deviates in units of the spread are as free, and simpler.
MANY_ANSWERS = 200
WIDER = 1.2
# Knots over strength, in units of noise, and over the inverse hyperbolic sine of the deviation's
# spread, which is that spread where it is small and its logarithm where it is large. Beyond the
# last ones are straight lines, which is how log likelihoods go on.
STRENGTH_STEP = 1 / 4
STRENGTHS = np.arange(-20, 20 + STRENGTH_STEP / 2, STRENGTH_STEP)
SPREAD_STEP = 1 / 8
SPREADS = np.arange(0, 3.75 + SPREAD_STEP / 2, SPREAD_STEP)


def noise_variance(n_alternatives: int) -> float:
    """Variance of the evidence for a response that is due to trial noise."""
    nodes, weights = distractor_nodes(n_alternatives)
    return round(1 + float(weights @ nodes**2 - (weights @ nodes) ** 2), 12)


def observer_margins(
    right: ArrayLike,
    shown: ArrayLike,
    margins: ArrayLike | None = None,
    *,
    n_alternatives: int,
    priors: Priors | None = None,
) -> pm.Model:
    """Build a model of item strengths and of the variance components of observers' responses.

    Item ``i`` has a latent strength (easiness) that is the same for all observers. Each observer
    ``o`` scales and shifts the latent strength of an item, and adds a stable deviation, which is
    the same in all repeats of the item. The probability of a correct response follows from signal
    detection theory for m
    alternatives [GS66]_, with the strength of item ``i`` for observer ``o`` given by::

        d[o, i] = mean + ability[o] + exp(log_gain[o]) (strength[i] - mean) + stable[o, i]

    An observer's stable deviations from the shared item strengths (easiness) can be separated from
    noise only if items are repeated. If fewer than 5 items were repeated, an observer's stable
    deviations are treated as noise, and strengths are expressed in standard deviations of the total
    noise.

    Parameters
    ----------
    right, shown : array_like of int, shape (observer, item)
        Numbers of correct and total responses by each observer to each item; both are 0 if the item
        was not shown. The number of repeats may differ across observers and items.
    margins : array_like, shape (item,), optional
        Decision margins of a model, to be correlated with the item strengths.
    n_alternatives : int
        Number of alternatives, at least 2.
    priors : mapping, optional
        Priors by name, such as ``{"ability_sd": pm.Gamma.dist(4, 16)}`` or
        ``{"ability_sd": (4, 16)}``; see `alikely.models.copying`.

    Returns
    -------
    pymc.Model
        Dims ``observer, item, source``, and

        - ``strength`` (item), with ``strength_mean`` and ``strength_sd``
        - ``ability``, ``log_gain`` (observer, sum to zero), with ``ability_sd`` and
          ``log_gain_sd``
        - ``stable_sd``, only with repeated items
        - ``rho``, ``margin_mean``, ``margin_sd``, only with margins
        - ``share`` (source): fraction of the variance of the average observer's evidence (over
          items and trials) that is due to each source
        - ``ceiling`` (observer), only with repeated items: noise-corrected correlation between an
          observer's strengths and the shared strengths, which is the observer's maximum possible
          consistency with the group [LR68]_
        - likelihoods ``observed_right`` (observer, item) and, with margins, ``observed_margins``
          (item)

    Raises
    ------
    ValueError
        If shapes do not match, or there are fewer than 2 observers or 5 items.
    ValueError
        If counts are not whole numbers with ``0 <= right <= shown``, or an observer or an item has
        no response.
    ValueError
        If no item has both correct and incorrect responses, or if all margins are equal.
    ValueError
        If `n_alternatives` is below 2, or a prior is invalid (see `alikely.models.copying`).

    Notes
    -----
    The stable deviations from the shared item strengths, one for each observer and item, are
    integrated out. The number of sampled parameters is approximately the number of items plus the
    number of observers, and MCMC chains mix well. For up to 6 responses of an observer to an item,
    the integrals are interpolated from a table, with an accuracy of 1e-5. For more than 6 responses
    per observer and item, the integrals are computed by Gauss-Hermite quadrature around the
    approximate posterior [LP94]_.

    Examples
    --------
    >>> right = [[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]]
    >>> alike = {"ability_sd": pm.Gamma.dist(4, 16)}
    >>> model = observer_margins(right, [[2] * 6] * 2, n_alternatives=16, priors=alike)
    >>> model.coords["source"]
    ('item', 'observer x item', 'trial noise')
    """
    k, n = check_counts(right, shown, "(observer, item)", 2)
    _refuse_silence(n)
    refuse_extremes(k.sum(axis=0), n.sum(axis=0))
    x = None if margins is None else check_margins(margins, k.shape[1])
    check_task(n_alternatives)
    stable = repeated(n)
    sources = (
        ["item", "observer x item", "trial noise"]
        if stable
        else ["item", "observer x item and trial noise"]
    )
    coords = {"observer": np.arange(len(k)), "item": np.arange(k.shape[1]), "source": sources}
    both = ("observer", "item")
    with building(priors, coords) as model:
        right_data, shown_data = pm.Data("right", k, dims=both), pm.Data("shown", n, dims=both)
        mean = pm.Normal("strength_mean", 1, 2)
        sd = pm.Gamma("strength_sd", 2, 4 / 3)
        seen = seen_strength(right_data.sum(axis=0), shown_data.sum(axis=0), n_alternatives)
        if x is None:
            strength = informed("strength", mean, sd, *seen, "item")
        else:
            rho = pm.Uniform("rho", -1, 1)
            expected = expected_strength(x, mean, sd, rho)
            apart = sd * pt.sqrt(1 - rho**2 + FLOOR)
            strength = informed("strength", expected, apart, *seen, "item")
        told: dict[str, Any] = {}
        if n.sum(axis=1).mean() >= MANY_ANSWERS:
            level = seen_strength(right_data.sum(axis=1), shown_data.sum(axis=1), n_alternatives)
            told = _seen_effects(right_data, shown_data, seen, level, sd)
        # Spreads are kept off zero, since identical observers make a funnel.
        ability = _effects("ability", pm.Gamma("ability_sd", 4, 8), told)
        log_gain = _effects("log_gain", pm.Gamma("log_gain_sd", 4, 16), told)
        own = mean + ability[:, None] + pt.exp(log_gain)[:, None] * (strength - mean)
        variances = [sd**2, pt.constant(noise_variance(n_alternatives))]
        if stable:
            deviation = pm.Gamma("stable_sd", 2, 2)
            variances.insert(1, deviation**2)
            numbers = tuple(np.unique(n).tolist())
            _observe_repeats(own, deviation, right_data, shown_data, n_alternatives, numbers)
            gain = pt.exp(log_gain) * sd
            ceiling = gain / pt.sqrt(gain**2 + deviation**2)
            pm.Deterministic("ceiling", ceiling, dims="observer")
        else:
            odds = log_odds(own, n_alternatives)
            pm.Binomial(
                "observed_right", n=shown_data, logit_p=odds, observed=right_data, dims=both
            )
        total = pt.stack(variances)
        pm.Deterministic("share", total / total.sum(), dims="source")
    return model


def _effects(name: str, sd: Any, told: Mapping[str, tuple[Any, Any]]) -> Any:
    """Effects of observers that sum to zero."""
    if name in told:
        return informed_zero_sum(name, sd, *told[name], "observer")
    deviate = pm.ZeroSumNormal(f"{name}_deviate", 1, dims="observer")
    return pm.Deterministic(name, sd * deviate, dims="observer")


def _seen_effects(
    right: Any, shown: Any, items: tuple[Any, Any], level: tuple[Any, Any], sd: Any
) -> dict[str, tuple[Any, Any]]:
    """Empirical effects of observers, and the approximate information on each."""
    seen, information = items
    away = seen - seen.mean()
    share = (right.sum(axis=1) + 0.5) / (shown.sum(axis=1) + 1)
    slope = ((right - shown * share[:, None]) * away).sum(axis=1)
    relative = slope / (pt.abs(slope.mean()) + TINY) - 1
    of_level = level[1].mean()
    signal = sd**2 * information.mean()
    return {
        "ability": (level[0], of_level),
        "log_gain": (pt.clip(relative, -1, 1), of_level * sd**2 * signal / (1 + signal)),
    }


def _observe_repeats(
    own: Any,
    deviation: Any,
    right: Any,
    shown: Any,
    n_alternatives: int,
    numbers: tuple[int, ...],
) -> None:
    """Likelihood of correct responses, with a normal deviation of each observer on each item."""

    def logp(value: Any, own: Any, deviation: Any, shown: Any) -> Any:
        ways = pt.gammaln(shown + 1) - pt.gammaln(value + 1) - pt.gammaln(shown - value + 1)
        if max(numbers) <= FEW_ANSWERS:
            return (
                table_log_likelihood(value, shown, own, deviation, numbers, n_alternatives) + ways
            )
        return _by_nodes(value, own, deviation, shown, n_alternatives) + ways

    def random(own: Any, deviation: Any, shown: Any, rng: Any = None, size: Any = None) -> Any:
        d = own + deviation * rng.normal(size=size if size is not None else np.shape(own))
        return rng.binomial(
            shown.astype(np.int64), special.expit(log_odds_spline(n_alternatives)(d))
        )

    pm.CustomDist(
        "observed_right",
        own,
        deviation,
        shown,
        logp=logp,
        random=random,
        dtype="int64",
        class_name="RepeatedAnswers",
        observed=right,
        dims=("observer", "item"),
    )


def _by_nodes(value: Any, own: Any, deviation: Any, shown: Any, n_alternatives: int) -> Any:
    """Log likelihood of correct responses in a given order, by adaptive quadrature [LP94]_."""
    nodes, weights = normal_nodes(NODES)
    log_weights = np.log(weights) + nodes**2 / 2
    seen, information = seen_strength(value, shown, n_alternatives)
    information = one_sided(value, shown, seen, information, own)
    weight = deviation**2 * information
    center = deviation * information * (seen - own) / (1 + weight)
    width = WIDER / pt.sqrt(1 + weight)
    e = center[..., None] + width[..., None] * nodes
    odds = log_odds(own[..., None] + deviation * e, n_alternatives)
    terms = value[..., None] * odds - shown[..., None] * pt.softplus(odds) - e**2 / 2
    return pt.logsumexp(terms + log_weights, axis=-1) + pt.log(width)


def _refuse_silence(shown: NDArray[np.int64]) -> None:
    if len(shown) < 2:
        raise ValueError(f"the model needs at least 2 observers, got {len(shown)}")
    for axis, name in ((1, "observer"), (0, "item")):
        silent = np.flatnonzero(shown.sum(axis=axis) == 0)
        if len(silent):
            raise ValueError(f"{name} {silent[0]} has no response; leave it out")


class Table(NamedTuple):
    """Piecewise bicubic log likelihoods [dB01]_."""

    coefficients: Floats
    first: Any


@functools.lru_cache(maxsize=16)
def answer_table(shown: tuple[int, ...], n_alternatives: int) -> Table:
    """Log likelihoods of all numbers of correct responses, accurate to 1e-5 in the grid."""
    first = np.full(max(shown) + 1, -1)
    values: list[Floats] = []
    for n in shown:
        first[n] = len(values)
        values += list(_integrated(n, n_alternatives))
    flat = np.stack(values)
    by_strength = _pieces(flat, STRENGTHS, "natural")
    # Spreads of opposite sign are the same: no slope at 0.
    both = _pieces(np.moveaxis(by_strength, 2, -1), SPREADS, ("clamped", "natural"))
    # From (power of spread, power of strength, outcome, piece of strength, piece of spread).
    return Table(np.ascontiguousarray(np.moveaxis(both, -1, 3)), first)


def table_log_likelihood(
    right: Any, shown: Any, strength: Any, deviation: Any, tabled: tuple[int, ...],
    n_alternatives: int,
) -> Any:  # fmt: skip
    """Interpolate the log probability of ordered responses, given one SD of stable deviations."""
    coefficients, first = answer_table(tabled, n_alternatives)
    _, _, n_outcomes, n_spreads, n_strengths = coefficients.shape
    across, x = _piece(strength, STRENGTHS[0], STRENGTH_STEP, n_strengths)
    along, t = _piece(arcsinh(deviation), SPREADS[0], SPREAD_STEP, n_spreads)
    # Counts that cannot be have no place; the model refuses them.
    outcome = pt.clip(pt.constant(first)[shown] + right, 0, n_outcomes - 1)
    at = (outcome * n_spreads + along) * n_strengths + across
    total = 0.0
    for power in range(4):
        line = 0.0
        for of_spread in coefficients[:, power]:
            line = line * t + pt.constant(of_spread.ravel())[at]
        total = total * x + line
    return total


def _piece(value: Any, start: float, step: float, n_pieces: int) -> tuple[Any, Any]:
    """Index of the piece and distance from its start in steps; end pieces are unbounded."""
    # One piece more stands before the first knot.
    place = (value - start) / step + 1
    piece = pt.cast(pt.clip(place, 0, n_pieces - 1), "int64")
    return piece, place - piece


def _integrated(n: int, n_alternatives: int) -> Floats:
    """Log likelihoods by number of correct responses, shape (outcome, spread, strength)."""
    k = np.arange(n + 1)
    out = np.empty((n + 1, len(SPREADS), len(STRENGTHS)))
    for j, spread in enumerate(np.sinh(SPREADS)):
        # Likelihoods are no narrower than a normal density for each answer; the deviation that
        # explains them best is no further away than one from the end of the strengths.
        weight = n * spread**2
        far = 8 + STRENGTHS[-1] * n * spread / (1 + weight)
        step = 0.5 / np.sqrt(1 + weight)
        e = np.arange(-far, far + step, step)
        odds = _numpy_log_odds(STRENGTHS[:, None] + spread * e, n_alternatives)
        right, wrong = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
        density = np.log(step / np.sqrt(2 * np.pi)) - e**2 / 2
        for outcome in k:
            joint = outcome * right + (n - outcome) * wrong + density
            out[outcome, j] = special.logsumexp(joint, axis=-1)
    return out


def _numpy_log_odds(strength: Floats, n_alternatives: int) -> Floats:
    """As `alikely.models.observers.log_odds`, in NumPy."""
    curve = log_odds_spline(n_alternatives)
    inside = np.clip(strength, GRID[0], GRID[-1])
    slopes = curve(GRID[[0, -1]], 1)
    beyond = (strength - inside) * np.where(strength > 0, slopes[1], slopes[0])
    return np.asarray(curve(inside) + beyond)


def _pieces(values: Floats, knots: Floats, ends: Any) -> Floats:
    """Cubic pieces along the last axis, straight ones before and behind: (power, ..., piece)."""
    curve = CubicSpline(knots, values, axis=-1, bc_type=ends)
    step = knots[1] - knots[0]
    # From (power, piece, ...), in units of steps.
    inner = np.moveaxis(curve.c, 1, -1) * step ** np.arange(3, -1, -1).reshape(
        -1, *[1] * values.ndim
    )
    zero = np.zeros(values.shape[:-1])
    low, high = (curve(knots[end], 1) * step for end in (0, -1))
    before = np.stack([zero, zero, low, values[..., 0] - low])
    behind = np.stack([zero, zero, high, values[..., -1]])
    return np.concatenate([before[..., None], inner, behind[..., None]], axis=-1)
