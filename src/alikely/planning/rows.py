"""Rows of the table of a plan: what an experiment shows, and what estimates need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from alikely.planning.pools import Pool
from alikely.planning.rehearsal import Drawing
from alikely.planning.targets import Target

__all__ = ["rows_of"]


def rows_of(pool: Pool, drawing: Drawing, target: Target, at: Any) -> pd.DataFrame:
    """Rows of the table of a plan for some images.

    Parameters
    ----------
    pool : Pool
    drawing : Drawing
    target : Target
    at : ndarray of int
        Positions in the pool, in the order in which they are shown.

    Returns
    -------
    pandas.DataFrame
    """
    frame = pd.DataFrame(
        {"dataset": pool.dataset, "condition": pool.condition, "item": pool.items[at]}
    )
    if pool.truth.any():
        frame["truth"] = pool.truth[at]
    frame["inclusion"] = drawing.inclusion[at]
    frame["pool_images"] = pool.n_images
    strata = drawing.strata
    if strata is None:
        share = pool.correct[:, at].mean(axis=0)
        certain = drawing.inclusion[at] > 1 - 1e-9
        frame["reason"] = [
            f"{right:.0%} of machines are right" + ("; tells most, always shown" if sure else "")
            for right, sure in zip(share, certain, strict=True)
        ]
        return frame
    a, b = (pool.machines[i] for i in (target.pair[0], target.pair[-1]))
    cell = 2 * strata.first + strata.second
    # A whole cell has no halves to name.
    parted = np.isin(cell, cell[strata.hard == 1])
    names = [
        _stratum(a, b, *each)
        for each in zip(strata.first, strata.second, parted * (1 + strata.hard), strict=True)
    ]
    own = strata.number[at]
    frame["stratum"] = [names[g] for g in own]
    frame["stratum_images"] = np.bincount(strata.number)[own]
    frame["machine_a"], frame["machine_b"] = a, b
    differ = (strata.first != strata.second)[own]
    frame["reason"] = np.where(differ, "tells the two apart", "how people fare where both agree")
    if a == b:
        frame["reason"] = np.where(
            strata.first[own], "the machine is right", "the machine is wrong"
        )
    return frame


def _stratum(a: str, b: str, first: bool, second: bool, hard: int) -> str:
    half = {0: "", 1: ", easier half", 2: ", harder half"}[hard]
    words = {True: "right", False: "wrong"}
    one = f"{a} {words[bool(first)]}"
    return one + half if a == b else f"{one}, {b} {words[bool(second)]}{half}"
