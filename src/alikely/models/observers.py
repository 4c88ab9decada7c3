"""Answers of single observers: shared item strength, their own deviations from it, trial noise.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [LR68] Lord, Novick (1968). Statistical theories of mental test scores. Addison-Wesley.
.. [LP94] Liu, Pierce (1994). A note on Gauss-Hermite quadrature. doi:10.1093/biomet/81.3.624
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import normal_nodes
from alikely.metrics.alternatives import distractor_nodes
from alikely.metrics.margins import FEWEST_ITEMS, repeated
from alikely.models._given_priors import Priors, with_priors
from alikely.models._placed import TINY, informed, informed_zero_sum
from alikely.models._repeats import log_likelihood
from alikely.models._strengths import (
    FLOOR,
    Link,
    check_counts,
    check_margins,
    check_task,
    expected_strength,
    log_odds,
    log_odds_spline,
    one_sided,
    refuse_extremes,
    seen_strength,
)

__all__ = ["noise_variance", "observer_margins"]

Components = Literal["auto", "all", "shared"]
# With no more answers of an observer to an item their log likelihoods are read off a table; with
# more it would be a large one, and nodes are placed for the stable deviation, a little wider than
# its approximate posterior. A log likelihood is then right to 5e-4 on average, also where that
# approximation is poor: many answers at a ceiling.
FEW_ANSWERS = 6
NODES = 21
# With so many answers an observer's effects are in coordinates that these and the spread of effects
# shape together; with fewer, deviates in units of the spread are as free, and simpler.
MANY_ANSWERS = 200
WIDER = 1.2


def noise_variance(m: int, link: Link = "m_afc") -> float:
    """Variance that trial noise brings into the evidence for an answer."""
    nodes, weights = distractor_nodes(m)
    if link == "probit":
        return 1.0
    return round(1 + float(weights @ nodes**2 - (weights @ nodes) ** 2), 12)


def observer_margins(
    right: ArrayLike,
    shown: ArrayLike,
    margins: ArrayLike | None = None,
    *,
    m: int,
    link: Link = "m_afc",
    components: Components = "auto",
    priors: Priors | None = None,
) -> pm.Model:
    """Strengths of items for observers who differ, and where the variance of their answers is from.

    Item ``i`` has a strength that all observers share; observer ``o`` scales and shifts it, and
    deviates from it in a way of its own that comes back whenever the item does. Answers are right
    with the probability of signal detection for m alternatives [GS66]_::

        d[o, i] = mean + ability[o] + exp(log_gain[o]) (strength[i] - mean) + stable[o, i]

    Only repeated answers of one observer to one item tell its stable deviation from noise.

    Parameters
    ----------
    right, shown : array_like of int, shape (observer, item)
        Right answers and answers of each observer to each item; 0 and 0 where it was not shown.
        Observers may have seen items unequally often.
    margins : array_like, shape (item,), optional
        Decision margins of a machine, correlated with the shared strengths.
    m : int
        Number of alternatives, at least 2.
    link : {"m_afc", "probit"}
        As in `alikely.models.item_margins`.
    components : {"auto", "all", "shared"}
        ``"all"``: with stable deviations, for which items must have been repeated. ``"shared"``:
        without; deviation and noise together are then the noise, whose variance sets the scale.
        ``"auto"``: all if that is possible.
    priors : mapping, optional
        Other priors by name, such as ``{"ability_sd": pm.Gamma.dist(4, 16)}`` or
        ``{"ability_sd": (4, 16)}``, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``observer, item, source``. Parameters ``strength`` (item), ``strength_mean``,
        ``strength_sd``, ``ability`` and ``log_gain`` (observer, sums of zero) with ``ability_sd``
        and ``log_gain_sd``; with all components ``stable_sd``; with margins ``rho``,
        ``margin_mean``, ``margin_sd``. Deterministics ``share`` (source): parts of the variance of
        the evidence of the average observer over items and trials; and with all components
        ``ceiling`` (observer): correlation of an observer's own strengths, noise-free, with the
        shared ones: how consistent with the group it could be at most [LR68]_. Likelihood
        ``observed_right`` (observer, item) and, with margins, ``observed_margins`` (item).

    Raises
    ------
    ValueError
        If shapes do not fit, there are fewer than 2 observers or 5 items, counts are not whole or
        not ``0 <= right <= shown``, an observer or an item has no answer, the group is always or
        never right on every item, margins are constant, `m` is below 2, an option is unknown, or
        all components are asked for and fewer than 5 items were repeated; for priors as in
        `alikely.models.with_priors`.

    Notes
    -----
    Stable deviations, one for each observer and item, are integrated out: what is left has as many
    parameters as there are items and observers, and chains mix. With up to 6 answers of an observer
    to an item the integrals are read off a table, right to 1e-5; with more they are Gauss-Hermite
    quadratures about their approximate posterior [LP94]_.

    Examples
    --------
    >>> right = [[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]]
    >>> alike = {"ability_sd": pm.Gamma.dist(4, 16)}
    >>> model = observer_margins(right, [[2] * 6] * 2, m=16, priors=alike)
    >>> model.coords["source"]
    ('item', 'observer x item', 'trial noise')
    """
    k, n = check_counts(right, shown, "(observer, item)", 2)
    _refuse_silence(n)
    refuse_extremes(k.sum(axis=0), n.sum(axis=0))
    x = None if margins is None else check_margins(margins, k.shape[1])
    check_task(m, link)
    stable = _has_stable(n, components)
    sources = (
        ["item", "observer x item", "trial noise"]
        if stable
        else ["item", "observer x item and trial noise"]
    )
    coords = {"observer": np.arange(len(k)), "item": np.arange(k.shape[1]), "source": sources}
    both = ("observer", "item")
    with pm.Model(coords=coords) as model:
        right_data, shown_data = pm.Data("right", k, dims=both), pm.Data("shown", n, dims=both)
        mean = pm.Normal("strength_mean", 1, 2)
        sd = pm.Gamma("strength_sd", 2, 4 / 3)
        seen = seen_strength(right_data.sum(axis=0), shown_data.sum(axis=0), m, link)
        if x is None:
            strength = informed("strength", mean, sd, *seen, "item")
        else:
            rho = pm.Uniform("rho", -1, 1)
            expected = expected_strength(x, mean, sd, rho)
            apart = sd * pt.sqrt(1 - rho**2 + FLOOR)
            strength = informed("strength", expected, apart, *seen, "item")
        told: dict[str, Any] = {}
        if n.sum(axis=1).mean() >= MANY_ANSWERS:
            level = seen_strength(right_data.sum(axis=1), shown_data.sum(axis=1), m, link)
            told = _seen_effects(right_data, shown_data, seen, level, sd)
        # Spreads are kept off zero: observers who are all alike make a funnel.
        ability = _effects("ability", pm.Gamma("ability_sd", 4, 8), told)
        log_gain = _effects("log_gain", pm.Gamma("log_gain_sd", 4, 16), told)
        own = mean + ability[:, None] + pt.exp(log_gain)[:, None] * (strength - mean)
        variances = [sd**2, pt.constant(noise_variance(m, link))]
        if stable:
            deviation = pm.Gamma("stable_sd", 2, 2)
            variances.insert(1, deviation**2)
            numbers = tuple(np.unique(n).tolist())
            _observe_repeats(own, deviation, right_data, shown_data, m, link, numbers)
            gain = pt.exp(log_gain) * sd
            ceiling = gain / pt.sqrt(gain**2 + deviation**2)
            pm.Deterministic("ceiling", ceiling, dims="observer")
        else:
            odds = log_odds(own, m, link)
            pm.Binomial(
                "observed_right", n=shown_data, logit_p=odds, observed=right_data, dims=both
            )
        total = pt.stack(variances)
        pm.Deterministic("share", total / total.sum(), dims="source")
    return with_priors(model, priors)


def _effects(name: str, sd: Any, told: Mapping[str, tuple[Any, Any]]) -> Any:
    """Effects of observers that sum to zero."""
    if name in told:
        return informed_zero_sum(name, sd, *told[name], "observer")
    deviate = pm.ZeroSumNormal(f"{name}_deviate", 1, dims="observer")
    return pm.Deterministic(name, sd * deviate, dims="observer")


def _seen_effects(
    right: Any, shown: Any, items: tuple[Any, Any], level: tuple[Any, Any], sd: Any
) -> dict[str, tuple[Any, Any]]:
    """Effects of observers as their answers show them, and the information of each, about."""
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
    own: Any, deviation: Any, right: Any, shown: Any, m: int, link: Link, numbers: tuple[int, ...]
) -> None:
    """Likelihood of right answers, with a normal deviation of each observer on each item."""

    def logp(value: Any, own: Any, deviation: Any, shown: Any) -> Any:
        ways = pt.gammaln(shown + 1) - pt.gammaln(value + 1) - pt.gammaln(shown - value + 1)
        if max(numbers) <= FEW_ANSWERS:
            return log_likelihood(value, shown, own, deviation, numbers, m, link) + ways
        return _by_nodes(value, own, deviation, shown, m, link) + ways

    def random(own: Any, deviation: Any, shown: Any, rng: Any = None, size: Any = None) -> Any:
        d = own + deviation * rng.normal(size=size if size is not None else np.shape(own))
        return rng.binomial(shown.astype(np.int64), special.expit(log_odds_spline(m, link)(d)))

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


def _by_nodes(value: Any, own: Any, deviation: Any, shown: Any, m: int, link: Link) -> Any:
    """Log likelihood of right answers, orders apart, by nodes about their posterior [LP94]_."""
    nodes, weights = normal_nodes(NODES)
    log_weights = np.log(weights) + nodes**2 / 2
    seen, information = seen_strength(value, shown, m, link)
    information = one_sided(value, shown, seen, information, own)
    weight = deviation**2 * information
    centre = deviation * information * (seen - own) / (1 + weight)
    width = WIDER / pt.sqrt(1 + weight)
    e = centre[..., None] + width[..., None] * nodes
    odds = log_odds(own[..., None] + deviation * e, m, link)
    terms = value[..., None] * odds - shown[..., None] * pt.softplus(odds) - e**2 / 2
    return pt.logsumexp(terms + log_weights, axis=-1) + pt.log(width)


def _refuse_silence(shown: NDArray[np.int64]) -> None:
    if len(shown) < 2:
        raise ValueError(f"the model needs at least 2 observers, got {len(shown)}")
    for axis, name in ((1, "observer"), (0, "item")):
        silent = np.flatnonzero(shown.sum(axis=axis) == 0)
        if len(silent):
            raise ValueError(f"{name} {silent[0]} has no answer; leave it out")


def _has_stable(shown: NDArray[np.int64], components: Components) -> bool:
    if components not in ("auto", "all", "shared"):
        raise ValueError(f"components must be 'auto', 'all' or 'shared', got {components!r}")
    enough = repeated(shown)
    if components == "all" and not enough:
        raise ValueError(
            f"components='all' needs at least {FEWEST_ITEMS} items that observers answered "
            "repeatedly: with one answer a stable deviation cannot be told from noise; use "
            "components='shared'"
        )
    return components != "shared" and enough
