"""Exact posterior draws of error rows."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import blocks
from alikely.errors.posteriors import error_divergence_draws, error_row_draws
from alikely.errors.tables import dense_rows
from alikely.inference.process import four_chains
from alikely.metrics import Metric, errors
from alikely.metrics.rows import Mixture

__all__ = [
    "chained",
    "row_draws",
]

# Numbers held at a time by one worker.
CHUNK = 8_000_000
# Ways to draw that are not exact.
SAMPLERS = ("nuts", "gibbs", "moments", "strengths")


def row_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
    rng: RandomState = None,
) -> NDArray[np.float32]:
    """Exact draws of class-level error similarity from conjugate Dirichlet rows."""
    n_draws = four_chains(n_draws)
    generator = np.random.default_rng(seed_sequence(rng))
    out = np.full((n_draws, table.sizes["pair"]), np.nan, dtype=np.float32)
    for block in blocks(table):
        rows = dense_rows(block)
        if not rows.any():
            continue
        k = block.n_classes
        fixed = xr.Dataset(
            {
                "base": (("true_class", "response_class"), (1 - np.eye(k)) / (k - 1)),
                "concentration": ((), alpha),
            }
        ).expand_dims(chain=1)
        pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))
        step = max(1, CHUNK // rows.size)
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start)
            drawn = error_row_draws(fixed.expand_dims(draw=size), rows, generator)
            divergence = error_divergence_draws(drawn, rows, pairs, mixture=mixture, base=base)
            out[start : start + size, block.rows] = errors.error_similarity(divergence)
    return out


def chained(
    draws: NDArray[np.floating],
    table: xr.Dataset,
    metric: Metric,
    sampler: str,
    *,
    joint: bool = True,
    clustered: bool = False,
) -> xr.Dataset:
    """Lay draws out in four chains, as ArviZ takes them."""
    shaped = draws.reshape(4, -1, table.sizes["pair"])
    return xr.Dataset(
        {metric.name: (("chain", "draw", "pair"), shaped)},
        coords={"pair": table["pair"].values},
        attrs={
            "sampler": sampler if sampler in SAMPLERS else "exact",
            "joint": int(joint),
            "clustered": int(clustered),
        },
    )
