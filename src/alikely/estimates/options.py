"""Agreement on options: of answers, or of the probabilities that systems give them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import xarray as xr

from alikely._base.notes import note
from alikely.data.blocks import blocks
from alikely.estimates.consistency import AS_TRIALS, counted, sampling_unit
from alikely.estimates.doors import Ask, Found, Kind
from alikely.estimates.own_features import draw_process
from alikely.inference.features import option_features
from alikely.inference.influence import estimate
from alikely.metrics import Metric
from alikely.metrics.cells import divide
from alikely.metrics.option_sums import chance_agreement, same_wrong
from alikely.metrics.options import OPTION_CORRELATION, SAME_WRONG_ANSWER

__all__ = ["OPTIONS"]


def _counted(trials: Any, metric: Metric, ask: Ask) -> xr.Dataset:
    if ask.sampler == "nuts":
        raise ValueError("agreement on options has exact draws only; use sampler='auto'")
    table = counted(trials, metric, ask, labels="options", repeats="paired")
    if table.attrs.get("repeats") == "paired" and ask.cluster != AS_TRIALS:
        raise ValueError(
            "items came back, and agreement on options takes one answer to a question: choose one "
            "repeat, or give cluster='trial' to take all for independent"
        )
    return table


def _beside(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    """Agreement and what it is by chance, ``r_p``, and joint errors with the same answer."""
    soft = metric.counts == "probabilities"
    names = ("agreement", "chance_agreement", "same_wrong", "same_wrong_chance")
    found: dict[str, Any] = {name: np.full(table.sizes["pair"], np.nan) for name in names}
    remarks = np.full(table.sizes["pair"], "", dtype=object)
    for block in blocks(table):
        ready = option_features(block, soft)
        sums = ready.sums(np.ones((1, ready.each.shape[2])))
        lacking = table["cells"].values[block.rows].sum(axis=1) - sums.number[0].astype(np.int64)
        remarks[block.rows] = [note("no-probabilities", n=int(n)) if n else "" for n in lacking]
        mean = [divide(part, sums.number)[0] for part in sums]
        found["agreement"][block.rows] = mean[1]
        found["chance_agreement"][block.rows] = chance_agreement(mean[2], mean[3], mean[6])
        found["same_wrong"][block.rows] = same_wrong(sums)[0]
        one, _, right_a, right_b, _, _, f, both = ready.each
        wrong = one - right_a - right_b + both
        found["same_wrong_chance"][block.rows] = divide((f * wrong).sum(axis=1), wrong.sum(axis=1))
    of_itself = dataclasses.replace(OPTION_CORRELATION, features=metric.features)
    r_p = estimate(table, of_itself, sampling_unit(table, ask))
    of_errors = dataclasses.replace(SAME_WRONG_ANSWER, features=metric.features)
    found["same_wrong_se"] = estimate(table, of_errors, sampling_unit(table, ask))["se"].values
    found |= {"r_p": r_p["estimate"].values, "r_p_se": r_p["se"].values, "remark": remarks}
    if not soft:
        found["n_joint_errors"] = table["cells"].values[:, 3]
    return Found({name: ("pair", values) for name, values in found.items()})


OPTIONS = Kind(_counted, _beside, draw_process, lambda metric, ask: "options", (), sampling_unit)
