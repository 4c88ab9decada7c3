"""Pools of images that machines answered, one for each condition."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.checks import entries, known_kind
from alikely._base.names import listed, nearest
from alikely.data.columns import NOT_SHOWN
from alikely.data.trials import Trials

__all__ = ["Pool", "pools_of"]


class Pool(NamedTuple):
    """Images of one condition, and what machines made of them."""

    dataset: str
    condition: str
    machines: list[str]
    correct: NDArray[np.bool_]
    items: NDArray[np.object_]
    truth: NDArray[np.object_]
    wrong: NDArray[np.int32]
    lost: int

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.items)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.dataset} {self.condition}"


def pools_of(
    trials: Trials, machines: str | Sequence[str], shown: Collection[str] = ()
) -> list[Pool]:
    """Gather what machines answered, condition by condition."""
    data = trials.data
    at = _positions(trials, machines)
    raw, frame = data["correct"].values[at], data["item"].values.astype(str)
    # Attributes are read one by one: a table of trials times machines would be large.
    groups = pd.DataFrame({key: data[key].values for key in ("dataset", "condition")})
    pools = []
    for (dataset, condition), rows in groups.groupby(
        ["dataset", "condition"], sort=False
    ).indices.items():
        seen = (raw[:, rows] != NOT_SHOWN).all(axis=0)
        seen_by_some = (raw[:, rows] != NOT_SHOWN).any(axis=0)
        fresh = ~np.isin(frame[rows], list(shown))
        own = rows[seen & fresh]
        items = frame[own].astype(object)
        if len(set(items)) < len(items):
            twice = pd.Series(items)[pd.Series(items).duplicated()].iloc[0]
            raise ValueError(
                f"item {twice!r} of condition {condition!r} came back, and is one image: choose an "
                f"answer of each machine with trials.select(repeat={data['repeat'].values.min()})"
            )
        if not len(own):
            if not seen_by_some.any():
                continue
            raise ValueError(
                f"no image of condition {condition!r} was seen by all {len(at)} machines; name "
                "those that were with machines="
            )
        truth, wrong = np.full(len(own), "", object), np.empty((len(at), 0), np.int32)
        if trials.has_classes:
            truth = np.array(trials.classes, object)[data["truth"].values[own]]
            said = data["response"].values[np.ix_(at, own)].astype(np.int32)
            wrong = np.where(raw[:, own] == 1, -1, said).astype(np.int32)
        pools.append(
            Pool(
                str(dataset),
                str(condition),
                [trials.observers[i] for i in at],
                raw[:, own] == 1,
                items,
                truth,
                wrong,
                int((seen_by_some & ~seen).sum()),
            )
        )
    if not pools:
        raise ValueError("no image was seen by these machines; read their trials first")
    return pools


def _positions(trials: Trials, machines: str | Sequence[str]) -> NDArray[np.intp]:
    names, kinds = trials.observers, trials.data["kind"].values
    if isinstance(machines, str):
        known_kind("machines", machines, kinds, ", or list names of machines")
        return np.flatnonzero(kinds == machines)
    machines = entries("machines", machines)
    if twice := [name for at, name in enumerate(machines) if name in machines[:at]]:
        raise ValueError(f"machines has {twice[0]!r} twice; name each once")
    unknown = [name for name in machines if name not in names]
    if unknown:
        raise ValueError(
            f"no machine {unknown[0]!r}; there are: {listed(names)}{nearest(unknown[0], names)}"
        )
    return np.array([names.index(name) for name in machines], dtype=np.intp)
