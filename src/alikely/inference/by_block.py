"""Posterior draws of all entries of a table, one block of trials after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import Block, blocks
from alikely.metrics import Metric

__all__ = ["draws_by_block"]

# Chains of a posterior, as all results have.
CHAINS = 4

type OfBlock = Callable[[Block, int, Metric, np.random.SeedSequence], NDArray[np.float32]]


def draws_by_block(
    table: xr.Dataset, n_draws: int, metric: Metric, rng: RandomState, of_block: OfBlock
) -> NDArray[np.float32]:
    """Draw every block with a seed of its own, whoever works on it."""
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    n_draws = CHAINS * -(-n_draws // CHAINS)
    groups = list(blocks(table))
    seeds = seed_sequence(rng).spawn(len(groups))
    jobs = [(block, n_draws, metric, seed) for block, seed in zip(groups, seeds, strict=True)]
    out = np.empty((n_draws, table.sizes["pair"]), dtype=np.float32)
    for block, drawn in zip(groups, in_parallel(of_block, jobs), strict=True):
        out[:, block.rows] = drawn
    return out
