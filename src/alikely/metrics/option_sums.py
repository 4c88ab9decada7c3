"""Chance-adjusted probabilistic agreement of systems that choose among options: kappa_p (CAPA).

Of two systems and question i with K options, ``o`` is the chance that answers drawn from both agree
(the sum over options of both probabilities), ``alpha`` and ``beta`` their probabilities of the
right option, ``f = 1/(K - 1)``. With means O, A, B, F over questions chance agreement is
``E = A B + (1 - A)(1 - B) F``: wrong answers fall on all wrong options alike, whichever are
popular. Of answers alone, probabilities are 0 and 1.

References
----------
.. [G25] Goel, Strüber, Auzina, Chandra, Kumaraguru, Kiela, Prabhu, Bethge, Geiping (2025). Great
   models think alike and this undermines AI oversight. doi:10.48550/arXiv.2502.04313
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from alikely._base.arrays import ROUNDING, Floats, within
from alikely.metrics.cells import divide

__all__ = [
    "NOTHING_LEFT",
    "OptionSums",
    "chance_agreement",
    "correlation_of_options",
    "correlation_slopes",
    "kappa_p",
    "kappa_p_slopes",
    "same_wrong",
    "same_wrong_slopes",
]

# What rounding leaves of a difference that is 0.
NOTHING_LEFT = 1e-12


class OptionSums(NamedTuple):
    """Sums over questions that every measure of agreement on options is a function of."""

    number: Floats
    same: Floats
    right_a: Floats
    right_b: Floats
    self_a: Floats
    self_b: Floats
    chance: Floats
    both_right: Floats


def _means(sums: OptionSums) -> OptionSums:
    # Each is a mean of probabilities.
    return OptionSums(*(within(divide(part, sums.number)) for part in sums))


def _by_sums(sums: OptionSums, by_means: dict[str, Floats]) -> OptionSums:
    """Derivatives by sums, from those by means."""
    mean, one = _means(sums), divide(1.0, sums.number)
    slopes: dict[str, Any] = {name: np.zeros_like(one) for name in OptionSums._fields}
    for name, change in by_means.items():
        slopes[name] = change * one
        slopes["number"] = slopes["number"] - change * getattr(mean, name) * one
    return OptionSums(**slopes)


def chance_agreement(right_a: Floats, right_b: Floats, chance: Floats) -> Floats:
    """Agreement of independent systems whose errors fall on all wrong options alike [G25]_."""
    return np.asarray(right_a * right_b + (1 - right_a) * (1 - right_b) * chance)


def _by_right(right: Floats, chance: Floats) -> Floats:
    """Change of chance agreement with the accuracy of the other."""
    return np.asarray(right - chance * (1 - right))


def _rest(mean: OptionSums) -> Floats:
    """One minus chance agreement, NaN where nothing else was possible."""
    rest = 1 - chance_agreement(mean.right_a, mean.right_b, mean.chance)
    return np.where(rest > NOTHING_LEFT, rest, np.nan)


def kappa_p(sums: OptionSums) -> Floats:
    """Chance-adjusted probabilistic agreement [G25]_."""
    mean = _means(sums)
    rest = _rest(mean)
    return within(1 - (1 - mean.same) / rest, -1)


def kappa_p_slopes(sums: OptionSums) -> OptionSums:
    """Derivatives of `kappa_p` by all sums: its influence function [H74]_."""
    mean = _means(sums)
    rest = _rest(mean)
    a, b, f = mean.right_a, mean.right_b, mean.chance
    less = -(1 - mean.same) / rest**2
    return _by_sums(
        sums,
        {
            "same": 1 / rest,
            "right_a": less * _by_right(b, f),
            "right_b": less * _by_right(a, f),
            "chance": less * (1 - a) * (1 - b),
        },
    )


def _beyond(mean: OptionSums) -> tuple[Floats, Floats, Floats]:
    """Agreement beyond chance of both systems, and of each with itself; NaN unless above 0."""
    a, b, f = mean.right_a, mean.right_b, mean.chance
    own = (mean.self_a - chance_agreement(a, a, f), mean.self_b - chance_agreement(b, b, f))
    of_a, of_b = (np.where(each > NOTHING_LEFT, each, np.nan) for each in own)
    return np.asarray(mean.same - chance_agreement(a, b, f)), of_a, of_b


def correlation_of_options(sums: OptionSums) -> Floats:
    """Agreement beyond chance, over that of each system with itself: ``r_p``."""
    beyond, of_a, of_b = _beyond(_means(sums))
    root = np.sqrt(of_a * of_b)
    # Differences of numbers near 1: their rounding counts more the smaller they are.
    return within(beyond / root, -1, 1, ROUNDING / root)


def correlation_slopes(sums: OptionSums) -> OptionSums:
    """Derivatives of `correlation_of_options` by all sums."""
    mean = _means(sums)
    beyond, of_a, of_b = _beyond(mean)
    root = np.sqrt(of_a * of_b)
    r = beyond / root
    a, b, f = mean.right_a, mean.right_b, mean.chance
    own = (1 - a) ** 2 / of_a + (1 - b) ** 2 / of_b
    return _by_sums(
        sums,
        {
            "same": 1 / root,
            "right_a": -_by_right(b, f) / root + r * _by_right(a, f) / of_a,
            "right_b": -_by_right(a, f) / root + r * _by_right(b, f) / of_b,
            "self_a": -r / (2 * of_a),
            "self_b": -r / (2 * of_b),
            "chance": -(1 - a) * (1 - b) / root + r * own / 2,
        },
    )


def _both_wrong(mean: OptionSums) -> Floats:
    wrong = 1 - mean.right_a - mean.right_b + mean.both_right
    return np.where(wrong > NOTHING_LEFT, wrong, np.nan)


def same_wrong(sums: OptionSums) -> Floats:
    """Share of the same wrong answer where both are wrong."""
    mean = _means(sums)
    wrong = _both_wrong(mean)
    return within((mean.same - mean.both_right) / wrong, slack=ROUNDING / wrong)


def same_wrong_slopes(sums: OptionSums) -> OptionSums:
    """Derivatives of `same_wrong` by all sums."""
    mean = _means(sums)
    wrong = _both_wrong(mean)
    share = (mean.same - mean.both_right) / wrong
    return _by_sums(
        sums,
        {
            "same": 1 / wrong,
            "right_a": share / wrong,
            "right_b": share / wrong,
            "both_right": -(1 + share) / wrong,
        },
    )
