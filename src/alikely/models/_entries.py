"""Accuracies of machines, and what they share with humans, over machines and conditions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from alikely.models._effects import effects
from alikely.models._placed import informed, informed_zero_sum
from alikely.models._populations import ALIKE, TINY, averages, log_odds, spread, sums

__all__ = ["Seen", "levels_of_entries", "seen_of_entries", "shared_of_entries"]


def levels_of_entries(layout: dict[str, Any], seen: Seen, tables: dict[str, pd.DataFrame]) -> Any:
    """Log odds of every entry to be right on a random trial."""
    n, at = _sizes(layout), _places(layout)
    mean, sd = pm.Normal("level_mean", 0, 1.5), spread("level_sd", 0.5, n["entry"])
    sd_condition = spread("level_condition_sd", 1, n["condition"])
    # What an entry shows of what it has in common with others.
    known = 1 / (sd**2 + 1 / seen.level_information)
    there = averages(seen.level, known, at["condition"], n["condition"])
    by_condition = informed("level_condition", mean, sd_condition, *there, "condition")
    expected = by_condition[at["condition"]]
    beside = seen.level - there[0][at["condition"]]
    expected += _effect("level_machine", "machine", n, 1, beside, known, at)
    expected = sum(effects("level", tables, at, 1), expected)
    return informed("level", expected, sd, seen.level, seen.level_information, "entry")


def shared_of_entries(
    name: str,
    unit: float,
    layout: dict[str, Any],
    seen: tuple[Any, Any],
    tables: dict[str, pd.DataFrame],
) -> Any:
    """What every entry shares with humans: a mean, and effects of machines and conditions."""
    n, at = _sizes(layout), _places(layout)
    sd = pm.HalfNormal(f"{name}_sd", unit)
    known = 1 / (sd**2 + 1 / seen[1])
    expected = pm.Normal(f"{name}_mean", 0, 4 * unit)
    for dim, scale in (("machine", 3 * unit), ("condition", unit)):
        expected += _effect(f"{name}_{dim}", dim, n, scale, seen[0], known, at)
    expected = sum(effects(name, tables, at, 3 * unit), expected)
    return informed(name, expected, sd, *seen, "entry")


def _sizes(layout: dict[str, Any]) -> dict[str, int]:
    return {dim: len(layout["coords"][dim]) for dim in ("machine", "condition", "entry")}


def _places(layout: dict[str, Any]) -> dict[str, NDArray[np.intp]]:
    return {"machine": layout["machine_of_entry"], "condition": layout["condition_of_entry"]}


def _effect(
    name: str,
    dim: str,
    n: dict[str, int],
    scale: float,
    seen: Any,
    information: Any,
    at: dict[str, NDArray[np.intp]],
) -> Any:
    """Effects on entries that sum to zero over a dim; none where there is only one level."""
    if n[dim] == 1:
        return pt.zeros(1)
    sd = spread(f"{name}_sd", scale, n[dim])
    each, known = averages(seen, information, at[dim], n[dim])
    return informed_zero_sum(name, sd, each, known.mean(), dim)[at[dim]]


class Seen(NamedTuple):
    """What answers of machines show of entries, (entry,), and the inverse of its variance."""

    level: Any
    level_information: Any
    ratio: Any  # log odds ratio with the human that might be copied
    ratio_information: Any
    alike: Any  # error consistency of humans


def seen_of_entries(
    layout: dict[str, Any], counts: xr.Dataset, share_of_stratum: Any, shown: Any, right: Any
) -> Seen:
    """Levels and log odds ratios by moments, from data that may be replaced."""
    entry, stratum = layout["entry_of_row"], layout["stratum_of_row"]
    n_humans = np.maximum(counts["n_humans"].values[stratum], 1)
    share = share_of_stratum[stratum]

    def total(values: Any) -> Any:
        return sums(values, entry, len(layout["coords"]["entry"]))

    n_trials = total(shown)
    p, q = ((total(part) + 0.5) / (n_trials + 1) for part in (share * shown, right))
    mean, one = total(share * shown) / n_trials, total(shown / n_humans) / n_trials
    even = p * (1 - p)
    # Of the spread of the shares of right humans, what is not chance.
    alike = (total(share**2 * shown) / n_trials - mean**2) / even - one
    alike = pt.clip(alike / pt.maximum(1 - one, TINY), *ALIKE)
    slope = (total(share * right) / n_trials - mean * total(right) / n_trials) / (alike * even)
    low, high = pt.maximum(p + q - 1, 0), pt.minimum(p, q)
    # Chance may carry copying beyond what is possible.
    both = low + (high - low) * pt.clip((p * q + slope * even - low) / (high - low), *ALIKE)
    cells = both, 1 - p - q + both, p - both, q - both
    ratio = pt.log(cells[0]) + pt.log(cells[1]) - pt.log(cells[2]) - pt.log(cells[3])
    # The human is not known, but those who are like it.
    information = n_trials * alike**2 / sum(1 / cell for cell in cells)
    return Seen(log_odds(q), n_trials * q * (1 - q), ratio, information, alike)
