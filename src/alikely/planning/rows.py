"""Rows of the table of a plan: what an experiment shows, and what estimates need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely.data.inclusion import BETWEEN
from alikely.planning.pools import Pool
from alikely.planning.rehearsal import Drawing

__all__ = ["rows_of"]


def rows_of(pool: Pool, drawing: Drawing, at: Any) -> pd.DataFrame:
    """Rows of the table of a plan for some images."""
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
    machines = [pool.machines[i] for i in strata.machines]
    # A whole cell has no halves to name.
    parted = (strata.right[:, :, None] == strata.right[:, None, strata.hard == 1]).all(axis=0)
    halves = parted.any(axis=1) * (1 + strata.hard)
    names = [_stratum(machines, *each) for each in zip(strata.right.T, halves, strict=True)]
    own = strata.number[at]
    frame["stratum"] = [names[g] for g in own]
    frame["stratum_images"] = np.bincount(strata.number)[own]
    for column, name in zip(BETWEEN, machines, strict=False):
        frame[column] = name
    differ = (strata.right != strata.right[:1]).any(axis=0)[own]
    few = len(machines) <= 2
    frame["reason"] = np.where(
        differ,
        "tells the two apart" if few else "tells some of them apart",
        f"how people fare where {'both' if few else 'all'} agree",
    )
    if len(machines) == 1:
        frame["reason"] = np.where(
            strata.right[0, own], "the machine is right", "the machine is wrong"
        )
    return frame


def _stratum(machines: Sequence[str], right: NDArray[np.bool_], hard: int) -> str:
    half = {0: "", 1: ", easier half", 2: ", harder half"}[hard]
    each = [f"{n} {'right' if r else 'wrong'}" for n, r in zip(machines, right, strict=True)]
    return ", ".join(each) + half
