"""Margin tables: item easiness for each system, aligned over items.

A system is a model with margins, or a group of observers with responses. The easiness of an item
for a group is the proportion correct. As in a correctness table, the dimension ``pair`` has one
entry per pair of systems and group of trials. A trial is an item of a condition, with all its
repeats.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.names import listed, nearest
from alikely.data.blocks import LEFT_OUT
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.inclusion import refuse_inclusion
from alikely.data.tables import (
    SEPARATOR,
    By,
    Pairs,
    chosen_pairs,
    correctness,
    groups_of_trials,
    pair_labels,
)
from alikely.data.trials import Trials
from alikely.metrics.margins import FEWEST_ITEMS

# Smallest fraction of a model's items, or of answered items, that must match.
LEAST_MATCHED = 0.5
PLACE = ["dataset", "condition", "item"]


def margin_table(
    trials: Trials,
    margins: pd.DataFrame | None = None,
    pairs: Pairs = "all",
    by: By = "condition",
    no_response: Literal["error", "drop"] = "error",
    *,
    group: str = "kind",
    cluster: str | None = None,
) -> xr.Dataset:
    """Align margins of models with responses of groups of observers."""
    data = trials.data
    names, kinds, members = _systems(data, margins, group)
    # Models are last, each with its observer in the trials, if any.
    model = np.arange(len(names)) >= len(names) - (
        0 if margins is None else margins["observer"].nunique()
    )
    first, second = chosen_pairs(names.tolist(), kinds, pairs)
    items, of_trial, of_margin = _items(data, margins)
    refuse_inclusion(data, "decision margins")
    correct = correctness(data["correct"].values, no_response)
    member_right, member_shown = _counts(correct, of_trial, len(items))
    index = np.full((len(names), len(items)), np.nan)
    right, shown, contradictions = np.zeros((3, *index.shape), np.int64)
    for s, people in enumerate(members):
        if model[s] and margins is not None:
            own = margins["observer"].to_numpy() == names[s]
            index[s, of_margin[own]] = margins["margin"].to_numpy(np.float64)[own]
            if len(people):
                # Number of items whose response and sign of margin differ.
                answer, margin = correct[people[0]], index[s, of_trial]
                sure = (answer != LEFT_OUT) & ~np.isnan(margin)
                against = of_trial[sure & ((margin > 0) != (answer == 1))]
                contradictions[s] = np.bincount(against, minlength=len(items))
        else:
            right[s], shown[s] = member_right[people].sum(axis=0), member_shown[people].sum(axis=0)
            np.divide(right[s], shown[s], out=index[s], where=shown[s] > 0)
    trial_group, labels = groups_of_trials(xr.Dataset.from_dataframe(items), by)
    there, answered = ~np.isnan(index), shown.any(axis=0)
    # Items of each model that groups answered, that none answered, and answered items it lacks.
    matched, alone, missing = (
        np.where(model, part.sum(axis=1), 0)
        for part in (there & answered, there & ~answered, ~there & answered)
    )
    mixed = model[first] != model[second]
    compared = dict.fromkeys([*first[mixed].tolist(), *second[mixed].tolist()])
    for s in compared:
        # Pairs without any common item are named below.
        if 0 < matched[s] < LEAST_MATCHED * (matched[s] + min(alone[s], missing[s])):
            raise ValueError(
                f"too few items of {names[s]!r} match: items with a margin and responses: "
                f"{matched[s]}, with only a margin: {alone[s]}, with only responses: {missing[s]}; "
                "label items and conditions alike in trials and margins, or leave out the margins "
                "of other items"
            )
    _refuse_strangers(names, there, items["dataset"].to_numpy(object), first, second)
    marks = np.where(model[:, None], index > 0, right), np.where(model[:, None], there, shown)
    entries = _entries(names, there, marks, trial_group, first, second)
    a_of, b_of, in_group = (entries[name].to_numpy() for name in ("first", "second", "pair_group"))
    # Items of each system in groups of trials without responses: labels may differ there.
    silent = np.bincount(trial_group, answered) == 0
    lost = (there & silent[trial_group] & ~silent.all()).sum(axis=1)
    groups = np.flatnonzero(~model)
    in_groups = np.concatenate([np.zeros(0, np.intp), *(members[s] for s in groups)])
    true_class = np.full(len(items), -1, dtype=np.int64)
    if "truth" in data:
        true_class[of_trial] = data["truth"].values
    columns = labels.iloc[in_group]
    classes = trials.classes if trials.has_classes else []
    used = np.zeros(len(items), dtype=bool)
    for a, b, g in zip(a_of, b_of, in_group, strict=True):
        used |= there[a] & there[b] & (trial_group == g)
    described = _item_columns(data, items, of_trial, used, cluster)
    return xr.Dataset(
        {
            "margins": (("observer", "trial"), index),
            "right": (("observer", "trial"), right),
            "shown": (("observer", "trial"), shown),
            "member_right": (("member", "trial"), member_right[in_groups]),
            "member_shown": (("member", "trial"), member_shown[in_groups]),
            "correct": (("observer", "trial"), np.full(index.shape, LEFT_OUT, np.int8)),
            "n_contradictions": (("observer", "trial"), contradictions),
            "n_unmatched": ("observer", lost),
            "n_matched": ("observer", matched),
            "n_alone": ("observer", alone),
            "n_missing": ("observer", missing),
            "source_note": ("observer", _source_notes(names, margins)),
            "trial_group": ("trial", trial_group),
            **{name: ("pair", column.to_numpy()) for name, column in entries.items()},
        },
        coords={
            "pair": pair_labels(names[a_of], names[b_of], labels, in_group),
            "observer_a": ("pair", names[a_of]),
            "observer_b": ("pair", names[b_of]),
            "dataset": ("pair", columns["dataset"].to_numpy(object)),
            "condition": ("pair", columns["condition"].to_numpy(object)),
            "observer": names,
            "kind": ("observer", kinds),
            "is_model": ("observer", model),
            "member": data["observer"].values[in_groups].astype(object),
            "member_group": ("member", np.repeat(groups, [len(members[s]) for s in groups])),
            "item": ("trial", items["item"].to_numpy(object)),
            "trial_dataset": ("trial", items["dataset"].to_numpy(object)),
            "trial_condition": ("trial", items["condition"].to_numpy(object)),
            "true_class": ("trial", true_class),
            "class_name": ("trial", np.array([*classes, ""], object)[true_class]),
            **{name: ("trial", values) for name, values in described.items()},
        },
        attrs={
            "by": by or "all trials",
            "no_response": no_response,
            ITEM_COLUMNS: SEPARATOR.join(described),
        },
    )


def common_items(table: xr.Dataset, pair: int) -> tuple[int, int, NDArray[np.intp]]:
    """Return both systems of an entry, and their common items."""
    a, b = (int(table[name].values[pair]) for name in ("first", "second"))
    here = table["trial_group"].values == table["pair_group"].values[pair]
    there = ~np.isnan(table["margins"].values[[a, b]]).any(axis=0)
    return a, b, np.flatnonzero(here & there)


def alternatives_of(trials: Trials, n_alternatives: int | None) -> int:
    """Number of alternatives of the task: as given, or the number of classes."""
    if n_alternatives is not None:
        return n_alternatives
    if not trials.has_classes:
        raise ValueError(
            "these trials contain correctness only: give the number of alternatives of the task, "
            "n_alternatives=..."
        )
    return len(trials.classes)


def answers_of_group(
    table: xr.Dataset, system: int, items: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers of correct and of all responses by group member, for selected items."""
    members = np.flatnonzero(table["member_group"].values == system)
    right = table["member_right"].values[np.ix_(members, items)]
    shown = table["member_shown"].values[np.ix_(members, items)]
    some = shown.any(axis=1)
    return right[some], shown[some]


