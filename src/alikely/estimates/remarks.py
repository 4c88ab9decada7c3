"""What a reader should know of estimates from counts, entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.notes import note
from alikely.metrics import Metric

__all__ = ["WIDE", "cautions", "joined", "scarcity", "wide"]

# A posterior interval that spans this much says next to nothing.
WIDE = 0.5
# A standard error below this is one of rounding.
ROUNDING = 1e-12


def wide(width: Floats) -> NDArray[Any]:
    """What is said of posterior intervals so wide, (pair,)."""
    return np.where(width > WIDE, note("wide", width=WIDE), "")


def scarcity(
    metric: Metric,
    known: Mapping[str, NDArray[Any]],
    se: Floats,
    defined: NDArray[np.bool_],
    methods: Sequence[str],
) -> NDArray[Any]:
    """Which entries have too few errors for the analytic interval and the bootstrap."""
    trust = metric.trust
    if _posterior_alone(metric, methods) and not trust.biased:
        return np.full(len(defined), "", dtype=object)
    few = defined & (trust.rarest(known) < trust.least)
    flat = defined & (se < ROUNDING)
    if callable(trust.alone):
        return np.where(flat, trust.alone(known), np.where(few, trust.seldom, ""))
    return np.where(few & flat, trust.alone, np.where(few, trust.seldom, ""))


def cautions(
    metric: Metric, cells: NDArray[Any], defined: NDArray[np.bool_], methods: Sequence[str]
) -> NDArray[Any]:
    """Where the analytic interval of a metric misleads for another reason."""
    if metric.caution is None or _posterior_alone(metric, methods):
        return np.full(len(defined), "", dtype=object)
    return np.where(defined, metric.caution(cells), "")


def _posterior_alone(metric: Metric, methods: Sequence[str]) -> bool:
    """Whether a table shows one interval, a posterior one of the metric itself."""
    return {*methods} == {"posterior"} and metric.posterior_label == "posterior"


def joined(remarks: Iterable[NDArray[Any]]) -> list[str]:
    """Remarks of each entry in one text, none of them twice."""
    return ["; ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*remarks, strict=True)]
