"""Bootstrap and joint posterior: trials weighted once for all pairs that share them.

References
----------
.. [E79] Efron (1979). Bootstrap methods: another look at the jackknife. doi:10.1214/aos/1176344552
.. [E87] Efron (1987). Better bootstrap confidence intervals. doi:10.1080/01621459.1987.10478410
.. [SK23] Schütt, Kipnis, Diedrichsen, Kriegeskorte (2023). Statistical inference on
   representational geometries. doi:10.7554/eLife.82566
.. [R81] Rubin (1981). The Bayesian bootstrap. doi:10.1214/aos/1176345338
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_array
from alikely.data.blocks import Block, blocks, cluster_numbers, linked
from alikely.data.inclusion import refuse_inclusion
from alikely.inference.evaluation import evaluator, weighted_cells
from alikely.inference.process import COPY_MODEL, cells_of_sums, n_pieces, prior_pieces
from alikely.inference.weighting import multiplicities
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.consistency import PatternPrior, Prior, cell_prior

# Numbers held at a time by one worker (weights plus cells), about 15 MB in float32: with four times
# as many the rows of 1,000 classes take twice as long, since they come from memory each time.
CHUNK = 4_000_000
FEWER = "choose fewer pairs or a smaller"


def bootstrap(
    table: xr.Dataset,
    metric: Metric = ERROR_CONSISTENCY,
    n_resamples: int = 10_000,
    cluster: str | None = None,
    images: NDArray[np.intp] | None = None,
    rng: RandomState = None,
    patterns: bool = True,
) -> xr.DataArray:
    """Draw joint bootstrap replicates of all entries of a table.

    With ``patterns=False``, the same seed draws the same trials for every metric.
    """
    units = images if cluster is None else cluster_numbers(table, cluster)
    if "inclusion" in table:
        # A plan samples the images of each group independently.
        units = None
    check_array(n_resamples, table.sizes["pair"], "replicates", f"{FEWER} n_resamples")
    (out,) = _weighted(table, [metric], n_resamples, units, rng, patterns=patterns)
    return xr.DataArray(
        out, dims=("resample", "pair"), coords={"pair": table["pair"]}, name=metric.name
    )


def joint_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metrics: Sequence[Metric] = COPY_MODEL,
    rng: RandomState = None,
    images: NDArray[np.intp] | None = None,
    prior: Prior | None = None,
) -> dict[str, NDArray[np.float32]]:
    """Exact draws of one posterior for all pairs that share trials [R81]_."""
    refuse_inclusion(table, "the posterior of all trials")
    base = cell_prior(prior).patterns("the joint posterior of all pairs")
    check_array(n_draws, len(metrics) * table.sizes["pair"], "draws", f"{FEWER} n_draws")
    out = _weighted(table, metrics, n_draws, images, rng, base)
    return {metric.name: values for metric, values in zip(metrics, out, strict=True)}


def _weighted(
    table: xr.Dataset,
    metrics: Sequence[Metric],
    n: int,
    units: NDArray[np.intp] | None,
    rng: RandomState,
    prior: PatternPrior | None = None,
    patterns: bool = True,
) -> NDArray[np.float32]:
    """Metrics at weighted units, the same for all groups that share them: (metric, draw, pair)."""
    groups = list(blocks(table))
    seeds = seed_sequence(rng).spawn(len(groups))
    together = [[number] for number in range(len(groups))]
    if units is not None:
        together = linked([units[block.trials] for block in groups])

    def draw(numbers: list[int]) -> list[NDArray[np.float32]]:
        generator = np.random.default_rng(seeds[numbers[0]])
        own = [groups[number] for number in numbers]
        shared = None if units is None else [units[block.trials] for block in own]
        chosen = own[0].chosen
        alike = patterns and metrics[0].counts == "correctness" and not chosen
        counts, own, members = units_of_trials(own, shared, alike)
        out = [np.full((len(metrics), n, len(block.a)), np.nan, dtype=np.float32) for block in own]
        ready = [
            (values, evaluator(block, metrics[0]), member)
            for values, block, member in zip(out, own, members, strict=True)
            if len(member)
        ]
        if not ready:
            return out
        held = int(counts.sum()) + max(each.width for _, each, _ in ready)
        if prior is not None:
            n_observers = max(len(block.correct) for block in own)
            held += n_observers * (n_observers + n_pieces(prior.mass)) - int((counts - 1).sum())
        weights: NDArray[np.floating]
        step = max(1, CHUNK // held)
        for start in range(0, n, step):
            some = slice(start, min(start + step, n))
            size = some.stop - start
            if prior is not None:
                # Gamma masses instead of Dirichlet ones: every estimand is free of scale. In double
                # precision, because masses of rare patterns decide near the ceiling.
                weights = generator.standard_gamma(counts, size=(size, len(counts)))
                # Images that nobody was shown bear one mass in all groups, with patterns of each.
                pieces = prior_pieces(generator, size, prior.mass)
            elif chosen:
                # Images that a plan chose: its weights, resampled with the design.
                target = ready[0][1].generalize_to
                weights = multiplicities(own[0].inclusion, size, target, generator)
            else:
                weights = _unit_weights(counts, size, generator)
            for values, each, member in ready:
                if prior is None:
                    values[0, some] = each.values(weights[:, member])
                    continue
                cells = weighted_cells(weights[:, member], each.block.shares())
                cells += _prior_cells(generator, prior, pieces, each.block)
                for found, metric in zip(values, metrics, strict=True):
                    found[some] = metric.value(cells)
        for values, each, _ in ready:
            # Without a common trial a posterior would be the prior.
            values[..., ~each.features.known()] = np.nan
        return out

    out = np.empty((len(metrics), n, table.sizes["pair"]), dtype=np.float32)
    jobs = [(numbers,) for numbers in together]
    for numbers, found in zip(together, in_parallel(draw, jobs), strict=True):
        for number, values in zip(numbers, found, strict=True):
            out[..., groups[number].rows] = values
    return out


def _prior_cells(
    rng: np.random.Generator, prior: PatternPrior, pieces: NDArray[np.float64], block: Block
) -> NDArray[np.float64]:
    """Cells of these pieces, each with its own pattern: (size, pair, 4)."""
    a, b = block.a, block.b
    shape = (len(pieces), len(block.correct), pieces.shape[1])
    right = prior.correct(rng, shape).astype(np.float64)
    both = (right * pieces[:, None, :]) @ right.transpose(0, 2, 1)
    alone = np.diagonal(both, axis1=1, axis2=2)
    total = pieces.sum(axis=1, keepdims=True)
    return cells_of_sums(both[:, a, b], alone[:, a], alone[:, b], total)


def units_of_trials(
    own: list[Block], units: list[NDArray[np.intp]] | None, patterns: bool
) -> tuple[NDArray[np.intp], list[Block], list[NDArray[np.intp]]]:
    """Return the number of units of each kind, their blocks, and the unit of each trial in a block.

    Without units, each trial is a unit; trials with the same response pattern are of one kind.
    """
    # Units of one trial each that no other block shares are trials like any others.
    if units and (len(units) > 1 or len(np.unique(units[0])) < len(units[0])):
        used, every = np.unique(np.concatenate(units), return_inverse=True)
        members = np.split(every, np.cumsum([len(u) for u in units])[:-1])
        return np.ones(len(used), dtype=np.intp), own, members
    (block,) = own
    n_trials = block.correct.shape[1]
    if not patterns or not n_trials:
        return np.ones(n_trials, dtype=np.intp), own, [np.arange(n_trials)]
    alike = block.correct if block.crossed else block.codes()
    _, first, counts = np.unique(alike, axis=1, return_index=True, return_counts=True)
    return counts, [block._replace(correct=block.correct[:, first])], [np.arange(len(counts))]


def _unit_weights(
    counts: NDArray[np.intp], size: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """How often kinds of trials that occur ``counts`` times are drawn with replacement."""
    total = int(counts.sum())
    # A binomial costs about as much as twenty uniform integers.
    if 20 * len(counts) < total:
        return rng.multinomial(total, counts / total, size=size).astype(np.float32)
    owner = np.repeat(np.arange(len(counts)), counts)
    drawn = owner[rng.integers(0, total, size=(size, total), dtype=np.int32)]
    drawn += len(counts) * np.arange(size)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=size * len(counts))
    return weights.reshape(size, len(counts)).astype(np.float32)


def bca_interval(
    cells: ArrayLike,
    replicates: ArrayLike,
    metric: Metric = ERROR_CONSISTENCY,
    ci_prob: float = 0.95,
) -> NDArray[np.float64]:
    """Bias-corrected and accelerated bootstrap intervals [E87]_."""
    check_interval(ci_prob, "eti")
    counts = np.atleast_2d(np.asarray(cells, dtype=np.float64))
    draws = np.asarray(replicates, dtype=np.float64)
    value = metric.value(counts)
    left_out = np.maximum(counts[:, None, :] - np.eye(counts.shape[-1]), 0)
    jackknife = np.where(counts > 0, metric.value(left_out), 0.0)
    mean = (counts * jackknife).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    deviation = np.where(counts > 0, mean[:, None] - jackknife, 0.0)
    square = (counts * deviation**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        acceleration = (counts * deviation**3).sum(axis=1) / (6 * square**1.5)
    return _bca(value, acceleration, draws, ci_prob)


def bca_of_table(
    table: xr.Dataset, replicates: ArrayLike, metric: Metric, ci_prob: float = 0.95
) -> NDArray[np.float64]:
    """Bias-corrected and accelerated intervals of any metric, from its influence function."""
    if metric.counts == "correctness" and table["cells"].dtype.kind in "iu":
        return bca_interval(table["cells"].values, replicates, metric, ci_prob)
    check_interval(ci_prob, "eti")
    value, acceleration = np.full((2, table.sizes["pair"]), np.nan)
    for block in blocks(table):
        ready = evaluator(block, metric)
        slopes = ready.slopes()
        value[block.rows] = ready.values(np.ones((1, slopes.shape[1])))[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            skew = (slopes**3).sum(axis=1) / (slopes**2).sum(axis=1) ** 1.5
        acceleration[block.rows] = skew / 6
    return _bca(value, acceleration, np.asarray(replicates, dtype=np.float64), ci_prob)


def _bca(
    value: NDArray[np.float64],
    acceleration: NDArray[np.float64],
    draws: NDArray[np.float64],
    ci_prob: float,
) -> NDArray[np.float64]:
    tails = special.ndtri([(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    bounds = np.full((len(value), 2), np.nan)
    for pair in np.flatnonzero(np.isfinite(value) & np.isfinite(acceleration)):
        defined = draws[~np.isnan(draws[:, pair]), pair]
        if not len(defined):
            continue
        # Half of the ties: the replicates of a count table are discrete. The replicates may be
        # stored in single precision, so equality is judged there.
        reference = np.float32(value[pair])
        rounded = defined.astype(np.float32)
        below = np.mean(rounded < reference) + np.mean(rounded == reference) / 2
        if not 0 < below < 1:
            continue
        bias = special.ndtri(below)
        shifted = bias + tails
        level = special.ndtr(bias + shifted / (1 - acceleration[pair] * shifted))
        bounds[pair] = np.quantile(defined, level)
    return bounds
