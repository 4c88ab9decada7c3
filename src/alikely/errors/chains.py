"""Chains for error patterns: one fit for each group of trials, one model compiled for a shape."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import Block, blocks
from alikely.errors.limits import mixing
from alikely.errors.paired import class_weights, dense_paired_errors, divergence, share_of_copies
from alikely.errors.posteriors import CHUNK, row_similarities
from alikely.errors.tables import dense_joint_errors, dense_rows
from alikely.inference.chains import DRAW_MORE, TARGET_ACCEPT, nuts
from alikely.inference.complete import labelled
from alikely.metrics import Metric, errors
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.rows import Mixture

if TYPE_CHECKING:
    import pymc as pm

    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

__all__ = ["THIN", "ChainDraws", "class_copying_draws", "paired_chain_draws", "shared_base_draws"]

# Of so many draws one is kept: among thousands of deviates the r_hat of some would exceed its limit
# by chance in shorter chains.
THIN = 2
# Mean acceptance. Shorter steps take twice as long; of many systems around one base transitions
# diverge without them.
ACCEPT, OF_MANY = 0.9, 0.95
REMEDY = f"{DRAW_MORE}, or use sampler='exact'"

Counts = NDArray[np.int64]


class ChainDraws(NamedTuple):
    """Posterior draws of a table of labels, and the fits by group."""

    values: NDArray[np.float32]
    fits: dict[str, xr.DataTree]


def class_copying_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
    priors: Priors | None = None,
    model: AskedModel = "class_copying",
    include: Sequence[str] = (),
) -> ChainDraws:
    """A metric of the labels of joint errors under the copy model of wrong labels."""
    from alikely.models._asked import asked_model
    from alikely.models.errors import class_copying

    def count(block: Block) -> tuple[Counts, NDArray[np.intp]]:
        counts = dense_joint_errors(block)
        some = np.flatnonzero(counts.any(axis=(1, 2, 3)))
        return counts[some], some

    def build(counts: Counts, entries: NDArray[np.intp]) -> pm.Model:
        built = asked_model(
            model,
            {"class_copying": functools.partial(class_copying, counts, priors=priors)},
            {metric.name: ("pair",)},
            {"pair": table["pair"].values[entries]},
            [counts, np.diagonal(counts, axis1=-2, axis2=-1)],
        )
        if metric.name not in built.named_vars:
            raise ValueError(
                f"the model class_copying has no quantity {metric.name!r}; use sampler='exact'"
            )
        return built

    def draws(posterior: xr.Dataset, counts: Counts, *_: Any) -> Floats:
        return np.asarray(posterior[metric.name].values.reshape(-1, len(counts)))

    return _fitted(table, n_draws, (count, build, draws), rng, include, model, lambda _: ACCEPT)


def shared_base_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    mixture: Mixture = "mean",
    base: float = 2,
    rng: RandomState = None,
    priors: Priors | None = None,
    model: AskedModel = "error_distributions",
    include: Sequence[str] = (),
) -> ChainDraws:
    """Class-level error similarity when the rows of all observers scatter around common ones."""
    from alikely.models._asked import asked_model
    from alikely.models.errors import MANY, error_distributions

    def build(rows: Counts, _: NDArray[np.intp]) -> pm.Model:
        return asked_model(
            model,
            {"error_distributions": functools.partial(error_distributions, rows, priors=priors)},
            {"base": ("true_class", "response_class"), "concentration": ("true_class",)},
            _class_labels(table),
            [rows],
        )

    def draws(
        posterior: xr.Dataset, rows: Counts, block: Block, generator: np.random.Generator
    ) -> Floats:
        given = posterior[["base", "concentration"]]
        return row_similarities(given, rows, block, generator, mixture=mixture, base=base)

    def count(block: Block) -> tuple[Counts, NDArray[np.intp]]:
        return dense_rows(block), np.arange(len(block.a))

    def accept(rows: Counts) -> float:
        return ACCEPT if len(rows) < MANY else OF_MANY

    return _fitted(table, n_draws, (count, build, draws), rng, include, model, accept)


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

    def count(block: Block) -> tuple[Counts, NDArray[np.intp]]:
        counts = dense_paired_errors(block)
        some = np.flatnonzero(counts.any(axis=(0, 2, 3)))
        return counts[:, some], some

    def build(counts: Counts, _: NDArray[np.intp]) -> pm.Model:
        return paired_errors(*counts, priors=priors)

    def draws(
        posterior: xr.Dataset, counts: Counts, _: Block, generator: np.random.Generator
    ) -> Floats:
        return _paired_similarities(posterior, counts, generator, mixture, base)

    return _fitted(table, n_draws, (count, build, draws), rng, include)


def _fitted(
    table: xr.Dataset,
    n_draws: int,
    steps: tuple[Callable[..., Any], ...],
    rng: RandomState,
    include: Sequence[str],
    model: AskedModel = "",
    accept: Callable[[Counts], float] = lambda _: TARGET_ACCEPT,
) -> ChainDraws:
    """Count the errors of each group, build a model of them, fit it and take draws of its pairs."""
    count, build, draws = steps
    every = list(blocks(table))
    groups = [
        (counts, block.rows.start + pairs, block, seed)
        for block, seed in zip(every, seed_sequence(rng).spawn(len(every)), strict=True)
        for counts, pairs in [count(block)]
        if counts.any()
    ]
    if not isinstance(model, str) and len(groups) > 1:
        raise ValueError(
            f"a model of your own is of one group of trials, and {len(groups)} have errors; select "
            "one, such as trials.select(condition=...), or take them together with by=None"
        )
    shapes = Counter(counts.shape for counts, *_ in groups)
    out = np.full((4 * -(-n_draws // 4), table.sizes["pair"]), np.nan, dtype=np.float32)
    fits: dict[str, xr.DataTree] = {}
    for counts, entries, block, seed in groups:
        tree = nuts(
            build(counts, entries),
            n_draws,
            1_000,
            seed,
            accept(counts),
            n_models=shapes[counts.shape],
            remedy=REMEDY,
            thin=THIN,
            include=include,
        )
        generator = np.random.default_rng(seed.spawn(1)[0])
        out[:, entries] = draws(tree["posterior"].to_dataset(), counts, block, generator)
        first = table.isel(pair=entries[0])
        systems = [table[name].values[block.rows] for name in ("first", "second")]
        fits[" | ".join(str(first[name].item()) for name in ("dataset", "condition"))] = labelled(
            tree,
            pair=table["pair"].values[entries],
            system=table["observer"].values[np.unique(np.concatenate(systems))],
            **_class_labels(table),
        )
    return ChainDraws(out, fits)


def _class_labels(table: xr.Dataset) -> dict[str, NDArray[Any]]:
    return dict.fromkeys(("true_class", "response_class"), table["class"].values)


def _paired_similarities(
    posterior: xr.Dataset,
    counts: Counts,
    generator: np.random.Generator,
    mixture: Mixture,
    base: float,
) -> Floats:
    """Similarity of each pair at each draw: shape (draw, pair)."""
    agreed, apart, _, *sides = counts.sum(axis=-1)
    both, alone = agreed + apart, np.stack(sides)
    totals = both + alone
    weight, part = class_weights(totals), mixing(totals, mixture)
    own, copied, copying = (
        posterior[name].values.reshape(-1, *posterior[name].shape[2:])
        for name in ("own_rows", "copied_rows", "copy_probability")
    )
    out = np.empty((len(own), len(both)))
    step = max(1, CHUNK // own[0].size)
    for first in range(0, len(own), step):
        at = slice(first, first + step)
        share = share_of_copies(copying[at], both, alone, generator)
        row_a, row_b = share * copied[at] + (1 - share) * np.moveaxis(own[at], 2, 0)
        out[at] = (weight * divergence(row_a, row_b, part, base)).sum(axis=-1)
    return np.asarray(errors.error_similarity(out))
