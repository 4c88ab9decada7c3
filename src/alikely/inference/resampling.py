"""Bootstrap of count tables: trials resampled once for all pairs that share them.

References
----------
.. [E79] Efron (1979). Bootstrap methods: another look at the jackknife. doi:10.1214/aos/1176344552
.. [E87] Efron (1987). Better bootstrap confidence intervals. doi:10.1080/01621459.1987.10478410
.. [SK23] Schütt, Kipnis, Diedrichsen, Kriegeskorte (2023). Statistical inference on
   representational geometries. doi:10.7554/eLife.82566
.. [R81] Rubin (1981). The Bayesian bootstrap. doi:10.1214/aos/1176345338
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_array
from alikely.data.blocks import Block, blocks, cluster_numbers, linked
from alikely.inference.evaluation import evaluator
from alikely.inference.weighted import Population, multiplicities
from alikely.metrics import ERROR_CONSISTENCY, Metric

__all__ = [
    "bca_interval",
    "bca_of_table",
    "bootstrap",
    "units_of_trials",
]

# Numbers held at a time by one worker (weights plus cells), about 15 MB in float32: with four times
# as many the rows of 1,000 classes take twice as long, since they come from memory each time.
CHUNK = 4_000_000
FEWER = "choose fewer pairs or a smaller n_resamples"


def bootstrap(
    table: xr.Dataset,
    metric: Metric = ERROR_CONSISTENCY,
    n_resamples: int = 10_000,
    kind: Literal["trial", "bayesian"] = "trial",
    cluster: str | None = None,
    images: NDArray[np.intp] | None = None,
    rng: RandomState = None,
) -> xr.DataArray:
    """Bootstrap replicates of all entries of a table, with their dependence."""
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples}")
    if kind not in ("trial", "bayesian"):
        raise ValueError(f"kind must be 'trial' or 'bayesian', got {kind!r}")
    if cluster is not None and images is not None:
        raise ValueError(
            "cluster and images both define what is resampled together; give one of them"
        )
    units = images if cluster is None else cluster_numbers(table, cluster)
    if "inclusion" in table:
        # A plan samples the images of each group independently.
        units = None
    groups = list(blocks(table))
    seeds = seed_sequence(rng).spawn(len(groups))
    apart = [[number] for number in range(len(groups))]
    together = apart if units is None else linked([units[block.trials] for block in groups])
    jobs = []
    for numbers in together:
        own = [groups[number] for number in numbers]
        unit = None if units is None else [units[block.trials] for block in own]
        # Images that nothing shares are trials like any others.
        if unit and len(unit) == 1 and len(np.unique(unit)) == len(unit[0]):
            unit = None
        jobs.append((own, unit, metric, n_resamples, kind, seeds[numbers[0]]))
    check_array(n_resamples, table.sizes["pair"], "replicates", FEWER)
    out = np.empty((n_resamples, table.sizes["pair"]), dtype=np.float32)
    for numbers, replicates in zip(together, in_parallel(_bootstrap_blocks, jobs), strict=True):
        for number, values in zip(numbers, replicates, strict=True):
            out[:, groups[number].rows] = values
    return xr.DataArray(
        out, dims=("resample", "pair"), coords={"pair": table["pair"]}, name=metric.name
    )


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


def _bootstrap_blocks(
    own: list[Block],
    units: list[NDArray[np.intp]] | None,
    metric: Metric,
    n_resamples: int,
    kind: Literal["trial", "bayesian"],
    seed: np.random.SeedSequence,
) -> list[NDArray[np.float32]]:
    """Replicates of groups whose trials are resampled together: (resample, pair) of each."""
    chosen, design = own[0].chosen, own[0]
    patterns = metric.counts == "correctness" and not chosen
    counts, own, members = units_of_trials(own, units, patterns)
    rng = np.random.default_rng(seed)
    out = [np.full((n_resamples, len(block.a)), np.nan, dtype=np.float32) for block in own]
    ready = [
        (values, evaluator(block, metric), member)
        for values, block, member in zip(out, own, members, strict=True)
        if len(member)
    ]
    if not ready:
        return out
    generalize_to: Population = "pool" if design.generalize_to == "pool" else "images"
    weights: NDArray[np.floating]
    step = max(1, CHUNK // (int(counts.sum()) + max(each.width for _, each, _ in ready)))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        if chosen:
            # Images that a plan chose: its weights, resampled with the design.
            weights = multiplicities(design.inclusion, size, generalize_to, rng)
        else:
            weights = _unit_weights(counts, size, kind, rng)
        for values, each, member in ready:
            values[start : start + size] = each.values(weights[:, member])
    return out


def units_of_trials(
    own: list[Block], units: list[NDArray[np.intp]] | None, patterns: bool
) -> tuple[NDArray[np.intp], list[Block], list[NDArray[np.intp]]]:
    """Number of units of each kind, blocks of these, and the unit of each of their trials.

    Without units, each trial is a unit; trials with the same pattern for all pairs are one kind.
    """
    if units is not None:
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
    counts: NDArray[np.intp],
    size: int,
    kind: Literal["trial", "bayesian"],
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Weights of exchangeable kinds of trials that occur ``counts`` times each."""
    total = int(counts.sum())
    if kind == "bayesian":
        # Not normalized: every estimand is free of scale.
        return rng.standard_gamma(counts, size=(size, len(counts)), dtype=np.float32)
    # A binomial costs about as much as twenty uniform integers.
    if 20 * len(counts) < total:
        return rng.multinomial(total, counts / total, size=size).astype(np.float32)
    owner = np.repeat(np.arange(len(counts)), counts)
    drawn = owner[rng.integers(0, total, size=(size, total), dtype=np.int32)]
    drawn += len(counts) * np.arange(size)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=size * len(counts))
    return weights.reshape(size, len(counts)).astype(np.float32)
