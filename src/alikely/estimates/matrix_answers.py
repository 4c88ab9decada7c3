"""Responses of observers for matrices: bits, responses or probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.names import listed, nearest
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.counting import Packed, pack
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import nested_labels, presented, recurring
from alikely.data.tables import By, answers, correctness, groups_of_trials, option_variables
from alikely.data.trials import Trials
from alikely.metrics import Metric

# Numbers in a slice of a chunked array that is read at a time.
SLICE = 50_000_000
WORD = 64


def answers_of(
    trials: Any, by: By, no_response: Literal["error", "drop"], cluster: str | None
) -> tuple[list[str], list[Packed], xr.DataArray | None]:
    """Return names of observers, correctness as bits by group of trials, and group labels."""
    if isinstance(trials, xr.DataArray):
        named = "observer" in trials.coords
        n = trials.sizes.get("observer", 0)
        labels = (
            trials["observer"].values.tolist() if named else [f"observer_{k}" for k in range(n)]
        )
        return [str(name) for name in labels], [_packed_in_slices(trials)], None
    if not isinstance(trials, Trials):
        raise TypeError(
            f"expected Trials or a DataArray, got {type(trials).__name__}; make trials with "
            "Trials.read or Trials.from_table"
        )
    data = trials.data
    refuse_inclusion(data, "matrix")
    correct = correctness(data["correct"].values, no_response)
    if cluster is None:
        again = presented(data) is not None or (by != "condition" and recurring(data)[0])
        if again:
            raise ValueError(
                "items are repeated, and responses to them are not independent; use al.compare, "
                "which treats items as clusters, or cluster='trial' to assume independence"
            )
    group, labels = groups_of_trials(data, by)
    parts = [pack(correct[:, group == g]) for g in range(len(labels))]
    names = [str(name) for name in data["observer"].values.tolist()]
    if by is None or len(labels) == 1:
        return names, parts, None
    of_dataset, of_condition = (labels[name].to_numpy(object) for name in ("dataset", "condition"))
    if by == "dataset":
        shown = of_dataset.tolist()
    elif len(set(of_dataset.tolist())) > 1:
        shown = nested_labels(of_dataset, of_condition)
    else:
        shown = of_condition.tolist()
    places = xr.DataArray(
        shown,
        dims=by,
        name=by,
        coords={by: shown, "of_dataset": (by, of_dataset), "of_condition": (by, of_condition)},
    )
    return names, parts, places


def responses_of(
    trials: Any, metric: Metric, by: By, no_response: Literal["error", "drop"]
) -> list[dict[str, xr.Variable]]:
    """Return responses by group of trials, for metrics that do not count correctness."""
    if not isinstance(trials, Trials):
        raise TypeError(
            "an array of correct and incorrect responses has metrics of correctness only; give "
            f"Trials for {metric.name}"
        )
    data = trials.data
    correct = correctness(data["correct"].values, no_response)
    own = metric.counts == "trials"
    said = {} if own and "response" not in data else answers(data, correct)
    classes = said.pop("class", None)
    variables = {name: xr.Variable(*given) for name, given in said.items()}
    if own:
        variables["correct"] = xr.Variable(("observer", "trial"), correct)
    if metric.labels == "options":
        variables |= option_variables(data, classes)
    group, labels = groups_of_trials(data, by)
    if len(labels) == 1:
        # Without copying: arrays on disk are not read.
        return [variables]
    return [
        {name: v.isel(trial=np.flatnonzero(group == g)) for name, v in variables.items()}
        for g in range(len(labels))
    ]


def _packed_in_slices(correct: xr.DataArray) -> Packed:
    """Pack an array that may not fit into memory into bits."""
    if set(correct.dims) != {"observer", "trial"}:
        raise ValueError(f"responses must have dims (observer, trial), got {correct.dims}")
    ordered = correct.transpose("observer", "trial")
    n_observers, n_trials = ordered.shape
    step = max(WORD, SLICE // max(n_observers, 1) // WORD * WORD)
    parts = []
    for start in range(0, max(n_trials, 1), step):
        part = np.asarray(ordered.isel(trial=slice(start, start + step)).values)
        with np.errstate(invalid="ignore"):
            whole = part.astype(np.int8, copy=False)
        other = whole is not part and (whole != part).any()
        if other or (whole.size and (whole.min() < -1 or whole.max() > 1)):
            known = (part == 1) | (part == 0) | (part == -1)
            raise ValueError(
                "responses must be 1 (correct), 0 (incorrect) or -1 (excluded), got "
                f"{part[~known][0]:g}"
            )
        parts.append(pack(whole))
    right = np.concatenate([part.right for part in parts], axis=1)
    if all(part.shown is None for part in parts):
        return Packed(right, None, n_trials)
    return Packed(right, np.concatenate([part.shown_bits() for part in parts], axis=1), n_trials)


def clusters_of(data: xr.Dataset, cluster: str) -> NDArray[np.intp]:
    """Number the clusters of items of all trials, within data sets."""
    names = list(data.attrs.get(ITEM_COLUMNS, []))
    if cluster not in names:
        there = f" ({listed(names)})" if names else ""
        raise ValueError(
            f"cluster must be 'trial' or a column that describes items{there}, got {cluster!r}"
            f"{nearest(cluster, names)}; item_columns=[{cluster!r}] keeps one when data are read"
        )
    frame = pd.DataFrame({"label": data[cluster].values, "dataset": data["dataset"].values})
    numbers = np.asarray(frame.groupby(["dataset", "label"], sort=False).ngroup(), dtype=np.intp)
    if numbers.max(initial=0) < 1:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters, and all trials are of "
            f"{str(data[cluster].values[0])!r}; leave cluster out"
        )
    return numbers
