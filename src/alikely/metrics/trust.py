"""When intervals of a metric rest on too little, by what it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TRUST", "Trust", "items_without_spread"]


class Trust(NamedTuple):
    """When the analytic interval and the bootstrap rest on too little.

    Tables that show the posterior interval alone do not have these notes.

    Attributes
    ----------
    rarest : callable
        What a result knows of its entries (``cells`` (pair, 4), ``n_errors_a``, ``n_errors_b``,
        ``n_trials``, as far as the metric has them) to the number that decides, (pair,).
    least : int
        With fewer they fall clearly short of their promise.
    seldom : str
        What to tell the reader then.
    alone : str or callable
        And where the standard error is 0 besides; or what a result knows, as `rarest` takes it, to
        the reasons (pair,) wherever it is 0.
    pooled : (float, str)
        Intervals of means over many pairs are also too narrow if the mean of `rarest` is below the
        first value (infinite: always; 0: never). The second value is the note.
    biased : bool
        Whether few errors also bias the estimate; if so, its tables always have the notes.
    """

    rarest: Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
    least: int
    seldom: str
    alone: str | Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
    pooled: tuple[float, str] = (0, "")
    biased: bool = False


def _rarest_answers(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Errors or right answers of either observer, whichever are fewest."""
    cells = known["cells"]
    right = np.stack([cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]])
    return np.minimum(right, cells.sum(axis=1) - right).min(axis=0)


def _without_spread(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Why the standard error of an estimate of the four cells is 0."""
    n11, n10, n01, n00 = np.moveaxis(known["cells"], -1, 0)
    reasons = [
        (_rarest_answers(known) == 0, "an observer never errs (or always)"),
        ((n10 == 0) & (n01 == 0), "both err on the very same trials"),
        ((n11 == 0) & (n00 == 0), "where one errs the other is right"),
    ]
    told = np.select([is_so for is_so, _ in reasons], [text for _, text in reasons], "no spread")
    return np.array([f"{text}: only the posterior has a spread" for text in told], dtype=object)


def items_without_spread(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Why the standard error of a coefficient of agreement is 0."""
    text = "items have no spread: only the posterior has one"
    return np.full(len(known["n_trials"]), text, dtype=object)


FEW = "few errors: trust the posterior only"
TRUST: Mapping[str, Trust] = {
    "correctness": Trust(
        _rarest_answers,
        10,
        FEW,
        _without_spread,
    ),
    # Measured (`calibration.agreement_coverage`): below, the bootstrap falls short wherever labels
    # agree often or seldom.
    "labels": Trust(
        lambda known: known["cells"][:, 3],
        40,
        FEW,
        "fewer than 2 joint errors, or all alike: only the posterior has a spread",
    ),
    "rows": Trust(
        lambda known: np.minimum(known["n_errors_a"], known["n_errors_b"]),
        10,
        "few errors: mostly smoothing; see expected_divergence",
        "fewer than 2 errors: only the posterior has a spread",
        biased=True,
    ),
    "margins": Trust(lambda known: known["n_trials"], 20, "few items", "few items"),
    "trials": Trust(
        lambda known: known["n_trials"],
        20,
        "few trials: intervals may be too narrow",
        "trials have no spread: only the posterior has one",
    ),
    "readings": Trust(
        lambda known: known["n_trials"],
        20,
        "few items: trust the posterior only",
        items_without_spread,
    ),
    "options": Trust(
        _rarest_answers,
        10,
        FEW,
        "answers have no spread: only the posterior has one",
    ),
    "probabilities": Trust(
        lambda known: known["n_trials"],
        40,
        "few questions: intervals may be too narrow",
        "questions have no spread: only the posterior has one",
    ),
}
