"""Conditions under which intervals of a metric are unreliable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.notes import note


class Trust(NamedTuple):
    """Conditions under which analytic and bootstrap intervals are unreliable.

    Tables that show only the posterior interval do not have these notes.

    Attributes
    ----------
    rarest : callable
        Function of variables of a result (``cells`` (pair, 4), ``n_errors_a``, ``n_errors_b``,
        ``n_trials``, if the metric has them) that returns the count on which the reliability of
        intervals depends (pair,).
    least : int
        If the count is smaller than this number, coverage is clearly below nominal.
    seldom : str
        Note that is added if the count is smaller.
    alone : str or callable
        Additional note if the standard error is 0, or a function of the same variables that returns
        the reasons for a standard error of 0 (pair,).
    pooled : (float, str)
        A threshold and a note. Intervals of means over many pairs are also too narrow if the mean
        of `rarest` is below the threshold (infinite: always; 0: never). In this case, the note is
        added.
    biased : bool
        Whether the estimate is also biased if errors are few. If so, tables of the metric always
        have the notes.
    """

    rarest: Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
    least: int
    seldom: str
    alone: str | Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
    pooled: tuple[float, str] = (0, "")
    biased: bool = False


def _rarest_answers(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Number of errors or correct responses of either observer, whichever is smallest."""
    cells = known["cells"]
    right = np.stack([cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]])
    return np.minimum(right, cells.sum(axis=1) - right).min(axis=0)


def _without_spread(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Why the standard error of an estimate from four cells is 0."""
    n11, n10, n01, n00 = np.moveaxis(known["cells"], -1, 0)
    reasons = [
        (_rarest_answers(known) == 0, "An observer is always correct or always incorrect"),
        ((n10 == 0) & (n01 == 0), "Both observers err on the same trials"),
        ((n11 == 0) & (n00 == 0), "Where one observer errs, the other is correct"),
    ]
    found = np.select([is_so for is_so, _ in reasons], [text for _, text in reasons], STILL)
    return np.array([note("no-variation", why=text) for text in found], dtype=object)


def items_without_spread(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return why the standard error of a coefficient of agreement is 0."""
    return np.full(len(known["n_trials"]), note("no-variation", why=STILL), dtype=object)


# Default reason for a standard error of 0.
STILL = "Responses do not vary"
FEW = note("few-errors", least=10)
SPREADLESS = note("no-variation", why=STILL)
MARGINS = note("few-items-margins", least=20)


def _trials(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    return known["n_trials"]


TRUST: Mapping[str, Trust] = {
    "correctness": Trust(_rarest_answers, 10, FEW, _without_spread),
    # Measured (`calibration.estimate_coverage`): with fewer, bootstrap coverage is low if labels
    # agree often or rarely.
    "labels": Trust(
        lambda known: known["cells"][:, 3],
        40,
        note("few-joint-errors", least=40),
        note("no-variation", why="Fewer than 2 joint errors, or only identical ones"),
    ),
    "rows": Trust(
        lambda known: np.minimum(known["n_errors_a"], known["n_errors_b"]),
        10,
        note("few-errors-biased", least=10),
        note("no-variation", why="Fewer than 2 errors"),
        biased=True,
    ),
    "margins": Trust(_trials, 20, MARGINS, MARGINS),
    "trials": Trust(_trials, 20, note("few-trials", least=20), SPREADLESS),
    "readings": Trust(_trials, 20, note("few-items", least=20), items_without_spread),
    "options": Trust(_rarest_answers, 10, FEW, SPREADLESS),
    "probabilities": Trust(_trials, 40, note("few-questions", least=40), SPREADLESS),
}
