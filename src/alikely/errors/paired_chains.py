"""Markov chains for paired error rows: one fit for each group of trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.data.blocks import Block, blocks
from alikely.errors.chains import CHUNK, REMEDY, THIN, ChainDraws, class_labels, group_name, seeds
from alikely.errors.limits import mixing
from alikely.errors.paired import divergence
from alikely.inference.chains import nuts
from alikely.inference.complete import labelled
from alikely.metrics import errors
from alikely.metrics.rows import Mixture

if TYPE_CHECKING:
    from alikely.models._given_priors import Priors

__all__ = ["dense_paired_errors", "paired_chain_draws"]

Counts = NDArray[np.int64]


def paired_chain_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    mixture: Mixture = "mean",
    base: float = 2,
    rng: RandomState = None,
    priors: Priors | None = None,
    include: Sequence[str] = (),
) -> ChainDraws:
    """Class-level error similarity of systems that may have answered the same items."""
    from alikely.models.paired import paired_errors

    out = np.full((4 * -(-n_draws // 4), table.sizes["pair"]), np.nan, dtype=np.float32)
    jobs = []
    for block, seed in zip(blocks(table), seeds(table, rng), strict=False):
        counts = dense_paired_errors(block)
        some = np.flatnonzero(counts.any(axis=(0, 2, 3)))
        if len(some):
            jobs.append((counts[:, some], block.rows.start + some, seed))
    shapes = Counter(counts.shape for counts, _, _ in jobs)
    fits: dict[str, xr.DataTree] = {}
    for counts, rows, seed in jobs:
        tree = nuts(
            paired_errors(*counts, priors=priors),
            n_draws,
            1_000,
            seed,
            n_models=shapes[counts.shape],
            remedy=REMEDY,
            thin=THIN,
            include=include,
        )
        generator = np.random.default_rng(seed.spawn(1)[0])
        posterior = tree["posterior"].to_dataset()
        out[:, rows] = _similarities(posterior, counts, generator, mixture, base)
        names = class_labels(table) | {"pair": table["pair"].values[rows]}
        fits[group_name(table, rows)] = labelled(tree, **names)
    return ChainDraws(out, fits)


def dense_paired_errors(block: Block) -> Counts:
    """Errors of every pair of a block."""
    k, wrong = block.n_classes, block.wrong()
    both = wrong[block.a] & wrong[block.b]
    labels = block.response[block.a], block.response[block.b]
    same = both & (labels[0] == labels[1])
    kinds = [(same, labels[0])]
    kinds += [(both & ~same, label) for label in labels]
    sides = (block.a, block.b)
    kinds += [(wrong[side] & ~both, label) for side, label in zip(sides, labels, strict=True)]
    out = []
    for here, label in kinds:
        pair, trial = np.nonzero(here)
        code = (pair * k + block.truth[trial]) * k + label[pair, trial]
        out.append(np.bincount(code, minlength=len(block.a) * k * k).reshape(-1, k, k))
    return np.array(out)


def _similarities(
    posterior: xr.Dataset,
    counts: Counts,
    generator: np.random.Generator,
    mixture: Mixture,
    base: float,
) -> Floats:
    """Similarity of each pair at each draw: shape (draw, pair)."""
    agreed, apart, _, *alone = counts.sum(axis=-1)
    both = agreed + apart
    totals = both + alone[0], both + alone[1]
    weight = totals[0] + totals[1]
    weight = weight / weight.sum(axis=-1, keepdims=True)
    part = mixing(totals, mixture)
    own, copied, copying = (
        posterior[name].values.reshape(-1, *posterior[name].shape[2:])
        for name in ("own_rows", "copied_rows", "copy_probability")
    )
    out = np.empty((len(own), len(both)))
    step = max(1, CHUNK // own[0].size)
    for first in range(0, len(own), step):
        at = slice(first, first + step)
        shape = copying[at].shape
        shared = generator.standard_gamma(np.broadcast_to(both, shape))
        rows = []
        for side, number in enumerate(alone):
            whole = shared + generator.standard_gamma(np.broadcast_to(number, shape))
            share = np.divide(copying[at] * shared, whole, out=np.zeros(shape), where=whole > 0)
            rows.append(share[..., None] * copied[at] + (1 - share[..., None]) * own[at, :, side])
        out[at] = (weight * divergence(rows[0], rows[1], part, base)).sum(axis=-1)
    return np.asarray(errors.error_similarity(out))
