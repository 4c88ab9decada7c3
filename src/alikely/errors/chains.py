"""Markov chains for error patterns: one fit for each group of trials, one compiled for a shape."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import blocks
from alikely.errors.posteriors import error_divergence_draws, error_row_draws
from alikely.errors.tables import dense_joint_errors, dense_rows
from alikely.inference.chains import DRAW_MORE, nuts
from alikely.metrics import MISCLASSIFICATION_AGREEMENT, Metric, errors
from alikely.metrics.rows import Mixture

if TYPE_CHECKING:
    from alikely.models._given_priors import Priors

__all__ = ["ChainDraws", "class_copying_draws", "shared_base_draws"]

# Numbers held at a time.
CHUNK = 8_000_000
# Of so many draws one is kept: among thousands of deviates the r_hat of some would exceed its limit
# by chance in shorter chains.
THIN = 2
REMEDY = f"{DRAW_MORE}, or use sampler='exact'"


class ChainDraws(NamedTuple):
    """Posterior draws of a table of labels.

    Attributes
    ----------
    values : ndarray of float32, shape (draw, pair)
        Chains one after the other; NaN for pairs without errors.
    priors : dict
        Text of each prior, as from `alikely.models.prior_texts`.
    """

    values: NDArray[np.float32]
    priors: dict[str, str]


def class_copying_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
    progressbar: bool = False,
    priors: Priors | None = None,
) -> ChainDraws:
    """A metric of the labels of joint errors under the copy model of wrong labels.

    Parameters
    ----------
    table : xarray.Dataset
        As from `alikely.data.joint_correctness` with labels.
    n_draws : int
        Total number of draws over 4 chains.
    metric : Metric
        An estimand of labels that the model knows by name.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    progressbar : bool
        Show the progress of the chains.
    priors : mapping, optional
        As in `alikely.models.class_copying`.

    Returns
    -------
    ChainDraws
        NaN for pairs without joint errors.

    Raises
    ------
    ValueError
        If the model knows no such quantity.

    Warns
    -----
    SamplingWarning
        If the chains did not do what they should.
    """
    from alikely.models import prior_texts
    from alikely.models.errors import class_copying

    out = np.full((4 * -(-n_draws // 4), table.sizes["pair"]), np.nan, dtype=np.float32)
    fits = []
    for block, seed in zip(blocks(table), _seeds(table, rng), strict=False):
        counts = dense_joint_errors(block)
        some = np.flatnonzero(counts.any(axis=(1, 2, 3)))
        if len(some):
            fits.append((counts[some], block.rows.start + some, seed))
    shapes = Counter(counts.shape for counts, _, _ in fits)
    texts: dict[str, str] = {}
    for counts, rows, seed in fits:
        model, alike = class_copying(counts, priors=priors), shapes[counts.shape]
        if metric.name not in model.named_vars:
            raise ValueError(
                f"the model class_copying has no quantity {metric.name!r}; use sampler='exact'"
            )
        tree = nuts(
            model, THIN * n_draws, 1_000, seed, progressbar, 0.9, n_models=alike, remedy=REMEDY
        )
        drawn = tree["posterior"].to_dataset()[metric.name].values
        out[:, rows] = drawn[:, ::THIN].reshape(-1, len(rows))
        texts |= prior_texts(model)
    return ChainDraws(out, texts)


def shared_base_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    mixture: Mixture = "mean",
    base: float = 2,
    rng: RandomState = None,
    progressbar: bool = False,
    priors: Priors | None = None,
) -> ChainDraws:
    """Class-level error similarity when the rows of all observers scatter around common ones.

    Parameters
    ----------
    table : xarray.Dataset
        As from `alikely.data.joint_correctness` with labels.
    n_draws : int
        Total number of draws over 4 chains.
    mixture, base
        As in `alikely.errors.row_draws`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    progressbar : bool
        Show the progress of the chains.
    priors : mapping, optional
        As in `alikely.models.error_distributions`.

    Returns
    -------
    ChainDraws
        NaN for pairs without errors.

    Warns
    -----
    SamplingWarning
        If the chains did not do what they should.
    """
    from alikely.models import prior_texts
    from alikely.models.errors import error_distributions

    out = np.full((4 * -(-n_draws // 4), table.sizes["pair"]), np.nan, dtype=np.float32)
    fits = [
        (rows, block, seed)
        for block, seed in zip(blocks(table), _seeds(table, rng), strict=False)
        if (rows := dense_rows(block)).any()
    ]
    shapes = Counter(rows.shape for rows, _, _ in fits)
    texts: dict[str, str] = {}
    for rows, block, seed in fits:
        model, alike = error_distributions(rows, priors=priors), shapes[rows.shape]
        texts |= prior_texts(model)
        tree = nuts(model, THIN * n_draws, 1_000, seed, progressbar, n_models=alike, remedy=REMEDY)
        drawn = tree["posterior"].to_dataset()[["base", "concentration"]]
        posterior = drawn.isel(draw=slice(None, None, THIN))
        generator = np.random.default_rng(seed.spawn(1)[0])
        pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))
        per_chain = posterior.sizes["draw"]
        step = max(1, CHUNK // rows.size)
        # Rows are large and needed for a moment only.
        for first in range(0, len(out), step):
            at = np.arange(first, min(first + step, len(out)))
            part = posterior.isel(
                chain=xr.DataArray(at // per_chain, dims="at"),
                draw=xr.DataArray(at % per_chain, dims="at"),
            )
            part = part.reset_coords(drop=True).rename(at="draw").expand_dims("chain")
            row_draws = error_row_draws(part, rows, generator)
            divergence = error_divergence_draws(row_draws, rows, pairs, mixture=mixture, base=base)
            out[at, block.rows] = errors.error_similarity(divergence)
    return ChainDraws(out, texts)


def _seeds(table: xr.Dataset, rng: RandomState) -> list[np.random.SeedSequence]:
    return seed_sequence(rng).spawn(len(np.unique(table["pair_group"].values)))
