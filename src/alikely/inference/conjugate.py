"""Exact posterior draws without MCMC: pair by pair, or jointly for all pairs.

References
----------
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [S94] Sethuraman (1994). A constructive definition of Dirichlet priors. Statistica Sinica 4,
   639-650.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely._base.size import check_array
from alikely.data.tables import check_counts
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.cell_priors import (
    CellPrior,
    Prior,
    cell_prior,
    check_accuracy_priors,
)
from alikely.metrics.copying import COPY_PROBABILITY

FEWER = "choose fewer pairs or a smaller n_draws"

# What the copy model is about: both are functions of the same cells.
COPY_MODEL = (ERROR_CONSISTENCY, COPY_PROBABILITY)

# Numbers held at a time by one worker.
CHUNK = 4_000_000


def pairwise_draws(
    cells: ArrayLike,
    prior: Prior | None = None,
    n_draws: int | None = None,
    metrics: Sequence[Metric] = COPY_MODEL,
    rng: RandomState = None,
) -> dict[str, NDArray[np.float32]]:
    """Draw exactly from the posterior of each pair under the copy model."""
    n_draws = resolve("n_draws", n_draws)
    own = cell_prior(prior)
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    counts = np.atleast_2d(check_counts(cells))
    step = max(1, CHUNK // (4 * n_draws))
    starts = range(0, len(counts), step)
    seeds = seed_sequence(rng).spawn(len(starts))
    jobs = [
        (counts[start : start + step], own, n_draws, metrics, seed)
        for start, seed in zip(starts, seeds, strict=True)
    ]
    check_array(n_draws, len(metrics) * len(counts), "draws", FEWER)
    out = {m.name: np.empty((n_draws, len(counts)), dtype=np.float32) for m in metrics}
    for start, drawn in zip(starts, in_parallel(_pairwise_chunk, jobs), strict=True):
        for name, values in drawn.items():
            out[name][:, start : start + step] = values
    return out


def _pairwise_chunk(
    counts: NDArray[np.int64],
    prior: CellPrior,
    n_draws: int,
    metrics: Sequence[Metric],
    seed: np.random.SeedSequence,
) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    n11, n10, n01, n00 = counts.T
    size = (n_draws, len(counts))
    p_a = rng.beta(prior.p_a[0] + n11 + n10, prior.p_a[1] + n01 + n00, size)
    u = rng.beta(prior.u[0] + n11, prior.u[1] + n10, size)
    v = rng.beta(prior.v[0] + n01, prior.v[1] + n00, size)
    cells = np.empty((*size, 4))
    cells[..., 0] = p_a * u
    cells[..., 1] = p_a - cells[..., 0]
    cells[..., 2] = (1 - p_a) * v
    cells[..., 3] = (1 - p_a) - cells[..., 2]
    return {metric.name: metric.value(cells).astype(np.float32) for metric in metrics}


def independence_draws(
    cells: ArrayLike,
    n_draws: int = 4_000,
    rng: RandomState = None,
    priors: Mapping[str, Any] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Exact draws of both accuracies of independent observers."""
    beta = check_accuracy_priors(priors)
    counts = np.atleast_2d(check_counts(cells))
    n11, n10, n01, n00 = counts.T
    generator = np.random.default_rng(seed_sequence(rng))
    size = (n_draws, len(counts))
    (a, b), (c, d) = beta["p_a"], beta["p_b"]
    return {
        "p_a": generator.beta(a + n11 + n10, b + n01 + n00, size),
        "p_b": generator.beta(c + n11 + n01, d + n10 + n00, size),
    }
