"""Metrics of answers to questions with options, such as kappa_p (CAPA).

`alikely.metrics.option_sums` has their formulas, `alikely.metrics.option_matrices` computes them
for all pairs of systems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.metrics.cells import divide
from alikely.metrics.metric import Metric, register
from alikely.metrics.option_matrices import capa_matrices, influences_of_sums
from alikely.metrics.option_sums import (
    OptionSums,
    correlation_of_options,
    correlation_slopes,
    kappa_p,
    kappa_p_slopes,
    same_wrong,
    same_wrong_slopes,
)
from alikely.metrics.trust import TRUST

__all__ = ["KAPPA_P", "KAPPA_P_DISCRETE", "OPTION_CORRELATION", "SAME_WRONG_ANSWER"]


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
            value,
            counts,
            gradient=slopes,
            reason=_reason(value, other),
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
