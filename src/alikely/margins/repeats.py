"""Answers to items that came back, and how well observers agree with themselves."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind
from alikely.data.blocks import LEFT_OUT
from alikely.data.inclusion import refuse_inclusion
from alikely.data.tables import correctness
from alikely.data.trials import Trials
from alikely.metrics import consistency
from alikely.stats.variance import mean_of_defined

__all__ = ["repeated_answers", "self_consistency"]

PLACE = ["dataset", "condition", "item"]


def repeated_answers(
    trials: Trials, kind: str | None = "human", no_response: Literal["error", "drop"] = "error"
) -> xr.Dataset:
    """Answers of observers by item and repeat."""
    data = trials.data
    kinds = data["kind"].values
    if kind is not None:
        known_kind("kind", kind, kinds)
    chosen = np.flatnonzero(kinds == kind) if kind is not None else np.arange(len(kinds))
    refuse_inclusion(data, "models of items")
    correct = correctness(data["correct"].values[chosen], no_response)
    taken = (correct != LEFT_OUT).any(axis=0)
    frame = pd.DataFrame({key: data[key].values[taken] for key in PLACE})
    item = frame.groupby(PLACE, sort=False).ngroup().to_numpy()
    order = np.argsort(data["repeat"].values[taken], kind="stable")
    rank = np.empty(len(frame), np.int64)
    rank[order] = frame.iloc[order].groupby(PLACE, sort=False).cumcount().to_numpy()
    out = np.full((len(chosen), item.max() + 1, rank.max() + 1), LEFT_OUT, np.int8)
    out[:, item, rank] = correct[:, taken]
    places = frame.drop_duplicates(ignore_index=True)
    return xr.Dataset(
        {"correct": (("observer", "item", "repeat"), out)},
        coords={
            "observer": data["observer"].values[chosen].astype(object),
            "item_label": ("item", places["item"].to_numpy(object)),
            "dataset": ("item", places["dataset"].to_numpy(object)),
            "condition": ("item", places["condition"].to_numpy(object)),
        },
    )


def self_consistency(
    answers: Trials | ArrayLike,
    *,
    kind: str | None = None,
    no_response: Literal["error", "drop"] = "error",
) -> pd.DataFrame:
    """How well observers agree with themselves when items come back.

    Parameters
    ----------
    answers : Trials or array_like, shape (observer, item, repeat)
        Trials in which items come back, to all observers or some, unequally often; or 1 right,
        0 wrong, NaN where an item was not shown so often.
    kind : str, optional
        Of trials, the kind of the observers; all of them if not given.
    no_response : {"error", "drop"}
        Of trials, whether a missing response is an error, or no answer.

    Returns
    -------
    pandas.DataFrame
        One row per observer: ``observer`` (name, or position), ``n_items`` shown at least twice,
        ``kappa`` and ``r`` (means over pairs of repeats, weighted by their items), the shares of
        noise ``1 - r`` and ``1 - r**2``, columns ``noise_share`` and ``noise_share_squared``, and
        ``note``: how many of its items came back, where not all did. NaN where an observer was
        never shown an item twice, or always or never right.

    Raises
    ------
    ValueError
        If the shape does not fit, no item came back, no observer is of that kind, or `kind` is
        given with an array.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.detection_experiment(2, 500, rng=1)
    >>> self_consistency(trials)[["observer", "n_items"]].values.tolist()
    [['human_1', 500], ['human_2', 500]]
    """
    names, x = _observers(answers, kind, no_response)
    rows = []
    for name, own in zip(names, x, strict=True):
        found = []
        given = ~np.isnan(own)
        for one, other in itertools.combinations(range(own.shape[1]), 2):
            both = given[:, one] & given[:, other]
            a, b = own[both, one], own[both, other]
            cells = [
                (a * b).sum(),
                (a * (1 - b)).sum(),
                ((1 - a) * b).sum(),
                ((1 - a) * (1 - b)).sum(),
            ]
            kappa = float(consistency.error_consistency(cells))
            spread = len(a) > 1 and a.std() > 0 and b.std() > 0
            found.append((kappa, float(np.corrcoef(a, b)[0, 1]) if spread else np.nan, len(a)))
        kappas, correlations, weights = np.array(found).T
        kappa, r = (float(mean_of_defined(values, weights)) for values in (kappas, correlations))
        again, shown = int((given.sum(axis=1) > 1).sum()), int(given.any(axis=1).sum())
        note = f"{again} of {shown} items came back" if again < shown else ""
        rows.append((name, again, kappa, r, 1 - r, 1 - r**2, note))
    columns = ["observer", "n_items", "kappa", "r", "noise_share", "noise_share_squared", "note"]
    return pd.DataFrame(rows, columns=columns)


def _observers(
    answers: Trials | ArrayLike, kind: str | None, no_response: Literal["error", "drop"]
) -> tuple[list[object], Floats]:
    """Names of observers, and their answers by item and repeat."""
    if isinstance(answers, Trials):
        table = repeated_answers(answers, kind, no_response)
        raw = table["correct"].values
        if not ((raw != LEFT_OUT).sum(axis=2) > 1).any():
            raise ValueError(
                "no observer saw an item twice: repeats are trials of the same data set, condition "
                "and item with other numbers in column repeat"
            )
        return list(table["observer"].values), np.where(raw == LEFT_OUT, np.nan, raw)
    if kind is not None:
        raise ValueError(f"kind={kind!r} chooses observers of trials, and these are an array")
    x = np.asarray(answers, dtype=np.float64)
    if x.ndim != 3 or x.shape[2] < 2:
        raise ValueError(
            "correct must have shape (observer, item, repeat) with at least 2 repeats, got "
            f"{x.shape}; with one, an observer cannot be compared with itself"
        )
    return list(range(len(x))), x
