"""Markov chains for error patterns: one fit for each group of trials, one compiled for a shape."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import Block, blocks
from alikely.errors.posteriors import error_divergence_draws, error_row_draws
from alikely.errors.tables import dense_joint_errors, dense_rows
from alikely.inference.chains import DRAW_MORE, nuts
from alikely.inference.complete import labelled
from alikely.metrics import Metric, errors
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.rows import Mixture

if TYPE_CHECKING:
    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

__all__ = [
    "ChainDraws",
    "class_copying_draws",
    "class_labels",
    "group_name",
    "seeds",
    "shared_base_draws",
]

# Numbers held at a time.
CHUNK = 8_000_000
# Of so many draws one is kept: among thousands of deviates the r_hat of some would exceed its limit
# by chance in shorter chains.
THIN = 2
# Mean acceptance. Shorter steps take twice as long; of many systems around one base transitions
# diverge without them.
ACCEPT, OF_MANY = 0.9, 0.95
REMEDY = f"{DRAW_MORE}, or use sampler='exact'"


class ChainDraws(NamedTuple):
    """Posterior draws of a table of labels."""

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

    out = np.full((4 * -(-n_draws // 4), table.sizes["pair"]), np.nan, dtype=np.float32)
    jobs = []
    for block, seed in zip(blocks(table), seeds(table, rng), strict=False):
        counts = dense_joint_errors(block)
        some = np.flatnonzero(counts.any(axis=(1, 2, 3)))
        if len(some):
            jobs.append((counts[some], block.rows.start + some, seed))
    _refuse_several(model, len(jobs))
    shapes = Counter(counts.shape for counts, _, _ in jobs)
    fits: dict[str, xr.DataTree] = {}
    for counts, rows, seed in jobs:
        built = asked_model(
            model,
            {"class_copying": functools.partial(class_copying, counts, priors=priors)},
            {metric.name: ("pair",)},
            {"pair": table["pair"].values[rows]},
            [counts, np.diagonal(counts, axis1=-2, axis2=-1)],
        )
        if metric.name not in built.named_vars:
            raise ValueError(
                f"the model class_copying has no quantity {metric.name!r}; use sampler='exact'"
            )
        tree = nuts(
            built,
            n_draws,
            1_000,
            seed,
            ACCEPT,
            n_models=shapes[counts.shape],
            remedy=REMEDY,
            thin=THIN,
            include=include,
        )
        out[:, rows] = tree["posterior"].to_dataset()[metric.name].values.reshape(-1, len(rows))
        names = class_labels(table) | {"pair": table["pair"].values[rows]}
        fits[group_name(table, rows)] = labelled(tree, **names)
    return ChainDraws(out, fits)


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

    out = np.full((4 * -(-n_draws // 4), table.sizes["pair"]), np.nan, dtype=np.float32)
    jobs = [
        (rows, block, seed)
        for block, seed in zip(blocks(table), seeds(table, rng), strict=False)
        if (rows := dense_rows(block)).any()
    ]
    _refuse_several(model, len(jobs))
    shapes = Counter(rows.shape for rows, _, _ in jobs)
    fits: dict[str, xr.DataTree] = {}
    for rows, block, seed in jobs:
        built = asked_model(
            model,
            {"error_distributions": functools.partial(error_distributions, rows, priors=priors)},
            {"base": ("true_class", "response_class"), "concentration": ("true_class",)},
            class_labels(table),
            [rows],
        )
        tree = nuts(
            built,
            n_draws,
            1_000,
            seed,
            ACCEPT if len(rows) < MANY else OF_MANY,
            n_models=shapes[rows.shape],
            remedy=REMEDY,
            thin=THIN,
            include=include,
        )
        posterior = tree["posterior"].to_dataset()[["base", "concentration"]]
        generator = np.random.default_rng(seed.spawn(1)[0])
        out[:, block.rows] = _similarities(
            posterior, rows, block, generator, mixture=mixture, base=base
        )
        systems = table["observer"].values[_systems(table, block)]
        fits[group_name(table, block.rows)] = labelled(tree, system=systems, **class_labels(table))
    return ChainDraws(out, fits)


def _similarities(
    posterior: xr.Dataset,
    rows: NDArray[np.integer],
    block: Block,
    generator: np.random.Generator,
    **how: Any,
) -> NDArray[np.float64]:
    """Similarity of each pair of a group at each draw: shape (draw, pair)."""
    per_chain = posterior.sizes["draw"]
    n_draws = posterior.sizes["chain"] * per_chain
    pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))
    out = np.empty((n_draws, len(pairs)))
    step = max(1, CHUNK // rows.size)
    # Rows are large and needed for a moment only.
    for first in range(0, n_draws, step):
        at = np.arange(first, min(first + step, n_draws))
        part = posterior.isel(
            chain=xr.DataArray(at // per_chain, dims="at"),
            draw=xr.DataArray(at % per_chain, dims="at"),
        )
        part = part.reset_coords(drop=True).rename(at="draw").expand_dims("chain")
        row_draws = error_row_draws(part, rows, generator)
        out[at] = errors.error_similarity(error_divergence_draws(row_draws, rows, pairs, **how))
    return out


def _systems(table: xr.Dataset, block: Block) -> NDArray[np.intp]:
    """Observers of a group, in the order of its rows."""
    return np.unique(
        np.concatenate([table[name].values[block.rows] for name in ("first", "second")])
    )


def class_labels(table: xr.Dataset) -> dict[str, NDArray[Any]]:
    """Labels of the dims of true classes and of responses."""
    classes = table["class"].values
    return {"true_class": classes, "response_class": classes}


def group_name(table: xr.Dataset, rows: slice | NDArray[np.intp]) -> str:
    """Name of the group of trials that pairs are compared on."""
    first = table.isel(pair=np.arange(table.sizes["pair"])[rows][:1])
    return " | ".join(str(first[name].item()) for name in ("dataset", "condition"))


def _refuse_several(model: Any, n_groups: int) -> None:
    if not isinstance(model, str) and n_groups > 1:
        raise ValueError(
            f"a model of your own is of one group of trials, and {n_groups} have errors; select "
            "one, such as trials.select(condition=...), or take them together with by=None"
        )


def seeds(table: xr.Dataset, rng: RandomState) -> list[np.random.SeedSequence]:
    """One for each group of trials."""
    return seed_sequence(rng).spawn(len(np.unique(table["pair_group"].values)))
