"""Error tables by observer, pair and condition, and quantities computed from them.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind
from alikely.data.blocks import LEFT_OUT, blocks
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import missing_note_of
from alikely.data.tables import By, answers, correctness, groups_of_trials
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.errors.equal_rows import expected_by_class
from alikely.errors.pairs import PairedErrors, paired_errors, plug_in
from alikely.inference.evaluation import joint_errors_of
from alikely.metrics import errors
from alikely.metrics.rows import Mixture, drop_true

# Sums of fractions that are integers up to rounding.
ROUNDING = 1e-9
NOT_WHOLE = "answers to one item differ: choose one with trials.select(repeat=...)"


def error_rows(
    trials: Trials, by: By = "condition", no_response: Literal["error", "drop"] = "error"
) -> xr.Dataset:
    """Count every observer's errors by true class and response.

    Only errors that occurred are listed, so that data with thousands of classes fit into memory.
    ``rows["count"].to_dataframe()`` converts the list for `pandas.pivot_table`. Error rows of
    different observers or conditions can be compared without common trials.

    Parameters
    ----------
    trials : Trials
        Responses with class labels. Every response counts. If items are repeated, select one
        response with ``trials.select(repeat=...)`` to count independent errors.
    by, no_response
        As in `alikely.data.joint_correctness` with labels.

    Returns
    -------
    xarray.Dataset
        ``count`` (error), with the coordinates ``observer, dataset, condition, true_class,
        response_class``, and the coordinate ``class``, which lists all classes.

    Raises
    ------
    ValueError
        If only correctness is known, or an option is unknown.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.Trials.from_arrays(
    ...     [["cat", "cat", "dog"], ["dog", "cat", "dog"]], ["cat", "dog", "dog"]
    ... )
    >>> rows = error_rows(trials)
    >>> rows["observer"].values.tolist(), rows["count"].values.tolist()
    (['observer_0', 'observer_1', 'observer_1'], [1, 1, 1])
    """
    data = trials.data
    refuse_inclusion(data, "comparing errors by class")
    correct = correctness(data["correct"].values, no_response)
    given = answers(data, correct)
    group, labels = groups_of_trials(data, by)
    names = given["class"]
    observer, trial = np.nonzero(correct == 0)
    frame = pd.DataFrame(
        {
            "observer": data["observer"].values[observer],
            "dataset": labels["dataset"].to_numpy(object)[group[trial]],
            "condition": labels["condition"].to_numpy(object)[group[trial]],
            "true_class": names[given["truth"][1][trial]],
            "response_class": names[given["response"][1][observer, trial]],
        }
    )
    return _counted(frame, names)


def _counted(frame: pd.DataFrame, classes: NDArray[Any]) -> xr.Dataset:
    keys = list(frame)
    counts = frame.groupby(keys, sort=False).size().reset_index(name="count")
    coords = {key: ("error", counts[key].to_numpy(object)) for key in keys}
    return xr.Dataset(
        {"count": ("error", counts["count"].to_numpy(np.int64))}, {**coords, "class": classes}
    )


def agreement_of_classes(table: xr.Dataset) -> dict[str, tuple[str, NDArray[Any]]]:
    """Compute numbers of joint errors, and agreement expected from the true classes alone."""
    expected = np.full(table.sizes["pair"], np.nan)
    for block in blocks(table):
        k, found = block.n_classes, joint_errors_of(block)
        order = np.argsort(found.pair, kind="stable")
        starts = np.searchsorted(found.pair[order], np.arange(len(block.a) + 1))
        for p in range(len(block.a)):
            own = order[starts[p] : starts[p + 1]]
            true, share = block.truth[found.trial[own]] * k, found.share[own]
            rows = [
                np.bincount(true + label[own], share, minlength=k * k).reshape(k, k)
                for label in (found.first, found.second)
            ]
            expected[block.rows.start + p] = errors.expected_agreement(*rows)
    return {"n_joint_errors": ("pair", table["cells"].values[:, 3]), "expected": ("pair", expected)}


def error_counts(table: xr.Dataset) -> dict[str, tuple[Any, NDArray[Any]]]:
    """Count errors of each pair, for metrics of error rows."""
    # For repeated items: proportions of incorrect responses.
    count = np.zeros((2, table.sizes["pair"]), dtype=table["cells"].dtype)
    for block in blocks(table):
        n_errors = np.where(block.correct == LEFT_OUT, 0, 1 - block.correct).sum(axis=1)
        count[:, block.rows] = n_errors[block.a], n_errors[block.b]
    return {
        "n_joint_errors": ("pair", table["cells"].values[:, 3]),
        "n_errors_a": ("pair", count[0]),
        "n_errors_b": ("pair", count[1]),
    }


def class_comparison(
    table: xr.Dataset, *, alpha: float, mixture: Mixture, base: float
) -> dict[str, tuple[Any, NDArray[Any]]]:
    """Compute divergences of pairs, in total and by true class."""
    n_pairs, k = table.sizes["pair"], table.sizes["class"]
    divergence, by_class = np.full(n_pairs, np.nan), np.full((n_pairs, k), np.nan)
    count = np.zeros((2, n_pairs, k), dtype=np.int64)
    options: dict[str, Any] = {"alpha": alpha, "mixture": mixture, "base": base}
    for block in blocks(table):
        data = paired_errors(block)
        # A true class contributes its divergence times its proportion of errors.
        rows, labels = data.with_rest()
        added = plug_in(rows[0], rows[1], labels, **options).sum(axis=-1)
        share = rows.sum(axis=(0, -1)).astype(np.float64)
        with np.errstate(invalid="ignore"):
            share /= share.sum(axis=-1, keepdims=True)
            each = added / np.where(share > 0, share, np.nan)
        at = np.arange(block.rows.start, block.rows.stop)[:, None], data.classes
        by_class[at] = each
        divergence[block.rows] = np.where(np.isnan(share).any(axis=-1), np.nan, added.sum(axis=-1))
        count[:, *at] = data.totals
    both = ("pair", "class")
    return {
        "n_joint_errors": ("pair", table["cells"].values[:, 3]),
        "n_errors_a": ("pair", count[0].sum(axis=1)),
        "n_errors_b": ("pair", count[1].sum(axis=1)),
        "divergence": ("pair", divergence),
        "class_divergence": (both, by_class),
        "class_errors_a": (both, count[0]),
        "class_errors_b": (both, count[1]),
    }


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
