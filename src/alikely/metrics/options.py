"""Metrics of responses to questions with options, such as kappa_p (CAPA).

For two systems and a question with K options, ``o`` is the probability that sampled responses agree
(the sum over options of the product of both probabilities). ``alpha`` and ``beta`` are the
probabilities of the correct option, and ``f = 1/(K - 1)``. With means O, A, B, F over questions,
chance agreement is ``E = A B + (1 - A)(1 - B) F``. The formula for chance agreement assumes that
errors are uniform over all incorrect options. For responses without probabilities, probabilities
are 0 and 1.

References
----------
.. [G25] Goel, Strüber, Auzina, Chandra, Kumaraguru, Kiela, Prabhu, Bethge, Geiping (2025). Great
   models think alike and this undermines AI oversight. doi:10.48550/arXiv.2502.04313
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import ROUNDING, Floats, on_disk_or_chunked, within
from alikely._base.checks import check_answers, check_options, check_probabilities
from alikely.metrics.answers import Given, Term, influences, pair_sums, squared_influences
from alikely.metrics.cells import divide, reason_of
from alikely.metrics.gradients import complex_step_of
from alikely.metrics.metric import TRUST, Metric, register

# Rounding error of a difference that is 0.
NOTHING_LEFT = 1e-12
# Most numbers of a block of questions in memory.
CHUNK = 4_000_000


class OptionSums(NamedTuple):
    """Sums over questions from which all measures of agreement on options are computed."""

    number: Floats
    same: Floats
    right_a: Floats
    right_b: Floats
    self_a: Floats
    self_b: Floats
    chance: Floats
    both_right: Floats


# The same as products of both systems' terms: probabilities of all options ("p"), of the correct
# one ("r"), agreement with itself ("s"), and 1 over the number of incorrect options (a power).
FEATURES: Mapping[str, Term] = {
    "number": ((), (), 0), "same": (("p",), ("p",), 0), "right_a": (("r",), (), 0),
    "right_b": ((), ("r",), 0), "self_a": (("s",), (), 0), "self_b": ((), ("s",), 0),
    "chance": ((), (), 1), "both_right": (("r",), ("r",), 0),
}  # fmt: skip
TERMS = [[term] for term in FEATURES.values()]
# Chance agreement of joint errors.
BY_CHANCE: list[list[Term]] = [[(("r",), (), 1)], [((), ("r",), 1)], [(("r",), ("r",), 1)]]


def _mean(sums: OptionSums, *names: str) -> list[Floats]:
    # Each is a mean of probabilities.
    return [within(divide(getattr(sums, name), sums.number)) for name in names]


def chance_agreement(right_a: Floats, right_b: Floats, chance: Floats) -> Floats:
    """Compute chance agreement, assuming that errors are uniform over incorrect options [G25]_."""
    return np.asarray(right_a * right_b + (1 - right_a) * (1 - right_b) * chance)


def _positive(value: Floats) -> Floats:
    """Replace rounding errors of 0 by NaN."""
    return np.where(value.real > NOTHING_LEFT, value, np.nan)


def kappa_p(sums: OptionSums) -> Floats:
    """Compute chance-adjusted probabilistic agreement [G25]_."""
    same, a, b, chance = _mean(sums, "same", "right_a", "right_b", "chance")
    # NaN if no other agreement is possible.
    return within(1 - (1 - same) / _positive(1 - chance_agreement(a, b, chance)), -1)


def correlation_of_options(sums: OptionSums) -> Floats:
    """Compute ``r_p``: agreement beyond chance, divided by that of each system with itself."""
    same, a, b, f = _mean(sums, "same", "right_a", "right_b", "chance")
    own_a, own_b = _mean(sums, "self_a", "self_b")
    of_a = _positive(own_a - chance_agreement(a, a, f))
    root = np.sqrt(of_a * _positive(own_b - chance_agreement(b, b, f)))
    # Differences of numbers near 1: relative rounding errors grow as they shrink.
    return within((same - chance_agreement(a, b, f)) / root, -1, 1, ROUNDING / root.real)


def same_wrong(sums: OptionSums) -> Floats:
    """Compute the proportion of joint errors with the same response."""
    same, a, b, both = _mean(sums, "same", "right_a", "right_b", "both_right")
    wrong = _positive(1 - a - b + both)
    return within((same - both) / wrong, slack=ROUNDING / wrong.real)


def given_probabilities(
    p: NDArray[Any], shown: NDArray[np.bool_], truth: NDArray[Any], n_options: NDArray[Any]
) -> Given:
    """Prepare option probabilities (system, question, option), which sum to 1 or are all 0."""
    right = np.take_along_axis(p, truth[None, :, None].astype(np.intp), axis=2)[..., 0]
    by = {"p": p, "r": right, "s": np.einsum("nqk,nqk->nq", p, p)}
    return Given(by, shown.astype(np.float64), 1 / (n_options - 1.0))


def given_answers(codes: NDArray[Any], truth: NDArray[Any], n_options: NDArray[Any]) -> Given:
    """Prepare option numbers (system, question), which are -1 for missing responses."""
    # Counts of a block are integers, which are exact in single precision.
    shown = (codes >= 0).astype(np.float32)
    hot = (codes[..., None] == np.arange(int(n_options.max(initial=2)))).astype(np.float32)
    by = {"p": hot, "r": (shown * (codes == truth)).astype(np.float32), "s": shown}
    return Given(by, shown, 1 / (n_options - 1.0))


def _joint_of_probabilities(one: Term, other: Term) -> Term:
    first, second = tuple(sorted(one[0] + other[0])), tuple(sorted(one[1] + other[1]))
    return first, second, one[2] + other[2]


def _joint_of_answers(one: Term, other: Term) -> Term:
    """Product of two terms for responses, whose probabilities are 0 or 1."""
    first, second = {*one[0], *other[0]} - {"s"}, {*one[1], *other[1]} - {"s"}
    if "p" in first and "r" in first | second:
        first = second = {"r"}
    return tuple(sorted(first)), tuple(sorted(second)), one[2] + other[2]


class CapaMatrices(NamedTuple):
    """Agreement on options of all pairs: matrices (observer, observer), NaN if undefined."""

    estimate: Floats
    se: Floats
    r_p: Floats
    r_p_se: Floats
    same_wrong: Floats
    same_wrong_se: Floats
    same_wrong_chance: Floats
    observed: Floats
    expected: Floats
    n_questions: NDArray[np.int64]
    right: Floats
    both_right: Floats
    chance: Floats

    def cells_of(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        """Count questions of some pairs by both choices, for posterior limits without draws."""
        a, b, both = self.right[i, j], self.right[j, i], self.both_right[i, j]
        same = self.observed[i, j] - both
        shares = [both, a - both, b - both, same, 1 - a - b + both - same]
        counts = self.n_questions[i, j, None] * np.stack(shares, axis=-1)
        # Rounding errors of 0 must not be negative.
        return np.where(np.abs(counts - np.rint(counts)) < 1e-6, np.rint(counts), counts)


def capa_matrices(
    values: ArrayLike, truth: ArrayLike, n_options: ArrayLike | None = None
) -> CapaMatrices:
    """Compute chance-adjusted agreement of all pairs by matrix products [G25]_.

    Values are probabilities (observer, question, option), or positions of the chosen options
    (observer, question) with the number of options. Missing responses are NaN in probabilities
    and -1 in positions.
    """
    array, right, options = _checked(values, truth, n_options)
    found = pair_sums(_blocks(array, right, options), [*TERMS, *BY_CHANCE])
    sums, by_chance = OptionSums(*found[: len(TERMS)]), found[len(TERMS) :]
    functions = (kappa_p, correlation_of_options, same_wrong)
    estimates = [function(sums) for function in functions]
    slopes = [complex_step_of(function, sums) for function in functions]
    joint = _joint_of_answers if array.ndim == 2 else _joint_of_probabilities
    given = _blocks(array, right, options)
    square = squared_influences(given, TERMS, found[: len(TERMS)], slopes, joint)
    se = np.where(np.isfinite(estimates), np.sqrt(square), np.nan)
    same, a, b, chance, both = (
        divide(getattr(sums, name), sums.number)
        for name in ("same", "right_a", "right_b", "chance", "both_right")
    )
    # Expected number of joint errors.
    both_wrong = sums.number - sums.right_a - sums.right_b + sums.both_right
    agree = sums.chance - by_chance[0] - by_chance[1] + by_chance[2]
    return CapaMatrices(
        estimates[0],
        se[0],
        estimates[1],
        se[1],
        estimates[2],
        se[2],
        divide(agree, np.where(both_wrong > 0, both_wrong, 0.0)),
        same,
        chance_agreement(a, b, chance),
        sums.number.round().astype(np.int64),
        a,
        both,
        chance,
    )


def _checked(
    values: ArrayLike, truth: ArrayLike, n_options: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    array = on_disk_or_chunked(values)
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            "values must be probabilities (observer, question, option) or responses (observer, "
            f"question), got shape {array.shape}"
        )
    if n_options is None and array.ndim == 2:
        raise ValueError(
            "n_options must be given for responses; give one number, or one for each question"
        )
    n_options = array.shape[2] if n_options is None else n_options
    right, options = check_options(truth, n_options, array.shape[1])
    if array.ndim == 2:
        check_answers(array, options)
    return array, right, options


def _blocks(
    array: NDArray[Any], truth: NDArray[np.int64], n_options: NDArray[np.int64]
) -> Iterator[Given]:
    """Iterate over blocks of questions."""
    n, n_questions = array.shape[:2]
    k = int(n_options.max()) if array.ndim == 2 else array.shape[2]
    step = max(1, CHUNK // (n * k * (k + 1) // 2))
    for start in range(0, n_questions, step):
        part = slice(start, start + step)
        given, right, options = np.asarray(array[:, part]), truth[part], n_options[part]
        if array.ndim == 2:
            yield given_answers(given, right, options)
            continue
        shown, p = check_probabilities(given, options, part), given.astype(np.float64)
        # Normalize sums of 1 up to rounding, so that agreement is at most 1.
        p = np.where(shown[..., None], p / p.sum(axis=2, keepdims=True), 0.0)
        yield given_probabilities(p, shown, right, options)


NOTHING = "no common question"
ALONGSIDE = (
    "agreement", "chance_agreement", "r_p", "r_p_se", "same_wrong", "same_wrong_se",
    "same_wrong_chance",
)  # fmt: skip
ALWAYS = "both are always correct, or always incorrect with one incorrect option"
NOT_ITSELF = "a system does not agree with itself beyond chance"


def _metric(
    name: str,
    short: str,
    label: str,
    counts: Any,
    functions: Any,
    alongside: tuple[str, ...] = ALONGSIDE,
    **more: Any,
) -> Metric:
    value, other = functions
    if "all_pairs" in more:
        influence = functools.partial(_influences_of_all, counts, value)
        more |= {"all_influences": influence, "whys": (NOTHING, other)}
    return register(
        Metric(
            name,
            value,
            counts,
            reason=reason_of(value, NOTHING, other),
            label=label,
            short=short,
            alongside=alongside,
            requested=ALONGSIDE[2:],
            sources=("10.48550/arXiv.2502.04313",),
            module=__name__,
            **more,
        )
    )


def _of_all(
    name: str, estimate: str = "estimate", se: str = "se", limits: bool = False
) -> Callable[[Mapping[str, Any]], Mapping[str, NDArray[Any]]]:
    """All pairs of one metric, from probabilities or responses."""

    def all_pairs(answers: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
        matrices = capa_matrices(*_chosen(name, answers))
        found = matrices._asdict()
        shown = {name: name for name in ALONGSIDE}
        shown |= {"agreement": "observed", "chance_agreement": "expected"}
        alongside = {name: found[kept] for name, kept in shown.items()}
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
        return {"estimate": value, "se": found[se], **alongside, **counted}

    return all_pairs


def _chosen(name: str, answers: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Probabilities or responses, correct options, and numbers of options."""
    if name not in answers or "n_options" not in answers:
        ways = {
            "probability": "probabilities of options: see Trials.with_probabilities, or read logs "
            "that have log likelihoods of options",
            "response": "numbers of options: see Trials.with_options, or --n-options",
        }
        raise ValueError(f"these trials have no {ways[name]}")
    return answers[name], answers["truth"], answers["n_options"]


