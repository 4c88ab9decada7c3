"""Draws of several estimates that hang together as the estimates do over items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence

__all__ = ["Influence", "tied_ranks"]

# Draws of influences over items that are held at a time.
CHUNK = 8_000_000


class Influence(NamedTuple):
    """How an estimate changes with the weight of items."""

    items: NDArray[np.intp]
    slopes: Floats
    clusters: NDArray[np.intp] | None


def tied_ranks(
    n_trials: int, parts: Sequence[Influence], n_draws: int, rng: RandomState = None
) -> NDArray[np.intp]:
    """Ranks of draws of each estimate that hang together as estimates do over items."""
    generator = np.random.default_rng(seed_sequence(rng))
    slopes = np.zeros((len(parts), n_trials))
    of_trial = np.arange(n_trials)
    for row, part in zip(slopes, parts, strict=True):
        row[part.items] = np.nan_to_num(part.slopes)
        if part.clusters is not None:
            # The first item of a cluster stands for it, alike in all entries of these trials.
            _, first = np.unique(part.clusters, return_index=True)
            of_trial[part.items] = part.items[first[part.clusters]]
    total = np.empty((n_draws, len(parts)))
    step = max(1, CHUNK // max(n_trials, 1))
    for start in range(0, n_draws, step):
        rows = slice(start, min(start + step, n_draws))
        multipliers = generator.standard_normal((rows.stop - rows.start, n_trials))
        total[rows] = multipliers[:, of_trial] @ slopes.T
    loose = ~total.any(axis=0)
    total[:, loose] = generator.standard_normal((n_draws, int(loose.sum())))
    return np.asarray(total.argsort(axis=0).argsort(axis=0))
