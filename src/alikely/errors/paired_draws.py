"""Class-level error similarity of systems that may have answered the same items, with its limits.

References
----------
.. [HSW01] Hoffman, Sen, Weinberg (2001). Within-cluster resampling. doi:10.1093/biomet/88.4.1121
.. [T06] Teh, Jordan, Beal, Blei (2006). Hierarchical Dirichlet processes.
   doi:10.1198/016214506000000302
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import arviz_stats as azs
import joblib
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

import alikely
from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.tables import one_answer_each
from alikely.errors.limits import (
    Limits,
    Simulated,
    at,
    frequent,
    largest,
    limits,
    mixing,
    observed,
    simulate,
)
from alikely.errors.paired import PairedErrors, divergence, paired_errors, stacked
from alikely.errors.sweep import Chain
from alikely.inference.evaluation import evaluator
from alikely.metrics import Metric, errors

__all__ = ["CHAINS", "PairedDraws", "paired_row_draws", "single_answer_draws"]

CHAINS = 2
# Choices of one answer to each item, where items came back: the chains of a result.
CHOICES = 4
WARM_UP, SWEEPS = 150, 250
# Cells of all pairs and classes that are worked on at a time.
CELLS = 30_000
OF_POPULATIONS = ("true", "estimate", "again", "posterior", "in_frequent", "in_few")


class PairedDraws(NamedTuple):
    """Draws of the similarity of pairs."""

    values: NDArray[np.float32]
    model: xr.Dataset
    r_hat: Floats
    bounded: Floats
    populations: xr.Dataset


class _Run(NamedTuple):
    posterior: Floats  # (draw, pair), of the divergence
    copying: Floats
    spread: Floats
    made: Simulated


def paired_row_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    cluster: str | None = None,
    folder: str | Path | None = None,
) -> PairedDraws:
    """Draws of class-level error similarity whose quantiles hold, on shared items as on others."""
    n_pairs = table.sizes["pair"]
    values = np.full((n_draws, n_pairs), np.nan, dtype=np.float32)
    shape = (CHAINS, SWEEPS, n_pairs)
    similarity, copying, spread = np.full((3, *shape), np.nan)
    bounded = np.full(n_pairs, np.nan)
    populations = _no_populations(table, n_draws)
    sampling_seed, tying_seed = seed_sequence(rng).spawn(2)
    jobs, options = list(_jobs(table)), dict(metric.options)
    seeds = iter(sampling_seed.spawn(CHAINS * len(jobs)))
    # Without a folder it keeps nothing.
    run = joblib.Memory(folder, verbose=0).cache(_run)
    made_by = f"alikely {alikely.__version__}, {WARM_UP} + {SWEEPS} sweeps"
    found = in_parallel(
        run, [(data, options, next(seeds), made_by) for _, data in jobs for _ in range(CHAINS)]
    )
    ranks = _tied_ranks(table, n_draws, metric, tying_seed, cluster)
    populations["order"].values[:] = ranks * n_draws
    for at_pairs, data in jobs:
        runs = list(itertools.islice(found, CHAINS))
        made = Simulated(
            *(np.concatenate(p) for p in zip(*(run.made for run in runs), strict=True))
        )
        seen = observed(data, frequent(data), **options)
        one = _limits(data, options, runs, seen, made)
        _keep_populations(populations, at_pairs, runs, seen, made, one)
        values[:, at_pairs] = errors.error_similarity(at(one, ranks[:, at_pairs].T).T)
        for chain, of in enumerate(runs):
            similarity[chain][:, at_pairs] = errors.error_similarity(of.posterior)
            copying[chain][:, at_pairs], spread[chain][:, at_pairs] = of.copying, of.spread
        bounded[at_pairs] = one.confidence[:, -2]
    dims = ("chain", "draw", "pair")
    model = xr.Dataset(
        {"error_similarity": (dims, similarity), "copy_probability": (dims, copying)},
        coords={"pair": table["pair"].values},
    )
    r_hats = azs.rhat(xr.Dataset({"of_rows": (dims, similarity), "of_spread": (dims, spread)}))
    r_hat = np.fmax(r_hats["of_rows"].values, r_hats["of_spread"].values)
    return PairedDraws(values, model, r_hat, bounded, populations)


def single_answer_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    cluster: str | None = None,
    folder: str | Path | None = None,
) -> PairedDraws:
    """Draws of class-level error similarity where items are repeated, of one response to each."""
    found = []
    for seed in seed_sequence(rng).spawn(CHOICES):
        choosing, drawing = seed.spawn(2)
        one = one_answer_each(table, np.random.default_rng(choosing))
        found.append(paired_row_draws(one, n_draws // CHOICES, metric, drawing, cluster, folder))
    model = xr.concat([each.model for each in found], dim="chain")
    return PairedDraws(
        np.concatenate([each.values for each in found]),
        model,
        np.stack([each.r_hat for each in found]).max(axis=0),
        np.stack([each.bounded for each in found]).mean(axis=0),
        xr.concat([each.populations for each in found], dim="choice"),
    )


def _no_populations(table: xr.Dataset, n_draws: int) -> xr.Dataset:
    """What means are made from, with nothing in it yet."""
    n_pairs = table.sizes["pair"]
    shape = (CHAINS * SWEEPS, n_pairs)
    kind = np.uint16 if n_draws <= np.iinfo(np.uint16).max else np.uint32
    return xr.Dataset(
        {
            name: (("population", "pair"), np.full(shape, np.nan, dtype=np.float32))
            for name in OF_POPULATIONS
        }
        | {
            "observed": ("pair", np.full(n_pairs, np.nan)),
            "furthest": ("pair", np.full(n_pairs, np.nan)),
            "order": (("sample", "pair"), np.zeros((n_draws, n_pairs), dtype=kind)),
        },
        coords={"pair": table["pair"].values},
        attrs={"equal": 1.0},
    )


def _keep_populations(
    populations: xr.Dataset,
    at_pairs: NDArray[np.intp],
    runs: Sequence[_Run],
    seen: Simulated,
    made: Simulated,
    found: Limits,
) -> None:
    apart = made.divergence, made.estimate, made.again, np.concatenate([r.posterior for r in runs])
    similar = (errors.error_similarity(part) for part in apart)
    like = made.in_frequent - seen.in_frequent, made.in_few - seen.in_few
    for name, values in zip(OF_POPULATIONS, (*similar, *like), strict=True):
        populations[name].values[:, at_pairs] = values
    populations["observed"].values[at_pairs] = errors.error_similarity(seen.estimate)
    populations["furthest"].values[at_pairs] = errors.error_similarity(found.value[:, -1])


def _jobs(table: xr.Dataset) -> Iterator[tuple[NDArray[np.intp], PairedErrors]]:
    """Errors of some pairs at a time, and where they stand in the table."""
    held: list[tuple[NDArray[np.intp], PairedErrors]] = []
    cells = 0
    for at_pairs, data in _pieces(table):
        if held and cells + data.agreed.size > CELLS:
            yield _together(held)
            held, cells = [], 0
        held.append((at_pairs, data))
        cells += data.agreed.size
    if held:
        yield _together(held)


def _together(
    held: list[tuple[NDArray[np.intp], PairedErrors]],
) -> tuple[NDArray[np.intp], PairedErrors]:
    at_pairs, data = zip(*held, strict=True)
    return np.concatenate(at_pairs), stacked(data)


def _pieces(table: xr.Dataset) -> Iterator[tuple[NDArray[np.intp], PairedErrors]]:
    """Errors of pairs of one block each, as many pairs as fit into a job."""
    for block in blocks(table):
        wrong = block.wrong().any(axis=1)
        pairs = np.flatnonzero(wrong[block.a] | wrong[block.b])
        # Labels and classes are at most as many as errors.
        n_errors = int(block.wrong().sum(axis=1).max(initial=0))
        per_pair = min(block.n_classes**2, 2 * n_errors)
        step = max(1, CELLS // max(per_pair, 1))
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            yield block.rows.start + some, paired_errors(block, some)


def _run(
    data: PairedErrors, options: dict[str, Any], seed: np.random.SeedSequence, made_by: str
) -> _Run:
    """One chain of some pairs, and populations near its draws; kept for who has made it."""
    chain = Chain(data, np.random.default_rng(seed))
    totals = data.of_a.sum(axis=-1), data.of_b.sum(axis=-1)
    weight, part = _weight(totals), mixing(totals, options["mixture"])
    share = frequent(data)
    posterior, copying, spread = np.empty((3, SWEEPS, len(data.agreed)))
    made = []
    for _ in range(WARM_UP):
        chain.sweep()
    for number in range(SWEEPS):
        chain.sweep()
        drawn = chain.drawn()
        apart = divergence(*drawn.rows, part, options["base"])
        posterior[number] = (weight * apart).sum(axis=-1)
        spread[number], copying[number] = chain.log_spread, chain.copied_share()
        made.append(simulate(chain, drawn, number, share, **options))
    together = Simulated(*(np.array(part) for part in zip(*made, strict=True)))
    return _Run(posterior, copying, spread, together)


def _weight(totals: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Floats:
    errors_of_both = (totals[0] + totals[1]).astype(np.float64)
    return errors_of_both / errors_of_both.sum(axis=-1, keepdims=True)


def _limits(
    data: PairedErrors,
    options: dict[str, Any],
    runs: Sequence[_Run],
    seen: Simulated,
    made: Simulated,
) -> Limits:
    """From all chains of some pairs."""
    totals = data.of_a.sum(axis=-1), data.of_b.sum(axis=-1)
    posterior = np.concatenate([run.posterior for run in runs])
    most = largest(totals, _weight(totals), options["mixture"], options["base"])
    return limits(seen, made, posterior, most)


def _tied_ranks(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    cluster: str | None,
) -> Floats:
    """Ranks of draws of each pair, in (0, 1), that hang together as estimates do over items."""
    rng = np.random.default_rng(seed)
    total = np.zeros((n_draws, table.sizes["pair"]))
    slopes = [(block, np.nan_to_num(evaluator(block, metric).slopes())) for block in blocks(table)]
    if cluster is None:
        for block, slope in slopes:
            # Sums of normal multipliers are normal: only how they vary together matters.
            root = slope if len(slope) > slope.shape[1] else _root(slope @ slope.T)
            total[:, block.rows] = rng.standard_normal((n_draws, root.shape[1])) @ root.T
    else:
        of_trial = cluster_numbers(table, cluster)
        multipliers = rng.standard_normal((n_draws, int(of_trial.max(initial=-1)) + 1))
        for block, slope in slopes:
            total[:, block.rows] = multipliers[:, of_trial[block.trials]] @ slope.T
    # Without any slope, as where all errors are alike, nothing ties a pair to others.
    loose = ~total.any(axis=0)
    total[:, loose] = rng.standard_normal((n_draws, int(loose.sum())))
    # Slopes are of the similarity, ranks of the divergence.
    return (stats.rankdata(-total, axis=0) - 0.5) / n_draws


def _root(covariance: Floats) -> Floats:
    size, axes = np.linalg.eigh(covariance)
    # The symmetric one: signs of axes are the linear algebra's own affair.
    return np.asarray((axes * np.sqrt(np.maximum(size, 0))) @ axes.T)
