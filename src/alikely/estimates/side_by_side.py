"""Error consistency and decision-margin consistency of the same systems, side by side."""

from __future__ import annotations

import itertools
from typing import cast

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import of_type
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.tables import By, joint_correctness
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.estimates.consistency import sampling_unit
from alikely.estimates.doors import Ask
from alikely.estimates.result import Result
from alikely.inference.influence import covariance_of, estimate, of_items, of_sum
from alikely.inference.intervals import interval
from alikely.inference.weighted import student_deviate
from alikely.metrics import ERROR_CONSISTENCY, Metric

__all__ = ["consistency_table"]

PLACE = ["dataset", "condition", "item"]


def consistency_table(trials: Trials, result: Result) -> pd.DataFrame:
    """Error consistency beside decision-margin consistency, with the ceilings of both.

    Parameters
    ----------
    trials : Trials
        The trials that `result` was made of.
    result : Result
        As from `alikely.decision_margin_consistency`.

    Returns
    -------
    pandas.DataFrame
        One row per entry of the result: ``dataset, condition, observer_a, observer_b, n_trials,
        accuracy_a, accuracy_b``; ``n_machines`` (0 to 2 systems with margins), ``group`` and
        ``machine``, which of the two is what (of two machines the second, of two groups the first;
        empty if none), ``accuracy_machine`` (of two groups that of the second);
        ``margin_consistency`` with its analytic interval (``_lb, _ub``), ``noise_free`` (posterior
        median) with its interval; ``error_consistency``, the mean over pairs of members of both
        systems, with its analytic interval over trials.

        For each group, with intervals: ``group_error_consistency``, the mean over pairs of its
        members, which is no ceiling for a machine without noise; ``group_margin_consistency``, that
        with another group like it (reliability by split halves, interval over people and items);
        and ``margin_ceiling``, the root of the reliabilities of both systems, which is 1 for a
        machine: what a correlation freed of noise of 1 would show, where a reliability below 0
        counts as 0. NaN between two machines.

        ``mean_error_consistency`` and ``mean_margin_consistency``: means over all rows of this data
        set and condition with as many machines, with analytic intervals over items, with the same
        machines and people. All intervals have the probability of the result.

    Raises
    ------
    ValueError
        If the result is of another metric.

    Notes
    -----
    A machine that did not take part in the trials is right where its margin is above 0.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise", kind="human")
    >>> places = {name: trials.data[name].values for name in ["dataset", "condition", "item"]}
    >>> margins = pd.DataFrame(places).assign(observer="net", margin=np.linspace(-1, 2, 160))
    >>> result = al.decision_margin_consistency(trials, margins, n_draws=0, rng=1)
    >>> len(consistency_table(trials, result))
    1
    """
    of_type(result, Result, "make one with al.decision_margin_consistency")
    if result.metric.counts != "margins":
        raise ValueError(
            f"expected a result of decision_margin_consistency, got one of {result.metric.name}"
        )
    table, ci_prob = result.table, float(result.data.attrs["ci_prob"])
    summary = result.summary(intervals=["analytic"])
    lower, upper = (name for name in summary if str(name).startswith("analytic_"))
    frame = summary[
        ["dataset", "condition", "observer_a", "observer_b", "n_trials", "accuracy_a", "accuracy_b"]
    ].assign(
        margin_consistency=summary["estimate"],
        margin_consistency_lb=summary[lower],
        margin_consistency_ub=summary[upper],
    )
    bounds = np.full((len(frame), 3), np.nan)
    if "posterior" in result.data.children:
        draws = result.draws("posterior")
        bounds[:, 0] = np.median(draws, axis=0)
        bounds[:, 1:] = interval(draws, ci_prob, result.data.attrs["ci_kind"])
    frame[["noise_free", "noise_free_lb", "noise_free_ub"]] = bounds
    names, machine = table["observer"].values, table["is_machine"].values
    ends = list(zip(table["first"].values, table["second"].values, strict=True))
    groups = np.array([next((s for s in pair if not machine[s]), -1) for pair in ends])
    nets = np.array([next((s for s in pair[::-1] if machine[s]), -1) for pair in ends])
    # A machine may stand first.
    is_first = nets == table["first"].values
    frame["n_machines"] = [int(machine[list(pair)].sum()) for pair in ends]
    frame["group"] = [str(names[s]) if s >= 0 else "" for s in groups]
    frame["machine"] = [str(names[s]) if s >= 0 else "" for s in nets]
    frame["accuracy_machine"] = np.where(is_first, frame["accuracy_a"], frame["accuracy_b"])
    frame = frame.assign(**_of_groups(result, ends, groups))
    every = _with_machines(trials, table)
    across, within = {}, {}
    for entry, ((a, b), group) in enumerate(zip(ends, groups, strict=True)):
        across[entry] = list(itertools.product(_members(table, a), _members(table, b)))
        if group >= 0:
            within[entry] = list(itertools.combinations(_members(table, group), 2))
    alike = frame.groupby(["dataset", "condition", "n_machines"], sort=False).ngroup().to_numpy()
    first = {kind: int(np.argmax(alike == kind)) for kind in np.unique(alike).tolist()}
    pooled = {
        entry: [pair for other in np.flatnonzero(alike == kind) for pair in across[int(other)]]
        for kind, entry in first.items()
    }
    cluster = str(result.data.attrs["cluster"])
    unit = cluster if of_items(table, cluster) else None
    of_margins = np.array([
        _mean(table.isel(pair=alike == kind), result.metric, unit) for kind in first
    ])[alike]  # fmt: skip
    of_kinds = _mean_of_pairs(every, table, pooled, unit)
    for name, found in {
        "error_consistency": _mean_of_pairs(every, table, across, unit),
        "group_error_consistency": _mean_of_pairs(every, table, within, unit),
        "mean_error_consistency": of_kinds[[first[kind] for kind in alike.tolist()]],
        "mean_margin_consistency": of_margins,
    }.items():
        value, se, df = found.T
        half = student_deviate(df, ci_prob) * se
        frame[name] = value
        frame[f"{name}_lb"], frame[f"{name}_ub"] = value - half, value + half
    return frame