def _influences_of_all(
    counts: str, value: Callable[[OptionSums], Floats], answers: Mapping[str, Any], weights: Floats
) -> Floats:
    """Influences on weighted sums of entries, from probabilities or responses."""
    name = "probability" if counts == "probabilities" else "response"
    array, right, options = _checked(*_chosen(name, answers))
    sums = OptionSums(*pair_sums(_blocks(array, right, options), TERMS))
    slopes = np.stack(complex_step_of(value, sums))
    by = [np.where(square != 0, square * slopes, 0.0) for square in weights]
    return influences(_blocks(array, right, options), TERMS, by)


_KAPPA = (kappa_p, ALWAYS)
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
    "kappa_p of responses",
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
    (correlation_of_options, NOT_ITSELF),
    all_pairs=_of_all("probability", "r_p", "r_p_se"),
)
SAME_WRONG_ANSWER = _metric(
    "same_wrong_answer",
    "same wrong",
    "proportion of joint errors with the same option",
    "options",
    (same_wrong, "no joint error"),
    ("n_joint_errors", *ALONGSIDE),
    bounds=(0.0, 1.0),
    # Measured (`calibration.coverage_study`): untransformed intervals exceed 1.
    scale="logit",
    trust=TRUST["labels"],
    rests_on=("n_joint_errors", "joint"),
    all_pairs=_of_all("response", "same_wrong", "same_wrong_se"),
)
