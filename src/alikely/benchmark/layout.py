"""Where the pairs of machines and humans stand in a count table, part by part.

A part is a data set, or a condition of one: whatever a table of scores has as its level. Scores of
data sets and alignment by condition are means over the same layout.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import known_kind, of_type
from alikely.data.blocks import linked
from alikely.data.repeats import refuse_repeats
from alikely.data.tables import By, Repeats, joint_correctness
from alikely.data.trials import Trials
from alikely.metrics import Metric, get_metric

__all__ = [
    "CEILING",
    "FEWEST_HUMANS",
    "HUMANS",
    "OVERALL",
    "Layout",
    "Part",
    "People",
    "crowds",
    "in_other_order",
    "kinds_of_observers",
    "laid_out",
    "layout_of",
    "metric_of_trials",
    "people_drawn",
    "refuse_own_names",
    "refuse_repeats_for",
    "require_balance",
    "require_trials",
    "system_labels",
]

# What makes two answers those of one person.
People = Literal["label", "dataset"]
# The rows that tables of scores add to those of machines, and to the levels of the data. Users
# select by these names, so no machine and no data set may bear them.
HUMANS, CEILING, OVERALL = "human-human", "ceiling", "overall"
# With fewer the spread over humans cannot be estimated at all well.
FEWEST_HUMANS = 4

type Level = Literal["dataset", "condition"]
KEYS: dict[Level, list[str]] = {"dataset": ["dataset"], "condition": ["dataset", "condition"]}


class Part(NamedTuple):
    """Entries of one data set, or of one condition: positions on the ``pair`` dim, -1 for none."""

    name: str
    dataset: str
    people: list[str]
    machines: NDArray[np.intp]
    mixed: NDArray[np.intp]
    alike: NDArray[np.intp]
    i: NDArray[np.intp]
    j: NDArray[np.intp]

    @property
    def n_humans(self) -> int:
        """Number of humans who took part."""
        return len(self.people)


class Layout(NamedTuple):
    """All parts of a table."""

    parts: list[Part]
    machines: list[str]
    part_of_entry: NDArray[np.intp]
    levels: dict[str, list[int]]

    @property
    def systems(self) -> list[str]:
        """Names of the rows of scores."""
        return [*self.machines, HUMANS, CEILING]


def laid_out(
    trials: Trials,
    *,
    models: str | None,
    humans: str,
    grouping: By = "condition",
    no_response: Literal["error", "drop"] = "error",
    labels: bool | Literal["options", "any"] = False,
    both_orders: bool = False,
    level: Level = "dataset",
    groups: Mapping[str, str] | None = None,
    repeats: Repeats = "crossed",
) -> tuple[xr.Dataset, Layout]:
    """Count pairs of humans, and of humans with machines, and lay them out."""
    known = of_type(trials, Trials, "make them with Trials.from_table").data["kind"].values
    alone = ", or compare kinds without a reference by al.benchmark.group_scores"
    for option, asked in (("humans", humans), ("models", models)):
        if asked is not None:
            known_kind(option, asked, known, alone)
    kinds = [f"{humans}-{humans}"] + ([] if models is None else [f"{humans}-{models}"])
    table = joint_correctness(trials, kinds, grouping, no_response, labels=labels, repeats=repeats)
    kind = kinds_of_observers(trials)
    if both_orders:
        table = _in_both_orders(table, kind, humans)
    return table, layout_of(table, kind, humans, level, both_orders=both_orders, groups=groups)


def metric_of_trials(metric: str | Metric) -> Metric:
    """Find a metric that is a function of the trials that two observers share."""
    found = get_metric(metric)
    if found.counts == "margins":
        raise ValueError(
            f"metric must be one of answers to trials, and {found.name} is one of margins; score "
            "alikely.benchmark.scores_of(alikely.decision_margin_consistency(trials, margins))"
        )
    return found


def refuse_repeats_for(trials: Trials, *metrics: Metric) -> None:
    """Raise an error for repeated items where a metric needs one response to each."""
    for metric in metrics:
        if not metric.crosses_repeats:
            refuse_repeats(trials.data, metric.label)


def require_trials(trials: object) -> None:
    """Refuse what is no `Trials`."""
    if isinstance(trials, Trials):
        return
    way_out = "make them with Trials.from_table"
    if hasattr(trials, "pairs"):
        way_out = "score a result with alikely.benchmark.scores_of"
    raise TypeError(f"expected Trials, got {type(trials).__name__}; {way_out}")


def kinds_of_observers(trials: Trials) -> dict[str, str]:
    """Kind of each observer by name."""
    return dict(zip(trials.observers, trials.data["kind"].values.tolist(), strict=True))


def _in_both_orders(table: xr.Dataset, kind: Mapping[str, str], humans: str) -> xr.Dataset:
    """Add each pair of humans with the second as the reference."""
    alike = [kind[name] == humans for name in table["observer_b"].values.tolist()]
    n_pairs, again = table.sizes["pair"], np.flatnonzero(alike)
    position = np.concatenate([np.arange(n_pairs), again])
    # Entries of one group of trials stand together.
    order = np.argsort(table["pair_group"].values[position], kind="stable")
    turned = order >= n_pairs
    both = table.isel(pair=position[order])
    swapped: dict[str, Any] = {}
    for one, other in (("first", "second"), ("observer_a", "observer_b")):
        a, b = both[one].values, both[other].values
        swapped[one] = ("pair", np.where(turned, b, a))
        swapped[other] = ("pair", np.where(turned, a, b))
    cells = both["cells"].values
    swapped["cells"] = (("pair", "cell"), np.where(turned[:, None], cells[:, [0, 2, 1, 3]], cells))
    labels = both["pair"].values.astype(object)
    labels[turned] = [f"{label} (turned)" for label in labels[turned]]
    return both.assign(swapped).assign_coords(pair=labels)


def in_other_order(table: xr.Dataset) -> NDArray[np.intp]:
    """Position of each pair in the other order: its own, where the table has but one."""
    columns = [table[name].values.tolist() for name in ("pair_group", "first", "second")]
    place = {key: position for position, key in enumerate(zip(*columns, strict=True))}
    return np.array([place.get((g, b, a), at) for (g, a, b), at in place.items()], dtype=np.intp)


def layout_of(
    table: xr.Dataset,
    kind: Mapping[str, str],
    humans: str,
    level: Level = "dataset",
    *,
    both_orders: bool = False,
    groups: Mapping[str, str] | None = None,
) -> Layout:
    """Find the entries of each part."""
    frame = pd.DataFrame(
        {name: table[name].values for name in ("dataset", "condition", "observer_a", "observer_b")}
    )
    frame["alike"] = [kind[name] == humans for name in frame["observer_b"]]
    part_of_entry = frame.groupby(KEYS[level], sort=False).ngroup().to_numpy(dtype=np.intp)
    turned = frame["alike"].to_numpy() & (table["first"].values > table["second"].values)
    machines: dict[str, int] = {}
    parts = []
    for key, part in frame[~turned | both_orders].groupby(KEYS[level], sort=False):
        for name in part.loc[~part["alike"], "observer_b"]:
            machines.setdefault(name, len(machines))
        parts.append(_part([str(label) for label in key], part, machines, both_orders))
    names = [part.name for part in parts]
    return Layout(parts, list(machines), part_of_entry, _grouped(names, groups))


def _grouped(names: Sequence[str], groups: Mapping[str, str] | None) -> dict[str, list[int]]:
    """Parts of each level, in order of their first."""
    label = {name: name for name in names} if groups is None else groups
    lacking = [name for name in names if name not in label]
    if lacking:
        raise ValueError(
            f"condition {lacking[0]!r} is in no level ({len(lacking)} are not); give it one, or "
            "leave it out with exclude= or trials.select(...)"
        )
    levels: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        levels.setdefault(str(label[name]), []).append(number)
    return levels


def _part(
    key: list[str], frame: pd.DataFrame, machines: Mapping[str, int], both_orders: bool
) -> Part:
    """Lay out the entries in the rows of `frame`, whose index is their position."""
    alike = frame["alike"].to_numpy()
    people = list(pd.unique(pd.concat([frame["observer_a"], frame.loc[alike, "observer_b"]])))
    if len(people) < 2:
        raise ValueError(
            f"a benchmark needs at least 2 humans in each data set, {':'.join(key)!r} has "
            f"{len(people)}; leave it out with trials.select(dataset=[...])"
        )
    own = list(pd.unique(frame.loc[~alike, "observer_b"]))
    condition = pd.factorize(frame["condition"])[0]
    position = frame.index.to_numpy()
    number = {name: h for h, name in enumerate(people)}
    first = frame["observer_a"].map(number).to_numpy(dtype=np.intp)
    second = frame.loc[alike, "observer_b"].map(number).to_numpy(dtype=np.intp)
    column = frame.loc[~alike, "observer_b"].map(own.index).to_numpy(dtype=np.intp)
    pairs = np.stack([first[alike], second])
    if both_orders:
        i, j = np.nonzero(~np.eye(len(people), dtype=bool))
    else:
        i, j = np.triu_indices(len(people), k=1)
        pairs = np.sort(pairs, axis=0)
    place = np.zeros((len(people), len(people)), dtype=np.intp)
    place[i, j] = np.arange(len(i))
    n_conditions = condition.max() + 1
    mixed_at = np.full((n_conditions, len(people), len(own)), -1)
    mixed_at[condition[~alike], first[~alike], column] = position[~alike]
    alike_at = np.full((n_conditions, len(i)), -1)
    alike_at[condition[alike], place[pairs[0], pairs[1]]] = position[alike]
    took_part = np.array([machines[name] for name in own], dtype=np.intp)
    return Part(":".join(key), key[0], people, took_part, mixed_at, alike_at, i, j)


def people_drawn(
    parts: Sequence[Part],
    n_resamples: int,
    seed: np.random.SeedSequence,
    people: People = "dataset",
) -> list[NDArray[np.float64]]:
    """How often each human of each part is drawn; one draw for all parts of a data set."""
    generator = np.random.default_rng(seed)
    drawn: list[NDArray[np.float64]] = [np.empty(0)] * len(parts)
    for together in crowds(parts, people):
        names = {name: None for d in together for name in parts[d].people}
        n = len(names)
        number = {name: place for place, name in enumerate(names)}
        times = generator.multinomial(n, np.full(n, 1 / n), n_resamples).astype(np.float64)
        for d in together:
            drawn[d] = times[:, [number[name] for name in parts[d].people]]
    return drawn


def crowds(parts: Sequence[Part], people: People) -> list[list[int]]:
    """Parts whose humans are drawn together: of a data set, or with people in common."""
    keys = [
        [(part.dataset, None), *((part.dataset * (people == "dataset"), p) for p in part.people)]
        for part in parts
    ]
    number = {key: place for place, key in enumerate(dict.fromkeys(itertools.chain(*keys)))}
    return linked([np.array([number[key] for key in own]) for own in keys])


def require_balance(layout: Layout, missing: str) -> None:
    """Refuse machines that lack some data sets, unless what is available is wanted."""
    with_machines = [part for part in layout.parts if len(part.machines)]
    if not with_machines:
        raise ValueError("no data set has a machine to score; check the kinds of the observers")
    for part in with_machines:
        absent = np.setdiff1d(np.arange(len(layout.machines)), part.machines)
        if len(absent) and missing == "error":
            raise ValueError(
                f"machine {layout.machines[absent[0]]!r} is missing in data set {part.name!r}; its "
                "mean would be over other data sets than that of others: leave out one of them, or "
                "accept it with missing='available'"
            )


def refuse_own_names(what: str, names: Collection[str], own: Sequence[str]) -> None:
    """Refuse machines or data sets that bear the name of a row that tables add."""
    taken = [name for name in own if name in names]
    if taken:
        raise ValueError(
            f"no {what} may be called {taken[0]!r}, a row that tables of scores add "
            f"({', '.join(own)}); give it another name before you read the data"
        )


def system_labels(
    trials: Trials, systems: Sequence[str], own: Collection[str]
) -> dict[str, tuple[str, NDArray[Any]]]:
    """Labels of the observers, for the systems among them, as coordinates."""
    data = trials.data
    described = {"observer", "kind"}
    names = [str(c) for c in data.coords if data[c].dims == ("observer",) and c not in described]
    taken = [name for name in names if name in own]
    if taken:
        raise ValueError(
            f"label {taken[0]!r} of the observers has the name of a column of the result "
            f"({', '.join(sorted(own))}); rename it before you read the data, or leave it out"
        )
    position = {name: i for i, name in enumerate(trials.observers)}
    return {
        name: (
            "system",
            np.array([data[name].values[position[s]] if s in position else "" for s in systems]),
        )
        for name in names
    }
