"""What a reader of an entry should know of a machine's margins and of a group's answers."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.margins.posterior import MarginModel
from alikely.margins.sides import lists_of_items
from alikely.margins.tables import answers_of_group
from alikely.metrics.margins import repeated

__all__ = ["LISTS_AS_ONE", "entry_remarks", "group_remarks", "machine_remarks"]

LISTS_AS_ONE = "lists that different people saw are taken for one"

# Margins of networks have tails, of up to some tens of these spreads; saturated or broken ones lie
# orders of magnitude beyond.
FAR = 1_000


def machine_remarks(table: xr.Dataset, system: int, group: int) -> list[str]:
    """Say what is odd about a machine's margins in a group of trials."""
    name = table["observer"].values[system]
    margins = table["margins"].values[system]
    here = (table["trial_group"].values == group) & ~np.isnan(margins)
    own, kinds = margins[here], table["true_class"].values[here]
    texts = []
    if note := table["source_note"].values[system]:
        texts.append(f"{name}: {note}")
    if constant := len(own) > 0 and np.ptp(own) == 0:
        texts.append(f"all margins of {name} are {own[0]:g}")
    else:
        texts += _odd(own, str(name))
    flat = 0 if constant else _flat_classes(own, kinds)
    if flat:
        texts.append(f"all margins of {name} are equal within {flat} of its classes")
    if against := int(table["n_contradictions"].values[system, here].sum()):
        texts.append(f"{against} answers of {name} against its margins")
    if lost := int(table["n_unmatched"].values[system]):
        texts.append(f"{lost} items of {name} in groups of trials that nobody answered")
    return texts


def group_remarks(table: xr.Dataset, system: int, group: int) -> list[str]:
    """Say what is uneven about a group's answers in a group of trials."""
    shown = table["member_shown"].values[table["member_group"].values == system]
    shown = shown[:, (table["trial_group"].values == group) & shown.any(axis=0)]
    shown = shown[shown.any(axis=1)]
    if not shown.size:
        return []
    texts = []
    times = np.unique(shown[shown > 0])
    if len(times) > 1:
        texts.append(f"unbalanced repeats ({times[0]} to {times[-1]})")
    # Who saw one list had nothing to answer of the others.
    lists = lists_of_items(shown)
    seen = (shown > 0).astype(int) @ (lists[:, None] == np.arange(lists.max() + 1))
    if missing := int((np.bincount(lists) * (seen > 0)).sum() - seen.sum()):
        name = table["observer"].values[system]
        texts.append(f"{missing} answer{'s' * (missing > 1)} of {name} missing")
    return texts


def entry_remarks(table: xr.Dataset, model: Any) -> NDArray[np.object_]:
    """Say what a reader of each entry should know of its data."""
    names, machine = table["observer"].values, table["is_machine"].values
    known: dict[tuple[int, int], list[str]] = {}
    found = []
    for p in range(table.sizes["pair"]):
        texts = []
        for side, ends in (("a", "first"), ("b", "second")):
            if alone := int(table[f"n_only_{side}"].values[p]):
                texts.append(f"{alone} items of {names[table[ends].values[p]]} only")
        for system in (int(table["first"].values[p]), int(table["second"].values[p])):
            key = system, int(table["pair_group"].values[p])
            if key not in known:
                if machine[system]:
                    known[key] = machine_remarks(table, *key)
                else:
                    known[key] = group_remarks(table, *key) + _for_model(table, *key, model)
            texts += known[key]
        found.append("; ".join(texts))
    return np.array(found, dtype=object)


def _for_model(table: xr.Dataset, system: int, group: int, model: Any) -> list[str]:
    """What a model by chains makes of a group's answers."""
    if not (isinstance(model, str) and model in get_args(MarginModel)):
        return []
    items = np.flatnonzero(
        (table["trial_group"].values == group) & (table["shown"].values[system] > 0)
    )
    _, shown = answers_of_group(table, system, items)
    texts = []
    if len(shown) > 1:
        if model == "observers" and not repeated(shown):
            texts.append("one answer each: stable deviations of observers count as noise")
        if model != "observers" and repeated(shown):
            texts.append("repeats count as new people; model='observers' knows better")
        if lists_of_items(shown).max() > 0:
            texts.append(LISTS_AS_ONE)
    if "answers" in table and (silent := int(table["n_silent"].values[system, items].sum())):
        texts.append(f"{silent} trials without a response are in no class")
    return texts


def _odd(own: Floats, name: str) -> list[str]:
    """Margins far from the rest, and ties."""
    texts = []
    off = np.abs(own - np.median(own))
    # Where most margins are equal, the rest alone has a spread.
    spread = np.median(off) or np.median(off[off > 0])
    if (far := off > FAR * spread).any():
        worst = own[np.argmax(off)]
        which = "a margin" if far.sum() == 1 else f"{far.sum()} margins"
        verb = "is" if far.sum() == 1 else "lie up to"
        texts.append(
            f"{which} of {name} {verb} {worst:g}, far from the others: the raw estimate hangs on it"
        )
    _, count = np.unique(own, return_counts=True)
    if tied := int(count[count > 1].sum()):
        texts.append(f"{tied} margins of {name} tie (mid-ranks)")
    return texts


def _flat_classes(own: Floats, kinds: np.ndarray) -> int:
    """Classes of two items and more whose margins are all equal."""
    found = 0
    for kind in np.unique(kinds[kinds >= 0]):
        part = own[kinds == kind]
        found += len(part) > 1 and bool(np.ptp(part) == 0)
    return found