def _systems(
    data: xr.Dataset, margins: pd.DataFrame | None, group: str
) -> tuple[NDArray[np.object_], NDArray[np.object_], list[NDArray[np.intp]]]:
    """Names and kinds of groups and models, and their observers in the trials."""
    labels = [str(name) for name in data.coords if data[name].dims == ("observer",)]
    if group not in labels:
        raise ValueError(
            f"group must name a label of observers ({listed(labels)}), got {group!r}"
            f"{nearest(group, labels)}"
        )
    observers, kinds = data["observer"].values, data["kind"].values
    with_margins = [] if margins is None else list(dict.fromkeys(margins["observer"]))
    rest = ~np.isin(observers, with_margins)
    place = {name: np.flatnonzero(observers == name) for name in with_margins}
    for name, own in place.items():
        lacking = observers[rest & np.isin(kinds, kinds[own])]
        if len(lacking):
            raise ValueError(
                f"observer {name!r} has margins but {lacking[0]!r}, also of kind "
                f"{kinds[own[0]]!r}, has none; give margins for all of a kind, or leave "
                "observers out with trials.select(...)"
            )
    label = data[group].values
    groups = list(dict.fromkeys(label[rest].tolist()))
    members = [*(np.flatnonzero(rest & (label == name)) for name in groups), *place.values()]
    kind = [str(kinds[people[0]]) if len(people) else "model" for people in members]
    names = [str(name) for name in [*groups, *with_margins]]
    if len(names) < 2:
        raise ValueError(
            f"a comparison needs at least two systems, got {listed(names)}; give "
            "margins of a model, or name two groups of observers with group=..."
        )
    return np.array(names, object), np.array(kind, object), members


