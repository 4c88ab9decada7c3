"""Posteriors by one Dirichlet process, and metrics that have features of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from alikely.errors.draws import chained
from alikely.estimates.consistency import counted, sampling_unit
from alikely.estimates.doors import Ask, Drawn, Found, Kind
from alikely.inference.process import process_draws
from alikely.metrics import Metric

__all__ = ["TRIALS", "draw_process"]


def draw_process(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    """Draw the posterior of all entries from one Dirichlet process, with its clusters."""
    draws = process_draws(table, ask.n_draws, metric, seed, ask.prior, sampling_unit(table, ask))
    return Drawn({"posterior": chained(draws, table, metric, ask.sampler, clustered=True)})


def _counted(trials: Any, metric: Metric, ask: Ask) -> xr.Dataset:
    if ask.sampler == "nuts":
        raise ValueError(
            f"{metric.name} has features of its own, and exact draws only; use sampler='auto'"
        )
    return counted(trials, metric, ask, labels=metric.labels)


TRIALS = Kind(
    _counted, lambda *_: Found({}), draw_process, lambda metric, ask: "trials", (), sampling_unit
)
