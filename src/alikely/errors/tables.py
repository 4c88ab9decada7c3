"""Error tables by observer and pair, and quantities computed from them.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely.data.blocks import LEFT_OUT, blocks
from alikely.data.inclusion import refuse_inclusion
from alikely.data.tables import By, answers, correctness, groups_of_trials
from alikely.data.trials import Trials
from alikely.errors.pairs import paired_errors, plug_in
from alikely.inference.evaluation import joint_errors_of
from alikely.metrics import errors
from alikely.metrics.rows import Mixture


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