def _mean(table: xr.Dataset, metric: Metric, unit: str | None) -> tuple[float, float, float]:
    """Mean of the estimates of a table, its standard error and degrees of freedom."""
    n = table.sizes["pair"]
    value, weights = float(estimate(table, metric)["estimate"].values.mean()), np.full(n, 1 / n)
    if unit is not None and of_items(table, unit):
        found = of_sum(table, metric, unit, weights)
        return value, float(np.sqrt(found.variance)), found.df
    return value, float(np.sqrt(covariance_of(table, metric, unit, weights[None])[0, 0])), np.inf


def _of_groups(
    result: Result, ends: list[tuple[int, int]], groups: NDArray[np.intp]
) -> dict[str, NDArray[np.float64]]:
    """Reliability of each entry's group, and the ceiling by those of both its systems."""
    table = result.table
    names, machine = table["observer"].values, table["is_machine"].values
    ceilings = result.data["ceilings"].to_dataset().to_dataframe()
    ceilings = ceilings.set_index(["system", "trial_group"])[["reliability", "lower", "upper"]]
    own, roots = np.full((2, len(ends), 3), np.nan)
    for entry, (pair, group, g) in enumerate(
        zip(ends, groups, table["pair_group"].values, strict=True)
    ):
        of_entry = [s for s in pair if not machine[s]]
        if of_entry:
            own[entry] = ceilings.loc[(names[group], int(g))].to_numpy(float)
            both = np.array([ceilings.loc[(names[s], int(g))].to_numpy(float) for s in of_entry])
            # A ceiling cannot lie below 0, where limits of a reliability may.
            roots[entry] = np.sqrt(np.maximum(both, 0)).prod(axis=0)
    return {
        f"{name}{end}": values[:, k]
        for name, values in (("group_margin_consistency", own), ("margin_ceiling", roots))
        for k, end in enumerate(("", "_lb", "_ub"))
    }


def _with_machines(trials: Trials, table: xr.Dataset) -> Trials:
    """Correctness of all observers, and of machines known by their margins only."""
    data = trials.data
    missing = [
        s
        for s in np.flatnonzero(table["is_machine"].values)
        if table["observer"].values[s] not in trials.observers
    ]
    if not missing:
        return trials
    places = pd.DataFrame(
        {
            "dataset": table["trial_dataset"].values,
            "condition": table["trial_condition"].values,
            "item": table["item"].values,
        }
    )
    own = pd.DataFrame({key: data[key].values.astype(object) for key in PLACE})
    at = places.reset_index().merge(own, how="right", on=PLACE)["index"].to_numpy()
    margins = table["margins"].values[missing][:, at]
    right = np.where(np.isnan(margins), NOT_SHOWN, margins > 0).astype(np.int8)
    added = xr.Dataset(
        {"correct": (("observer", "trial"), right)},
        coords={
            "observer": table["observer"].values[missing],
            "kind": ("observer", table["kind"].values[missing]),
        },
    )
    of_trial = (*PLACE, "repeat", *data.attrs.get(ITEM_COLUMNS, ()))
    kept = data[["correct", "kind", *of_trial]].drop_vars(
        [name for name in data.coords if name not in ("observer", "kind", *of_trial)],
        errors="ignore",
    )
    joined = xr.concat([kept, added.assign_coords({k: kept[k] for k in of_trial})], dim="observer")
    return Trials(joined)


def _members(table: xr.Dataset, system: int) -> list[str]:
    if table["is_machine"].values[system]:
        return [str(table["observer"].values[system])]
    own = table["member_group"].values == system
    return [str(name) for name in table["member"].values[own]]


def _mean_of_pairs(
    trials: Trials, table: xr.Dataset, pairs: dict[int, list[tuple[str, str]]], unit: str | None
) -> NDArray[np.float64]:
    """Mean error consistency over some pairs for each entry, its standard error and freedom."""
    by = {"condition": "condition", "dataset": "dataset"}.get(str(table.attrs["by"]))
    names = list(dict.fromkeys(itertools.chain.from_iterable(pairs.values())))
    out = np.full((table.sizes["pair"], 3), np.nan)
    if not names:
        return out
    no_response = table.attrs["no_response"]
    # People of different data sets are no pair.
    counted = joint_correctness(
        trials, names, cast(By, by), no_response, disjoint=True, repeats="crossed"
    )
    unit = sampling_unit(counted, Ask(cluster=unit))
    keys = ["dataset", "condition", "observer_a", "observer_b"]
    place = {row: i for i, row in enumerate(zip(*(counted[k].values for k in keys), strict=True))}
    for entry, wanted in pairs.items():
        own = tuple(table[key].values[entry] for key in keys[:2])
        rows = [place[(*own, *pair)] for pair in wanted if (*own, *pair) in place]
        if rows:
            out[entry] = _mean(counted.isel(pair=rows), ERROR_CONSISTENCY, unit)
    return out
