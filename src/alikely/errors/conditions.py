"""Divergences of errors between conditions.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import missing_note_of
from alikely.data.tables import answers, correctness
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.errors.equal_rows import expected_by_class
from alikely.errors.pairs import PairedErrors
from alikely.metrics import errors
from alikely.metrics.rows import Mixture, drop_true

# Sums of fractions that are integers up to rounding.
ROUNDING = 1e-9
NOT_WHOLE = "answers to one item differ: choose one with trials.select(repeat=...)"


def condition_divergences(
    trials: Trials,
    *,
    kind: str = "human",
    no_response: Literal["error", "drop"] = "error",
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
) -> xr.Dataset:
    """Compute the class-level error divergence (CLED) between conditions [X25]_.

    The errors of all observers of one kind are pooled. Conditions need not have common images. All
    responses of an observer to a repeated item together count as one response.

    Parameters
    ----------
    trials : Trials
        Responses with class labels.
    kind : str
        Kind of observer whose errors are pooled.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error with a separate label, or to drop it.
    alpha, mixture, base
        As in `alikely.metrics.errors.error_divergence`; base 2 gives bits.

    Returns
    -------
    xarray.Dataset
        Conditions are named ``dataset:condition``, with the coordinate ``dataset``.

        - ``divergence`` (condition, condition_other): at least 0; with ``mixture="mean"`` and bits,
          at most 1
        - ``expected``: expected divergence between two samples from the same distribution, with the
          observed number of errors for each class; at least 0. ``expected`` is defined only for
          whole numbers of errors, and is therefore undefined if responses to repeated items differ.
        - ``excess``: ``divergence`` minus ``expected``
        - ``undefined``: the reason if values are NaN; otherwise empty
        - ``n_errors`` (condition): number of errors; fractional for repeated items

    Raises
    ------
    ValueError
        If there are no observers of that kind, or a condition was shown to none of them. If there
        are fewer than two conditions, only correctness is known, or an option is out of range.

    Notes
    -----
    Divergences also depend on the number of errors. ``excess`` is the part that is not explained by
    chance; use it if conditions differ in difficulty. If a class has no errors in one of the two
    conditions, its divergence equals its expected divergence. A class in which neither condition
    has errors has weight 0. ``expected`` is undefined on the diagonal, where ``divergence`` is 0.
    Conditions in the same data set often share participants, and may be similar for that reason.

    Examples
    --------
    >>> import alikely as al
    >>> found = condition_divergences(al.load_example())
    >>> found["condition"].values.tolist(), found["n_errors"].values.tolist()
    (['all:clean', 'all:blur', 'all:noise'], [16, 125, 248])
    >>> noise = found.sel(condition="all:blur", condition_other="all:noise")
    >>> noise["divergence"].round(3).item(), noise["expected"].round(3).item()
    (0.099, 0.1)
    """
    data = trials.data
    known_kind("kind", kind, data["kind"].values)
    every, number = condition_labels(data)
    data = trials.select(kind=kind).data
    _refuse_unseen(trials, every, number, kind)
    names, condition = condition_labels(data)
    if len(names) < 2:
        raise ValueError(f"divergences need at least two conditions, got only {names[0]!r}")
    refuse_inclusion(data, "comparing conditions")
    correct = correctness(data["correct"].values, no_response)
    given = answers(data, correct)
    k = len(given["class"])
    observer, trial = np.nonzero(correct == 0)
    code = (condition[trial] * k + given["truth"][1][trial]) * k
    code += given["response"][1][observer, trial]
    weight = _weights(data, correct)
    once = None if weight is None else weight[observer, trial]
    rows = np.bincount(code, once, len(names) * k * k).reshape(-1, k, k)
    rows = np.where(np.abs(rows - np.rint(rows)) < ROUNDING, np.rint(rows), rows)
    whole, n_errors = (rows % 1 == 0).all(axis=(1, 2)), rows.sum(axis=(1, 2))

    options: dict[str, Any] = {"alpha": alpha, "mixture": mixture, "base": base}
    divergence, expected = np.full((2, len(names), len(names)), np.nan)
    a, b = np.tril_indices(len(names))
    divergence[a, b] = divergence[b, a] = errors.error_divergence(rows[a], rows[b], **options)
    for one, two in itertools.combinations(np.flatnonzero(whole), 2):
        expected[one, two] = expected[two, one] = _expected(rows[one], rows[two], **options)
    both = whole[:, None] & whole[None, :]
    undefined = np.where(both, "", NOT_WHOLE).astype(object)
    undefined[~np.isfinite(divergence)] = "no error in either condition"
    np.fill_diagonal(undefined, "a condition is not a second sample of itself")
    of_dataset = data["dataset"].values.astype(object)
    sides = ("condition", "condition_other")
    return xr.Dataset(
        {
            "divergence": (sides, divergence),
            "expected": (sides, expected),
            "excess": (sides, divergence - expected),
            "undefined": (sides, undefined),
            "n_errors": ("condition", n_errors if weight is not None else n_errors.astype(int)),
        },
        coords={
            "condition": names,
            "condition_other": names,
            "dataset": ("condition", of_dataset[np.unique(condition, return_index=True)[1]]),
        },
        attrs={
            "kind": kind,
            "no_response": no_response,
            "missing_note": missing_note_of(data, no_response),
            **options,
        },
    )


def _expected(one: Floats, other: Floats, **options: Any) -> float:
    """Expected divergence of two samples from one distribution; NaN without errors."""
    of_one, of_other = (drop_true(rows).astype(np.int64)[None] for rows in (one, other))
    seen, none = of_one + of_other > 0, np.zeros_like(of_one)
    unseen, classes = (~seen).sum(axis=-1), np.arange(len(one))
    data = PairedErrors(none, none, none, of_one, of_other, unseen, classes)
    return float(expected_by_class(data, **options).sum()) if seen.any() else np.nan


def _weights(data: xr.Dataset, correct: NDArray[np.int8]) -> Floats | None:
    """Weights (observer, trial): 1 over the number of responses to the item; None if all are 1."""
    items = presented(data)
    if items is None:
        return None
    items.require_one_truth(data)
    return 1 / np.maximum(items.number(correct), 1)[:, items.item]


def _refuse_unseen(trials: Trials, names: list[str], number: NDArray[np.intp], kind: str) -> None:
    data = trials.data
    shown = (data["correct"].values[data["kind"].values == kind] != NOT_SHOWN).any(axis=0)
    unseen = np.setdiff1d(np.arange(len(names)), number[shown])
    if len(unseen):
        trial = int(np.argmax(number == unseen[0]))
        dataset, condition = (str(data[name].values[trial]) for name in ("dataset", "condition"))
        raise ValueError(
            f"no observer of kind {kind!r} saw condition {names[unseen[0]]!r} ({len(unseen)} such "
            "conditions); leave it out: "
            f"alikely.exclude_conditions(trials, {{{dataset!r}: [{condition!r}]}})"
        )
