"""What differs where a metric has features of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from alikely.errors.draws import chained
from alikely.estimates.consistency import counted, sampling_unit
from alikely.estimates.doors import Ask, Drawn, Found, Kind
from alikely.inference.process import process_draws
from alikely.metrics import Metric

__all__ = ["TRIALS"]


def _counted(trials: Any, metric: Metric, ask: Ask) -> xr.Dataset:
    if ask.sampler == "nuts":
        raise ValueError(
            f"{metric.name} has features of its own, and exact draws only; use sampler='auto'"
        )
    return counted(trials, metric, ask, labels=metric.labels)


def _beside(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    return Found({})


def _draw(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    draws = process_draws(table, ask.n_draws, metric, seed, ask.prior, sampling_unit(table, ask))
    return Drawn({"posterior": chained(draws, table, metric, ask.sampler, clustered=True)})


TRIALS = Kind(_counted, _beside, _draw, lambda metric, ask: "trials", (), sampling_unit)
