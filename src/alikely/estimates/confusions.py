"""What observers answer to each true class, counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from alikely._base.names import listed, nearest
from alikely.data.trials import NO_RESPONSE, NOT_SHOWN, Trials

__all__ = ["confusion_matrices"]

NONE = "no response"


def confusion_matrices(trials: Trials, by: str | Mapping[str, str] = "observer") -> xr.DataArray:
    """How often each true class got each answer, observer by observer or group by group.

    Parameters
    ----------
    trials : Trials
        With classes. Every answer counts, those to items that came back, too; choose one to each
        with `Trials.select` to count items.
    by : str or mapping of str to str
        ``"observer"``; ``"kind"`` or another label of observers; or the group of each observer,
        those not named being left aside. Answers of a group are added up.

    Returns
    -------
    xarray.DataArray, dims (group, truth, response)
        Counts of trials shown. The last response is ``"no response"``. As shares of a true class:
        ``counts / counts.sum("response")``, NaN for a class that was never true.

    Raises
    ------
    TypeError
        If `trials` is not of that class.
    ValueError
        If only correctness is known, observers have no such label, or a class is called as what
        stands for a missing response.

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
            f"a class is called {NONE!r}, which the table keeps for a missing response; rename it"
        )
    if isinstance(by, Mapping):
        labels = [str(by.get(name, "")) for name in trials.observers]
    else:
        known = [str(c) for c in data.coords if data[c].dims == ("observer",)]
        if by not in known:
            raise ValueError(
                f"by must be a label of the observers, or a mapping; got {by!r}, there are: "
                f"{listed(known)}{nearest(by, known)}"
            )
        labels = data[by].values.astype(str).tolist()
    groups = [name for name in dict.fromkeys(labels) if name]
    if not groups:
        raise ValueError("by names no observer of the trials")
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
