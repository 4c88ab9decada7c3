"""Means over pairs of which each has limits of its own: limits of the mean itself.

Limits of pairs are no posterior of each for itself: where systems are equal all of their draws lie
on one side of the truth, and where estimates are biased all are by about as much, so that means of
draws leave out what each of them holds. The mean of estimates is therefore taken for a statistic
like any other: of populations near by, which go from equal systems to those far apart for all pairs
at once, its distribution is known from the data sets that were simulated for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely.errors.limits import Simulated, at, limits, powers

__all__ = ["MeanDraws", "mean_draws"]

# Any linear map of values of pairs (n, pair) to means of them (n, ...).
Combine = Callable[[NDArray[Any]], NDArray[Any]]


class MeanDraws(NamedTuple):
    """Draws of means over pairs."""

    values: Floats
    bounded: Floats


def mean_draws(populations: xr.Dataset, combine: Combine) -> MeanDraws:
    """Draws of means over pairs, whose quantiles are limits of these means."""
    if "choice" in populations.dims:
        each = [
            mean_draws(populations.isel(choice=at), combine)
            for at in range(populations.sizes["choice"])
        ]
        return MeanDraws(
            np.concatenate([one.values for one in each]),
            np.mean([one.bounded for one in each], axis=0),
        )
    equal = float(populations.attrs["equal"])

    def of(name: str) -> Floats:
        return populations[name].values.astype(np.float64)

    def mean(values: NDArray[Any]) -> Floats:
        out = np.asarray(combine(values), dtype=np.float64)
        return out.reshape(len(out), -1)

    true, seen, again = (equal - of(name) for name in ("true", "estimate", "again"))
    observed = equal - of("observed")[None]
    shape = combine(observed).shape[1:]
    order = populations["order"].values
    n_draws = len(order)
    # Single precision, of which quantiles of draws need less: there may be many pairs.
    score = special.ndtri((np.arange(n_draws) + 0.5) / n_draws).astype(np.float32)[order]
    spread, alike = _residuals(true, seen, again)
    # What all pairs have in common goes one way in all of them.
    rng = np.random.default_rng(0)
    bias = rng.standard_normal((n_draws, 1)) * mean((spread * np.sqrt(alike))[None])
    tied = mean(score * (spread * np.sqrt(1 - alike)).astype(np.float32)) + bias
    # Columns that follow one another by chance only, as data sets of pairs were simulated.
    score *= spread
    loose = mean(rng.permuted(score, axis=0)).std(axis=0)
    wider = np.divide(tied.std(axis=0), loose, out=np.ones_like(loose), where=loose > 0)
    ordered = np.sort(equal - populations["posterior"].values, axis=0)
    place = (np.arange(n_draws) * len(ordered) // n_draws)[order]

    here = np.maximum(mean(observed)[0], 0)
    there = np.flatnonzero(np.isfinite(here) & np.isfinite(tied).all(axis=0))
    values = np.full((n_draws, len(here)), np.nan)
    bounded = np.full(len(here), np.nan)
    if len(there):
        nothing = np.zeros(len(there))
        made = (true, seen, of("in_frequent"), of("in_few"))
        one = limits(
            Simulated(nothing, here[there], nothing, nothing),
            Simulated(*(mean(part)[:, there] for part in made)),
            mean(np.take_along_axis(ordered, place, axis=0))[:, there],
            mean(equal - of("furthest")[None])[0, there],
            wider[there],
        )
        rank = tied[:, there].argsort(axis=0, kind="stable").argsort(axis=0)
        values[:, there] = equal - at(one, (rank.T + 0.5) / n_draws).T
        bounded[there] = one.confidence[:, -2]
    return MeanDraws(values.reshape(n_draws, *shape), bounded.reshape(shape))


def _residuals(true: Floats, seen: Floats, again: Floats) -> tuple[Floats, Floats]:
    """Standard deviation of estimates around the curve of each pair, and share of populations."""
    n_pairs = true.shape[1]
    spread, alike = np.full((2, n_pairs), np.nan)
    # A pair without errors has no populations.
    twice = np.isfinite(again).any(axis=1)
    for pair in np.flatnonzero(np.isfinite(true).all(axis=0)):
        root = np.sqrt(np.maximum(true[:, pair], 0))
        design = powers(root / max(root.max(), TINY))
        first = _beside(design, seen[:, pair])
        second = _beside(design[twice], again[twice, pair])
        spread[pair] = np.sqrt((first**2).mean())
        both = (first[twice] * second).mean()
        alike[pair] = np.clip(both / max(spread[pair] ** 2, TINY), 0, 1)
    return spread, alike


TINY = 1e-300


def _beside(design: Floats, target: Floats) -> Floats:
    slopes = np.linalg.lstsq(design, target, rcond=None)[0]
    return np.asarray(target - design @ slopes)
