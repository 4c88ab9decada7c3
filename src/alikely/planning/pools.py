"""Images of a condition that machines answered, and what a plan of them is for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import entries, known_kind
from alikely._base.names import listed, nearest
from alikely.data.columns import NOT_SHOWN
from alikely.data.trials import Trials

__all__ = ["Pool", "Target", "WhatFor", "pools_of", "require_apart", "target_of"]

WhatFor = str | Sequence[str] | Sequence[Sequence[str]]
ALL = ("all pairs", "ranking")
# Machines whose cells are strata: of five some intervals cover a sixth of what they say.
MOST_SETTLED = 4
OF_SEVERAL = "such a difference (root mean square)"


class Pool(NamedTuple):
    """Images of one condition, and what machines made of them."""

    dataset: str
    condition: str
    machines: list[str]
    correct: NDArray[np.bool_]
    items: NDArray[np.object_]
    truth: NDArray[np.object_]
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
        truth = np.full(len(own), "", object)
        if trials.has_classes:
            truth = np.array(trials.classes, object)[data["truth"].values[own]]
        pools.append(
            Pool(
                str(dataset),
                str(condition),
                [trials.observers[i] for i in at],
                raw[:, own] == 1,
                items,
                truth,
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


class Target(NamedTuple):
    """Contrasts of machines that a plan is made for."""

    text: str
    contrasts: Floats | None
    settled: tuple[int, ...]
    question: str
    error: str

    def each(self, n_machines: int) -> Floats:
        """Contrasts one by one."""
        if self.contrasts is not None:
            return self.contrasts
        first, second = np.triu_indices(n_machines, 1)
        eye = np.eye(n_machines)
        return np.asarray(eye[first] - eye[second])


def target_of(target: WhatFor, machines: Sequence[str]) -> Target:
    """Read what a user wants to know."""
    eye = np.eye(len(machines))
    if isinstance(target, str):
        if target in ALL and target not in machines:
            if len(machines) < 2:
                raise ValueError(f"{target} needs at least two machines, got {listed(machines)}")
            text = f"the differences of all pairs of {len(machines)} machines"
            question = f"which of {len(machines)} machines err more like a person"
            return Target(text, None, _few(range(len(machines))), question, OF_SEVERAL)
        (at,) = _numbers([target], machines)
        return Target(
            target, eye[[at]], (at,), f"how much {target} errs like a person", "that value"
        )
    wanted: list[Any] = list(target) if isinstance(target, Iterable) else []
    if not wanted:
        got = "nothing" if isinstance(target, Iterable) else type(target).__name__
        raise ValueError(
            "target must name a pair of machines, several pairs, one machine, or be 'all pairs'; "
            f"got {got}"
        )
    if all(isinstance(entry, str) for entry in wanted):
        wanted = [wanted]
    rows, texts, either, used = [], [], [], []
    for entry in wanted:
        names = list(entry) if isinstance(entry, list | tuple) else [entry]
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"a contrast is of two machines, got {listed(map(repr, names))}")
        first, second = _numbers([str(name) for name in names], machines)
        used += [first, second]
        rows.append(eye[first] - eye[second])
        texts.append(f"{names[0]} and {names[1]}")
        either.append(f"{names[0]} or {names[1]}")
    one = len(rows) == 1
    what = "the difference of " if one else "the differences of "
    return Target(
        what + ", of ".join(texts),
        np.array(rows),
        _few(dict.fromkeys(used)),
        f"whether {' and whether '.join(either)} errs more like a person",
        "that difference" if one else OF_SEVERAL,
    )


def _few(machines: Iterable[int]) -> tuple[int, ...]:
    """Machines that make strata; none of too many."""
    numbers = tuple(machines)
    return numbers if len(numbers) <= MOST_SETTLED else ()


def _numbers(names: Sequence[str], machines: Sequence[str]) -> list[int]:
    unknown = [name for name in names if name not in machines]
    if unknown:
        raise ValueError(
            f"no machine {unknown[0]!r}; there are: {listed(machines)}"
            f"{nearest(unknown[0], [*machines, *ALL])}; or 'all pairs'"
        )
    return [list(machines).index(name) for name in names]


def require_apart(pool: Pool, target: Target) -> None:
    """Refuse machines that answered every image alike (`ValueError`): nothing tells them apart."""
    x = pool.correct
    for row in [] if target.contrasts is None else target.contrasts:
        own = np.flatnonzero(row)
        if len(own) == 2 and np.array_equal(x[own[0]], x[own[1]]):
            a, b = (pool.machines[i] for i in own)
            raise ValueError(
                f"{a!r} and {b!r} are right and wrong on the same images in {pool.name}: no "
                "image tells them apart, and their difference is 0 with anybody"
            )
    if target.contrasts is None and (x == x[:1]).all():
        raise ValueError(
            f"all machines are right and wrong on the same images in {pool.name}: no image tells "
            "them apart"
        )