def _items(
    data: xr.Dataset, margins: pd.DataFrame | None
) -> tuple[pd.DataFrame, NDArray[np.intp], NDArray[np.intp]]:
    """All items of trials and margins, and the position of each row among them."""
    frames = [pd.DataFrame({key: data[key].values.astype(object) for key in PLACE})]
    if margins is not None:
        frames.append(margins[PLACE].astype(object))
    every = pd.concat(frames, ignore_index=True)
    number = every.groupby(PLACE, sort=False).ngroup().to_numpy()
    items = every.drop_duplicates(ignore_index=True)
    return items, number[: len(frames[0])], number[len(frames[0]) :]


def _item_columns(
    data: xr.Dataset,
    items: pd.DataFrame,
    of_trial: NDArray[np.intp],
    used: NDArray[np.bool_],
    cluster: str | None,
) -> dict[str, NDArray[np.object_]]:
    """Columns that describe all used items."""
    known = np.bincount(of_trial, minlength=len(items)) > 0
    names = data.attrs.get(ITEM_COLUMNS, ())
    if (lost := np.flatnonzero(used & ~known)).size:
        if cluster in names:
            raise ValueError(
                f"cluster={cluster!r} must be known for all items, but {len(lost)} of {used.sum()} "
                f"items have margins only, the first is {items['item'][lost[0]]!r}; leave these "
                "items out of the margins, or name pairs with a group in pairs="
            )
        return {}
    found = {}
    for name in names:
        found[name] = items["item"].to_numpy(object, copy=True)
        found[name][of_trial] = data[name].values
    return found


def _counts(
    correct: NDArray[np.int8], of_trial: NDArray[np.intp], n_items: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of correct and of all responses of each observer to each item, over repeats."""
    right, shown = np.zeros((2, len(correct), n_items), dtype=np.int64)
    np.add.at(right.T, of_trial, (correct == 1).T)
    np.add.at(shown.T, of_trial, (correct != LEFT_OUT).T)
    return right, shown


def _source_notes(names: NDArray[np.object_], margins: pd.DataFrame | None) -> NDArray[np.object_]:
    """Notes of each model's margins."""
    if margins is None or "note" not in margins:
        return np.full(len(names), "", dtype=object)
    every = margins[["observer", "note"]].drop_duplicates()
    texts = every[every["note"] != ""].groupby("observer", sort=False)["note"].agg("; ".join)
    return np.array([texts.get(name, "") for name in names], dtype=object)


def _refuse_strangers(
    names: NDArray[np.object_],
    there: NDArray[np.bool_],
    dataset: NDArray[np.object_],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> None:
    """Check that systems with items of one data set have common items (`ValueError`)."""
    for label in pd.unique(dataset):
        here = there[:, dataset == label].astype(np.float64)
        present, common = here.any(axis=1), here @ here.T
        apart = present[first] & present[second] & (common[first, second] == 0)
        if apart.any():
            a, b = names[first[np.argmax(apart)]], names[second[np.argmax(apart)]]
            raise ValueError(
                f"systems {a!r} and {b!r} have no item in common, though both have some of data "
                f"set {label!r}; check that conditions and items are labeled alike in trials and "
                "margins, or name the pairs to compare with pairs=[(a, b), ...]"
            )


def _entries(
    names: NDArray[np.object_],
    there: NDArray[np.bool_],
    marks: tuple[NDArray[np.integer], NDArray[np.integer]],
    trial_group: NDArray[np.intp],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> pd.DataFrame:
    """Systems and group of each pair with common items, their number, and accuracies on them."""
    tables = []
    for group in range(int(trial_group.max()) + 1):
        here = trial_group == group
        own = there[:, here].astype(np.float64)
        right, shown = (part[:, here] @ own.T for part in marks)
        common, n_items = own @ own.T, own.sum(axis=1)
        met = common[first, second] > 0
        a, b = first[met], second[met]
        n = common[a, b]
        counts = {"n_trials": n, "n_only_a": n_items[a] - n, "n_only_b": n_items[b] - n}
        table = pd.DataFrame(
            {"first": a, "second": b, "pair_group": group, **counts}, dtype=np.intp
        )
        tables.append(
            table.assign(accuracy_a=right[a, b] / shown[a, b], accuracy_b=right[b, a] / shown[b, a])
        )
    entries = pd.concat(tables, ignore_index=True)
    if not len(entries):
        raise ValueError(
            f"systems {names[first[0]]!r} and {names[second[0]]!r} have no item in common; check "
            "that data sets, conditions and items are labeled alike in trials and margins"
        )
    few = entries[entries["n_trials"] < FEWEST_ITEMS]
    if len(few):
        a, b, n = few.iloc[0][["first", "second", "n_trials"]].astype(int)
        raise ValueError(
            f"systems {names[a]!r} and {names[b]!r} have {n} items in common; a correlation over "
            f"items needs at least {FEWEST_ITEMS}: pool conditions with by=, or leave the system "
            "out"
        )
    return entries
