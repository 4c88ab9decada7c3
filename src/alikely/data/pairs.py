"""Which observers are paired, and whether they can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.checks import entries
from alikely._base.names import listed, nearest

Pairs = str | Sequence[str] | Sequence[tuple[str, str]]


def listed_pairs(pairs: Any) -> Any:
    """Pairs as they are asked for: a text, or a list (`TypeError` if neither)."""
    return pairs if isinstance(pairs, str) else entries("pairs", pairs, "[('anna', 'net')]")


def chosen_pairs(
    names: list[str], kinds: NDArray[Any], pairs: Pairs, directed: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of both observers of every pair asked for."""
    if len(names) < 2:
        raise ValueError(
            f"a comparison needs at least two observers, got {len(names)} ({listed(names)})"
        )
    pairs = listed_pairs(pairs)
    if not isinstance(pairs, str):
        if pairs and all(isinstance(entry, str) for entry in pairs):
            parts = [
                chosen_pairs(names, kinds, entry, directed)
                for entry in pairs
                if isinstance(entry, str)
            ]
            every = np.concatenate([np.stack(part) for part in parts], axis=1)
            once = np.unique(every, axis=1, return_index=True)[1]
            return every[0, np.sort(once)], every[1, np.sort(once)]
        return _listed_pairs(names, pairs)
    if pairs == "all":
        # Humans first, so that the human is the reference of every mixed pair.
        order = np.argsort(kinds != "human", kind="stable")
        i, j = np.triu_indices(len(names), k=1)
        a, b = order[i], order[j]
        return _both_orders(a, b, kinds[a] == kinds[b]) if directed else (a, b)
    cuts = [i for i, char in enumerate(pairs) if char == "-"]
    fits = [i for i in cuts if {pairs[:i], pairs[i + 1 :]} <= set(kinds)]
    if len(fits) > 1:
        ways = " or ".join(f"{pairs[:i]!r} with {pairs[i + 1 :]!r}" for i in fits)
        raise ValueError(
            f"pairs={pairs!r} may mean {ways}: kinds have hyphens; list pairs of observers instead"
        )
    for cut in fits:
        first, second = pairs[:cut], pairs[cut + 1 :]
        a, b = np.flatnonzero(kinds == first), np.flatnonzero(kinds == second)
        if first == second:
            i, j = np.triu_indices(len(a), k=1)
            if not len(i):
                raise ValueError(
                    f"pairs={pairs!r} needs at least two observers of kind {first!r}, got 1 "
                    f"({names[a[0]]}); choose other pairs"
                )
            return _both_orders(a[i], a[j], np.ones(len(i), bool)) if directed else (a[i], a[j])
        return np.repeat(a, len(b)), np.tile(b, len(a))
    known = sorted(set(kinds))
    raise ValueError(
        f"pairs must be 'all', two kinds joined by a hyphen, or a list of observer pairs; the "
        f"kinds here are {listed(map(repr, known))}; got {pairs!r}"
    )


def _both_orders(
    first: NDArray[np.intp], second: NDArray[np.intp], these: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Add the other order of some pairs, each behind its own."""
    place = np.argsort(
        np.concatenate([np.arange(len(first)), np.flatnonzero(these)]), kind="stable"
    )
    a = np.concatenate([first, second[these]])[place]
    b = np.concatenate([second, first[these]])[place]
    return a, b


def _listed_pairs(
    names: list[str], pairs: Sequence[str] | Sequence[tuple[str, str]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    position = {name: i for i, name in enumerate(names)}
    chosen = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"each pair must be two different observers, got {pair!r}")
        for name in pair:
            if name not in position:
                raise ValueError(
                    f"unknown observer {name!r} in pairs; the observers are {listed(names)}"
                    f"{nearest(name, names)}"
                )
        chosen.append((position[pair[0]], position[pair[1]]))
    if not chosen:
        raise ValueError("pairs is an empty list; name at least one pair, or pairs='all'")
    if len(set(chosen)) < len(chosen):
        raise ValueError("pairs names the same pair twice; name each once")
    first, second = np.array(chosen).T
    return first, second


def require_common_trials(
    data: xr.Dataset,
    shown: NDArray[np.bool_],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    every_pair: bool,
) -> None:
    """Refuse kinds of observers that share no trial in a data set: their items do not match up."""
    names = data["observer"].values
    dataset = data["dataset"].values
    kinds = np.unique(data["kind"].values, return_inverse=True)[1]
    between = kinds[first] * (kinds.max(initial=0) + 1) + kinds[second]
    anywhere = np.zeros(len(first), dtype=bool)
    for label in pd.unique(dataset):
        here = shown[:, dataset == label]
        present = here.any(axis=1)
        common = here.astype(np.float32) @ here.T.astype(np.float32) > 0
        both = present[first] & present[second]
        met = np.isin(between, between[both & common[first, second]])
        _, part = sparse.csgraph.connected_components(common, directed=False)
        linked = (part[first] == part[second]) & (not every_pair)
        bad = np.flatnonzero(both & ~met & ~linked)
        if len(bad):
            a, b = names[first[bad[0]]], names[second[bad[0]]]
            raise ValueError(
                f"observers {a!r} and {b!r} both took part in data set {label!r} but have no "
                "trial in common, and neither have others of their kinds; check that items and "
                "conditions are labelled alike, or choose other pairs"
            )
        anywhere |= both
    if not (anywhere.all() if every_pair else anywhere.any()):
        apart = np.flatnonzero(~anywhere)[0]
        raise ValueError(
            f"observers {names[first[apart]]!r} and {names[second[apart]]!r} took part in no data "
            "set together; choose other pairs"
        )
