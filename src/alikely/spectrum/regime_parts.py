"""Regimes of difficulty: their conditions, and what is known of the machines there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.frames import Groups
from alikely.benchmark.layout import HUMANS
from alikely.inference.intervals import mean_of_defined
from alikely.spectrum.alignment_tables import condition_groups, machines_of, took_part

__all__ = [
    "Conditions",
    "Deltas",
    "RegimePart",
    "mean_draws",
    "regime_parts",
    "representative_conditions",
]

type Deltas = Mapping[str, float] | pd.Series | xr.DataArray | xr.Dataset
type Conditions = Literal["all", "representative"]


class RegimePart(NamedTuple):
    """One metric in one regime."""

    metric: str
    regime: str
    machines: list[str]
    n_conditions: int
    value: Floats
    human: Floats
    draws: Floats
    human_draws: Floats
    left_out: list[str]

    def shares_of_mean(self, values: Floats) -> Floats:
        """Values over the mean among humans; NaN where that is not above 0."""
        ceiling = self.human.mean()
        return values / ceiling if ceiling > 0 else np.full(len(values), np.nan)


def mean_draws(draws: Floats, estimate: Floats) -> Floats:
    """Replicates of means over conditions, some of which are undefined in some replicates."""
    with np.errstate(invalid="ignore"):  # infinite ratios on both sides: undefined
        return np.asarray(estimate.mean(axis=0) + mean_of_defined(draws - estimate, axis=1))


def regime_parts(
    alignment: xr.Dataset, labels: Groups, conditions: str, delta: Deltas | None
) -> list[RegimePart]:
    """Every metric and regime, with the conditions in which all is defined."""
    if conditions not in ("all", "representative"):
        raise ValueError(f"conditions must be 'all' or 'representative', got {conditions!r}")
    machines = machines_of(alignment)
    if alignment.sizes.get("resample", 0) < 2:
        raise ValueError(
            "regimes need replicates of the alignment; ask condition_alignment for some with "
            "n_resamples=1000"
        )
    names = alignment["condition"].values.tolist()
    regime = condition_groups(names, labels)
    systems = alignment["system"].values.tolist()
    columns = [systems.index(name) for name in machines]
    there = took_part(alignment)[:, columns]
    _require_all(there, names, machines)
    kept = [name for c, name in enumerate(names) if there[c].any()]
    if conditions == "representative":
        if delta is None:
            raise ValueError("representative conditions need the difficulty of each: give delta=")
        home = dict(zip(names, alignment["dataset"].values.tolist(), strict=True))
        kept = representative_conditions(delta, regime, {name: home[name] for name in kept})
    human = systems.index(HUMANS)
    out = []
    for metric, label in itertools.product(
        alignment["metric"].values.tolist(), dict.fromkeys(regime[name] for name in kept)
    ):
        chosen = [name for name in kept if regime[name] == label]
        part = alignment.sel(metric=metric, condition=chosen)
        value = part["estimate"].transpose("condition", "system").values
        defined = np.isfinite(value).all(axis=1)
        draws = part["replicates"].transpose("resample", "condition", "system").values
        draws = draws[:, defined].astype(np.float64)
        left_out = [name for name, known in zip(chosen, defined, strict=True) if not known]
        value = value[defined]
        if not defined.any():
            draws = np.full((len(draws), 1, len(systems)), np.nan)
            value = np.full((1, len(systems)), np.nan)
        out.append(
            RegimePart(
                metric,
                label,
                machines,
                int(defined.sum()),
                value[:, columns],
                value[:, human],
                draws[..., columns],
                draws[..., human],
                left_out,
            )
        )
    return out


def _require_all(there: NDArray[np.bool_], names: list[str], machines: list[str]) -> None:
    if not there.any():
        raise ValueError("no condition of the alignment has a machine; select others")
    lacking = np.argwhere(there.any(axis=1)[:, None] & ~there)
    if len(lacking):
        c, m = lacking[0]
        raise ValueError(
            f"machine {machines[m]!r} is missing in condition {names[c]!r}; its mean would be over "
            "other conditions than that of others: leave out one of them with alignment.sel(...)"
        )


def representative_conditions(
    delta: Deltas, labels: Groups, datasets: Mapping[str, str]
) -> list[str]:
    """Choose one condition for each data set and regime."""
    names = list(datasets)
    regime = condition_groups(names, labels)
    values = delta["delta"] if isinstance(delta, xr.Dataset) else delta
    if isinstance(values, xr.DataArray):
        values = values.to_series()
    known = {str(name): float(value) for name, value in values.items()}
    frame = pd.DataFrame(
        {
            "delta": [known.get(name, np.nan) for name in names],
            "regime": [regime[name] for name in names],
            "dataset": [datasets[name] for name in names],
        },
        index=pd.Index(names),
    )
    bad = ~np.isfinite(frame["delta"].to_numpy())
    if bad.any():
        raise ValueError(
            f"condition {names[int(np.argmax(bad))]!r} has no finite delta ({int(bad.sum())} "
            "without); give it one, or choose conditions with alignment.sel(condition=[...])"
        )
    distance = (frame["delta"] - frame.groupby("regime")["delta"].transform("mean")).abs()
    # Equal but for rounding is equal.
    frame["distance"] = distance.round(9)
    best = frame.sort_values(["distance", "delta"], ascending=[True, False], kind="stable")
    chosen = set(best.groupby(["dataset", "regime"]).head(1).index)
    return [name for name in names if name in chosen]
