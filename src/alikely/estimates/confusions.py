"""Confusion matrices of observers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from alikely._base.names import listed, nearest
from alikely.data.trials import NO_RESPONSE, NOT_SHOWN, Trials

NONE = "no response"


def confusion_matrices(trials: Trials, by: str | Mapping[str, str] = "observer") -> xr.DataArray:
    """Count the responses to each true class, by observer or group.

    Parameters
    ----------
    trials : Trials
        Trials with class labels. Every response counts, including those to repeated items. To count
        each item once, select one response per item with `Trials.select`.
    by : str or mapping of str to str
        ``"observer"``, ``"kind"``, the name of another column that describes observers, or a
        mapping from observers to groups. If you pass a mapping, observers that it does not contain
        are excluded. Counts are summed over the observers in a group.

    Returns
    -------
    xarray.DataArray, dims (group, truth, response)
        Number of trials by group, true class and response. The last label of ``response`` is
        ``"no response"``.
        ``counts / counts.sum("response")`` gives the proportions for each true class, or NaN if no
        trial has this class.

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If only correctness is known, if the label `by` does not exist, or if a class is named
        ``"no response"``.

    Examples
    --------
    >>> import alikely as al
    >>> counts = confusion_matrices(al.load_example(), by="kind")
    >>> counts.shape, int(counts.sel(group="human").sum())
    ((2, 16, 17), 1920)
    """
    if not isinstance(trials, Trials):
        raise TypeError(f"trials must be Trials, got {type(trials).__name__}")
    classes, data = trials.classes, trials.data
    if NONE in classes:
        raise ValueError(
            f"a class is named {NONE!r}, which denotes a missing response; rename the class"
        )
    if isinstance(by, Mapping):
        labels = [str(by.get(name, "")) for name in trials.observers]
    else:
        known = [str(c) for c in data.coords if data[c].dims == ("observer",)]
        if by not in known:
            raise ValueError(
                f"by must be a label of the observers, or a mapping; got {by!r}; choose from "
                f"{listed(known)}{nearest(by, known)}"
            )
        labels = data[by].values.astype(str).tolist()
    groups = [name for name in dict.fromkeys(labels) if name]
    if not groups:
        raise ValueError("by must name at least one observer of the trials, got none")
    n = len(classes)
    counts = np.zeros((len(groups), n, n + 1), dtype=np.int64)
    truth, response = data["truth"].values, data["response"].values
    for label, said in zip(labels, response, strict=True):
        if not label:
            continue
        shown = said != NOT_SHOWN
        answer = np.where(said[shown] == NO_RESPONSE, n, said[shown])
        cells = np.bincount(truth[shown] * (n + 1) + answer, minlength=n * (n + 1))
        counts[groups.index(label)] += cells.reshape(n, n + 1)
    coords = {"group": groups, "truth": classes, "response": [*classes, NONE]}
    return xr.DataArray(counts, coords, list(coords), name="confusions")
