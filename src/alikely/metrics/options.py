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

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.ranges import ROUNDING, within
from alikely.metrics.cells import divide
from alikely.metrics.metric import Metric, register
from alikely.metrics.trust import TRUST

__all__ = [
    "KAPPA_P",
    "KAPPA_P_DISCRETE",
    "OPTION_CORRELATION",
    "SAME_WRONG_ANSWER",
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


def _reason(value: Any, other: str) -> Any:
    def reason(sums: OptionSums) -> NDArray[Any]:
        defined = np.isfinite(value(sums))
        return np.select([np.asarray(sums.number) == 0, defined], [NOTHING, ""], other)

    return reason


NOTHING = "no common question"
BESIDE = (
    "agreement", "chance_agreement", "r_p", "r_p_se", "same_wrong", "same_wrong_se",
    "same_wrong_chance",
)  # fmt: skip
ALWAYS = "both are always right, or always wrong with one wrong option"
NOT_ITSELF = "a system does not agree with itself beyond chance"


def _metric(
    name: str,
    short: str,
    label: str,
    counts: Any,
    functions: Any,
    beside: tuple[str, ...] = BESIDE,
    **more: Any,
) -> Metric:
    value, slopes, other = functions
    if "all_pairs" in more:
        more |= {"all_influences": _influences_of_all(counts, slopes), "whys": (NOTHING, other)}
    return register(
        Metric(
            name,
            counts,
            value,
            slopes,
            _reason(value, other),
            label=label,
            short=short,
            beside=beside,
            requested=BESIDE[2:],
            sources=("10.48550/arXiv.2502.04313",),
            module=__name__,
            **more,
        )
    )


def _of_all(
    name: str, estimate: str = "estimate", se: str = "se", limits: bool = False
) -> Callable[[Mapping[str, Any]], Mapping[str, NDArray[Any]]]:
    """All pairs at once, of probabilities or answers, by this name."""

    def all_pairs(answers: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
        from alikely.metrics.option_matrices import capa_matrices

        matrices = capa_matrices(*_chosen(name, answers))
        found = matrices._asdict()
        shown = {name: name for name in BESIDE}
        shown |= {"agreement": "observed", "chance_agreement": "expected"}
        beside = {name: found[kept] for name, kept in shown.items()}
        counted = {"n_used": found["n_questions"]}
        if limits:
            i, j = np.triu_indices(len(matrices.estimate), k=1)
            chosen = matrices.cells_of(i, j)
            counted |= {"chosen": chosen, "n_options": 1 + divide(1.0, matrices.chance[i, j])}
        if estimate == "same_wrong":
            n, right = found["n_questions"], found["right"]
            both_wrong = np.where(n > 0, n * (1 - right - right.T + found["both_right"]), 0.0)
            counted["n_joint_errors"] = np.rint(both_wrong).astype(np.int64)
        value = found[estimate]
        why = np.where(np.isfinite(value), 0, np.where(found["n_questions"] > 0, 2, 1))
        counted["why"] = why.astype(np.int8)
        return {"estimate": value, "se": found[se], **beside, **counted}

    return all_pairs


def _chosen(name: str, answers: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Probabilities or answers, right options, and numbers of options."""
    if name not in answers or "n_options" not in answers:
        ways = {
            "probability": "how probable each option is: see Trials.with_probabilities, or read "
            "logs that have log likelihoods of options",
            "response": "how many options there were: see Trials.with_options, or --n-options",
        }
        raise ValueError(f"these trials do not say {ways[name]}")
    return answers[name], answers["truth"], answers["n_options"]


def _influences_of_all(counts: str, slopes: Callable[..., OptionSums]) -> Callable[..., Floats]:
    """Influences on weighted sums of entries, of probabilities or answers."""

    def all_influences(answers: Mapping[str, Any], weights: Floats) -> Floats:
        from alikely.metrics.option_matrices import influences_of_sums

        name = "probability" if counts == "probabilities" else "response"
        return influences_of_sums(*_chosen(name, answers), slopes, weights)

    return all_influences


_KAPPA = (kappa_p, kappa_p_slopes, ALWAYS)
KAPPA_P = _metric(
    "kappa_p",
    "CAPA",
    "kappa_p of probabilities",
    "probabilities",
    _KAPPA,
    all_pairs=_of_all("probability"),
)
KAPPA_P_DISCRETE = _metric(
    "kappa_p_discrete",
    "discrete CAPA",
    "kappa_p of answers",
    "options",
    _KAPPA,
    all_pairs=_of_all("response", limits=True),
    limits="options",
)
OPTION_CORRELATION = _metric(
    "option_correlation",
    "r_p",
    "correlation of probabilities beyond chance",
    "probabilities",
    (correlation_of_options, correlation_slopes, NOT_ITSELF),
    all_pairs=_of_all("probability", "r_p", "r_p_se"),
)
SAME_WRONG_ANSWER = _metric(
    "same_wrong_answer",
    "same wrong",
    "share of the same wrong answer",
    "options",
    (same_wrong, same_wrong_slopes, "no joint error"),
    ("n_joint_errors", *BESIDE),
    bounds=(0.0, 1.0),
    # Measured (`calibration.estimate_coverage`): on the plain scale intervals reach beyond 1.
    scale="logit",
    trust=TRUST["labels"],
    rests_on=("n_joint_errors", "joint"),
    all_pairs=_of_all("response", "same_wrong", "same_wrong_se"),
)
